// Acquire, on every server. One thread.
#include <algorithm>

#include "base/config.h"
#include "base/packing.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

class Acquire : public LockTest {};

TEST_P(Acquire, TakesAFreeLock) {
  const std::int64_t before = now();
  const Acquired reply =
      acquire_with({.client = "A", .epoch = 3, .local_waiters = 2, .info = "web-7"});
  ASSERT_EQ(reply.code, "granted");
  EXPECT_GE(reply.ts, before);
  EXPECT_EQ(reply.waits, 0);

  const Record stands = record().value();
  EXPECT_EQ(stands.version, 2);
  EXPECT_EQ(stands.type, 1);
  EXPECT_EQ(stands.waits, 0);
  EXPECT_EQ(stands.client, "A");
  EXPECT_EQ(stands.epoch, 3);
  EXPECT_EQ(stands.fence, reply.fence);
  EXPECT_EQ(stands.last, reply.last);
  EXPECT_EQ(stands.since, reply.ts);
  EXPECT_EQ(stands.expires, reply.ts + kLease);
  EXPECT_EQ(stands.holds, 1);
  EXPECT_EQ(stands.local_waiters, 2);
  EXPECT_EQ(stands.info, "web-7");
}

TEST_P(Acquire, LetsTheRecordOutliveItsLeaseByASecond) {
  acquire("A");
  EXPECT_GT(pttl(record_key()), kLease / 1000);
  EXPECT_LE(pttl(record_key()), kLease / 1000 + 1000);
}

TEST_P(Acquire, TellsTheSameFenceWhenRepeated) {
  const Acquired first = acquire("A");
  const Acquired second = acquire("A");
  EXPECT_EQ(second.code, "granted");
  EXPECT_EQ(second.fence, first.fence);
  EXPECT_EQ(second.last, first.last);
}

TEST_P(Acquire, CountsTheLeaseFromTheLatestCallWhenRepeated) {
  acquire("A");
  const Acquired second = acquire_with({.client = "A", .lease = 2 * kLease});
  EXPECT_EQ(record()->expires, second.ts + 2 * kLease);
  EXPECT_GT(pttl(record_key()), 2 * kLease / 1000);
}

TEST_P(Acquire, NeverShortensTheLeaseWhenRepeated) {
  const Acquired first = acquire("A");
  acquire_with({.client = "A", .lease = kSecond});
  EXPECT_EQ(record()->expires, first.ts + kLease);
  EXPECT_GT(pttl(record_key()), kLease / 1000);
}

TEST_P(Acquire, SaysWhenRepeatedThatSomebodyWaits) {
  acquire("A");
  acquire("B");
  EXPECT_EQ(acquire("A").waits, 1);
}

TEST_P(Acquire, QueuesBehindAHolder) {
  const Acquired held = acquire("A");
  const Acquired reply = acquire_with({.client = "B", .info = "billing"});
  ASSERT_EQ(reply.code, "queued");
  EXPECT_EQ(reply.position, 0);
  EXPECT_EQ(reply.remaining, held.ts + kLease - reply.ts);
  EXPECT_GE(reply.ticket, reply.ts);
  EXPECT_EQ(reply.stored, held.last);
  EXPECT_EQ(record()->client, "A");
  EXPECT_EQ(record()->waits, 1);
  const Inspected seen = inspect();
  ASSERT_EQ(seen.waiters.size(), 1U);
  EXPECT_EQ(seen.waiters[0].grant, kGrant);
  EXPECT_EQ(seen.waiters[0].info, "billing");
}

TEST_P(Acquire, QueuesInOrderOfArrival) {
  acquire("A");
  const Acquired b = acquire("B");
  const Acquired c = acquire("C");
  const Acquired d = acquire("D");
  EXPECT_EQ(c.position, 1);
  EXPECT_EQ(d.position, 2);
  EXPECT_LT(b.ticket, c.ticket);
  EXPECT_LT(c.ticket, d.ticket);
  EXPECT_EQ(queue(), (Names{"B", "C", "D"}));
}

TEST_P(Acquire, QueuesLastAlsoAfterTheClockWentBack) {
  acquire("A");
  const std::int64_t ahead = now() + 1000 * kSecond;
  const std::string entry = acquire("B").code == "queued" ? waiter(client_id("B")) : "";
  command({"DEL", queue_key()});
  command({"HSET", queue_key(), "", Packer().number(ahead).number(ahead + 1).number(1).take(),
           Packer().number(ahead).take(), entry, client_id("B"), Packer().number(ahead).take()});
  EXPECT_EQ(acquire("C").ticket, ahead + 1);
  EXPECT_EQ(queue(), (Names{"B", "C"}));
}

