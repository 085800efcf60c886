// What a cancel ends, what it comes too late for, and for how long the server may keep what nobody
// waits for any longer. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <string>

#include "base/packing.h"
#include "dialect/queries.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;

class ACancel : public Greeted {
 protected:
  void acquire(std::int64_t tag) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = config_.watchdog_lease;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  void acquire_a_permit(std::int64_t tag) {
    AcquireRequest request;
    request.primitive = &dialect_.semaphore;
    request.name = "a";
    request.want.permits = 1;
    request.want.limit = 1;
    request.lease = config_.watchdog_lease;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  void acquire_both(std::int64_t tag, Micros wait = kNever) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.lease = config_.watchdog_lease;
    request.names = {{"a", Want()}, {"b", Want()}};
    ASSERT_TRUE(engine_.acquire(tag, request, wait, now_).ok());
  }

  // One of the two is taken: a is had then, and b is waited for.
  void have_a_and_wait_for_b() {
    answer(bulk(Packer().u8(3).number(kServerTime).number(kSecond).take()));
    answer(granted(kServerTime));
    answer(queued(kServerTime));
  }

  std::int64_t hold_one() {
    acquire(1);
    answer(granted(kServerTime));
    return last().hold;
  }

  std::int64_t hold_both() {
    acquire_both(1);
    Packer granted;
    granted.u8(1).number(kServerTime);
    granted.number(50).number(58).u8(0).number(60).number(68).u8(0);
    answer(bulk(granted.take()));
    return last().hold;
  }

  // To an extension, which also has the record watched.
  void renewed() {
    answer(bulk(Packer().number(kServerTime).u8(1).number(58).u8(0).take()));
    answer("+OK\r\n:1\r\n");
  }

  void cut() { node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_); }

  void reconnect() {
    now_ += kSecond;
    greet("6");
    answer(":1\r\n");  // the older connection was killed
  }

  void pass(Micros duration) {
    now_ += duration;
    engine_.on_timer(now_);
  }

  void cancel(std::int64_t tag) {
    events_.events.clear();
    ASSERT_TRUE(engine_.cancel(tag, now_).ok());
  }

  const Event& last() { return events_.events.back(); }

  void expect_cancelled(std::int64_t tag) {
    ASSERT_EQ(events_.events.size(), 1U);
    EXPECT_EQ(last().tag, tag);
    EXPECT_EQ(last().status.code, BELAY_CANCELLED);
  }

  void expect_in_doubt(std::int64_t tag) {
    expect_cancelled(tag);
    EXPECT_NE(last().status.message, "");
    EXPECT_GE(last().in_doubt, config_.watchdog_lease - 2 * kSecond);
    EXPECT_LE(last().in_doubt, config_.watchdog_lease + config_.request_timeout + kSecond);
  }

  void expect_known(std::int64_t tag) {
    expect_cancelled(tag);
    EXPECT_EQ(last().in_doubt, 0);
  }

  // Whether a script was sent since the last time.
  bool sent() {
    bool any = false;
    for (const std::string& bytes : link_.sent) {
      any = any || bytes.find("EVAL") != std::string::npos;
    }
    link_.sent.clear();
    return any;
  }
};

TEST_F(ACancel, OfAnAcquireThatTheServerHasNotAnsweredIsInDoubt) {
  acquire(1);
  cancel(1);
  expect_in_doubt(1);
}

TEST_F(ACancel, OfAnAcquireThatWasCutOffIsInDoubt) {
  acquire(1);
  cut();
  cancel(1);
  expect_in_doubt(1);
  EXPECT_NE(last().status.message.find("cut"), std::string::npos);
}

TEST_F(ACancel, OfAnAcquireThatWaitsForAnotherHolderIsNot) {
  acquire(1);
  answer(queued(kServerTime));
  cancel(1);
  expect_known(1);
  EXPECT_EQ(last().status.message, "");
}

TEST_F(ACancel, OfAnAcquireThatTheServerCannotTakeNowIsNot) {
  for (const char* const words :
       {"NOREPLICAS Not enough good replicas to write.",
        "LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script."}) {
    events_.events.clear();
    acquire(1);
    answer("-" + std::string(words) + "\r\n");
    sent();
    cancel(1);
    expect_known(1);
    EXPECT_NE(last().status.message.find(words), std::string::npos);
    EXPECT_FALSE(sent());  // there is nothing to leave
  }
}

