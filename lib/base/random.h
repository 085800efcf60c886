// Random numbers: from the system for what must never repeat, from a small generator for jitter.
#pragma once

#include <cstdint>
#include <string>

namespace belay {

// 128 random bits of the system as 22 characters of A-Z a-z 0-9 - _; "" if the system has none to
// give.
std::string random_id();

// SplitMix64 (Steele, Lea, Flood 2014). One thread at a time.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();

  // Uniform in low..high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high);

 private:
  std::uint64_t state_;
};

}  // namespace belay
