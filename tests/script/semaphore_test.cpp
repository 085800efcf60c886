// Semaphores: permits, limits, and the order in which they are given; on every server. One thread.

#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kStandsMs = 600'000 + 2 * kLease / 1000;

class Semaphore : public JointTest {
 protected:
  std::int64_t used() { return record()->used; }
};

TEST_P(Semaphore, GivesPermits) {
  const Acquired a = permits("A", 2, 5);
  ASSERT_EQ(a.code, "granted");
  EXPECT_EQ(a.permits, 2);
  EXPECT_EQ(a.last, a.fence);
  const Record stands = record().value();
  EXPECT_TRUE(stands.joint);
  EXPECT_EQ(stands.type, kSemaphore);
  EXPECT_EQ(stands.used, 2);
  EXPECT_EQ(stands.limit, 5);
  EXPECT_EQ(stands.group, "");
  const Member one = member(claim("A", 1)).value();
  EXPECT_EQ(one.permits, 2);
  EXPECT_EQ(one.fence, a.fence);
  EXPECT_EQ(one.expires, a.ts + kLease);
  EXPECT_EQ(one.info, "info");
}

TEST_P(Semaphore, GivesEachPermitAFenceOfItsOwn) {
  std::int64_t highest = 0;
  for (int i = 0; i < 5; ++i) {
    const Acquired reply = permits("A", 1, 5, i + 1);
    EXPECT_GT(reply.fence, highest);
    EXPECT_EQ(stored_fence(), reply.fence);
    EXPECT_EQ(member(claim("A", i + 1))->fence, reply.fence);
    highest = reply.fence;
  }
  EXPECT_EQ(used(), 5);
}

TEST_P(Semaphore, GivesNoMoreThanItsLimit) {
  permits("A", 2, 3);
  EXPECT_EQ(try_permits("B", 2).code, "busy");
  EXPECT_EQ(try_permits("B", 1).code, "granted");
  const Acquired full = try_permits("C", 1);
  EXPECT_EQ(full.code, "busy");
  EXPECT_EQ(full.remaining, member(claim("A", 1))->ends - full.ts);  // the first to come back
  EXPECT_EQ(used(), 3);
}

TEST_P(Semaphore, AClientMayHaveSeveral) {
  permits("A", 1, 3, 1);
  EXPECT_EQ(permits("A", 1, 3, 3).code, "granted");
  EXPECT_EQ(permits("A", 1, 3, 2).code, "granted");  // an older epoch is another permit
  EXPECT_EQ(members(), (Names{"A", "A", "A"}));
  EXPECT_EQ(give_back("A", 2), "ok");
  EXPECT_EQ(used(), 2);
  EXPECT_TRUE(member(claim("A", 1)));
  EXPECT_TRUE(member(claim("A", 3)));
}

TEST_P(Semaphore, TellsTheSameWhenRepeated) {
  const Acquired first = permits("A", 2, 3);
  const Acquired second = permits("A", 2, 3);
  EXPECT_EQ(second.code, "granted");
  EXPECT_EQ(second.fence, first.fence);
  EXPECT_EQ(second.permits, 2);
  EXPECT_EQ(used(), 2);
  EXPECT_EQ(member(claim("A", 1))->expires, second.ts + kLease);
}

TEST_P(Semaphore, AgreesItsLimitAtFirstUse) {
  EXPECT_EQ(permits("A", 1).code, "missing");
  EXPECT_EQ(contents(), "");
  permits("A", 1, 3);
  const std::string before = contents();
  const Acquired other = permits("B", 1, 4);
  EXPECT_EQ(other.code, "limit");
  EXPECT_EQ(other.limit, 3);
  const Acquired more = permits("B", 4);
  EXPECT_EQ(more.code, "limit");
  EXPECT_EQ(more.limit, 3);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(permits("B", 1, 3).code, "granted");
  EXPECT_EQ(permits("C", 1).code, "granted");
}

TEST_P(Semaphore, TellsAgainOfPermitsThatAnotherLimitWouldNotGive) {
  const Acquired first = permits("A", 3, 3);
  ASSERT_EQ(set_limit(2).code, "ok");
  const Acquired again = permits("A", 3, 3);
  EXPECT_EQ(again.code, "granted");
  EXPECT_EQ(again.fence, first.fence);
  EXPECT_EQ(used(), 3);
  EXPECT_EQ(permits("B", 1, 3).code, "limit");
  EXPECT_EQ(permits("B", 3).code, "limit");
}

