#include "base/secret.h"

#include <algorithm>
#include <charconv>

namespace belay {

namespace {

// How much of a longer secret makes us believe that it is one: servers cut what they quote.
constexpr std::size_t kTellingSize = 8;

// A byte of a text as it may be written, and how many bytes that takes.
struct Written {
  char byte;
  std::size_t size;
};

Written read_hex(std::string_view text, std::size_t prefix) {
  unsigned byte = 0;
  const std::string_view digits = text.substr(std::min(prefix, text.size()), 2);
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  const bool whole = error == std::errc() && digits.size() == 2 && stop == digits.data() + 2;
  return whole ? Written{static_cast<char>(byte), prefix + 2} : Written{text[0], 1};
}

// Decodes the first byte of `text`: %41, \x41, \n, \".
Written read_encoded(std::string_view text) {
  if (text[0] == '%') {
    return read_hex(text, 1);
  }
  if (text[0] != '\\' || text.size() < 2) {
    return {text[0], 1};
  }
  constexpr std::string_view kLetters = "nrtab";
  constexpr std::string_view kBytes = "\n\r\t\a\b";
  const std::size_t letter = kLetters.find(text[1]);
  if (text[1] == 'x') {
    return read_hex(text, 2);
  }
  return {letter == std::string_view::npos ? text[1] : kBytes[letter], 2};
}

bool is_space_for(char written, char meant) {
  return (written == ' ' && (meant == '\r' || meant == '\n')) || (written == '+' && meant == ' ');
}

// How many bytes of `text` are the secret's, from its first byte on; 0 where it does not stand.
std::size_t covered(std::string_view text, std::string_view secret, bool encoded) {
  std::size_t size = 0;
  std::size_t matched = 0;
  while (matched < secret.size() && size < text.size()) {
    const std::string_view rest = text.substr(size);
    const Written written = encoded ? read_encoded(rest) : Written{rest[0], 1};
    if (written.byte == secret[matched]) {
      size += written.size;
    } else if (rest[0] == secret[matched] || (encoded && is_space_for(rest[0], secret[matched]))) {
      ++size;
    } else {
      break;
    }
    ++matched;
  }
  return matched >= std::min(secret.size(), kTellingSize) ? size : 0;
}

}  // namespace

void wipe(std::string* text) {
  text->resize(text->capacity());
  explicit_bzero(text->data(), text->size());
  text->clear();
}

Secret::Secret(std::string_view text) : text_(text) {}

// Not moved: what is short would stay behind in the other's own bytes.
Secret::Secret(std::string&& text) : text_(text) {
  wipe(&text);
}

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe(&text_);
    text_ = other.text_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    *this = static_cast<const Secret&>(other);
    wipe(&other.text_);
  }
  return *this;
}

std::string masked(std::string_view text, std::string_view secret) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size =
        secret.empty() ? 0 : std::max(covered(text, secret, false), covered(text, secret, true));
    shown.append(size == 0 ? text.substr(0, 1) : "***");
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

}  // namespace belay
