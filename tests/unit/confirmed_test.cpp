// Acquires that complete when the server has answered: a message alone gives nobody anything. A
// fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr Micros kServerTime = 100 * kSecond;
constexpr Micros kGrantLease = 300 * kMillisecond;

class Confirmed : public Greeted {
 protected:
  void acquire(std::int64_t tag, bool confirmed = true, std::int64_t owner = 0,
               Micros wait = kNever, Micros lease = 0, const std::string& group = "") {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.owner = owner;
    request.lease = lease;
    request.want.group = group;
    request.notify = true;
    request.confirmed = confirmed;
    ASSERT_TRUE(engine_.acquire(tag, request, wait, now_).ok());
  }

  void queue() { answer(queued(kServerTime)); }

  void grant_by_message(bool others_wait = false, std::int64_t epoch = 1) {
    const GrantMessage grant{epoch, kServerTime, 50, kGrantLease, others_wait};
    answer(pushed(me_, grant.payload(me_)));
  }

  // To a renewal: 1 it is ours, 2 it is not.
  void renewed(std::uint8_t code = 1, bool others_wait = false) {
    answer(bulk(Packer().number(kServerTime).u8(code).number(58).u8(others_wait ? 1 : 0).take()));
  }

  void pass(Micros duration) {
    now_ += duration;
    engine_.on_timer(now_);
  }

  std::vector<std::string> scripts() {
    std::vector<std::string> sent = std::exchange(link_.sent, {});
    std::erase_if(sent,
                  [](const std::string& bytes) { return bytes.find("EVAL") == std::string::npos; });
    return sent;
  }

  [[nodiscard]] std::vector<Event>& events() { return events_.events; }
};

TEST_F(Confirmed, AGrantByMessageWaitsForTheServersAnswer) {
  acquire(1);
  queue();
  scripts();
  grant_by_message();
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(scripts().size(), 1U);  // the renewal, at once
  renewed();
  ASSERT_EQ(events().size(), 1U);
  EXPECT_TRUE(events()[0].status.ok());
  EXPECT_EQ(events()[0].fence, 50);
  EXPECT_EQ(events()[0].remaining, config_.watchdog_lease - lease_margin(config_.watchdog_lease));
  EXPECT_EQ(engine_.held(), 1U);
}

TEST_F(Confirmed, AGrantByMessageIsNotWaitedForWhereNobodyWantsIt) {
  acquire(1, false);
  queue();
  grant_by_message();
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(Confirmed, AGrantIsNotWaitedForByWhoeverIsBeforeThoseWhoWantIt) {
  acquire(1, false, 7);
  acquire(2, true, 7);
  acquire(3, true);
  queue();
  scripts();
  grant_by_message();
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].tag, 1);
  EXPECT_EQ(scripts().size(), 1U);
  renewed();
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].tag, 2);
}

TEST_F(Confirmed, AGrantWhoseAnswerTookLongIsRenewedFirst) {
  const Micros lease = 400 * kMillisecond;
  acquire(1, true, 0, kNever, lease);
  queue();
  grant_by_message();
  scripts();
  pass(280 * kMillisecond);
  renewed();
  EXPECT_TRUE(events().empty());  // it would be at risk
  EXPECT_EQ(scripts().size(), 1U);
  answer("+OK\r\n:1\r\n");  // the record is watched since the first
  renewed();
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].remaining, lease - lease_margin(lease));
}

TEST_F(Confirmed, AGrantByAReplyIsOne) {
  acquire(1);
  answer(granted(kServerTime));
  EXPECT_EQ(events().size(), 1U);
}

// Also where others wait and the turn of this client would be over: it has not had it yet.
TEST_F(Confirmed, AGrantIsNotPassedByWhileOthersWait) {
  acquire(1);
  queue();
  grant_by_message(true);
  now_ += 100 * kMillisecond;
  renewed(1, true);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_TRUE(events()[0].status.ok());
}

