// Where a server is, and who we are to it. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace belay {

// `path` is set for a unix socket, otherwise host and port.
struct Endpoint {
  std::string host = "localhost";
  std::uint16_t port = 6379;
  std::string path;
  bool tls = false;

  // "redis" or "rediss".
  [[nodiscard]] std::string scheme() const { return tls ? "rediss" : "redis"; }

  // "host:port" or the path, for messages.
  [[nodiscard]] std::string display() const;
};

struct Credentials {
  std::string user;
  Secret password;

  // Words of the server's, for a message: our password is *** in them. Where there is none, the
  // user is: a lone word in a URL may have been meant as a password.
  [[nodiscard]] std::string masked(std::string_view words) const;
};

}  // namespace belay
