// What a release says where the server did not have what it frees, command by command. A fake link,
// with the server's replies by hand.
#include <gtest/gtest.h>

#include <string>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;

class Release : public Greeted {
 protected:
  void SetUp() override {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    ASSERT_TRUE(engine_.acquire(1, request, kNever, now_).ok());
    answer(granted(kServerTime));
    hold_ = events_.events.at(0).hold;
    ASSERT_TRUE(engine_.release(2, hold_, now_).ok());
  }

  void answer_left(std::uint64_t code) {
    answer(bulk(Packer().u8(code).number(kServerTime).number(0).take()));
  }

  void not_plain() { answer_left(5); }

  void not_ours() { answer_left(2); }

  const Status& outcome() {
    EXPECT_EQ(events_.events.back().kind, BELAY_EVENT_RELEASED);
    EXPECT_EQ(events_.events.back().hold, hold_);
    return events_.events.back().status;
  }

  std::int64_t hold_ = 0;
};

TEST_F(Release, OfWhatTheServerDoesNotHaveIsLost) {
  not_plain();
  ASSERT_EQ(events_.events.size(), 1U);
  not_ours();
  EXPECT_EQ(outcome().code, BELAY_LOST);
  EXPECT_EQ(outcome().reason, BELAY_REASON_GONE);
  EXPECT_NE(outcome().message.find("of 'a' was lost: the server did not have it"),
            std::string::npos);
  EXPECT_EQ(engine_.metrics().lost, 1);
  EXPECT_EQ(engine_.metrics().releases, 0);
  EXPECT_TRUE(engine_.idle());
}

// The message was published before the release was executed.
TEST_F(Release, OfWhatWasBrokenMeanwhileSaysWhoDidIt) {
  const std::string key = "belay:r:{a}";
  answer(pushed(me_, Packer().u8(4).u8(1).number(1).number(kServerTime).u16(key.size()).take() +
                         key + "7 host bob"));
  not_plain();
  not_ours();
  EXPECT_EQ(outcome().code, BELAY_LOST);
  EXPECT_EQ(outcome().reason, BELAY_REASON_BROKEN);
  EXPECT_NE(outcome().message.find("bob"), std::string::npos);
}

// What was cut off may have freed it.
TEST_F(Release, ThatWasSentTwiceMayHaveFreedItItself) {
  node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  now_ += kSecond;
  greet("6");
  answer(":1\r\n");  // the older connection was killed
  not_plain();
  not_ours();
  EXPECT_EQ(outcome().code, BELAY_OK);
  EXPECT_EQ(engine_.metrics().releases, 1);
  EXPECT_EQ(engine_.metrics().lost, 0);
}

// The next claim of the same client has freed the older one, if its ask was executed before.
TEST_F(Release, ThatWasSentAgainAfterTheNextAcquireMayHaveBeenFreedByThat) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  ASSERT_TRUE(engine_.acquire(3, request, kNever, now_).ok());
  not_plain();
  answer(queued(kServerTime));
  not_ours();
  EXPECT_EQ(outcome().code, BELAY_OK);
}

// Until then it was ours; that it had ended when the release arrived is no loss.
TEST_F(Release, OfAGrantThatEndedOnTheWayIsDone) {
  not_plain();
  answer_left(1);
  ASSERT_EQ(outcome().code, BELAY_OK);

  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  ASSERT_TRUE(engine_.acquire(3, request, kNever, now_).ok());
  answer(queued(kServerTime));
  answer(pushed(me_, GrantMessage{2, kServerTime, 60, 300 * kMillisecond}.payload(me_)));
  hold_ = events_.events.back().hold;
  ASSERT_TRUE(engine_.release(4, hold_, now_).ok());
  now_ += 400 * kMillisecond;
  engine_.on_timer(now_);
  not_ours();
  EXPECT_EQ(events_.events.back().tag, 4);
  EXPECT_EQ(outcome().code, BELAY_OK);
}

TEST_F(Release, OfSeveralNamesIsLostWithOneOfThem) {
  not_plain();
  answer_left(1);
  AcquireRequest request;
  request.primitive = &lock_;
  request.names = {{"a", Want()}, {"b", Want()}};
  ASSERT_TRUE(engine_.acquire(3, request, kNever, now_).ok());
  Packer granted;
  granted.u8(1).number(kServerTime);
  granted.number(60).number(68).u8(0).number(60).number(68).u8(0);
  answer(bulk(granted.take()));
  hold_ = events_.events.back().hold;
  ASSERT_TRUE(engine_.release(4, hold_, now_).ok());
  const std::string not_plain = Packer().u8(5).number(0).number(0).take();
  answer(bulk(not_plain + not_plain));
  answer(bulk(Packer().u8(1).number(kServerTime).number(0).take() +
              Packer().u8(2).number(kServerTime).number(0).take()));
  EXPECT_EQ(outcome().code, BELAY_LOST);
  EXPECT_NE(outcome().message.find("hold " + std::to_string(hold_) + " of 'b'"), std::string::npos);
  EXPECT_EQ(engine_.metrics().lost, 1);
  EXPECT_EQ(engine_.metrics().releases, 1);
}

}  // namespace
}  // namespace belay
