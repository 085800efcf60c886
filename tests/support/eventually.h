// The only way for a test to wait: polls until something is true. Limits are multiplied by
// BELAY_TEST_SCALE, for slow machines and sanitizers. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace belay::test {

// The limit on this machine.
inline std::chrono::milliseconds scaled(std::chrono::milliseconds limit) {
  static const double scale = [] {
    const char* const text = std::getenv("BELAY_TEST_SCALE");
    const double value = text != nullptr ? std::strtod(text, nullptr) : 1;
    return value > 0 ? value : 1;
  }();
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(limit.count()) * scale));
}

// Whether `predicate` became true within the limit.
template <class Predicate>
bool eventually(Predicate&& predicate,
                std::chrono::milliseconds limit = std::chrono::milliseconds(5000)) {
  constexpr std::chrono::microseconds kLongestPause(10000);
  const auto deadline = std::chrono::steady_clock::now() + scaled(limit);
  std::chrono::microseconds pause(100);
  while (!predicate()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return predicate();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return true;
}

}  // namespace belay::test