TEST_P(Semaphore, RefusesMorePermitsThanItsFirstLimit) {
  const Acquired reply = permits("A", 4, 3);
  EXPECT_EQ(reply.code, "limit");
  EXPECT_EQ(reply.limit, 3);
  EXPECT_EQ(contents(), "");
}

TEST_P(Semaphore, RemembersItsLimitForADay) {
  permits("A", 1, 3);
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(leftovers(), 0);
  EXPECT_GT(pttl(record_key()), kDayMs - 60'000);
  EXPECT_LE(pttl(record_key()), kDayMs + kStandsMs + 1);
  EXPECT_EQ(permits("B", 1, 4).code, "limit");
  EXPECT_EQ(permits("B", 1).code, "granted");
}

TEST_P(Semaphore, WithoutALimitCannotBeDrained) {
  EXPECT_EQ(try_permits("A", 0).code, "missing");
}

TEST_P(Semaphore, IsDrainedOfAllThatIsFree) {
  permits("A", 2, 5);
  const Acquired rest = try_permits("B", 0);
  EXPECT_EQ(rest.code, "granted");
  EXPECT_EQ(rest.permits, 3);
  EXPECT_EQ(member(claim("B", 1))->permits, 3);
  EXPECT_EQ(used(), 5);
  EXPECT_EQ(try_permits("B", 0).permits, 3);  // repeated
  EXPECT_EQ(used(), 5);
  EXPECT_EQ(try_permits("C", 0).code, "busy");
}

TEST_P(Semaphore, IsNotDrainedPastAQueue) {
  listen({"B"});
  permits("A", 4, 5);
  permits("B", 3);
  EXPECT_EQ(try_permits("C", 0).code, "busy");
  EXPECT_EQ(used(), 4);
}

TEST_P(Semaphore, QueuesByClaim) {
  listen({"B"});
  permits("A", 1, 1);
  const Acquired one = permits("B", 1, 1, 1);
  const Acquired two = permits("B", 1, 0, 2);
  EXPECT_EQ(one.position, 0);
  EXPECT_EQ(two.position, 1);
  EXPECT_EQ(permits("B", 1, 1, 1).position, 0);
  EXPECT_EQ(queue(), (Names{"B", "B"}));
  const Inspected seen = inspect();
  ASSERT_EQ(seen.waiters.size(), 2U);
  EXPECT_EQ(seen.waiters[1].epoch, 2);
  EXPECT_EQ(seen.waiters[1].permits, 1);
  EXPECT_EQ(seen.waiters[1].limit, 1);
  EXPECT_EQ(give_back("B", 1), "not ours");
  EXPECT_EQ(permits("B", 1, 1, 2).position, 0);
}

TEST_P(Semaphore, ServesInOrderAndTellsEach) {
  listen({"B", "C", "D"});
  permits("A", 3, 3);
  permits("B", 1, 0, 5);
  permits("C", 2);
  permits("D", 1);
  told();
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(handed_, kGrant);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "grant");
  EXPECT_EQ(messages[0].type, kSemaphore);
  EXPECT_EQ(messages[0].epoch, 5);
  EXPECT_EQ(messages[0].fence, member(claim("B", 5))->fence);
  EXPECT_EQ(messages[0].last, messages[0].fence);
  EXPECT_EQ(messages[0].grant, kGrant);
  EXPECT_EQ(messages[1].client, "C");
  EXPECT_EQ(messages[1].fence, member(claim("C", 1))->fence);
  EXPECT_GT(messages[1].fence, messages[0].fence);
  EXPECT_EQ(messages[2].client, "D");
  EXPECT_EQ(messages[2].kind, "next");
  EXPECT_EQ(messages[2].type, kSemaphore);
  EXPECT_EQ(used(), 3);
  EXPECT_EQ(queue(), Names{"D"});
}

TEST_P(Semaphore, LetsNoSmallRequestPassALargeOne) {
  listen({"B", "C"});
  permits("A", 1, 3, 1);
  permits("A", 1, 3, 2);
  EXPECT_EQ(permits("B", 3).code, "queued");
  EXPECT_EQ(permits("C", 1).code, "queued");  // though one is free
  EXPECT_EQ(try_permits("D", 1).code, "busy");
  give_back("A", 1);
  EXPECT_EQ(used(), 1);
  give_back("A", 2);
  EXPECT_EQ(members(), Names{"B"});
  EXPECT_EQ(used(), 3);
  EXPECT_EQ(queue(), Names{"C"});
}

