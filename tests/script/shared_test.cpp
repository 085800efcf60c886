// A lock that several hold together: readers, identities, downgrades; on every server. One thread.
#include "script/joint_fixture.h"

namespace belay::test {
namespace {

class Shared : public JointTest {};

TEST_P(Shared, IsTakenByTheFirstReader) {
  const Acquired reply = acquire_with({.client = "A",
                                       .epoch = 3,
                                       .local_waiters = 2,
                                       .info = "web-7",
                                       .delay = 5 * kSecond,
                                       .group = "r"});
  ASSERT_EQ(reply.code, "granted");
  EXPECT_EQ(reply.fence, reply.ts);
  EXPECT_EQ(reply.last, reply.fence);
  EXPECT_EQ(reply.waits, 0);
  EXPECT_EQ(reply.permits, 1);
  const Record stands = record().value();
  EXPECT_TRUE(stands.joint);
  EXPECT_EQ(stands.type, kLock);
  EXPECT_EQ(stands.fence, reply.fence);
  EXPECT_EQ(stands.since, reply.ts);
  EXPECT_EQ(stands.used, 1);
  EXPECT_EQ(stands.limit, 0);
  EXPECT_EQ(stands.group, "r");
  const Member one = member(client_id("A")).value();
  EXPECT_EQ(one.epoch, 3);
  EXPECT_EQ(one.fence, reply.fence);
  EXPECT_EQ(one.since, reply.ts);
  EXPECT_EQ(one.expires, reply.ts + kLease);
  EXPECT_EQ(one.ends, reply.ts + kLease + 5 * kSecond);
  EXPECT_EQ(one.delay, 5 * kSecond);
  EXPECT_EQ(one.permits, 1);
  EXPECT_EQ(one.holds, 1);
  EXPECT_EQ(one.local_waiters, 0);  // which its renewals tell
  EXPECT_EQ(one.info, "web-7");
  EXPECT_EQ(stored_fence(), reply.fence);
}

TEST_P(Shared, IsJoinedUnderOneFence) {
  const Acquired a = share("A");
  const Acquired b = share("B");
  EXPECT_EQ(b.code, "granted");
  EXPECT_EQ(b.fence, a.fence);
  EXPECT_EQ(record()->used, 2);
  EXPECT_EQ(members(), (Names{"A", "B"}));
  EXPECT_EQ(stored_fence(), a.fence);
}

TEST_P(Shared, IsNotJoinedByAnotherGroup) {
  listen({"C", "D", "E"});
  share("A", 1, "i1");
  EXPECT_EQ(share("B", 1, "i1").code, "granted");
  EXPECT_EQ(share("C", 1, "i2").code, "queued");
  EXPECT_EQ(share("D", 1, "r").code, "queued");
  EXPECT_EQ(acquire("E").code, "queued");
  EXPECT_EQ(members(), (Names{"A", "B"}));
  EXPECT_EQ(queue(), (Names{"C", "D", "E"}));
}

TEST_P(Shared, HasAHigherFenceInEachTenure) {
  const Acquired first = share("A", 1, "i1");
  leave("A");
  const Acquired second = share("B", 1, "i2");
  EXPECT_GT(second.fence, first.fence);
  leave("B");
  EXPECT_GT(acquire("C").fence, second.fence);
}

TEST_P(Shared, HasAFenceAboveWhatItsClientHasSeenAndWhatIsStored) {
  const std::int64_t highest = kFarFence;
  EXPECT_EQ(acquire_with({.client = "A", .highest = highest, .group = "r"}).fence, highest + 1);
  leave("A");
  store_fence(highest + 7);
  EXPECT_EQ(share("B").fence, highest + 8);
}

TEST_P(Shared, GroupMayHaveAnyBytes) {
  const std::string group("i\0\xFF\r\n=", 6);
  share("A", 1, group);
  EXPECT_EQ(record()->group, group);
  EXPECT_EQ(share("B", 1, group).code, "granted");
  acquire("C");
  EXPECT_EQ(share("D", 1, group).code, "queued");
  EXPECT_EQ(inspect().waiters.back().group, group);
  EXPECT_EQ(inspect().waiters.back().info, "info");
}

TEST_P(Shared, TellsTheSameWhenRepeated) {
  const Acquired first = share("A");
  const Acquired second = share("A", 1, "r", 2 * kLease);
  EXPECT_EQ(second.code, "granted");
  EXPECT_EQ(second.fence, first.fence);
  EXPECT_EQ(member(client_id("A"))->expires, second.ts + 2 * kLease);
  EXPECT_EQ(share("A", 1, "r", kSecond).code, "granted");
  EXPECT_EQ(member(client_id("A"))->expires, second.ts + 2 * kLease);
  EXPECT_EQ(record()->used, 1);
}

TEST_P(Shared, IsStaleBehindANewerEpoch) {
  share("A", 2);
  const std::string before = contents();
  EXPECT_EQ(share("A", 1).code, "stale");
  EXPECT_EQ(acquire("A", 1).code, "stale");
  EXPECT_EQ(contents(), before);
}

TEST_P(Shared, ReplacesAnOlderEpochOfItsClient) {
  const Acquired first = share("A", 1);
  share("B");
  const Acquired second = share("A", 2);
  EXPECT_EQ(second.code, "granted");
  EXPECT_EQ(second.fence, first.fence);
  EXPECT_EQ(member(client_id("A"))->epoch, 2);
  EXPECT_EQ(record()->used, 2);
  EXPECT_EQ(renew({.client = "A", .epoch = 1, .fence = first.fence}).code, "not ours");
}

TEST_P(Shared, IsTakenAloneByItsOnlyMembersNewerEpoch) {
  const Acquired first = share("A", 1);
  const Acquired second = acquire("A", 2);
  EXPECT_EQ(second.code, "granted");
  EXPECT_GT(second.fence, first.fence);
  EXPECT_FALSE(record()->joint);
  EXPECT_EQ(command({"EXISTS", members_key()}).integer, 0);
}

TEST_P(Shared, IsTakenByItsHoldersNewerEpoch) {
  const Acquired first = acquire("A", 1);
  const Acquired second = share("A", 2);
  EXPECT_EQ(second.code, "granted");
  EXPECT_GT(second.fence, first.last);
  EXPECT_TRUE(record()->joint);
}

TEST_P(Shared, MakesAWriterWaitUntilTheLastReaderHasLeft) {
  listen({"W"});
  share("A");
  share("B");
  const Acquired waiting = acquire("W", 7);
  EXPECT_EQ(waiting.code, "queued");
  EXPECT_EQ(waiting.position, 0);
  EXPECT_EQ(waiting.remaining, member(client_id("B"))->ends - waiting.ts);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(telling("grant"), Names{});
  EXPECT_EQ(leave("B"), "ok");
  EXPECT_EQ(handed_, kGrant);
  EXPECT_EQ(record()->client, "W");
  EXPECT_EQ(record()->epoch, 7);
  EXPECT_EQ(record()->from, "B");
  EXPECT_EQ(record()->last, record()->fence + kFenceRange);
  EXPECT_EQ(telling("grant"), Names{"W"});
  EXPECT_EQ(leftovers(), 0);
}

// A try serves the readers, and looks after nothing: the next that leaves does.
TEST_P(Shared, LeaveTakesOverWhatATryGaveToReaders) {
  listen({"B", "C", "D"});
  acquire("A");
  acquire_with({.client = "B", .group = "r"});
  acquire("C");
  lapse();
  EXPECT_EQ(acquire_with({.client = "D", .queue = false}).code, "busy");
  EXPECT_EQ(members(), std::vector<std::string>{"B"});
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_GT(handed_, 0);
  EXPECT_LE(handed_, kGrant);
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(handed_, 0);
  EXPECT_EQ(members(), std::vector<std::string>{"B"});
}

// Before those in line or behind them: they may be stopped, and so may the writer that is next.
TEST_P(Shared, LeaveTakesOverWhatAReaderGaveToThoseBesideIt) {
  std::int64_t epoch = 0;
  for (const char* client : {"B", "C"}) {
    ++epoch;
    listen({"B", "C", "W"});
    acquire("A", epoch);
    share("B", epoch);
    share("C", epoch);
    acquire("W", epoch);
    lapse();
    EXPECT_EQ(share(client, epoch).code, "granted");
    EXPECT_EQ(members().size(), 2U);
    leave(client, epoch);
    EXPECT_GT(handed_, 0) << client;
    EXPECT_LE(handed_, kGrant);
    for (const char* other : {"B", "C", "W"}) {
      leave(other, epoch);
    }
  }
}

// Nobody else gets it before: until then there is nothing to look for.
TEST_P(Shared, IsLookedAfterUntilTheLockDelaysAreOver) {
  listen({"B", "C", "W"});
  acquire("A");
  acquire_with({.client = "B", .grant = 2 * kGrant, .group = "r"});
  acquire_with({.client = "C", .delay = kLease, .group = "r"});
  acquire("W");
  leave("A");
  EXPECT_EQ(handed_, kGrant + kLease);
}

TEST_P(Shared, TellsAWriterWhenToLook) {
  listen({"W"});
  share("A");
  share("B", 1, "r", 2 * kLease);
  acquire("W", 7);
  told();
  leave("A");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].type, kLock);
  EXPECT_EQ(messages[0].epoch, 7);
  EXPECT_EQ(messages[0].wait, member(client_id("B"))->ends - messages[0].ts);
  EXPECT_EQ(messages[0].key, record_key());
}

