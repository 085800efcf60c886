#include "net/loop.h"

#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "net/stdio_guard.h"

namespace belay {

namespace {

// What libuv takes for a loop, with what stays from its first one, and the timer: nine at most. It
// ends the process where it finds too few. And a connection's two, with one for whoever reads.
constexpr int kDescriptors = 12;

// All signals but those that a fault of the thread itself raises: a handler of the host never runs
// on our thread.
sigset_t blocked_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&signals, synchronous);
  }
  return signals;
}

int make_timer() {
  const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  return fd >= 0 ? fd : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::create(std::function<void()> on_timer) {
  std::unique_ptr<Loop> loop(new Loop(std::move(on_timer)));
  if (Status status = loop->start(); !status.ok()) {
    return status;
  }
  return loop;
}

Status Loop::start() {
  const StdioGuard stdio;
  if (!stdio.made() || !stdio.are_free(kDescriptors)) {
    return {BELAY_UNAVAILABLE, std::string("no descriptors are left for a client: ") +
                                   uv_strerror(uv_translate_sys_error(errno))};
  }
  timer_fd_ = above_stdio(make_timer);
  if (timer_fd_ < 0) {
    return {BELAY_UNAVAILABLE,
            std::string("no timer could be made: ") + uv_strerror(uv_translate_sys_error(errno))};
  }
  if (const int error = uv_loop_init(&loop_); error != 0) {
    return {BELAY_UNAVAILABLE, std::string("no event loop could be made: ") + uv_strerror(error)};
  }
  loop_made_ = true;
  loop_.data = this;
  wake_.data = this;
  timer_.data = this;
  uv_async_init(&loop_, &wake_,
                [](uv_async_t* wake) { static_cast<Loop*>(wake->data)->run_tasks(); });
  if (const int error = uv_poll_init(&loop_, &timer_, timer_fd_); error != 0) {
    return {BELAY_UNAVAILABLE, std::string("no timer could be watched: ") + uv_strerror(error)};
  }
  uv_poll_start(&timer_, UV_READABLE,
                [](uv_poll_t* timer, int, int) { static_cast<Loop*>(timer->data)->fire_timer(); });
  const sigset_t blocked = blocked_signals();
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  uv_thread_options_t options{};
  options.flags = UV_THREAD_HAS_STACK_SIZE;
  options.stack_size = kThreadStack;
  const int error = uv_thread_create_ex(
      &thread_, &options, [](void* loop) { static_cast<Loop*>(loop)->run(); }, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return {BELAY_UNAVAILABLE, std::string("no thread could be started: ") + uv_strerror(error)};
  }
  running_ = true;
  return {};
}

void Loop::join() {
  if (std::exchange(running_, false)) {
    post([this] { stop(); });
    uv_thread_join(&thread_);
  } else if (loop_made_ && uv_loop_alive(&loop_) != 0) {  // the thread could not be started
    stop();
    uv_run(&loop_, UV_RUN_DEFAULT);
  }
}

Loop::~Loop() {
  join();
  if (loop_made_) {
    [[maybe_unused]] const int still_open = uv_loop_close(&loop_);
    assert(still_open == 0);
  }
  if (timer_fd_ >= 0) {
    ::close(timer_fd_);
  }
}

void Loop::forget() {
  // The loop's descriptors stay open until the child ends: closing them through libuv would change
  // the parent's epoll set.
  running_ = false;
  loop_made_ = false;
}

void Loop::run() {
  pthread_setname_np(pthread_self(), "belay");
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void Loop::stop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
  if (timer_.type == UV_POLL) {
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  }
}

void Loop::post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  uv_async_send(&wake_);
}

void Loop::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) {
    task();
  }
}

void Loop::arm(Micros at) {
  const MutexLock lock(mutex_);
  if (at < armed_) {
    armed_ = at;
    set_timer(at);
  }
}

void Loop::set_timer(Micros at) {
  const Micros time = std::max<Micros>(at, 1);  // zero would disarm it
  itimerspec setting{};
  setting.it_value.tv_sec = time / kSecond;
  setting.it_value.tv_nsec = time % kSecond * 1000;
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void Loop::fire_timer() {
  std::uint64_t expirations = 0;
  if (::read(timer_fd_, &expirations, sizeof expirations) != sizeof expirations) {
    return;  // armed anew meanwhile
  }
  {
    const MutexLock lock(mutex_);
    armed_ = kNever;
  }
  on_timer_();
}

}  // namespace belay
