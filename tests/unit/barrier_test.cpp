// Waits for a latch, alone: whom the end of a generation lets pass.
#include "engine/barrier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dialect/latch.h"
#include "unit/parts.h"

namespace belay {
namespace {

class BarrierAlone : public EngineParts {
 protected:
  // Null if it has ended at once.
  Pending* acquire(std::int64_t tag, std::int64_t generation = 0, Micros wait = kNever) {
    AcquireRequest request;
    request.primitive = &latch_;
    request.name = "a";
    request.want.generation = generation;
    barrier_.acquire(tag, request, wait);
    return ledger_.pending(tag);
  }

  // Waits for the generation that runs.
  Pending& wait(std::int64_t tag) { return *acquire(tag); }

  // Waits for a given generation, which the server has said runs.
  Pending& wait_for(std::int64_t tag, std::int64_t generation) {
    Pending& pending = *acquire(tag, generation);
    static_cast<void>(flights_.take(std::exchange(pending.command, 0)));
    barrier_.wait(pending);
    return pending;
  }

  [[nodiscard]] Claim& claim() const { return *ledger_.find_claim(Kind::kLatch, "a"); }

  void queue(std::int64_t generation) {
    AcquireAnswer answer = told(AcquireCode::kQueued);
    answer.ticket = 7;
    answer.generation = generation;
    answer.look_in = 60 * kSecond;
    reply(answer);
  }

  void hear(std::int64_t generation, bool opened) {
    Message message;
    message.kind = MessageKind::kPassed;
    message.generation = generation;
    message.opened = opened;
    barrier_.on_passed(claim(), message);
    course_.reconcile(claim());
  }

  // The tags of those who were let pass, with the generation that let them.
  std::vector<std::int64_t> passed(std::int64_t by) {
    std::vector<std::int64_t> tags;
    for (const Event& event : events_.events) {
      EXPECT_EQ(event.status.code, BELAY_OK);
      EXPECT_EQ(event.generation, by);
      tags.push_back(event.tag);
    }
    return tags;
  }

  using Tags = std::vector<std::int64_t>;

  const LatchPrimitive& latch_ = dialect_.latch;
};

TEST_F(BarrierAlone, AsksWhetherAGivenGenerationRunsBeforeItWaits) {
  const Pending& pending = *acquire(1, 5);
  EXPECT_EQ(pending.claim, nullptr);
  EXPECT_NE(pending.query, nullptr);
  EXPECT_NE(pending.command, 0U);
  EXPECT_EQ(pending.reach_by, kNever);  // the wait has no end
  EXPECT_EQ(sent("EVAL").size(), 1U);
  now_ += kSecond;
  const Pending& limited = *acquire(2, 5, 9 * kSecond);
  EXPECT_EQ(limited.timer.at, now_ + config_.request_timeout);
  const Pending& short_one = *acquire(3, 5, kSecond);
  EXPECT_EQ(short_one.timer.at, now_ + kSecond);
}

TEST_F(BarrierAlone, EndsAtOnceWhereTheServerHasRefusedTheClient) {
  cut();
  now_ += kSecond;
  node_.on_timer(now_);
  node_.on_link_open(now_);
  answer("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  ASSERT_TRUE(node_.refused());
  acquire(1, 5);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, node_.trouble().code);
}

TEST_F(BarrierAlone, LetsThoseWaitTogetherWhoMeanTheSameGeneration) {
  const Pending& first = wait_for(1, 5);
  const Pending& second = wait(2);
  EXPECT_EQ(first.query, nullptr);
  EXPECT_EQ(first.claim, &claim());
  EXPECT_EQ(second.claim, &claim());
  EXPECT_EQ(ledger_.claims.size(), 1U);
}

TEST_F(BarrierAlone, TellsATryThatTheGenerationRuns) {
  barrier_.wait(*acquire(1, 5, 0));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_BUSY);
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(BarrierAlone, LetsThosePassForWhomTheServerWasAsked) {
  wait(1);
  wait(2);
  queue(5);
  queue(5);  // it was asked anew for the second, which may mean a later one
  wait(3);
  queue(5);
  hear(5, true);
  EXPECT_EQ(passed(5), (Tags{1, 2, 3}));
  EXPECT_TRUE(ledger_.pendings.empty());
}

TEST_F(BarrierAlone, KeepsWhomTheServerWasNotAskedForYet) {
  wait(1);
  queue(5);
  wait(2);
  hear(5, true);
  EXPECT_EQ(passed(5), Tags{1});
  EXPECT_EQ(claim().waiting.size(), 1U);
  EXPECT_EQ(claim().state, ClaimState::kAsking);  // under a new epoch
  EXPECT_TRUE(claim().leaving.empty());           // the server knows nothing of the old one
}

TEST_F(BarrierAlone, LetsWhoNamedTheGenerationPassHoweverLateItCame) {
  wait(1);
  queue(5);
  wait_for(2, 5);
  hear(5, true);
  EXPECT_EQ(passed(5), (Tags{1, 2}));
}

TEST_F(BarrierAlone, SendsThoseOffWhoMeanAnotherGeneration) {
  wait(1);
  Pending& other = wait_for(2, 4);
  const Pending& same = wait_for(3, 5);
  sent();
  barrier_.send_off_others(claim(), 5);
  EXPECT_EQ(claim().waiting.size(), 2U);
  EXPECT_TRUE(same.waits);
  EXPECT_FALSE(other.waits);
  EXPECT_EQ(other.claim, nullptr);
  EXPECT_NE(other.query, nullptr);
  EXPECT_EQ(sent("EVAL").size(), 1U);  // it asks about its own
  EXPECT_TRUE(events_.events.empty());
}

TEST_F(BarrierAlone, AsksTheServerWhereAMessageSaysAnythingElse) {
  wait(1);
  queue(5);
  sent();
  hear(4, true);
  EXPECT_EQ(sent("EVAL").size(), 1U);
  queue(5);
  hear(5, false);
  EXPECT_EQ(sent("EVAL").size(), 1U);
  EXPECT_TRUE(events_.events.empty());
}

}  // namespace
}  // namespace belay
