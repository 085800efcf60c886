// Leave, on every server. One thread.
#include "base/packing.h"
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

class Leave : public LockTest {};

TEST_P(Leave, FreesALockThatNobodyWaitsFor) {
  acquire("A");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(Leave, KeepsTheHighestFenceOfTheSlot) {
  const Acquired held = acquire("A");
  leave("A");
  EXPECT_EQ(stored_fence(), held.last);
}

TEST_P(Leave, HandsOffToTheFirstWaiter) {
  listen({"B"});
  const Acquired a = acquire("A");
  acquire_with({.client = "B", .epoch = 9, .grant = 2 * kGrant, .info = "billing"});
  EXPECT_EQ(leave("A"), "ok");

  const Record stands = record().value();
  EXPECT_EQ(stands.client, "B");
  EXPECT_EQ(stands.epoch, 9);
  EXPECT_EQ(stands.expires, stands.since + 2 * kGrant);
  EXPECT_GT(stands.fence, a.last);
  EXPECT_EQ(stands.last, stands.fence + kFenceRange);
  EXPECT_EQ(stands.waits, 0);
  EXPECT_EQ(stands.holds, 1);
  EXPECT_EQ(stands.local_waiters, 0);
  EXPECT_EQ(stands.info, "billing");
  EXPECT_EQ(stored_fence(), stands.last);
  EXPECT_EQ(command({"EXISTS", queue_key()}).integer, 0);
}

TEST_P(Leave, TellsTheNewHolderItsGrant) {
  listen({"B"});
  acquire("A");
  acquire("B", 9);
  leave("A");
  const std::vector<Told> messages = told();
  const Record stands = record().value();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "grant");
  EXPECT_EQ(messages[0].epoch, 9);
  EXPECT_EQ(messages[0].ts, stands.since);
  EXPECT_EQ(messages[0].fence, stands.fence);
  EXPECT_EQ(messages[0].last, stands.last);
  EXPECT_EQ(messages[0].grant, kGrant);
  EXPECT_EQ(messages[0].waits, 0);
  EXPECT_EQ(messages[0].key, record_key());
}

TEST_P(Leave, TellsTheNextInLineWhenToLook) {
  listen({"B", "C", "D"});
  acquire("A");
  acquire_with({.client = "B", .grant = 3 * kGrant});
  acquire("C", 4);
  acquire("D");
  leave("A");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].waits, 1);
  EXPECT_EQ(messages[1].client, "C");
  EXPECT_EQ(messages[1].kind, "next");
  EXPECT_EQ(messages[1].epoch, 4);
  EXPECT_EQ(messages[1].wait, 3 * kGrant);
  EXPECT_EQ(record()->waits, 1);
}

TEST_P(Leave, HandsOffInOrderOfArrival) {
  listen({"B", "C", "D"});
  acquire("A");
  acquire("B");
  acquire("C");
  acquire("D");
  std::string order;
  for (const char* const holder : {"A", "B", "C", "D"}) {
    order += record()->client;
    EXPECT_EQ(leave(holder), "ok");
  }
  EXPECT_EQ(order, "ABCD");
  EXPECT_FALSE(record());
}

TEST_P(Leave, SkipsWaitersThatNobodyListensFor) {
  listen({"B"});
  acquire("A");
  queue_the_dead(5);
  acquire("B");
  told();
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(told_briefly(), Names{"B grant 1"});
}

TEST_P(Leave, FreesTheLockWhenAllWaitersAreDead) {
  acquire("A");
  queue_the_dead(5);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
  EXPECT_EQ(command({"EXISTS", queue_key()}).integer, 0);
}

TEST_P(Leave, SkipsNoMoreThanSixtyFourDeadWaitersACall) {
  listen({"B"});
  acquire("A");
  queue_the_dead(kSkips + 6);
  acquire("B");
  told();
  EXPECT_EQ(leave("A"), "more");
  EXPECT_FALSE(record());
  EXPECT_EQ(queue().size(), 7U);
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(record()->client, "B");
}

