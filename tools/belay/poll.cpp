// No timers run beside it: a caller's nearest deadline is the timeout.
#include "poll.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

void poll_for(std::initializer_list<int> fds, std::int64_t timeout_ms) {
  std::vector<pollfd> polled;
  for (const int fd : fds) {
    polled.push_back({fd, POLLIN, 0});
  }
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  poll(polled.data(), polled.size(),
       static_cast<int>(std::clamp<std::int64_t>(timeout_ms, -1, kLongest)));
}

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}
