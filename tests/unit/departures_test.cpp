// Epochs that are over: left until the server has answered, and what messages about them are
// heeded.
#include "engine/departures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "unit/course_alone.h"
#include "unit/with_reply.h"

namespace belay {
namespace {

class DeparturesAlone : public CourseAlone {};

// ---- Answers

// Rule 10.
TEST_F(DeparturesAlone, CompletesAReleaseByTheServersAnswer) {
  for (const auto& [code, status] :
       {std::pair(LeaveCode::kOk, BELAY_OK), std::pair(LeaveCode::kNotOurs, BELAY_LOST)}) {
    drop(got(1).id, 2);
    EXPECT_EQ(calls(), 1U);
    EXPECT_NE(last().kind, BELAY_EVENT_RELEASED);
    reply(code);
    EXPECT_EQ(last().kind, BELAY_EVENT_RELEASED);
    EXPECT_EQ(last().status.code, status);
    EXPECT_TRUE(ledger_.claims.empty());
  }
}

TEST_F(DeparturesAlone, LeavesInFullWhereLessWillNotDo) {
  drop(got(1).id, 2);
  EXPECT_TRUE(claim().leaving[0].uncontended);
  reply(LeaveCode::kContended);
  EXPECT_FALSE(claim().leaving[0].uncontended);
  EXPECT_EQ(calls(), 2U);
  reply(LeaveCode::kMore);
  EXPECT_EQ(calls(), 1U);
  reply(LeaveCode::kNotOurs);
  EXPECT_TRUE(ledger_.claims.empty());
}

// What did nothing does not hide a loss; an ask that went out in between may, and only that.
TEST_F(DeparturesAlone, SaysThatTheServerDidNotHaveWhatItLeavesInFull) {
  drop(got(1).id, 2);
  reply(LeaveCode::kContended);
  reply(LeaveCode::kNotOurs);
  EXPECT_EQ(last().status.code, BELAY_LOST);

  drop(got(1).id, 2);
  Leaving lost_before;
  lost_before.lost = true;
  claim().leaving.push_back(lost_before);
  calls();
  acquire(3);
  EXPECT_EQ(calls(), 0U);  // the loss comes first
  reply(LeaveCode::kContended);
  reply(LeaveCode::kNotOurs);
  EXPECT_EQ(last().status.code, BELAY_LOST);
}

// Also where the next claim of the name has begun.
TEST_F(DeparturesAlone, SaysWhoBrokeWhatIsBeingReleased) {
  drop(got(1).id, 2);
  const Flight release = landed();
  const std::int64_t released = release.refs.at(0).epoch;
  node_.on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
  acquire(3);  // which waits for a connection
  EXPECT_NE(claim().epoch, released);
  Message broken = message(MessageKind::kBroken);
  broken.epoch = released;
  broken.by = "an operator";
  EXPECT_TRUE(course_.on_stray(lock_, broken));
  on_left(claim(), released, LeaveAnswer{LeaveCode::kNotOurs, server_time(), 0});
  EXPECT_EQ(last().status.reason, BELAY_REASON_BROKEN);
  EXPECT_NE(last().status.message.find("an operator"), std::string::npos);
}

TEST_F(DeparturesAlone, DoesNotCallLostWhatItsOwnAskMayHaveFreed) {
  drop(got(1).id, 2);
  calls();
  acquire(3);
  EXPECT_EQ(calls(), 1U);
  for (const LeaveCode code : {LeaveCode::kContended, LeaveCode::kNotOurs}) {
    const LeaveAnswer answer{code, server_time(), 0};
    on_left(claim(), claim().leaving[0].epoch, answer);
  }
  EXPECT_EQ(last().kind, BELAY_EVENT_RELEASED);
  EXPECT_TRUE(last().status.ok());
}

// Rule 17.
TEST_F(DeparturesAlone, LooksAfterWhatItHasHandedOn) {
  drop(got(1).id, 2);
  calls();
  reply(LeaveCode::kOk, 200 * kMillisecond);
  EXPECT_EQ(claim().timer.at, now_ + drifted(200 * kMillisecond) + kLookAfter);
  Message settled = message(MessageKind::kSettled);
  settled.epoch = claim().leaving[0].epoch;
  EXPECT_TRUE(course_.on_stray(lock_, settled));
  EXPECT_TRUE(ledger_.claims.empty());
  EXPECT_EQ(calls(), 0U);
}

// Also by an ask that nobody waits for any more: its leave does not know of that.
TEST_F(DeparturesAlone, LooksAfterWhatItsLastAskHasHandedOn) {
  for (const Micros handed : {Micros(0), 200 * kMillisecond}) {
    acquire(1);
    const ClaimRef asked = landed().refs.at(0);
    outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
    course_.reconcile(claim());
    AcquireAnswer answer = queued(kSecond, 2);
    answer.handed = handed;
    course_.on_acquire_answer(asked, node_, answer, now_);
    reply(LeaveCode::kOk);
    if (handed == 0) {
      EXPECT_TRUE(ledger_.claims.empty());
      continue;
    }
    EXPECT_EQ(claim().timer.at, now_ + drifted(handed) + kLookAfter);
    calls();
    wait_for_timer();
    EXPECT_EQ(calls(), 1U);
  }
}

TEST_F(DeparturesAlone, LeavesOthersToLookAfterItWhereItsClientEnds) {
  got(1);
  departures_.begin_closing();
  course_.close(claim());
  EXPECT_EQ(last().kind, BELAY_EVENT_LOST);
  EXPECT_EQ(last().status.reason, BELAY_REASON_CLOSED);
  EXPECT_TRUE(claim().leaving[0].parting);
  reply(LeaveCode::kOk, 200 * kMillisecond);
  EXPECT_TRUE(ledger_.claims.empty());
}

// Rule 10: what the server has refused for now freed nothing, so it does not explain a loss.
TEST_F(DeparturesAlone, SaysThatTheServerDidNotHaveWhatItLeavesAgain) {
  for (const char* words : {"NOSCRIPT No matching script.", "LOADING Redis is loading",
                            "TRYAGAIN Multiple keys request during rehashing of slot"}) {
    drop(got(1).id, 2);
    refuse_leave(words);
    if (claim().leaving[0].again_at != kNever) {
      wait_for_timer();
    }
    reply(LeaveCode::kNotOurs);
    EXPECT_EQ(last().status.code, BELAY_LOST) << words;
  }
}

TEST_F(DeparturesAlone, LeavesAgainUntilTheRecordHasLapsed) {
  drop(got(1).id, 2);
  const Micros lapses = claim().leaving[0].expires_by;
  refuse_leave("LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(claim().timer.at, now_ + 50 * kMillisecond);
  EXPECT_EQ(events_.events.size(), 1U);
  wait_for_timer();
  refuse_leave("NOPERM this user has no permissions to run the 'eval' command");
  EXPECT_EQ(last().kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(last().status.code, BELAY_NOT_PERMITTED);
  EXPECT_EQ(last().status.in_doubt_until, lapses);
  EXPECT_EQ(claim().timer.at, now_ + kSecond);
  now_ = lapses;
  departures_.send(claim(), claim().leaving[0]);
  refuse_leave("NOPERM no");
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(DeparturesAlone, LeavesAgainWhenItIsTimeOrConnectedAnew) {
  drop(got(1).id, 2);
  refuse_leave("NOPERM no");
  calls();
  departures_.send_again(claim());  // as its claim asks anew
  EXPECT_EQ(calls(), 0U);
  cut();
  claim().on_node_down();
  connect_again();
  calls();
  departures_.send_again(claim());
  EXPECT_EQ(calls(), 1U);
}

TEST_F(DeparturesAlone, LeavesNothingWhereTheOnlyAskWasRefused) {
  struct {
    const char* error;
    bool asked_before;
    bool left;
  } const cases[] = {{"-NOPERM no\r\n", false, false},
                     {"-LOADING no\r\n", false, false},
                     {"-ERR The user executing the script can't run this command\r\n", false, true},
                     {"+OK\r\n", false, true},
                     {"-NOPERM no\r\n", true, true}};

  for (const auto& [error, asked_before, left] : cases) {
    acquire(1);
    claim().asking.maybe_on_server = asked_before;
    const std::int64_t epoch = claim().epoch;
    outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
    course_.reconcile(claim());
    with_reply(error, [&](Reply reply) { Departures::on_ask_refused(claim(), epoch, reply); });
    EXPECT_EQ(claim().leaving_of(epoch) != nullptr, left) << error;
    claim().leaving.clear();
    calls();
  }
}

// Whoever does not wait for the answer may stand in the queue; a try does not.
TEST_F(DeparturesAlone, LeavesAgainUntilItsPlaceInTheQueueHasLapsed) {
  AcquireRequest request = for_owner(0);
  request.lease = kSecond;
  for (const Micros wait : {Micros(0), kNever}) {
    acquire(1, request, wait);
    landed();
    outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
    course_.reconcile(claim());
    now_ += 2 * (config_.request_timeout + request.lease);
    refuse_leave("NOPERM no");
    EXPECT_EQ(ledger_.claims.empty(), wait == 0);
  }
  now_ += kQueueStands;
  departures_.send(claim(), claim().leaving[0]);
  refuse_leave("NOPERM no");
  EXPECT_TRUE(ledger_.claims.empty());
}

// The ask that is out may come after the grant has lapsed, and queue it again.
TEST_F(DeparturesAlone, LeavesAgainUntilItsPlaceHasLapsedWhereAGrantComesTooLate) {
  AcquireRequest request = for_owner(0);
  request.lease = kSecond;
  for (const bool out : {false, true}) {
    acquire(1, request);
    landed();
    claim().asking.out = out;
    outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
    Message late = message(MessageKind::kGrant);
    late.server_time = late.server_time + -290 * kMillisecond;
    hear(late);
    now_ += 2 * (config_.request_timeout + request.lease);
    refuse_leave("NOPERM no");
    EXPECT_EQ(ledger_.claims.empty(), !out);
  }
  now_ += kQueueStands;
  departures_.send(claim(), claim().leaving[0]);
  refuse_leave("NOPERM no");
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(DeparturesAlone, IsInDoubtOfAReleaseUntilItsRecordHasLapsed) {
  drop(got(1).id, 2);
  const Micros lapses = claim().leaving[0].expires_by;
  EXPECT_EQ(course_.release_timeout(*ledger_.pending(2)).in_doubt_until, lapses);
}

// The ask that is out may have prolonged what the message granted.
TEST_F(DeparturesAlone, IsInDoubtForAsLongAsItsAskWhereAGrantComesTooLate) {
  acquire(1);
  const Pending& waits = *ledger_.pending(1);
  const Micros doubt = course_.acquire_timeout(waits).in_doubt_until;
  Message late = message(MessageKind::kGrant);
  late.server_time = late.server_time + -290 * kMillisecond;
  hear(late);
  EXPECT_EQ(claim().state, ClaimState::kAsking);
  EXPECT_TRUE(claim().asking.maybe_on_server);
  EXPECT_GE(course_.acquire_timeout(waits).in_doubt_until, doubt);
}

// ---- Messages about what is over

TEST_F(DeparturesAlone, LeavesOnceWhatOnlyAMessageKnowsOf) {
  drop(got(1).id, 2);
  const std::int64_t over = claim().leaving[0].epoch;
  reply(LeaveCode::kOk);
  calls();
  EXPECT_TRUE(hear_stray(over));
  EXPECT_EQ(calls(), 1U);
  EXPECT_TRUE(claim().leaving[0].stray);
  refuse_leave("LOADING");
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(DeparturesAlone, HeedsNoMessageThatWouldTakeWhatStands) {
  got(1);
  held("b");
  EXPECT_FALSE(hear_stray(claim().epoch));
  EXPECT_FALSE(hear_stray(ledger_.last_epoch));  // that of b
  EXPECT_FALSE(hear_stray(ledger_.last_epoch + 1));
  EXPECT_FALSE(hear_stray(0));
  EXPECT_EQ(calls(), 0U);
}

TEST_F(DeparturesAlone, HeedsABoundedNumberOfStrayMessages) {
  ledger_.last_epoch = 1000;
  int heeded = 0;
  for (std::int64_t epoch = 1; epoch <= 300; ++epoch) {
    heeded += hear_stray(epoch) ? 1 : 0;
  }
  EXPECT_EQ(heeded, 256);
  now_ += 5 * kSecond;
  EXPECT_TRUE(hear_stray(301));
}

TEST_F(DeparturesAlone, RepeatsItsLeavesOnANewConnection) {
  drop(got(1).id, 2);
  calls();
  cut();
  EXPECT_FALSE(claim().leaving[0].in_flight);
  connect_again();
  calls();
  departures_.send_again(claim());
  EXPECT_EQ(calls(), 1U);
  reply(LeaveCode::kOk);
  EXPECT_EQ(last().kind, BELAY_EVENT_RELEASED);
}

}  // namespace
}  // namespace belay
