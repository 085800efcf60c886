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
    plan.processes = on(60) ? 2 : random_.between(3, 4);
    plan.sharing = on(40);
    plan.semaphore = on(20);
    if (kind <= 85) {
      stormy(plan);
      plan.sets = on(plan.broken ? 80 : 30);
      plan.slots_apart = plan.sets && on(50);
    } else {
      steady(plan);
      if (kind > 98) {
        busy(plan);
      }
    }
    plan.latch = plan.latch || on(25);
    plan.limits = plan.limits > 0 ? plan.limits : on(50) ? 15 : 0;
    plan.writes = on(25);
    plan.faults.clock_slips = on(30);
    plan.forged = on(20);
    return plan;
  }

  // Failovers between hosts instead of what else there may be, or beside it.
  void replicate(Plan& plan) {
    plan.replicas = 2;
    plan.hosts = 1 + plan.replicas;
    plan.sentinels = on(60) ? 3 : 0;
    plan.clocks_apart = on(50) ? 0 : on(50) ? 20 * kMillisecond : 2 * kSecond;
    if (on(60)) {
      failovers_above_all(plan);
    }
    plan.faults.data_loss = plan.faults.failovers = true;
    // A failover is as if the clock had stepped; nobody else makes it do so.
    plan.faults.clock_back = plan.faults.clock_forward = plan.clocks_apart > 0;
  }

 private:
  // Few, of what is held for longer than they take: that a loss is told of at once is seen only
  // then.
  void failovers_above_all(Plan& plan) {
    plan.faults = Faults();
    plan.faults.cuts = on(30);
    plan.faults.lost_pushes = on(30);
    plan.faults.pauses = on(20);
    plan.faults.crashes = on(20);
    plan.faults.server_stops = on(20);
    plan.faults.no_kill = on(30);
    plan.haunted = plan.broken = plan.stopped = false;
    plan.lease = random_.between(1, 3) * kSecond;
    plan.timeout = random_.between(300, 1200) * kMillisecond;
    plan.longest_delay = random_.between(300, 5000);
    plan.fixed = 20;
    plan.hold = {kMillisecond, kSecond};
    plan.between_faults = {50 * kMillisecond, 800 * kMillisecond};
    plan.calm_at = plan.start_at + span(200 * kMillisecond, 2 * kSecond);
    plan.drain_at = plan.calm_at + span(500 * kMillisecond, 2 * kSecond);
  }

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
    faults.stops = on(20);
    faults.crashes = on(40);
    faults.server_stops = on(30);
    faults.server_restarts = on(20);
    faults.data_loss = on(20);
    faults.failovers = faults.data_loss && on(40);
    faults.clock_back = on(20);
    faults.clock_forward = on(15);
    faults.script_flushes = on(20);
    faults.no_kill = on(30);
    faults.breaks = on(25);
    faults.shutdowns = on(20);
    faults.errors = on(15);
    plan.lease = random_.between(200, 1000) * kMillisecond;
    plan.timeout = random_.between(200, 1200) * kMillisecond;
    plan.longest_delay = random_.between(300, 20'000);
    plan.most_users = 2;
    plan.between_faults = {kMillisecond, 300 * kMillisecond};
    plan.calm_at = plan.start_at + span(60 * kMillisecond, 1200 * kMillisecond);
    plan.drain_at = plan.calm_at + span(20 * kMillisecond, 300 * kMillisecond);
    const std::int64_t kind = random_.between(1, 100);
    if (kind <= 12) {
      crowded(plan);
    } else if (kind <= 20) {
      sleepy(plan);
    } else if (kind <= 32) {
      haunted(plan);
    } else if (kind <= 40) {
      distant(plan);
      plan.faults.stops = false;  // what outlasts the bounds there takes too long
      plan.between_faults = {10 * kMillisecond, 10 * kSecond};
      plan.calm_at = plan.start_at + span(5 * kSecond, 60 * kSecond);
      plan.drain_at = plan.calm_at + span(kSecond, 10 * kSecond);
    } else if (kind <= 48) {
      stopped(plan);
    } else if (kind <= 54) {
      refused(plan);
    } else if (kind <= 60) {
      broken(plan);
    }
  }

  // As far away as is promised to work, with leases to match. Some are too short, and refused.
  void distant(Plan& plan) {
    plan.distant = true;
    plan.timeout = 5 * kSecond;
    plan.lease = random_.between(10, 30) * kSecond;
    plan.longest_delay = random_.between(250, 1250) * kMillisecond;
    plan.most_users = 2;
    plan.think = {kMillisecond, 3 * kSecond};
    plan.hold = {kMillisecond, 3 * kSecond};
    plan.longest_hold = 20 * kSecond;
    plan.longest_wait = 20 * kSecond;
    plan.longest_stop = plan.timeout;
    plan.pause = {kMillisecond, plan.timeout};
  }

  // Owners follow each other within a process and it dies, while the clock goes back: what only
  // reserved fences get right. Where no other process waits, they go on for as long as they can.
  void crowded(Plan& plan) {
    plan.faults = Faults();
    plan.faults.crashes = true;
    plan.faults.clock_back = true;
    plan.clock_step = {100 * kMillisecond, 2 * kSecond};
    plan.sharing = false;
    plan.semaphore = false;
    plan.processes = on(50) ? 1 : plan.processes;
    plan.lease = random_.between(200, 400) * kMillisecond;
    plan.longest_delay = random_.between(300, 10'000);
    plan.most_users = 4;
    plan.re_entry = false;
    plan.think = {50, kMillisecond};
    plan.hold = {50, kMillisecond};
    plan.longest_hold = kMillisecond;
    plan.calm_at = plan.start_at + span(20 * kMillisecond, 300 * kMillisecond);
    plan.between_faults = {kMillisecond, 50 * kMillisecond};
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  // What arrives late is what the order on a new connection, not-after and sweeps are for.
  void haunted(Plan& plan) {
    plan.faults = Faults();
    plan.faults.cuts = true;
    plan.faults.no_kill = on(70);
    plan.haunted = true;
    plan.semaphore = on(50);
    plan.latch = on(50);
    plan.longest_delay = random_.between(300, 5000);
    plan.calm_at = plan.start_at + 400 * kMillisecond;
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  // Waiters that stop for good, of what changes under them, before clients that release and end:
  // nobody may stand in the way of others for longer than a grant.
  void stopped(Plan& plan) {
    plan.faults = Faults();
    plan.faults.stops = true;
    plan.faults.shutdowns = on(50);
    plan.processes = 4;
    plan.stopped = true;
    plan.semaphore = on(70);
    plan.limits = 30;
    plan.hold = {kMillisecond, 300 * kMillisecond};
    plan.longest_delay = random_.between(300, 5000);
    plan.between_faults = {10 * kMillisecond, 200 * kMillisecond};
    plan.calm_at = plan.start_at + 500 * kMillisecond;
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  // Holders whose time is up while the server refuses to hear of it, or to extend it, and the next
  // owners of their process ask: what a lock-delay and a doubt are for.
  void refused(Plan& plan) {
    plan.faults = Faults();
    plan.faults.errors = true;
    plan.faults.cuts = on(30);
    plan.processes = 2;
    plan.sharing = true;
    plan.semaphore = false;
    plan.fixed = 80;
    plan.delays = 60;
    plan.extends = 30;
    plan.longest_delay = random_.between(300, 20'000);
    plan.hold = {10 * kMillisecond, 600 * kMillisecond};
    plan.calm_at = plan.start_at + span(300 * kMillisecond, 2 * kSecond);
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  // What was broken is asked about from far enough away that owners of the same process come, and
  // other names of several are granted, before the answer does.
  void broken(Plan& plan) {
    plan.faults = Faults();
    plan.faults.breaks = true;
    plan.faults.errors = on(30);
    plan.broken = true;
    plan.processes = random_.between(2, 4);
    plan.most_users = 4;
    plan.sharing = on(60);
    plan.semaphore = false;
    plan.longest_delay = random_.between(1000, 30'000);
    plan.hold = {kMillisecond, 100 * kMillisecond};
    plan.between_faults = {kMillisecond, 50 * kMillisecond};
    plan.calm_at = plan.start_at + span(100 * kMillisecond, kSecond);
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  // Long idle with clocks that drift apart, then waiters that stop for as long as a grant lasts:
  // only a bound that has aged keeps them from believing too long.
  void sleepy(Plan& plan) {
    plan.faults = Faults();
    plan.faults.pauses = true;
    plan.server_drifts = true;
    plan.processes = 4;
    plan.most_users = 1;
    plan.longest_delay = random_.between(300, 5000);
    plan.think = {200, 20 * kMillisecond};
    plan.hold = {200, 20 * kMillisecond};
    plan.longest_hold = 20 * kMillisecond;
    plan.start_at = random_.between(10, 28) * kSecond;
    plan.between_faults = {10 * kMillisecond, 100 * kMillisecond};
    plan.calm_at = plan.start_at + 500 * kMillisecond;
    plan.drain_at = plan.calm_at + 20 * kMillisecond;
  }

  void steady(Plan& plan) {
    plan.steady = true;
    plan.faults.cuts = on(30);
    plan.faults.lost_pushes = on(20);
    plan.faults.pauses = on(40);
    plan.faults.crashes = on(40);
    plan.faults.shutdowns = on(20);
    plan.lease = 10 * kSecond;
    plan.timeout = kSecond;
    plan.longest_delay = span(300, 60 * kMillisecond);
    plan.most_users = 2;
    plan.think = {10 * kMillisecond, 3 * kSecond};
    plan.hold = {kMillisecond, 3 * kSecond};
    plan.longest_hold = 5 * kSecond;
    plan.between_faults = {100 * kMillisecond, 20 * kSecond};
    plan.between_forged = {kMillisecond, kSecond};
    plan.pause = {kMillisecond, 5 * kSecond};
    plan.drain_at = plan.start_at + span(kSecond, 4 * kSecond);
    if (on(20)) {
      distant(plan);
      plan.drain_at = plan.start_at + span(20 * kSecond, 90 * kSecond);
    } else if (on(20)) {
      plan.faults = Faults();
      plan.rows = true;
      plan.processes = 5;
      plan.most_users = 1;
      plan.hold = {100 * kMillisecond, 3 * kSecond};
      plan.between_faults = {100 * kMillisecond, 2 * kSecond};
      plan.drain_at = plan.start_at + span(10 * kSecond, 60 * kSecond);
    }
    plan.calm_at = plan.drain_at;
  }

  // Each process has two owners or more who follow each other without a gap: only a fair holder
  // lets the others have it.
  void busy(Plan& plan) {
    plan.faults = Faults();
    plan.distant = false;
    plan.rows = false;
    plan.processes = std::min<std::int64_t>(plan.processes, 4);
    plan.timeout = kSecond;
    plan.lease = 10 * kSecond;
    plan.longest_delay = random_.between(300, 3000);
    plan.most_users = 4;
    plan.re_entry = false;  // who re-enters without end never releases
    plan.think = {50, kMillisecond};
    plan.hold = {2 * kMillisecond, 15 * kMillisecond};
    plan.longest_hold = 15 * kMillisecond;
    plan.drain_at = plan.start_at + 2500 * kMillisecond;
    plan.calm_at = plan.drain_at;
    plan.turn = 1500 * kMillisecond;
    plan.semaphore = false;
    plan.readers =
        90;  // always some of a process at once: a writer gets in only if they wait for it
    plan.identities = 0;
  }

  Random& random_;
};

}  // namespace

Plan make_plan(Random& random) {
  Plan plan = Planner(random).make();
  if (plan.sets && random.between(1, 100) <= 30) {
    plan.hosts = 2;
    plan.cluster = random.between(1, 100) <= 60;
    plan.hosts += plan.cluster ? 1 : 0;
  }
  Random aside = random;  // so that all other plans stay what they are without this
  const bool alone = !plan.steady && !plan.distant && plan.hosts == 1;
  if (alone && aside.between(1, 100) <= (plan.faults.failovers ? 60 : 5)) {
    Planner(aside).replicate(plan);
  }
  if (plan.cluster) {
    plan.slots_apart = true;
    plan.old = random.between(1, 100) <= 30;
    // A slot that comes from another clock would be as if its own had stepped.
    plan.faults.clock_back = plan.faults.clock_forward = false;
  }
  return plan;
}

}  // namespace belay::sim
