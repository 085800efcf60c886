#include "sim/plan.h"

#include <algorithm>

namespace belay::sim {

namespace {

class Planner {
 public:
  explicit Planner(Random& random) : random_(random) {}

  Plan make() {
    const std::int64_t kind = random_.between(1, 100);
    Plan plan;
    plan.processes = random_.between(2, 4);
    plan.start_at = on(10) ? span(kSecond, 25 * kSecond) : 0;
    if (kind <= 75) {
      stormy(plan);
    } else {
      steady(plan);
      if (kind > 96) {
        busy(plan);
      }
    }
    return plan;
  }

 private:
  bool on(int percent) { return random_.between(1, 100) <= percent; }

  Micros span(Micros low, Micros high) {
    Micros at = low;
    while (at < high && random_.between(1, 10) <= 7) {
      at = at * 3 / 2;
    }
    return std::min(at, high);
  }

  void stormy(Plan& plan) {
    Faults& faults = plan.faults;
    faults.cuts = on(50);
    faults.lost_pushes = on(30);
    faults.pauses = on(50);
    faults.crashes = on(40);
    faults.server_stops = on(30);
    faults.server_restarts = on(20);
    faults.data_loss = on(20);
    faults.clock_back = on(20);
    faults.clock_forward = on(15);
    faults.script_flushes = on(20);
    faults.no_kill = on(30);
    faults.breaks = on(25);
    plan.lease = random_.between(200, 1000) * kMillisecond;
    plan.longest_delay = random_.between(300, 20'000);
    plan.calm_at = plan.start_at + span(300 * kMillisecond, 2500 * kMillisecond);
    plan.drain_at = plan.calm_at + 300 * kMillisecond;
  }

  void steady(Plan& plan) {
    plan.steady = true;
    plan.faults.cuts = on(30);
    plan.faults.lost_pushes = on(20);
    plan.faults.pauses = on(40);
    plan.faults.crashes = on(40);
    plan.lease = 10 * kSecond;
    plan.timeout = kSecond;
    plan.longest_delay = span(300, 60 * kMillisecond);
    plan.think = {kMillisecond, 3 * kSecond};
    plan.hold = {200, 3 * kSecond};
    plan.longest_hold = 5 * kSecond;
    plan.between_faults = {100 * kMillisecond, 20 * kSecond};
    plan.pause = {kMillisecond, 5 * kSecond};
    plan.drain_at = plan.start_at + span(2 * kSecond, 15 * kSecond);
    plan.calm_at = plan.drain_at;
  }

  // Each process has two owners or more who follow each other without a gap: only a fair holder
  // lets the others have it.
  void busy(Plan& plan) {
    plan.faults = Faults();
    plan.longest_delay = random_.between(300, 3000);
    plan.most_users = 4;
    plan.re_entry = false;  // who re-enters without end never releases
    plan.think = {50, kMillisecond};
    plan.hold = {kMillisecond, 10 * kMillisecond};
    plan.longest_hold = 10 * kMillisecond;
    plan.drain_at = plan.start_at + 4 * kSecond;
    plan.calm_at = plan.drain_at;
    plan.turn = 2 * kSecond;
  }

  Random& random_;
};

}  // namespace

Plan make_plan(Random& random) {
  return Planner(random).make();
}

}  // namespace belay::sim
