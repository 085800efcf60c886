// News that what is held may be lost: until the server has answered, nobody is given it. A fake
// link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;
constexpr GrantMessage kGrant{1, kServerTime, 50, 300 * kMillisecond, false};

class InQuestion : public Greeted {
 protected:
  static std::string key(const std::string& name) { return "belay:r:{" + name + "}"; }

  void acquire(std::int64_t tag, Micros wait = kNever, const std::string& group = "",
               std::int64_t owner = 0) {
    AcquireRequest request;
    request.owner = owner;
    request.primitive = &lock_;
    request.name = "a";
    request.want.group = group;
    ASSERT_TRUE(engine_.acquire(tag, request, wait, now_).ok());
  }

  void grant(std::int64_t fence = 50) { answer(granted(kServerTime, fence)); }

  void push(const std::string& payload) { answer(pushed(me_, payload)); }

  void push_break(std::int64_t epoch, const std::string& name = "a") {
    const std::string head = Packer().u8(4).u8(1).number(epoch).number(kServerTime).take();
    push(head + Packer().u16(key(name).size()).take() + key(name) + "an operator");
  }

  // To a renewal of one claim: 1 it is ours, 2 it is not. Its record is watched from then on.
  void renewed(std::uint8_t code) {
    answer(bulk(Packer().number(kServerTime).u8(code).number(58).u8(0).take()));
    answer("+OK\r\n:1\r\n");
  }

  void try_or_wait(Micros wait, std::int64_t owner = 0) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.owner = owner;
    request.names = {{"a", Want()}, {"b", Want()}};
    ASSERT_TRUE(engine_.acquire(1, request, wait, now_).ok());
  }

  // A wait for a and b that has a; b is granted while a renewal asks about a, which was broken.
  void gather(Micros wait, std::int64_t owner = 0) {
    try_or_wait(wait, owner);
    answer(bulk(Packer().u8(3).number(kServerTime).number(kSecond).take()));
    grant();
    push_break(3);
    grant(60);
  }

  // A try for a and b, in groups of their own, that has both; the first was broken meanwhile.
  void try_with_one_in_question() {
    apart_ = true;
    try_or_wait(0);
    const bool a_is_first = link_.sent.at(0).find(key("a")) != std::string::npos;
    grant();
    push_break(a_is_first ? 1 : 2, a_is_first ? "a" : "b");
    grant();
  }

  void change(const std::string& name) {
    answer(">2\r\n$10\r\ninvalidate\r\n*1\r\n" + bulk(key(name)));
  }

  // Of a hold of which there is such news a thousand times in a second.
  void expect_few_questions(const std::function<void()>& news) {
    acquire(1);
    grant();
    scripts();
    std::size_t asked = 0;
    std::size_t sent = 0;
    for (int i = 0; i < 1000 || sent == 0; ++i) {
      news();
      engine_.on_timer(now_);
      sent = scripts();
      asked += sent;
      if (sent > 0) {
        renewed(1);
      }
      now_ += kMillisecond;
    }
    EXPECT_GE(asked, 8U);
    EXPECT_LE(asked, 8U + 11U);
    news();
    EXPECT_EQ(scripts(), 0U);
    EXPECT_LE(engine_.next_deadline(), now_ + 100 * kMillisecond);
    now_ += 100 * kMillisecond;
    engine_.on_timer(now_);
    EXPECT_EQ(scripts(), 1U);  // none is forgotten
  }

  void expect_end_after(Micros duration) {
    now_ += duration - 1;
    engine_.on_timer(now_);
    EXPECT_TRUE(events_.events.empty());
    ++now_;
    engine_.on_timer(now_);
    ASSERT_EQ(events_.events.size(), 1U);
    EXPECT_EQ(events_.events[0].status.code, BELAY_UNAVAILABLE);
    // The question is on its way, and asks for a lease.
    EXPECT_GE(events_.events[0].in_doubt, config_.watchdog_lease - kMillisecond);
  }

  // How many scripts were called since the last time.
  std::size_t scripts() {
    std::size_t count = 0;
    for (const std::string& bytes : std::exchange(link_.sent, {})) {
      count += bytes.find("EVAL") != std::string::npos ? 1 : 0;
    }
    return count;
  }
};

TEST_F(InQuestion, ANameKeepsSeveralFromBeingGrantedUntilItIsSaidToBeOurs) {
  gather(kNever);
  EXPECT_TRUE(events_.events.empty());
  renewed(1);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
}

TEST_F(InQuestion, ANameThatIsLostIsAskedForAnewBeforeSeveralAreGranted) {
  gather(kNever);
  scripts();
  renewed(2);
  EXPECT_EQ(scripts(), 3U);  // leaves of a and b, and a again
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(engine_.held(), 0U);
}

TEST_F(InQuestion, ANameOfATryThatIsLostMakesItBusy) {
  try_with_one_in_question();
  EXPECT_TRUE(events_.events.empty());
  renewed(2);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_BUSY);
}

// Nobody has been told yet that its owner has it.
TEST_F(InQuestion, ANameOfSeveralThatAreNotGrantedIsReEnteredOnceItIsSaidToBeOurs) {
  gather(kNever, 7);
  acquire(2, kNever, "", 7);
  acquire(3, 0, "", 7);
  EXPECT_TRUE(events_.events.empty());
  renewed(1);
  ASSERT_EQ(events_.events.size(), 3U);
  for (const Event& event : events_.events) {
    EXPECT_TRUE(event.status.ok());
  }
}

