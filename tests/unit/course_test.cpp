// A claim's course alone: asked for, queued, held, handed on, lost.
#include "engine/course.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unit/course_alone.h"

namespace belay {
namespace {

// ---- Asking

TEST_F(CourseAlone, CountsALeaseFromWhenItWasAskedFor) {
  acquire(1);
  EXPECT_EQ(calls(), 1U);
  now_ += 3 * kMillisecond;
  reply(granted(50), 3 * kMillisecond);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(last().kind, BELAY_EVENT_ACQUIRED);
  EXPECT_EQ(last().fence, 50);
  const Micros lease = config_.watchdog_lease;
  EXPECT_EQ(last().remaining, lease - lease_margin(lease) - 3 * kMillisecond);
  EXPECT_EQ(claim().state, ClaimState::kHeld);
}

TEST_F(CourseAlone, LetsATryNeitherWaitNorAsk) {
  got(1);
  acquire(2, for_owner(0), 0);
  EXPECT_EQ(last().tag, 2);
  EXPECT_EQ(last().status.code, BELAY_BUSY);
  EXPECT_EQ(calls(), 0U);
}

TEST_F(CourseAlone, EndsATryThatTheServerCallsBusyAndAsksForTheNext) {
  acquire(1, for_owner(0), 0);
  acquire(2);
  calls();
  reply(told(AcquireCode::kBusy));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(last().tag, 1);
  EXPECT_EQ(last().status.code, BELAY_BUSY);
  EXPECT_EQ(calls(), 1U);
  EXPECT_TRUE(ledger_.pending(2)->reached);
}

TEST_F(CourseAlone, AsksForAClockFirst) {
  now_ += 31 * kSecond;
  acquire(1);
  EXPECT_EQ(calls(), 0U);
  ASSERT_EQ(ledger_.held_back.size(), 1U);
  EXPECT_TRUE(ledger_.held_back[0]->check_due);
}

TEST_F(CourseAlone, AsksAgainWhereItCameTooLateOrThereIsMoreToDo) {
  acquire(1);
  const std::int64_t epoch = claim().epoch;
  reply(told(AcquireCode::kLate));
  reply(told(AcquireCode::kMore));
  EXPECT_EQ(calls(), 3U);
  EXPECT_EQ(claim().epoch, epoch);
}

// Rule 7.
TEST_F(CourseAlone, AsksUnderANewEpochWhereAnOldOneIsStale) {
  acquire(1);
  const std::int64_t epoch = claim().epoch;
  reply(told(AcquireCode::kStale));
  EXPECT_EQ(calls(), 2U);
  EXPECT_GT(claim().epoch, epoch);
  EXPECT_TRUE(claim().leaving.empty());
}

TEST_F(CourseAlone, TellsWhyThereIsNothingToAcquire) {
  acquire(1);
  reply(told(AcquireCode::kMissing));
  EXPECT_EQ(last().status.code, BELAY_NOT_FOUND);
  acquire(2);
  AcquireAnswer other = told(AcquireCode::kLimit);
  other.limit = 9;
  reply(other);
  EXPECT_EQ(last().status.code, BELAY_LIMIT_DIFFERS);
  EXPECT_EQ(last().status.message, "the limit of 'a' is 9");
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(CourseAlone, AsksAgainAfterAnErrorThatMayPass) {
  acquire(1);
  calls();
  refuse("LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(calls(), 0U);
  EXPECT_EQ(claim().timer.at, now_ + 50 * kMillisecond);
  wait_for_timer();
  EXPECT_EQ(calls(), 1U);
  EXPECT_TRUE(events_.events.empty());
}

TEST_F(CourseAlone, EndsWithAnErrorThatStays) {
  acquire(1);
  calls();
  const Flight flight = landed();
  course_.on_acquire_error(claim(), claim().node(),
                           "NOPERM no permissions to run the 'eval' command");
  course_.reconcile(claim());
  EXPECT_EQ(last().status.code, BELAY_NOT_PERMITTED);
  EXPECT_NE(last().status.message.find("refused to acquire 'a'"), std::string::npos);
  EXPECT_EQ(calls(), 0U);  // nothing of it is there
}

// A script that had begun may have written the record before it came to what its user may not do.
TEST_F(CourseAlone, LeavesWhatARefusalMayHaveLeftBehindAndSaysThatItIsInDoubt) {
  acquire(1);
  calls();
  refuse("ERR ACL failure in script: User has no permissions to run the 'zadd' command");
  EXPECT_EQ(last().status.code, BELAY_NOT_PERMITTED);
  EXPECT_GE(last().in_doubt, config_.watchdog_lease);
  EXPECT_EQ(calls(), 1U);
  acquire(2);
  refuse("NOPERM no permission to run ZADD");
  EXPECT_EQ(last().in_doubt, 0);
}

TEST_F(CourseAlone, AsksUnderNewWantsOnlyAfterItHasLeft) {
  acquire(1, for_owner(0, "r"), kSecond);
  acquire(2);
  calls();
  outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
  const std::int64_t epoch = claim().epoch;
  course_.reconcile(claim());
  EXPECT_EQ(calls(), 2U);
  EXPECT_NE(claim().epoch, epoch);
  EXPECT_EQ(claim().leaving.size(), 1U);
  EXPECT_EQ(claim().leaving[0].epoch, epoch);
  EXPECT_FALSE(claim().shared());
}

// ---- Waiting

// Rule 18.
TEST_F(CourseAlone, LooksWhenTheLeaseEndsOnlyAsTheNextInLine) {
  acquire(1);
  reply(queued(kSecond));
  EXPECT_EQ(claim().timer.at, now_ + kSecond + kLookAfter);
  calls();
  wait_for_timer();
  EXPECT_EQ(calls(), 1U);
  reply(queued(kSecond, 1));
  EXPECT_GE(claim().timer.at, now_ + Timing::kFallbackPoll * 80 / 100);
}

TEST_F(CourseAlone, IsReachedOnceTheServerHasAnswered) {
  acquire(1, for_owner(0), 9 * kSecond);
  const Pending& waits = *ledger_.pending(1);
  EXPECT_EQ(waits.timer.at, waits.reach_by);
  EXPECT_EQ(course_.acquire_timeout(waits).code, BELAY_UNAVAILABLE);
  EXPECT_GT(course_.acquire_timeout(waits).in_doubt_until, now_);
  reply(queued(kSecond));
  EXPECT_EQ(waits.timer.at, waits.wait_until);
  EXPECT_EQ(course_.acquire_timeout(waits).code, BELAY_TIMEOUT);
}

TEST_F(CourseAlone, WaitsForTheServerNoLongerThanForTheLock) {
  const auto ends = [this](std::int64_t tag, Micros wait) {
    acquire(tag, for_owner(0), wait);
    return ledger_.pending(tag)->timer.at - now_;
  };
  EXPECT_EQ(ends(1, 0), config_.request_timeout);
  EXPECT_EQ(ends(2, 500 * kMillisecond), 500 * kMillisecond);
  EXPECT_EQ(ends(3, 9 * kSecond), config_.request_timeout);
  EXPECT_EQ(ends(4, kNever), kNever - now_);
  EXPECT_EQ(ends(5, kMillisecond), 250 * kMillisecond);  // it is to have time to answer at all
  EXPECT_EQ(course_.acquire_timeout(*ledger_.pending(2)).message,
            node_.display() + ": no answer within 500 ms");
}

TEST_F(CourseAlone, TellsForHowLongALockIsStillTaken) {
  acquire(1, for_owner(0), 0);
  AcquireAnswer busy = told(AcquireCode::kBusy);
  busy.remaining = 3 * kSecond;
  reply(busy);
  EXPECT_EQ(last().status.code, BELAY_BUSY);
  EXPECT_EQ(last().remaining, 3 * kSecond);
  acquire(2, for_owner(0), 9 * kSecond);
  AcquireAnswer waits = queued(kSecond, 1);
  waits.remaining = 20 * kSecond;
  reply(waits);
  now_ += 9 * kSecond;
  const Pending& late = *ledger_.pending(2);
  outcomes_.complete(*ledger_.pending(2), course_.acquire_timeout(late));
  EXPECT_EQ(last().status.code, BELAY_TIMEOUT);
  EXPECT_EQ(last().remaining, 11 * kSecond);
}

TEST_F(CourseAlone, TellsForHowLongAnotherOwnerOfThisClientHasALock) {
  got(1, for_owner(7));
  acquire(2, for_owner(8), 0);
  EXPECT_EQ(last().status.code, BELAY_BUSY);
  EXPECT_EQ(last().remaining, claim().held.deadline - now_);
}

// Rule 4.
TEST_F(CourseAlone, BelievesAGrantByMessageWhileItIsFresh) {
  acquire(1);
  reply(queued(kSecond));
  calls();
  hear(message(MessageKind::kGrant));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(last().fence, 60);
  EXPECT_EQ(last().remaining, 300 * kMillisecond - lease_margin(300 * kMillisecond));
  EXPECT_FALSE(claim().held.confirmed);
  EXPECT_EQ(calls(), 0U);
  EXPECT_EQ(ledger_.metrics.handoffs_by_message, 1);
}

TEST_F(CourseAlone, AsksAboutAGrantByMessageThatIsOld) {
  acquire(1);
  reply(queued(kSecond));
  Message late = message(MessageKind::kGrant);
  now_ += 270 * kMillisecond;
  calls();
  hear(late);
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(calls(), 1U);
  reply(queued(kSecond));  // what the server says after it is what counts
  late.server_time = server_time() + -1;
  calls();
  hear(late);
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(calls(), 1U);
}

// Somebody sends it again, and the server's clock has stepped back meanwhile.
TEST_F(CourseAlone, NeverBelievesAGrantByMessageThatItOnceFoundOld) {
  acquire(1);
  reply(queued(kSecond));
  Message late = message(MessageKind::kGrant);
  now_ += 400 * kMillisecond;
  hear(late);
  node_.saw_time(server_time() + -390 * kMillisecond, now_, now_);  // by another answer
  hear(late);
  EXPECT_TRUE(events_.events.empty());
  ++late.server_time.since_1970;
  hear(late);
  EXPECT_EQ(events_.events.size(), 1U);  // it looks fresh: that alone was not what kept it away
}

TEST_F(CourseAlone, LooksWhenAMessageSaysSoButNotAfterItsPoll) {
  acquire(1);
  reply(queued(20 * kSecond));
  const Micros poll_at = claim().asking.poll_at;
  Message next = message(MessageKind::kNext);
  next.look_in = 100 * kMillisecond;
  hear(next);
  EXPECT_EQ(claim().timer.at, now_ + 100 * kMillisecond + kLookAfter);
  next.look_in = 60 * kSecond;
  hear(next);
  EXPECT_LE(claim().timer.at, poll_at);
}

// Rules 11 and 12.
TEST_F(CourseAlone, GivesBackWhatIsNotWantedAnyMore) {
  acquire(1);
  const Flight ask = landed();
  outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
  course_.reconcile(claim());
  EXPECT_EQ(calls(), 2U);
  reply(LeaveCode::kNotOurs);
  Claim& again = ledger_.claim_of(lock_, "a");
  course_.on_acquire_answer({&again, ask.refs.at(0).epoch, kSecond}, node_, granted(50), now_);
  EXPECT_EQ(calls(), 1U);
  EXPECT_NE(again.leaving_of(ask.refs.at(0).epoch), nullptr);
  EXPECT_EQ(events_.events.size(), 1U);
}

// ---- Holding

TEST_F(CourseAlone, LetsAnOwnerReEnterUnderItsFence) {
  got(1, for_owner(7));
  acquire(2, for_owner(7));
  EXPECT_EQ(last().tag, 2);
  EXPECT_EQ(last().fence, 50);
  EXPECT_EQ(calls(), 0U);
  EXPECT_EQ(claim().holds.size(), 2U);
}

TEST_F(CourseAlone, KeepsWhatAnOwnerHasForAsLongAsItsNewestHold) {
  AcquireRequest request = for_owner(7);
  request.lease = 10 * kSecond;
  const Hold& outer = got(1, request);
  now_ += 9 * kSecond;
  acquire(2, request);
  const Hold& inner = *ledger_.hold(last().hold);
  EXPECT_EQ(outer.ends_at, inner.ends_at);  // before the server knows of it
  EXPECT_EQ(claim().certain_until(outer), claim().held.deadline);
  on_still_ours_until(inner.ends_at + kMillisecond);
  EXPECT_EQ(outer.ends_at, inner.ends_at);
  request.owner = 8;
  acquire(3, request);  // waits: it is no concern of the others'
  EXPECT_EQ(outer.ends_at, inner.ends_at);
}

// The watchdog renews the inner one; what it has got when that is released is left to the other.
TEST_F(CourseAlone, KeepsAFixedLeaseWhileItsOwnerHasAHoldThatTheWatchdogRenews) {
  AcquireRequest request = for_owner(7);
  request.lease = 10 * kSecond;
  const Hold& outer = got(1, request);
  now_ += 9 * kSecond;
  acquire(2, for_owner(7));
  const std::int64_t inner = last().hold;
  EXPECT_EQ(outer.ends_at, now_ + config_.watchdog_lease);
  now_ += kMillisecond;
  on_still_ours_until(now_ + 30 * kSecond);
  EXPECT_EQ(outer.ends_at, now_ + 30 * kSecond);
  now_ += 20 * kSecond;
  on_still_ours_until(now_ + 30 * kSecond);
  drop(inner, 3);
  EXPECT_EQ(outer.ends_at, now_ + 30 * kSecond);
  now_ = outer.ends_at;
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
}

TEST_F(CourseAlone, EndsAMaxHoldWhateverItsOwnerEntersAgain) {
  AcquireRequest request = for_owner(7);
  request.max_hold = kSecond;
  const Hold& outer = got(1, request);
  const Micros ends = outer.max_end;
  acquire(2, for_owner(7));
  on_still_ours_until(now_ + config_.watchdog_lease * 2);
  EXPECT_EQ(claim().certain_until(outer), ends);
}

TEST_F(CourseAlone, LeavesWhatHasBeenAbandonedToItsOwnEnd) {
  AcquireRequest request = for_owner(7);
  request.lease = 10 * kSecond;
  const Hold& outer = got(1, request);
  acquire(2, for_owner(7));
  course_.abandon(ledger_.take_hold(last().hold));
  const Micros ends = outer.ends_at;
  on_still_ours_until(now_ + 60 * kSecond);
  EXPECT_EQ(outer.ends_at, ends);
}

// As those who join it have, where a writer was lost.
TEST_F(CourseAlone, LetsAReaderReEnterUnderTheFenceOfItsReaders) {
  AcquireRequest request = for_owner(7);
  request.max_hold = kSecond;
  const Hold& writes = got(1, request);
  const std::int64_t fence = writes.fence;
  acquire(2, for_owner(7, "r"));
  EXPECT_EQ(last().fence, fence);
  now_ = writes.max_end;
  on_still_ours_until(now_ + 60 * kSecond);
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
  course_.on_verdict({Verdict::Kind::kOurs, &claim(), now_ + 60 * kSecond, kSecond, "r", 0, ""});
  acquire(3, for_owner(7, "r"));
  EXPECT_EQ(last().fence, claim().held.fence);
  EXPECT_GT(last().fence, fence);
}

// It waits for what vouches for its owner's hold, which is released before.
TEST_F(CourseAlone, EndsATryWhoseOwnerHasLeftMeanwhile) {
  acquire(1, for_owner(7));
  reply(queued(kSecond));
  hear(message(MessageKind::kGrant));
  const std::int64_t hold = last().hold;
  acquire(2, for_owner(8));
  AcquireRequest request = for_owner(7);
  request.confirmed = true;
  acquire(3, request, 0);
  ASSERT_NE(ledger_.pending(3), nullptr);
  drop(hold, 4);
  now_ += kMillisecond;
  reply(granted(70));
  EXPECT_EQ(claim().holds.front()->owner, 8);
  EXPECT_EQ(ledger_.pending(3), nullptr);
  EXPECT_EQ(last().tag, 3);
  EXPECT_EQ(last().status.code, BELAY_BUSY);
}

TEST_F(CourseAlone, RefusesAReaderWhoWantsToWrite) {
  got(1, for_owner(7, "r"));
  acquire(2, for_owner(7));
  EXPECT_EQ(last().status.code, BELAY_WOULD_DEADLOCK);
  EXPECT_TRUE(claim().waiting.empty());
}

TEST_F(CourseAlone, LetsReadersJoinWhileNobodyElseWaits) {
  got(1, for_owner(0, "r"));
  acquire(2, for_owner(0, "r"));
  EXPECT_EQ(last().tag, 2);
  EXPECT_EQ(last().fence, 50);
  claim().held.others_wait = true;
  acquire(3, for_owner(0, "r"));
  EXPECT_EQ(last().tag, 2);
  EXPECT_EQ(claim().waiting.size(), 1U);
}

TEST_F(CourseAlone, HandsOnToTheNextLocalOwnerUnderTheNextFence) {
  const std::int64_t hold = got(1).id;
  acquire(2);
  drop(hold, 3);
  EXPECT_EQ(calls(), 0U);
  ASSERT_EQ(events_.events.size(), 3U);
  EXPECT_EQ(events_.events[1].tag, 3);
  EXPECT_EQ(events_.events[2].tag, 2);
  EXPECT_EQ(events_.events[2].fence, 51);
  EXPECT_EQ(ledger_.metrics.handoffs_local, 1);
}

// Rule 21.
TEST_F(CourseAlone, WaitsForFencesWhereNoneIsReserved) {
  const std::int64_t hold = got(1).id;
  acquire(2);
  claim().held.next_fence = claim().held.last_fence + 1;
  drop(hold, 3);
  EXPECT_EQ(last().tag, 3);
  EXPECT_TRUE(watchdog_.due());
  claim().renew_due = false;
  claim().held.last_fence += 8;
  course_.on_verdict(
      {Verdict::Kind::kOurs, &claim(), claim().held.deadline, claim().held.lease, "", 0, ""});
  EXPECT_EQ(last().tag, 2);
  EXPECT_EQ(last().fence, 59);
}

TEST_F(CourseAlone, LosesAFixedLeaseAtItsEnd) {
  AcquireRequest request = for_owner(0);
  request.lease = 5 * kSecond;
  Hold& hold = got(1, request);
  now_ = hold.ends_at;
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
  EXPECT_EQ(last().status.reason, BELAY_REASON_LEASE_ENDED);
  EXPECT_EQ(hold.loss.code, BELAY_LOST);
  EXPECT_EQ(hold.claim, nullptr);
  EXPECT_EQ(calls(), 1U);  // it is left
}

TEST_F(CourseAlone, LosesWhatNobodyVouchesForAtItsDeadline) {
  got(1);
  cut();
  claim().on_node_down();
  now_ = claim().held.deadline - 1;
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_AT_RISK);
  now_ += 1;
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
  EXPECT_EQ(last().status.reason, BELAY_REASON_NOT_RENEWED);
  EXPECT_EQ(events_.events.size(), 3U);
}

TEST_F(CourseAlone, WarnsOnceALeaseHasLessThanAThirdLeft) {
  got(1);
  claim().held.renew_at = kNever;
  const Micros third = claim().held.deadline - claim().held.lease / 3;
  now_ = third - 1;
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_ACQUIRED);
  now_ = third;
  course_.on_due(claim());
  course_.on_due(claim());
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(last().kind, BELAY_EVENT_AT_RISK);
}

TEST_F(CourseAlone, StopsTheWatchdogAtTheMaxHold) {
  AcquireRequest request = for_owner(0);
  request.max_hold = kSecond;
  const Hold& hold = got(1, request);
  claim().held.renew_at = kNever;
  wait_for_timer();
  EXPECT_EQ(last().kind, BELAY_EVENT_AT_RISK);
  EXPECT_EQ(last().status.reason, BELAY_REASON_MAX_HOLD);
  EXPECT_LE(hold.ends_at, now_ + config_.watchdog_lease);
}

// A second hold of its owner has the longer lease, and the process was stopped meanwhile.
TEST_F(CourseAlone, EndsAHoldALeaseAfterItsMaxHoldThoughItComesToKnowItLate) {
  AcquireRequest request = for_owner(7);
  request.max_hold = kSecond;
  const std::int64_t id = got(1, request).id;
  AcquireRequest longer = for_owner(7);
  longer.lease = 10 * config_.watchdog_lease;
  acquire(2, longer);
  watchdog_.extend_deadline(claim(), now_ + longer.lease, longer.lease);
  now_ += kSecond + config_.watchdog_lease;
  EXPECT_EQ(claim().certain_until(*ledger_.hold(id)), now_);
  course_.on_due(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
  EXPECT_EQ(last().hold, id);
  EXPECT_EQ(last().status.reason, BELAY_REASON_MAX_HOLD);
  EXPECT_EQ(claim().holds.size(), 1U);
}

TEST_F(CourseAlone, TakesTheServersWordForALoss) {
  Hold& hold = got(1);
  ledger_.add_pending(2, PendingKind::kVerify).hold = hold.id;
  hold.asked = {2};
  course_.on_verdict({Verdict::Kind::kLost, &claim(), 0, 0, "", BELAY_REASON_BROKEN, "broken"});
  ASSERT_EQ(events_.events.size(), 3U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_LOST);
  EXPECT_EQ(events_.events[1].status.reason, BELAY_REASON_BROKEN);
  EXPECT_EQ(events_.events[2].kind, BELAY_EVENT_VERIFIED);
  EXPECT_EQ(events_.events[2].status.code, BELAY_LOST);
}

TEST_F(CourseAlone, BecomesSharedByADowngrade) {
  Hold& hold = got(1);
  ledger_.add_pending(2, PendingKind::kDowngrade).hold = hold.id;
  hold.asked = {2};
  claim().held.share_with = "r";
  course_.on_verdict(
      {Verdict::Kind::kOurs, &claim(), claim().held.deadline, claim().held.lease, "r", 0, ""});
  EXPECT_TRUE(claim().shared());
  EXPECT_EQ(last().kind, BELAY_EVENT_DOWNGRADED);
  EXPECT_TRUE(last().status.ok());
}

TEST_F(CourseAlone, AsksTheServerWhereAMessageSaysThatItWasBroken) {
  got(1);
  Message broken = message(MessageKind::kBroken);
  broken.by = "an operator";
  hear(broken);
  EXPECT_TRUE(watchdog_.due());
  EXPECT_EQ(claim().held.broken_by, "an operator");
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(CourseAlone, LetsAnAbandonedHoldEndByItself) {
  const Micros deadline = now_ + config_.watchdog_lease;
  const std::int64_t id = got(1, for_owner(7)).id;
  course_.abandon(ledger_.take_hold(id));
  const Hold& hold = *ledger_.abandoned.at(id);
  EXPECT_LE(hold.ends_at, deadline);
  acquire(2, for_owner(7));
  EXPECT_EQ(events_.events.size(), 1U);  // nobody re-enters it
  EXPECT_EQ(calls(), 0U);
}

// ---- Connections

// Anybody may send any number of them.
TEST_F(CourseAlone, AsksAlthoughMessagesGoOnToTellOfLosses) {
  for (const std::int64_t tag : {1, 2}) {
    drop(got(tag).id, tag + 10);
    reply(LeaveCode::kOk);
  }
  const auto told_of = [this](std::int64_t epoch) {
    on_left(claim(), epoch, LeaveAnswer{LeaveCode::kNotOurs, server_time(), 0});
  };
  EXPECT_TRUE(hear_stray(1));
  calls();
  acquire(3);
  EXPECT_EQ(calls(), 0U);  // what was lost before is told first
  EXPECT_TRUE(hear_stray(2));
  EXPECT_EQ(calls(), 1U);
  told_of(1);
  EXPECT_EQ(calls(), 1U);  // the ask
}

TEST_F(CourseAlone, TakesARenewalThatWasCutOffForOneThatTookPlace) {
  got(1);
  watchdog_.want(claim());
  watchdog_.flush();
  claim().held.renewed_until = claim().held.lapses_at + kSecond;
  cut();
  EXPECT_FALSE(claim().held.renew_out);
  EXPECT_EQ(claim().held.lapses_at, claim().held.renewed_until);
}

// It may have been granted where the slot was: what still stands asks again, all else leaves.
TEST_F(CourseAlone, KeepsInMindWhatAnOutdatedAnswerMayHaveBrought) {
  ledger_.last_epoch = 5;
  acquire(1);
  calls();
  Flight asked;
  asked.kind = FlightKind::kAcquire;
  asked.refs = {{&claim(), 6, kSecond}};
  course_.on_outdated_ask(asked);
  EXPECT_TRUE(claim().asking.maybe_on_server);
  EXPECT_EQ(calls(), 0U);
  asked.refs = {{&claim(), 5, kSecond}};
  course_.on_outdated_ask(asked);
  EXPECT_EQ(calls(), 1U);
  ASSERT_EQ(claim().leaving.size(), 1U);
  EXPECT_EQ(claim().leaving.front().epoch, 5);
  EXPECT_EQ(claim().leaving.front().expires_by, now_ + drifted(kSecond));
  course_.on_outdated_ask(asked);
  EXPECT_EQ(claim().leaving.size(), 1U);
}

}  // namespace
}  // namespace belay