TEST_P(Acquire, TellsTheHolderThatSomebodyWaits) {
  listen({"A"});
  acquire("A", 7);
  const Acquired reply = acquire("B");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "A");
  EXPECT_EQ(messages[0].kind, "waits");
  EXPECT_EQ(messages[0].epoch, 7);
  EXPECT_EQ(messages[0].ts, reply.ts);
  EXPECT_EQ(messages[0].key, record_key());
}

TEST_P(Acquire, TellsOfALockWhoseNameHasAnyBytes) {
  use_lock(std::string("a\0b\r\n\xF0\x9F\x94\x92", 9));
  listen({"A"});
  acquire("A");
  acquire("B");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].key, record_key());
  EXPECT_EQ(leave("A"), "ok");
}

TEST_P(Acquire, TellsTheHolderOnlyOfTheFirstWaiter) {
  listen({"A"});
  acquire("A");
  acquire("B");
  acquire("C");
  EXPECT_EQ(told_briefly(), Names{"A waits 1"});
}

TEST_P(Acquire, KeepsItsPlaceWhenRepeatedInTheQueue) {
  listen({"B", "C", "D"});
  acquire("A");
  acquire("B");
  const Acquired first = acquire("C");
  acquire("D");
  const Acquired second = acquire("C");
  EXPECT_EQ(second.code, "queued");
  EXPECT_EQ(second.position, 1);
  EXPECT_EQ(second.ticket, first.ticket);
  EXPECT_EQ(queue(), (Names{"B", "C", "D"}));
}

TEST_P(Acquire, TellsTheHolderAgainWhenRepeated) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  told();
  acquire("B");
  EXPECT_EQ(told_briefly(), Names{"A waits 1"});
}

TEST_P(Acquire, TellsTheFirstWaiterToLookWhenALaterOneAsksAgain) {
  listen({"B", "C"});
  acquire("A");
  acquire("B", 5);
  acquire("C");
  told();
  const Acquired again = acquire("C");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].epoch, 5);
  EXPECT_EQ(messages[0].ts, again.ts);
  EXPECT_EQ(messages[0].wait, again.remaining);
  EXPECT_EQ(messages[0].key, record_key());
}

TEST_P(Acquire, DropsDeadWaitersAheadWhenALaterOneAsksAgain) {
  listen({"C"});
  acquire("A");
  acquire("B");
  acquire("C");
  EXPECT_EQ(acquire("C").position, 0);
  EXPECT_EQ(queue(), Names{"C"});
}

TEST_P(Acquire, AnswersAWaiterWhoseOwnInboxNobodyReads) {
  acquire("A");
  acquire("B");
  acquire("C");
  const Acquired again = acquire("C");
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(queue(), Names{"C"});
}

