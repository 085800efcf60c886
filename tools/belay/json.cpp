// One pass, no tree: the objects that this program prints are known when they are written.
// Control characters, also DEL and those of C1, are escaped, so that a line can be shown on a
// terminal as it is.
#include "json.h"

#include <array>
#include <cstdio>

#include "text.h"

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void append_escape(std::string& out, unsigned code) {
  out += "\\u00";
  out += kDigits[code >> 4U];
  out += kDigits[code & 0xfU];
}

}  // namespace

Json& Json::open(char bracket) {
  separate();
  out_ += bracket;
  fresh_ = true;
  return *this;
}

Json& Json::close(char bracket) {
  out_ += bracket;
  fresh_ = false;
  return *this;
}

Json& Json::key(std::string_view name) {
  separate();
  append_string(name);
  out_ += ':';
  fresh_ = true;
  return *this;
}

Json& Json::text(std::string_view bytes) {
  separate();
  append_string(bytes);
  return *this;
}

Json& Json::number(std::int64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}

Json& Json::decimal(double value) {
  separate();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  out_ += text.data();
  return *this;
}

Json& Json::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

Json& Json::null() {
  separate();
  out_ += "null";
  return *this;
}

void Json::separate() {
  if (!fresh_) {
    out_ += ',';
  }
  fresh_ = false;
}

void Json::append_string(std::string_view bytes) {
  out_ += '"';
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const auto lead = static_cast<unsigned char>(bytes[0]);
    const auto second = static_cast<unsigned char>(length == 2 ? bytes[1] : 0);
    if (length == 0 || lead < 0x20 || lead == 0x7f) {
      append_escape(out_, lead);
    } else if (lead == 0xc2 && second < 0xa0) {
      append_escape(out_, second);
    } else {
      out_ += lead == '"' || lead == '\\' ? "\\" : "";
      out_ += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      return false;
    }
    bytes.remove_prefix(length);
  }
  return true;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 0xfU];
  }
  return text;
}