TEST_P(Leave, DropsDeadWaitersBehindTheNewHolder) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  queue_the_dead(3);
  acquire("C");
  leave("A");
  EXPECT_EQ(queue(), Names{"C"});
}

TEST_P(Leave, LeavesTheQueue) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C");
  EXPECT_EQ(leave("C"), "not ours");
  EXPECT_EQ(queue(), Names{"B"});
  EXPECT_EQ(record()->client, "A");
}

TEST_P(Leave, TellsTheNewHeadOfTheQueueWhenTheHeadLeaves) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C", 3);
  told();
  leave("B");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "C");
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].epoch, 3);
  EXPECT_EQ(messages[0].wait, record()->expires - messages[0].ts);
}

TEST_P(Leave, TellsNobodyWhenALaterWaiterLeaves) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C");
  told();
  leave("C");
  EXPECT_TRUE(told().empty());
}

TEST_P(Leave, TakesOlderEpochsOfItsClientOutOfTheQueue) {
  acquire("A");
  acquire("B", 3);
  leave("B", 5);
  EXPECT_TRUE(queue().empty());
}

TEST_P(Leave, KeepsANewerEpochOfItsClientInTheQueue) {
  acquire("A");
  acquire("B", 3);
  EXPECT_EQ(leave("B", 2), "not ours");
  EXPECT_EQ(queue(), Names{"B"});
}

TEST_P(Leave, NeverFreesAnothersLock) {
  acquire("A");
  const std::string before = contents();
  EXPECT_EQ(leave("B"), "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Leave, NeverFreesANewerEpochOfItsClient) {
  acquire("A", 2);
  EXPECT_EQ(leave("A", 1), "not ours");
  EXPECT_EQ(record()->epoch, 2);
}

TEST_P(Leave, IsNotOursWhenRepeated) {
  acquire("A");
  leave("A");
  EXPECT_EQ(leave("A"), "not ours");
}

TEST_P(Leave, DisturbsNobodyWhenRepeated) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C");
  leave("A");
  told();
  const std::string before = contents();
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

TEST_P(Leave, IsNotOursWhereThereIsNothing) {
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(contents(), "");
}

TEST_P(Leave, ServesTheQueueOfALapsedLock) {
  listen({"C"});
  acquire("A");
  acquire("C");
  lapse();
  told();
  EXPECT_EQ(leave("B"), "not ours");
  EXPECT_EQ(record()->client, "C");
  EXPECT_EQ(told_briefly(), Names{"C grant 1"});
}

TEST_P(Leave, ServesAQueueWithoutAHolder) {
  listen({"C"});
  acquire("A");
  acquire("C");
  command({"DEL", record_key()});
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(record()->client, "C");
}

TEST_P(Leave, FreesItsOwnLapsedLock) {
  acquire("A");
  lapse();
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(Leave, NeverGivesTheLockToTheClientThatLeavesTheQueue) {
  listen({"B"});
  acquire("A");
  acquire("B");
  lapse();
  EXPECT_EQ(leave("B"), "not ours");
  EXPECT_FALSE(record());
}

TEST_P(Leave, HandsOffWithAFenceAboveTheHighestThatItsClientHasSeen) {
  listen({"B"});
  acquire("A");
  acquire("B");
  const std::int64_t highest = kFarFence;
  leave("A", 1, highest);
  EXPECT_EQ(record()->fence, highest + 1);
}

TEST_P(Leave, LooksAfterTheLockThatItHandsOn) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  leave("A");
  EXPECT_EQ(handed_, kGrant);
  EXPECT_EQ(record()->from, "A");
  told();
  leave("B");
  EXPECT_EQ(handed_, 0);
  EXPECT_EQ(told_briefly(), Names{"A settled 1"});
}

// As their client ends, nobody looks after what it hands on.
TEST_P(Leave, TellsSeveralToLookWhenItsClientEnds) {
  Names waiters;
  for (char name = 'B'; name <= 'T'; ++name) {
    waiters.emplace_back(1, name);
  }
  listen(waiters);
  acquire("A");
  for (const std::string& waiter : waiters) {
    acquire(waiter);
  }
  told();
  leave_with({.client = "A", .parting = true});
  EXPECT_EQ(record()->from, "");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 17U);
  EXPECT_EQ(messages[0].kind, "grant");
  for (std::size_t i = 1; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].client, waiters[i]);
    EXPECT_EQ(messages[i].kind, "next");
    EXPECT_EQ(messages[i].wait, kGrant + static_cast<std::int64_t>(i - 1) * 10'000);
  }
}

