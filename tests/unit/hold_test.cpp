// What holds go through, command by command. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;
constexpr Micros kLookAfter = 5 * kMillisecond;  // what is added to when to look

class Holds : public Greeted {
 protected:
  void acquire(std::int64_t tag, Micros lease, std::int64_t owner = 0) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = lease;
    request.owner = owner;
    request.notify = true;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  void grant() { answer(granted(kServerTime)); }

  void queue() { answer(queued(kServerTime)); }

  void grant_by_message(Micros grant_lease) {
    answer(pushed(me_, GrantMessage{1, kServerTime, 50, grant_lease}.payload(me_)));
  }

  void tell_to_look(Micros look_in) {
    const std::string key = "belay:r:{a}";
    answer(pushed(me_,
                  Packer().u8(2).u8(1).number(1).number(kServerTime).number(look_in).take() + key));
  }

  void not_ours() { answer(bulk(Packer().u8(2).number(kServerTime).number(0).take())); }

  void renewed() { answer(bulk(Packer().number(kServerTime).u8(1).number(58).u8(0).take())); }

  void pass(Micros duration) {
    now_ += duration;
    engine_.on_timer(now_);
  }

  // Until nobody is asked any more: the server is gone.
  void cut() { node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_); }

  // The latest event, which is in doubt.
  Micros doubt(std::int32_t kind) {
    EXPECT_EQ(events_.events.back().kind, kind);
    EXPECT_EQ(events_.events.back().status.code, BELAY_UNAVAILABLE);
    return events_.events.back().in_doubt;
  }

  // Of a release: what it asked for came in time by the server's clock, which may drift meanwhile.
  void expect_doubt(Micros duration) {
    const Micros actual = doubt(BELAY_EVENT_RELEASED);
    EXPECT_GE(actual, duration);
    EXPECT_LE(actual, duration + 2 * config_.request_timeout / 200);
  }

  // How many scripts were called since the last time.
  std::int64_t scripts() {
    const auto count = std::count_if(
        link_.sent.begin(), link_.sent.end(),
        [](const std::string& bytes) { return bytes.find("EVAL") != std::string::npos; });
    link_.sent.clear();
    return count;
  }
};

// What was at risk as its confirmation was overdue is not any more when that has come.
TEST_F(Holds, AFixedLeaseRecoversWhenItIsConfirmed) {
  acquire(1, 5 * kSecond);
  queue();
  grant_by_message(300 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 1U);
  const std::int64_t hold = events_.events[0].hold;
  pass(100 * kMillisecond);
  pass(120 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_AT_RISK);
  EXPECT_EQ(engine_.look(hold, now_).state, BELAY_HOLD_AT_RISK);
  renewed();
  ASSERT_EQ(events_.events.size(), 3U);
  EXPECT_EQ(events_.events[2].kind, BELAY_EVENT_RECOVERED);
  EXPECT_EQ(engine_.look(hold, now_).state, BELAY_HOLD_HELD);
}

// Also where it ends soon: nothing is to be renewed.
TEST_F(Holds, AShortFixedLeaseRecoversWhenItIsConfirmed) {
  acquire(1, 250 * kMillisecond);
  queue();
  grant_by_message(300 * kMillisecond);
  pass(100 * kMillisecond);
  pass(120 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 2U);
  renewed();
  ASSERT_EQ(events_.events.size(), 3U);
  EXPECT_EQ(events_.events[2].kind, BELAY_EVENT_RECOVERED);
  pass(kSecond);
  EXPECT_EQ(events_.events.back().kind, BELAY_EVENT_LOST);
}

// Nothing takes back that the watchdog has stopped.
TEST_F(Holds, AMaxHoldThatWasReachedStaysAtRisk) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  request.max_hold = 5 * kSecond;
  request.notify = true;
  ASSERT_TRUE(engine_.acquire(1, request, kNever, now_).ok());
  grant();
  pass(5 * kSecond);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_AT_RISK);
  ASSERT_TRUE(engine_.verify(2, events_.events[0].hold, now_).ok());
  renewed();  // the first renewal, to watch the record
  answer("+OK\r\n:1\r\n");
  renewed();
  EXPECT_EQ(events_.events.back().kind, BELAY_EVENT_VERIFIED);
  EXPECT_EQ(engine_.look(events_.events[0].hold, now_).state, BELAY_HOLD_AT_RISK);
}

