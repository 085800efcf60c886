// Deadlines in order: a binary heap whose entries know their place, so that moving one costs a
// logarithm and no memory. Used inside the client's monitor; the timers belong to the claims and
// submissions that they are part of.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace belay {

struct Claim;
struct Pending;

// Either a claim's or a submission's.
struct Timer {
  Micros at = kNever;
  Claim* claim = nullptr;
  Pending* pending = nullptr;
  std::size_t place = kNowhere;

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
};

class TimerHeap {
 public:
  // Sets when `timer` is due; kNever takes it out.
  void set(Timer& timer, Micros at);

  // The soonest timer, or nullptr.
  [[nodiscard]] Timer* first() const { return heap_.empty() ? nullptr : heap_.front(); }

  [[nodiscard]] Micros next() const { return heap_.empty() ? kNever : heap_.front()->at; }

 private:
  void put(std::size_t place, Timer* timer);
  void rise(std::size_t place);
  void sink(std::size_t place);

  std::vector<Timer*> heap_;
};

}  // namespace belay
