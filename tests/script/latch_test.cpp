// The verbs of the countdown latch, on every server. One thread.
#include "script/latch_fixture.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kLife = 100 * kSecond;

class LatchSet : public LatchTest {};

TEST_P(LatchSet, BeginsAGeneration) {
  const LatchReply reply = set(3);
  EXPECT_EQ(reply.code, "set");
  EXPECT_EQ(reply.count, 3);
  EXPECT_GE(reply.generation, reply.ts);
  const LatchReply seen = look();
  EXPECT_EQ(seen.code, "busy");
  EXPECT_EQ(seen.count, 3);
  EXPECT_EQ(seen.generation, reply.generation);
  EXPECT_EQ(seen.remaining, 0);
  EXPECT_EQ(pttl(record_key()), -1);
}

TEST_P(LatchSet, GivesGenerationsAboveEveryFence) {
  const std::int64_t far = now() + 10 * kSecond;
  store_fence(far);
  EXPECT_EQ(set(1).generation, far + 1);
  EXPECT_EQ(stored_fence(), far + 1);
  count_down();
  EXPECT_EQ(set_with({.client = "T", .count = 1, .highest = far + 7}).generation, far + 8);
}

TEST_P(LatchSet, IsRefusedWhileAGenerationIsRunning) {
  const LatchReply first = set(3);
  count_down();
  const std::string before = contents();
  const LatchReply second = set(5);
  EXPECT_EQ(second.code, "in use");
  EXPECT_EQ(second.count, 2);
  EXPECT_EQ(second.generation, first.generation);
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchSet, IsToldAgainWhenRepeated) {
  const SetCall call{.client = "A", .count = 3};
  const LatchReply first = set_with(call);
  count_down();
  const std::string before = contents();
  const LatchReply again = set_with(call);
  EXPECT_EQ(again.code, "set");
  EXPECT_EQ(again.generation, first.generation);
  EXPECT_EQ(again.count, 2);
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchSet, BeginsNothingMoreWhenRepeatedAfterItsLatchHasOpened) {
  const SetCall call{.client = "A", .count = 1};
  set_with(call);
  count_down();
  const LatchReply other = set(1);
  count_down();
  const std::string before = contents();
  const LatchReply again = set_with(call);
  EXPECT_EQ(again.code, "set");
  EXPECT_EQ(again.generation, other.generation);
  EXPECT_EQ(again.count, 0);
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchSet, BeginsANewGenerationOfAnOpenLatch) {
  const LatchReply first = set(1);
  count_down();
  const LatchReply second = set(2);
  EXPECT_EQ(second.code, "set");
  EXPECT_GT(second.generation, first.generation);
  EXPECT_EQ(look().count, 2);
}

TEST_P(LatchSet, GivesATimeToLive) {
  set_with({.client = "A", .count = 1, .life = kLife});
  EXPECT_GT(pttl(record_key()), kLife / 1000);
  const LatchReply seen = look();
  EXPECT_GT(seen.remaining, kLife - 50 * kSecond);
  EXPECT_LE(seen.remaining, kLife);
}

TEST_P(LatchSet, BeginsAnewWhenTheTimeToLiveHasEnded) {
  set_with({.client = "A", .count = 2, .life = kLife});
  lapse_latch();
  EXPECT_EQ(set(5).code, "set");
  EXPECT_EQ(look().count, 5);
  EXPECT_EQ(pttl(record_key()), -1);
}

TEST_P(LatchSet, TellsWaitersOfALapsedGenerationThatItIsGone) {
  listen({"W"});
  set_with({.client = "A", .count = 2, .life = kLife});
  await("W", 7);
  lapse_latch();
  set(1);
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].client, "W");
  EXPECT_EQ(messages[0].kind, "passed");
  EXPECT_EQ(messages[0].epoch, 7);
  EXPECT_EQ(messages[0].how, 2);
  EXPECT_TRUE(queue().empty());
}