TEST_P(Shared, RefusesALateReaderWhileAWriterWaits) {
  listen({"W"});
  share("A");
  acquire("W");
  EXPECT_EQ(share("B").code, "queued");
  EXPECT_EQ(acquire_with({.client = "C", .queue = false, .group = "r"}).code, "busy");
  EXPECT_EQ(members(), Names{"A"});
  EXPECT_EQ(queue(), (Names{"W", "B"}));
}

TEST_P(Shared, IsBusyToAWriterThatOnlyTries) {
  share("A");
  const std::string before = contents();
  const Acquired reply = try_acquire("W");
  EXPECT_EQ(reply.code, "busy");
  EXPECT_EQ(reply.remaining, member(client_id("A"))->ends - reply.ts);
  EXPECT_EQ(contents(), before);
}

TEST_P(Shared, IsGivenToAllReadersUpToTheNextWriter) {
  listen({"B", "C", "W", "D"});
  acquire("A");
  share("B", 2);
  share("C", 3);
  acquire("W");
  share("D");
  told();
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(handed_, kGrant);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 3U);
  const Record stands = record().value();
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "grant");
  EXPECT_EQ(messages[0].type, kLock);
  EXPECT_EQ(messages[0].epoch, 2);
  EXPECT_EQ(messages[0].fence, stands.fence);
  EXPECT_EQ(messages[0].last, stands.fence);
  EXPECT_EQ(messages[0].grant, kGrant);
  EXPECT_EQ(messages[1].client, "C");
  EXPECT_EQ(messages[1].kind, "grant");
  EXPECT_EQ(messages[1].fence, stands.fence);
  EXPECT_EQ(messages[2].client, "W");
  EXPECT_EQ(messages[2].kind, "next");
  EXPECT_EQ(members(), (Names{"B", "C"}));
  EXPECT_EQ(queue(), (Names{"W", "D"}));
  EXPECT_EQ(stands.used, 2);
  const Member b = member(client_id("B")).value();
  EXPECT_EQ(b.expires, messages[0].ts + kGrant);
  EXPECT_EQ(b.epoch, 2);
  EXPECT_EQ(b.info, "info");
}

