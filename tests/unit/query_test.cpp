// What changes something on the server does so in time or not at all, command by command. A fake
// link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/packing.h"
#include "dialect/fenced_write.h"
#include "dialect/latch.h"
#include "dialect/limit.h"
#include "dialect/queries.h"
#include "unit/greeted.h"

namespace belay {
namespace {

// Whenever the engine was greeted the server's clock showed a hundred seconds; the first time a
// second had passed on its own.
class Queries : public Greeted {
 protected:
  void force(std::int64_t tag) {
    ASSERT_TRUE(engine_.query(tag, break_query(dialect_, "a", 7), now_).ok());
  }

  void advance(Micros by) {
    now_ += by;
    engine_.on_timer(now_);
  }

  // What was sent since the last time.
  std::vector<std::string> sent() { return std::exchange(link_.sent, {}); }

  void answer_late(Micros server_time) { answer(bulk(Packer().u8(4).number(server_time).take())); }

  // Connects anew; `killed` is what the server answers to CLIENT KILL of the old connection.
  void cut(const std::string& killed) {
    node_.on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
    now_ += kSecond;
    greet("6");
    sent();
    answer(killed);
  }

  static std::string packed(std::int64_t number) { return Packer().number(number).take(); }

  const LockOrSemaphore& semaphore_ = dialect_.semaphore;
  const LatchPrimitive& latch_ = dialect_.latch;
};

TEST_F(Queries, SayUntilWhenTheyMayTakePlace) {
  force(1);
  const std::vector<std::string> commands = sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_NE(commands[0].find(packed(7) + packed(0) + packed(105 * kSecond)), std::string::npos);
}

TEST_F(Queries, AreAskedAgainWhereTheServersClockHasJumped) {
  force(1);
  sent();
  advance(2 * kSecond);
  answer_late(3600 * kSecond);
  const std::vector<std::string> commands = sent();
  ASSERT_EQ(commands.size(), 1U);
  // Its second second is the 3600th there at the latest, and its request timeout ends in the sixth.
  EXPECT_NE(commands[0].find(packed(3605 * kSecond)), std::string::npos);
  EXPECT_TRUE(events_.events.empty());
  answer("*3\r\n" + bulk(packed(3600 * kSecond)) + "$0\r\n\r\n:0\r\n");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
}

TEST_F(Queries, ThatAreNotToBeRepeatedAreAskedAgainWhereTheyCameTooLate) {
  const FencedWrite write{"order", 7, {"INCR"}};
  ASSERT_TRUE(engine_.query(1, fenced_write_query("belay:", write), now_).ok());
  sent();
  answer_late(3600 * kSecond);
  ASSERT_EQ(sent().size(), 1U);
  answer("*3\r\n:1\r\n" + bulk(packed(7)) + ":1\r\n");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
}

TEST_F(Queries, AreKnownNotToHaveTakenPlaceWhereEachCameTooLate) {
  force(1);
  answer_late(101 * kSecond);
  answer("-BUSY Redis is busy running a script.\r\n");
  sent();
  now_ += config_.request_timeout;
  engine_.on_timer(now_);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_EQ(events_.events[0].in_doubt, 0);
}

TEST_F(Queries, WaitForATimeOfTheServers) {
  advance(31 * kSecond);
  force(1);
  ASSERT_TRUE(engine_.query(2, inspect_query(dialect_, "a"), now_).ok());
  const std::vector<std::string> commands = sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_NE(commands[0].find("TIME"), std::string::npos);
  answer("*2\r\n$3\r\n200\r\n$1\r\n0\r\n");
  const std::vector<std::string> then = sent();
  ASSERT_EQ(then.size(), 2U);
  EXPECT_NE(then[0].find(packed(205 * kSecond)), std::string::npos);
}

TEST_F(Queries, AreInDoubtForAsLongAsTheyMayTakePlace) {
  force(1);
  advance(config_.request_timeout);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  // As the server's clock may be slow, by half a percent of the five seconds.
  EXPECT_EQ(events_.events[0].in_doubt, 25 * kMillisecond + 1);
}

TEST_F(Queries, ThatSetALatchAreInDoubtForAsLongAsTheyMayTakePlace) {
  ASSERT_TRUE(engine_.query(1, latch_set_query(latch_, "l", {1}, 3, 0), now_).ok());
  sent();
  advance(config_.request_timeout);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_LATCH_SET);
  EXPECT_EQ(events_.events[0].in_doubt, 25 * kMillisecond + 1);
}

TEST_F(Queries, AreInDoubtAlsoWhereTheyCannotTakePlaceAnyMore) {
  force(1);
  advance(config_.request_timeout + kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].in_doubt, kMillisecond);
}