TEST_P(Semaphore, ServesThoseBehindALargeRequestThatGivesUp) {
  listen({"B", "C"});
  permits("A", 2, 3);
  permits("B", 3);
  permits("C", 1);
  EXPECT_EQ(give_back("B"), "not ours");
  EXPECT_EQ(queue(), Names{});
  EXPECT_EQ(used(), 3);
}

TEST_P(Semaphore, TakesBackPermitsWhoseLeasesHaveEnded) {
  permits("A", 2, 3);
  permits("B", 1);
  lapse_member(claim("A", 1));
  EXPECT_EQ(permits("C", 2).code, "granted");
  EXPECT_EQ(used(), 3);
  EXPECT_EQ(members(), (Names{"B", "C"}));
}

// It has been lost meanwhile, though nobody else has got it: the fence tells.
TEST_P(Semaphore, EndedPermitIsGivenAnewToWhoeverAsksForIt) {
  const Acquired first = permits("A", 2, 5);
  lapse_member(claim("A", 1));
  const Acquired second = permits("A", 2, 5);
  EXPECT_EQ(second.code, "granted");
  EXPECT_GT(second.fence, first.fence);
  EXPECT_EQ(used(), 2);
  EXPECT_EQ(renew_permits("A", first.fence).code, "not ours");
}

TEST_P(Semaphore, LateLeaveOfAnEndedPermitFreesNobodyElses) {
  listen({"D"});
  const Acquired a = permits("A", 2, 3);
  permits("B", 1);
  lapse_member(claim("A", 1));
  permits("C", 2);
  permits("D", 1);
  const std::string before = contents();
  EXPECT_EQ(give_back("A"), "not ours");
  EXPECT_EQ(renew_permits("A", a.fence).code, "not ours");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(used(), 3);
}

TEST_P(Semaphore, LeavingTwiceFreesOnce) {
  permits("A", 2, 5);
  permits("B", 2);
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(give_back("A"), "not ours");
  EXPECT_EQ(used(), 2);
}

TEST_P(Semaphore, SkipsDeadWaiters) {
  listen({"C"});
  permits("A", 2, 2);
  permits("B", 1);
  permits("C", 1);
  permits("D", 1);
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(members(), Names{"C"});
  EXPECT_EQ(used(), 1);
  EXPECT_TRUE(queue().empty());
}

TEST_P(Semaphore, ServesNoMoreThanSixtyFourACall) {
  listen({"B"});
  permits("A", 100, 100);
  for (int i = 0; i < kSkips + 6; ++i) {
    permits("B", 1, 0, i + 1);
  }
  told();
  EXPECT_EQ(give_back("A"), "more");
  EXPECT_EQ(used(), kSkips);
  EXPECT_EQ(told().back().kind, "next");
  EXPECT_EQ(give_back("A"), "not ours");
  EXPECT_EQ(used(), kSkips + 6);
}

TEST_P(Semaphore, TakesBackNoMoreThanSixtyFourACall) {
  for (int i = 0; i < kSkips + 6; ++i) {
    permits("A", 1, kSkips + 6, i + 1);
  }
  for (int i = 0; i < kSkips + 6; ++i) {
    end_member(claim("A", i + 1), 1000);
  }
  EXPECT_EQ(try_permits("B", kSkips + 6).code, "busy");
  EXPECT_EQ(used(), 6);
  EXPECT_EQ(try_permits("B", kSkips + 6).code, "granted");
}

TEST_P(Semaphore, IsRenewed) {
  const Acquired a = permits("A", 2, 3);
  const Renewed reply =
      renew({.client = "A", .fence = a.fence, .lease = 2 * kLease, .holds = 2, .kind = kSemaphore});
  EXPECT_EQ(reply.code, "ok");
  EXPECT_EQ(reply.last, a.fence);
  const Member one = member(claim("A", 1)).value();
  EXPECT_GE(one.expires, a.ts + 2 * kLease);
  EXPECT_EQ(one.permits, 2);
  EXPECT_EQ(one.holds, 2);
  EXPECT_EQ(used(), 2);
  EXPECT_EQ(renew({.client = "A", .epoch = 2, .fence = a.fence, .kind = kSemaphore}).code,
            "not ours");
  EXPECT_EQ(renew_permits("A", a.fence + 1).code, "not ours");
}

