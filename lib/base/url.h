// URLs of servers, as RFC 3986 writes them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/status.h"

namespace belay {

struct ServerUrl {
  std::vector<Endpoint> endpoints{1};  // never none: of the server, or of sentinels
  std::string master;                  // as these sentinels call it; "": they are none
  bool of_cluster = false;             // they are nodes of one
  Credentials credentials;
  std::int32_t database = 0;
};

// Takes a parameter and gives "", or says what is wrong with it, without its value.
using UrlParameter = std::function<std::string(std::string_view name, const std::string& value)>;

// Reads redis://[[user]:password@]host[:port][,host[:port]...][/db],
// redis-sentinel://[[user]:password@]host[:port][,host[:port]...]/master,
// redis-cluster://[[user]:password@]host[:port][,host[:port]...], rediss://, rediss-sentinel:// and
// rediss-cluster:// likewise, or unix://[[user]:password@]/path, all with ?name=value&name=value;
// of sentinels and of a unix socket, db=n is one of them. Any other scheme: UNSUPPORTED_URL;
// anything malformed: INVALID_ARGUMENT.
// A message quotes the scheme and names a position, never the text: a password may stand in any
// part.
Result<ServerUrl> parse_url(std::string_view url, const UrlParameter& take);

}  // namespace belay