// It may arrive at the end of the request timeout, and last from then on.
TEST_F(Holds, AnExtensionIsInDoubtForItsLeaseAndTheRequestTimeout) {
  acquire(1, kMaxLease);
  grant();
  ASSERT_TRUE(engine_.extend(2, events_.events[0].hold, 60 * kSecond, now_).ok());
  cut();
  pass(config_.request_timeout);
  EXPECT_EQ(doubt(BELAY_EVENT_EXTENDED), config_.request_timeout + 60 * kSecond);
}

// The record lapses half a percent later than the lease says, by our clock.
TEST_F(Holds, AReleaseIsInDoubtUntilTheRecordHasLapsed) {
  acquire(1, 10 * kSecond);
  grant();
  pass(500 * kMillisecond);
  ASSERT_TRUE(engine_.release(2, events_.events[0].hold, now_).ok());
  cut();
  pass(config_.request_timeout);
  EXPECT_EQ(doubt(BELAY_EVENT_RELEASED), 10 * kSecond + 50 * kMillisecond - 5500 * kMillisecond);
}

TEST_F(Holds, AReleaseIsInDoubtUntilWhatWasRenewedHasLapsed) {
  acquire(1, 0);
  grant();
  pass(kSecond);  // it is renewed, to be watched
  renewed();
  ASSERT_TRUE(engine_.release(2, events_.events[0].hold, now_).ok());
  cut();
  pass(config_.request_timeout);
  EXPECT_EQ(doubt(BELAY_EVENT_RELEASED),
            30 * kSecond + 150 * kMillisecond - config_.request_timeout);
}

