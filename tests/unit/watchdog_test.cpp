// The watchdog alone, with claims made by hand.
#include "engine/watchdog.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unit/parts.h"
#include "unit/with_reply.h"

namespace belay {
namespace {

class Renewals : public EngineParts {
 protected:
  // How many were sent since the last time, each of any number of claims.
  std::size_t renewals() { return sent("EVAL").size(); }

  // To a renewal of one claim: 1 it is ours, 2 it is not, 3 its record cannot be read.
  const Verdict& answer_renewal(std::uint8_t code) {
    answer(bulk(Packer().time(server_time()).u8(code).number(66).u8(0).take()));
    return verdicts_.at(0);
  }

  // Sends a renewal of one claim; the command.
  std::uint64_t renew(Claim& claim) {
    const std::uint64_t before = flights_.sent();
    watchdog_.want(claim);
    watchdog_.flush();
    return before + 1;
  }

  const Verdict& refuse(std::uint64_t renewal) {
    with_reply("-OOM command not allowed when used memory > 'maxmemory'.\r\n", [&](Reply reply) {
      verdicts_ = watchdog_.on_reply(*flights_.take(renewal), reply, now_);
    });
    return verdicts_.at(0);
  }

  void on_node_reply(Node& /*node*/, std::uint64_t id, Reply reply, Micros sent,
                     Micros /*now*/) override {
    const std::optional<Flight> flight = flights_.take(id);
    ASSERT_TRUE(flight.has_value());
    verdicts_ = watchdog_.on_reply(*flight, reply, sent);
  }

