#include "base/glob.h"

#include <cstddef>

namespace belay {

namespace {

// Matches one byte against the bracket expression at the start of `pattern` and says how long that
// is.
bool match_set(std::string_view pattern, char byte, std::size_t* size) {
  std::size_t at = 1;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) {
    ++at;
  }
  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      ++at;
    }
    const char low = pattern[at];
    char high = low;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      high = pattern[at + 2];
      at += 2;
    }
    found = found || (byte >= low && byte <= high);
    ++at;
  }
  *size = at < pattern.size() ? at + 1 : at;
  return found != negated;
}

// Matches one byte against the element (no star) at the start of `pattern` and says how long that
// is.
bool match_one(std::string_view pattern, char byte, std::size_t* size) {
  *size = 1;
  if (pattern[0] == '?') {
    return true;
  }
  if (pattern[0] == '[') {
    return match_set(pattern, byte, size);
  }
  if (pattern[0] == '\\' && pattern.size() > 1) {
    *size = 2;
    return pattern[1] == byte;
  }
  return pattern[0] == byte;
}

}  // namespace

// On a mismatch only the latest star can help: what stood before it has matched as early as
// possible.
bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    std::size_t size = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && match_one(pattern.substr(p), text[t], &size)) {
      p += size;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

}  // namespace belay
