// Time as the engine knows it: microseconds of CLOCK_BOOTTIME, which counts suspend and never
// steps. Thread-safe.
#pragma once

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

Micros boot_time();

// Milliseconds since 1970, for people: it may be set, and step.
std::int64_t wall_ms();

}  // namespace belay
