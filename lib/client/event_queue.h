// Events on their way to the application, and the descriptor that says there are some. Any thread;
// its own lock, the innermost.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/mutex.h"
#include "engine/event.h"

namespace belay {

class EventQueue {
 public:
  EventQueue() = default;
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  void push(Event event);

  // The next event, waited for up to `timeout_ms` (-1: without limit). Null: none in time, or
  // SHUTDOWN has been taken.
  std::unique_ptr<Event> next(std::int64_t timeout_ms);

  // A descriptor that polls readable while there is an event; -1 if the system has none to give.
  int fd();

  // Lets every next() return null, for good.
  void close();

 private:
  void signal() REQUIRES(mutex_);
  void drain() REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  int waiting_ GUARDED_BY(mutex_) = 0;
  // Made when first asked for: a write to it costs more than the rest.
  int fd_ GUARDED_BY(mutex_) = -1;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace belay
