// Which fence of its range a leave names, so that a handoff counts on from it. A fake link, with
// the server's replies by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;
constexpr std::int64_t kFence = 50;  // of a grant

class ALeave : public Greeted {
 protected:
  void acquire(std::int64_t tag) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = config_.watchdog_lease;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  void hold() {
    acquire(1);
    answer(granted(kServerTime, kFence));
  }

  std::int64_t last_hold() { return events_.events.back().hold; }

  void renewed() {
    answer(bulk(Packer().number(kServerTime).u8(1).number(kFence + 8).u8(0).take()));
    answer("+OK\r\n:1\r\n");  // the record is watched
  }

  // By the short script, which finds that somebody waits.
  void release() {
    ASSERT_TRUE(engine_.release(9, last_hold(), now_).ok());
    answer(bulk(Packer().u8(5).number(0).number(0).take()));
  }

  void cut_and_reconnect() {
    node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
    now_ += kSecond;
    greet("6");
    answer(":1\r\n");  // the older connection was killed
  }

  // The last leave's; none was sent: nothing.
  std::optional<std::int64_t> named() {
    const std::string row = "\r\n$48\r\n";  // a kind and a ROW of leave.lua's
    std::optional<std::int64_t> given;
    for (const std::string& bytes : link_.sent) {
      const std::size_t at = bytes.rfind(row);
      if (at != std::string::npos) {
        given = Unpacker(std::string_view(bytes).substr(at + row.size() + 40, 8)).number();
      }
    }
    return given;
  }
};

TEST_F(ALeave, NamesTheFenceOfItsOnlyHold) {
  hold();
  release();
  EXPECT_EQ(named(), kFence);
}

TEST_F(ALeave, NamesTheLatestFenceThatALocalOwnerHad) {
  hold();
  acquire(2);
  ASSERT_TRUE(engine_.release_nowait(last_hold(), now_).ok());
  renewed();
  release();
  EXPECT_EQ(named(), kFence + 1);
}

TEST_F(ALeave, NamesNoFenceAfterACut) {
  hold();
  cut_and_reconnect();
  renewed();
  release();
  EXPECT_EQ(named(), 0);
}

TEST_F(ALeave, NamesNoFenceOfWhatAnAskBeforeACutMayHaveGot) {
  acquire(1);
  cut_and_reconnect();
  answer(granted(kServerTime, kFence));
  release();
  EXPECT_EQ(named(), 0);
}

TEST_F(ALeave, NamesNoFenceWhereItIsRepeatedAfterACut) {
  hold();
  release();
  link_.sent.clear();
  cut_and_reconnect();
  EXPECT_EQ(named(), 0);
}

TEST_F(ALeave, NamesNoFenceOfAWaitThatIsCancelled) {
  acquire(1);
  answer(queued(kServerTime));
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  EXPECT_EQ(named(), 0);
}

}  // namespace
}  // namespace belay
