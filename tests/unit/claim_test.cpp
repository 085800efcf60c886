// A claim alone: from one state to the next, who may have it without the server, and when it is
// due. Made by hand; nobody moves it along.
#include "engine/claim.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unit/parts.h"

namespace belay {
namespace {

class ClaimAlone : public EngineParts {
 protected:
  // Stands in the claim's line.
  Pending& waiting(std::int64_t tag, const Want& want = {}) {
    Pending& pending = ledger_.add_pending(tag, PendingKind::kAcquire);
    pending.want = want;
    pending.claim = &claim_;
    pending.place = claim_.waiting.insert(claim_.waiting.end(), &pending);
    pending.waits = true;
    return pending;
  }

  static Want of_group(const std::string& group) {
    Want want;
    want.group = group;
    return want;
  }

  [[nodiscard]] Grant grant(bool confirmed, Micros lease, Micros deadline) const {
    return {7, 50, 58, 1, deadline, lease, confirmed, false};
  }

  // An epoch that is over.
  Leaving& left(std::int64_t epoch) {
    Leaving& leaving = claim_.leaving.emplace_back();
    leaving.epoch = epoch;
    return leaving;
  }

  // Held, its latest word from the server just come.
  Claim& fresh() {
    Claim& claim = held("a");
    claim.held.heard_at = now_;
    claim.held.reserve = 8;
    return claim;
  }

