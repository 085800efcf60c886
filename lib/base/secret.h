// A password in memory, wiped when it goes, and texts without it. Values; no lock of their own.
#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero is glibc's

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belay {

// Fills the text's memory with zeros, also what its capacity has beyond its end, and empties it.
void wipe(std::string* text);

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text);
  // Wipes what it is made from.
  explicit Secret(std::string&& text);

  ~Secret() { wipe(&text_); }

  Secret(const Secret& other) : Secret(other.view()) {}

  Secret(Secret&& other) noexcept : Secret(std::move(other.text_)) {}

  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;

  friend bool operator==(const Secret& one, const Secret& other) {
    return one.text_ == other.text_;
  }

  [[nodiscard]] std::string_view view() const { return text_; }

  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// `text` with *** wherever `secret` stands, also percent-encoded, escaped as servers do, or cut
// short behind its eighth byte.
std::string masked(std::string_view text, std::string_view secret);

// Memory that is wiped before it is given back: for buffers through which secrets pass.
template <typename Value>
struct WipingAllocator {
  using value_type = Value;

  WipingAllocator() = default;

  template <typename Other>
  WipingAllocator(const WipingAllocator<Other>&) {}  // NOLINT(google-explicit-constructor)

  Value* allocate(std::size_t count) { return std::allocator<Value>().allocate(count); }

  void deallocate(Value* memory, std::size_t count) {
    explicit_bzero(memory, count * sizeof(Value));
    std::allocator<Value>().deallocate(memory, count);
  }

  friend bool operator==(const WipingAllocator&, const WipingAllocator&) { return true; }
};

using WipingString = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;

}  // namespace belay