TEST_F(ACancel, OfWhatTheServerCannotTakeNowIsInDoubtWhereAnEarlierAskWasCutOff) {
  acquire(1);
  cut();
  reconnect();
  answer("-NOREPLICAS Not enough good replicas to write.\r\n");
  sent();
  cancel(1);
  expect_in_doubt(1);
  EXPECT_TRUE(sent());
}

// Each request for permits is a claim of its own. The server tells it to look until it has left.
TEST_F(ACancel, OfAWaitForAPermitLeavesOnceWhateverTheServerStillTellsIt) {
  acquire_a_permit(1);
  answer(queued(kServerTime));
  sent();
  cancel(1);
  EXPECT_TRUE(sent());
  for (int i = 0; i < 1000; ++i) {
    answer(pushed(me_, Packer()
                           .u8(static_cast<std::uint8_t>(MessageKind::kNext))
                           .u8(static_cast<std::uint8_t>(Kind::kSemaphore))
                           .number(1)
                           .number(kServerTime)
                           .number(0)
                           .bytes(key_of(me_.prefix, 'r', "a"))
                           .take()));
  }
  EXPECT_FALSE(sent());
  EXPECT_EQ(core_.router().dropped_messages(), 0U);
}

TEST_F(ACancel, OfAnAcquireThatWasNeverSentIsNot) {
  cut();
  acquire(1);
  cancel(1);
  expect_known(1);
  EXPECT_NE(last().status.message, "");
}

TEST_F(ACancel, OfSeveralNamesThatTheServerHasNotAnsweredIsInDoubt) {
  acquire_both(1);
  cancel(1);
  expect_in_doubt(1);
}

TEST_F(ACancel, OfSeveralNamesThatWaitForAnotherHolderIsNot) {
  acquire_both(1);
  have_a_and_wait_for_b();
  cancel(1);
  expect_known(1);
  EXPECT_EQ(last().status.message, "");
}

// Nobody can tell the server now that the first is given back.
TEST_F(ACancel, OfSeveralNamesOfWhichOneIsHadWithoutAConnectionIsInDoubt) {
  acquire_both(1);
  have_a_and_wait_for_b();
  cut();
  cancel(1);
  expect_in_doubt(1);
}

