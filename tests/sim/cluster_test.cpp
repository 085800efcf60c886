// Two nodes of a cluster, of Redis 7 or of Redis 6.2, in exact time: where commands go while slots
// move from one to the other, and what a node that is gone touches (rules 24 to 31 of
// lib/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/contract.h"
#include "dialect/keys.h"
#include "sim/process.h"
#include "sim/standby.h"
#include "sim/world.h"

namespace belay::sim {
namespace {

constexpr Micros kLease = 3 * kSecond;
constexpr Micros kTimeout = kSecond;
constexpr Micros kTrip = 4 * kMillisecond;  // at most, there and back

class Cluster : public testing::TestWithParam<bool> {
 protected:
  Cluster() {
    world_.calm();
    world_.become_a_cluster(2, is_old());
    for (int i = 0; world_.host_of(record(name_)) != 0; ++i) {
      name_ = "name " + std::to_string(i);
    }
    for (int i = 0; world_.host_of(record(elsewhere_)) != 1; ++i) {
      elsewhere_ = "other " + std::to_string(i);
    }
    add_process();
    add_process();
    for (int i = 0; i < 2; ++i) {  // so that each is connected to both
      for (const std::string& name : {name_, elsewhere_}) {
        acquire(i, {name});
        run_for(50 * kMillisecond);
        release(i, last(i).hold);
        run_for(kTrip);
      }
    }
    for (std::vector<Event>& events : events_) {
      events.clear();
    }
  }

  static bool is_old() { return GetParam(); }

  void add_process() {
    const std::size_t i = processes_.size();
    events_.emplace_back();
    const Process::Observer observer{
        [this, i](Process&, const Event& event) { events_[i].push_back(event); }, [](Process&) {}};
    processes_.push_back(
        std::make_unique<Process>(world_, static_cast<int>(i), observer, kLease, kTimeout, true));
  }

  void run_for(Micros duration) {
    ASSERT_TRUE(world_.run(world_.now() + duration));
    ASSERT_EQ(world_.violation(), "");
  }

  static std::string record(const std::string& name) { return key_of("belay:", 'r', name); }

  // Another name in the slot of the first.
  [[nodiscard]] std::string beside(const std::string& name) const {
    return "{" + name_ + "}" + name;
  }

  // Another name at its host, in another slot.
  [[nodiscard]] std::string beside_elsewhere() {
    std::string name = elsewhere_ + " too";
    while (world_.host_of(record(name)) != 1) {
      name += "o";
    }
    return name;
  }

  [[nodiscard]] std::uint16_t slot() const { return processes_[0]->dialect().resource(name_).slot; }

  void acquire(int process, const std::vector<std::string>& names, Micros wait = kNever,
               Micros fixed_lease = 0, const std::string& group = "") {
    AcquireRequest request;
    request.lease = fixed_lease;
    request.primitive = &processes_[static_cast<std::size_t>(process)]->dialect().lock;
    request.name = names.front();
    request.want.group = group;
    for (const std::string& name : names) {
      request.names.emplace_back(name, request.want);
    }
    request.notify = true;
    call(process, [&](Engine& engine, Micros now) {
      return engine.acquire(++last_tag_, request, wait, now);
    });
  }

  void release(int process, std::int64_t hold) {
    call(process,
         [&](Engine& engine, Micros now) { return engine.release(++last_tag_, hold, now); });
  }

  void call(int process, const std::function<Status(Engine&, Micros now)>& action) {
    processes_[static_cast<std::size_t>(process)]->call(
        [&](Engine& engine, Micros now) { EXPECT_TRUE(action(engine, now).ok()); });
  }

  // How many process 0 has sent for what it was told to do.
  std::uint64_t commands() {
    std::uint64_t count = 0;
    call(0, [&count](Engine& engine, Micros) {
      count = engine.commands();
      return Status();
    });
    return count;
  }

  // By process 0, granted at once.
  std::int64_t held(const std::string& name) {
    acquire(0, {name});
    run_for(2 * kTrip);
    EXPECT_EQ(last(0).kind, BELAY_EVENT_ACQUIRED);
    EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
    return last(0).hold;
  }

  // Process 1 waits for what process 0 has.
  void wait_for(const std::string& name) {
    acquire(1, {name});
    run_for(2 * kTrip);
    EXPECT_TRUE(events_[1].empty());
  }

