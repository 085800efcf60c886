// What a target claims of the code under test. A claim that fails ends the process, as a crash that
// the fuzzer reports and keeps the input of.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace belay::fuzz {

inline void require(bool holds, const char* claim, std::string_view about = {}) {
  if (!holds) {
    std::fprintf(stderr, "violated: %s: %.*s\n", claim, static_cast<int>(about.size()),
                 about.data());
    std::abort();
  }
}

// A message is one line of bounded length, whatever a server or a caller put into it.
inline void require_readable(std::string_view message) {
  constexpr std::size_t kLongest = 8192;
  require(message.size() <= kLongest, "a message is short");
  for (const char byte : message) {
    require(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F,
            "a message holds no control bytes", message);
  }
}

}  // namespace belay::fuzz