TEST_F(ACancel, IsNotNeededForThat) {
  acquire_both(1, kSecond);
  have_a_and_wait_for_b();
  cut();
  pass(kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(last().status.code, BELAY_UNAVAILABLE);
  EXPECT_GE(last().in_doubt, config_.watchdog_lease - 2 * kSecond);
}

TEST_F(ACancel, OfAReleaseLetsItGoOn) {
  ASSERT_TRUE(engine_.release(2, hold_one(), now_).ok());
  sent();
  cancel(2);
  expect_in_doubt(2);
  cut();
  reconnect();
  EXPECT_TRUE(sent());
  answer(bulk(Packer().u8(1).number(kServerTime).number(0).take()));
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(ACancel, OfAReleaseOfSeveralNamesEndsItOnce) {
  ASSERT_TRUE(engine_.release(2, hold_both(), now_).ok());
  cancel(2);
  expect_in_doubt(2);
  pass(config_.request_timeout);
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(ACancel, OfAChangeThatWasNotSentEndsIt) {
  cut();
  ASSERT_TRUE(engine_.query(1, break_query(dialect_, "a", 7), now_).ok());
  cancel(1);
  expect_known(1);
  EXPECT_NE(last().status.message, "");
  reconnect();
  EXPECT_FALSE(sent());
}

TEST_F(ACancel, OfAChangeThatWasSentComesTooLate) {
  ASSERT_TRUE(engine_.query(1, break_query(dialect_, "a", 7), now_).ok());
  cancel(1);
  EXPECT_TRUE(events_.events.empty());
  cut();
  cancel(1);
  EXPECT_TRUE(events_.events.empty());
  pass(config_.request_timeout);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(last().status.code, BELAY_UNAVAILABLE);
  EXPECT_GT(last().in_doubt, 0);
}

TEST_F(ACancel, OfAnExtensionThatWasNotSentEndsIt) {
  const std::int64_t hold = hold_one();
  cut();
  ASSERT_TRUE(engine_.extend(2, hold, 10 * kSecond, now_).ok());
  cancel(2);
  expect_known(2);
}

TEST_F(ACancel, OfAnExtensionOfSeveralNamesThatWasNotSentEndsItOnce) {
  const std::int64_t hold = hold_both();
  cut();
  ASSERT_TRUE(engine_.extend(2, hold, 10 * kSecond, now_).ok());
  cancel(2);
  expect_known(2);
  pass(config_.request_timeout);
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(ACancel, OfAnExtensionThatWasSentComesTooLate) {
  ASSERT_TRUE(engine_.extend(2, hold_one(), 10 * kSecond, now_).ok());
  cancel(2);
  EXPECT_TRUE(events_.events.empty());
  renewed();
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(last().status.ok());
}

TEST_F(ACancel, OfAnExtensionOfSeveralNamesThatWasSentComesTooLate) {
  ASSERT_TRUE(engine_.extend(2, hold_both(), 10 * kSecond, now_).ok());
  cancel(2);
  renewed();
  EXPECT_TRUE(events_.events.empty());
  renewed();
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(last().status.ok());
}

TEST_F(ACancel, OfADowngradeThatWasNotSentTakesItBack) {
  const std::int64_t hold = hold_one();
  cut();
  ASSERT_TRUE(engine_.downgrade(2, hold, "readers", now_).ok());
  cancel(2);
  expect_known(2);
  link_.sent.clear();
  reconnect();
  for (const std::string& command : link_.sent) {
    EXPECT_EQ(command.find("readers"), std::string::npos);
  }
  renewed();
  ASSERT_TRUE(engine_.downgrade(3, hold, "readers", now_).ok());  // it still is exclusive
}

// The second waits for what the first has begun, and nobody takes a reader's share.
TEST_F(ACancel, OfADowngradeThatIsNotTheOnlyOneTakesNothingBack) {
  const std::int64_t hold = hold_one();
  cut();
  ASSERT_TRUE(engine_.downgrade(2, hold, "readers", now_).ok());
  ASSERT_TRUE(engine_.downgrade(3, hold, "readers", now_).ok());
  cancel(3);
  cancel(2);
  EXPECT_TRUE(events_.events.empty());
  link_.sent.clear();
  reconnect();
  bool shares = false;
  for (const std::string& command : link_.sent) {
    shares = shares || command.find("readers") != std::string::npos;
  }
  EXPECT_TRUE(shares);
}

// It rides on renewals.
TEST_F(ACancel, OfADowngradeThatWasSentComesTooLate) {
  ASSERT_TRUE(engine_.downgrade(2, hold_one(), "readers", now_).ok());
  cancel(2);
  EXPECT_TRUE(events_.events.empty());
  cut();
  cancel(2);
  EXPECT_TRUE(events_.events.empty());
}

// Else whoever asks and gives up at once makes renewals wait behind what nobody wants.
TEST_F(ACancel, OfMoreThanTheServerHasAnsweredHoldsBackWhatIsAskedForNext) {
  constexpr std::int64_t kMost = 32;
  for (std::int64_t tag = 1; tag <= kMost; ++tag) {
    acquire_a_permit(tag);
    cancel(tag);
  }
  EXPECT_TRUE(sent());
  acquire_a_permit(kMost + 1);
  EXPECT_FALSE(sent());
  cancel(kMost + 1);  // costs the server nothing
  EXPECT_EQ(last().in_doubt, 0);
  acquire_a_permit(kMost + 2);
  EXPECT_FALSE(sent());
  answer(bulk(Packer().u8(3).number(kServerTime).number(kSecond).take()));
  EXPECT_FALSE(sent());
  answer(bulk(Packer().u8(2).number(kServerTime).number(0).take()));
  EXPECT_TRUE(sent());
}

// What was given up on a connection that broke is left on the next, and counts anew.
TEST_F(ACancel, OfThatManyHoldsBackWhatIsAskedForAfterACutNoLonger) {
  for (std::int64_t tag = 1; tag <= 32; ++tag) {
    acquire_a_permit(tag);
    cancel(tag);
  }
  acquire(33);
  cut();
  reconnect();
  EXPECT_TRUE(sent());
  answer(bulk(Packer().u8(2).number(kServerTime).number(0).take()));
  EXPECT_TRUE(sent());
}

}  // namespace
}  // namespace belay