TEST_P(Leave, TellsSeveralToLookAfterWhatItsClientHandedOnBeforeItEnds) {
  listen({"A", "B", "C", "D"});
  acquire("A");
  acquire("B");
  acquire("C");
  acquire("D");
  leave("A");
  told();
  leave_with({.client = "A", .parting = true});
  EXPECT_EQ(told_briefly(), (Names{"C next 1", "D next 1"}));
  EXPECT_EQ(handed_, 0);
}

// It may have been told to look itself, and who came since was not.
TEST_P(Leave, TellsSeveralToLookWhenAWaitersClientEnds) {
  listen({"B", "C", "D"});
  acquire("A");
  acquire("B");
  acquire("C");
  acquire("D");
  told();
  leave_with({.client = "C", .parting = true});
  EXPECT_EQ(told_briefly(), (Names{"B next 1", "D next 1"}));
}

// Who waits by then was told; who comes was not.
TEST_P(Leave, LeavesItToTheNextThatAsksWhenItsClientEnds) {
  for (const bool released_before : {false, true}) {
    SCOPED_TRACE(released_before);
    command({"DEL", record_key(), queue_key()});
    listen({"B", "C", "D"});
    for (const char* client : {"A", "B", "C"}) {
      acquire(client);
    }
    if (released_before) {
      leave("A");
    }
    leave_with({.client = "A", .parting = true});
    EXPECT_EQ(record()->from, "");
    const Acquired next = acquire("D");
    EXPECT_EQ(next.code, "queued");
    EXPECT_GT(next.handed, 0);
    EXPECT_EQ(next.handed, next.remaining);
    EXPECT_EQ(record()->from, "D");
    EXPECT_EQ(acquire("E").handed, 0);
    told();
    renew({.client = "B", .fence = record()->fence});
    EXPECT_EQ(told_briefly(), (Names{"D settled 1", "C next 1"}));
  }
}

TEST_P(Leave, LeavesNothingToTheNextThatAsksWhenItWasTakenUp) {
  listen({"B", "C"});
  for (const char* client : {"A", "B", "C"}) {
    acquire(client);
  }
  leave_with({.client = "A", .parting = true});
  renew({.client = "B", .fence = record()->fence});
  EXPECT_EQ(acquire("D").handed, 0);
  EXPECT_EQ(record()->from, "");
}

TEST_P(Leave, LeavesPermitsToTheNextThatAsksWhenItsClientEnds) {
  for (const bool released_before : {false, true}) {
    SCOPED_TRACE(released_before);
    command({"DEL", record_key(), queue_key(), members_key()});
    listen({"B", "C"});
    for (const char* client : {"A", "B", "C"}) {
      acquire_with({.client = client, .kind = kSemaphore, .limit = 1});
    }
    if (released_before) {
      leave_with({.client = "A", .kind = kSemaphore});
    }
    leave_with({.client = "A", .kind = kSemaphore, .parting = true});
    const Acquired next = acquire_with({.client = "D", .kind = kSemaphore, .limit = 1});
    EXPECT_EQ(next.code, "queued");
    EXPECT_GT(next.handed, 0);
    EXPECT_LE(next.handed, kGrant);
    EXPECT_EQ(acquire_with({.client = "E", .kind = kSemaphore, .limit = 1}).handed, 0);
  }
}

