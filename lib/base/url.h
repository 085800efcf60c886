// URLs of servers, as RFC 3986 writes them. Pure.
#pragma once

#include <string_view>

#include "base/config.h"
#include "base/status.h"

namespace belay {

// Reads redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path[?db=n]. Any
// other scheme and lists of hosts: UNSUPPORTED_URL; anything malformed: INVALID_ARGUMENT. A message
// quotes the scheme and names a position, never the text: a password may stand in any part.
Result<ServerAddress> parse_url(std::string_view url);

}  // namespace belay
