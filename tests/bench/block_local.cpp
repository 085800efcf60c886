// One process on one name: how fast its threads hand the lock to each other, and what re-entry
// costs.
#include <semaphore.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <vector>

#include "blocks.h"
#include "crew.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kThreads = 16;
constexpr int kBatch = 1000;  // re-entries between two looks at the clock
constexpr double kReentryAimNs = 300;

// The floor: a queue of threads in order of arrival, a semaphore each, and no server.
class FifoLock {
 public:
  void lock() {
    Turn turn;
    {
      const std::scoped_lock guard(mutex_);
      if (!held_) {
        held_ = true;
        return;
      }
      waiting_.push_back(&turn);
    }
    turn.wait();
  }

  void unlock() {
    Turn* next = nullptr;
    {
      const std::scoped_lock guard(mutex_);
      if (waiting_.empty()) {
        held_ = false;
        return;
      }
      next = waiting_.front();
      waiting_.pop_front();
    }
    next->give();
  }

 private:
  class Turn {
   public:
    Turn() { sem_init(&semaphore_, 0, 0); }

    ~Turn() { sem_destroy(&semaphore_); }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void give() { sem_post(&semaphore_); }

    void wait() {
      while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
      }
    }

   private:
    sem_t semaphore_{};
  };

  std::mutex mutex_;  // guards what follows
  bool held_ = false;
  std::deque<Turn*> waiting_;
};

}  // namespace

void run_local16(const Plan& plan, Report& report) {
  report.begin("local16",
               "16 threads of one client on one name, beside a queue of semaphores in the process");
  Target target(plan.server.url());
  FifoLock fifo;
  Crew ours(kThreads, [&](int) { target.release(target.lock("local16")); });
  Crew theirs(kThreads, [&](int) {
    fifo.lock();
    fifo.unlock();
  });
  // The lock is held until all stand in line: a thread that finds it free would hand it to nobody.
  const Side belay{"belay", [&](double seconds) {
                     const std::int64_t hold = target.lock("local16");
                     return ours.run(seconds, [&] { target.release(hold); });
                   }};
  const Side queue{"queue", [&](double seconds) {
                     fifo.lock();
                     return theirs.run(seconds, [&] { fifo.unlock(); });
                   }};
  const std::vector<Measured> measured = compare(plan, {belay, queue});
  report.sides(measured, "handoff");
  const Ratio rate = rate_ratio(measured, "belay", "queue");
  report.line("rate to the queue: " + show(rate));
  report.at_least("rate, times the in-process queue", ">= 0.40", 0.4, rate.known, rate.median, 2);
}

void run_reentry(const Plan& plan, Report& report) {
  report.begin("reentry", "an owner that holds the name acquires and releases it again");
  Target target(plan.server.url());
  Request request("reentry", 7);
  const std::int64_t outer = target.acquire(request);
  const Side side{"belay", [&](double seconds) {
                    return run_alone(seconds, [&] {
                      for (int i = 0; i < kBatch; ++i) {
                        target.release(target.acquire(request));
                      }
                    });
                  }};
  const std::vector<Measured> measured = compare(plan, {side});
  target.release(outer);
  if (measured.empty()) {
    return;
  }
  const std::vector<double>& batches_us = measured.front().latencies_us;  // as ns an operation
  report.table(
      {{"side", "p50 ns", "p99 ns"},
       {"belay", number(percentile(batches_us, 0.5), 0), number(percentile(batches_us, 0.99), 0)}});
  report.at_most("ns an acquire and release", "< 300", kReentryAimNs, true,
                 percentile(batches_us, 0.5), 0);
}

}  // namespace belay::bench
