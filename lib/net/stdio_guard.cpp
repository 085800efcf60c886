#include "net/stdio_guard.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace belay {

namespace {

constexpr int kStdioSize = 3;

// Of a kind that takes no bytes and raises no signal, should the host write to it.
int make_placeholder() {
  return epoll_create1(EPOLL_CLOEXEC);
}

}  // namespace

StdioGuard::StdioGuard() {
  int fd = make_placeholder();
  while (fd >= 0 && fd < kStdioSize) {
    ours_.at(static_cast<std::size_t>(fd)) = true;
    fstat(fd, &placeholder_);
    fd = make_placeholder();
  }
  made_ = fd >= 0;
  if (made_) {
    ::close(fd);
  }
}

// The host may have opened its stdio anew meanwhile, with dup2.
StdioGuard::~StdioGuard() {
  const int error = errno;
  for (int fd = 0; fd < kStdioSize; ++fd) {
    struct stat now {};

    if (ours_.at(static_cast<std::size_t>(fd)) && fstat(fd, &now) == 0 &&
        now.st_dev == placeholder_.st_dev && now.st_ino == placeholder_.st_ino) {
      ::close(fd);
    }
  }
  errno = error;
}

bool StdioGuard::are_free(int count) const {
  std::vector<int> made;
  while (made_ && static_cast<int>(made.size()) < count) {
    const int fd = make_placeholder();
    if (fd < 0) {
      break;
    }
    made.push_back(fd);
  }
  const int error = errno;
  for (const int fd : made) {
    ::close(fd);
  }
  errno = error;
  return static_cast<int>(made.size()) == count;
}

int above_stdio(const std::function<int()>& make) {
  while (true) {
    const StdioGuard stdio;
    const int fd = stdio.made() ? make() : -1;
    if (fd < 0 || fd >= kStdioSize) {
      return fd;
    }
    ::close(fd);  // the host has closed one of the three since the guard looked
  }
}

}  // namespace belay