TEST_F(Queries, ThatOverwriteAreNotSentAgainWhereTheyMayComeLate) {
  ASSERT_TRUE(engine_.query(1, limit_query(semaphore_, "s", 3), now_).ok());
  cut("-NOPERM this user has no permissions\r\n");
  EXPECT_EQ(sent().size(), 0U);
  advance(config_.request_timeout - kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_EQ(events_.events[0].in_doubt, 25 * kMillisecond + 1);
}

TEST_F(Queries, ThatOverwriteAreSentAgainWhereTheyCannotComeLate) {
  ASSERT_TRUE(engine_.query(1, limit_query(semaphore_, "s", 3), now_).ok());
  cut(":1\r\n");
  ASSERT_EQ(sent().size(), 1U);
  answer(bulk(Packer().u8(1).number(102 * kSecond).number(3).number(0).take()));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
}

// The first call may have been carried out before others ended the latch, or may be yet.
TEST_F(Queries, ThatAreRefusedWhenSentAgainAreInDoubt) {
  const std::string missing = bulk(Packer().u8(2).number(102 * kSecond).number(0).number(0).take());
  ASSERT_TRUE(engine_.query(1, latch_count_down_query(latch_, "l", {1}, 1), now_).ok());
  answer(missing);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].in_doubt, 0);
  for (const bool killed : {true, false}) {
    events_.events.clear();
    ASSERT_TRUE(engine_.query(1, latch_count_down_query(latch_, "l", {2}, 1), now_).ok());
    cut(killed ? ":1\r\n" : "-NOPERM this user has no permissions\r\n");
    ASSERT_EQ(sent().size(), 1U);
    answer(missing);
    ASSERT_EQ(events_.events.size(), 1U);
    EXPECT_EQ(events_.events[0].status.code, BELAY_NOT_FOUND);
    EXPECT_GT(events_.events[0].in_doubt, 0) << killed;
  }
}

// No query, but cut off like one: the first ask may have queued it.
TEST_F(Queries, AnAcquireThatALimitRefusesLeavesThePlaceThatItMayHave) {
  AcquireRequest request;
  request.primitive = &semaphore_;
  request.name = "s";
  request.want.permits = 2;
  ASSERT_TRUE(engine_.acquire(1, request, kNever, now_).ok());
  cut(":1\r\n");
  ASSERT_EQ(sent().size(), 1U);
  answer(bulk(Packer().u8(9).number(102 * kSecond).number(1).take()));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_LIMIT_DIFFERS);
  EXPECT_EQ(sent().size(), 1U);  // the leave
}

// A page of a list: where to go on, and the key of one name.
std::string page(const std::string& cursor, const std::string& key) {
  return "*2\r\n$" + std::to_string(cursor.size()) + "\r\n" + cursor + "\r\n*1\r\n$" +
         std::to_string(key.size()) + "\r\n" + key + "\r\n";
}

// What the server once refused is not why nothing is heard now.
TEST_F(Queries, AndAcquiresNameNoCauseThatIsOlderThanTheOutage) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "b";
  ASSERT_TRUE(engine_.query(1, inspect_query(dialect_, "a"), now_).ok());
  ASSERT_TRUE(engine_.acquire(2, request, 0, now_).ok());
  answer("-LOADING the dataset\r\n");
  answer("-LOADING the dataset\r\n");
  advance(kSecond);
  node_.on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
  advance(config_.request_timeout);
  ASSERT_EQ(events_.events.size(), 2U);
  for (const Event& event : events_.events) {
    EXPECT_EQ(event.status.code, BELAY_UNAVAILABLE);
    EXPECT_EQ(event.status.message.find("LOADING"), std::string::npos) << event.status.message;
    EXPECT_NE(event.status.message.find("cut"), std::string::npos) << event.status.message;
  }
}

TEST_F(Queries, ListNoMoreThanTheirLimitOfAServerThatNeverEnds) {
  ASSERT_TRUE(engine_.query(1, list_query(dialect_, "*", 2), now_).ok());
  int pages = 0;
  for (; events_.events.empty() && pages < 10; ++pages) {
    answer(page("7", "belay:r:{" + std::to_string(pages / 2) + "}"));
  }
  EXPECT_EQ(pages, 5);  // each name came twice
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
  EXPECT_EQ(events_.events[0].members.size(), 2U);
  EXPECT_EQ(events_.events[0].member_total, 3);
}

TEST_F(Queries, ListNoLongerThanTheRequestTimeout) {
  ASSERT_TRUE(engine_.query(1, list_query(dialect_, "*", 2), now_).ok());
  for (int pages = 0; events_.events.empty() && pages < 10; ++pages) {
    answer(page("7", "belay:r:{a}"));
    advance(kSecond);
  }
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_NE(events_.events[0].status.message.find("only a part of the answer within 5000"),
            std::string::npos);
  EXPECT_EQ(now_, 6 * kSecond);
}

}  // namespace
}  // namespace belay