TEST_P(Shared, GoesRoundBetweenReadersAndWriters) {
  listen({"B", "C", "W", "D", "V"});
  acquire("A");
  share("B");
  acquire("W");
  share("C");
  share("D");
  acquire("V");
  leave("A");
  EXPECT_EQ(members(), Names{"B"});
  leave("B");
  EXPECT_EQ(record()->client, "W");
  leave("W");
  EXPECT_EQ(members(), (Names{"C", "D"}));
  leave("D");
  leave("C");
  EXPECT_EQ(record()->client, "V");
  leave("V");
  EXPECT_FALSE(record());
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(Shared, GivesNeverMoreThanSixtyFourACall) {
  acquire("A");
  for (int i = 0; i < kSkips + 6; ++i) {
    const std::string reader = "R" + std::to_string(i);
    listen({reader});
    ASSERT_EQ(share(reader).code, "queued");
  }
  told();
  EXPECT_EQ(leave("A"), "more");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), static_cast<std::size_t>(kSkips) + 1);
  EXPECT_EQ(messages.back().kind, "next");  // in case A dies now
  EXPECT_EQ(messages.back().client, "R64");
  EXPECT_EQ(messages.back().wait, 0);
  EXPECT_EQ(record()->used, kSkips);
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(record()->used, kSkips + 6);
  EXPECT_TRUE(queue().empty());
}

