// Inspect, on every server. One thread.
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

class Inspect : public LockTest {};

TEST_P(Inspect, ShowsAFreeLock) {
  const Inspected seen = inspect();
  EXPECT_EQ(seen.code, "ok");
  EXPECT_GT(seen.ts, 0);
  EXPECT_FALSE(seen.holder);
  EXPECT_EQ(seen.count, 0);
  EXPECT_TRUE(seen.waiters.empty());
}

TEST_P(Inspect, ShowsTheHolder) {
  const Acquired held = acquire_with({.client = "A", .epoch = 2, .info = "17 web-7"});
  const Record holder = inspect().holder.value();
  EXPECT_EQ(holder.client, "A");
  EXPECT_EQ(holder.epoch, 2);
  EXPECT_EQ(holder.fence, held.fence);
  EXPECT_EQ(holder.since, held.ts);
  EXPECT_EQ(holder.info, "17 web-7");
}

TEST_P(Inspect, ShowsTheWaitersInOrder) {
  acquire("A");
  const Acquired b = acquire_with({.client = "B", .epoch = 4, .grant = kGrant, .info = "billing"});
  const Acquired c = acquire_with({.client = "C", .epoch = 5, .grant = 2 * kGrant, .info = ""});
  const Inspected seen = inspect();
  ASSERT_EQ(seen.waiters.size(), 2U);
  EXPECT_EQ(seen.count, 2);
  EXPECT_EQ(seen.waiters[0].client, "B");
  EXPECT_EQ(seen.waiters[0].ticket, b.ticket);
  EXPECT_EQ(seen.waiters[0].epoch, 4);
  EXPECT_EQ(seen.waiters[0].info, "billing");
  EXPECT_EQ(seen.waiters[1].client, "C");
  EXPECT_EQ(seen.waiters[1].ticket, c.ticket);
  EXPECT_EQ(seen.waiters[1].grant, 2 * kGrant);
  EXPECT_EQ(seen.waiters[1].info, "");
}

TEST_P(Inspect, CountsAllWaitersButShowsNoMoreThanAskedFor) {
  acquire("A");
  queue_the_dead(10);
  const Inspected seen = inspect(3);
  EXPECT_EQ(seen.count, 10);
  ASSERT_EQ(seen.waiters.size(), 3U);
  EXPECT_EQ(seen.waiters[0].client, "dead0");
}

TEST_P(Inspect, ShowsALapsedRecordAsItStands) {
  acquire("A");
  lapse();
  const Inspected seen = inspect();
  EXPECT_LT(seen.holder.value().expires, seen.ts);
}

TEST_P(Inspect, PassesOverWhoCannotBeRead) {
  acquire("A");
  acquire("B");
  acquire("C");
  write_waiter(client_id("B"), "short");
  ASSERT_EQ(inspect().waiters.size(), 1U);
  EXPECT_EQ(inspect().waiters[0].client, "C");
}

TEST_P(Inspect, FindsWhoWaitsBehindAHundredHoles) {
  acquire("A");
  queue_the_dead(100);
  acquire("B");
  acquire("C");
  for (int i = 0; i < 100; ++i) {
    drop_waiter(client_id("dead" + std::to_string(i)));
  }
  const Inspected seen = inspect(1);
  EXPECT_EQ(seen.count, 2);
  ASSERT_EQ(seen.waiters.size(), 1U);
  EXPECT_EQ(seen.waiters[0].client, "B");
}

TEST_P(Inspect, ChangesNothing) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  lapse();
  told();
  const std::string before = contents();
  inspect();
  inspect();
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

ON_ALL_BACKENDS(Inspect);

}  // namespace
}  // namespace belay::test
