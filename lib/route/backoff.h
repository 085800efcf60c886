// Pauses between attempts to connect. A value; a node and a sentinel have one each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace belay {

class Backoff {
 public:
  static constexpr Micros kLongest = 2 * kSecond;

  explicit Backoff(std::uint64_t seed, Micros longest = kLongest)
      : random_(seed), longest_(longest) {}

  // Full jitter (Brooker 2015): anything up to a delay that doubles.
  Micros next() {
    const Micros ceiling = std::min(longest_, kFirst << std::min(failures_, kDoublings));
    ++failures_;
    return random_.between(kMillisecond, ceiling);
  }

  void reset() { failures_ = 0; }

 private:
  static constexpr Micros kFirst = 10 * kMillisecond;
  static constexpr int kDoublings = 8;  // 10 ms doubled eight times is beyond the longest

  Random random_;
  Micros longest_;
  int failures_ = 0;
};

}  // namespace belay