TEST_P(Acquire, KeepsTheQueueForTwoMinutesAfterTheLastCall) {
  acquire("A");
  acquire("B");
  EXPECT_GT(pttl(queue_key()), 110'000);
  EXPECT_LE(pttl(queue_key()), 120'000);
  command({"PEXPIRE", queue_key(), "60000"});
  acquire("B");
  EXPECT_GT(pttl(queue_key()), 110'000);
}

TEST_P(Acquire, LetsNoQueueStandForEverThatItEmptiedOnItsWay) {
  acquire("A");
  acquire("B");
  acquire("C");
  acquire("C");  // nobody listens: B and C are dropped, and C is queued again
  EXPECT_GT(pttl(queue_key()), 0);
}

TEST_P(Acquire, TriesWithoutQueueing) {
  acquire("A");
  const std::string before = contents();
  const Acquired reply = try_acquire("B");
  EXPECT_EQ(reply.code, "busy");
  EXPECT_EQ(reply.remaining, record()->expires - reply.ts);
  EXPECT_EQ(contents(), before);
}

TEST_P(Acquire, TakesAFreeLockWhenItOnlyTries) {
  EXPECT_EQ(try_acquire("A").code, "granted");
}

TEST_P(Acquire, NeverBargesPastAQueueWhenItOnlyTries) {
  listen({"B"});
  acquire("A");
  acquire("B", 2);
  lapse();
  told();
  const Acquired reply = try_acquire("C");
  EXPECT_EQ(reply.code, "busy");
  EXPECT_LE(reply.remaining, kGrant);
  EXPECT_EQ(told_briefly(), Names{"B grant 2"});
  EXPECT_EQ(record()->client, "B");
  EXPECT_TRUE(queue().empty());
}

TEST_P(Acquire, NeverBargesPastAQueueWithoutAHolder) {
  listen({"B"});
  acquire("A");
  acquire("B");
  command({"DEL", record_key()});
  EXPECT_EQ(acquire("C").code, "queued");
  EXPECT_EQ(record()->client, "B");
}

TEST_P(Acquire, HasItsPlaceBackWithItsTicket) {
  acquire("A");
  const Acquired b = acquire("B");
  acquire("C");
  drop_waiter(client_id("B"));
  const Acquired again = acquire_with({.client = "B", .ticket = b.ticket});
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(again.ticket, b.ticket);
  EXPECT_EQ(queue(), (Names{"B", "C"}));
}

TEST_P(Acquire, TakesOverALapsedLock) {
  const Acquired a = acquire("A");
  lapse();
  const Acquired b = acquire("B");
  EXPECT_EQ(b.code, "granted");
  EXPECT_GT(b.fence, a.last);
  EXPECT_EQ(record()->client, "B");
}

TEST_P(Acquire, ServesTheQueueOfALapsedLockFirst) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  lapse();
  told();
  const Acquired c = acquire("C", 4);
  EXPECT_EQ(c.code, "queued");
  EXPECT_EQ(c.position, 0);
  EXPECT_EQ(told_briefly(), (Names{"B grant 1", "B waits 1"}));
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(record()->expires, c.ts + kGrant);
}

TEST_P(Acquire, TakesALapsedLockItselfWhenItIsFirstInTheQueue) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  acquire("C", 6);
  lapse();
  told();
  const Acquired reply = acquire("B");
  EXPECT_EQ(reply.code, "granted");
  EXPECT_EQ(reply.waits, 1);
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(record()->expires, reply.ts + kLease);
  EXPECT_EQ(queue(), Names{"C"});
  EXPECT_EQ(told_briefly(), Names{"C next 6"});
}

TEST_P(Acquire, SkipsDeadWaitersOfALapsedLock) {
  acquire("A");
  queue_the_dead(3);
  lapse();
  EXPECT_EQ(acquire("B").code, "granted");
  EXPECT_TRUE(queue().empty());
}

TEST_P(Acquire, SkipsNoMoreThanSixtyFourDeadWaitersACall) {
  acquire("A");
  queue_the_dead(kSkips + 1);
  lapse();
  EXPECT_EQ(acquire("B").code, "more");
  EXPECT_EQ(queue().size(), 1U);
  EXPECT_EQ(acquire("B").code, "granted");
}

TEST_P(Acquire, DoesNothingBeyondItsNotAfter) {
  listen({"A"});
  acquire("A");
  lapse();
  const std::string before = contents();
  const Acquired reply = acquire_with({.client = "B", .not_after = now() - 1});
  EXPECT_EQ(reply.code, "late");
  EXPECT_GT(reply.ts, 0);
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

TEST_P(Acquire, IsStaleBehindANewerEpochThatHolds) {
  acquire("A", 2);
  const std::string before = contents();
  EXPECT_EQ(acquire("A", 1).code, "stale");
  EXPECT_EQ(contents(), before);
}

TEST_P(Acquire, IsStaleBehindANewerEpochInTheQueue) {
  acquire("A");
  acquire("B", 2);
  const std::string before = contents();
  EXPECT_EQ(acquire("B", 1).code, "stale");
  EXPECT_EQ(contents(), before);
}

TEST_P(Acquire, TakesTheLockFromItsOwnOlderEpoch) {
  const Acquired first = acquire("A", 1);
  const Acquired second = acquire("A", 2);
  EXPECT_EQ(second.code, "granted");
  EXPECT_GT(second.fence, first.last);
  EXPECT_EQ(record()->epoch, 2);
}

TEST_P(Acquire, ServesTheQueueBeforeItselfWhenItsOwnOlderEpochHolds) {
  listen({"A", "B"});
  acquire("A", 1);
  acquire("B");
  told();
  const Acquired again = acquire("A", 2);
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(queue(), Names{"A"});
  EXPECT_EQ(told_briefly(), (Names{"B grant 1", "B waits 1"}));
}

TEST_P(Acquire, ReplacesItsOwnOlderEpochInTheQueue) {
  listen({"B", "C"});
  acquire("A");
  acquire("B", 1);
  acquire("C");
  const Acquired again = acquire("B", 2);
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.position, 1);
  EXPECT_EQ(queue(), (Names{"C", "B"}));
  EXPECT_EQ(inspect().waiters.back().epoch, 2);
}

TEST_P(Acquire, DropsItsOwnOlderEpochWhenItServesTheQueue) {
  listen({"B", "C"});
  acquire("A");
  acquire("B", 1);
  acquire("C");
  lapse();
  told();
  EXPECT_EQ(acquire("B", 2).code, "queued");
  EXPECT_EQ(record()->client, "C");
  EXPECT_EQ(queue(), Names{"B"});
}

TEST_P(Acquire, GivesAFenceNoLowerThanTheServersTime) {
  const Acquired reply = acquire("A");
  EXPECT_EQ(reply.fence, reply.ts);
}

TEST_P(Acquire, GivesAFenceAboveTheStoredOne) {
  const std::int64_t stored = kFarFence;
  store_fence(stored);
  EXPECT_EQ(acquire("A").fence, stored + 1);
}

TEST_P(Acquire, GivesAFenceAboveTheHighestThatTheClientHasSeen) {
  const std::int64_t highest = kFarFence;
  EXPECT_EQ(acquire_with({.client = "A", .highest = highest}).fence, highest + 1);
}

TEST_P(Acquire, ReservesARangeOfFences) {
  const Acquired reply = acquire("A");
  EXPECT_EQ(reply.last, reply.fence + kFenceRange);
  EXPECT_EQ(stored_fence(), reply.last);
}

TEST_P(Acquire, LooksAfterTheLockThatItHandsOnWhileItWaits) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  lapse();
  const Acquired waiting = acquire("C");
  EXPECT_EQ(waiting.code, "queued");
  EXPECT_EQ(waiting.handed, kGrant);
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(record()->from, "C");
  EXPECT_EQ(acquire("C").handed, 0);
  told();
  EXPECT_EQ(acquire("B").code, "granted");
  EXPECT_EQ(told_briefly(), Names{"C settled 1"});
  EXPECT_EQ(record()->from, "");
}

