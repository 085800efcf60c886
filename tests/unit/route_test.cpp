// Slots, where errors send us, the clock bound, what errors mean.
#include <gtest/gtest.h>

#include "belay/belay.h"
#include "route/clock_bound.h"
#include "route/redirection.h"
#include "route/round_trips.h"
#include "route/server_error.h"
#include "route/slot.h"

namespace belay {
namespace {

TEST(Slot, IsWhatClusterSays) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3 % kSlots);  // the check value of CRC16/XMODEM
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(hash_tag("foo{}{bar}"), "foo{}{bar}");
  EXPECT_EQ(hash_tag("foo{{bar}}zap"), "{bar");
}

TEST(Slot, HasATagOfItsOwn) {
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
    ASSERT_EQ(slot_of(slot_tag(slot)), slot);
  }
}

TEST(Redirection, SaysWhereASlotIs) {
  const Endpoint from{"10.0.0.1", 7000, "", true};
  const auto read = [&from](std::string_view error) {
    const auto found = read_redirection(error, from);
    return !found ? "nothing"
                  : (found->has_moved ? "moved " : "on its way ") + std::to_string(found->slot) +
                        " " + found->where.display() + (found->where.tls ? " by TLS" : "");
  };
  EXPECT_EQ(read("MOVED 3999 127.0.0.1:6381"), "moved 3999 127.0.0.1:6381 by TLS");
  EXPECT_EQ(read("ASK 0 a.example:1"), "on its way 0 a.example:1 by TLS");
  EXPECT_EQ(read("MOVED 16383 :65535"), "moved 16383 10.0.0.1:65535 by TLS");
  EXPECT_EQ(read_redirection("MOVED 1 ::1:6381", from)->where.host, "::1");
  const Endpoint socket{"", 0, "/run/redis.sock", false};
  EXPECT_EQ(read_redirection("MOVED 1 a:1", socket)->where.display(), "a:1");
  EXPECT_FALSE(read_redirection("MOVED 1 :1", socket));
  for (const std::string_view wrong :
       {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 a", "MOVED 1 a:", "MOVED 1 a:x",
        "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED x a:1",
        "MOVED 1a b:1", "MOVED:1 2", "moved 1 a:1", "ASKING 1 a:1", "ERR MOVED 1 a:1"}) {
    EXPECT_EQ(read(wrong), "nothing") << wrong;
  }
}

TEST(RoundTrips, HighestDecaysAndLeastIsOfTheLatestFour) {
  RoundTrips trips;
  trips.sample(0, 80);
  EXPECT_EQ(trips.highest(), 80);
  trips.sample(100, 110);
  EXPECT_EQ(trips.highest(), 70);
  for (Micros sent = 200; sent < 600; sent += 100) {
    EXPECT_EQ(trips.least(), 10);
    trips.sample(sent, sent + 90);
  }
  EXPECT_EQ(trips.least(), 90);
}

TEST(RoundTrips, WhatIsUnderwayTogetherCountsOnce) {
  RoundTrips trips;
  trips.sample(0, 10);
  for (Micros sent = 100; sent < 200; ++sent) {  // while the server stands still
    trips.sample(sent, 300);
  }
  EXPECT_EQ(trips.least(), 10);
}

