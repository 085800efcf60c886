// SHA-1, which names a server's scripts. A pure function.
#pragma once

#include <string>
#include <string_view>

namespace belay::sim {

// As 40 lower-case hexadecimal digits.
std::string sha1_hex(std::string_view bytes);

}  // namespace belay::sim
