// The library's one thread per client: a libuv loop, tasks posted to it, and a timer that counts
// suspend. Owned by the client. post and arm are for any thread; everything else, and everything
// the loop calls, belongs to its own.
#pragma once

#include <pthread.h>
#include <uv.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace belay {

// Of our threads, whatever little or much the host has made the default.
inline constexpr std::size_t kThreadStack = std::size_t{1} << 20U;

class Loop {
 public:
  // `on_timer` runs on the loop's thread when an armed time has come.
  static Result<std::unique_ptr<Loop>> create(std::function<void()> on_timer);

  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Stops the loop and waits for its thread; posted tasks that have not run are dropped. Whatever
  // watches a descriptor must have been closed. Any other thread.
  void join();

  void post(std::function<void()> task);

  // Makes on_timer run at `at`, if that is sooner than what is armed already.
  void arm(Micros at);

  [[nodiscard]] bool is_this_thread() const { return pthread_equal(pthread_self(), thread_) != 0; }

  uv_loop_t* uv() { return &loop_; }

  // In a child after fork(): closes our descriptors without touching what the parent shares.
  void forget();

 private:
  explicit Loop(std::function<void()> on_timer) : on_timer_(std::move(on_timer)) {}

  Status start();
  void run();
  void stop();
  void run_tasks();
  void fire_timer();
  void set_timer(Micros at) REQUIRES(mutex_);

  std::function<void()> on_timer_;
  uv_loop_t loop_{};
  uv_async_t wake_{};
  uv_poll_t timer_{};
  uv_thread_t thread_{};
  int timer_fd_ = -1;
  bool loop_made_ = false;
  bool running_ = false;
  Mutex mutex_;
  std::vector<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  Micros armed_ GUARDED_BY(mutex_) = kNever;
};

}  // namespace belay
