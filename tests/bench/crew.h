// Threads that repeat a step while a slice lasts and sleep between slices. Owned by a block, run
// from the main thread.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "measure.h"

namespace belay::bench {

class Crew {
 public:
  // `step` is called by each member's own thread, with its number from 0 on.
  Crew(int size, std::function<void(int member)> step);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // `open`: called when the members have begun, to let go of what has kept them waiting until then.
  Slice run(double seconds, const std::function<void()>& open = {});

 private:
  void work(int member);

  const std::function<void(int)> step_;
  std::barrier<> begin_;
  std::barrier<> end_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> dismissed_{false};
  std::vector<std::vector<double>> latencies_us_;  // each its member's, between begin and end
  std::vector<std::thread> threads_;
};

// The same for the calling thread alone.
Slice run_alone(double seconds, const std::function<void()>& step);

}  // namespace belay::bench