// It did nothing, and goes out again.
TEST_F(Holds, ARenewalThatCameLateIsAskedForAgain) {
  acquire(1, 0);
  grant();
  pass(kSecond);
  scripts();
  answer(bulk(Packer().u8(4).number(kServerTime + 10 * kSecond).take()));
  pass(0);
  EXPECT_EQ(scripts(), 1);
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(Holds, AReleaseIsInDoubtUntilWhatMayHaveBeenRenewedBeforeHasLapsed) {
  acquire(1, 0);
  grant();
  pass(kSecond);
  cut();
  ASSERT_TRUE(engine_.release(2, events_.events[0].hold, now_).ok());
  pass(config_.request_timeout);
  expect_doubt(30 * kSecond + 150 * kMillisecond);
}

TEST_F(Holds, AReleaseIsInDoubtUntilWhatMayHaveBeenRenewedBesideItHasLapsed) {
  acquire(1, 0);
  grant();
  pass(kSecond);
  ASSERT_TRUE(engine_.release(2, events_.events[0].hold, now_).ok());
  cut();
  pass(config_.request_timeout);
  expect_doubt(30 * kSecond + 150 * kMillisecond);
}

// Nobody knows whether it took place.
TEST_F(Holds, AReleaseIsInDoubtUntilWhatMayHaveBeenExtendedHasLapsed) {
  acquire(1, 10 * kSecond);
  grant();
  ASSERT_TRUE(engine_.extend(2, events_.events[0].hold, 100 * kSecond, now_).ok());
  cut();
  ASSERT_TRUE(engine_.release(3, events_.events[0].hold, now_).ok());
  pass(config_.request_timeout);
  expect_doubt(100 * kSecond + 500 * kMillisecond);
}

// It may have been granted for longer than who was served in the end had asked for.
TEST_F(Holds, AReleaseIsInDoubtUntilWhatAnAskThatWasCutOffMayHaveGotHasLapsed) {
  acquire(1, 60 * kSecond);
  acquire(2, 10 * kSecond);
  cut();
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  now_ += kSecond;
  greet("6");
  answer(":1\r\n");  // the older connection was killed
  grant();
  ASSERT_EQ(events_.events.back().kind, BELAY_EVENT_ACQUIRED);
  ASSERT_EQ(events_.events.back().tag, 2);
  ASSERT_TRUE(engine_.release(3, events_.events.back().hold, now_).ok());
  cut();
  pass(config_.request_timeout);
  expect_doubt(60 * kSecond + 300 * kMillisecond - kSecond);
}

TEST_F(Holds, AFreedClientReleasesWhatItHas) {
  acquire(1, 0, 7);
  grant();
  scripts();
  ASSERT_TRUE(engine_.shutdown(now_).ok());
  EXPECT_EQ(scripts(), 1);
}

// Whoever abandons may still be at work: the name stays its own until the lease ends.
TEST_F(Holds, AFreedClientReleasesNothingThatWasAbandonedOnce) {
  acquire(1, 0, 7);
  grant();
  acquire(2, 0, 7);
  ASSERT_EQ(events_.events.size(), 2U);
  ASSERT_TRUE(engine_.abandon(events_.events[0].hold, now_).ok());
  scripts();
  ASSERT_TRUE(engine_.shutdown(now_).ok());
  EXPECT_EQ(scripts(), 0);
  EXPECT_EQ(events_.events.back().kind, BELAY_EVENT_END);
}

// It was missed, and may have been broken since. Somebody sends it again.
TEST_F(Holds, AGrantByAMessageOfBeforeTheConnectionIsNotBelieved) {
  acquire(1, 0);
  queue();
  cut();
  now_ += kSecond;
  greet("6");
  answer(":1\r\n");  // the older connection was killed
  scripts();
  grant_by_message(300 * kMillisecond);
  EXPECT_TRUE(events_.events.empty());
  now_ += kMillisecond;
  answer(pushed(me_,
                GrantMessage{1, kServerTime + kMillisecond, 50, 300 * kMillisecond}.payload(me_)));
  EXPECT_EQ(events_.events.size(), 1U);
}

// The server has answered: it is no longer the request timeout that counts.
TEST_F(Holds, AWaitBehindALocalOwnerWhoWasBeingGrantedEndsInTime) {
  acquire(1, 0);
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  ASSERT_TRUE(engine_.acquire(2, request, kSecond, now_).ok());  // before the answer
  grant();
  pass(kSecond - 1);
  ASSERT_EQ(events_.events.size(), 1U);
  pass(1);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].tag, 2);
  EXPECT_EQ(events_.events[1].status.code, BELAY_TIMEOUT);
}

// Nobody else may look in its place: the maker of that handoff may have ended.
TEST_F(Holds, AWaiterThatGivesUpLooksWhenItWasToldTo) {
  acquire(1, 10 * kSecond);
  queue();
  tell_to_look(300 * kMillisecond);
  pass(100 * kMillisecond);
  scripts();
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  EXPECT_EQ(scripts(), 1);
  not_ours();
  pass(200 * kMillisecond);
  EXPECT_EQ(scripts(), 0);
  pass(kLookAfter);
  EXPECT_EQ(scripts(), 1);
  not_ours();
  pass(10 * kSecond);
  EXPECT_EQ(scripts(), 0);
}

// It has looked already, or was never told to.
TEST_F(Holds, AWaiterThatGivesUpAfterItHasLookedLeavesOnce) {
  acquire(1, 10 * kSecond);
  queue();
  tell_to_look(300 * kMillisecond);
  pass(300 * kMillisecond + kLookAfter);
  queue();
  scripts();
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  EXPECT_EQ(scripts(), 1);
  not_ours();
  pass(10 * kSecond);
  EXPECT_EQ(scripts(), 0);
}

// It has no time to look itself: its next leave tells others to.
TEST_F(Holds, AWaiterWhoseClientEndsLeavesWhatItWasToldToLookAfterAtOnce) {
  acquire(1, 10 * kSecond);
  queue();
  tell_to_look(300 * kMillisecond);
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  scripts();
  ASSERT_TRUE(engine_.shutdown(now_).ok());
  not_ours();
  pass(0);
  EXPECT_EQ(scripts(), 1);
  not_ours();
  EXPECT_EQ(events_.events.back().kind, BELAY_EVENT_END);
}

}  // namespace
}  // namespace belay
