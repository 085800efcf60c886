// In place of tls.cpp in a library that is built without TLS (BELAY_TLS=OFF): there is no Tls.
#include "net/tls.h"

namespace belay {

Result<std::unique_ptr<Tls>> Tls::create(const Config&, const Endpoint&) {
  return Status(BELAY_UNSUPPORTED_URL, "this library was built without TLS");
}

Tls::~Tls() = default;

void Tls::feed(std::string_view) {}

bool Tls::shake() {
  return false;
}

std::string_view Tls::open() {
  return {};
}

bool Tls::seal(WipingString*) {
  return false;
}

bool Tls::has_output() {
  return false;
}

bool Tls::is_shaking() {
  return false;
}

bool Tls::has_ended() {
  return false;
}

Status Tls::trouble() {
  return {};
}

}  // namespace belay
