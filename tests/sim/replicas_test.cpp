// A master that is replaced, in exact time: who goes where, what is lost and what is not ("A master
// and its replicas" in lib/README.md). Found by asking the hosts, and by asking sentinels.
#include "sim/replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "dialect/keys.h"
#include "sim/custody.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {
namespace {

constexpr Micros kLease = 3 * kSecond;
constexpr Micros kTimeout = kSecond;
constexpr Micros kTrip = 4 * kMillisecond;  // at most, there and back
constexpr std::size_t kMembers = 3;
constexpr Micros kFound = 400 * kMillisecond;  // a new master, and connected to

// By how many sentinels there are.
class Replaced : public testing::TestWithParam<int> {
 protected:
  Replaced() { make_world(kTrip / 2); }

  void make_world(Micros one_way) {
    processes_.clear();
    events_.clear();
    world_ = std::make_unique<World>(42, Faults(), one_way, nullptr, kMembers + GetParam());
    world_->calm();
    world_->set_shortest_delay(one_way / 2);
    world_->become_replicated(kMembers, 0);
    replicas_ = std::make_unique<Replicas>(*world_);
    add_processes(4);
  }

  void add_processes(int count) {
    for (int i = 0; i < count; ++i) {
      const auto number = processes_.size();
      events_.emplace_back();
      const Process::Observer observer{[this, number](Process&, const Event& event) {
                                         events_[number].push_back(event);
                                         happened_at_ = world_->now();
                                       },
                                       [](Process&) {}};
      processes_.push_back(
          std::make_unique<Process>(*world_, static_cast<int>(number), observer, lease_, timeout_));
    }
    run_for(50 * kMillisecond);
  }

  void run_for(Micros duration) {
    ASSERT_TRUE(world_->run(world_->now() + duration));
    ASSERT_EQ(world_->violation(), "");
  }

  void acquire(std::size_t process, Micros fixed_lease = 0) {
    AcquireRequest request;
    request.lease = fixed_lease;
    request.primitive = &processes_[process]->dialect().lock;
    request.name = "a";
    request.notify = true;
    processes_[process]->call([&](Engine& engine, Micros now) {
      EXPECT_TRUE(engine.acquire(++last_tag_, request, kNever, now).ok());
    });
  }

  // Granted at once.
  std::int64_t held(std::size_t process) {
    acquire(process);
    run_for(2 * kTrip);
    EXPECT_TRUE(granted(process));
    return events_[process].empty() ? 0 : events_[process].back().hold;
  }

  void release(std::size_t process, std::int64_t hold) {
    processes_[process]->call([&](Engine& engine, Micros now) {
      EXPECT_TRUE(engine.release(++last_tag_, hold, now).ok());
    });
  }

  [[nodiscard]] bool granted(std::size_t process) const {
    return !events_[process].empty() && events_[process].back().kind == BELAY_EVENT_ACQUIRED &&
           events_[process].back().status.ok();
  }

  [[nodiscard]] bool lost(std::size_t process) const {
    return std::any_of(events_[process].begin(), events_[process].end(),
                       [](const Event& event) { return event.kind == BELAY_EVENT_LOST; });
  }

  // Whether all are where names lie.
  [[nodiscard]] bool all_follow() const {
    return std::all_of(processes_.begin(), processes_.end(),
                       [](const auto& process) { return process->up_since() != kNever; });
  }