  std::vector<Verdict> verdicts_;
};

TEST_F(Renewals, AreDueAtAThirdOfTheLease) {
  Claim& claim = held("a");
  watchdog_.plan(claim);
  EXPECT_LE(claim.held.renew_at, now_ + config_.watchdog_lease / 3);
  EXPECT_GT(claim.held.renew_at, now_ + config_.watchdog_lease / 4);
  EXPECT_FALSE(watchdog_.due());
}

// What is handed on to the watchdog's care may have a longer lease than the watchdog's.
TEST_F(Renewals, AreDueBeforeAHoldIsAtRisk) {
  for (const Micros seconds : {2, 30, 60, 600}) {
    Claim& claim = held("lease " + std::to_string(seconds), seconds * kSecond);
    claim.holds.front()->lease = 0;
    claim.holds.front()->ends_at = kNever;
    watchdog_.plan(claim);
    const Micros due = claim.renew_due ? now_ : claim.held.renew_at;
    EXPECT_LT(due, claim.risk_time(*claim.holds.front())) << seconds;
  }
}

TEST_F(Renewals, AreNotNeededByAFixedLease) {
  Claim& claim = held("a", 5 * kSecond);
  claim.held.look_at = kNever;
  watchdog_.plan(claim);
  EXPECT_EQ(claim.held.renew_at, kNever);
}

TEST_F(Renewals, OfClaimsOfOneNodeGoOutTogether) {
  for (int i = 0; i < 70; ++i) {
    watchdog_.want(held("name" + std::to_string(i)));
  }
  EXPECT_EQ(watchdog_.flush().size(), 70U);
  EXPECT_EQ(renewals(), 2U);  // 64 at most in one
  EXPECT_FALSE(watchdog_.due());
}

TEST_F(Renewals, AreAskedForOnceUntilAnswered) {
  Claim& claim = held("a");
  watchdog_.want(claim);
  watchdog_.want(claim);
  watchdog_.flush();
  watchdog_.want(claim);
  watchdog_.flush();
  EXPECT_EQ(renewals(), 1U);
  EXPECT_EQ(claim.in_flight, 1);
}

TEST_F(Renewals, ThatAreAnsweredMoveTheDeadline) {
  Claim& claim = held("a");
  watchdog_.want(claim);
  watchdog_.flush();
  const Micros sent = now_;
  now_ += 3 * kMillisecond;
  const Verdict& verdict = answer_renewal(1);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kOurs);
  EXPECT_EQ(verdict.deadline, sent + config_.watchdog_lease - lease_margin(config_.watchdog_lease));
  EXPECT_EQ(claim.held.last_fence, 66);
  EXPECT_FALSE(claim.held.renew_out);
  EXPECT_EQ(claim.in_flight, 0);
}

// The queue's key goes with those that are touched in full.
TEST_F(Renewals, NameOneKeyWhereNobodyElseHasToDoWithIt) {
  const auto is_in_full = [this](Claim& claim) {
    sent();
    renew(claim);
    return sent("{" + claim.resource.name + "}").at(0).find("belay:w:") != std::string::npos;
  };
  EXPECT_FALSE(is_in_full(held("plain")));
  held("waited-for").held.others_wait = true;
  held("unconfirmed").held.confirmed = false;
  held("to-be-shared").held.share_with = "readers";
  for (const char* const name : {"waited-for", "unconfirmed", "to-be-shared"}) {
    EXPECT_TRUE(is_in_full(*ledger_.find_claim(Kind::kLock, name))) << name;
  }
}

// Those of an alone and of a joint hold go by different keys, and so by different commands. What is
// asked for in full: when somebody may have to know who waits, news may be of the record, the name
// would stand no longer.
TEST_F(Renewals, OfMembersNameTheMembersAloneUnlessThereIsMoreToKnow) {
  Claim& shared = held("a");
  shared.want.group = "readers";
  shared.held.others_wait = true;
  shared.sits({server_time(), 0, 1}, config_.watchdog_lease, now_);
  const auto is_in_full = [&] {
    shared.held.renew_out = false;
    sent();
    watchdog_.want(held("b"));
    renew(shared);
    const std::vector<std::string> asked = sent("{a}");
    EXPECT_EQ(asked.at(0).find("{b}"), std::string::npos);
    EXPECT_NE(asked.at(0).find("belay:m:{a}"), std::string::npos);
    return asked.at(0).find("belay:r:{a}") != std::string::npos;
  };
  EXPECT_FALSE(is_in_full());
  shared.held.in_question = true;
  EXPECT_TRUE(is_in_full());
  shared.held.in_question = false;
  EXPECT_FALSE(is_in_full());
  shared.held.seat.holds = 7;
  EXPECT_FALSE(is_in_full());  // people may wait for that number
  now_ += 10 * kSecond;
  EXPECT_TRUE(is_in_full());
  shared.held.seat.holds = shared.holds.size();
  EXPECT_FALSE(is_in_full());
  now_ += 261 * kSecond;
  EXPECT_TRUE(is_in_full());
  shared.sits({}, config_.watchdog_lease, now_);
  EXPECT_TRUE(is_in_full());
}

// Nobody looks whether others wait, and so none is said to have gone.
TEST_F(Renewals, OfMembersAloneSayNothingOfOthers) {
  Claim& shared = held("a");
  shared.want.group = "readers";
  shared.sits({server_time(), 0, 1}, config_.watchdog_lease, now_);
  shared.held.others_wait = true;
  shared.held.heard_at = now_ - kSecond;
  renew(shared);
  EXPECT_EQ(answer_renewal(1).kind, Verdict::Kind::kOurs);
  EXPECT_TRUE(shared.held.others_wait);
  EXPECT_EQ(shared.held.heard_at, now_ - kSecond);
}

// While a slot moves, a server refuses what touches more than one key.
TEST_F(Renewals, InFullThatAreRefusedAreFollowedByLessWhereThatWillDo) {
  Claim& shared = held("a");
  shared.want.group = "readers";
  shared.sits({server_time(), 0, 1, 5, 5}, config_.watchdog_lease, now_ - 60 * kSecond);
  sent();
  refuse(renew(shared));
  EXPECT_NE(sent("{a}").at(0).find("belay:r:{a}"), std::string::npos);
  renew(shared);
  EXPECT_EQ(sent("{a}").at(0).find("belay:r:{a}"), std::string::npos);
}

// What the server was told is what it is named by from then on.
TEST_F(Renewals, InFullTellTheSeatWhatItIsNamedBy) {
  Claim& shared = held("a");
  shared.want.group = "readers";
  shared.sits({server_time(), 0, 1, 5, 5}, config_.watchdog_lease, now_ - 60 * kSecond);
  renew(shared);
  EXPECT_EQ(shared.held.seat.holds, 5U);
  EXPECT_EQ(answer_renewal(1).kind, Verdict::Kind::kOurs);
  EXPECT_EQ(shared.held.seat.holds, shared.holds.size());
  EXPECT_EQ(shared.held.seat.local_waiters, 0U);
  EXPECT_EQ(shared.held.told_at, now_);
}

TEST_F(Renewals, ThatDoNotSufficeAreAskedForInFullUntilTheyAreAnswered) {
  Claim& claim = held("a");
  renew(claim);
  EXPECT_EQ(answer_renewal(5).kind, Verdict::Kind::kNothing);
  answer("+OK\r\n:1\r\n");  // it is watched
  EXPECT_EQ(claim.held.renew_at, now_);
  sent();
  renew(claim);
  EXPECT_EQ(sent("belay:w:").size(), 1U);
  EXPECT_EQ(answer_renewal(1).kind, Verdict::Kind::kOurs);
  renew(claim);
  EXPECT_EQ(sent("belay:w:").size(), 0U);
}

// One that somebody waits for must not make the others cost more.
TEST_F(Renewals, OfWhatIsWaitedForGoOutApart) {
  Claim& waited_for = held("a");
  waited_for.held.others_wait = true;
  watchdog_.want(held("b"));
  watchdog_.want(waited_for);
  watchdog_.want(held("c"));
  watchdog_.flush();
  EXPECT_EQ(renewals(), 2U);
}

TEST_F(Renewals, OfWhatTheServerDoesNotKnowSayThatItIsLost) {
  watchdog_.want(held("a"));
  watchdog_.flush();
  const Verdict& verdict = answer_renewal(2);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kLost);
  EXPECT_EQ(verdict.reason, BELAY_REASON_GONE);
}

