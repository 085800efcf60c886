#include "base/status.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace belay {

namespace {

// A name of 1024 control bytes fits, and what is said about it.
constexpr std::size_t kLongestLine = 6000;

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// How many bytes the readable character at `at` has, of the table of well-formed UTF-8 in the
// Unicode standard (3-7); 0: it is a control byte, or there is none.
std::size_t character(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  const unsigned second = byte_at(text, at + 1);
  if (first < 0xC2 || first > 0xF4 || second < least || second > most) {
    return 0;
  }
  for (std::size_t i = at + 2; i < at + size; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  return size;
}

bool is_ascii_line(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return byte >= 0x20 && byte < 0x7F; });
}

}  // namespace

std::string one_line(std::string text) {
  if (is_ascii_line(text) && text.size() <= kLongestLine) {
    return text;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    if (line.size() >= kLongestLine) {
      return line + "...";
    }
    const std::size_t size = character(text, at);
    if (size > 0) {
      line.append(text, at, size);
    } else {
      const unsigned byte = byte_at(text, at);
      line.append("\\x").append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
    }
    at += std::max<std::size_t>(size, 1);
  }
  return line;
}

}  // namespace belay
