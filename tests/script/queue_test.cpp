// The line of those who wait: places, tickets and holes; on every server. One thread.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/packing.h"
#include "script/joint_fixture.h"

namespace belay::test {
namespace {

class Queue : public JointTest {
 protected:
  // Queues that many, of whom somebody reads every inbox. Returns the ticket of the first.
  std::int64_t queue_many(int count) {
    std::int64_t first = 0;
    for (int i = 0; i < count; ++i) {
      const std::string client = "w" + std::to_string(i);
      listen({client});
      const Acquired reply = acquire(client);
      EXPECT_EQ(reply.code, "queued");
      first = i == 0 ? reply.ticket : first;
    }
    return first;
  }

  void drop_many(const std::string& prefix, int from, int to) {
    for (int i = from; i < to; ++i) {
      drop_waiter(client_id(prefix + std::to_string(i)));
    }
  }

  // As if somebody had flushed it.
  void lose_queue() { command({"DEL", queue_key()}); }

  Acquired come_back(const std::string& client, std::int64_t ticket) {
    return acquire_with({.client = client, .ticket = ticket});
  }

  bool is_gone() { return command({"EXISTS", queue_key()}).integer == 0; }
};

TEST_P(Queue, GivesPlacesOneAfterTheOther) {
  acquire("A");
  const std::int64_t first = queue_many(3);
  const Acquired fourth = acquire("B");
  EXPECT_EQ(fourth.ticket, first + 3);
  EXPECT_EQ(fourth.position, 3);
  EXPECT_EQ(acquire("B").ticket, fourth.ticket);
}

TEST_P(Queue, EndsWithTheLastWhoWaits) {
  acquire("A");
  queue_many(3);
  for (const char* const client : {"w1", "w2"}) {
    EXPECT_EQ(leave(client), "not ours");
    EXPECT_FALSE(is_gone());
  }
  EXPECT_EQ(leave("w0"), "not ours");
  EXPECT_TRUE(is_gone());
}

// Nobody else is left: that is known without a look at each hole.
TEST_P(Queue, EndsAtOnceWithAHundredHolesBehindTheLast) {
  acquire("A");
  queue_many(4 * kSkips);
  for (int i = 1; i < 4 * kSkips; ++i) {
    EXPECT_EQ(leave("w" + std::to_string(i)), "not ours");
  }
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "w0");
  EXPECT_EQ(record()->waits, 0);
  EXPECT_TRUE(is_gone());
}

TEST_P(Queue, PassesSixtyFourHolesACall) {
  listen({"B"});
  acquire("A");
  queue_many(kSkips + 3);
  acquire("B");
  drop_many("w", 0, kSkips + 3);
  EXPECT_EQ(leave("A"), "more");
  EXPECT_FALSE(record());
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(record()->client, "B");
  EXPECT_TRUE(is_gone());
}

TEST_P(Queue, IsNotSaidToBeEmptyBehindTooManyHoles) {
  listen({"B"});
  const Acquired a = acquire("A");
  queue_many(kSkips + 3);
  acquire("B");
  drop_many("w", 0, kSkips + 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(renew({.client = "A", .fence = a.fence}).waits, 1);
  }
  EXPECT_EQ(telling("next"), Names{"B"});
  EXPECT_EQ(acquire("B").position, 0);
}

TEST_P(Queue, HolesInTheMiddleCostNobodyHisTurn) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  queue_many(5);
  acquire("C");
  drop_many("w", 0, 5);
  leave("A");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(record()->waits, 1);
  leave("B");
  EXPECT_EQ(record()->client, "C");
}

TEST_P(Queue, IsServedByItsHolderAlone) {
  listen({"B", "C"});
  const Acquired a = acquire("A");
  acquire("B");
  acquire("C");
  for (const std::int64_t epoch : {1, 2}) {
    EXPECT_EQ(leave_with({.client = epoch == 1 ? "D" : "A", .epoch = epoch, .given = a.fence}),
              "not ours");
  }
  EXPECT_EQ(record()->client, "A");
  EXPECT_EQ(queue(), (Names{"B", "C"}));
  EXPECT_EQ(leave_with({.client = "A", .given = a.fence}), "ok");
  EXPECT_EQ(record()->fence, a.fence + 1);
}

// ---- Tickets

TEST_P(Queue, WhoWasPassedOverIsTheFirst) {
  listen({"C", "D"});
  acquire("A");
  const Acquired b = acquire("B");  // nobody reads its inbox
  acquire("C");
  acquire("D");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "C");
  listen({"B"});
  const Acquired again = come_back("B", b.ticket);
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(queue(), (Names{"B", "D"}));
}

TEST_P(Queue, ThoseWhoWerePassedOverKeepTheirOrder) {
  listen({"w9"});
  acquire("A");
  std::map<std::string, std::int64_t> tickets;
  for (int i = 0; i < 10; ++i) {
    const std::string client = "w" + std::to_string(i);
    tickets[client] = acquire(client).ticket;
  }
  leave("A");
  ASSERT_EQ(record()->client, "w9");
  for (const char* const client : {"w4", "w2", "w7"}) {
    EXPECT_EQ(come_back(client, tickets[client]).ticket, tickets[client]);
  }
  EXPECT_EQ(queue(), (Names{"w2", "w4", "w7"}));
}

