// The bounds that are promised (P3, P4), in exact time: who gets the lock how soon after what, and
// at what cost in commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/resp.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {
namespace {

constexpr Micros kLease = 3 * kSecond;
constexpr Micros kTimeout = kSecond;
constexpr Micros kOneWay = 2 * kMillisecond;  // at most
constexpr Micros kGrantLease = 100 * kMillisecond;

// Processes that each want one name with one owner.
class Bounds : public testing::Test {
 protected:
  Bounds() { make_world(kOneWay); }

  void make_world(Micros one_way) {
    processes.clear();
    lost = 0;
    at_risk = 0;
    world = std::make_unique<World>(42, Faults(), one_way);
    world->calm();
  }

  // Of a network that takes about as long as that for each message.
  void make_far_world(Micros round_trip) {
    make_world(round_trip / 2);
    world->set_shortest_delay(round_trip / 2 * 95 / 100);
    lease = 30 * kSecond;
    timeout = 5 * kSecond;
    for (int i = 0; i < 4; ++i) {
      add_process();
    }
    run_for(4 * round_trip);
  }

  Process& add_process() {
    const Process::Observer observer{
        [this](Process& process, const Event& event) { on_event(process, event); },
        [](Process&) {}};
    processes.push_back(std::make_unique<Process>(*world, static_cast<int>(processes.size()),
                                                  observer, lease, timeout));
    run_for(20 * kMillisecond);
    return *processes.back();
  }

  void run_for(Micros duration) { ASSERT_TRUE(world->run(world->now() + duration)); }

  static AcquireRequest request_of(Process& process, const std::string& name = "a") {
    AcquireRequest request;
    request.primitive = &process.dialect().lock;
    request.name = name;
    request.notify = true;
    return request;
  }

  void acquire(Process& process, const AcquireRequest& request) {
    process.call([&](Engine& engine, Micros now) {
      EXPECT_TRUE(engine.acquire(++last_tag, request, kNever, now).ok());
    });
  }

  void acquire(Process& process, const std::string& name = "a") {
    acquire(process, request_of(process, name));
  }

  // Each process over and over asks for what `request_for` says, keeps it and lets it go. Expects
  // that nothing is lost or at risk, and that everybody has had it so often.
  void take_turns(const std::function<AcquireRequest(Process&)>& request_for, Micros keep,
                  Micros duration, int turns_each) {
    hold_time = keep;
    next_request = request_for;
    turns.clear();
    for (const auto& process : processes) {
      acquire(*process, request_for(*process));
    }
    run_for(duration);
    hold_time = -1;
    for (const auto& process : processes) {
      EXPECT_GE(turns[process->number()], turns_each) << process->number();
    }
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(at_risk, 0);
  }

  void release(Process& process, std::int64_t id) {
    process.call(
        [&](Engine& engine, Micros now) { EXPECT_TRUE(engine.release(++last_tag, id, now).ok()); });
  }

  void on_event(Process& process, const Event& event) {
    lost += event.kind == BELAY_EVENT_LOST ? 1 : 0;
    if (event.kind == BELAY_EVENT_RELEASED) {
      in_doubt_until = world->now() + event.in_doubt;
    }
    at_risk += event.kind == BELAY_EVENT_AT_RISK ? 1 : 0;
    if (event.kind != BELAY_EVENT_ACQUIRED || !event.status.ok()) {
      return;
    }
    ++grants;
    ++turns[process.number()];
    holder = process.number();
    hold = event.hold;
    granted_at = world->now();
    if (hold_time >= 0) {
      // Over and over: hold, release, ask again.
      world->at(world->now() + hold_time, [this, &process, held = event.hold] {
        release(process, held);
        acquire(process, next_request ? next_request(process) : request_of(process));
      });
    }
  }

