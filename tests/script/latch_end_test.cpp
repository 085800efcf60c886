// What ends a latch or a wait for it, and what is left of its waiters then; on every server. One
// thread.
#include "base/config.h"
#include "base/packing.h"
#include "script/latch_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

using Names = std::vector<std::string>;

constexpr int kSkips = 64;                          // SKIPS of the scripts
constexpr std::int64_t kNoFence = kMaxId - 131071;  // LARGEST of the scripts

class LatchEnd : public LatchTest {
 protected:
  // "ok", "more", "late", or the code of an error.
  std::string break_latch(std::int64_t fence, std::int64_t not_after = kNever) {
    const Reply reply =
        run(scripts::kBreak, keys(),
            {Packer().number(fence).number(0).number(not_after).take(), kInbox, "breaker"});
    if (is_late(reply)) {
      return "late";
    }
    if (reply.is_error() || reply.elements.size() != 3) {
      return reply.is_error() ? reply.error_code() : reply.canonical();
    }
    was_latch_ = !reply.elements[1].text.empty();
    return reply.elements[2].integer == 0 ? "ok" : "more";
  }

  std::string leave_latch(const std::string& client, std::int64_t epoch) {
    const Reply reply = run(scripts::kLatchLeave, latch_keys().leave, {claim(client, epoch)});
    return reply.is_error() ? reply.error_code() : reply.text.substr(0, 1);
  }

  bool was_latch() const { return was_latch_; }

 private:
  bool was_latch_ = false;
};

TEST_P(LatchEnd, WaiterLeavesTheQueue) {
  set(1);
  await("V", 5);
  await("W", 6);
  EXPECT_EQ(leave_latch("V", 5), "\x02");
  EXPECT_EQ(queue(), Names{"W"});
  EXPECT_EQ(command({"HGET", queue_key(), client_id("V")}).canonical(), "null");
  const std::string after = contents();
  EXPECT_EQ(leave_latch("V", 5), "\x02");
  EXPECT_EQ(contents(), after);
}

TEST_P(LatchEnd, LateLeaveDisturbsNoNewerClaimOfItsClient) {
  set(1);
  await("V", 6);
  leave_latch("V", 5);
  EXPECT_EQ(queue(), Names{"V"});
  leave_latch("V", 7);
  EXPECT_TRUE(queue().empty());
}

TEST_P(LatchEnd, LeaveWithoutAClaimIsRefused) {
  EXPECT_EQ(run(scripts::kLatchLeave, latch_keys().leave, {"x"}).error_code(), "BELAYARGS");
  EXPECT_EQ(run(scripts::kLatchLeave, {}, {claim("V", 1)}).error_code(), "BELAYARGS");
}

TEST_P(LatchEnd, BreakTellsWaitersThatItIsGone) {
  listen({"V"});
  set(1);
  await("V");
  EXPECT_EQ(break_latch(0), "ok");
  EXPECT_TRUE(was_latch());
  const std::vector<Told> messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].kind, "passed");
  EXPECT_EQ(messages[0].how, 2);
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(await("V", 2).code, "missing");
  EXPECT_EQ(break_latch(0), "ok");
  EXPECT_FALSE(was_latch());
}

TEST_P(LatchEnd, BreakChangesNothingWhenItComesLate) {
  listen({"V"});
  set(1);
  await("V");
  const std::string before = contents();
  EXPECT_EQ(break_latch(0, now() - 1), "late");
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(told().empty());
}

TEST_P(LatchEnd, BreakOfAnotherGenerationLeavesItAlone) {
  const LatchReply latch = set(1);
  await("V");
  const std::string before = contents();
  EXPECT_EQ(break_latch(latch.generation + 1), "ok");
  EXPECT_FALSE(was_latch());
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(break_latch(latch.generation), "ok");
  EXPECT_TRUE(was_latch());
  EXPECT_EQ(look().code, "missing");
}

// As a client goes on: with a fence that there is not.
TEST_P(LatchEnd, BreakGoesOnWithTheWaitersAndSparesTheNextLatch) {
  set(1);
  for (int i = 0; i < kSkips + 1; ++i) {
    ASSERT_EQ(await("w" + std::to_string(i)).code, "queued");
  }
  listen({"w0", "w64"});
  EXPECT_EQ(break_latch(0), "more");
  EXPECT_EQ(told_briefly(), Names{"w0 passed 1"});
  EXPECT_EQ(look().code, "missing");
  EXPECT_EQ(await("w0", 2).code, "missing");
  EXPECT_EQ(break_latch(kNoFence), "ok");
  EXPECT_EQ(told_briefly(), Names{"w64 passed 1"});
  set(1);
  EXPECT_EQ(break_latch(kNoFence), "ok");
  EXPECT_EQ(look().code, "busy");
}

TEST_P(LatchEnd, InspectTellsTheLatchAndWhoWaits) {
  const LatchReply latch = set(3);
  count_down();
  await("V", 5);
  const Reply reply = run(scripts::kInspect, keys(), {"10"});
  ASSERT_EQ(reply.elements.size(), 7U) << reply.canonical();
  Unpacker record(reply.elements[1].text);
  record.bytes(3);
  EXPECT_EQ(record.number(), 2);
  record.bytes(24);
  EXPECT_EQ(record.number(), latch.generation);
  EXPECT_EQ(reply.elements[2].integer, 1);
  EXPECT_EQ(reply.elements[3].integer, 0);  // requests that were carried out are no members
  EXPECT_EQ(reply.elements[6].text.substr(0, 22), client_id("V"));
}

TEST_P(LatchEnd, InspectFindsNoLatchAfterItsTimeToLive) {
  set(3);
  lapse_latch();
  const Reply reply = run(scripts::kInspect, keys(), {"10"});
  ASSERT_EQ(reply.elements.size(), 5U) << reply.canonical();
  EXPECT_EQ(reply.elements[1].text, "");
}

// They may outlast its record.
TEST_P(LatchEnd, WaitersOfALatchAreGrantedNoLock) {
  listen({"A", "V", "W"});
  set(1);
  await("V");
  await("W");
  command({"DEL", record_key()});
  EXPECT_EQ(acquire("A").code, "granted");
  EXPECT_TRUE(queue().empty());
  EXPECT_TRUE(told().empty());
}

TEST_P(LatchEnd, WaitersOfALockAreNotToldOfALatch) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  told();
  command({"DEL", record_key()});
  EXPECT_EQ(set(1).code, "set");
  EXPECT_TRUE(queue().empty());
  for (const Told& message : told()) {
    EXPECT_NE(message.kind, "passed");
  }
}

ON_ALL_BACKENDS(LatchEnd);

}  // namespace
}  // namespace belay::test
