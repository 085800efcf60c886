// Counts the calls that are inside a client, so that its end can wait for them. Any thread.
#pragma once

#include <pthread.h>

#include <atomic>

namespace belay {

class Visits {
 public:
  void wait_for_none() const {
    for (int inside = inside_.load(); inside != 0; inside = inside_.load()) {
      inside_.wait(inside);
    }
  }

 private:
  friend class Visit;

  std::atomic<int> inside_{0};
};

// A call. It is no cancellation point: a thread that is cancelled within it ends at its next one
// after the call.
class Visit {
 public:
  explicit Visit(Visits& visits) : visits_(visits) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_);
    visits_.inside_.fetch_add(1);
  }

  ~Visit() {
    if (visits_.inside_.fetch_sub(1) == 1) {
      visits_.inside_.notify_all();
    }
    pthread_setcancelstate(cancellation_, nullptr);
  }

  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Visits& visits_;
  int cancellation_ = 0;
};

}  // namespace belay