  // The holder and `waiters` behind it, queued in order.
  void queue_up(int waiters) {
    acquire(add_process());
    run_for(20 * kMillisecond);
    for (int i = 0; i < waiters; ++i) {
      acquire(add_process());
      run_for(20 * kMillisecond);
    }
    ASSERT_EQ(holder, 0);
  }

  // Notes every message, as the command that sends it once more.
  void hear() {
    world->set_listener([this](std::string_view push) {
      ReplyReader reader;
      static_cast<void>(reader.feed(push, [this](Reply message) {
        heard.push_back(
            {"PUBLISH", std::string(message.at(1).text()), std::string(message.at(2).text())});
        return true;
      }));
    });
  }

  std::vector<std::string> heard_grant() const {
    const auto grant = std::find_if(heard.begin(), heard.end(), [](const auto& message) {
      return message[2].front() == static_cast<char>(MessageKind::kGrant);
    });
    return grant == heard.end() ? std::vector<std::string>() : *grant;
  }

  void send_again(const std::vector<std::string>& message) {
    ASSERT_FALSE(message.empty());
    const int connection = world->server().connect([](std::string_view) {});
    static_cast<void>(world->server().execute(connection, message));
    world->server().disconnect(connection);
  }

  std::unique_ptr<World> world;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::vector<std::string>> heard;
  std::int64_t last_tag = 0;
  int holder = -1;
  std::int64_t hold = 0;
  Micros granted_at = 0;
  Micros lease = kLease;
  Micros timeout = kTimeout;
  Micros hold_time = -1;
  std::function<AcquireRequest(Process&)> next_request;
  std::map<int, int> turns;  // of each process
  int grants = 0;
  int lost = 0;
  int at_risk = 0;
  Micros in_doubt_until = 0;  // of the latest release
};

TEST_F(Bounds, AFreedLockReachesTheNextInLineWithinOneMessage) {
  queue_up(3);
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(50 * kMillisecond);
  EXPECT_EQ(holder, 1);
  EXPECT_LE(granted_at - released, 2 * kOneWay + 10);  // there and on to the waiter
}

TEST_F(Bounds, WaitersAreServedInTheOrderInWhichTheyCame) {
  queue_up(5);
  for (int next = 1; next <= 5; ++next) {
    release(*processes[static_cast<std::size_t>(holder)], hold);
    run_for(50 * kMillisecond);
    EXPECT_EQ(holder, next);
  }
}

TEST_F(Bounds, ADeadHolderIsFollowedWithinItsLeasePlus100Ms) {
  queue_up(2);
  const Micros killed = world->now();
  processes[0]->crash();
  run_for(2 * kLease);
  EXPECT_EQ(holder, 1);
  EXPECT_LE(granted_at - killed, kLease + 100 * kMillisecond);
}

TEST_F(Bounds, AnUnresponsiveNextInLineCostsOneGrantLease) {
  queue_up(3);
  processes[1]->pause(60 * kSecond);
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(kSecond);
  EXPECT_EQ(holder, 2);
  EXPECT_LE(granted_at - released, kGrantLease + 10 * kMillisecond + 4 * kOneWay);
}

TEST_F(Bounds, UnresponsiveOnesInARowCostOneGrantLeaseEach) {
  queue_up(7);
  for (std::size_t i = 1; i <= 6; ++i) {
    processes[i]->pause(60 * kSecond);
  }
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(5 * kSecond);
  EXPECT_EQ(holder, 7);
  EXPECT_LE(granted_at - released, 6 * (kGrantLease + 10 * kMillisecond) + 4 * kOneWay);
}

// Nobody looks after the handoff then: those who wait are told to.
TEST_F(Bounds, TheyCostNoMoreWhenTheReleasersClientEnds) {
  for (const bool released_before : {false, true}) {
    make_world(kOneWay);
    holder = -1;
    queue_up(7);
    for (std::size_t i = 1; i <= 6; ++i) {
      processes[i]->pause(60 * kSecond);
    }
    const Micros ended = world->now();
    if (released_before) {
      release(*processes[0], hold);
      run_for(20 * kMillisecond);
    }
    processes[0]->call([](Engine& engine, Micros now) { EXPECT_TRUE(engine.shutdown(now).ok()); });
    run_for(5 * kSecond);
    EXPECT_EQ(holder, 7);
    // It looks after five others who were told the same.
    EXPECT_LE(granted_at - ended, 6 * (kGrantLease + 10 * kMillisecond) + 6 * 10 * kMillisecond +
                                      6 * kOneWay + 10 * kMillisecond);
  }
}

TEST_F(Bounds, AWaiterThatGivesUpLooksAfterWhomItServed) {
  queue_up(4);
  for (std::size_t i = 1; i <= 3; ++i) {
    processes[i]->pause(60 * kSecond);
  }
  processes[0]->crash();
  run_for(50 * kMillisecond);
  const std::uint64_t before = world->server().commands();
  while (world->server().commands() == before) {
    run_for(kMillisecond);  // until the last of them polls
  }
  acquire(add_process());
  const Micros given_up = world->now();
  processes[4]->call([](Engine& engine, Micros now) { EXPECT_TRUE(engine.cancel(5, now).ok()); });
  run_for(3 * kSecond);
  EXPECT_EQ(holder, 5);
  EXPECT_LE(granted_at - given_up, 3 * (kGrantLease + 10 * kMillisecond) + 4 * kOneWay);
}

// It was told to, as whoever made the handoff has ended; who came since was not.
TEST_F(Bounds, AWaiterThatGivesUpStillLooksWhenItWasToldTo) {
  for (const bool ends : {false, true}) {
    SCOPED_TRACE(ends);
    make_world(kOneWay);
    holder = -1;
    queue_up(3);
    processes[1]->pause(60 * kSecond);
    processes[2]->pause(60 * kSecond);
    const Micros ended = world->now();
    processes[0]->call([](Engine& engine, Micros now) { EXPECT_TRUE(engine.shutdown(now).ok()); });
    run_for(20 * kMillisecond);
    acquire(add_process());
    run_for(20 * kMillisecond);
    processes[3]->call([ends, this](Engine& engine, Micros now) {
      EXPECT_TRUE((ends ? engine.shutdown(now) : engine.cancel(last_tag - 1, now)).ok());
    });
    run_for(3 * kSecond);
    EXPECT_EQ(holder, 4);
    EXPECT_LE(granted_at - ended, 2 * (kGrantLease + 20 * kMillisecond) + 6 * kOneWay);
  }
}

enum class Use { kAlone, kReaders, kPermits };

class Stopped : public Bounds, public testing::WithParamInterface<Use> {
 protected:
  // The first asks for all of it, the next two share it where that can be.
  AcquireRequest wanted_by(Process& process) {
    AcquireRequest request = request_of(process);
    if (GetParam() == Use::kReaders && (process.number() == 1 || process.number() == 2)) {
      request.want.group = kReaders;
    } else if (GetParam() == Use::kPermits) {
      request.primitive = &process.dialect().semaphore;
      request.want.limit = 2;
      request.want.permits = process.number() == 0 ? 2 : 1;
    }
    return request;
  }

