// Time as the engine knows it: microseconds of CLOCK_BOOTTIME, which counts suspend and never
// steps. Thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace belay {

using Micros = std::int64_t;

inline constexpr Micros kMillisecond = 1000;
inline constexpr Micros kSecond = 1'000'000;
inline constexpr Micros kNever = std::numeric_limits<Micros>::max();

// A duration of the server's as ours: longer by as much as the clocks may differ.
constexpr Micros drifted(Micros duration) {
  return duration + duration / 200;
}

// `at` + `delay`, where either may be kNever.
constexpr Micros after(Micros at, Micros delay) {
  return delay >= kNever - at ? kNever : at + delay;
}

// Rounded down: what is promised to a caller is never more than what there is.
constexpr std::int64_t to_ms(Micros duration) {
  return duration <= 0 ? 0 : duration / kMillisecond;
}

// A moment by a server's clock. It is compared with others of the same server only: what turns a
// moment of ours into one of its, and back, is what its node knows of that clock (`ClockBound`).
struct ServerTime {
  Micros since_1970 = 0;  // 0: none

  [[nodiscard]] constexpr bool any() const { return since_1970 != 0; }

  friend constexpr bool operator==(ServerTime, ServerTime) = default;

  // Not defaulted: clang-tidy 14 would take the zero in each comparison for a NULL.
  friend constexpr std::strong_ordering operator<=>(ServerTime one, ServerTime other) {
    return one.since_1970 <=> other.since_1970;
  }

  friend constexpr ServerTime operator+(ServerTime at, Micros delay) {
    return {at.since_1970 + delay};
  }

  friend constexpr Micros operator-(ServerTime end, ServerTime begin) {
    return end.since_1970 - begin.since_1970;
  }
};

Micros boot_time();

// Milliseconds since 1970, for people: it may be set, and step.
std::int64_t wall_ms();

}  // namespace belay
