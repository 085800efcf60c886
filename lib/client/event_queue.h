// Events on their way to the application, and the descriptors that say there are some. Any thread;
// its own lock, the innermost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
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

  // A log event may be dropped: the next one tells how many were. No other event is.
  void push(Event event);

  // The next event, waited for up to `timeout_ms` (-1: without limit). Null: none in time.
  std::unique_ptr<Event> next(std::int64_t timeout_ms);

  // A descriptor that polls readable while there is an event; -1 if the system has none to give.
  int fd();

  // Sends a byte to this stream socket, which stays the caller's, whenever the queue stops being
  // empty, and when it ends; -1: to none. False: it is no connected one, and nothing has changed.
  bool set_wakeup(int socket);

  // Nothing more is pushed: behind what is queued every next() returns END, for good.
  void end();

  // Drops what is queued, and ends.
  void close();

  // How many events are queued.
  std::size_t size();

  // How many completions are queued.
  [[nodiscard]] std::size_t completions() const { return completions_; }

 private:
  void signal() REQUIRES(mutex_);
  void drain() REQUIRES(mutex_);
  void wake() REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  int waiting_ GUARDED_BY(mutex_) = 0;
  // Made when first asked for: a write to it costs more than the rest.
  int fd_ GUARDED_BY(mutex_) = -1;
  int wakeup_ GUARDED_BY(mutex_) = -1;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::size_t logs_ GUARDED_BY(mutex_) = 0;           // of events_
  std::int64_t dropped_logs_ GUARDED_BY(mutex_) = 0;  // since the latest that was queued
  std::atomic<std::size_t> completions_{0};           // written under the mutex
};

}  // namespace belay