TEST_P(LatchSet, ChangesNothingWhenItComesLate) {
  listen({"W"});
  set_with({.client = "A", .count = 2, .life = kLife});
  await("W");
  lapse_latch();
  const std::string before = contents();
  const LatchReply reply = set_with({.client = "B", .not_after = now() - 1});
  EXPECT_EQ(reply.code, "late");
  EXPECT_GT(reply.ts, 0);
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

TEST_P(LatchSet, FirstTellsWaitersThatWereLeftSixtyFourAtATime) {
  set(1);
  for (int i = 0; i < 2 * kSkips + 1; ++i) {
    ASSERT_EQ(await("w" + std::to_string(i)).code, "queued");
  }
  EXPECT_EQ(count_down().code, "more");
  listen({"w64", "w128"});
  EXPECT_EQ(set_with({.client = "A", .count = 1}).code, "more");
  EXPECT_EQ(look().count, 0);
  EXPECT_EQ(set_with({.client = "A", .count = 1}).code, "set");
  EXPECT_EQ(told_briefly(), (Names{"w64 passed 1", "w128 passed 1"}));
  EXPECT_EQ(look().count, 1);
}

ON_ALL_BACKENDS(LatchSet);

class LatchDown : public LatchTest {};

TEST_P(LatchDown, TakesFromTheCount) {
  const LatchReply latch = set(5);
  const LatchReply reply = count_down(2);
  EXPECT_EQ(reply.code, "counted");
  EXPECT_EQ(reply.count, 3);
  EXPECT_EQ(reply.generation, latch.generation);
  EXPECT_EQ(look().count, 3);
}

TEST_P(LatchDown, StopsAtZero) {
  set(2);
  EXPECT_EQ(count_down(5).count, 0);
  EXPECT_EQ(count_down(1).count, 0);
  EXPECT_EQ(look().code, "passed");
}

TEST_P(LatchDown, FindsNoLatchWhereNoneWasSet) {
  EXPECT_EQ(count_down().code, "missing");
  EXPECT_EQ(contents(), "");
}

TEST_P(LatchDown, FindsNoLatchWhoseTimeHasEnded) {
  set_with({.client = "A", .count = 2, .life = kLife});
  lapse_latch();
  const std::string before = contents();
  EXPECT_EQ(count_down().code, "missing");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchDown, CountsARequestOnce) {
  set(5);
  EXPECT_EQ(count_down("A", 1).count, 4);
  EXPECT_EQ(count_down("A", 2).count, 3);
  EXPECT_EQ(count_down("B", 1).count, 2);
  EXPECT_EQ(count_down("A", 1).count, 2);
  EXPECT_EQ(count_down("A", 2).code, "counted");
  EXPECT_EQ(look().count, 2);
}

TEST_P(LatchDown, CountsNothingInTheNextGenerationWhenRepeated) {
  set(1);
  count_down("A", 1);
  count_down("A", 2);  // which finds it open
  set(5);
  EXPECT_EQ(count_down("A", 1).count, 5);
  EXPECT_EQ(count_down("A", 2).count, 5);
  EXPECT_EQ(count_down("A", 3).count, 4);
}

TEST_P(LatchDown, TellsEveryWaiterWhenItOpens) {
  listen({"V", "W"});
  const LatchReply latch = set(2);
  await("V", 3);
  await("W", 4);
  count_down();
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(count_down().code, "counted");
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].client, "V");
  EXPECT_EQ(messages[0].kind, "passed");
  EXPECT_EQ(messages[0].epoch, 3);
  EXPECT_GT(messages[0].ts, 0);
  EXPECT_EQ(messages[0].generation, latch.generation);
  EXPECT_EQ(messages[0].how, 1);
  EXPECT_EQ(messages[0].key, record_key());
  EXPECT_EQ(messages[1].client, "W");
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(command({"EXISTS", queue_key()}).integer, 0);
}

TEST_P(LatchDown, TellsNoMoreThanSixtyFourWaitersACall) {
  set(1);
  for (int i = 0; i < kSkips + 1; ++i) {
    ASSERT_EQ(await("w" + std::to_string(i)).code, "queued");
  }
  listen({"w0", "w64"});
  EXPECT_EQ(count_down("A", 1).code, "more");
  EXPECT_EQ(told_briefly(), Names{"w0 passed 1"});
  EXPECT_EQ(count_down("A", 1).code, "counted");
  EXPECT_EQ(told_briefly(), Names{"w64 passed 1"});
  EXPECT_EQ(look().count, 0);
}

TEST_P(LatchDown, HasNoMoreToTellAfterJustSixtyFour) {
  set(1);
  for (int i = 0; i < kSkips; ++i) {
    ASSERT_EQ(await("w" + std::to_string(i)).code, "queued");
  }
  EXPECT_EQ(count_down().code, "counted");
}

TEST_P(LatchDown, ChangesNothingWhenItComesLate) {
  listen({"W"});
  set(1);
  await("W");
  const std::string before = contents();
  const LatchReply reply = count_down_with({.client = "A", .not_after = now() - 1});
  EXPECT_EQ(reply.code, "late");
  EXPECT_GT(reply.ts, 0);
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(count_down("A", 1).count, 0);
}

TEST_P(LatchDown, LeavesTheTimeToLiveAsItIs) {
  set_with({.client = "A", .count = 2, .life = kLife});
  count_down(2);
  EXPECT_GT(pttl(record_key()), 0);
  EXPECT_EQ(look().code, "passed");
}

ON_ALL_BACKENDS(LatchDown);

class LatchAwait : public LatchTest {};

TEST_P(LatchAwait, PassesAnOpenLatch) {
  const LatchReply latch = set(1);
  count_down();
  const std::string before = contents();
  const LatchReply reply = await("W");
  EXPECT_EQ(reply.code, "passed");
  EXPECT_EQ(reply.generation, latch.generation);
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchAwait, FindsNoLatchWhereNoneWasSet) {
  EXPECT_EQ(await("W").code, "missing");
  EXPECT_EQ(look().code, "missing");
  EXPECT_EQ(contents(), "");
}