TEST_F(InQuestion, WhatItsOwnerHasIsReEnteredAtOnce) {
  acquire(1, kNever, "", 7);
  grant();
  push_break(1);
  acquire(2, 0, "", 7);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_TRUE(events_.events[1].status.ok());
}

// A wait may end no sooner than any answer may come.
TEST_F(InQuestion, ANameKeepsAShortWaitToItsEnd) {
  gather(kSecond);
  expect_end_after(kSecond);
}

TEST_F(InQuestion, ANameKeepsAWaitThatHasEndedAsLongAsAServerNeedsToAnswer) {
  gather(kMillisecond);
  expect_end_after(250 * kMillisecond);
}

TEST_F(InQuestion, ANameKeepsATryForTheRequestTimeout) {
  try_with_one_in_question();
  expect_end_after(config_.request_timeout);
}

// Anybody may send them.
TEST_F(InQuestion, AHoldIsAskedAboutAFewTimesAndThenOnceInAWhile) {
  expect_few_questions([this] { push_break(1); });
}

TEST_F(InQuestion, AHoldWhoseRecordChangesIsAskedAboutAFewTimesAndThenOnceInAWhile) {
  expect_few_questions([this] { change("a"); });
}

TEST_F(InQuestion, ANameKeepsALongWaitToItsEnd) {
  gather(9 * kSecond);
  expect_end_after(9 * kSecond);
}

TEST_F(InQuestion, ANameIsNotHandedToTheNextLocalOwner) {
  acquire(1);
  grant();
  acquire(2);
  push_break(1);
  scripts();
  ASSERT_TRUE(engine_.release(3, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(scripts(), 2U);  // it goes back, and is asked for
}

TEST_F(InQuestion, ANameIsHandedOnOnceItIsSaidToBeOurs) {
  acquire(1);
  grant();
  acquire(2);
  push_break(1);
  renewed(1);
  ASSERT_TRUE(engine_.release(3, events_.events.at(0).hold, now_).ok());
  ASSERT_EQ(events_.events.size(), 3U);
  EXPECT_EQ(events_.events[2].fence, 51);
}

TEST_F(InQuestion, ANameIsJoinedOnceItIsSaidToBeOurs) {
  acquire(1, kNever, "r");
  grant();
  push_break(1);
  acquire(2, kNever, "r");
  EXPECT_EQ(events_.events.size(), 1U);
  renewed(1);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_TRUE(events_.events[1].status.ok());
}

TEST_F(InQuestion, ANameIsWhenItsRecordHasChanged) {
  acquire(1);
  grant();
  acquire(2);
  change("a");
  ASSERT_TRUE(engine_.release(3, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(InQuestion, EveryNameIsWhenTheDataAreWiped) {
  acquire(1);
  grant();
  acquire(2);
  answer(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  ASSERT_TRUE(engine_.release(3, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(events_.events.size(), 1U);
}

// A grant that the server told of before may be sent again by somebody, and looks fresh.
TEST_F(InQuestion, AGrantIsNotBelievedFromBeforeTheDataWereWiped) {
  acquire(1);
  answer(queued(kServerTime));
  answer(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  push(kGrant.payload(me_));
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(scripts(), 2U);  // the acquire, twice: the server decides
}

TEST_F(InQuestion, AGrantIsNotBelievedFromBeforeItWasBroken) {
  acquire(1);
  answer(queued(kServerTime));
  push_break(1);
  push(kGrant.payload(me_));
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(scripts(), 2U);
}

TEST_F(InQuestion, AGrantIsBelievedWhereNoNewsCameBeforeIt) {
  acquire(1);
  answer(queued(kServerTime));
  push(kGrant.payload(me_));
  EXPECT_EQ(events_.events.size(), 1U);
}

// Nobody listens: news of a break would be lost with the connection.
TEST_F(InQuestion, EveryNameIsWhileThereIsNoConnection) {
  acquire(1);
  grant();
  acquire(2);
  node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  ASSERT_TRUE(engine_.release(3, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(events_.events.size(), 1U);
}

// What a turn ends with that is over by the time of the news.
class TurnEnds : public InQuestion {
 protected:
  // A short turn of the second of three owners is over, and nobody has noticed yet.
  void SetUp() override {
    InQuestion::SetUp();
    acquire(1);
    grant();
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = 100 * kMillisecond;
    request.notify = true;
    ASSERT_TRUE(engine_.acquire(2, request, kNever, now_).ok());
    acquire(3);
    ASSERT_TRUE(engine_.release(4, events_.events.at(0).hold, now_).ok());
    now_ += 200 * kMillisecond;
    events_.events.clear();
  }

  void expect_a_loss_and_no_grant() {
    ASSERT_EQ(events_.events.size(), 1U);
    EXPECT_EQ(events_.events[0].status.code, BELAY_LOST);
  }
};

TEST_F(TurnEnds, HandNothingOnThatMayHaveBeenDeleted) {
  answer(">2\r\n$10\r\ninvalidate\r\n*1\r\n" + bulk(key("a")));
  expect_a_loss_and_no_grant();
}

TEST_F(TurnEnds, HandNothingOnThatMayHaveBeenWiped) {
  answer(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  expect_a_loss_and_no_grant();
}

TEST_F(TurnEnds, HandNothingOnThatWasBroken) {
  push_break(1);
  expect_a_loss_and_no_grant();
}

TEST_F(TurnEnds, HandOnWhatNoNewsIsOf) {
  engine_.on_timer(now_);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_TRUE(events_.events[1].status.ok());
}

}  // namespace
}  // namespace belay
