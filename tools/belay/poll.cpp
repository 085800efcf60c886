// No timers run beside it: a caller's nearest deadline is the timeout.
#include "poll.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

void poll_for(int client_fd, int signal_fd, std::int64_t timeout_ms) {
  std::array<pollfd, 2> fds{{{client_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}}};
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  poll(fds.data(), fds.size(),
       static_cast<int>(std::clamp<std::int64_t>(timeout_ms, -1, kLongest)));
}

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}
