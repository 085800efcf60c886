// Names may be any bytes, so nothing of a name or label reaches a terminal unless it is well-formed
// UTF-8 without control characters: an escape sequence in a lock's name must not act on the
// terminal of whoever lists the locks.
#include "text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

// How long a sequence is by its first byte; 0: no sequence begins so.
std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xc2 || lead > 0xf4) {
    return 0;
  }
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// No surrogate, and no more bytes than the code point needs.
bool is_well_formed(std::uint32_t code, std::size_t length) {
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0;
  return code >= least && code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
}

// The code point of a well-formed sequence.
std::uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) {
    return lead;
  }
  std::uint32_t value = lead & (0x7fU >> sequence.size());
  for (const char byte : sequence.substr(1)) {
    value = value << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return value;
}

// Controls, the marks that reverse or hide text, and what is no character.
bool is_invisible(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad;
  const bool format = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2060 && code <= 0x206f) || code == 0x061c || code == 0xfeff;
  return control || format || code >= 0xe0000;
}

void append_hex(std::string& text, char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  text += "\\x";
  text += kDigits[value >> 4U];
  text += kDigits[value & 0xfU];
}

struct Unit {
  std::int64_t ms;
  const char* name;
};

constexpr std::array<Unit, 4> kUnits{
    {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}}};

}  // namespace

std::size_t utf8_length(std::string_view bytes) {
  const std::size_t length =
      bytes.empty() ? 0 : length_by_lead(static_cast<unsigned char>(bytes[0]));
  if (length == 0 || bytes.size() < length ||
      !std::all_of(bytes.begin() + 1, bytes.begin() + length, is_continuation)) {
    return 0;
  }
  return is_well_formed(code_point(bytes.substr(0, length)), length) ? length : 0;
}

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::size_t taken = length == 0 ? 1 : length;
    if (length != 0 && !is_invisible(code_point(text.substr(0, length)))) {
      shown += text.substr(0, length);
    } else {
      for (const char byte : text.substr(0, taken)) {
        append_hex(shown, byte);
      }
    }
    text.remove_prefix(taken);
  }
  return shown;
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += byte == '\\' ? "\\\\" : std::string(1, byte);
  }
  return visible(text);
}

std::string in_quotes(std::string_view bytes) {
  return "'" + printable(bytes) + "'";
}

std::string in_words(const std::vector<std::string>& names) {
  const std::size_t more = names.size() - 1;
  return in_quotes(names[0]) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string shown_word(const std::string& word) {
  const bool is_url = word.find("://") != std::string::npos || word.find('@') != std::string::npos;
  return is_url ? "'...'"
                : in_quotes(word.starts_with('-') ? word.substr(0, word.find('=')) : word);
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); end++) {
    shown += is_continuation(text[end]) ? 0 : 1;
    if (shown > columns) {
      break;
    }
  }
  return std::string(text.substr(0, end));
}

std::size_t width(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) {
    count += is_continuation(byte) ? 0 : 1;
  }
  return count;
}

std::string duration(std::int64_t ms) {
  for (std::size_t i = 0; i + 1 < kUnits.size(); i++) {
    if (ms < kUnits[i].ms) {
      continue;
    }
    const std::int64_t rest = ms % kUnits[i].ms / kUnits[i + 1].ms;
    return std::to_string(ms / kUnits[i].ms) + " " + kUnits[i].name + " " + std::to_string(rest) +
           " " + kUnits[i + 1].name;
  }
  return std::to_string(ms / 1000) + " s";
}

std::string short_duration(std::int64_t ms) {
  if (ms < 60000) {
    return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + "s";
  }
  const std::size_t i = ms >= 86400000 ? 0 : ms >= 3600000 ? 1 : 2;
  const std::string rest = std::to_string(ms % kUnits[i].ms / kUnits[i + 1].ms);
  return std::to_string(ms / kUnits[i].ms) + kUnits[i].name[0] + (rest.size() < 2 ? "0" : "") +
         rest + kUnits[i + 1].name[0];
}

std::string seconds(std::int64_t ms) {
  return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t used = width(text);
  return text + std::string(columns > used ? columns - used : 0, ' ');
}

std::string padded_left(const std::string& text, std::size_t columns) {
  const std::size_t used = width(text);
  return std::string(columns > used ? columns - used : 0, ' ') + text;
}

std::string time_ago(std::int64_t ms) {
  const std::time_t then = std::time(nullptr) - ms / 1000;
  std::tm parts{};
  localtime_r(&then, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string counted(std::int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void complain(const std::string& message) {
  const std::string line = "belay: " + message + "\n";
  // Nobody is left to tell when stderr cannot be written.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}
