// The bytes of a fuzzer, read as choices. Whatever they are, they mean something; after their end
// every choice is the first one. One thread; a target makes one per input.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace belay::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  std::uint8_t byte() {
    const std::string_view taken = take(1);
    return taken.empty() ? 0 : static_cast<std::uint8_t>(taken[0]);
  }

  bool flag() { return (byte() & 1U) != 0; }

  // 0..count-1
  std::size_t below(std::size_t count) { return byte() % count; }

  template <typename Value>
  Value any_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }

  // A length in the first byte, then as many bytes.
  std::string_view bytes() { return take(byte()); }

  std::string_view rest() { return take(rest_.size()); }

  // Numbers at the limits of what is kept in them, or any.
  std::int64_t integer() {
    constexpr std::int64_t kSafe = std::int64_t{1} << 53;
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    const std::uint8_t choice = byte();
    constexpr std::array<std::int64_t, 16> kEdges{0,     1,         2,       7,    100,  -1,
                                                  kSafe, kSafe - 1, -kSafe,  kMax, kMin, kMax - 1,
                                                  99,    10'000,    100'000, 65536};
    return choice < kEdges.size() ? kEdges[choice] : std::bit_cast<std::int64_t>(raw());
  }

  double real() {
    const std::uint8_t choice = byte();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::array<double, 8> kEdges{
        kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1.5, -0.0, 1e300,
        -1e300,    5e-324};
    if (choice < kEdges.size()) {
      return kEdges[choice];
    }
    return choice < 128 ? static_cast<double>(integer()) : std::bit_cast<double>(raw());
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::uint64_t raw() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) {
      bits = bits << 8U | static_cast<unsigned char>(byte);
    }
    return bits;
  }

  std::string_view rest_;
};

}  // namespace belay::fuzz