  Claim& claim_ = ledger_.claim_of(lock_, "a");
};

TEST_F(ClaimAlone, AsksForWhatTheFirstInItsLineWants) {
  claim_.asking.ticket = 9;
  claim_.refusal = Status(BELAY_SERVER_ERROR);
  waiting(1, of_group("readers"));
  waiting(2);
  claim_.begin(7, now_ + kSecond);
  EXPECT_EQ(claim_.state, ClaimState::kAsking);
  EXPECT_EQ(claim_.epoch, 7);
  EXPECT_EQ(claim_.want.group, "readers");
  EXPECT_EQ(claim_.asking.poll_at, now_ + kSecond);
  EXPECT_EQ(claim_.asking.ticket, 0);
  EXPECT_TRUE(claim_.refusal.ok());
}

TEST_F(ClaimAlone, IsHeldAndWatchedOnceConfirmed) {
  claim_.asking.again_at = now_;
  claim_.asking.cut_until = now_ + 40 * kSecond;
  left(3).looks_after = true;
  left(4);
  claim_.take(grant(true, 30 * kSecond, now_ + 29 * kSecond), now_);
  EXPECT_EQ(claim_.state, ClaimState::kHeld);
  EXPECT_EQ(claim_.asking.again_at, kNever);
  EXPECT_EQ(claim_.held.renew_at, kNever);
  EXPECT_EQ(claim_.held.look_at, now_ + kSecond);
  EXPECT_EQ(claim_.held.lapses_at, now_ + 40 * kSecond);  // by an ask that was cut off
  ASSERT_EQ(claim_.leaving.size(), 1U);
  EXPECT_EQ(claim_.leaving[0].epoch, 4);
}

// Rule 5.
TEST_F(ClaimAlone, ConfirmsAGrantAfterAThirdOfItOrHalfOfItBeforeItsEnd) {
  claim_.take(grant(false, 300 * kMillisecond, now_ + 290 * kMillisecond), now_);
  EXPECT_EQ(claim_.held.renew_at, now_ + 100 * kMillisecond);
  claim_.take(grant(false, 300 * kMillisecond, now_ + 200 * kMillisecond), now_);
  EXPECT_EQ(claim_.held.renew_at, now_ + 50 * kMillisecond);
  claim_.take(grant(false, 300 * kMillisecond, now_ + 20 * kMillisecond), now_);
  EXPECT_EQ(claim_.held.renew_at, now_);
}

TEST_F(ClaimAlone, EndsWithWhatTheServerMayStillKnowOfIt) {
  Claim& claim = fresh();
  claim.held.lapses_at = now_ + 31 * kSecond;
  claim.held.renewed_until = now_ + 60 * kSecond;
  const Leaving alone = Claim(claim).end(now_);
  EXPECT_EQ(alone.expires_by, now_ + 31 * kSecond);
  EXPECT_EQ(alone.ours_until, claim.held.deadline);
  EXPECT_TRUE(alone.uncontended);
  claim.held.renew_out = true;  // it may prolong what it finds
  claim.held.others_wait = true;
  const Leaving ended = claim.end(now_);
  EXPECT_EQ(ended.epoch, claim.epoch);
  EXPECT_EQ(ended.expires_by, now_ + 60 * kSecond);
  EXPECT_FALSE(ended.uncontended);
  EXPECT_EQ(claim.state, ClaimState::kIdle);
  EXPECT_FALSE(claim.held.renew_out);
  EXPECT_FALSE(claim.held.confirmed);
}

TEST_F(ClaimAlone, LeavesAQueueThatStandsWithoutPolls) {
  waiting(1);
  claim_.begin(7, kNever);
  claim_.asking.may_be_queued = true;
  claim_.asking.told_to_look = true;
  claim_.asking.again_at = now_ + kSecond;
  const Leaving ended = claim_.end(now_);
  EXPECT_EQ(ended.expires_by, now_ + kQueueStands);
  EXPECT_EQ(ended.look_at, now_ + kSecond);
  EXPECT_FALSE(ended.uncontended);
  EXPECT_EQ(claim_.asking.again_at, kNever);
}

// A hold that was alone is lost: the name is kept for the lock-delay, and its leave says so.
TEST_F(ClaimAlone, KeepsItsLockDelayAfterALoss) {
  Claim& claim = fresh();
  claim.want.lock_delay = 3 * kSecond;
  claim.on_loss_of(*claim.holds.front(), now_);
  EXPECT_TRUE(claim.held.lost_alone);
  EXPECT_EQ(claim.held.delay_until, now_ + 3 * kSecond);
  const Leaving ended = claim.end(now_);
  EXPECT_TRUE(ended.lost);
  EXPECT_FALSE(ended.uncontended);
}

TEST_F(ClaimAlone, SharesNoHoldOfNobodys) {
  Claim& claim = held("a");
  Hold& hold = *claim.holds.front();
  EXPECT_EQ(claim.own_hold(0), nullptr);
  hold.owner = 5;
  EXPECT_EQ(claim.own_hold(5), &hold);
  EXPECT_EQ(claim.own_hold(6), nullptr);
  hold.abandoned = true;
  EXPECT_EQ(claim.own_hold(5), nullptr);
}

TEST_F(ClaimAlone, CannotBeHadAloneByWhoSharesIt) {
  Claim& claim = held("a");
  EXPECT_FALSE(claim.would_deadlock(of_group("readers")));
  claim.held.share_with = "readers";  // has begun to
  EXPECT_TRUE(claim.would_deadlock(Want()));
  EXPECT_FALSE(claim.would_deadlock(of_group("readers")));
  claim.want.group = "readers";
  EXPECT_TRUE(claim.would_deadlock(of_group("x")));
  EXPECT_FALSE(claim.would_deadlock(of_group("readers")));
}

TEST_F(ClaimAlone, IsSharedByAllOnlyWhereAllAreContentWithOneGroup) {
  Claim& claim = held("a");
  held("a");
  claim.holds[0]->group = "readers";
  EXPECT_EQ(claim.shared_by_all(), "");
  claim.holds[1]->group = "readers";
  EXPECT_EQ(claim.shared_by_all(), "readers");
}

TEST_F(ClaimAlone, IsHandedLocallyToWhoWantsTheSame) {
  Claim& claim = fresh();
  EXPECT_FALSE(claim.may_hand_locally(now_));  // nobody waits
  waiting(1);
  EXPECT_TRUE(claim.may_hand_locally(now_));
  claim.held.in_question = true;
  EXPECT_FALSE(claim.may_hand_locally(now_));
  claim.held.in_question = false;
  claim.held.confirmed = false;
  EXPECT_FALSE(claim.may_hand_locally(now_));
  claim.held.confirmed = true;
  claim.held.delay_until = now_ + 1;
  EXPECT_FALSE(claim.may_hand_locally(now_));
  claim.held.delay_until = 0;
  claim.waiting.front()->want.group = "readers";
  EXPECT_FALSE(claim.may_hand_locally(now_));
}

TEST_F(ClaimAlone, IsNotHandedLocallyOnAnUnsureDeadline) {
  Claim& claim = fresh();
  waiting(1);
  const Micros third = claim.held.deadline - claim.held.lease / 3;
  EXPECT_TRUE(claim.may_hand_locally(third - 1));
  EXPECT_FALSE(claim.may_hand_locally(third));
}

TEST_F(ClaimAlone, KeepsOthersWaitingForSixteenHandoffsOrTenMilliseconds) {
  Claim& claim = fresh();
  waiting(1);
  claim.held.handoffs = 100;
  claim.others_are_waiting(now_);
  EXPECT_EQ(claim.held.handoffs, 0);
  EXPECT_TRUE(claim.may_hand_locally(now_ + 10 * kMillisecond));
  EXPECT_FALSE(claim.may_hand_locally(now_ + 10 * kMillisecond + 1));
  claim.held.handoffs = 15;
  claim.others_are_waiting(now_ + kMillisecond);  // since before
  EXPECT_EQ(claim.held.handoffs, 15);
  EXPECT_TRUE(claim.may_hand_locally(now_));
  claim.held.handoffs = 16;
  EXPECT_FALSE(claim.may_hand_locally(now_));
}

TEST_F(ClaimAlone, AsksForFencesWhenHalfAreUsed) {
  Claim& claim = fresh();
  claim.held.next_fence = 55;  // 55..58 are left
  EXPECT_FALSE(claim.runs_short_of_fences());
  waiting(1);
  EXPECT_TRUE(claim.runs_short_of_fences());
  claim.held.next_fence = 54;
  EXPECT_FALSE(claim.runs_short_of_fences());
  claim.held.next_fence = 59;  // none: the next owner waits for the answer, if nobody else waits
  EXPECT_TRUE(claim.may_hand_locally(now_));
  claim.others_are_waiting(now_);
  EXPECT_FALSE(claim.may_hand_locally(now_));
}

TEST_F(ClaimAlone, IsJoinedWhileTheServersWordIsFresh) {
  Claim& claim = fresh();
  claim.want.group = "readers";
  Pending& reader = waiting(1, of_group("readers"));
  EXPECT_TRUE(claim.may_join(reader, now_ + 100 * kMillisecond));
  EXPECT_FALSE(claim.may_join(reader, now_ + 100 * kMillisecond + 1));
  EXPECT_TRUE(claim.wants_to_join(reader));
  EXPECT_FALSE(claim.waits_for_others());
  claim.others_are_waiting(now_);
  EXPECT_FALSE(claim.may_join(reader, now_));
  EXPECT_TRUE(claim.waits_for_others());
  EXPECT_FALSE(claim.wants_to_join(waiting(2)));
}

TEST_F(ClaimAlone, IsWatchedUnlessShared) {
  Claim& claim = held("a");
  EXPECT_TRUE(claim.watchable());
  claim.want.group = "readers";
  EXPECT_FALSE(claim.watchable());
  EXPECT_FALSE(ledger_.claim_of(dialect_.semaphore, "b").watchable());
}

TEST_F(ClaimAlone, TellsWhoeverWasThereWhenTheServerWasAsked) {
  Pending& first = waiting(1);
  claim_.asking.asked_to = first.order;
  Pending& later = waiting(2);
  later.want.generation = 9;
  waiting(3);
  EXPECT_EQ(claim_.concerned(0), (std::vector<Pending*>{&first, &later}));
  EXPECT_EQ(claim_.concerned(9), (std::vector<Pending*>{&first, &later}));
  EXPECT_EQ(claim_.concerned(8), (std::vector<Pending*>{&first}));
}

// Rule 15.
TEST_F(ClaimAlone, SuspectsTheEpochWhoseAskWasCutOff) {
  waiting(1);
  claim_.begin(7, kNever);
  claim_.asking.expires_by = now_ + 5;
  left(6);
  claim_.suspect(6, {100});
  EXPECT_EQ(claim_.leaving_of(6)->sweep_until, ServerTime{100});
  EXPECT_FALSE(claim_.asking.maybe_on_server);
  claim_.suspect(7, {200});
  EXPECT_TRUE(claim_.asking.maybe_on_server);
  EXPECT_EQ(claim_.asking.suspect_until, ServerTime{200});
  EXPECT_EQ(claim_.asking.cut_until, now_ + 5);
  EXPECT_EQ(claim_.leaving_of(6)->sweep_until, ServerTime{100});
  EXPECT_EQ(claim_.leaving_of(5), nullptr);
  claim_.forget(*claim_.leaving_of(6));
  EXPECT_TRUE(claim_.leaving.empty());
}

TEST_F(ClaimAlone, IsLeftForAsLongAsAnAskThatWasCutOffMayHaveGotIt) {
  waiting(1);
  claim_.begin(7, kNever);
  claim_.asking.expires_by = now_ + kSecond;
  claim_.suspect(7, {100});
  claim_.asking.expires_by = 0;  // asked anew: together with another name it is busy
  EXPECT_EQ(claim_.end(now_).expires_by, now_ + kSecond);
}

TEST_F(ClaimAlone, HasALossToTellUntilTheServerHasAnswered) {
  left(6);
  EXPECT_FALSE(claim_.loss_is_untold());
  claim_.leaving[0].lost = true;
  EXPECT_FALSE(claim_.loss_is_untold());
  waiting(1);
  claim_.begin(7, kNever);
  EXPECT_TRUE(claim_.loss_is_untold());
  claim_.leaving[0].answered = true;
  EXPECT_FALSE(claim_.loss_is_untold());
}

TEST_F(ClaimAlone, IsAtRiskWhenAThirdIsLeftAndLaterWhileARenewalIsOut) {
  Claim& claim = held("a");
  Hold& hold = *claim.holds.front();
  const Micros third = claim.held.deadline - claim.held.lease / 3;
  EXPECT_EQ(claim.risk_time(hold), third);
  claim.held.renew_out = true;
  claim.held.renewed_at = third + kSecond;
  EXPECT_EQ(claim.risk_time(hold), third + kSecond + 2 * node_.round_trip());
  claim.held.renewed_at = claim.held.deadline;
  EXPECT_EQ(claim.risk_time(hold), claim.held.deadline - claim.held.lease / 12);
  hold.at_risk = true;
  EXPECT_EQ(claim.risk_time(hold), kNever);
}

TEST_F(ClaimAlone, OfAFixedLeaseIsNotAtRisk) {
  Claim& claim = held("a", 5 * kSecond);
  EXPECT_EQ(claim.risk_time(*claim.holds.front()), kNever);
  claim.held.confirmed = false;  // that is owed
  EXPECT_NE(claim.risk_time(*claim.holds.front()), kNever);
}

TEST_F(ClaimAlone, IsDueWhenTheFirstOfItsMattersIs) {
  Claim& claim = held("a");
  const Micros third = claim.held.deadline - claim.held.lease / 3;
  claim.held.renew_at = now_ + 2 * kSecond;
  left(6).again_at = now_ + kSecond;
  EXPECT_EQ(claim.next_due(), now_ + kSecond);
  claim.leaving.clear();
  EXPECT_EQ(claim.next_due(), now_ + 2 * kSecond);
  claim.held.renew_out = true;
  EXPECT_GE(claim.next_due(), third);
  claim.held.renew_out = false;
  cut();
  EXPECT_EQ(claim.next_due(), third);  // nothing is asked, but a loss is told
}

}  // namespace
}  // namespace belay
