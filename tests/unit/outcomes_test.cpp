// What callers are told, alone: submissions, holds and bundles made by hand.
#include "engine/outcomes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dialect/latch.h"
#include "dialect/queries.h"
#include "unit/parts.h"

namespace belay {
namespace {

class OutcomesAlone : public EngineParts {
 protected:
  Pending& pending(std::int64_t tag, PendingKind kind) { return ledger_.add_pending(tag, kind); }

  Pending& acquire(const Primitive& primitive) {
    Pending& acquire = pending(1, PendingKind::kAcquire);
    acquire.primitive = &primitive;
    acquire.claim = &ledger_.claim_of(primitive, "a");
    return acquire;
  }

  const Event& ended(Pending& pending, Status status) {
    outcomes_.complete(pending, std::move(status));
    return events_.events.back();
  }

  // Of two names, whose acquire is the submission 1 and whose parts are -1 and -2.
  Bundle& bundle(BundleStage stage) {
    auto owned = std::make_unique<Bundle>();
    Bundle& bundle = *owned;
    bundle.id = 77;
    bundle.tag = 1;
    bundle.stage = stage;
    bundle.parts = {{"a", Want(), -1}, {"b", Want(), -2}};
    ledger_.bundles.emplace(bundle.id, std::move(owned));
    return bundle;
  }

  Pending& part(std::int64_t tag, PendingKind kind) {
    Pending& part = pending(tag, kind);
    const Pending* const lead = ledger_.pending(1);
    part.lead = lead != nullptr ? lead->ref() : PendingRef{1, part.order};
    part.bundle = 77;
    part.primitive = &lock_;
    part.claim = &ledger_.claim_of(lock_, tag == -1 ? "a" : "b");
    ++ledger_.parts_pending;
    return part;
  }

