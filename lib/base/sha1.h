// SHA-1 (RFC 3174): what Redis names scripts by and offers them, as redis.sha1hex. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace belay {

// As 20 bytes.
std::string sha1(std::string_view bytes);

// As 40 lower-case hexadecimal digits.
std::string sha1_hex(std::string_view bytes);

}  // namespace belay
