#include "base/status.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace belay {

namespace {

// A name of 1024 control bytes fits, and what is said about it.
constexpr std::size_t kLongestLine = 6000;

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}

}  // namespace

std::string one_line(std::string text) {
  const bool readable = std::none_of(text.begin(), text.end(), is_control);
  if (readable && text.size() <= kLongestLine) {
    return text;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  for (const char byte : text) {
    if (line.size() >= kLongestLine) {
      return line + "...";
    }
    if (is_control(byte)) {
      const auto number = static_cast<unsigned char>(byte);
      line.append("\\x").append({kDigits[number >> 4U], kDigits[number & 0xFU]});
    } else {
      line.push_back(byte);
    }
  }
  return line;
}

}  // namespace belay