TEST_P(Queue, ATicketThatTheLineHasLeftFarBehindIsTheFirst) {
  acquire("A");
  const std::int64_t first = queue_many(2);
  const Acquired again = come_back("B", first - 1000 * kSecond);
  EXPECT_EQ(again.ticket, first - 1);
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(queue(), (Names{"B", "w0", "w1"}));
}

TEST_P(Queue, ATicketFromAheadIsTheLast) {
  acquire("A");
  const std::int64_t first = queue_many(2);
  EXPECT_EQ(come_back("B", first + 1000 * kSecond).ticket, first + 2);
}

TEST_P(Queue, ATicketWhosePlaceAnotherHasIsTheLast) {
  acquire("A");
  const std::int64_t first = queue_many(3);
  EXPECT_EQ(come_back("B", first + 1).ticket, first + 3);
  EXPECT_EQ(queue(), (Names{"w0", "w1", "w2", "B"}));
}

TEST_P(Queue, ThatWasLostStandsAgainInTheOrderOfTheTickets) {
  acquire("A");
  const std::int64_t first = queue_many(5);
  lose_queue();
  for (const int i : {3, 1, 4, 0, 2}) {
    const Acquired again = come_back("w" + std::to_string(i), first + i);
    EXPECT_EQ(again.code, "queued");
    EXPECT_EQ(again.ticket, first + i);
  }
  EXPECT_EQ(queue(), (Names{"w0", "w1", "w2", "w3", "w4"}));
}

TEST_P(Queue, ANewClaimLosesThePlaceOfTheOlder) {
  acquire("A");
  queue_many(2);
  acquire("w0", 2);
  EXPECT_EQ(queue(), (Names{"w1", "w0"}));
}

// ---- Time

TEST_P(Queue, SaysSinceWhenSomebodyWaits) {
  acquire("A");
  acquire("B");
  const std::int64_t since = inspect().waiters.at(0).since;
  EXPECT_LE(now() - since, 60 * kSecond);
  acquire("B");
  EXPECT_EQ(inspect().waiters.at(0).since, since);
}

TEST_P(Queue, StandsForAnotherTwoMinutesWhenSomebodyJoinsLate) {
  acquire("A");
  queue_many(2);
  command({"PEXPIRE", queue_key(), "50000"});
  acquire("B");  // the queue says that it stands for longer
  EXPECT_LE(pttl(queue_key()), 50'000);
  const std::string line = command({"HGET", queue_key(), ""}).text;
  command({"HSET", queue_key(), "",
           line.substr(0, 2 * sizeof(double)) + Packer().number(now() + 50 * kSecond).take()});
  acquire("C");
  EXPECT_GT(pttl(queue_key()), 110'000);
}

TEST_P(Queue, StandsForAnotherTwoMinutesWhenSomebodyAsks) {
  acquire("A");
  queue_many(2);
  command({"PEXPIRE", queue_key(), "50000"});
  acquire("w1");
  EXPECT_GT(pttl(queue_key()), 110'000);
}

ON_ALL_BACKENDS(Queue);

// ---- Cost

class QueueCost : public Queue {
 protected:
  // How many commands the server has run for scripts since the last call.
  std::int64_t commands() {
    const std::string stats = command({"INFO", "commandstats"}).text;
    std::int64_t calls = 0;
    for (std::size_t at = stats.find("cmdstat_"); at != std::string::npos;
         at = stats.find("cmdstat_", at + 1)) {
      const std::string name = stats.substr(at + 8, stats.find(':', at) - at - 8);
      const bool inside = name != "evalsha" && name != "eval" && name != "info" &&
                          name != "subscribe" && name != "config|resetstat" && name != "config" &&
                          name != "script|load" && name != "script";
      calls += inside ? std::stoll(stats.substr(stats.find("calls=", at) + 6)) : 0;
    }
    command({"CONFIG", "RESETSTAT"});
    return calls;
  }

  // Of queueing, polling, leaving, handing over: with that many who wait.
  std::vector<std::int64_t> costs(int waiters) {
    command({"FLUSHALL"});
    acquire("A");
    queue_many(waiters);
    listen({"B", "C"});
    const std::string half = "w" + std::to_string(waiters / 2);
    const Record held = *record();
    std::vector<std::int64_t> costs;
    commands();
    acquire("B");
    costs.push_back(commands());
    acquire("B");
    costs.push_back(commands());
    acquire(half);
    costs.push_back(commands());
    leave(half);
    costs.push_back(commands());
    leave_with({.client = "A", .given = held.fence});
    costs.push_back(commands());
    acquire("A", 2);
    costs.push_back(commands());
    return costs;
  }
};

TEST_P(QueueCost, IsTheSameWithFourAndWithFourThousandWaiters) {
  EXPECT_EQ(costs(4), costs(4000));
}

// A release that hands on, and an acquire that queues: 16 commands at most.
TEST_P(QueueCost, OfAContendedHoldIsSixteenCommandsAtMost) {
  const std::vector<std::int64_t> all = costs(4);
  EXPECT_LE(all[4] + all[5], 16);
  EXPECT_GT(all[4] + all[5], 8);
}

INSTANTIATE_TEST_SUITE_P(On, QueueCost, testing::ValuesIn(real_backends()),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace belay::test