TEST_P(Shared, SkipsDeadReadersOfABatch) {
  listen({"C", "W"});
  acquire("A");
  share("B");  // nobody listens
  share("C");
  share("D");
  acquire("W");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(members(), Names{"C"});
  EXPECT_EQ(record()->used, 1);
  EXPECT_EQ(queue(), Names{"W"});
}

TEST_P(Shared, IsFreeWhereAllReadersOfABatchAreDead) {
  acquire("A");
  share("B");
  share("C");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(Shared, GoesToAWriterBehindDeadReaders) {
  listen({"W"});
  acquire("A");
  share("B");
  share("C");
  acquire("W");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "W");
  EXPECT_EQ(command({"EXISTS", members_key()}).integer, 0);
}

TEST_P(Shared, OutlivesAReaderWhoseLeaseHasEnded) {
  listen({"W"});
  const Acquired a = share("A");
  share("B");
  acquire("W");
  lapse_member(client_id("A"));
  EXPECT_EQ(acquire("W").code, "queued");
  EXPECT_EQ(members(), Names{"B"});
  EXPECT_EQ(record()->used, 1);
  EXPECT_EQ(renew_share("A", a.fence).code, "not ours");
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(members(), Names{"B"});
}

TEST_P(Shared, IsTakenByAWriterOnceAllLeasesHaveEnded) {
  share("A");
  share("B");
  acquire("W");
  lapse_member(client_id("A"));
  lapse_member(client_id("B"));
  EXPECT_EQ(acquire("W").code, "granted");
  EXPECT_FALSE(record()->joint);
  EXPECT_EQ(command({"EXISTS", members_key()}).integer, 0);
}

TEST_P(Shared, IsServedByARenewalThatFindsTheLastLeaseEnded) {
  listen({"W"});
  const Acquired a = share("A");
  acquire("W");
  lapse_member(client_id("A"));
  told();
  EXPECT_EQ(renew_share("A", a.fence).code, "not ours");
  EXPECT_EQ(record()->client, "W");
  EXPECT_EQ(telling("grant"), Names{"W"});
}

TEST_P(Shared, IsRenewedByEachMember) {
  const Acquired a = share("A");
  share("B");
  const Renewed reply =
      renew({.client = "A", .fence = a.fence, .lease = 3 * kLease, .holds = 4, .local_waiters = 5});
  EXPECT_EQ(reply.code, "ok");
  EXPECT_EQ(reply.last, a.fence);
  EXPECT_EQ(reply.waits, 0);
  const Member one = member(client_id("A")).value();
  EXPECT_GE(one.expires, a.ts + 3 * kLease);
  EXPECT_EQ(one.since, a.ts);
  EXPECT_EQ(one.holds, 4);
  EXPECT_EQ(one.local_waiters, 5);
  EXPECT_EQ(one.info, "info");
  for (const std::string& key : {record_key(), members_key()}) {
    EXPECT_GT(pttl(key), 3 * kLease / 1000) << key;
  }
}

