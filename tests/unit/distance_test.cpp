// A server that is far away, command by command. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/packing.h"
#include "dialect/mac.h"
#include "unit/greeted.h"

namespace belay {
namespace {

class Distance : public Greeted {
 protected:
  // So long the server takes from now on.
  void move_away(Micros round_trip) {
    for (int i = 0; i < 4; ++i) {
      node_.refresh_clock(now_);
      now_ += round_trip;
      answer("*2\r\n$3\r\n100\r\n$1\r\n0\r\n");
    }
    link_.sent.clear();
  }

  void acquire(std::int64_t tag, Micros lease, const std::string& group = "") {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.want.group = group;
    request.lease = lease;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  // Of the latest acquire: after the client's id, the epoch, the lease and the not-after.
  Micros grant_lease_asked_for() {
    const std::string& sent = link_.sent.back();
    const std::size_t packed = sent.find(me_.client + std::string("\0\0", 2));
    Unpacker fields(std::string_view(sent).substr(packed + me_.client.size()));
    fields.bytes(24);
    return fields.number();
  }

  void grant_by_message(Micros grant_lease) {
    answer(pushed(me_, GrantMessage{1, 100 * kSecond, 50, grant_lease}.payload(me_)));
  }

  void grant_after(Micros round_trip) {
    now_ += round_trip;
    answer(granted(100 * kSecond));
  }

  void queue_after(Micros round_trip, Micros remaining = kSecond) {
    now_ += round_trip;
    answer(queued(100 * kSecond, remaining));
  }
};

// The grant is for those who are told that they are too far away, not for whoever is next.
TEST_F(Distance, WhatReadersWereGrantedIsNotAWriters) {
  acquire(1, kSecond, "r");
  acquire(2, 10 * kSecond);
  queue_after(kMillisecond, 60 * kSecond);
  move_away(kSecond);
  grant_by_message(8 * kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 1);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
}

TEST_F(Distance, ALeaseBelowFourRoundTripsIsRefusedAndGivenBack) {
  move_away(kSecond);
  acquire(1, 3999 * kMillisecond);
  grant_after(kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_EQ(events_.events[0].status.message,
            "a round trip to localhost:6379 takes 1000 ms: 4 of them are more than the lease of "
            "3999 ms");
  EXPECT_EQ(link_.sent.size(), 2U);  // the leave follows
}

TEST_F(Distance, ALeaseOfFourRoundTripsIsGranted) {
  move_away(kSecond);
  acquire(1, 4 * kSecond);
  grant_after(kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_OK);
}

TEST_F(Distance, OnlyThoseWhoseLeaseIsTooShortAreRefused) {
  move_away(kSecond);
  acquire(1, kSecond);
  acquire(2, 10 * kSecond);
  grant_after(kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 1);
  grant_after(kSecond);  // asked for anew, with the lease of the other
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
}

TEST_F(Distance, AWaiterIsToldWhenItIsQueued) {
  move_away(kSecond);
  acquire(1, kSecond);
  queue_after(kSecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
}

// Its record stands, wherever the grant is worth nothing.
TEST_F(Distance, AGrantThatCameTooLateIsLeftUntilItsLeaseHasEnded) {
  move_away(kSecond);
  acquire(1, 3999 * kMillisecond);
  grant_after(kSecond);
  for (int second = 0; second < 3; ++second) {
    link_.sent.clear();
    answer("-NOPERM no permissions to run the 'evalsha' command\r\n");
    now_ += kSecond;
    engine_.on_timer(now_);
    EXPECT_EQ(link_.sent.size(), 1U) << second;
  }
  now_ += 1100 * kMillisecond;
  answer("-NOPERM no permissions to run the 'evalsha' command\r\n");
  link_.sent.clear();
  now_ += 2 * kSecond;
  engine_.on_timer(now_);
  EXPECT_TRUE(link_.sent.empty());
}

// The latest poll was 6 s ago, both clocks drift by as much as they may, and it is not told to be
// at risk: the grant was on its way for half a round trip, as was the sample of the clock.
TEST_F(Distance, AGrantLeavesTimeForItsConfirmation) {
  for (Micros trip = kMillisecond; trip <= 200 * kMillisecond; trip += kMillisecond) {
    move_away(trip);
    acquire(trip, 10 * kSecond);
    const Micros lease = grant_lease_asked_for();
    const Micros drift = 2 * 6 * kSecond / 200;
    EXPECT_GE(lease - lease_margin(lease) - lease / 12 - drift, 2 * trip) << trip;
    ASSERT_TRUE(engine_.cancel(trip, now_).ok());
    answer("-NOPERM no\r\n");
  }
}

// Who comes next waits for the grant lease, should its waiter have died.
TEST_F(Distance, NoGrantLeaseIsLongerThanTheLeaseThatIsAskedFor) {
  move_away(200 * kMillisecond);
  acquire(1, 10 * kSecond);
  EXPECT_EQ(grant_lease_asked_for(), 860 * kMillisecond);
  queue_after(200 * kMillisecond);
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  acquire(2, 800 * kMillisecond);
  EXPECT_EQ(grant_lease_asked_for(), 800 * kMillisecond);
}

TEST_F(Distance, BeyondHalfTheRequestTimeoutNothingIsGranted) {
  move_away(2600 * kMillisecond);
  acquire(1, kMaxLease);
  grant_after(2600 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_EQ(events_.events[0].status.message,
            "a round trip to localhost:6379 takes 2600 ms: more than half the request timeout of "
            "5000 ms");
}

TEST_F(Distance, APauseOfTheServerIsNoDistance) {
  acquire(1, kSecond);
  grant_after(600 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_OK);
}

}  // namespace
}  // namespace belay