TEST_F(Renewals, OfWhatWasBrokenSayByWhom) {
  Claim& claim = held("a");
  claim.held.broken_by = "an operator";
  watchdog_.want(claim);
  watchdog_.flush();
  const Verdict& verdict = answer_renewal(2);
  EXPECT_EQ(verdict.reason, BELAY_REASON_BROKEN);
  EXPECT_NE(verdict.why.find("an operator"), std::string::npos);
}

TEST_F(Renewals, ThatAreRefusedAreAskedForAgain) {
  Claim& claim = held("a");
  watchdog_.want(claim);
  watchdog_.flush();
  answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(verdicts_.at(0).kind, Verdict::Kind::kNothing);
  EXPECT_GT(claim.held.renew_at, now_);
  EXPECT_FALSE(claim.refusal.ok());
}

// What goes on alone may be entered again by its owner, alone: so nobody else may know it as
// shared.
TEST_F(Renewals, ThatMayNotShareAClaimLeaveItAloneUnlessAnotherCommandMayHaveSharedIt) {
  for (const bool verified : {false, true}) {
    Claim& claim = held(verified ? "a" : "b");
    claim.held.share_with = "r";
    const std::uint64_t renewal = renew(claim);
    if (verified) {
      operations_.ask_about(1, *claim.holds.front(), PendingKind::kVerify, 0);
    }
    EXPECT_EQ(refuse(renewal).kind, verified ? Verdict::Kind::kNothing : Verdict::Kind::kOursAlone);
  }
}

TEST_F(Renewals, ThatMayNotShareAClaimDoNotTellWhatACutOneHasDone) {
  Claim& claim = held("a");
  claim.held.share_with = "r";
  renew(claim);
  cut();
  connect_again();
  EXPECT_EQ(refuse(renew(claim)).kind, Verdict::Kind::kNothing);
}

// It is the next epoch that stands by now.
TEST_F(Renewals, OfAnEpochThatIsOverSayNothing) {
  Claim& claim = held("a");
  watchdog_.want(claim);
  watchdog_.flush();
  claim.epoch = ++ledger_.last_epoch;
  EXPECT_EQ(answer_renewal(2).kind, Verdict::Kind::kNothing);
}

TEST_F(Renewals, TakeBackThatAHoldIsAtRisk) {
  Claim& claim = held("a");
  claim.holds.front()->at_risk = true;
  watchdog_.extend_deadline(claim, claim.held.deadline + kSecond, config_.watchdog_lease);
  EXPECT_FALSE(claim.holds.front()->at_risk);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_RECOVERED);
}

// A record that several share changes whenever one of them comes or goes.
TEST_F(Renewals, WatchOnlyWhatIsHeldAlone) {
  Claim& alone = held("a");
  Claim& shared = held("b");
  shared.want.group = "readers";
  watchdog_.watch({&alone, &shared});
  ASSERT_EQ(link_.sent.size(), 2U);  // CLIENT CACHING YES, EXISTS
  EXPECT_NE(link_.sent[1].find("{a}"), std::string::npos);
  EXPECT_EQ(link_.sent[1].find("{b}"), std::string::npos);
}

}  // namespace
}  // namespace belay