  static Status in_doubt(Micros until) {
    Status status(BELAY_UNAVAILABLE, "cut");
    status.in_doubt_until = until;
    return status;
  }
};

TEST_F(OutcomesAlone, AreTheOneEventOfASubmission) {
  const std::vector<std::pair<PendingKind, std::int32_t>> kinds = {
      {PendingKind::kAcquire, BELAY_EVENT_ACQUIRED},
      {PendingKind::kRelease, BELAY_EVENT_RELEASED},
      {PendingKind::kExtend, BELAY_EVENT_EXTENDED},
      {PendingKind::kVerify, BELAY_EVENT_VERIFIED},
      {PendingKind::kDowngrade, BELAY_EVENT_DOWNGRADED}};
  for (const auto& [kind, event] : kinds) {
    Pending& submission = pending(event + 10, kind);
    submission.hold = 5;
    const Event& told = ended(submission, Status(BELAY_LOST, "gone"));
    EXPECT_EQ(told.kind, event);
    EXPECT_EQ(told.tag, event + 10);
    EXPECT_EQ(told.hold, 5);
    EXPECT_EQ(told.status.message, "gone");
  }
  EXPECT_EQ(events_.events.size(), kinds.size());
  EXPECT_TRUE(ledger_.pendings.empty());
  Pending& query = pending(1, PendingKind::kQuery);
  query.query = ping_query();
  EXPECT_EQ(ended(query, Status()).kind, BELAY_EVENT_PINGED);
}

TEST_F(OutcomesAlone, SayWhatWasBusy) {
  const LockOrSemaphore semaphore(Kind::kSemaphore, me_);
  const LatchPrimitive latch(me_, kSecond);
  const std::vector<std::pair<const Primitive*, std::string>> words = {
      {&lock_, "'a' is held by another owner"},
      {&semaphore, "too few permits of 'a'"},
      {&latch, "the latch 'a' has not opened"}};
  for (const auto& [primitive, text] : words) {
    const Event& told = ended(acquire(*primitive), Status(BELAY_BUSY));
    EXPECT_NE(told.status.message.find(text), std::string::npos) << told.status.message;
  }
}

TEST_F(OutcomesAlone, SayHowLongTheWaitWas) {
  Pending& late = acquire(lock_);
  late.wait_until = now_ + 300 * kMillisecond;
  now_ += kSecond;
  EXPECT_EQ(ended(late, Status(BELAY_TIMEOUT)).status.message,
            "the wait of 300 ms for 'a' has ended");
}

// A try that others follow needs no words.
TEST_F(OutcomesAlone, SayOfSeveralNamesThatOneWasBusyWhereThatIsTheEnd) {
  Bundle& whole = bundle(BundleStage::kTrying);
  outcomes_.complete(part(-1, PendingKind::kAcquire), Status(BELAY_BUSY));
  EXPECT_EQ(whole.failure.message, "");
  whole.failure = Status();
  whole.is_try = true;
  outcomes_.complete(part(-2, PendingKind::kAcquire), Status(BELAY_BUSY));
  EXPECT_TRUE(whole.failure.message.starts_with("one of the 2 names is held"));
}

TEST_F(OutcomesAlone, AreInDoubtWhereACommandWithAnEffectWasNotAnswered) {
  const auto doubt = [this](PendingKind kind, int unanswered, std::int32_t code) {
    Pending& submission = pending(1, kind);
    submission.unanswered = unanswered;
    submission.lease = 2 * kSecond;
    return ended(submission, Status(code)).in_doubt;
  };
  EXPECT_EQ(doubt(PendingKind::kExtend, 1, BELAY_UNAVAILABLE),
            config_.request_timeout + 2 * kSecond);
  EXPECT_EQ(doubt(PendingKind::kExtend, 0, BELAY_UNAVAILABLE), 0);
  EXPECT_EQ(doubt(PendingKind::kExtend, 1, BELAY_LOST), 0);
  EXPECT_EQ(doubt(PendingKind::kExtend, 1, BELAY_OK), 0);
  EXPECT_EQ(doubt(PendingKind::kVerify, 1, BELAY_UNAVAILABLE), 0);
}

TEST_F(OutcomesAlone, OfAQueryAreInDoubtUntilItsNotAfter) {
  Pending& query = pending(1, PendingKind::kQuery);
  query.query = break_query(dialect_, "a", 0);
  query.unanswered = 1;
  query.may_arrive_until = now_ + 3 * kSecond;
  EXPECT_EQ(ended(query, Status(BELAY_CLOSED)).in_doubt, 3 * kSecond);
}

// Renewals go on asking for it; one is on its way.
TEST_F(OutcomesAlone, OfADowngradeAreInDoubtAsLongAsItsRecordMayStand) {
  Claim& claim = held("a");
  claim.held.lapses_at = now_ + 30 * kSecond;
  claim.held.renew_out = true;
  claim.held.renewed_until = now_ + 40 * kSecond;
  Pending& downgrade = pending(1, PendingKind::kDowngrade);
  downgrade.hold = claim.holds.front()->id;
  downgrade.unanswered = 1;
  EXPECT_EQ(ended(downgrade, Status(BELAY_UNAVAILABLE)).in_doubt, 40 * kSecond);
}

TEST_F(OutcomesAlone, OfAPartGoToItsBundle) {
  Bundle& whole = bundle(BundleStage::kTrying);
  Pending& first = part(-1, PendingKind::kAcquire);
  first.hold = 5;
  Event got = outcomes_.outcome(first, Status());
  got.fence = 50;
  outcomes_.complete(first, std::move(got));
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(whole.parts[0].tag, 0);
  EXPECT_EQ(whole.parts[0].hold, 5);
  EXPECT_EQ(whole.parts[0].fence, 50);
  EXPECT_TRUE(whole.failure.ok());
  EXPECT_EQ(ledger_.bundles_due, std::vector<std::int64_t>{77});
  Pending& second = part(-2, PendingKind::kAcquire);
  second.hold = 6;
  outcomes_.complete(second, Status(BELAY_UNAVAILABLE, "cut"));
  EXPECT_EQ(whole.parts[1].hold, 0);
  EXPECT_EQ(whole.failure.message, "cut");
  EXPECT_EQ(ledger_.parts_pending, 0U);
  EXPECT_EQ(ledger_.metrics.failures, 0);  // nor do parts count as acquires
}

TEST_F(OutcomesAlone, OfPartsMakeTheWorstOfThemTheWhole) {
  Pending& lead = pending(1, PendingKind::kExtend);
  lead.event = outcomes_.outcome(lead, Status());
  lead.event.remaining = kNever;
  lead.parts = {-1, -2};
  Pending& first = part(-1, PendingKind::kExtend);
  Pending& second = part(-2, PendingKind::kExtend);
  Event bad = outcomes_.outcome(first, in_doubt(now_ + kSecond));
  bad.remaining = 3 * kSecond;
  outcomes_.complete(first, std::move(bad));
  EXPECT_TRUE(ledger_.leads_due.empty());
  Event worse = outcomes_.outcome(second, Status(BELAY_NOT_PERMITTED));
  worse.remaining = 7 * kSecond;
  outcomes_.complete(second, std::move(worse));
  EXPECT_EQ(ledger_.leads_due, std::vector<PendingRef>{lead.ref()});
  EXPECT_EQ(lead.event.status.code, BELAY_NOT_PERMITTED);
  EXPECT_EQ(lead.event.status.in_doubt_until, now_ + kSecond);
  EXPECT_EQ(lead.event.remaining, 3 * kSecond);
  EXPECT_TRUE(events_.events.empty());
}

// A caller may use a tag again as soon as its submission has ended, as by a cancel.
TEST_F(OutcomesAlone, OfPartsAreNotThoseOfALaterSubmissionOfTheSameTag) {
  Pending& cancelled = pending(1, PendingKind::kVerify);
  cancelled.parts = {-1};
  Pending& old_part = part(-1, PendingKind::kVerify);
  ended(cancelled, Status(BELAY_CANCELLED));
  Pending& lead = pending(1, PendingKind::kVerify);
  lead.event = outcomes_.outcome(lead, Status());
  lead.parts = {-2};
  part(-2, PendingKind::kVerify);
  outcomes_.complete(old_part, Status(BELAY_NOT_PERMITTED));
  EXPECT_TRUE(ledger_.leads_due.empty());
  EXPECT_EQ(lead.parts, std::vector<std::int64_t>{-2});
  EXPECT_TRUE(lead.event.status.ok());
}

// What its parts have goes back.
TEST_F(OutcomesAlone, OfABundlesAcquireEndTheBundle) {
  Bundle& whole = bundle(BundleStage::kTaking);
  Pending& lead = pending(1, PendingKind::kAcquire);
  lead.bundle = 77;
  ended(lead, Status(BELAY_CANCELLED));
  EXPECT_EQ(whole.tag, 0);
  EXPECT_EQ(ledger_.bundles_due, std::vector<std::int64_t>{77});
}

TEST_F(OutcomesAlone, TellOfAHoldToWhoWantsToHearIt) {
  Hold& hold = *held("a", 5 * kSecond).holds.front();
  hold.ends_at = now_ + kSecond;
  outcomes_.tell_of(hold, BELAY_EVENT_AT_RISK, Status(BELAY_OK, "late"));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_AT_RISK);
  EXPECT_EQ(events_.events[0].hold, hold.id);
  EXPECT_EQ(events_.events[0].fence, 50);
  EXPECT_EQ(events_.events[0].remaining, kSecond);
  EXPECT_EQ(events_.events[0].status.message, "late");
  hold.abandoned = true;
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, Status(BELAY_LOST));
  hold.abandoned = false;
  hold.notify = false;
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, Status(BELAY_LOST));
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(OutcomesAlone, TellOfAPartToItsBundle) {
  Bundle& whole = bundle(BundleStage::kTaking);
  Hold& hold = *held("a").holds.front();
  hold.bundle = whole.id;
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, Status(BELAY_LOST, "early"));
  EXPECT_TRUE(whole.lost_a_part);
  EXPECT_TRUE(whole.loss.ok());
  EXPECT_EQ(ledger_.bundles_due, std::vector<std::int64_t>{77});
  whole.stage = BundleStage::kHeld;
  outcomes_.tell_of(hold, BELAY_EVENT_AT_RISK, Status(BELAY_OK, "late"));
  EXPECT_EQ(whole.warning.message, "late");
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, Status(BELAY_LOST, "first"));
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, Status(BELAY_LOST, "second"));
  EXPECT_EQ(whole.loss.message, "first");
  EXPECT_TRUE(events_.events.empty());
}

