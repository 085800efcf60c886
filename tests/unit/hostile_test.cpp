// The engine and its node against a server, or a neighbour who may publish, that wishes them ill:
// where only a bound helps, or a question.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/packing.h"
#include "dialect/keys.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerNow = 100 * kSecond;
constexpr Micros kGrantLease = 200 * kMillisecond;

class Hostile : public Greeted {
 protected:
  void acquire(const std::string& name) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = name;
    request.notify = true;
    ASSERT_TRUE(engine_.acquire(++tag_, request, kNever, now_).ok());
  }

  void publish(const std::string& payload) { answer(pushed(me_, payload)); }

  // What anybody can make.
  static std::string forged(MessageKind kind, std::int64_t epoch, const std::string& fields = "",
                            const std::string& name = "a", Micros ts = kServerNow,
                            Kind of = Kind::kLock) {
    return Packer()
        .u8(static_cast<std::uint64_t>(kind))
        .u8(static_cast<std::uint64_t>(of))
        .number(epoch)
        .number(ts)
        .bytes(fields)
        .bytes(key_of("belay:", 'r', name))
        .take();
  }

  // A grant of "a" as a script makes it.
  [[nodiscard]] std::string grant(std::int64_t epoch, std::int64_t fence,
                                  Micros ts = kServerNow) const {
    return GrantMessage{epoch, ts, fence, kGrantLease}.payload(me_);
  }

  static std::string broken() {
    const std::string key = key_of("belay:", 'r', "a");
    return Packer().u8(4).u8(1).number(1).number(kServerNow).u16(key.size()).bytes(key).take() +
           "17 host somebody";
  }

  void answer_queued(Micros ts = kServerNow) { answer(queued(ts, 30 * kSecond)); }

  void answer_granted(std::int64_t fence) { answer(granted(kServerNow, fence)); }

  // And to what follows it, so that the record is watched.
  void answer_renewal(std::uint64_t code) {
    answer(bulk(Packer().number(kServerNow).u8(code).number(58).u8(0).take()));
    answer("+OK\r\n:1\r\n");
  }

  // Lives through an epoch: it is over then.
  void spend_an_epoch() {
    acquire("z");
    answer_granted(40);
    ASSERT_TRUE(engine_.release(++tag_, events_.events.back().hold, now_).ok());
    answer(bulk(Packer().u8(1).number(kServerNow).number(0).take()));
    events_.events.clear();
    sent();
  }

  // How many scripts were called since the last time.
  std::size_t sent() {
    const auto count = std::count_if(
        link_.sent.begin(), link_.sent.end(),
        [](const std::string& bytes) { return bytes.find("EVAL") != std::string::npos; });
    link_.sent.clear();
    return static_cast<std::size_t>(count);
  }

  std::int64_t tag_ = 0;
};

TEST_F(Hostile, MessagesMakeUsLeaveNoClaimThatWeNeverMadeOrThatStands) {
  spend_an_epoch();
  acquire("a");
  sent();
  for (const std::int64_t epoch : {2, 3, 0, -1}) {
    publish(forged(MessageKind::kWaits, epoch, "", "b"));
  }
  EXPECT_EQ(sent(), 0U);
  publish(forged(MessageKind::kWaits, 1, "", "b"));
  EXPECT_EQ(sent(), 1U);
}

// What we have seen goes to the server, which makes no lower fence any more.
TEST_F(Hostile, MessagesTeachUsNoFence) {
  constexpr std::int64_t kForged = kMaxFence - 100;
  acquire("a");
  answer(bulk(Packer()
                  .u8(2)
                  .number(100 * kSecond)
                  .number(0)
                  .number(1)
                  .number(5)
                  .number(7)
                  .number(0)
                  .take()));
  publish(GrantMessage{1, 100 * kSecond, kForged, 500 * kMillisecond}.payload(me_));
  EXPECT_EQ(events_.events.size(), 1U);
  acquire("{a}b");
  EXPECT_EQ(link_.sent.back().find(Packer().number(kForged + 8).take()), std::string::npos);
  EXPECT_NE(link_.sent.back().find(Packer().number(7).take()), std::string::npos);
}

// Its leave would free the lock before the true one, which would then hear that it is not ours.
TEST_F(Hostile, MessagesLeaveNoLockThatIsBeingReleased) {
  acquire("a");
  answer_granted(50);
  ASSERT_TRUE(engine_.release(++tag_, events_.events.back().hold, now_).ok());
  sent();
  publish(forged(MessageKind::kWaits, 1, "", "a", kServerNow, Kind::kSemaphore));
  EXPECT_EQ(sent(), 0U);
}

// A leave takes what is older than it out of the queue as well.
TEST_F(Hostile, MessagesTakeNobodyOutOfAQueue) {
  acquire("a");
  answer_queued();
  acquire("b");
  answer_queued();
  sent();
  publish(forged(MessageKind::kWaits, 2, "", "a"));
  publish(forged(MessageKind::kNext, 2, Packer().number(0).take(), "a"));
  EXPECT_EQ(sent(), 0U);
}

