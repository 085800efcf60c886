#include "crew.h"

#include <chrono>
#include <utility>

namespace belay::bench {

namespace {

// Until then all members stand in line, also on a busy machine.
constexpr auto kGather = std::chrono::milliseconds(10);

double seconds_since(std::int64_t began_ns) {
  return static_cast<double>(now_ns() - began_ns) / 1e9;
}

}  // namespace

Crew::Crew(int size, std::function<void(int member)> step)
    : step_(std::move(step)),
      begin_(size + 1),
      end_(size + 1),
      latencies_us_(static_cast<std::size_t>(size)) {
  for (int member = 0; member < size; ++member) {
    threads_.emplace_back([this, member] { work(member); });
  }
}

Crew::~Crew() {
  dismissed_ = true;
  begin_.arrive_and_wait();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Crew::work(int member) {
  std::vector<double>& latencies = latencies_us_[static_cast<std::size_t>(member)];
  for (begin_.arrive_and_wait(); !dismissed_; begin_.arrive_and_wait()) {
    latencies.clear();
    for (std::int64_t before = now_ns(); !stop_.load(std::memory_order_relaxed);) {
      step_(member);
      const std::int64_t after = now_ns();
      latencies.push_back(static_cast<double>(after - before) / 1e3);
      before = after;
    }
    end_.arrive_and_wait();
  }
}

Slice Crew::run(double seconds, const std::function<void()>& open) {
  stop_ = false;
  begin_.arrive_and_wait();
  if (open) {
    std::this_thread::sleep_for(kGather);
    open();
  }
  const std::int64_t began = now_ns();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop_ = true;
  end_.arrive_and_wait();
  Slice slice;
  slice.seconds = seconds_since(began);
  for (const std::vector<double>& latencies : latencies_us_) {
    slice.latencies_us.insert(slice.latencies_us.end(), latencies.begin(), latencies.end());
  }
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  return slice;
}

Slice run_alone(double seconds, const std::function<void()>& step) {
  Slice slice;
  const std::int64_t began = now_ns();
  const std::int64_t end = began + static_cast<std::int64_t>(seconds * 1e9);
  std::int64_t before = began;
  while (before < end) {
    step();
    const std::int64_t after = now_ns();
    slice.latencies_us.push_back(static_cast<double>(after - before) / 1e3);
    before = after;
  }
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  slice.seconds = seconds_since(began);
  return slice;
}

}  // namespace belay::bench