TEST_P(LatchAwait, QueuesBeforeARunningLatch) {
  const LatchReply latch = set_with({.client = "A", .count = 3, .life = kLife});
  const LatchReply first = await("V");
  EXPECT_EQ(first.code, "queued");
  EXPECT_EQ(first.position, 0);
  EXPECT_EQ(first.generation, latch.generation);
  EXPECT_EQ(first.count, 3);
  EXPECT_EQ(first.ticket, first.ts);
  EXPECT_GT(first.remaining, 0);
  EXPECT_LE(first.remaining, kLife);
  EXPECT_EQ(await("W").position, 1);
  EXPECT_EQ(queue(), (Names{"V", "W"}));
  EXPECT_GT(pttl(queue_key()), 0);
}

TEST_P(LatchAwait, KeepsItsPlaceWhenItAsksAgain) {
  set(1);
  const LatchReply first = await("V");
  await("W");
  const LatchReply again = await("V");
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(again.ticket, first.ticket);
}

TEST_P(LatchAwait, HasItsPlaceBackWithItsTicket) {
  set(1);
  const LatchReply first = await("V");
  await("W");
  drop_waiter(client_id("V"));
  const LatchReply again = await_with({.client = "V", .ticket = first.ticket});
  EXPECT_EQ(again.position, 0);
  EXPECT_EQ(again.ticket, first.ticket);
}

TEST_P(LatchAwait, HasOneEntryAClient) {
  listen({"V"});
  set(1);
  await("V", 1);
  EXPECT_EQ(await("V", 2).code, "queued");
  EXPECT_EQ(await("V", 1).code, "stale");
  count_down();
  EXPECT_EQ(told_briefly(), Names{"V passed 2"});
}

TEST_P(LatchAwait, IsBusyWhenItOnlyTries) {
  const LatchReply latch = set(3);
  await("V", 5);
  const std::string before = contents();
  const LatchReply reply = await_with({.client = "V", .epoch = 4, .queue = false});
  EXPECT_EQ(reply.code, "busy");
  EXPECT_EQ(reply.count, 3);
  EXPECT_EQ(reply.generation, latch.generation);
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchAwait, ChangesNothingWhenItComesLate) {
  set(1);
  const std::string before = contents();
  EXPECT_EQ(await_with({.client = "V", .not_after = now() - kSecond}).code, "late");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchAwait, LeavesTheQueueWhenItPasses) {
  set(1);
  await("V");
  await("W");
  command({"SETRANGE", record_key(), "3", std::string(8, '\0')});  // opened, and nobody told
  EXPECT_EQ(await("V").code, "passed");
  EXPECT_EQ(queue(), Names{"W"});
  EXPECT_EQ(command({"HGET", queue_key(), client_id("V")}).canonical(), "null");
}

TEST_P(LatchAwait, LeavesTheQueueWhenTheLatchIsGone) {
  set(1);
  await("V");
  command({"DEL", record_key()});
  EXPECT_EQ(await("V").code, "missing");
  EXPECT_TRUE(queue().empty());
}

TEST_P(LatchAwait, DisturbsNoNewerClaimOfItsClient) {
  set(1);
  await("V", 6);
  command({"SETRANGE", record_key(), "3", std::string(8, '\0')});
  EXPECT_EQ(await("V", 5).code, "passed");
  EXPECT_EQ(queue(), Names{"V"});
}

TEST_P(LatchAwait, PassesAnEarlierGenerationWhileTheNextIsRunning) {
  const LatchReply first = set(1);
  count_down();
  const LatchReply second = set(1);
  count_down();
  set(1);
  EXPECT_EQ(await_with({.client = "V", .generation = first.generation}).generation,
            first.generation);
  EXPECT_EQ(await_with({.client = "V", .generation = second.generation}).code, "passed");
  EXPECT_EQ(await_with({.client = "V"}).code, "queued");
}

TEST_P(LatchAwait, DoesNotPassAGenerationThatNeverOpened) {
  const LatchReply broken = set(1);
  command({"DEL", record_key()});
  const LatchReply opened = set(1);
  count_down();
  EXPECT_EQ(await_with({.client = "V", .generation = broken.generation}).code, "missing");
  EXPECT_EQ(await_with({.client = "V", .generation = opened.generation}).code, "passed");
  set(1);
  EXPECT_EQ(await_with({.client = "V", .generation = broken.generation}).code, "missing");
  EXPECT_EQ(await_with({.client = "V", .generation = opened.generation}).code, "passed");
}

TEST_P(LatchAwait, DoesNotPassAGenerationThatIsNone) {
  const LatchReply latch = set(1);
  count_down();
  EXPECT_EQ(await_with({.client = "V", .generation = latch.generation + 1}).code, "missing");
}

TEST_P(LatchAwait, WaitsForTheGenerationThatIsRunning) {
  const LatchReply latch = set(1);
  EXPECT_EQ(await_with({.client = "V", .generation = latch.generation}).code, "queued");
}

ON_ALL_BACKENDS(LatchAwait);

}  // namespace
}  // namespace belay::test
