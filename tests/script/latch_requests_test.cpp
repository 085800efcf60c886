// Which requests of a latch are remembered, and for how long; on every server. One thread.
#include "base/contract.h"
#include "base/packing.h"
#include "script/latch_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr int kRoom = 64;  // SKIPS of the scripts: so many come before any is forgotten
constexpr std::int64_t kForgotten = 1;  // soon

class LatchRequests : public LatchTest {
 protected:
  void set_and_forget(std::int64_t count, std::int64_t life = 0) {
    set_with({.client = "S", .count = count, .life = life, .remember = kForgotten});
  }

  LatchReply count_down_and_forget(std::int64_t number) {
    return count_down_with(
        {.client = "F", .number = number, .remember = kForgotten, .since = now()});
  }

  // As many as the record has room for before it forgets.
  void fill() {
    for (int i = 0; i <= kRoom; ++i) {
      count_down_and_forget(i);
    }
  }

  // The number at an offset of the record.
  std::int64_t packed_number(std::size_t at) {
    const std::string record = command({"GET", record_key()}).text;
    return Unpacker(std::string_view(record).substr(at)).number();
  }

  std::string limit() {
    const Reply reply =
        run(scripts::kLimit, keys(), {Packer().number(3).number(0).number(kNever).take(), kInbox});
    return reply.is_error() ? reply.error_code() : reply.text.substr(0, 1);
  }
};

TEST_P(LatchRequests, AreRememberedOnceEach) {
  set(9);
  EXPECT_EQ(remembered(), 1);
  count_down("A", 1);
  count_down("A", 1);
  count_down("A", 2);
  EXPECT_EQ(remembered(), 3);
}

TEST_P(LatchRequests, AreFoundBehindAsManyOthersAsCameSince) {
  set(1000);
  for (const int others : {0, 1, kRoom - 2, kRoom - 1, kRoom, kRoom + 1, 3 * kRoom}) {
    const DownCall call{.client = "A", .number = others, .since = now()};
    const std::int64_t count = count_down_with(call).count - others;
    for (int i = 0; i < others; ++i) {
      count_down();
    }
    EXPECT_EQ(count_down_with(call).count, count) << others;
  }
}

// A client's clock may be wrong, and the server's steps.
TEST_P(LatchRequests, AreFoundWhateverTimeTheyName) {
  set(1000);
  std::int64_t number = 0;
  for (const std::int64_t since : {std::int64_t{1}, now() - kSecond, now() + 3600 * kSecond,
                                   now() + 60 * kSecond, now(), std::int64_t{0}}) {
    const DownCall call{.client = "A", .number = ++number, .since = since};
    const std::int64_t count = count_down_with(call).count - kRoom - 1;
    for (int i = 0; i <= kRoom; ++i) {
      count_down_with({.client = "B", .number = ++number, .since = now()});
    }
    EXPECT_EQ(count_down_with(call).count, count) << since;
  }
}

TEST_P(LatchRequests, AreForgottenWhenTheirTimeHasPassed) {
  set_and_forget(1000);
  fill();
  fill();
  fill();
  EXPECT_LE(remembered(), kRoom + 1);
  EXPECT_EQ(look().count, 1000 - 3 * (kRoom + 1));
}

TEST_P(LatchRequests, StayWhileOthersAreForgotten) {
  set_and_forget(1000);
  fill();
  count_down("A", 1);
  count_down("A", 2);
  fill();
  fill();
  const std::int64_t before = look().count;
  EXPECT_EQ(count_down("A", 1).count, before);
  EXPECT_EQ(count_down("A", 2).count, before);
}

TEST_P(LatchRequests, AreRememberedForTheLongestTimeThatAnyAsksFor) {
  set_and_forget(1000);
  count_down_and_forget(76);
  count_down("A", 1);
  count_down_and_forget(77);
  fill();
  fill();
  const std::int64_t before = look().count;
  EXPECT_EQ(count_down_with({.client = "F", .number = 76}).count, before);
  EXPECT_EQ(count_down_with({.client = "F", .number = 77}).count, before);
}

TEST_P(LatchRequests, AreRememberedForNoLongerOnceAllAreForgotten) {
  const auto keep = [this] { return packed_number(contract::kLatchCountOffset + 16); };
  set_with({.client = "A", .remember = kForgotten});
  count_down_with({.client = "B", .remember = kForgotten, .since = now()});
  EXPECT_EQ(keep(), kForgotten);
  set(3);
  EXPECT_EQ(keep(), kRemember);
  count_down(3);
  set_and_forget(3);
  EXPECT_EQ(keep(), kRemember);  // as the two before are remembered
}

TEST_P(LatchRequests, OutlastTheTimeToLive) {
  set_with({.client = "A", .count = 1, .life = kSecond});
  EXPECT_GT(pttl(record_key()), (kRemember - 10 * kSecond) / 1000);
  set_and_forget(1, kSecond);
  lapse_latch();
  EXPECT_EQ(set_with({.client = "A", .count = 1}).code, "missing");
  EXPECT_EQ(count_down("A", 2).code, "missing");
  EXPECT_EQ(set_with({.client = "B", .count = 5}).code, "set");
  EXPECT_EQ(set_with({.client = "A", .count = 1}).count, 5);
  EXPECT_EQ(look().count, 5);
}

