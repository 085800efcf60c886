// What a client has done so far, counted. Plain numbers in fixed memory, guarded by the client's
// monitor; the engine owns them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace belay {

// Durations by powers of two: bucket n has those above 2^(n-1) and up to 2^n microseconds, the last
// one also all beyond (71 minutes).
struct Histogram {
  static constexpr std::size_t kBuckets = 33;

  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::array<std::int64_t, kBuckets> buckets{};

  void add(Micros duration) {
    const auto value = static_cast<std::uint64_t>(std::max<Micros>(duration, 1));
    ++count;
    sum += static_cast<std::int64_t>(value);
    ++buckets[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(value - 1)),
                                    kBuckets - 1)];
  }
};

struct Metrics {
  // How acquires ended.
  std::int64_t grants = 0;
  std::int64_t busy = 0;
  std::int64_t timeouts = 0;
  std::int64_t cancelled = 0;
  std::int64_t failures = 0;
  // How holds ended.
  std::int64_t releases = 0;
  std::int64_t lost = 0;

  std::int64_t renewals = 0;
  std::int64_t handoffs_local = 0;
  std::int64_t handoffs_by_message = 0;
  std::int64_t connections = 0;
  std::int64_t messages = 0;
  Histogram wait;  // of granted acquires
  Histogram hold;
  Histogram round_trip;
};

}  // namespace belay
