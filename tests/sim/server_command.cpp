// Finds a simulated server's commands by name, and the readers of arguments that they share. Pure
// functions.
#include "sim/server_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

namespace belay::sim {
namespace {

constexpr std::size_t kLongestName = 16;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

StringMap<const Command*> all_commands() {
  StringMap<const Command*> all;
  for (const auto& commands :
       {data_commands(), sorted_set_commands(), connection_commands(), script_commands()}) {
    for (const Command& command : commands) {
      all.emplace(command.name, &command);
    }
  }
  return all;
}

// Whether the [set] at the front of `pattern` has `c`; cuts the set off.
bool set_has(std::string_view& pattern, char c) {
  pattern.remove_prefix(1);
  const bool inverted = !pattern.empty() && pattern[0] == '^';
  if (inverted) {
    pattern.remove_prefix(1);
  }
  bool found = false;
  while (!pattern.empty() && pattern[0] != ']') {
    if (pattern[0] == '\\' && pattern.size() > 1) {
      pattern.remove_prefix(1);
      found = found || pattern[0] == c;
      pattern.remove_prefix(1);
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      const auto [low, high] = std::minmax(pattern[0], pattern[2]);
      found = found || (c >= low && c <= high);
      pattern.remove_prefix(3);
    } else {
      found = found || pattern[0] == c;
      pattern.remove_prefix(1);
    }
  }
  if (!pattern.empty()) {
    pattern.remove_prefix(1);
  }
  return found != inverted;
}

}  // namespace

bool is_script(const Command& command) {
  return command.name == "eval" || command.name == "evalsha";
}

Keys keys_of(const Command& command, std::span<const std::string_view> argv) {
  if (command.first_key == 0) {
    return {};
  }
  const auto first = static_cast<std::size_t>(command.first_key);
  const std::size_t last =
      command.last_key < 0 ? argv.size() - 1 : static_cast<std::size_t>(command.last_key);
  return {argv.subspan(first, last - first + 1), command.key_step};
}

bool arity_fits(const Command& command, std::size_t words) {
  const auto count = static_cast<int>(words);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

const Command* find_command(std::string_view name) {
  static const StringMap<const Command*> all = all_commands();
  char buffer[kLongestName];
  if (name.size() > sizeof buffer) {
    return nullptr;
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    buffer[i] = lower(name[i]);
  }
  const auto found = all.find(std::string_view(buffer, name.size()));
  return found == all.end() ? nullptr : found->second;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) {
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool padded = text.size() > 1 && (text[0] == '0' || text.substr(0, 2) == "-0");
  if (error != std::errc() || end != text.data() + text.size() || padded) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  char copy[64];
  if (text.empty() || text.size() >= sizeof copy || text[0] == ' ') {
    return std::nullopt;
  }
  copy[text.copy(copy, text.size())] = '\0';
  char* end = nullptr;
  const double value = std::strtod(copy, &end);
  if (end != copy + text.size() || std::isnan(value)) {
    return std::nullopt;
  }
  return value;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool matches(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      pattern.remove_prefix(1);
      for (std::size_t skip = 0; skip <= text.size(); ++skip) {
        if (matches(pattern, text.substr(skip))) {
          return true;
        }
      }
      return false;
    }
    if (text.empty()) {
      return false;
    }
    if (pattern[0] == '[') {
      if (!set_has(pattern, text[0])) {
        return false;
      }
    } else {
      if (pattern[0] == '\\' && pattern.size() > 1) {
        pattern.remove_prefix(1);
      } else if (pattern[0] == '?') {
        pattern.remove_prefix(1);
        text.remove_prefix(1);
        continue;
      }
      if (pattern[0] != text[0]) {
        return false;
      }
      pattern.remove_prefix(1);
    }
    text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace belay::sim