  void fail_over(const Replicas::Failover& how) {
    replicas_->fail_over(how);
    run_for(how.lag + how.between + kFound);
    ASSERT_TRUE(all_follow());
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<Replicas> replicas_;
  std::vector<std::vector<Event>> events_;
  Micros happened_at_ = 0;  // the latest of them
  Micros lease_ = kLease;
  Micros timeout_ = kTimeout;
  std::vector<std::unique_ptr<Process>> processes_;
  std::int64_t last_tag_ = 0;
};

constexpr Replicas::Fate kFates[] = {Replicas::Fate::kDies, Replicas::Fate::kCutsAll,
                                     Replicas::Fate::kStays};

// One that stays answers READONLY when it is asked next: here to renew, at a third of the lease.
TEST_P(Replaced, IsFollowedWhateverBecomesOfIt) {
  std::int64_t hold = held(0);
  std::size_t to = 0;
  for (const Replicas::Fate fate : kFates) {
    to = (to + 1) % kMembers;
    replicas_->fail_over({.to = to, .fate = fate});
    run_for(kLease / 3 + kFound);
    EXPECT_NE(processes_[0]->up_since(), kNever);
    EXPECT_FALSE(lost(0));
    release(0, hold);
    run_for(2 * kTrip);
    EXPECT_EQ(events_[0].back().kind, BELAY_EVENT_RELEASED);
    EXPECT_TRUE(events_[0].back().status.ok()) << events_[0].back().status.message;
    hold = held(0);
  }
}

TEST_P(Replaced, LosesWhatTheNewOneDoesNotKnowWithinOneRoundTrip) {
  replicas_->fail_over({.to = 1, .lag = 20 * kMillisecond});
  held(0);
  ASSERT_FALSE(lost(0));
  while (!lost(0) && world_->now() < kLease) {
    run_for(kMillisecond);
  }
  ASSERT_TRUE(lost(0));
  EXPECT_LE(happened_at_ - processes_[0]->up_since(), kTrip);
  EXPECT_EQ(events_[0].back().status.reason, BELAY_REASON_GONE);
}

// The server has the holder and knows nothing of those who came behind it.
TEST_P(Replaced, QueuesWaitersAgain) {
  const std::int64_t hold = held(0);
  replicas_->fail_over({.to = 2, .lag = 60 * kMillisecond});
  for (std::size_t waiter = 1; waiter < processes_.size(); ++waiter) {
    acquire(waiter);
    run_for(2 * kTrip);
  }
  run_for(60 * kMillisecond + kFound);
  ASSERT_TRUE(all_follow());
  EXPECT_EQ(world_->server(2).fields(key_of("belay:", 'w', "a")).size(),
            1 + 2 * (processes_.size() - 1));
  release(0, hold);
  for (std::size_t next = 1; next < processes_.size(); ++next) {
    run_for(2 * kTrip);
    const auto has = std::find_if(events_.begin() + 1, events_.end(), [](const auto& events) {
      return !events.empty() && events.back().kind == BELAY_EVENT_ACQUIRED;
    });
    ASSERT_NE(has, events_.end()) << next;
    release(static_cast<std::size_t>(has - events_.begin()), has->back().hold);
  }
}

TEST_P(Replaced, IsFoundByWhoeverComesThen) {
  fail_over({.to = 1});
  add_processes(2);
  EXPECT_TRUE(all_follow());
}

// A grant that comes by message has its deadline from the server's clock.
TEST_P(Replaced, HasAClockOfWhichNothingCounts) {
  for (const Micros by : {3600 * kSecond, -7200 * kSecond}) {
    const std::size_t master = world_->replication()->master;
    world_->step_clock((master + 1) % kMembers, by);
    fail_over({.to = (master + 1) % kMembers});
    const std::int64_t hold = held(0);
    acquire(1);
    run_for(2 * kTrip);
    release(0, hold);
    run_for(2 * kTrip);
    ASSERT_TRUE(granted(1));
    const auto view = processes_[1]->look(events_[1].back().hold);
    EXPECT_GT(view->remaining, 0);
    EXPECT_LE(view->remaining, kLease);
    release(1, events_[1].back().hold);
    run_for(kFound);
  }
}

// What was measured of the old clock, far away, does not show that the new one is another.
TEST_P(Replaced, HasAnotherClockThoughItMayBeTheSame) {
  lease_ = 30 * kSecond;
  timeout_ = 5 * kSecond;
  make_world(500 * kMillisecond);
  Custody custody(*world_, Faults(), [](int) { return true; });
  custody.watch("a");
  run_for(20 * kSecond);
  for (std::size_t to = 1; to < kMembers; ++to) {
    world_->step_clock(to,
                       static_cast<Micros>(to) * 700 * kMillisecond);  // ahead of the one before
    replicas_->fail_over({.to = to});
    run_for(10 * kSecond);
    ASSERT_TRUE(all_follow());
    acquire(0);
    run_for(2 * kSecond);
    ASSERT_TRUE(granted(0));
    acquire(1);
    run_for(2 * kSecond);
    release(0, events_[0].back().hold);
    while (!granted(1)) {
      run_for(kMillisecond);
    }
    const auto view = processes_[1]->look(events_[1].back().hold);
    EXPECT_LE(view->remaining, custody.expires("a", 1) - world_->server_time(to)) << to;
    run_for(5 * kSecond);
    release(1, events_[1].back().hold);
    run_for(5 * kSecond);
  }
}

// By a clock that is ahead the server's lease ends before what the old one gave does: also where
// nobody holds it now for so long.
TEST_P(Replaced, KeepsWhatIsHeldForAsLongAsThatIsBelieved) {
  Custody custody(*world_, Faults(), [](int) { return true; });
  custody.watch("a");
  const std::int64_t first = held(0);
  acquire(0, kSecond);
  acquire(0, kSecond);
  release(0, first);
  run_for(kTrip);
  const std::int64_t second = events_[0].back().hold;
  world_->step_clock(1, 2 * kSecond);
  fail_over({.to = 1});
  release(0, second);
  run_for(kTrip);
  const auto view = processes_[0]->look(events_[0].back().hold);
  EXPECT_GT(view->remaining, kSecond / 2);
  EXPECT_LE(view->remaining, custody.expires("a", 0) - world_->server_time(1));
  run_for(view->remaining - kTrip);
  EXPECT_FALSE(lost(0));
}

TEST_P(Replaced, GivesFencesAboveThoseThatItsReplicaHasNotSeen) {
  replicas_->fail_over({.to = 1, .lag = 20 * kMillisecond});
  held(0);
  const std::int64_t fence = events_[0].back().fence;
  world_->step_clock(1, -kSecond);
  run_for(20 * kMillisecond + kFound);
  ASSERT_TRUE(lost(0));
  held(0);
  EXPECT_GT(events_[0].back().fence, fence);
}

INSTANTIATE_TEST_SUITE_P(FoundByHosts, Replaced, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(FoundBySentinels, Replaced, testing::Values(3));

class BySentinels : public Replaced {};

TEST_P(BySentinels, IsLeftWhileItStillAnswers) {
  replicas_->fail_over({.to = 1, .between = 5 * kSecond});
  run_for(kFound);
  EXPECT_TRUE(world_->replication()->divided);
  EXPECT_TRUE(all_follow());
}

// Whatever the order in which they answer, and who of them is reached again first.
TEST_P(BySentinels, IsWhereTheLatestFailoverLedTo) {
  for (std::size_t cut_off = 0; cut_off < 3; ++cut_off) {
    const std::size_t to = (world_->replication()->master + 1) % kMembers;
    replicas_->fail_over({.to = to, .between = kSecond, .cut_off = cut_off});
    run_for(kFound);
    EXPECT_TRUE(all_follow());
    add_processes(1);
    EXPECT_TRUE(all_follow());
    run_for(kSecond);
  }
}

TEST_P(BySentinels, StaysThereWhileOnlyOneThatIsCutOffAnswers) {
  replicas_->fail_over({.to = 1, .between = 20 * kSecond, .cut_off = 0});
  run_for(kFound);
  for (std::size_t sentinel = 1; sentinel < 3; ++sentinel) {
    world_->go_down(kMembers + sentinel);
  }
  run_for(5 * kSecond);
  EXPECT_TRUE(world_->replication()->divided);
  EXPECT_TRUE(all_follow());
}

// A failover that there was not leads to a host that is no master.
TEST_P(BySentinels, IsFoundAgainAfterALie) {
  const std::int64_t hold = held(0);
  for (const std::size_t host : {std::size_t{1}, kMembers, kMembers + 1}) {
    replicas_->lie(2, host, 5, 200 * kMillisecond);
    run_for(3 * kSecond);
    EXPECT_TRUE(all_follow());
  }
  EXPECT_FALSE(lost(0));
  release(0, hold);
  run_for(2 * kTrip);
  EXPECT_TRUE(events_[0].back().status.ok()) << events_[0].back().status.message;
}

INSTANTIATE_TEST_SUITE_P(Three, BySentinels, testing::Values(3));

}  // namespace
}  // namespace belay::sim
