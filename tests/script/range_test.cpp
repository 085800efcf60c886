// The fences of a range that a holder hands on, on every server. One thread.
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

class Ranges : public LockTest {
 protected:
  void SetUp() override {
    LockTest::SetUp();
    listen({"A", "B", "C"});
    a_ = acquire("A");
    acquire("B");
    stored_ = stored_fence();
  }

  Record hand_on(const std::string& from, std::int64_t given) {
    EXPECT_EQ(leave_with({.client = from, .given = given}), "ok");
    return record().value_or(Record());
  }

  // The holder becomes the last that waits.
  void queue_again(const std::string& client, std::int64_t epoch) { acquire(client, epoch); }

  // What follows came from the slot's key.
  void expect_anew(const Record& stands) {
    EXPECT_GT(stands.fence, stored_);
    EXPECT_EQ(stands.last, stands.fence + kFenceRange);
    EXPECT_EQ(stored_fence(), stands.last);
  }

  Acquired a_;
  std::int64_t stored_ = 0;
};

TEST_P(Ranges, CountOnFromWhatTheHolderHasGiven) {
  const Record stands = hand_on("A", a_.fence + 2);
  EXPECT_EQ(stands.client, "B");
  EXPECT_EQ(stands.fence, a_.fence + 3);
  EXPECT_EQ(stands.last, a_.last);
  EXPECT_EQ(stored_fence(), stored_);
}

TEST_P(Ranges, AreToldWithTheGrant) {
  told();
  hand_on("A", a_.fence);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].fence, a_.fence + 1);
  EXPECT_EQ(messages[0].last, a_.last);
}

TEST_P(Ranges, DoNotTouchTheSlotsKey) {
  command({"SET", fence_key(), "of somebody else"});
  const Record stands = hand_on("A", a_.fence);
  EXPECT_EQ(stands.client, "B");
  EXPECT_EQ(command({"GET", fence_key()}).text, "of somebody else");
}

TEST_P(Ranges, ReserveMoreWhereTheyAreUsedUp) {
  const Record stands = hand_on("A", a_.last);
  EXPECT_GT(stands.fence, stored_);
  EXPECT_EQ(stands.last, stands.fence + 64);
  EXPECT_EQ(stored_fence(), stands.last);
}

TEST_P(Ranges, TouchTheSlotsKeyOnceInManyHandoffs) {
  std::int64_t touched = 0;
  std::int64_t before = 0;
  std::string holder = "A";
  for (int i = 1; i <= 200; ++i) {
    const std::int64_t fence = record()->fence;
    EXPECT_GT(fence, before);
    before = fence;
    const std::int64_t epoch = record()->epoch;
    EXPECT_EQ(leave_with({.client = holder, .epoch = epoch, .given = fence}), "ok");
    touched += stored_fence() == stored_ ? 0 : 1;
    stored_ = stored_fence();
    EXPECT_LE(record()->last, stored_);
    queue_again(holder, epoch + 1);
    holder = record()->client;
  }
  EXPECT_EQ(touched, 3);  // after 8, 64 and 64 more
}

TEST_P(Ranges, AreLeftWhereTheHolderCannotVouchForThem) {
  expect_anew(hand_on("A", 0));
}

TEST_P(Ranges, AreNotLeftByAFenceOutsideOfThem) {
  expect_anew(hand_on("A", a_.fence - 1));
}

TEST_P(Ranges, AreNotLeftByAFenceBeyondThem) {
  expect_anew(hand_on("A", a_.last + 1));
}

TEST_P(Ranges, AreNotLeftByWhoseLeaseHasEnded) {
  lapse();
  EXPECT_EQ(leave_with({.client = "A", .given = a_.fence}), "ok");
  expect_anew(record().value());
}

TEST_P(Ranges, AreNotLeftByWhoDoesNotHoldIt) {
  leave("A");
  const Record stands = record().value();
  queue_again("C", 1);
  EXPECT_EQ(leave_with({.client = "A", .given = stands.fence}), "not ours");
  EXPECT_EQ(record()->fence, stands.fence);
}

// Dead waiters get nothing that others could have seen.
TEST_P(Ranges, PassOverTheDead) {
  leave_with({.client = "B"});
  queue_the_dead(3);
  queue_again("C", 1);
  const Record stands = hand_on("A", a_.fence);
  EXPECT_EQ(stands.client, "C");
  EXPECT_EQ(stands.fence, a_.fence + 1);
}

TEST_P(Ranges, AreNotForThoseWhoShare) {
  leave_with({.client = "B"});
  acquire_with({.client = "C", .group = "r"});
  EXPECT_EQ(leave_with({.client = "A", .given = a_.fence}), "ok");
  EXPECT_GT(record()->fence, stored_);
  EXPECT_EQ(stored_fence(), record()->fence);
}

// A foreign key is found before anything is written.
TEST_P(Ranges, AreNotHandedOnWhereTheMembersAreForeign) {
  leave_with({.client = "B"});
  acquire_with({.client = "C", .group = "r"});
  command({"SET", members_key(), "of somebody else"});
  EXPECT_EQ(leave_with({.client = "A", .given = a_.fence}), "BELAYTYPE");
  EXPECT_EQ(record()->client, "A");
  EXPECT_EQ(queue(), std::vector<std::string>{"C"});
}

TEST_P(Ranges, AreNotHandedOnWhereTheQueueIsForeign) {
  command({"DEL", queue_key()});
  command({"SET", queue_key(), "of somebody else"});
  EXPECT_EQ(leave_with({.client = "A", .given = a_.fence}), "BELAYTYPE");
  EXPECT_EQ(record()->client, "A");
}

// Every later fence is above those that were reserved, whatever the clock does.
TEST_P(Ranges, AreBelowWhatFollowsThem) {
  const Record stands = hand_on("A", a_.fence);
  EXPECT_EQ(leave_with({.client = "B", .given = stands.fence}), "ok");
  EXPECT_FALSE(record());
  EXPECT_GT(acquire("C", 3).fence, a_.last);
}

ON_ALL_BACKENDS(Ranges);

}  // namespace
}  // namespace belay::test