TEST_P(Semaphore, PermitIsBrokenAlone) {
  listen({"A", "C"});
  const Acquired a = permits("A", 2, 3);
  const Acquired b = permits("B", 1);
  permits("C", 2);
  told();
  const Broken reply = break_lock(a.fence, "operator");
  EXPECT_TRUE(reply.parted);
  ASSERT_EQ(reply.members.size(), 1U);
  EXPECT_EQ(reply.members[0].client, "A");
  EXPECT_EQ(reply.members[0].permits, 2);
  EXPECT_EQ(members(), (Names{"C", "B"}));
  EXPECT_EQ(used(), 3);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].client, "A");
  EXPECT_EQ(messages[1].kind, "broken");
  EXPECT_EQ(messages[1].type, kSemaphore);
  EXPECT_EQ(messages[1].info, "operator");
  EXPECT_FALSE(break_lock(a.fence).parted);
  EXPECT_EQ(break_lock(b.fence + 1'000'000).members.size(), 0U);
  EXPECT_EQ(used(), 3);
}

TEST_P(Semaphore, IsBrokenWhole) {
  permits("A", 2, 3);
  permits("B", 1);
  const Broken reply = break_lock(0);
  EXPECT_EQ(reply.members.size(), 2U);
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(record()->limit, 3);
  EXPECT_EQ(leftovers(), 0);
  EXPECT_FALSE(break_lock(0).parted);
}

TEST_P(Semaphore, IsInspected) {
  permits("A", 2, 3);
  permits("B", 2);
  const Inspected seen = inspect();
  EXPECT_EQ(seen.holder->type, kSemaphore);
  EXPECT_EQ(seen.holder->limit, 3);
  EXPECT_EQ(seen.holder->used, 2);
  ASSERT_EQ(seen.members.size(), 1U);
  EXPECT_EQ(seen.members[0].permits, 2);
  ASSERT_EQ(seen.waiters.size(), 1U);
  EXPECT_EQ(seen.waiters[0].permits, 2);
  EXPECT_EQ(seen.waiters[0].limit, 3);
}

TEST_P(Semaphore, StoppedLargeRequestKeepsSmallOnesOutForAWhileOnly) {
  listen({"B", "C"});
  permits("A", 2, 3);
  permits("B", 3);
  permits("C", 1);
  fall_silent(claim("B", 1), 44 * kSecond);
  EXPECT_EQ(permits("C", 1).code, "queued");
  fall_silent(claim("B", 1), 46 * kSecond);
  EXPECT_EQ(permits("C", 1).code, "granted");
  EXPECT_EQ(used(), 3);
}

// ---- Its limit

