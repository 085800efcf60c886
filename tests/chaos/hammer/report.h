// What the hammer counts and finds wrong, and how long the machine stood still. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace belay::hammer {

std::int64_t now_ms();
// BELAY_TEST_SCALE: how much slower than others this machine, or a sanitizer, is.
std::int64_t scale();

class Report {
 public:
  void count(const std::string& what);
  // Prints the first few. `who`: where it was seen.
  void violation(const std::string& who, const std::string& what);
  [[nodiscard]] int violations() const;
  void print() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  int violations_ = 0;
};

// An idle watcher: while it oversleeps, no thread of ours can be expected to be in time.
class Stalls {
 public:
  Stalls();
  Stalls(const Stalls&) = delete;
  Stalls& operator=(const Stalls&) = delete;
  ~Stalls();

  // The longest that ended since `from_ms`.
  [[nodiscard]] std::int64_t longest_since(std::int64_t from_ms) const;

 private:
  struct Stall {
    std::int64_t ended_at = 0;
    std::int64_t ms = 0;
  };

  void watch();

  mutable std::mutex mutex_;
  std::deque<Stall> stalls_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace belay::hammer
