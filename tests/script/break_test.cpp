// Break, on every server. One thread.
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

class Break : public LockTest {};

TEST_P(Break, TakesTheLockFromItsHolder) {
  const Acquired held = acquire("A");
  const Broken reply = break_lock(held.fence);
  EXPECT_EQ(reply.code, "ok");
  EXPECT_EQ(reply.parted.value().client, "A");
  EXPECT_EQ(reply.parted.value().fence, held.fence);
  EXPECT_FALSE(reply.more);
  EXPECT_FALSE(record());
}

TEST_P(Break, AcceptsAnyFenceOfTheGrantsRange) {
  const Acquired held = acquire("A");
  EXPECT_TRUE(break_lock(held.last).parted);
  EXPECT_FALSE(record());
}

TEST_P(Break, PartsNobodyWhoHasAnotherFence) {
  listen({"A"});
  const Acquired held = acquire("A");
  const std::string before = contents();
  EXPECT_FALSE(break_lock(held.fence - 1).parted);
  EXPECT_FALSE(break_lock(held.last + 1).parted);
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

TEST_P(Break, PartsWhoeverHoldsTheLockWithoutAFence) {
  acquire("A");
  EXPECT_EQ(break_lock(0).parted.value().client, "A");
  EXPECT_FALSE(record());
}

TEST_P(Break, FindsNobodyOnAFreeLock) {
  const Broken reply = break_lock(0);
  EXPECT_EQ(reply.code, "ok");
  EXPECT_FALSE(reply.parted);
  EXPECT_EQ(contents(), "");
}

TEST_P(Break, TellsTheHolderWhoBrokeIt) {
  listen({"A"});
  acquire("A", 8);
  break_lock(0, "operator on desk");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "A");
  EXPECT_EQ(messages[0].kind, "broken");
  EXPECT_EQ(messages[0].epoch, 8);
  EXPECT_GT(messages[0].ts, 0);
  EXPECT_EQ(messages[0].key, record_key());
  EXPECT_EQ(messages[0].info, "operator on desk");
}

TEST_P(Break, ServesTheQueue) {
  listen({"A", "B", "C"});
  const Acquired held = acquire("A");
  acquire("B", 2);
  acquire("C", 3);
  told();
  EXPECT_TRUE(break_lock(held.fence).parted);
  EXPECT_EQ(told_briefly(), (Names{"B grant 2", "C next 3", "A broken 1"}));
  EXPECT_EQ(record()->client, "B");
  EXPECT_GT(record()->fence, held.last);
}

TEST_P(Break, ServesTheQueueOfALapsedLockAndPartsNobody) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  lapse();
  told();
  EXPECT_FALSE(break_lock(0).parted);
  EXPECT_EQ(told_briefly(), Names{"B grant 1"});
  EXPECT_EQ(record()->client, "B");
}

TEST_P(Break, PartsNobodyElseWhenRepeatedWithItsFence) {
  listen({"A", "B"});
  const Acquired held = acquire("A");
  acquire("B");
  break_lock(held.fence);
  const std::string before = contents();
  EXPECT_FALSE(break_lock(held.fence).parted);
  EXPECT_EQ(contents(), before);
}

TEST_P(Break, SkipsNoMoreThanSixtyFourDeadWaitersACall) {
  listen({"B"});
  const Acquired held = acquire("A");
  queue_the_dead(kSkips + 1);
  acquire("B");
  EXPECT_TRUE(break_lock(held.fence).more);
  const Broken second = break_lock(held.fence);
  EXPECT_FALSE(second.more);
  EXPECT_FALSE(second.parted);
  EXPECT_EQ(record()->client, "B");
}

TEST_P(Break, ChangesNothingWhenItComesLate) {
  listen({"A", "B"});
  const Acquired held = acquire("A");
  acquire("B");
  told();
  const std::string before = contents();
  for (const std::int64_t fence : {held.fence, std::int64_t{0}}) {
    EXPECT_EQ(break_lock(fence, "breaker", now() - 1).code, "late");
    EXPECT_EQ(contents(), before);
    EXPECT_TRUE(told().empty());
  }
}

ON_ALL_BACKENDS(Break);

}  // namespace
}  // namespace belay::test
