// Reads commands, and writes RESP replies into a string: RESP3 for connections, RESP2 for what a
// script sees.
// Plain values, no thread of its own; the string belongs to the caller.
#include "sim/resp.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace belay::sim {

namespace {

// Takes a line such as *3 or $11 off `bytes`. False if there is none.
bool take_header(std::string_view& bytes, char type, std::size_t& size) {
  if (bytes.empty() || bytes[0] != type) {
    return false;
  }
  const char* const end = bytes.data() + bytes.size();
  const auto [rest, error] = std::from_chars(bytes.data() + 1, end, size);
  if (error != std::errc() || end - rest < 2) {
    return false;
  }
  bytes.remove_prefix(static_cast<std::size_t>(rest - bytes.data()) + 2);
  return true;
}

// As the function fpconv_dtoa of these servers: without an exponent where that is not much longer.
std::string_view format_shortest(double value, char (&buffer)[40]) {
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer - 1, value, std::chars_format::scientific);
  *end.ptr = '\0';
  const std::string mantissa(buffer, std::find(buffer, end.ptr, 'e'));
  std::string digits = mantissa;
  std::erase_if(digits, [](char c) { return c == '-' || c == '.'; });
  const int count = static_cast<int>(digits.size());
  const int exponent = std::atoi(buffer + mantissa.size() + 1);  // the first digit's
  const int last = exponent - count + 1;                         // the last digit's
  int size = 0;
  if (last >= 0 && exponent < count + 7) {
    digits.append(static_cast<std::size_t>(last), '0');
    size = std::snprintf(buffer, sizeof buffer, "%s%s", value < 0 ? "-" : "", digits.c_str());
  } else if (last < 0 && (last > -7 || std::abs(exponent) < 4)) {
    size = std::snprintf(buffer, sizeof buffer, "%.*f", -last, value);
  } else {
    size = std::snprintf(buffer, sizeof buffer, "%se%+d", mantissa.c_str(), exponent);
  }
  return {buffer, static_cast<std::size_t>(size)};
}

}  // namespace

std::string_view format_double(double value, Digits digits, char (&buffer)[40]) {
  constexpr double kIntegersToSeventeen = 9e15;
  constexpr double kIntegersToShortest = 4611686018427387904.0;  // 2^62
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  const bool shortest = digits == Digits::kShortest;
  if (std::fabs(value) < (shortest ? kIntegersToShortest : kIntegersToSeventeen) &&
      value == std::trunc(value)) {
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::int64_t>(value));
    return {buffer, static_cast<std::size_t>(end.ptr - buffer)};
  }
  if (shortest && !std::isnan(value)) {
    return format_shortest(value, buffer);
  }
  const int size = std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return {buffer, static_cast<std::size_t>(size)};
}

bool next_command(std::string_view& bytes, std::vector<std::string_view>& argv) {
  std::size_t count = 0;
  if (!take_header(bytes, '*', count)) {
    return false;
  }
  argv.resize(count);
  for (std::string_view& arg : argv) {
    std::size_t size = 0;
    if (!take_header(bytes, '$', size) || bytes.size() < size + 2) {
      return false;
    }
    arg = bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
  return true;
}

void RespWriter::bulk(std::string_view bytes) {
  header('$', static_cast<std::int64_t>(bytes.size()));
  out_.append(bytes);
  out_.append("\r\n", 2);
}

void RespWriter::integer(std::int64_t value) {
  header(':', value);
}

void RespWriter::status(std::string_view text) {
  line('+', text);
}

void RespWriter::error(std::string_view text) {
  line('-', text);
}

void RespWriter::null() {
  out_.append(resp3() ? "_\r\n" : "$-1\r\n");
}

void RespWriter::number(double value) {
  char buffer[40];
  const std::string_view text = format_double(value, digits_, buffer);
  if (resp3()) {
    line(',', text);
  } else {
    bulk(text);
  }
}

void RespWriter::array(std::size_t size) {
  header('*', static_cast<std::int64_t>(size));
}

void RespWriter::map(std::size_t pairs) {
  header(resp3() ? '%' : '*', static_cast<std::int64_t>(resp3() ? pairs : pairs * 2));
}

void RespWriter::push(std::size_t size) {
  header('>', static_cast<std::int64_t>(size));
}

void RespWriter::header(char type, std::int64_t value) {
  char buffer[24];
  buffer[0] = type;
  char* end = std::to_chars(buffer + 1, buffer + sizeof buffer - 2, value).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out_.append(buffer, static_cast<std::size_t>(end - buffer));
}

void RespWriter::line(char type, std::string_view text) {
  out_.push_back(type);
  for (const char c : text) {
    out_.push_back(c == '\r' || c == '\n' ? ' ' : c);
  }
  out_.append("\r\n", 2);
}

}  // namespace belay::sim
