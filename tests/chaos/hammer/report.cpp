#include "hammer/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace belay::hammer {

namespace {

constexpr int kShown = 20;
constexpr std::int64_t kNoted = 10;        // ms
constexpr std::int64_t kKept = 60 * 1000;  // ms

}  // namespace

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t scale() {
  const char* const text = std::getenv("BELAY_TEST_SCALE");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

void Report::count(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++counts_[what];
}

void Report::violation(const std::string& who, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (++violations_ <= kShown) {
    std::printf("VIOLATION %s: %s\n", who.c_str(), what.c_str());
    std::fflush(stdout);
  }
}

int Report::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

void Report::print() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [what, times] : counts_) {
    std::printf("%s=%lld ", what.c_str(), static_cast<long long>(times));
  }
  std::printf("violations=%d\n", violations_);
}

Stalls::Stalls() : thread_([this] { watch(); }) {}

Stalls::~Stalls() {
  stopping_ = true;
  thread_.join();
}

void Stalls::watch() {
  constexpr std::int64_t kNap = 2;
  while (!stopping_) {
    const std::int64_t before = now_ms();
    std::this_thread::sleep_for(std::chrono::milliseconds(kNap));
    const std::int64_t after = now_ms();
    if (after - before - kNap < kNoted) {
      continue;
    }
    const std::lock_guard lock(mutex_);
    stalls_.push_back({after, after - before - kNap});
    while (after - stalls_.front().ended_at > kKept) {
      stalls_.pop_front();
    }
  }
}

std::int64_t Stalls::longest_since(std::int64_t from_ms) const {
  const std::lock_guard lock(mutex_);
  std::int64_t longest = 0;
  for (const Stall& stall : stalls_) {
    longest = stall.ended_at >= from_ms && stall.ms > longest ? stall.ms : longest;
  }
  return longest;
}

}  // namespace belay::hammer
