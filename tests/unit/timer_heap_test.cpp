// Deadlines in order, whatever is moved or taken out.
#include "engine/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace belay {
namespace {

TEST(TimerHeap, GivesTheSoonestFirst) {
  TimerHeap heap;
  Timer late;
  Timer soon;
  heap.set(late, 20);
  heap.set(soon, 10);
  EXPECT_EQ(heap.first(), &soon);
  heap.set(soon, 30);
  EXPECT_EQ(heap.first(), &late);
  heap.set(late, kNever);
  heap.set(soon, kNever);
  EXPECT_EQ(heap.next(), kNever);
}

TEST(TimerHeap, StaysInOrderUnderRandomChanges) {
  TimerHeap heap;
  Random random(7);
  std::vector<Timer> timers(50);
  for (int round = 0; round < 20'000; ++round) {
    Timer& timer = timers[static_cast<std::size_t>(random.between(0, 49))];
    heap.set(timer, random.between(1, 4) == 1 ? kNever : random.between(0, 1000));
    Micros soonest = kNever;
    for (const Timer& other : timers) {
      soonest = std::min(soonest, other.at);
    }
    ASSERT_EQ(heap.next(), soonest);
  }
}

}  // namespace
}  // namespace belay
