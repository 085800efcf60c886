// A server that is far away, command by command. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/packing.h"
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

  void acquire(std::int64_t tag, Micros lease) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = lease;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  void grant_after(Micros round_trip) {
    now_ += round_trip;
    answer(bulk(Packer().u8(1).number(100 * kSecond).number(50).number(58).u8(0).number(1).take()));
  }

  void queue_after(Micros round_trip) {
    now_ += round_trip;
    answer(bulk(Packer()
                    .u8(2)
                    .number(100 * kSecond)
                    .number(0)
                    .number(kSecond)
                    .number(7)
                    .number(0)
                    .number(0)
                    .take()));
  }
};

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