  void ask(Process& process) {
    acquire(process, wanted_by(process));
    run_for(10 * kMillisecond);
  }

  // The first has it, those behind it are stopped.
  void stop_waiters(int waiters) {
    make_world(kOneWay);
    holder = -1;
    for (int i = 0; i <= waiters; ++i) {
      ask(add_process());
    }
    ASSERT_EQ(holder, 0);
    for (std::size_t i = 1; i < processes.size(); ++i) {
      processes[i]->pause(60 * kSecond);
    }
    ended = world->now();
  }

  void shut_down(Process& process) {
    process.call([](Engine& engine, Micros now) { EXPECT_TRUE(engine.shutdown(now).ok()); });
  }

  void expect_next(int number, int stopped) {
    run_for(3 * kSecond);
    EXPECT_EQ(holder, number);
    EXPECT_LE(granted_at - ended, stopped * (kGrantLease + 10 * kMillisecond) + 4 * kOneWay);
  }

  Micros ended = 0;
};

INSTANTIATE_TEST_SUITE_P(, Stopped, testing::Values(Use::kAlone, Use::kReaders, Use::kPermits));

// Nobody looks after the handoff then, nor is anybody there who could have been told to.
TEST_P(Stopped, WhoComesWhenTheReleasersClientHasEndedLooksAfterThem) {
  for (const bool released_before : {false, true}) {
    SCOPED_TRACE(released_before);
    stop_waiters(5);
    if (released_before) {
      release(*processes[0], hold);
      run_for(10 * kMillisecond);
    }
    shut_down(*processes[0]);
    run_for(10 * kMillisecond);
    ask(add_process());
    expect_next(6, 5);
  }
}

TEST_P(Stopped, WhoComesNextLooksAfterThemWhenThatOneGivesUp) {
  for (const bool ends : {false, true}) {
    SCOPED_TRACE(ends);
    stop_waiters(5);
    shut_down(*processes[0]);
    ask(add_process());
    processes[6]->call([ends, this](Engine& engine, Micros now) {
      EXPECT_TRUE((ends ? engine.shutdown(now) : engine.cancel(last_tag, now)).ok());
    });
    run_for(10 * kMillisecond);
    ask(add_process());
    expect_next(7, 5);
  }
}

// Its ask serves the queue of a lock that has lapsed; whoever asked has given up by then.
TEST_P(Stopped, WhoHasGivenUpLooksAfterWhatItsAskHandsOn) {
  stop_waiters(5);
  processes[0]->pause(60 * kSecond);
  Process& gives_up = add_process();
  Process& next = add_process();
  run_for(kLease);
  acquire(gives_up, wanted_by(gives_up));
  gives_up.call(
      [this](Engine& engine, Micros now) { EXPECT_TRUE(engine.cancel(last_tag, now).ok()); });
  run_for(2 * kOneWay);
  ended = world->now();
  ask(next);
  expect_next(7, 5);
}

// The lock-delays of readers pass together, and their lock is looked after until then.
TEST_F(Bounds, UnresponsiveReadersCostTheirLockDelayOnce) {
  constexpr Micros kDelay = 700 * kMillisecond;
  for (int i = 0; i < 6; ++i) {
    AcquireRequest request = request_of(add_process());
    const bool reads = i == 1 || i == 2;
    request.want.group = reads ? kReaders : "";
    request.want.lock_delay = reads ? kDelay : 0;
    acquire(*processes.back(), request);
    run_for(20 * kMillisecond);
  }
  ASSERT_EQ(holder, 0);
  for (std::size_t i = 1; i <= 4; ++i) {
    processes[i]->pause(60 * kSecond);
  }
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(5 * kSecond);
  EXPECT_EQ(holder, 5);
  EXPECT_LE(granted_at - released, kDelay + 3 * (kGrantLease + 10 * kMillisecond) + 4 * kOneWay);
}

TEST_F(Bounds, AWaiterThatFindsTheLockLapsedLooksAfterWhomItServes) {
  queue_up(6);
  for (std::size_t i = 1; i <= 5; ++i) {
    processes[i]->pause(60 * kSecond);
  }
  const Micros killed = world->now();
  processes[0]->crash();
  run_for(20 * kSecond);
  EXPECT_EQ(holder, 6);
  // The next in line would have looked; the other learns of it by its fallback poll.
  EXPECT_LE(granted_at - killed, kLease + 6 * kSecond + 5 * (kGrantLease + 10 * kMillisecond));
}

TEST_F(Bounds, AHandoffThatSettlesCostsNoLook) {
  queue_up(3);
  const std::uint64_t before = world->server().commands();
  release(*processes[0], hold);
  run_for(20 * kMillisecond);
  release(*processes[1], hold);
  run_for(500 * kMillisecond);
  EXPECT_EQ(holder, 2);
  EXPECT_EQ(world->server().commands() - before,
            2U + 3U);  // two leaves, a confirmation and its watch
}

TEST_F(Bounds, AConfirmationThatIsUnderwayIsNoRisk) {
  for (const Micros one_way : {5, 10, 30, 100}) {
    make_world(one_way * kMillisecond);
    acquire(add_process());
    run_for(kSecond);
    acquire(add_process());
    run_for(kSecond);
    ASSERT_EQ(holder, 0);
    release(*processes[0], hold);
    run_for(3 * kSecond);
    EXPECT_EQ(holder, 1);
    EXPECT_EQ(at_risk, 0) << one_way;
    EXPECT_EQ(lost, 0) << one_way;
  }
}

TEST_F(Bounds, ADeadNextInLineCostsNothing) {
  queue_up(3);
  processes[1]->crash();
  run_for(50 * kMillisecond);
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(kSecond);
  EXPECT_EQ(holder, 2);
  EXPECT_LE(granted_at - released, 2 * kOneWay + 10);
}

TEST_F(Bounds, WithEveryMessageLostTheFallbackPollBringsTheLock) {
  queue_up(1);
  world->lose_messages(100);
  const Micros released = world->now();
  release(*processes[0], hold);
  run_for(10 * kSecond);
  EXPECT_EQ(holder, 1);
  EXPECT_LE(granted_at - released, 6 * kSecond + 2 * kGrantLease);
}

TEST_F(Bounds, AHandoffCostsTwoCommandsHoweverManyWait) {
  for (const int clients : {2, 10, 100}) {
    make_world(kOneWay);
    for (int i = 0; i < clients; ++i) {
      add_process();
    }
    hold_time = kMillisecond;
    for (const auto& process : processes) {
      acquire(*process);
    }
    run_for(2 * kSecond);
    const int grants_before = grants;
    const std::uint64_t commands_before = world->server().commands();
    run_for(4 * kSecond);
    const double per_hold = static_cast<double>(world->server().commands() - commands_before) /
                            (grants - grants_before);
    EXPECT_GT(grants - grants_before, 200) << clients;
    EXPECT_LE(per_hold, 2.2) << clients;
    hold_time = -1;
  }
  EXPECT_EQ(lost, 0);
}

TEST_F(Bounds, NoGrantIsLostToItsOwnDistance) {
  for (const Micros one_way :
       {Micros{500}, 10 * kMillisecond, 30 * kMillisecond, 100 * kMillisecond}) {
    make_world(one_way);
    for (int i = 0; i < 3; ++i) {
      add_process();
    }
    run_for(20 * one_way);
    hold_time = 5 * kMillisecond;
    const int before = grants;
    for (const auto& process : processes) {
      acquire(*process);
    }
    run_for(20 * kSecond);
    EXPECT_GT(grants - before, 20 * kSecond / (one_way * 8 + 20 * kMillisecond)) << one_way;
    EXPECT_EQ(lost, 0) << one_way;
    hold_time = -1;
  }
}

// Up to half the request timeout.
constexpr Micros kFarAway[] = {kSecond, 2 * kSecond, 2500 * kMillisecond};

// A turn takes the hold, the leave's way there and the grant's way back.
TEST_F(Bounds, FarAwayALockGoesRound) {
  for (const Micros round_trip : kFarAway) {
    for (const Micros keep : {5 * kMillisecond, 3 * kSecond}) {
      SCOPED_TRACE(std::to_string(round_trip) + " " + std::to_string(keep));
      make_far_world(round_trip);
      const int each = 10;
      take_turns([](Process& process) { return request_of(process); }, keep,
                 each * 4 * (keep + round_trip * 11 / 10) + 3 * round_trip, each);
    }
  }
}

// Three round trips for the tries and for each of the names, and one more to let go.
TEST_F(Bounds, FarAwaySeveralNamesGoRound) {
  for (const Micros round_trip : kFarAway) {
    for (const Micros keep : {5 * kMillisecond, 3 * kSecond}) {
      SCOPED_TRACE(std::to_string(round_trip) + " " + std::to_string(keep));
      make_far_world(round_trip);
      const int each = 5;
      take_turns(
          [](Process& process) {
            AcquireRequest request = request_of(process);
            request.names = {{"a", Want()}, {"b", Want()}};
            return request;
          },
          keep, each * 4 * (keep + 4 * round_trip) + 3 * round_trip, each);
    }
  }
}

TEST_F(Bounds, FarAwayReadersAndWritersTakeTurns) {
  for (const Micros round_trip : kFarAway) {
    SCOPED_TRACE(round_trip);
    make_far_world(round_trip);
    const Micros keep = 3 * kSecond;
    const int each = 10;
    take_turns(
        [](Process& process) {
          AcquireRequest request = request_of(process);
          request.want.group = process.number() < 2 ? kReaders : "";
          return request;
        },
        keep, each * 4 * (keep + round_trip * 11 / 10) + 3 * round_trip, each);
  }
}

TEST_F(Bounds, FarAwayPermitsGoRound) {
  for (const Micros round_trip : kFarAway) {
    SCOPED_TRACE(round_trip);
    make_far_world(round_trip);
    const Micros keep = 3 * kSecond;
    const int each = 10;
    take_turns(
        [](Process& process) {
          AcquireRequest request = request_of(process, "s");
          request.primitive = &process.dialect().semaphore;
          request.want.limit = 2;
          request.want.permits = process.number() == 0 ? 2 : 1;
          return request;
        },
        keep, each * 4 * (keep + round_trip * 11 / 10) + 3 * round_trip, each);
  }
}

TEST_F(Bounds, FarAwayALeaseOfFourRoundTripsIsKept) {
  for (const Micros round_trip : kFarAway) {
    SCOPED_TRACE(round_trip);
    make_far_world(round_trip);
    lease = 4 * round_trip;
    acquire(add_process());
    run_for(60 * kSecond);
    EXPECT_EQ(grants, 1);
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(at_risk, 0);
    grants = 0;
  }
}

TEST_F(Bounds, FarAwayAnUnresponsiveNextInLineCostsOneGrantLease) {
  for (const Micros round_trip : kFarAway) {
    SCOPED_TRACE(round_trip);
    make_far_world(round_trip);
    for (const auto& process : processes) {
      acquire(*process);
      run_for(2 * round_trip);
    }
    ASSERT_EQ(holder, 0);
    processes[1]->pause(60 * kSecond);
    const Micros released = world->now();
    release(*processes[0], hold);
    run_for(8 * round_trip);
    EXPECT_EQ(holder, 2);
    // There, the lease, and there and back for who finds it lapsed.
    EXPECT_LE(granted_at - released, 4 * round_trip + 50 * kMillisecond + 2 * round_trip);
  }
}

TEST_F(Bounds, LocalOwnersTakeTurnsWithoutTheServer) {
  Process& process = add_process();
  hold_time = kMillisecond;
  for (int i = 0; i < 16; ++i) {
    acquire(process);
  }
  run_for(kSecond);
  EXPECT_GT(grants, 500);
  EXPECT_LE(world->server().commands(), 100U);  // renewals that bring fences
}

TEST_F(Bounds, LocalOwnersDoNotStarveAnotherClient) {
  Process& crowd = add_process();
  Process& other = add_process();
  hold_time = kMillisecond;
  for (int i = 0; i < 16; ++i) {
    acquire(crowd);
  }
  run_for(kSecond);
  const Micros asked = world->now();
  acquire(other);
  while (holder != other.number() && world->now() < asked + kSecond) {
    run_for(kMillisecond);
  }
  // There, the budget of 10 ms and a hold, back.
  EXPECT_LE(world->now() - asked, 11 * kMillisecond + 4 * kOneWay + 2 * kMillisecond);
}

// However short they are: in 10 ms these would be a hundred.
TEST_F(Bounds, LocalOwnersHandOnSixteenTimesWhileAnotherClientWaits) {
  make_world(kMillisecond / 2);
  world->server().set_client_commands_allowed(false);  // a change of a watched record ends it, too
  Process& crowd = add_process();
  Process& other = add_process();
  hold_time = 100;
  for (int i = 0; i < 16; ++i) {
    acquire(crowd);
  }
  run_for(kSecond);
  const Micros asked = world->now();
  acquire(other);
  while (holder != other.number() && world->now() < asked + kSecond) {
    run_for(hold_time);
  }
  // There, its word to the holder, 16 and what is held by then, the leave and the grant.
  EXPECT_LE(world->now() - asked, 18 * hold_time + 4 * kMillisecond / 2 + kMillisecond);
}

// However few handoffs: 16 of these would take 80 ms.
TEST_F(Bounds, LocalOwnersHandOnForTenMillisecondsWhileAnotherClientWaits) {
  world->server().set_client_commands_allowed(false);  // a change of a watched record ends it, too
  Process& crowd = add_process();
  Process& other = add_process();
  hold_time = 5 * kMillisecond;
  for (int i = 0; i < 16; ++i) {
    acquire(crowd);
  }
  run_for(kSecond);
  const Micros asked = world->now();
  acquire(other);
  while (holder != other.number() && world->now() < asked + kSecond) {
    run_for(kMillisecond);
  }
  EXPECT_LE(world->now() - asked, 11 * kMillisecond + 4 * kOneWay + 2 * hold_time);
}

// What the server said lately is not true for long, where its word that others wait is lost.
TEST_F(Bounds, ReadersJoinForAMomentAfterTheServersWord) {
  Process& reader = add_process();
  Process& writer = add_process();
  AcquireRequest request = request_of(reader);
  request.want.group = kReaders;
  acquire(reader, request);
  run_for(20 * kMillisecond);
  acquire(reader, request);
  EXPECT_EQ(grants, 2);  // at once
  world->lose_messages(100);
  acquire(writer);
  run_for(110 * kMillisecond);
  acquire(reader, request);
  run_for(500 * kMillisecond);
  EXPECT_EQ(grants, 2);
}

TEST_F(Bounds, WaitersAskAnewWhenTheDataAreWiped) {
  queue_up(3);
  const int connection = world->server().connect([](std::string_view) {});
  const Micros wiped = world->now();
  static_cast<void>(world->server().execute(connection, {"FLUSHALL"}));
  run_for(kSecond);
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(grants, 2);
  EXPECT_LE(granted_at - wiped, 3 * kOneWay + 10);  // the word, the ask, the answer
}

// A stopped writer, as it may go on, is waited for; longer than any that lives, it is passed over
// until it comes back.
TEST_F(Bounds, ReadersWaitBehindAStoppedWriterFor45Seconds) {
  const auto read = [this](Process& process) {
    AcquireRequest request = request_of(process);
    request.want.group = kReaders;
    acquire(process, request);
    run_for(20 * kMillisecond);
    return hold;
  };
  const std::int64_t first = read(add_process());
  Process& writer = add_process();
  acquire(writer);
  run_for(20 * kMillisecond);
  const Micros stopped = world->now();
  writer.pause(60 * kSecond);
  read(add_process());
  run_for(59 * kSecond);
  ASSERT_EQ(grants, 2);
  EXPECT_EQ(holder, 2);
  EXPECT_LE(granted_at - stopped, 45 * kSecond + 6 * kSecond);  // the next poll serves
  run_for(2 * kSecond);
  read(add_process());
  release(*processes[0], first);
  release(*processes[2], hold);
  run_for(kSecond);
  EXPECT_EQ(holder, 1);  // it has its place back
}

// A grant of the past, sent once more, is the server's own word, but says nothing of now.
TEST_F(Bounds, AnOlderGrantOfWhatIsHeldCostsNothing) {
  hear();
  queue_up(2);
  heard.clear();
  processes[1]->pause(500 * kMillisecond);
  release(*processes[0], hold);
  run_for(50 * kMillisecond);
  const std::vector<std::string> older = heard_grant();
  run_for(kSecond);
  ASSERT_EQ(holder, 2);
  release(*processes[2], hold);
  run_for(10 * kMillisecond);
  ASSERT_EQ(holder, 1);
  for (int i = 0; i < 3; ++i) {  // before it is confirmed, and after
    send_again(older);
    run_for(100 * kMillisecond);
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(processes[1]->look(hold)->state, BELAY_HOLD_HELD);
}

// What makes the releaser leave once more makes it look no less.
TEST_F(Bounds, AnOlderGrantOfWhatWasReleasedCostsNothing) {
  hear();
  queue_up(1);
  AcquireRequest reader = request_of(add_process());  // what several may have names no releaser
  reader.want.group = kReaders;
  acquire(*processes[2], reader);
  run_for(20 * kMillisecond);
  for (int i = 0; i < 2; ++i) {
    acquire(add_process());
    run_for(20 * kMillisecond);
  }
  heard.clear();
  release(*processes[0], hold);
  run_for(20 * kMillisecond);
  ASSERT_EQ(holder, 1);
  processes[2]->pause(60 * kSecond);
  processes[3]->pause(60 * kSecond);
  const Micros released = world->now();
  release(*processes[1], hold);
  run_for(20 * kMillisecond);
  send_again(heard_grant());
  run_for(2 * kSecond);
  EXPECT_EQ(holder, 4);
  EXPECT_LE(granted_at - released, 2 * (kGrantLease + 10 * kMillisecond) + 4 * kOneWay);
}

TEST_F(Bounds, HeldLocksAreRenewedInBatches) {
  Process& process = add_process();
  for (int i = 0; i < 200; ++i) {
    acquire(process, "name" + std::to_string(i));
  }
  run_for(100 * kMillisecond);
  ASSERT_EQ(grants, 200);
  const std::uint64_t before = world->server().commands();
  run_for(4 * kLease);
  const std::uint64_t rounds = 4 * 3 + 1;
  const std::uint64_t a_batch = 3;  // the renewal, and two to watch the records
  EXPECT_LE(world->server().commands() - before, rounds * (200 / 64 + 2) * a_batch);
  EXPECT_EQ(lost, 0);
}

TEST_F(Bounds, AHolderThatCannotReachTheServerIsWarnedAndThenLosesItInTime) {
  queue_up(1);
  const Micros stopped = world->now();
  world->stop_server(0, 60 * kSecond);
  run_for(kLease);
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(processes[0]->look(hold)->state, BELAY_HOLD_LOST);
  EXPECT_LE(stopped, world->now() - kLease);
}

// Its answer is lost in a cut: nobody but the server knows of the lease that it has begun.
TEST_F(Bounds, AReleaseIsInDoubtForAsLongAsARenewalThatWasCutOffLasts) {
  acquire(add_process());
  run_for(kLease / 6);
  const std::uint64_t before = world->server().commands();
  while (world->server().commands() == before) {
    run_for(kOneWay / 10);
  }
  const Micros renewed = world->now();
  world->stop_server(0, 60 * kSecond);
  processes[0]->cut(false, true);
  run_for(kLease / 2);
  release(*processes[0], hold);
  run_for(2 * kTimeout);
  EXPECT_GE(in_doubt_until, renewed + kLease);
}

}  // namespace
}  // namespace belay::sim
