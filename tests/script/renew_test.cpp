// Renew, on every server. One thread.
#include "base/packing.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

class Renew : public LockTest {
 protected:
  // Takes the lock for A and returns the renewal of that.
  RenewCall held_by_a() { return {.client = "A", .fence = acquire("A").fence}; }
};

TEST_P(Renew, ExtendsItsClaim) {
  RenewCall call = held_by_a();
  call.lease = 2 * kLease;
  const std::int64_t before = now();
  EXPECT_EQ(renew(call).code, "ok");
  EXPECT_GE(record()->expires, before + 2 * kLease);
  EXPECT_GT(pttl(record_key()), 2 * kLease / 1000);
}

TEST_P(Renew, NeverShortensALease) {
  RenewCall call = held_by_a();
  const std::int64_t until = record()->expires;
  call.lease = kSecond;
  EXPECT_EQ(renew(call).code, "ok");
  EXPECT_EQ(record()->expires, until);
  EXPECT_GT(pttl(record_key()), kLease / 1000);
}

TEST_P(Renew, OnlyLooksWithoutALease) {
  RenewCall call = held_by_a();
  const std::string before = contents();
  call.lease = 0;
  EXPECT_EQ(renew(call).code, "ok");
  EXPECT_EQ(contents(), before);
}

TEST_P(Renew, ConfirmsAGrant) {
  listen({"B"});
  acquire("A");
  acquire("B");
  leave("A");
  EXPECT_EQ(renew({.client = "B", .fence = record()->fence}).code, "ok");
  EXPECT_GT(record()->expires - record()->since, kGrant);
}