TEST_P(Shared, RenewalOnlyLooksWithoutALeaseAndNeverShortens) {
  const Acquired a = share("A");
  const std::string before = contents();
  EXPECT_EQ(renew_share("A", a.fence, 0).code, "ok");
  EXPECT_EQ(renew_share("A", a.fence, kSecond).code, "ok");
  EXPECT_EQ(contents(), before);
}

TEST_P(Shared, RenewsNobodyElse) {
  const Acquired a = share("A", 2);
  const std::string before = contents();
  EXPECT_EQ(renew_share("B", a.fence).code, "not ours");
  EXPECT_EQ(renew({.client = "A", .epoch = 1, .fence = a.fence}).code, "not ours");
  EXPECT_EQ(renew({.client = "A", .epoch = 2, .fence = a.fence - 1}).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Shared, RenewalTellsTheWriterAndSaysThatItWaits) {
  listen({"W"});
  const Acquired a = share("A");
  acquire("W");
  told();
  EXPECT_EQ(renew_share("A", a.fence, 2 * kLease).waits, 1);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].wait, 2 * kLease);
}

TEST_P(Shared, LeavingIsNotOursWhenRepeated) {
  share("A");
  share("B");
  EXPECT_EQ(leave("A"), "ok");
  const std::string before = contents();
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(leave("B"), "ok");
  EXPECT_FALSE(record());
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(Shared, IsLeftByNoOtherEpoch) {
  share("A", 2);
  EXPECT_EQ(leave("A", 1), "not ours");
  EXPECT_EQ(leave("A", 3), "not ours");
  EXPECT_EQ(members(), Names{"A"});
}

TEST_P(Shared, ReadersBehindAWriterThatGivesUpJoin) {
  listen({"W", "B"});
  share("A");
  acquire("W");
  share("B");
  told();
  EXPECT_EQ(leave("W"), "not ours");
  EXPECT_EQ(telling("grant"), Names{"B"});
  EXPECT_EQ(members(), (Names{"B", "A"}));  // B's grant ends first
}

TEST_P(Shared, ReaderJoinsThoseThatItServes) {
  listen({"B", "C"});
  acquire("A");
  share("B");
  lapse();
  const Acquired c = share("C");
  EXPECT_EQ(c.code, "granted");
  EXPECT_EQ(c.fence, record()->fence);
  EXPECT_EQ(members(), (Names{"B", "C"}));
}

TEST_P(Shared, ReaderAtTheHeadTakesALapsedLockAndServesThoseBehind) {
  listen({"B", "C", "W"});
  acquire("A");
  share("B");
  share("C");
  acquire("W");
  lapse();
  told();
  const Acquired b = share("B");
  EXPECT_EQ(b.code, "granted");
  EXPECT_EQ(b.waits, 1);
  EXPECT_EQ(record()->used, 2);
  EXPECT_EQ(telling("grant"), Names{"C"});
  EXPECT_EQ(queue(), Names{"W"});
}

TEST_P(Shared, ReaderThatPollsBehindAWriterKeepsItsPlace) {
  listen({"W", "B"});
  share("A");
  acquire("W");
  const Acquired first = share("B");
  told();
  const Acquired second = share("B");
  EXPECT_EQ(second.ticket, first.ticket);
  EXPECT_EQ(second.position, 1);
  EXPECT_EQ(told_briefly(), Names{"W next 1"});
}

TEST_P(Shared, HolderDowngradesUnderItsFence) {
  listen({"B", "W"});
  const Acquired a = acquire_with({.client = "A", .info = "web-7", .delay = 2 * kSecond});
  share("B");
  acquire("W");
  told();
  const RenewCall call{
      .client = "A", .fence = a.fence, .holds = 2, .local_waiters = 3, .group = "r"};
  const Renewed reply = renew(call);
  EXPECT_EQ(reply.code, "ok");
  EXPECT_EQ(reply.last, a.fence);
  EXPECT_EQ(reply.waits, 1);
  const Record stands = record().value();
  EXPECT_EQ(stands.group, "r");
  EXPECT_EQ(stands.fence, a.fence);
  EXPECT_EQ(stands.used, 2);
  const Member one = member(client_id("A")).value();
  EXPECT_EQ(one.fence, a.fence);
  EXPECT_EQ(one.info, "web-7");
  EXPECT_EQ(one.delay, 2 * kSecond);
  EXPECT_EQ(one.holds, 2);
  EXPECT_EQ(one.local_waiters, 3);
  EXPECT_EQ(told_briefly(), (Names{"B grant 1", "W next 1"}));
  EXPECT_EQ(stored_fence(), a.last);
  // Once more, as the first reply may have been lost.
  const Renewed again = renew(call);
  EXPECT_EQ(again.code, "ok");
  EXPECT_EQ(again.last, a.fence);
  EXPECT_EQ(record()->used, 2);
}

TEST_P(Shared, DowngradeOfAnotherIsNotOurs) {
  const Acquired a = acquire("A");
  const std::string before = contents();
  EXPECT_EQ(renew({.client = "B", .fence = a.fence, .group = "r"}).code, "not ours");
  EXPECT_EQ(renew({.client = "A", .fence = a.fence + 1, .group = "r"}).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Shared, DowngradeStoresTheFenceAgainWhereItWasLost) {
  const Acquired a = acquire("A");
  command({"DEL", fence_key()});
  EXPECT_EQ(renew({.client = "A", .fence = a.fence, .group = "r"}).code, "ok");
  EXPECT_EQ(stored_fence(), a.last);
}

TEST_P(Shared, DowngradeStoresAFenceBeyondTheRange) {
  const Acquired a = acquire("A");
  const Renewed reply =
      renew({.client = "A", .fence = a.fence, .group = "r", .fence_of_group = a.last + 1});
  EXPECT_EQ(reply.code, "ok");
  EXPECT_EQ(record()->fence, a.last + 1);
  EXPECT_EQ(stored_fence(), a.last + 1);
}

TEST_P(Shared, IsBrokenWhole) {
  listen({"A", "B", "W"});
  const Acquired a = share("A", 4);
  share("B", 5);
  acquire("W");
  told();
  EXPECT_FALSE(break_lock(a.fence + 1).parted);
  EXPECT_EQ(record()->used, 2);
  told();
  const Broken reply = break_lock(a.fence, "operator");
  ASSERT_TRUE(reply.parted);
  EXPECT_EQ(reply.parted->fence, a.fence);
  EXPECT_EQ(reply.parted->group, "r");
  ASSERT_EQ(reply.members.size(), 2U);
  EXPECT_EQ(reply.members[0].client, "A");
  EXPECT_EQ(reply.members[0].epoch, 4);
  EXPECT_EQ(reply.members[1].client, "B");
  EXPECT_FALSE(reply.more);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].client, "W");
  EXPECT_EQ(messages[0].kind, "grant");
  EXPECT_EQ(messages[1].client, "A");
  EXPECT_EQ(messages[1].kind, "broken");
  EXPECT_EQ(messages[1].type, kLock);
  EXPECT_EQ(messages[1].epoch, 4);
  EXPECT_EQ(messages[1].info, "operator");
  EXPECT_EQ(messages[2].client, "B");
  EXPECT_EQ(record()->client, "W");
  EXPECT_FALSE(break_lock(a.fence).parted);
  EXPECT_EQ(record()->client, "W");
}

