#include "base/status.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace belay {

namespace {

// A name of 1024 control bytes fits, and what is said about it.
constexpr std::size_t kLongestLine = 6000;

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// A row of the table of well-formed UTF-8 in the Unicode standard (3-7): of its first two bytes,
// and how many there are.
struct WellFormed {
  unsigned first_low, first_high, second_low, second_high;
  std::size_t size;
};

constexpr std::array<WellFormed, 8> kWellFormed{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                                 {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                                 {0xE1, 0xEC, 0x80, 0xBF, 3},
                                                 {0xED, 0xED, 0x80, 0x9F, 3},
                                                 {0xEE, 0xEF, 0x80, 0xBF, 3},
                                                 {0xF0, 0xF0, 0x90, 0xBF, 4},
                                                 {0xF1, 0xF3, 0x80, 0xBF, 4},
                                                 {0xF4, 0xF4, 0x80, 0x8F, 4}}};

// How many bytes the readable character at `at` has; 0: it is a control byte, or there is none.
std::size_t character(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  const unsigned second = byte_at(text, at + 1);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  for (const WellFormed& row : kWellFormed) {
    if (first >= row.first_low && first <= row.first_high && second >= row.second_low &&
        second <= row.second_high && at + row.size <= text.size()) {
      const std::string_view rest = text.substr(at + 2, row.size - 2);
      const bool goes_on = std::all_of(rest.begin(), rest.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
      });
      return goes_on ? row.size : 0;
    }
  }
  return 0;
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