TEST_F(OutcomesAlone, AreCounted) {
  for (const std::int32_t code : {BELAY_OK, BELAY_BUSY, BELAY_BUSY, BELAY_TIMEOUT, BELAY_CANCELLED,
                                  BELAY_CLOSED, BELAY_UNAVAILABLE}) {
    ended(acquire(lock_), Status(code));
  }
  ended(pending(1, PendingKind::kVerify), Status());
  outcomes_.count_release(now_ - 4, now_);
  outcomes_.count_loss(now_ - 8, now_);
  const Metrics& metrics = ledger_.metrics;
  EXPECT_EQ(metrics.grants, 1);
  EXPECT_EQ(metrics.wait.count, 1);
  EXPECT_EQ(metrics.busy, 2);
  EXPECT_EQ(metrics.timeouts, 1);
  EXPECT_EQ(metrics.cancelled, 1);
  EXPECT_EQ(metrics.failures, 2);
  EXPECT_EQ(metrics.releases, 1);
  EXPECT_EQ(metrics.lost, 1);
  EXPECT_EQ(metrics.hold.sum, 12);
}

TEST_F(OutcomesAlone, SayWhyTheServerDidNotAnswer) {
  EXPECT_EQ(Outcomes::unavailable(node_, "no answer", 500 * kMillisecond).message,
            node_.display() + ": no answer within 500 ms");
  cut();
  EXPECT_EQ(Outcomes::unavailable(node_, "no answer", 500 * kMillisecond).message,
            "no answer within 500 ms: " + node_.trouble().message);
}

}  // namespace
}  // namespace belay