  // The whole slot, at once; nobody is told.
  void move() {
    ASSERT_TRUE(world_.begin_move(slot(), 1));
    world_.end_move(slot());
  }

  // The record of a name goes, and others of its slot stay.
  void begin_move(const std::string& name) {
    ASSERT_TRUE(world_.begin_move(slot(), 1));
    world_.move_key(record(name));
  }

  void erase(std::size_t host, const std::string& key) {
    const int connection = world_.server(host).connect([](std::string_view) {});
    world_.server(host).execute(connection, {"DEL", key});
    world_.server(host).disconnect(connection);
  }

  // Whether process 1 is told there of what happens to a name.
  int listeners(const std::string& name, std::size_t host) {
    const std::string channel = identity_of(1, true).inbox().channel(slot_of(record(name)));
    Server& server = world_.server(host);
    const int connection = server.connect([](std::string_view) {});
    const std::string answer =
        server.execute(connection, {is_old() ? "PUBLISH" : "SPUBLISH", channel, "x"});
    server.disconnect(connection);
    return answer.starts_with(":") ? std::stoi(answer.substr(1)) : 0;
  }

  [[nodiscard]] const Event& last(std::size_t process) const { return events_[process].back(); }

  World world_{42, Faults(), kTrip / 2, nullptr, 3};
  std::string name_ = "name";
  std::string elsewhere_ = "other";
  std::vector<std::vector<Event>> events_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::int64_t last_tag_ = 0;
};

// Rule 24; the world refuses what names keys of several slots.
TEST_P(Cluster, IsAskedAboutEachSlotApart) {
  acquire(0, {name_, elsewhere_, beside("2"), "x", "y"});
  run_for(3 * kLease);
  ASSERT_EQ(events_[0].size(), 1U);
  release(0, last(0).hold);
  run_for(4 * kTrip);
  EXPECT_EQ(last(0).kind, BELAY_EVENT_RELEASED);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
}

// Rule 25.
TEST_P(Cluster, IsAskedOnceMoreAtOnceWhereTheSlotHasMoved) {
  move();
  acquire(0, {name_});
  run_for(3 * kTrip);
  ASSERT_EQ(events_[0].size(), 1U);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
  EXPECT_TRUE(world_.server(1).has(record(name_)));
  const std::uint64_t sent_there = world_.server(0).commands();
  release(0, last(0).hold);
  held(beside("2"));
  EXPECT_EQ(world_.server(0).commands(), sent_there);  // it knows the slot's place by now
}

// Rule 25. Process 0 learns of the move by another name of the slot.
TEST_P(Cluster, IsAskedAtOnceAboutWhateverIsInASlotThatHasMoved) {
  const std::int64_t first = held(name_);
  const std::int64_t second = held(beside("2"));
  move();
  erase(1, record(beside("2")));
  release(0, first);
  run_for(4 * kTrip);
  const auto loss = std::find_if(events_[0].begin(), events_[0].end(),
                                 [](const Event& event) { return event.kind == BELAY_EVENT_LOST; });
  ASSERT_NE(loss, events_[0].end());
  EXPECT_EQ(loss->hold, second);
}

// Rule 25: what is sent on did nothing, so it is no excuse for what the other server has not.
TEST_P(Cluster, SaysThatAReleaseThatWasSentOnFoundNothing) {
  const std::int64_t hold = held(name_);
  move();
  erase(1, record(name_));
  release(0, hold);
  run_for(4 * kTrip);
  EXPECT_EQ(last(0).kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(last(0).status.code, BELAY_LOST) << last(0).status.message;
}

// Rule 25: also about what is waited for, whoever came first.
TEST_P(Cluster, HasItsQueuesInASlotThatHasMoved) {
  const std::int64_t first = held(name_);
  wait_for(name_);
  move();
  release(0, first);
  run_for(3 * kTrip);
  EXPECT_EQ(last(0).kind, BELAY_EVENT_RELEASED);
  acquire(1, {beside("2")});
  run_for(4 * kTrip);  // and so it learns of the move
  ASSERT_EQ(events_[1].size(), 2U);
  EXPECT_TRUE(last(1).status.ok());
}

// Rule 29: the other server, to which process 1 has no connection, takes it for gone.
TEST_P(Cluster, ServesWhomTheNewServerOfASlotDoesNotKnow) {
  struct Case {
    std::string holder;
    std::string waiter;
    Micros after;
  };

  for (const Case& one :
       {Case{"", "", 0}, Case{"", "", kLease / 2}, Case{"", "readers", 0},
        Case{"", "readers", kLease / 2}, Case{"readers", "", 0}, Case{"readers", "", kLease / 2}}) {
    run_for(70 * kSecond);  // then neither has a connection
    events_[1].clear();
    acquire(0, {name_}, kNever, 0, one.holder);
    run_for(50 * kMillisecond);
    acquire(1, {name_}, kNever, 0, one.waiter);
    run_for(50 * kMillisecond);
    const int from = world_.server(0).has(record(name_)) ? 0 : 1;
    ASSERT_TRUE(world_.begin_move(slot(), from == 0 ? 1 : 0));
    world_.end_move(slot());
    run_for(one.after);
    release(0, last(0).hold);
    run_for(200 * kMillisecond);
    ASSERT_EQ(events_[1].size(), 1U) << one.holder << "/" << one.waiter << " " << one.after;
    ASSERT_TRUE(last(1).status.ok()) << last(1).status.message;
    release(1, last(1).hold);
  }
}

// Rule 29.
TEST_P(Cluster, TellsWhoeverWaitsAtEachNode) {
  for (const std::string& name : {name_, elsewhere_}) {
    const std::int64_t hold = held(name);
    events_[1].clear();
    wait_for(name);
    release(0, hold);
    run_for(2 * kTrip);
    ASSERT_EQ(events_[1].size(), 1U) << name;
    EXPECT_TRUE(last(1).status.ok());
  }
}

// Rule 29: its server takes process 1 for gone, and yet process 1 hears of the grant.
TEST_P(Cluster, BelievesNoGrantThatOtherServersSendOn) {
  const std::int64_t hold = held(name_);
  wait_for(name_);
  move();
  world_.cut(processes_[1]->connection(record(elsewhere_)), false, true);
  run_for(20 * kMillisecond);  // the server has noticed, the process has not
  release(0, hold);
  acquire(0, {name_});
  run_for(4 * kTrip);
  ASSERT_EQ(events_[0].size(), 3U);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
  EXPECT_TRUE(events_[1].empty());
}

// Rules 26, 28.
TEST_P(Cluster, RenewsAndReleasesWhatItHoldsWhileItsSlotMoves) {
  const std::int64_t hold = held(name_);
  held(beside("2"));
  begin_move(name_);
  run_for(4 * kLease);
  EXPECT_EQ(events_[0].size(), 2U);
  release(0, hold);
  run_for(4 * kTrip);
  EXPECT_EQ(last(0).kind, BELAY_EVENT_RELEASED);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
  EXPECT_FALSE(world_.server(1).has(record(name_)));
  world_.end_move(slot());
  run_for(kLease);
  EXPECT_EQ(events_[0].size(), 3U);
}

// Rule 28: to tell those who wait takes several keys.
TEST_P(Cluster, RenewsWhatSomebodyWaitsForWhileItsSlotMoves) {
  const std::int64_t hold = held(name_);
  wait_for(name_);
  begin_move(name_);
  run_for(120 * kSecond);
  EXPECT_EQ(events_[0].size(), 1U);
  EXPECT_TRUE(events_[1].empty());
  world_.end_move(slot());
  release(0, hold);
  run_for(kLease);
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
}

// Rule 28: also to say that somebody of its own waits takes several keys.
TEST_P(Cluster, RenewsWhatItReadsWhileItsSlotMoves) {
  acquire(0, {name_}, kNever, 0, "readers");
  run_for(2 * kTrip);
  acquire(0, {name_});
  begin_move(name_);
  run_for(4 * kLease);
  ASSERT_EQ(events_[0].size(), 1U);
  world_.end_move(slot());
  release(0, last(0).hold);
  run_for(kLease);
  ASSERT_EQ(events_[0].size(), 3U);
  EXPECT_EQ(events_[0][1].status.code, BELAY_OK) << events_[0][1].status.message;
  EXPECT_EQ(last(0).status.code, BELAY_OK) << last(0).status.message;
}

// Rule 28: to share it takes several keys, and is refused until the slot has moved.
TEST_P(Cluster, KeepsWhatIsToBeSharedWhileItsSlotMoves) {
  const std::int64_t hold = held(name_);
  begin_move(name_);
  call(0,
       [&](Engine& engine, Micros now) { return engine.downgrade(++last_tag_, hold, "r", now); });
  run_for(4 * kLease);
  ASSERT_EQ(events_[0].size(), 2U);
  EXPECT_EQ(last(0).status.code, BELAY_UNAVAILABLE);
  EXPECT_NE(last(0).status.message.find("is moving to another server"), std::string::npos)
      << last(0).status.message;
  world_.end_move(slot());
  run_for(kLease);
  acquire(1, {name_}, 0, 0, "r");  // the renewals have gone on asking for it
  run_for(50 * kMillisecond);
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
  release(0, hold);
  run_for(50 * kMillisecond);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
}

// Rule 28: what needs several keys.
TEST_P(Cluster, IsUnavailableForNewHoldersWhileASlotMoves) {
  release(0, held(name_));
  held(beside("2"));
  begin_move(beside("2"));
  acquire(1, {beside("2")}, 300 * kMillisecond);
  run_for(400 * kMillisecond);
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_EQ(last(1).status.code, BELAY_UNAVAILABLE);
  EXPECT_NE(last(1).status.message.find("is moving to another server"), std::string::npos)
      << last(1).status.message;
  acquire(1, {name_}, 5 * kSecond);
  run_for(300 * kMillisecond);
  EXPECT_EQ(events_[1].size(), 1U);
  world_.end_move(slot());
  run_for(300 * kMillisecond);
  ASSERT_EQ(events_[1].size(), 2U);
  EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
}

// Rule 32.
TEST_P(Cluster, IsConnectedToWhereItIsNeeded) {
  const auto connected = [this](const std::string& name) {
    return processes_[0]->connection(record(name)) >= 0;
  };
  const auto connects_and_holds = [this](const std::string& name) {
    acquire(0, {name}, kNever, 600 * kSecond);  // which needs no renewal
    run_for(50 * kMillisecond);
    EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
    return last(0).hold;
  };
  constexpr Micros kIdle = 60 * kSecond + kTimeout;
  run_for(kIdle + kSecond);
  EXPECT_FALSE(connected(name_) || connected(elsewhere_));
  const std::int64_t hold = connects_and_holds(name_);
  EXPECT_TRUE(connected(name_));
  EXPECT_FALSE(connected(elsewhere_));
  release(0, connects_and_holds(elsewhere_));
  run_for(kIdle - kSecond);
  EXPECT_TRUE(connected(elsewhere_));
  run_for(20 * kSecond);
  EXPECT_FALSE(connected(elsewhere_));
  EXPECT_TRUE(connected(name_));
  release(0, connects_and_holds(elsewhere_));
  release(0, hold);
  run_for(kTrip);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
  run_for(kIdle + kSecond);
  EXPECT_FALSE(connected(name_) || connected(elsewhere_));
}

// Rule 30.
TEST_P(Cluster, HandsOnLocallyWhatIsNotOnANodeThatIsGone) {
  held(name_);
  const std::int64_t hold = held(elsewhere_);
  const std::uint64_t sent = commands();
  world_.restart_server(0, true);
  run_for(kMillisecond);
  world_.stop_server(0, 10 * kSecond);
  run_for(20 * kMillisecond);
  EXPECT_EQ(commands(), sent);
  acquire(0, {elsewhere_});
  release(0, hold);
  ASSERT_EQ(events_[0].size(), 4U);  // at once, without a command
  EXPECT_EQ(last(0).kind, BELAY_EVENT_ACQUIRED);
  EXPECT_TRUE(last(0).status.ok());
}

// Rule 29.
TEST_P(Cluster, HearsOfASlotWhileAnythingOfItIsInUse) {
  for (const std::string& name : {name_, elsewhere_}) {
    acquire(1, {name}, kNever, 600 * kSecond);  // which needs no renewal
  }
  run_for(50 * kMillisecond);
  ASSERT_EQ(events_[1].size(), 2U);
  EXPECT_EQ(listeners(name_, 0), 1);
  EXPECT_EQ(listeners(name_, 1), 0);
  EXPECT_EQ(listeners(elsewhere_, 1), 1);
  release(1, last(1).hold);
  acquire(1, {beside_elsewhere()}, kNever, 600 * kSecond);  // so that it stays connected
  run_for(130 * kSecond);
  EXPECT_EQ(listeners(name_, 0), 1);
  EXPECT_EQ(listeners(elsewhere_, 1), 0);
  acquire(1, {elsewhere_});
  run_for(50 * kMillisecond);
  EXPECT_EQ(listeners(elsewhere_, 1), 1);
}

// Rule 29: without a word of the old server it is heard of the new one at the next poll.
TEST_P(Cluster, HearsOfASlotThatMovesWhereItIsByThen) {
  const std::int64_t hold = held(name_);
  wait_for(name_);
  ASSERT_TRUE(world_.begin_move(slot(), 1));
  run_for(2 * kTrip);
  EXPECT_EQ(listeners(name_, 0), 1);
  world_.end_move(slot());
  run_for(is_old() ? 7 * kSecond : 6 * kTrip);
  EXPECT_EQ(listeners(name_, 1), 1);
  release(0, hold);
  run_for(4 * kTrip);
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
}

// Rule 28: a script that ended half-way would leave the queue without the record that names it, or
// a waiter without its turn.
TEST_P(Cluster, RunsNoScriptHalfWayWhileASlotMoves) {
  for (const bool is_there : {false, true}) {
    acquire(0, {name_}, kNever, 0, "r");
    run_for(50 * kMillisecond);
    ASSERT_TRUE(last(0).status.ok());
    acquire(1, {name_});  // so that all keys of the name are there
    run_for(50 * kMillisecond);
    const std::size_t from = world_.host_of(record(name_));
    ASSERT_TRUE(world_.begin_move(slot(), 1 - from));
    if (is_there) {
      for (const std::string& key : world_.server(from).keys_in(slot())) {
        world_.move_key(key);
      }
    }
    release(0, last(0).hold);
    run_for(300 * kMillisecond);
    EXPECT_TRUE(events_[1].empty() || last(1).kind == BELAY_EVENT_RELEASED);
    world_.end_move(slot());
    run_for(300 * kMillisecond);
    EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
    ASSERT_EQ(last(1).kind, BELAY_EVENT_ACQUIRED);
    EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
    release(1, last(1).hold);
    run_for(50 * kMillisecond);
    EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
  }
}

// ---- Masters that are replaced

// One that hands over, and one that is dead for a while before it is replaced.
TEST_P(Cluster, KeepsWhatTheReplacementOfAMasterKnows) {
  Standby standby(world_);
  for (const Standby::Fate fate : {Standby::Fate::kYields, Standby::Fate::kDies}) {
    const std::int64_t hold = held(name_);
    wait_for(name_);
    standby.take_over(world_.host_of(record(name_)), fate, 0, 500 * kMillisecond);
    run_for(2 * kLease);
    EXPECT_EQ(last(0).kind, BELAY_EVENT_ACQUIRED) << last(0).status.message;  // no news since
    release(0, hold);
    run_for(50 * kMillisecond);
    EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
    ASSERT_EQ(events_[1].size(), 1U);
    EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
    release(1, last(1).hold);
    run_for(50 * kMillisecond);
    events_[1].clear();
  }
}

// Whatever becomes of the old master, which may serve for another second.
TEST_P(Cluster, LosesWhatTheReplacementOfAMasterDoesNotKnow) {
  Standby standby(world_);
  for (const Standby::Fate fate : {Standby::Fate::kDies, Standby::Fate::kStays}) {
    run_for(kLease);
    events_[0].clear();
    const std::size_t from = world_.host_of(record(name_));
    standby.take_over(from, fate, 100 * kMillisecond, kSecond);
    held(name_);
    run_for(3 * kSecond);
    EXPECT_EQ(last(0).kind, BELAY_EVENT_LOST);
  }
}

// What was asked of it, and what was not, while it did not answer. All are connected to the
// replacement, as it was a master before.
TEST_P(Cluster, AsksTheReplacementOfAMasterThatHangs) {
  Standby standby(world_);
  standby.take_over(1, Standby::Fate::kYields, 0, 0);
  const std::int64_t hold = held(name_);
  world_.stop_server(0, 60 * kSecond);
  call(0, [&](Engine& engine, Micros now) { return engine.verify(++last_tag_, hold, now); });
  call(1, [&](Engine& engine, Micros now) {
    const NativeDialect& dialect = processes_[1]->dialect();
    return engine.query(++last_tag_, dialect.latch.generation_query(beside("latch"), 0), now);
  });
  acquire(1, {name_}, 800 * kMillisecond);
  standby.take_over(0, Standby::Fate::kStays, 0, 60 * kSecond);
  run_for(kTimeout / 2);
  ASSERT_EQ(events_[0].size(), 2U);
  EXPECT_EQ(last(0).kind, BELAY_EVENT_VERIFIED);
  EXPECT_TRUE(last(0).status.ok()) << last(0).status.message;
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_EQ(last(1).status.code, BELAY_NOT_FOUND) << last(1).status.message;
  run_for(kTimeout);
  ASSERT_EQ(events_[1].size(), 2U);
  EXPECT_EQ(last(1).status.code, BELAY_TIMEOUT) << last(1).status.message;
}

// The old master may hand the name on, too, and both under the next fence of one range. Rule 21.
TEST_P(Cluster, LeavesNoRangeToTheReplacementOfAMaster) {
  Standby standby(world_);
  standby.take_over(1, Standby::Fate::kYields, 0, 0);
  const std::int64_t hold = held(name_);
  const std::int64_t fence = last(0).fence;
  world_.stop_server(0, 60 * kSecond);
  standby.take_over(0, Standby::Fate::kStays, 0, 60 * kSecond);
  acquire(1, {name_});
  run_for(kTimeout);
  release(0, hold);
  run_for(kTimeout / 2);
  ASSERT_EQ(events_[1].size(), 1U);
  EXPECT_TRUE(last(1).status.ok()) << last(1).status.message;
  EXPECT_GT(last(1).fence, fence + contract::kRange);
}

// A client starts with a map of old.
TEST_P(Cluster, IsFoundByThoseWhoComeLater) {
  Standby standby(world_);
  standby.take_over(0, Standby::Fate::kDies, 0, 50 * kMillisecond);
  run_for(2 * kSecond);
  world_.go_down(0);  // again, and for good
  processes_[0]->crash();
  add_process();
  acquire(2, {name_});
  run_for(500 * kMillisecond);
  ASSERT_EQ(events_[2].size(), 1U);
  EXPECT_TRUE(last(2).status.ok()) << last(2).status.message;
}

// Rule 32. The connections of a world have numbers from 0 on.
TEST(ConnectionsOfAClient, AreOneToEachNodeThatItUses) {
  for (const std::size_t nodes : {3, 12, 100}) {
    World world(42, Faults(), kTrip / 2, nullptr, nodes);
    world.calm();
    world.become_a_cluster(nodes, false);
    std::size_t granted = 0;
    const Process::Observer observer{
        [&granted](Process&, const Event& event) { granted += event.status.ok() ? 1 : 0; },
        [](Process&) {}};
    Process process(world, 0, observer, kLease, kTimeout, true);
    std::set<std::size_t> used;
    std::set<int> connections;
    for (std::int64_t tag = 1; used.size() < nodes; ++tag) {
      AcquireRequest request;
      request.primitive = &process.dialect().lock;
      request.name = "name " + std::to_string(tag);
      const std::string record = key_of("belay:", 'r', request.name);
      used.insert(world.host_of(record));
      process.call([&](Engine& engine, Micros now) {
        EXPECT_TRUE(engine.acquire(tag, request, kNever, now).ok());
      });
      ASSERT_TRUE(world.run(world.now() + 4 * kTrip));
      EXPECT_EQ(granted, static_cast<std::size_t>(tag));
      connections.insert(process.connection(record));
      EXPECT_EQ(connections.size(), used.size());
    }
    EXPECT_EQ(*connections.rbegin(), static_cast<int>(nodes) - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Cluster, testing::Values(false, true),
                         [](const auto& version) { return version.param ? "Redis6" : "Redis7"; });

}  // namespace
}  // namespace belay::sim
