#include "net/kicks.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "net/stdio_guard.h"

namespace belay {

Kicks::~Kicks() {
  for (const int fd : free_) {
    ::close(fd);
  }
}

int Kicks::lend() {
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    return above_stdio([] { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
  }
  const int fd = free_.back();
  free_.pop_back();
  return fd;
}

void Kicks::take_back(int fd) {
  const MutexLock lock(mutex_);
  free_.push_back(fd);
}

void Kicks::kick(int fd) {
  eventfd_write(fd, 1);
}

void Kicks::forget(int fd) {
  eventfd_t kicks = 0;
  eventfd_read(fd, &kicks);
}

}  // namespace belay
