// The ledger alone: what it finds, numbers and counts.
#include "engine/ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "dialect/queries.h"
#include "unit/parts.h"

namespace belay {
namespace {

class LedgerAlone : public EngineParts {
 protected:
  // Waits in the line of the name's claim.
  Pending& waiting(std::int64_t tag, const std::string& name) {
    Pending& pending = ledger_.add_pending(tag, PendingKind::kAcquire);
    pending.claim = &ledger_.claim_of(lock_, name);
    pending.place = pending.claim->waiting.insert(pending.claim->waiting.end(), &pending);
    pending.waits = true;
    return pending;
  }

  // Of two names, of which the first is held.
  Bundle& bundle(BundleStage stage) {
    Hold& hold = *held("a").holds.front();
    auto owned = std::make_unique<Bundle>();
    Bundle& bundle = *owned;
    bundle.id = ++last_hold_;
    bundle.stage = stage;
    bundle.parts = {{"a", Want(), 0, hold.id}, {"b", Want()}};
    hold.bundle = bundle.id;
    ledger_.bundles.emplace(bundle.id, std::move(owned));
    return bundle;
  }

  const LockOrSemaphore& semaphore_ = dialect_.semaphore;
};

TEST_F(LedgerAlone, HasOneClaimForTheOwnersOfAName) {
  Claim& claim = ledger_.claim_for_acquire(lock_, "a");
  EXPECT_EQ(&ledger_.claim_of(lock_, "a"), &claim);
  EXPECT_EQ(ledger_.find_claim(Kind::kLock, "a"), &claim);
  EXPECT_EQ(ledger_.find_claim(Kind::kLock, "b"), nullptr);
  EXPECT_EQ(ledger_.find_claim(Kind::kLatch, "a"), nullptr);
  EXPECT_EQ(ledger_.claims.at(claim.key).get(), &claim);
  EXPECT_EQ(claim.resource.name, "a");
  EXPECT_EQ(claim.timer.claim, &claim);
}

TEST_F(LedgerAlone, HasAClaimForEachAcquireOfASemaphore) {
  Claim& first = ledger_.claim_for_acquire(semaphore_, "a");
  Claim& second = ledger_.claim_for_acquire(semaphore_, "a");
  EXPECT_NE(&first, &second);
  EXPECT_EQ(ledger_.claims.size(), 2U);
  EXPECT_EQ(ledger_.find_claim(Kind::kSemaphore, "a"), nullptr);
}

TEST_F(LedgerAlone, KnowsTheClaimThatAMessageIsAbout) {
  Claim& claim = held("a");
  Message message;
  message.of = Kind::kLock;
  message.name = "a";
  message.epoch = claim.epoch;
  EXPECT_EQ(ledger_.standing_claim(message), &claim);
  message.epoch = claim.epoch + 1;
  EXPECT_EQ(ledger_.standing_claim(message), nullptr);
  message.epoch = claim.epoch;
  message.name = "b";
  EXPECT_EQ(ledger_.standing_claim(message), nullptr);
  message.name = "a";
  message.of = Kind::kSemaphore;
  EXPECT_EQ(ledger_.standing_claim(message), nullptr);
}

TEST_F(LedgerAlone, CountsNoBlockingCallAndNoPartAsASubmission) {
  Pending& first = ledger_.add_pending(1, PendingKind::kVerify);
  Pending& last = ledger_.add_pending(kMaxId, PendingKind::kVerify);
  Pending& blocking = ledger_.add_pending(kMaxId + 1, PendingKind::kVerify);
  Pending& part = ledger_.add_pending(-1, PendingKind::kVerify);
  EXPECT_EQ(ledger_.submissions, 2U);
  ledger_.retire(blocking);
  ledger_.retire(part);
  EXPECT_EQ(ledger_.submissions, 2U);
  ledger_.retire(first);
  ledger_.retire(last);
  EXPECT_EQ(ledger_.submissions, 0U);
}

TEST_F(LedgerAlone, GivesEachSubmissionItsTurnAndTheRequestTimeout) {
  const Pending& first = ledger_.add_pending(7, PendingKind::kRelease);
  now_ += kSecond;
  const Pending& second = ledger_.add_pending(3, PendingKind::kExtend);
  EXPECT_LT(first.order, second.order);
  EXPECT_EQ(second.since, now_);
  EXPECT_EQ(second.kind, PendingKind::kExtend);
  EXPECT_EQ(second.reach_by, now_ + config_.request_timeout);
  EXPECT_EQ(ledger_.timers.first()->pending, &first);
  EXPECT_EQ(ledger_.timers.next(), first.reach_by);
}

TEST_F(LedgerAlone, TakesASubmissionOutOfItsLineAndItsHold) {
  Pending& pending = waiting(1, "a");
  waiting(2, "a");
  Hold& hold = *held("a").holds.front();
  hold.asked = {2, 1};
  pending.hold = hold.id;
  ledger_.retire(pending);
  EXPECT_EQ(ledger_.pending(1), nullptr);
  EXPECT_EQ(ledger_.timers.first()->pending, ledger_.pending(2));
  EXPECT_EQ(ledger_.claim_of(lock_, "a").waiting.size(), 1U);
  EXPECT_EQ(hold.asked, std::vector<std::int64_t>{2});
}

TEST_F(LedgerAlone, KeepsWhatHasEndedUntilTheEntryEnds) {
  Claim& claim = ledger_.claim_of(lock_, "a");
  Pending& pending = waiting(1, "a");
  ledger_.retire(pending);
  ledger_.retire(claim);
  EXPECT_FALSE(ledger_.stands(pending));
  EXPECT_FALSE(ledger_.stands(claim));
  EXPECT_TRUE(ledger_.stands(ledger_.claim_of(lock_, "a")));  // a new one
  EXPECT_EQ(pending.claim, &claim);
  EXPECT_EQ(claim.resource.name, "a");
  ledger_.free_retired();
}

TEST_F(LedgerAlone, KnowsWhichServerASubmissionAsks) {
  const std::uint16_t slot = lock_.resource("a").slot;
  RecordingLink elsewhere(Endpoint{"elsewhere", 6379, "", false});
  Router router(config_, on_two_servers(slot, link_.endpoint(), elsewhere.endpoint()),
                dial_to({&link_, &elsewhere}), me_.inbox(), 2, log_);
  const Node& first = *router.node_at(link_);
  const Node& second = *router.node_at(elsewhere);
  Ledger ledger(config_, router, now_, last_hold_);
  Pending& pending = ledger.add_pending(1, PendingKind::kAcquire);
  pending.claim = &ledger.claim_of(lock_, "b");
  EXPECT_EQ(&ledger.node_for(pending), &second);
  auto hold = std::make_unique<Hold>();
  hold->claim = &ledger.claim_of(lock_, "a");
  pending.hold = 5;
  pending.claim = nullptr;
  ledger.holds.emplace(5, std::move(hold));
  EXPECT_EQ(&ledger.node_for(pending), &first);
  Pending& query = ledger.add_pending(2, PendingKind::kQuery);
  query.query = break_query(dialect_, "a", 0);
  EXPECT_EQ(&ledger.node_for(query), &first);
  query.query = break_query(dialect_, "b", 0);
  EXPECT_EQ(&ledger.node_for(query), &second);
}

TEST_F(LedgerAlone, GivesAHoldAwayOnce) {
  const std::int64_t id = held("a").holds.front()->id;
  EXPECT_EQ(ledger_.known_hold(id), ledger_.hold(id));
  EXPECT_EQ(ledger_.held(), 1U);
  EXPECT_EQ(ledger_.take_hold(id)->id, id);
  EXPECT_EQ(ledger_.take_hold(id), nullptr);
  EXPECT_EQ(ledger_.hold(id), nullptr);
  EXPECT_EQ(ledger_.held(), 0U);
}

TEST_F(LedgerAlone, HidesTheHoldsOfABundle) {
  const Bundle& whole = bundle(BundleStage::kHeld);
  const std::int64_t part = whole.parts[0].hold;
  EXPECT_NE(ledger_.hold(part), nullptr);
  EXPECT_EQ(ledger_.known_hold(part), nullptr);
  EXPECT_EQ(ledger_.held_bundle(whole.id), &whole);
  EXPECT_EQ(ledger_.held(), 1U);
}

TEST_F(LedgerAlone, CountsABundleOnceAllOfItIsHeld) {
  const Bundle& whole = bundle(BundleStage::kTaking);
  EXPECT_EQ(ledger_.bundle(whole.id), &whole);
  EXPECT_EQ(ledger_.held_bundle(whole.id), nullptr);
  EXPECT_EQ(ledger_.held(), 0U);
}

TEST_F(LedgerAlone, QueuesABundleOnceForItsNextStep) {
  Bundle& whole = bundle(BundleStage::kTrying);
  ledger_.want_step(whole);
  ledger_.want_step(whole);
  EXPECT_EQ(ledger_.bundles_due, std::vector<std::int64_t>{whole.id});
  whole.due = false;
  ledger_.want_step(whole);
  EXPECT_EQ(ledger_.bundles_due.size(), 2U);
}

TEST_F(LedgerAlone, RemembersTheHighestFenceOfEachSlot) {
  EXPECT_EQ(ledger_.highest_fence_of(1), 0);
  ledger_.saw_fence(1, 50);
  ledger_.saw_fence(1, 40);
  ledger_.saw_fence(2, 10);
  EXPECT_EQ(ledger_.highest_fence_of(1), 50);
  EXPECT_EQ(ledger_.highest_fence_of(2), 10);
}

}  // namespace
}  // namespace belay
