#include "base/endpoint.h"

namespace belay {

std::string Endpoint::display() const {
  if (!path.empty()) {
    return path;
  }
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Credentials::masked(std::string_view words) const {
  return belay::masked(words, password.empty() ? std::string_view(user) : password.view());
}

}  // namespace belay
