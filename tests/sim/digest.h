// A hash over what happens in a schedule, in order: the same on every machine. FNV-1a, 64 bits
// (Fowler, Noll, Vo).
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::sim {

class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * kPrime;
    }
    add(static_cast<std::int64_t>(bytes.size()));
  }

  void add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      value_ = (value_ ^ (static_cast<std::uint64_t>(number) >> shift & 0xFF)) * kPrime;
    }
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001B3;

  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace belay::sim
