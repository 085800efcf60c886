#include "base/clock.h"

#include <ctime>

namespace belay {

Micros boot_time() {
  timespec time{};
  if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) {
    clock_gettime(CLOCK_MONOTONIC, &time);  // a kernel or sandbox without it
  }
  return Micros{time.tv_sec} * kSecond + time.tv_nsec / 1000;
}

std::int64_t wall_ms() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / kSecond;
}

}  // namespace belay