TEST_F(Confirmed, AGrantToReadersIsNotPassedByWhileOthersWait) {
  acquire(1, true, 0, kNever, 0, kReaders);
  acquire(2, false, 0, kNever, 0, kReaders);
  queue();
  grant_by_message(true);
  EXPECT_TRUE(events().empty());
  renewed(1, true);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_TRUE(events()[1].status.ok());
}

TEST_F(Confirmed, AFixedLeaseIsWhatTheServerIsAskedFor) {
  const Micros lease = 5 * kSecond;
  acquire(1, true, 0, kNever, lease);
  queue();
  scripts();
  grant_by_message();
  const std::vector<std::string> sent = scripts();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].find(Packer().number(lease).take()), std::string::npos);
  renewed();
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].remaining, lease - lease_margin(lease));
}

TEST_F(Confirmed, AGrantThatLapsesUnansweredIsAskedForAnew) {
  acquire(1);
  queue();
  grant_by_message();
  scripts();
  pass(kGrantLease);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(scripts().size(), 2U);  // the old one is left, a new one asked for
  EXPECT_EQ(engine_.held(), 0U);
  renewed();
  EXPECT_TRUE(events().empty());
}

TEST_F(Confirmed, AGrantThatIsGoneIsAskedForAnew) {
  acquire(1);
  queue();
  grant_by_message();
  scripts();
  renewed(2);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(scripts().size(), 2U);
}

TEST_F(Confirmed, AWaitThatEndsBeforeTheAnswerGivesTheGrantBack) {
  acquire(1, true, 0, kGrantLease / 2);
  queue();
  grant_by_message();
  scripts();
  pass(kGrantLease / 2);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].status.code, BELAY_TIMEOUT);
  EXPECT_EQ(scripts().size(), 1U);
}

// What the server keeps for it is told, as nobody can give it back now.
TEST_F(Confirmed, AWaitThatEndsWithoutAConnectionIsInDoubt) {
  acquire(1, true, 0, kGrantLease / 2);
  queue();
  grant_by_message();
  node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  pass(kGrantLease / 2);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].status.code, BELAY_UNAVAILABLE);
  EXPECT_GE(events()[0].in_doubt, config_.watchdog_lease - kGrantLease);
}

TEST_F(Confirmed, WhoeverIsNextAfterACancelGetsWhatWasGranted) {
  acquire(1);
  acquire(2, false);
  queue();
  grant_by_message();
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  renewed();
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].tag, 2);
  EXPECT_EQ(events()[1].fence, 50);
}

TEST_F(Confirmed, WhoeverIsNextAndWantsItOtherwiseAsksForIt) {
  acquire(1);
  acquire(2, true, 0, kNever, 0, kReaders);
  queue();
  grant_by_message();
  scripts();
  ASSERT_TRUE(engine_.cancel(1, now_).ok());
  EXPECT_EQ(scripts().size(), 2U);
  renewed();
  EXPECT_EQ(events().size(), 1U);  // that of the cancel
}

TEST_F(Confirmed, AnOwnerReEntersWhatIsNotOnlyAfterTheAnswer) {
  acquire(1, false, 7);
  queue();
  grant_by_message();
  ASSERT_EQ(events().size(), 1U);
  scripts();
  acquire(2, true, 7);
  EXPECT_EQ(scripts().size(), 1U);  // the confirmation, which is not due yet
  acquire(3, false, 7);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].tag, 3);
  renewed();
  ASSERT_EQ(events().size(), 3U);
  EXPECT_EQ(events()[2].tag, 2);
  EXPECT_TRUE(events()[2].status.ok());
}

TEST_F(Confirmed, EachOfSeveralNamesIs) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.names = {{"a", Want()}, {"b", Want()}};
  request.confirmed = true;
  ASSERT_TRUE(engine_.acquire(1, request, kNever, now_).ok());
  answer(bulk(Packer().u8(3).number(kServerTime).number(kSecond).take()));  // a is taken: in turn
  queue();
  scripts();
  grant_by_message(false, 3);
  EXPECT_EQ(scripts().size(), 1U);  // a's renewal, and b is not asked for
  renewed();
  EXPECT_EQ(scripts().size(), 1U);  // b
}

}  // namespace
}  // namespace belay