TEST_P(LatchRequests, ProlongATimeToLiveButNoLatch) {
  set_and_forget(2, kSecond);
  EXPECT_LE(pttl(record_key()), 2000);
  EXPECT_EQ(count_down("A", 1).count, 1);
  EXPECT_GT(pttl(record_key()), (kRemember - 10 * kSecond) / 1000);
  EXPECT_LE(look().remaining, kSecond);
}

TEST_P(LatchRequests, AreForgottenWithoutTouchingTheTimeToLive) {
  set_and_forget(1000, 100 * kSecond);
  fill();
  fill();
  EXPECT_GT(pttl(record_key()), 50'000);
  EXPECT_LE(pttl(record_key()), 101'000);
  command({"DEL", record_key()});
  set_and_forget(1000);
  fill();
  fill();
  EXPECT_EQ(pttl(record_key()), -1);
}

TEST_P(LatchRequests, OutlastABreak) {
  const SetCall call{.client = "A", .count = 2};
  set_with(call);
  count_down("C", 1);
  run(scripts::kBreak, keys(),
      {Packer().number(0).number(0).number(kNever).take(), kInbox, "breaker"});
  EXPECT_EQ(set_with(call).code, "missing");
  EXPECT_EQ(look().code, "missing");
  const std::string before = contents();
  const LatchReply counted = count_down("C", 1);
  EXPECT_EQ(counted.code, "counted");
  EXPECT_EQ(counted.count, 1);
  EXPECT_GT(counted.generation, 0);
  EXPECT_EQ(count_down("C", 2).code, "missing");
  EXPECT_EQ(contents(), before);
  EXPECT_GT(pttl(record_key()), 0);
  set(7);
  EXPECT_EQ(set_with(call).count, 7);
  EXPECT_EQ(count_down("C", 1).count, 7);
}

TEST_P(LatchRequests, OutlastAnEndThatNobodyMade) {
  set_with({.client = "A", .count = 2, .life = kSecond});
  EXPECT_EQ(count_down("C", 1).count, 1);
  EXPECT_EQ(count_down("C", 2).count, 0);
  lapse_latch();
  EXPECT_EQ(count_down("C", 2).code, "counted");
  EXPECT_EQ(count_down("C", 3).code, "missing");
}

// What only remembers requests is in nobody's way.
TEST_P(LatchRequests, OfAnEndedLatchLeaveTheNameToOthers) {
  const auto end_a_latch = [this] {
    command({"FLUSHALL"});
    set_with({.client = "A", .count = 2, .life = kSecond});
    lapse_latch();
  };
  end_a_latch();
  EXPECT_EQ(acquire("B").code, "granted");
  EXPECT_EQ(set_with({.client = "A", .count = 2}).code, "BELAYTYPE");
  end_a_latch();
  EXPECT_EQ(acquire_with({.client = "B", .group = "r"}).code, "granted");
  end_a_latch();
  EXPECT_EQ(acquire_with({.client = "B", .kind = kSemaphore, .limit = 3}).code, "granted");
  end_a_latch();
  EXPECT_EQ(limit(), "\1");
}

TEST_P(LatchRequests, AreForgottenAlsoWhenMemoryIsFull) {
  set_and_forget(1000);
  command({"CONFIG", "SET", "maxmemory", "1"});
  fill();
  fill();
  command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_LE(remembered(), kRoom + 1);
  EXPECT_EQ(look().count, 1000 - 2 * (kRoom + 1));
}

TEST_P(LatchRequests, WithTimesThatAreNoneAreRefused) {
  set(2);
  const std::string before = contents();
  EXPECT_EQ(count_down_with({.client = "A", .remember = 1LL << 53}).code, "BELAYARGS");
  EXPECT_EQ(count_down_with({.client = "A", .since = 1LL << 53}).code, "BELAYARGS");
  EXPECT_EQ(count_down_with({.client = "A", .since = -1}).code, "BELAYARGS");
  EXPECT_EQ(set_with({.client = "A", .remember = 1LL << 53}).code, "BELAYARGS");
  EXPECT_EQ(set_with({.client = "A", .life = 1LL << 53}).code, "BELAYARGS");
  EXPECT_EQ(contents(), before);
}

// Whatever stands in a record in their place.
TEST_P(LatchRequests, ThatCannotBeReadAreNone) {
  set(500);
  const std::string record = command({"GET", record_key()}).text;
  for (const std::string& rest : {std::string(), std::string(7, 'x'), std::string(1000, '\xFF')}) {
    command({"SET", record_key(), record.substr(0, contract::kLatchSize) + rest});
    command({"SETRANGE", record_key(), std::to_string(contract::kLatchSize - 2), "\xFF\xFF"});
    for (int i = 0; i < 3 * kRoom; ++i) {
      ASSERT_EQ(count_down().code, "counted");
    }
    EXPECT_EQ(look().count, 500 - 3 * kRoom);
  }
}

ON_ALL_BACKENDS(LatchRequests);

}  // namespace
}  // namespace belay::test
