// Packed numbers and bytes, little-endian as the scripts' struct.pack('<...') writes them. Pure.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace belay {

class Packer {
 public:
  Packer& u8(std::uint64_t number) { return put(number, 1); }

  Packer& u16(std::uint64_t number) { return put(number > 0xFFFF ? 0xFFFF : number, 2); }

  Packer& number(std::int64_t number) {
    return put(std::bit_cast<std::uint64_t>(static_cast<double>(number)), 8);
  }

  Packer& time(ServerTime at) { return number(at.since_1970); }

  Packer& bytes(std::string_view text) {
    packed_.append(text);
    return *this;
  }

  void reserve(std::size_t size) { packed_.reserve(size); }

  std::string take() { return std::move(packed_); }

 private:
  Packer& put(std::uint64_t bits, int size) {
    char bytes[8];
    for (int i = 0; i < size; ++i) {
      bytes[i] = static_cast<char>(bits >> (8 * i) & 0xFFU);
    }
    packed_.append(bytes, static_cast<std::size_t>(size));
    return *this;
  }

  std::string packed_;
};

// Reads in order; a read beyond the end gives zero and makes complete() false for good.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : rest_(packed) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(get(1)); }

  std::uint16_t u16() { return static_cast<std::uint16_t>(get(2)); }

  // A whole number that was packed as a double; one that is none, or beyond 2^53, makes complete()
  // false.
  std::int64_t number() {
    constexpr double kLargest = 9007199254740992.0;
    const double value = std::bit_cast<double>(get(8));
    if (!(value >= -kLargest && value <= kLargest)) {
      complete_ = false;
      return 0;
    }
    const auto whole = static_cast<std::int64_t>(value);
    complete_ = complete_ && static_cast<double>(whole) == value;
    return whole;
  }

  ServerTime time() { return {number()}; }

  std::string_view bytes(std::size_t size) {
    if (size > rest_.size()) {
      complete_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::uint64_t get(std::size_t size) {
    std::uint64_t bits = 0;
    const std::string_view taken = bytes(size);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      bits |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    }
    return bits;
  }

  std::string_view rest_;
  bool complete_ = true;
};

}  // namespace belay