TEST_P(Acquire, LooksAfterNothingWhereItOnlyTries) {
  listen({"B"});
  acquire("A");
  acquire("B");
  lapse();
  EXPECT_EQ(try_acquire("C").code, "busy");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(record()->from, "");
}

TEST_P(Acquire, GivesRisingFencesWhenTheLockGoesRound) {
  std::int64_t highest = 0;
  for (int round = 0; round < 20; ++round) {
    const Acquired reply = acquire("A", round + 1);
    EXPECT_GT(reply.fence, highest);
    highest = reply.last;
    leave("A", round + 1);
  }
}

// ---- The end of all fences

constexpr std::int64_t kLastFollowed = kMaxFence - 131'072;

TEST_P(Acquire, GivesNoFenceThatNoneCanFollow) {
  store_fence(kLastFollowed);
  const Acquired last = acquire("A");
  EXPECT_EQ(last.fence, kLastFollowed + 1);
  EXPECT_EQ(leave("A"), "ok");
  const std::string before = contents();
  const AcquireCall call{.client = "B"};
  const Reply reply = run(scripts::kAcquire, keys(), {call.packed()});
  EXPECT_EQ(reply.error_code(), "BELAYTYPE");
  EXPECT_NE(reply.text.find("key " + fence_key()), std::string::npos) << reply.text;
  EXPECT_NE(reply.text.find("delete it"), std::string::npos) << reply.text;
  EXPECT_EQ(contents(), before);
  command({"DEL", fence_key()});
  EXPECT_EQ(acquire("B").code, "granted");
}

// Else nobody could read it any more.
TEST_P(Acquire, KeepsNoFenceOfAClientsThatNoneCanFollow) {
  for (const std::int64_t seen : {kLastFollowed + 1, kMaxFence, kMaxId - 131'071}) {
    EXPECT_EQ(acquire_with({.client = "A", .highest = seen}).code, "BELAYTYPE");
    EXPECT_EQ(contents(), "");
  }
  acquire("A");
  acquire_with({.client = "B", .highest = kMaxFence});
  const std::string before = contents();
  EXPECT_EQ(leave("A", 1, kMaxFence), "BELAYTYPE");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(acquire("C").code, "granted");
}

TEST_P(Acquire, ReservesNoFenceThatNoneCanFollow) {
  store_fence(kLastFollowed - 1);
  const Acquired held = acquire("A");
  ASSERT_EQ(held.fence, kLastFollowed);
  const Renewed renewed = renew({.client = "A", .fence = held.fence, .more = 64});
  EXPECT_EQ(renewed.code, "ok");
  EXPECT_EQ(renewed.last, held.last);
  EXPECT_EQ(stored_fence(), held.last);
}

ON_ALL_BACKENDS(Acquire);

}  // namespace
}  // namespace belay::test