TEST_P(Shared, IsBrokenByNoMoreThanSixtyFourACall) {
  const Acquired a = share("A");
  for (int i = 0; i < kSkips; ++i) {
    share("R" + std::to_string(i));
  }
  const Broken first = break_lock(a.fence);
  EXPECT_TRUE(first.more_part);
  EXPECT_EQ(first.members.size(), static_cast<std::size_t>(kSkips));
  EXPECT_EQ(record()->used, 1);
  const Broken second = break_lock(a.fence);
  EXPECT_FALSE(second.more_part);
  EXPECT_EQ(second.members.size(), 1U);
  EXPECT_FALSE(record());
}

TEST_P(Shared, BreakPartsNobodyWhoseLeaseHasEnded) {
  listen({"A", "B"});
  share("A");
  share("B");
  lapse_member(client_id("A"));
  const Broken reply = break_lock(0);
  ASSERT_EQ(reply.members.size(), 1U);
  EXPECT_EQ(reply.members[0].client, "B");
  EXPECT_EQ(told_briefly(), Names{"B broken 1"});
  EXPECT_FALSE(record());
}

TEST_P(Shared, IsInspected) {
  share("A", 2);
  share("B");
  acquire("W");
  const Inspected seen = inspect();
  EXPECT_EQ(seen.holder->group, "r");
  EXPECT_EQ(seen.count, 1);
  EXPECT_EQ(seen.member_count, 2);
  ASSERT_EQ(seen.members.size(), 2U);
  EXPECT_EQ(seen.members[0].client, "A");
  EXPECT_EQ(seen.members[0].epoch, 2);
  EXPECT_EQ(seen.members[1].client, "B");
  ASSERT_EQ(seen.waiters.size(), 1U);
  EXPECT_EQ(seen.waiters[0].group, "");
  const Inspected less = inspect(1);
  EXPECT_EQ(less.members.size(), 1U);
  EXPECT_EQ(less.member_count, 2);
  const Inspected none = inspect(0);
  EXPECT_TRUE(none.members.empty() && none.waiters.empty());
  EXPECT_EQ(none.count, 1);
}

