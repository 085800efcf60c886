// URLs of servers, as RFC 3986 writes them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/config.h"
#include "base/status.h"

namespace belay {

// Reads redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path[?db=n]. Any
// other scheme and lists of hosts: UNSUPPORTED_URL; anything malformed: INVALID_ARGUMENT naming the
// part.
Result<ServerAddress> parse_url(std::string_view url);

// `url` with its userinfo replaced by ***, for messages.
std::string redacted_url(std::string_view url);

}  // namespace belay