TEST_P(Semaphore, LimitIsSetBeforeFirstUse) {
  EXPECT_EQ(set_limit(0).code, "missing");
  EXPECT_EQ(contents(), "");
  const Limited set = set_limit(4);
  EXPECT_EQ(set.code, "ok");
  EXPECT_EQ(set.limit, 4);
  EXPECT_EQ(set.used, 0);
  EXPECT_GT(pttl(record_key()), kDayMs - 60'000);
  EXPECT_EQ(permits("A", 4).code, "granted");
}

TEST_P(Semaphore, LimitIsLeftAloneByWhoComesLate) {
  listen({"B"});
  permits("A", 3, 3);
  permits("B", 2);
  const std::string before = contents();
  for (const std::int64_t limit : {5, 1, 0}) {
    EXPECT_EQ(set_limit(limit, now() - 1).code, "late");
    EXPECT_EQ(contents(), before);
    EXPECT_TRUE(told().empty());
  }
}

TEST_P(Semaphore, LimitIsLookedAt) {
  listen({"B"});
  permits("A", 2, 3);
  permits("B", 2);
  const std::string before = contents();
  const Limited seen = set_limit(0);
  EXPECT_EQ(seen.limit, 3);
  EXPECT_EQ(seen.used, 2);
  EXPECT_EQ(contents(), before);
}

TEST_P(Semaphore, LookingTakesBackWhatHasEnded) {
  permits("A", 2, 3);
  lapse_member(claim("A", 1));
  EXPECT_EQ(set_limit(0).used, 0);
}

TEST_P(Semaphore, HigherLimitServesWaiters) {
  listen({"B", "C", "D"});
  permits("A", 2, 2);
  permits("B", 1);
  permits("C", 1);
  permits("D", 1);
  told();
  const Limited set = set_limit(4);
  EXPECT_EQ(set.limit, 4);
  EXPECT_EQ(set.used, 4);
  EXPECT_EQ(queue(), Names{"D"});
  EXPECT_EQ(told_briefly(), (Names{"B grant 1", "C grant 1", "D next 1"}));
  EXPECT_EQ(set_limit(4).limit, 4);
  EXPECT_EQ(used(), 4);
}

TEST_P(Semaphore, HigherLimitServesNoMoreThanSixtyFourACall) {
  listen({"B"});
  permits("A", 1, 1);
  for (int i = 0; i < kSkips + 6; ++i) {
    permits("B", 1, 0, i + 1);
  }
  const Limited first = set_limit(1000);
  EXPECT_EQ(first.code, "more");
  EXPECT_EQ(first.used, kSkips + 1);
  EXPECT_EQ(queue().size(), 6U);
  const Limited second = set_limit(1000);
  EXPECT_EQ(second.code, "ok");
  EXPECT_EQ(second.used, kSkips + 7);
}

TEST_P(Semaphore, LowerLimitTakesNothingBack) {
  listen({"C"});
  permits("A", 2, 4);
  permits("B", 2);
  EXPECT_EQ(set_limit(2).used, 4);
  EXPECT_EQ(members(), (Names{"A", "B"}));
  permits("C", 1);
  give_back("A");
  EXPECT_EQ(queue(), Names{"C"});
  give_back("B");
  EXPECT_EQ(members(), Names{"C"});
  EXPECT_EQ(try_permits("D", 0).permits, 1);
}

TEST_P(Semaphore, DrainingOneThatIsInUseBeyondItsLimitIsBusy) {
  permits("A", 4, 4);
  set_limit(2);
  EXPECT_EQ(try_permits("B", 0).code, "busy");
}

TEST_P(Semaphore, LowerLimitTellsAWaiterThatAsksForTooMuch) {
  listen({"B"});
  permits("A", 2, 4);
  permits("B", 4);
  told();
  set_limit(3);
  EXPECT_TRUE(queue().empty());
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].wait, 0);
  EXPECT_EQ(permits("B", 4).code, "limit");
  EXPECT_EQ(give_back("B"), "not ours");
}

// It is stopped, and does not leave.
TEST_P(Semaphore, LetsTheOthersPassAWaiterThatAsksForTooMuch) {
  listen({"B", "C"});
  permits("A", 3, 4);
  permits("B", 4);
  permits("C", 1);
  told();
  set_limit(2);
  EXPECT_EQ(queue(), Names{"C"});
  EXPECT_EQ(told_briefly(), (Names{"B next 1", "C next 1"}));
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(members(), Names{"C"});
  EXPECT_EQ(used(), 1);
  EXPECT_TRUE(queue().empty());
}

TEST_P(Semaphore, WaiterThatAskedForTooMuchHasItsPlaceBackWithItsTicket) {
  listen({"B", "C"});
  permits("A", 4, 4);
  const std::int64_t ticket = permits("B", 4).ticket;
  permits("C", 1);
  set_limit(2);
  set_limit(4);
  const Acquired again =
      acquire_with({.client = "B", .ticket = ticket, .kind = kSemaphore, .permits = 4, .limit = 0});
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(queue(), (Names{"B", "C"}));
}

TEST_P(Semaphore, DropsNoMoreThanSixtyFourThatAskForTooMuchACall) {
  listen({"B", "C"});
  permits("A", 4, 4);
  for (int i = 0; i < kSkips + 6; ++i) {
    permits("B", 4, 0, i + 1);
  }
  permits("C", 1);
  EXPECT_EQ(set_limit(2).code, "more");
  EXPECT_EQ(queue().size(), 7U);
  EXPECT_EQ(set_limit(2).code, "ok");
  EXPECT_EQ(queue(), Names{"C"});
}

// ---- What somebody deletes by hand

TEST_P(Semaphore, LosesItsPermitsWithItsRecordOrItsMembers) {
  for (const std::string& key : {record_key(), members_key()}) {
    command({"FLUSHALL"});
    const Acquired a = permits("A", 2, 3);
    command({"DEL", key});
    EXPECT_EQ(permits("B", 3, 3).code, "granted") << key;
    EXPECT_EQ(used(), 3) << key;
    EXPECT_EQ(renew_permits("A", a.fence).code, "not ours") << key;
    EXPECT_EQ(give_back("A"), "not ours") << key;
    EXPECT_EQ(used(), 3) << key;
    EXPECT_EQ(give_back("B"), "ok") << key;
    EXPECT_EQ(used(), 0) << key;
  }
}