TEST_P(Shared, NothingStaysForEver) {
  share("A", 1, "r", 600 * kSecond);
  acquire("W");
  EXPECT_GT(pttl(members_key()), 590'000);
  EXPECT_GT(pttl(record_key()), 590'000);
  EXPECT_GT(pttl(queue_key()), 110'000);
  share("B", 1, "r");  // queued: shortens nothing
  EXPECT_GT(pttl(members_key()), 590'000);
  for (const std::string& key : {members_key(), record_key(), queue_key()}) {
    EXPECT_LE(pttl(key), 2 * 600'000 + 600'001) << key;
  }
}

TEST_P(Shared, ShortLeaseNeverShortensThoseOfOthers) {
  share("A", 1, "r", 600 * kSecond);
  share("B", 1, "r", kSecond);
  for (const std::string& key : {members_key(), record_key()}) {
    EXPECT_GT(pttl(key), 590'000) << key;
  }
}

// What somebody deletes by hand frees the lock; who held it finds that out, and nobody is stuck.
TEST_P(Shared, LosesItsMembersWithItsRecordOrItsMembers) {
  for (const std::string& key : {record_key(), members_key()}) {
    command({"FLUSHALL"});
    const Acquired a = share("A");
    acquire("W");
    command({"DEL", key});
    EXPECT_EQ(acquire("W").code, "granted") << key;
    EXPECT_EQ(renew_share("A", a.fence).code, "not ours") << key;
    EXPECT_EQ(leave("A"), "not ours") << key;
    EXPECT_EQ(leave("W"), "ok") << key;
    EXPECT_EQ(share("B").code, "granted") << key;
    EXPECT_EQ(members(), Names{"B"}) << key;
    EXPECT_EQ(renew_share("A", a.fence).code, "not ours") << key;
    EXPECT_EQ(leave("B"), "ok") << key;
    EXPECT_EQ(leftovers(), 0);
  }
}

TEST_P(Shared, StoppedWriterKeepsReadersOutForAWhileOnly) {
  listen({"W", "B"});
  share("A");
  const Acquired w = acquire("W");
  share("B");
  fall_silent(client_id("W"), 44 * kSecond);
  EXPECT_EQ(share("B").code, "queued");
  fall_silent(client_id("W"), 46 * kSecond);
  EXPECT_EQ(share("B").code, "granted");
  EXPECT_TRUE(queue().empty());
  const Acquired again = acquire_with({.client = "W", .ticket = w.ticket});
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.ticket, w.ticket);
  EXPECT_EQ(share("C").code, "queued");
}

TEST_P(Shared, WriterThatWasStoppedKeepsItsPlaceWhenItAsksFirst) {
  listen({"W", "B"});
  share("A");
  acquire("W");
  share("B");
  fall_silent(client_id("W"), 46 * kSecond);
  EXPECT_EQ(acquire("W").position, 0);
  EXPECT_EQ(share("B").code, "queued");
  EXPECT_EQ(queue(), (Names{"W", "B"}));
}

TEST_P(Shared, WriterThatWasStoppedIsServedInItsTurn) {
  listen({"W", "B"});
  share("A");
  acquire("W");
  share("B");
  fall_silent(client_id("W"), 46 * kSecond);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "W");
}

// Longer than any lease, so that renewals seldom have to prolong it; and no longer without an end.
TEST_P(Shared, StandsForLongerThanItsLeases) {
  const std::int64_t slack = 600'000;
  const Acquired a = share("A", 1, "r", 10 * kSecond);
  share("B", 1, "r", kSecond);
  for (const std::string& key : {record_key(), members_key()}) {
    EXPECT_GT(pttl(key), slack + 10'000) << key;
    EXPECT_LE(pttl(key), slack + 20'001) << key;
  }
  EXPECT_EQ(renew_share("A", a.fence, 700 * kSecond).code, "ok");
  for (const std::string& key : {record_key(), members_key()}) {
    EXPECT_GT(pttl(key), slack + 700'000) << key;
    EXPECT_LE(pttl(key), slack + 1'400'001) << key;
  }
}

TEST_P(Shared, NothingOfTheDeadStaysBehind) {
  for (int i = 0; i < 2 * kSkips + 2; ++i) {
    share("R" + std::to_string(i));
  }
  command({"DEL", record_key()});
  share("B");
  EXPECT_EQ(members(), Names{"B"});
  EXPECT_EQ(command({"ZCARD", members_key()}).integer, 2);  // a seat, and who sits there
}

TEST_P(Shared, InspectShowsNoMemberWhoseEndHasCome) {
  share("A");
  share("B");
  share("C");
  lapse_member(client_id("A"));
  lapse_member(client_id("B"));
  const Inspected seen = inspect();
  EXPECT_EQ(seen.member_count, 1);
  ASSERT_EQ(seen.members.size(), 1U);
  EXPECT_EQ(seen.members[0].client, "C");
  lapse_member(client_id("C"));
  EXPECT_EQ(inspect().member_count, 0);
  EXPECT_TRUE(inspect().members.empty());
}

TEST_P(Shared, MemberWhomNobodyFindsHoldsItUntilItsEnd) {
  listen({"W"});
  const Acquired a = share("A");
  acquire("W");
  command({"ZREM", members_key(), client_id("A")});
  EXPECT_EQ(acquire("W").code, "queued");
  EXPECT_EQ(renew_share("A", a.fence).code, "not ours");
  EXPECT_EQ(share("A", 1).code, "queued");  // it waits for itself as for anybody
  end_member(client_id("A"), now() - 1);
  EXPECT_EQ(acquire("W").code, "granted");
}

TEST_P(Shared, WaiterWhoseQueueIsLostHasItsPlaceAgain) {
  listen({"W"});
  share("A");
  const Acquired w = acquire("W");
  command({"DEL", queue_key()});
  EXPECT_EQ(acquire_with({.client = "W", .ticket = w.ticket}).ticket, w.ticket);
  leave("A");
  EXPECT_EQ(record()->client, "W");
}

ON_ALL_BACKENDS(Shared);

}  // namespace
}  // namespace belay::test