// Its client would take a longer time for no reply of Belay's.
TEST_P(Leave, LooksAgainInTimeThoughTheClockSteppedBack) {
  constexpr std::int64_t kAnyWaiterAsks = 45 * kSecond;
  listen({"B"});
  for (const bool by_a_try : {false, true}) {
    command({"DEL", record_key(), queue_key()});
    acquire("A");
    acquire("B");
    if (by_a_try) {
      lapse();
      try_acquire("D");
    } else {
      leave("A");
    }
    ASSERT_EQ(record()->client, "B");
    const std::int64_t ahead = now() + 3600 * kSecond;
    command({"SETRANGE", record_key(), "57", Packer().number(ahead).take()});
    leave("A");
    EXPECT_EQ(handed_, kAnyWaiterAsks);
  }
}

// As after a try that served the queue and has ended.
TEST_P(Leave, TakesOverWhatNobodyLooksAfter) {
  listen({"B"});
  acquire("A");
  acquire("B");
  lapse();
  try_acquire("D");
  ASSERT_EQ(record()->client, "B");
  leave_with({.client = "E", .parting = true});
  EXPECT_EQ(record()->from, "");
  leave("E");
  EXPECT_GT(handed_, 0);
  EXPECT_LE(handed_, kGrant);
  EXPECT_EQ(record()->from, "E");
  leave("F");
  EXPECT_EQ(handed_, 0);
}

TEST_P(Leave, TellsNobodyToLookAfterWhatWasTakenUp) {
  listen({"A", "B", "C", "D"});
  acquire("A");
  acquire("B");
  acquire("C");
  leave("A");
  renew({.client = "B", .fence = record()->fence});
  told();
  leave_with({.client = "A", .parting = true});
  EXPECT_TRUE(told().empty());
}

TEST_P(Leave, TellsSeveralWhoWaitForPermitsWhenTheirClientEnds) {
  listen({"B", "C", "D"});
  acquire_with({.client = "A", .kind = kSemaphore, .limit = 1});
  for (const char* client : {"B", "C", "D"}) {
    acquire_with({.client = client, .kind = kSemaphore, .limit = 1});
  }
  told();
  leave_with({.client = "A", .kind = kSemaphore, .parting = true});
  EXPECT_EQ(told_briefly(), (Names{"B grant 1", "C next 1", "D next 1"}));
}

// Nobody else gets it before: until then there is nothing to look for.
TEST_P(Leave, LooksWhenTheLockDelayOfWhoHasItIsOver) {
  listen({"A", "B", "C"});
  acquire("A");
  acquire_with({.client = "B", .delay = kLease});
  leave("A");
  EXPECT_EQ(handed_, kGrant + kLease);
  lapse();
  leave("A");  // too early
  EXPECT_GT(handed_, 0);
  EXPECT_LE(handed_, kLease);
}

// Who gives up looks after the lock all the same.
TEST_P(Leave, GoesOnLookingAfterWhatItFoundLapsed) {
  listen({"A", "B", "C", "D"});
  acquire("A");
  acquire("B");
  acquire("C");
  lapse();
  acquire("C");
  EXPECT_EQ(record()->client, "B");
  leave("C");
  EXPECT_GT(handed_, 0);
  EXPECT_LE(handed_, kGrant);
}

TEST_P(Leave, TellsNobodyWhoGetsTheLockBackThatItIsSettled) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  leave("A");
  acquire("A", 2);
  told();
  leave("B");
  EXPECT_EQ(told_briefly(), Names{"A grant 2"});
  EXPECT_EQ(record()->from, "B");
}

TEST_P(Leave, LooksAfterTheLockThatItFoundLapsed) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C");
  leave("A");
  lapse();
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(handed_, kGrant);
  EXPECT_EQ(record()->client, "C");
  EXPECT_EQ(record()->from, "A");
}

ON_ALL_BACKENDS(Leave);

}  // namespace
}  // namespace belay::test