TEST_P(Renew, NeverRecreatesARecord) {
  const RenewCall call = held_by_a();
  leave("A");
  const std::string before = contents();
  EXPECT_EQ(renew(call).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Renew, NeverExtendsAnothersClaim) {
  const RenewCall call = held_by_a();
  const std::string before = contents();
  EXPECT_EQ(renew({.client = "B", .fence = call.fence}).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Renew, NeverExtendsAnotherEpochOfItsClient) {
  const RenewCall call = held_by_a();
  const std::string before = contents();
  EXPECT_EQ(renew({.client = "A", .epoch = 2, .fence = call.fence}).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Renew, NeverExtendsAnotherTenureOfTheSameClaim) {
  RenewCall call = held_by_a();
  call.fence -= 1;
  const std::string before = contents();
  EXPECT_EQ(renew(call).code, "not ours");
  EXPECT_EQ(contents(), before);
}

TEST_P(Renew, NeverRevivesALapsedLease) {
  const RenewCall call = held_by_a();
  lapse();
  EXPECT_EQ(renew(call).code, "not ours");
  EXPECT_FALSE(record());
}

TEST_P(Renew, ServesTheQueueOfALapsedLock) {
  listen({"B"});
  const RenewCall call = held_by_a();
  acquire("B");
  lapse();
  told();
  EXPECT_EQ(renew(call).code, "not ours");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(told_briefly(), Names{"B grant 1"});
}

TEST_P(Renew, WritesHoldsAndLocalWaiters) {
  RenewCall call = held_by_a();
  call.holds = 3;
  call.local_waiters = 1000;
  renew(call);
  EXPECT_EQ(record()->holds, 3);
  EXPECT_EQ(record()->local_waiters, 1000);
  EXPECT_EQ(record()->info, "info");
}

TEST_P(Renew, ReservesMoreFences) {
  RenewCall call = held_by_a();
  const std::int64_t last = record()->last;
  call.more = 16;
  EXPECT_EQ(renew(call).last, last + 16);
  EXPECT_EQ(record()->last, last + 16);
  EXPECT_EQ(record()->fence, call.fence);
  EXPECT_EQ(stored_fence(), last + 16);
}

TEST_P(Renew, AnswersTheRangeItHasWhenItReservesNone) {
  const RenewCall call = held_by_a();
  EXPECT_EQ(renew(call).last, record()->last);
  EXPECT_EQ(stored_fence(), record()->last);
}

TEST_P(Renew, NeverLowersTheStoredFence) {
  RenewCall call = held_by_a();
  const std::int64_t stored = kFarFence;
  store_fence(stored);
  call.more = 8;
  EXPECT_EQ(renew(call).code, "ok");
  EXPECT_EQ(stored_fence(), stored);
}

TEST_P(Renew, StoresTheFenceAgainWhereItWasLost) {
  RenewCall call = held_by_a();
  command({"DEL", fence_key()});
  call.more = 8;
  const Renewed reply = renew(call);
  EXPECT_EQ(stored_fence(), reply.last);
}

TEST_P(Renew, SaysThatSomebodyWaits) {
  listen({"B"});
  const RenewCall call = held_by_a();
  EXPECT_EQ(renew(call).waits, 0);
  acquire("B");
  EXPECT_EQ(renew(call).waits, 1);
}

TEST_P(Renew, TellsOnceWhoHandedTheLockOn) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  leave("A");
  const std::int64_t fence = record()->fence;
  told();
  EXPECT_EQ(renew({.client = "B", .fence = fence}).code, "ok");
  EXPECT_EQ(told_briefly(), Names{"A settled 1"});
  EXPECT_EQ(record()->from, "");
  EXPECT_EQ(renew({.client = "B", .fence = fence}).code, "ok");
  leave("B");
  EXPECT_TRUE(told().empty());
}

TEST_P(Renew, ForgetsThatSomebodyWaitsOnceNobodyDoes) {
  const RenewCall call = held_by_a();
  acquire("B");
  leave("B");
  EXPECT_EQ(record()->waits, 1);
  EXPECT_EQ(renew(call).waits, 0);
  EXPECT_EQ(record()->waits, 0);
}

TEST_P(Renew, TellsTheFirstWaiterWhenToLook) {
  listen({"B", "C"});
  RenewCall call = held_by_a();
  acquire("B", 6);
  acquire("C");
  told();
  call.lease = 2 * kLease;
  renew(call);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "B");
  EXPECT_EQ(messages[0].kind, "next");
  EXPECT_EQ(messages[0].epoch, 6);
  EXPECT_EQ(messages[0].wait, 2 * kLease);
}

TEST_P(Renew, ChangesNothingButTheLeaseWhenRepeated) {
  const RenewCall call = held_by_a();
  renew(call);
  const Record first = record().value();
  EXPECT_EQ(renew(call).code, "ok");
  EXPECT_EQ(record()->fence, first.fence);
  EXPECT_EQ(record()->last, first.last);
  EXPECT_GE(record()->expires, first.expires);
}

TEST_P(Renew, ChangesNothingWhenItComesLate) {
  RenewCall call = held_by_a();
  acquire("B");
  const std::string before = contents();
  call.lease = 2 * kLease;
  call.more = 8;
  call.not_after = now() - 1;
  EXPECT_EQ(renew(call).code, "late");
  EXPECT_EQ(contents(), before);
}

// Three claims of A on three locks: one that stands, one that is gone, one that cannot be read.
TEST_P(Renew, AnswersEachClaimOfABatch) {
  const RenewCall call = held_by_a();
  const std::vector<std::string> gone = keys_of("gone");
  const std::vector<std::string> strange = keys_of("strange");
  command({"SET", strange[0], "hello"});
  std::vector<std::string> all = keys();
  all.insert(all.end(), gone.begin(), gone.end());
  all.insert(all.end(), strange.begin(), strange.end());
  const Reply reply = run(scripts::kRenew, all,
                          {kInbox, Packer().number(0).number(kNever).take(), call.packed(),
                           call.packed(), call.packed()});
  Unpacker in(reply.text);
  EXPECT_GT(in.number(), 0);
  std::string codes;
  for (int i = 0; i < 3; ++i) {
    codes += std::to_string(in.u8());
    in.number();
    in.u8();
  }
  EXPECT_EQ(codes, "123") << reply.canonical();
  EXPECT_TRUE(in.complete() && in.rest().empty());
}

ON_ALL_BACKENDS(Renew);

}  // namespace
}  // namespace belay::test