TEST(ClockBound, KeepsTheLeastOfWhatRepliesAllow) {
  ClockBound clock;
  clock.sample({1'000'000}, 0, 500);
  EXPECT_EQ(clock.bound(500), 1'000'000);
  clock.sample({1'001'000}, 1500, 1600);  // a faster round trip: less doubt
  EXPECT_EQ(clock.bound(1600), 999'500);
  clock.sample({1'003'000}, 2000, 4000);
  EXPECT_EQ(clock.bound(1600), 999'500);
}

TEST(ClockBound, AgesByHalfAPercent) {
  ClockBound clock;
  clock.sample({1'000'000}, 0, 0);
  EXPECT_EQ(clock.bound(10 * kSecond), 1'000'000 + 50 * kMillisecond);
}

TEST(ClockBound, IsUnknownAfterThirtySecondsWithoutASample) {
  ClockBound clock;
  EXPECT_FALSE(clock.known(0));
  clock.sample({1'000'000}, 0, 0);
  EXPECT_TRUE(clock.known(30 * kSecond));
  EXPECT_FALSE(clock.known(30 * kSecond + 1));
}

TEST(ClockBound, TellsWhenTheServersClockIsPastATime) {
  ClockBound clock;
  clock.sample({1'000'000}, 300, 500);  // read at 500 at the latest
  EXPECT_EQ(clock.passed_by({1'000'000}), 501);
  EXPECT_EQ(clock.passed_by({1'000'000 + 10 * kSecond}), 501 + 10 * kSecond + 50 * kMillisecond);
}

TEST(ClockBound, IsDroppedWhenTheServerJumpsAhead) {
  ClockBound clock;
  clock.sample({1'000'000}, 0, 0);
  clock.notice({5'000'000}, 1000);
  EXPECT_FALSE(clock.known(1000));
}

TEST(ClockBound, LearnsNothingFromAMessageThatMayHaveBeenUnderWayForLong) {
  ClockBound clock;
  clock.notice({1'000'000}, 5);
  EXPECT_FALSE(clock.known(5));
}

TEST(ServerError, TellsWhatHelps) {
  EXPECT_EQ(classify_error("NOSCRIPT No matching script").remedy, Remedy::kAskAgain);
  EXPECT_EQ(classify_error("LOADING Redis is loading").remedy, Remedy::kWait);
  EXPECT_EQ(classify_error("BUSY Redis is busy").remedy, Remedy::kWait);
  EXPECT_EQ(classify_error("READONLY You can't write").remedy, Remedy::kReconnect);
  EXPECT_EQ(classify_error("MASTERDOWN Link with MASTER is down").remedy, Remedy::kReconnect);
  EXPECT_EQ(classify_error("ERR Error running script (call to f_0): @user_script:1: -READONLY You "
                           "can't write against a read only replica.")
                .remedy,
            Remedy::kReconnect);
  EXPECT_EQ(classify_error("OOM command not allowed").status, BELAY_SERVER_ERROR);
  EXPECT_EQ(classify_error("NOPERM this user").status, BELAY_NOT_PERMITTED);
  EXPECT_EQ(classify_error("ERR ACL failure in script: User").status, BELAY_NOT_PERMITTED);
  EXPECT_EQ(classify_error("ERR The user executing the script can't run").status,
            BELAY_NOT_PERMITTED);
  EXPECT_EQ(classify_error("WRONGPASS invalid").status, BELAY_AUTH_FAILED);
  EXPECT_EQ(classify_error("BELAYTYPE key").status, BELAY_WRONG_TYPE);
  EXPECT_EQ(classify_error("ERR anything else").status, BELAY_SERVER_ERROR);
}

// Whatever part of it is a password: what it means is another question than what is shown.
TEST(ServerError, IsShownWithoutTheSecretsThatWeSent) {
  const auto shown = [](std::string_view words, std::string_view password) {
    Credentials us;
    us.user = "me";
    us.password = Secret(password);
    return explained(words, us);
  };
  EXPECT_EQ(shown("NOPERM this user has no permissions", "R"),
            "NOPE***M this user has no permissions (user 'me')");
  EXPECT_EQ(shown("WRONGPASS 'AUTH' 'me' 'T'", "T"), "WRONGPASS 'AU***H' 'me' '***' (user 'me')");
  EXPECT_EQ(shown("ERR a secret", "secret"), "ERR a ***");
  EXPECT_EQ(shown("ERR a secret", ""), "ERR a secret");
}

TEST(ServerError, HasTheWordsOfAnErrorOnly) {
  const auto words_of = [](std::string_view bytes) {
    std::string words;
    ReplyReader reader;
    EXPECT_EQ(reader.feed(bytes,
                          [&words](Reply reply) {
                            words = error_words(reply);
                            return true;
                          }),
              "");
    return words;
  };
  EXPECT_EQ(words_of("-OOM no memory\r\n"), "OOM no memory");
  EXPECT_EQ(words_of("$4\r\nBUSY\r\n"), "ERR the reply is none of the script's");
  EXPECT_EQ(words_of("_\r\n"), "ERR the reply is none of the script's");
}

}  // namespace
}  // namespace belay