// Whoever heard a grant may send it again when that hold was lost: a leave of what is not lost
// would end its lock-delay.
TEST_F(Hostile, MessagesEndNoLockDelay) {
  spend_an_epoch();
  publish(grant(1, 50));
  publish(forged(MessageKind::kWaits, 1, "", "b"));
  ASSERT_EQ(link_.sent.size(), 2U);
  const std::string lost = Packer().number(1).number(0).u8(1).take();  // epoch, fence seen, flags
  EXPECT_TRUE(link_.sent[0].find(lost) != std::string::npos);
  EXPECT_TRUE(link_.sent[1].find(lost) != std::string::npos);
}

// Each would be asked about, and remembered until it is answered.
TEST_F(Hostile, MessagesMakeUsLeaveNoMoreDeadClaimsThanABound) {
  spend_an_epoch();
  for (int i = 0; i < 50'000; ++i) {
    publish(forged(MessageKind::kWaits, 1, "", "name " + std::to_string(i)));
  }
  const std::size_t leaves = sent();
  EXPECT_GE(leaves, 100U);
  EXPECT_LE(leaves, 256U);
  for (std::size_t i = 0; i < leaves; ++i) {
    answer("-LOADING Redis is loading the dataset in memory\r\n");
  }
  EXPECT_EQ(sent(), 0U);
  now_ += kSecond;
  engine_.on_timer(now_);
  EXPECT_EQ(sent(), 0U);
  EXPECT_TRUE(node_.up());
}

TEST_F(Hostile, NamesThatAreTooLongAreNone) {
  spend_an_epoch();
  publish(forged(MessageKind::kWaits, 1, "", std::string(1024, 'b')));
  EXPECT_EQ(sent(), 1U);
  publish(forged(MessageKind::kWaits, 1, "", std::string(1025, 'b')));
  EXPECT_EQ(sent(), 0U);
}

TEST_F(Hostile, AGrantIsBelievedFromAScriptAlone) {
  acquire("a");
  answer_queued();
  std::string wrong = grant(1, 50);
  wrong[20] = static_cast<char>(wrong[20] ^ 1);
  publish(wrong);
  publish(forged(MessageKind::kGrant, 1,
                 Packer().number(50).number(58).number(kGrantLease).u8(0).take()));
  EXPECT_TRUE(events_.events.empty());
  publish(grant(1, 50));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].fence, 50);
}

// The server has said since that it is another's: after a break, say.
TEST_F(Hostile, AGrantThatIsSentAgainAfterAnAnswerIsAskedAbout) {
  acquire("a");
  answer_queued();
  sent();
  publish(grant(1, 50, kServerNow - 1));
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(sent(), 1U);
  publish(grant(1, 50, kServerNow - 1));
  EXPECT_EQ(sent(), 0U);
}

TEST_F(Hostile, AHolderAsksOnceWhetherItWasBrokenAndBelievesTheAnswer) {
  acquire("a");
  answer_granted(50);
  sent();
  publish(broken());
  publish(broken());
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(events_.events.size(), 1U);
  answer_renewal(1);
  EXPECT_EQ(events_.events.size(), 1U);
  publish(broken());
  EXPECT_EQ(sent(), 1U);
  answer_renewal(2);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_LOST);
  EXPECT_NE(events_.events[1].status.message.find("broken by 17 host somebody"), std::string::npos);
}

TEST_F(Hostile, AHolderAsksOnceWhetherItWasGrantedAnew) {
  acquire("a");
  answer_granted(50);
  sent();
  publish(grant(1, 50));
  EXPECT_EQ(sent(), 0U);
  publish(grant(1, 77));
  publish(grant(1, 78));
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(events_.events.size(), 1U);
  answer_renewal(1);
  EXPECT_EQ(events_.events.size(), 1U);
}

// Neither what says when to look, nor that somebody has.
TEST_F(Hostile, MessagesPutOffNoPoll) {
  acquire("a");
  answer_queued();
  sent();
  const Micros end = now_ + 6 * kSecond;
  while (now_ <= end) {
    now_ += 100 * kMillisecond;
    engine_.on_timer(now_);
    publish(forged(MessageKind::kNext, 1, Packer().number(kMaxId).take()));
    publish(forged(MessageKind::kSettled, 1));
    publish(forged(MessageKind::kWaits, 1));
  }
  EXPECT_EQ(sent(), 1U);
}

TEST_F(Hostile, MessagesPutOffNoRetry) {
  acquire("a");
  answer("-LOADING Redis is loading the dataset in memory\r\n");
  sent();
  publish(forged(MessageKind::kNext, 1, Packer().number(kSecond).take()));
  now_ += 60 * kMillisecond;
  engine_.on_timer(now_);
  EXPECT_EQ(sent(), 1U);
}

// They would make each ask wait for the clock.
TEST_F(Hostile, MessagesThatAnybodyCanMakeSayNothingOfTheClock) {
  acquire("a");
  answer_queued();
  sent();
  publish(forged(MessageKind::kNext, 1, Packer().number(0).take(), "a", 2 * kServerNow));
  EXPECT_TRUE(node_.clock().known(now_));
}

}  // namespace
}  // namespace belay
