#include "client/event_queue.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "net/stdio_guard.h"

namespace belay {

namespace {

// Of log events that nobody takes: beyond that they are counted only.
constexpr std::size_t kMostLogs = 1000;

bool is_connected_stream(int socket) {
  int type = 0;
  socklen_t size = sizeof type;
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
}

}  // namespace

EventQueue::~EventQueue() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void EventQueue::push(Event event) {
  const MutexLock lock(mutex_);
  if (ended_) {
    return;
  }
  if (event.kind == BELAY_EVENT_LOG) {
    if (logs_ >= kMostLogs) {
      ++dropped_logs_;
      return;
    }
    ++logs_;
    event.dropped = std::exchange(dropped_logs_, 0);
  }
  completions_ += event.tag != 0 ? 1 : 0;
  events_.push_back(std::move(event));
  if (events_.size() == 1) {
    signal();
    wake();
  }
  if (waiting_ > 0) {
    arrived_.notify_one();
  }
}

std::unique_ptr<Event> EventQueue::next(std::int64_t timeout_ms) {
  MutexLock lock(mutex_);
  const auto ready = [this]() REQUIRES(mutex_) { return ended_ || !events_.empty(); };
  ++waiting_;
  if (timeout_ms < 0) {
    arrived_.wait(lock.native(), ready);
  } else if (timeout_ms > 0) {
    // A longer wait than the clock can express is one without limit to any caller.
    constexpr std::int64_t kLongest = std::int64_t{1000} * 3600 * 24 * 365;
    arrived_.wait_for(lock.native(), std::chrono::milliseconds(std::min(timeout_ms, kLongest)),
                      ready);
  }
  --waiting_;
  if (events_.empty()) {
    return ended_ ? std::make_unique<Event>(ended(
                        BELAY_EVENT_END, 0, Status(BELAY_CLOSED, "the client has been shut down")))
                  : nullptr;
  }
  auto event = std::make_unique<Event>(std::move(events_.front()));
  events_.pop_front();
  completions_ -= event->tag != 0 ? 1 : 0;
  logs_ -= event->kind == BELAY_EVENT_LOG ? 1 : 0;
  if (events_.empty() && !ended_) {
    drain();
  }
  return event;
}

int EventQueue::fd() {
  const MutexLock lock(mutex_);
  if (fd_ < 0) {
    fd_ = above_stdio([] { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
    if (ended_ || !events_.empty()) {
      signal();
    }
  }
  return fd_;
}

bool EventQueue::set_wakeup(int socket) {
  if (socket != -1 && !is_connected_stream(socket)) {
    return false;
  }
  const MutexLock lock(mutex_);
  wakeup_ = socket;
  if (ended_ || !events_.empty()) {
    wake();
  }
  return true;
}

std::size_t EventQueue::size() {
  const MutexLock lock(mutex_);
  return events_.size();
}

void EventQueue::end() {
  const MutexLock lock(mutex_);
  if (!std::exchange(ended_, true)) {
    wake();
  }
  signal();
  arrived_.notify_all();
}

void EventQueue::close() {
  {
    const MutexLock lock(mutex_);
    events_.clear();
    completions_ = 0;
    logs_ = 0;
  }
  end();
}

void EventQueue::signal() {
  if (fd_ >= 0) {
    static_cast<void>(eventfd_write(fd_, 1));  // fails only where it is readable already
  }
}

void EventQueue::drain() {
  eventfd_t count = 0;
  if (fd_ >= 0) {
    static_cast<void>(eventfd_read(fd_, &count));  // fails only where it is drained already
  }
}

// A full socket has bytes that nobody has read: one more says no more. Whatever else fails does so
// for good.
void EventQueue::wake() {
  const char byte = 0;
  if (wakeup_ >= 0 && ::send(wakeup_, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
      errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM && errno != EINTR) {
    wakeup_ = -1;
  }
}

}  // namespace belay