TEST_P(Semaphore, WaiterBringsItsLimitBackWithALostRecord) {
  listen({"B", "C"});
  permits("A", 3, 3);
  permits("B", 1);
  permits("C", 3);
  command({"DEL", record_key()});
  EXPECT_EQ(permits("D", 1, 3).code, "queued");
  EXPECT_EQ(members(), Names{"B"});
  EXPECT_EQ(record()->limit, 3);
  EXPECT_EQ(used(), 1);
}

TEST_P(Semaphore, FreesPermitsInTimeOfWhomNobodyFinds) {
  permits("A", 3, 4);
  command({"ZREM", members_key(), claim("A", 1)});
  EXPECT_EQ(try_permits("B", 2).code, "busy");
  EXPECT_EQ(give_back("A"), "not ours");
  end_member(claim("A", 1), 1000);
  EXPECT_EQ(try_permits("B", 4).code, "granted");
  EXPECT_EQ(used(), 4);
}

// ---- Kinds

class Kinds : public JointTest {
 protected:
  std::string error_of(const Script& script, const std::vector<std::string>& args) {
    return run(script, keys(), args).text;
  }
};

TEST_P(Kinds, LockIsNoSemaphore) {
  const std::string wanted = "BELAYTYPE key " + record_key() + " holds a lock, not a semaphore";
  for (const char* const group : {"", "r"}) {
    command({"FLUSHALL"});
    share("A", 1, group);
    const std::string before = contents();
    const AcquireCall call{.client = "B", .kind = kSemaphore, .limit = 3};
    EXPECT_EQ(error_of(scripts::kAcquire, {call.packed()}).find(wanted), 0U);
    EXPECT_EQ(set_limit(3).code, "BELAYTYPE");
    EXPECT_EQ(set_limit(0).code, "BELAYTYPE");
    EXPECT_EQ(renew_permits("A", record()->fence).code, "unreadable");
    EXPECT_EQ(contents(), before);
  }
}

TEST_P(Kinds, SemaphoreIsNoLock) {
  const std::string wanted = "BELAYTYPE key " + record_key() + " holds a semaphore, not a lock";
  const Acquired a = permits("A", 1, 1);
  const std::string before = contents();
  const AcquireCall call{.client = "B"};
  EXPECT_EQ(error_of(scripts::kAcquire, {call.packed()}).find(wanted), 0U);
  EXPECT_EQ(share("B").code, "BELAYTYPE");
  EXPECT_EQ(renew({.client = "A", .fence = a.fence}).code, "unreadable");
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Kinds, LatchIsNeither) {
  const std::string latch = std::string("\2\3") + std::string(120, '\0');
  command({"SET", record_key(), latch});
  const std::string before = contents();
  const std::string holds = "BELAYTYPE key " + record_key() + " holds a latch, not a ";
  const AcquireCall lock{.client = "B"};
  const AcquireCall semaphore{.client = "B", .kind = kSemaphore, .limit = 3};
  EXPECT_EQ(error_of(scripts::kAcquire, {lock.packed()}).find(holds + "lock"), 0U);
  EXPECT_EQ(error_of(scripts::kAcquire, {semaphore.packed()}).find(holds + "semaphore"), 0U);
  EXPECT_EQ(leave("A"), "BELAYTYPE");
  EXPECT_EQ(set_limit(3).code, "BELAYTYPE");
  EXPECT_EQ(contents(), before);
}

TEST_P(Kinds, WaiterOfAnotherKindIsServedWhereTheRecordIsLost) {
  listen({"B"});
  acquire("A");
  acquire("B");
  command({"DEL", record_key()});
  EXPECT_EQ(permits("C", 1, 3).code, "queued");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(permits("C", 1, 3).code, "BELAYTYPE");
  EXPECT_EQ(give_back("C"), "not ours");
  EXPECT_TRUE(queue().empty());
}

// They are told by the reply that the name is something else by now.
TEST_P(Kinds, WaitersOfAnotherKindAreDroppedWhereTheNameIsHeldTogether) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  command({"DEL", record_key()});
  EXPECT_EQ(set_limit(1).code, "ok");
  EXPECT_EQ(record()->limit, 1);
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(permits("A", 1).code, "granted");
  permits("C", 1);
  command({"DEL", record_key(), members_key()});
  share("A");
  EXPECT_EQ(members(), Names{"C"});
}

ON_ALL_BACKENDS(Semaphore);
ON_ALL_BACKENDS(Kinds);

}  // namespace
}  // namespace belay::test
