// Lock-delay: what a lapsed or lost holder had is given to nobody before the delay has passed; on
// every server. One thread.
#include "script/joint_fixture.h"

namespace belay::test {
namespace {

constexpr std::int64_t kDelay = 20 * kSecond;

class LockDelay : public JointTest {
 protected:
  Acquired hold(const std::string& client, std::int64_t epoch = 1, const std::string& group = "") {
    return acquire_with({.client = client, .epoch = epoch, .delay = kDelay, .group = group});
  }

  std::string lose(const std::string& client, std::int64_t epoch = 1, int kind = kLock) {
    return leave_with({.client = client, .epoch = epoch, .kind = kind, .lost = true});
  }

  // Lets the lock-delay of the record end, too.
  void end_delay() {
    const std::string ended(sizeof(double), '\0');
    command({"SETRANGE", record_key(), "57", ended});
    command({"SETRANGE", record_key(), "99", ended});
  }
};

TEST_P(LockDelay, IsInTheRecordAndItsTimeToLive) {
  const Acquired a = hold("A");
  EXPECT_EQ(record()->delay, kDelay);
  EXPECT_EQ(record()->expires, a.ts + kLease);
  EXPECT_GT(pttl(record_key()), (kLease + kDelay) / 1000);
  EXPECT_LE(pttl(record_key()), (kLease + kDelay) / 1000 + 1000);
  renew({.client = "A", .fence = a.fence, .lease = 2 * kLease});
  EXPECT_GT(pttl(record_key()), (2 * kLease + kDelay) / 1000);
  EXPECT_EQ(record()->delay, kDelay);
}

TEST_P(LockDelay, ReleaseFreesAtOnce) {
  listen({"B"});
  hold("A");
  acquire("B");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(leave("B"), "ok");
  hold("C");
  EXPECT_EQ(leave("C"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(LockDelay, LapsedLockIsKept) {
  listen({"B"});
  const Acquired a = hold("A");
  lapse();
  const Acquired b = acquire("B");
  EXPECT_EQ(b.code, "queued");
  EXPECT_EQ(b.remaining, record()->expires + kDelay - b.ts);
  EXPECT_EQ(try_acquire("C").code, "busy");
  EXPECT_EQ(share("D").code, "queued");
  EXPECT_EQ(leave("D"), "not ours");
  EXPECT_EQ(renew({.client = "A", .fence = a.fence}).code, "not ours");
  EXPECT_EQ(record()->client, "A");
  end_delay();
  EXPECT_EQ(acquire("B").code, "granted");
}

TEST_P(LockDelay, LostLockIsKeptFromThenOn) {
  listen({"B"});
  const Acquired a = hold("A");
  acquire("B", 4);
  told();
  EXPECT_EQ(lose("A"), "ok");
  const Record stands = record().value();
  EXPECT_EQ(stands.client, "A");
  EXPECT_EQ(stands.expires, 0);
  EXPECT_GE(pttl(record_key()), 100);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(stands.expires + stands.delay, messages[0].ts + kDelay);
  EXPECT_EQ(messages[0].wait, kDelay);
  EXPECT_EQ(renew({.client = "A", .fence = a.fence}).code, "not ours");
  const std::string before = contents();
  EXPECT_EQ(lose("A"), "ok");  // repeated: no longer
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(acquire("B", 4).code, "queued");
  end_delay();
  EXPECT_EQ(acquire("B", 4).code, "granted");
}

TEST_P(LockDelay, LostLockThatNobodyWaitsForIsKept) {
  hold("A");
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(try_acquire("B").code, "busy");
}

TEST_P(LockDelay, IsNotChangedByALateCallOfWhoHasLeft) {
  const AcquireCall permit{.client = "A", .kind = kSemaphore, .delay = kDelay, .limit = 3};
  for (const AcquireCall& call :
       {AcquireCall{.client = "A", .delay = kDelay},
        AcquireCall{.client = "A", .delay = kDelay, .group = "r"}, permit}) {
    command({"FLUSHALL"});
    EXPECT_EQ(acquire_with(call).code, "granted");
    EXPECT_EQ(lose("A", 1, call.kind), "ok");
    const std::string before = contents();
    EXPECT_EQ(acquire_with(call).code, "stale");
    EXPECT_EQ(contents(), before);
  }
}

TEST_P(LockDelay, LostLockWithoutADelayIsFree) {
  listen({"B"});
  acquire("A");
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_FALSE(record());
  acquire("A");
  acquire("B");
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(record()->client, "B");
}

TEST_P(LockDelay, ItsOwnClientWaitsForItToo) {
  hold("A", 1);
  EXPECT_EQ(lose("A", 1), "ok");
  EXPECT_EQ(hold("A", 2).code, "queued");
  EXPECT_EQ(leave("A", 2), "not ours");
  EXPECT_EQ(try_acquire("B").code, "busy");
}

// Also if the server's clock steps back behind the end of its lease.
TEST_P(LockDelay, OfALapsedHolderThatLeavesGoesOnAndItsLeaseNeverDoes) {
  hold("A");
  lapse();
  const std::int64_t until = record()->expires + kDelay;
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(record()->expires, 0);
  EXPECT_EQ(record()->delay, until);
  EXPECT_EQ(try_acquire("A", 2).remaining / kSecond, kDelay / kSecond - 1);
}

TEST_P(LockDelay, OfALapsedReaderThatLeavesGoesOnAndItsLeaseNeverDoes) {
  hold("A", 1, "r");
  lapse_member(client_id("A"));
  const std::int64_t ends = member(client_id("A"))->ends;
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(member(client_id("A"))->expires, 0);
  EXPECT_EQ(member(client_id("A"))->ends, ends);
  EXPECT_EQ(share("A", 2).code, "queued");
}

// It may be lost: what says so may have been refused, or not have come yet.
TEST_P(LockDelay, ItsOwnNewerClaimWaitsForTheLeaveOfWhatItHas) {
  for (const char* const group : {"", "r"}) {
    for (const bool lost : {false, true}) {
      command({"FLUSHALL"});
      listen({"A"});
      hold("A", 1, group);
      told();
      EXPECT_EQ(try_acquire("A", 2).code, "busy");
      EXPECT_EQ(acquire("A", 2).code, "queued");
      EXPECT_EQ(leave_with({.client = "A", .epoch = 1, .lost = lost}), "ok");
      EXPECT_EQ(acquire("A", 2).code, lost ? "queued" : "granted");
    }
  }
}

TEST_P(LockDelay, IsThatOfTheNewHolderAfterAHandoff) {
  listen({"B", "C"});
  acquire("A");
  hold("B");
  acquire("C");
  told();
  leave("A");
  EXPECT_EQ(record()->delay, kDelay);
  EXPECT_GT(pttl(record_key()), (kGrant + kDelay) / 1000);
  EXPECT_EQ(told().back().wait, kGrant + kDelay);
  lapse();
  EXPECT_EQ(acquire("C").code, "queued");
  EXPECT_EQ(record()->client, "B");
}

TEST_P(LockDelay, IsEndedByABreak) {
  listen({"A", "B"});
  const Acquired a = hold("A");
  acquire("B");
  lose("A");
  told();
  const Broken reply = break_lock(a.fence);
  EXPECT_FALSE(reply.parted);  // it was lost already
  EXPECT_EQ(told_briefly(), Names{"B grant 1"});
  EXPECT_EQ(record()->client, "B");
}

TEST_P(LockDelay, IsEndedByNoBreakOfAnotherFence) {
  const Acquired a = hold("A");
  lose("A");
  break_lock(a.last + 1);
  EXPECT_EQ(record()->client, "A");
}

TEST_P(LockDelay, KeepsWritersFromWhatALostReaderHad) {
  listen({"W"});
  hold("A", 1, "r");
  acquire("W");
  const std::int64_t before_loss = now();
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(acquire("W").code, "queued");
  const Member lost = member(client_id("A")).value();
  EXPECT_EQ(lost.expires, 0);
  EXPECT_GT(lost.ends, before_loss + kDelay);
  EXPECT_LE(lost.ends, now() + kDelay);
  EXPECT_EQ(renew_share("A", lost.fence).code, "not ours");
  const std::string before = contents();
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(contents(), before);
  end_member(client_id("A"), 1000);
  EXPECT_EQ(acquire("W").code, "granted");
}

TEST_P(LockDelay, KeepsWritersFromWhatALapsedReaderHad) {
  hold("A", 1, "r");
  lapse_member(client_id("A"));
  const Acquired w = try_acquire("W");
  EXPECT_EQ(w.code, "busy");
  EXPECT_EQ(w.remaining, member(client_id("A"))->ends - w.ts);
}

TEST_P(LockDelay, OfALostReaderEndsByNothingThatItsClientAsksNext) {
  hold("A", 1, "r");
  share("B");
  lose("A", 1);
  const std::int64_t ends = member(client_id("A"))->ends;
  EXPECT_EQ(share("A", 2).code, "queued");
  EXPECT_EQ(leave("A", 2), "not ours");
  EXPECT_EQ(member(client_id("A"))->ends, ends);
  EXPECT_EQ(leave("B"), "ok");
  EXPECT_EQ(try_acquire("W").code, "busy");
}

TEST_P(LockDelay, OthersMayShareWhatALostReaderHad) {
  hold("A", 1, "r");
  lose("A");
  EXPECT_EQ(share("B").code, "granted");
}

TEST_P(LockDelay, ReaderThatIsNotLostFreesAtOnce) {
  listen({"W"});
  hold("A", 1, "r");
  acquire("W");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "W");
}

TEST_P(LockDelay, LostReaderWithoutADelayFreesAtOnce) {
  listen({"W"});
  share("A");
  acquire("W");
  EXPECT_EQ(lose("A"), "ok");
  EXPECT_EQ(record()->client, "W");
}

TEST_P(LockDelay, KeepsLostPermits) {
  const AcquireCall call{
      .client = "A", .kind = kSemaphore, .delay = kDelay, .permits = 2, .limit = 3};
  acquire_with(call);
  EXPECT_EQ(lose("A", 1, kSemaphore), "ok");
  EXPECT_EQ(try_permits("B", 2).code, "busy");
  EXPECT_EQ(try_permits("B", 1).code, "granted");
  EXPECT_EQ(set_limit(0).used, 3);
  end_member(claim("A", 1), 1000);
  EXPECT_EQ(try_permits("C", 2).code, "granted");
}

TEST_P(LockDelay, OfPermitsIsEndedByABreak) {
  const AcquireCall call{
      .client = "A", .kind = kSemaphore, .delay = kDelay, .permits = 2, .limit = 3};
  const Acquired a = acquire_with(call);
  lose("A", 1, kSemaphore);
  EXPECT_FALSE(break_lock(a.fence).parted);
  EXPECT_EQ(try_permits("B", 3).code, "granted");
}

ON_ALL_BACKENDS(LockDelay);

}  // namespace
}  // namespace belay::test
