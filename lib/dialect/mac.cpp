#include "dialect/mac.h"

#include "base/packing.h"
#include "base/sha1.h"

namespace belay {

std::string secret_of(const Identity& me, std::int64_t epoch) {
  return sha1(Packer().bytes(me.secret).number(epoch).take());
}

// Nested as HMAC is (RFC 2104): who has seen the MAC of a message cannot make that of a longer one.
// The scripts do the same.
std::string mac_of(const Identity& me, std::int64_t epoch, std::string_view message) {
  const std::string secret = secret_of(me, epoch);
  return sha1_hex(secret + sha1_hex((secret + me.client).append(message)));
}

}  // namespace belay
