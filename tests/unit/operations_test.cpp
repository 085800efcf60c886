// Operations alone, with holds made by hand.
#include "engine/operations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dialect/fenced_write.h"
#include "dialect/queries.h"
#include "unit/parts.h"

namespace belay {
namespace {

class OperationsAlone : public EngineParts {
 protected:
  // Of a fixed lease; nobody hears of its loss.
  Hold& hold_of(Micros lease) {
    Hold& hold = *held("a", lease).holds.front();
    hold.notify = false;
    return hold;
  }

  void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent,
                     Micros /*now*/) override {
    const std::optional<Flight> flight = flights_.take(id);
    ASSERT_TRUE(flight.has_value());
    Pending* const pending = ledger_.pending(flight->pending);
    if (pending != nullptr && pending->command == id) {
      operations_.on_reply(*pending, node, reply, sent);
    }
  }

  void on_node_up(Node& node, Micros /*now*/) override { operations_.send_all(node); }

  void on_node_down(Node& node, Micros /*now*/) override {
    for (const auto& [id, flight] : flights_.take_all_of(node)) {
      if (Pending* const pending = ledger_.pending(flight.pending); pending != nullptr) {
        pending->command = 0;
      }
    }
  }

  void on_node_clock(Node& node, Micros /*now*/) override { operations_.on_clock(node); }
};

TEST_F(OperationsAlone, AreSentAtOnceAndAnsweredOnce) {
  operations_.query(1, ping_query());
  ASSERT_EQ(sent().size(), 1U);
  answer("+PONG\r\n");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
  EXPECT_TRUE(ledger_.pendings.empty());
}

TEST_F(OperationsAlone, GoOutInTheirOrderOnceTheClockIsKnown) {
  now_ += 31 * kSecond;
  operations_.query(1, break_query(dialect_, "first", 0));
  operations_.query(2, break_query(dialect_, "second", 0));
  ASSERT_EQ(sent().size(), 1U);  // TIME
  answer("*2\r\n$3\r\n200\r\n$1\r\n0\r\n");
  const std::vector<std::string> commands = sent();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_NE(commands[0].find("first"), std::string::npos);
  EXPECT_NE(commands[1].find("second"), std::string::npos);
}

TEST_F(OperationsAlone, ThatWaitForTheClockAreNotALaterSubmissionOfTheSameTag) {
  now_ += 31 * kSecond;
  operations_.query(1, ping_query());
  ASSERT_EQ(sent().size(), 1U);  // TIME
  outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
  ledger_.add_pending(1, PendingKind::kAcquire);
  answer("*2\r\n$3\r\n200\r\n$1\r\n0\r\n");
  EXPECT_TRUE(sent().empty());
}

TEST_F(OperationsAlone, AreSentAgainInTheirOrderOnANewConnection) {
  operations_.query(1, break_query(dialect_, "first", 0));
  operations_.query(2, break_query(dialect_, "second", 0));
  cut();
  connect_again();
  sent();
  EXPECT_EQ(ledger_.pending(1)->unanswered, 2);
  EXPECT_LT(ledger_.pending(1)->command, ledger_.pending(2)->command);
}

TEST_F(OperationsAlone, AreAskedAgainAfterAnErrorThatMayPass) {
  operations_.query(1, ping_query());
  answer("-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_TRUE(events_.events.empty());
  Pending& pending = *ledger_.pending(1);
  EXPECT_EQ(pending.command, 0U);
  EXPECT_GT(pending.timer.at, now_);
  EXPECT_LT(pending.timer.at, pending.reach_by);
}

TEST_F(OperationsAlone, EndWithAnErrorThatStays) {
  operations_.query(1, break_query(dialect_, "a", 0));
  answer("-NOPERM this user has no permissions to run the 'eval' command\r\n");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_NOT_PERMITTED);
}

TEST_F(OperationsAlone, AboutAHoldAreAskedInFullWhereItsRecordDoesNotSuffice) {
  Hold& hold = hold_of(5 * kSecond);
  operations_.ask_about(1, hold, PendingKind::kExtend, 20 * kSecond);
  EXPECT_EQ(sent("belay:w:").size(), 0U);
  answer(bulk(Packer().time(server_time()).u8(5).number(0).u8(0).take()));
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(sent("belay:w:").size(), 1U);
  EXPECT_EQ(ledger_.pending(1)->unanswered, 1);
}

TEST_F(OperationsAlone, ExtendAHold) {
  Hold& hold = hold_of(5 * kSecond);
  const Micros before = hold.ends_at;
  operations_.ask_about(1, hold, PendingKind::kExtend, 20 * kSecond);
  EXPECT_EQ(hold.asked.size(), 1U);
  answer(bulk(Packer().time(server_time()).u8(1).number(58).u8(0).take()));
  EXPECT_EQ(hold.ends_at,
            before + 15 * kSecond - lease_margin(20 * kSecond) + lease_margin(5 * kSecond));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_EXTENDED);
  EXPECT_TRUE(hold.asked.empty());
}

// Then it has not shared the claim, which may go on alone if a renewal may not share it either.
TEST_F(OperationsAlone, ThatAreRefusedHaveSharedNothing) {
  Hold& hold = hold_of(5 * kSecond);
  hold.claim->held.share_with = "readers";
  operations_.ask_about(1, hold, PendingKind::kExtend, 20 * kSecond);
  EXPECT_EQ(hold.claim->held.shares_sent, 1);
  answer("-NOPERM this user has no permissions to run the 'hset' command\r\n");
  EXPECT_EQ(hold.claim->held.shares_sent, 0);

  operations_.ask_about(2, hold, PendingKind::kVerify, 0);
  answer(bulk(Packer().time(server_time()).u8(1).number(58).u8(0).take()));
  EXPECT_EQ(hold.claim->held.shares_sent, 1);  // this one has
}

TEST_F(OperationsAlone, TellThatAHoldIsGone) {
  Hold& hold = hold_of(5 * kSecond);
  operations_.ask_about(1, hold, PendingKind::kVerify, 0);
  answer(bulk(Packer().time(server_time()).u8(2).number(0).u8(0).take()));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_VERIFIED);
  EXPECT_EQ(events_.events[0].status.code, BELAY_LOST);
  EXPECT_EQ(hold.claim, nullptr);
}

TEST_F(OperationsAlone, SayOfALostHoldWhyAtOnce) {
  Hold& hold = hold_of(5 * kSecond);
  hold.claim->holds.clear();
  hold.claim = nullptr;
  hold.loss = Status(BELAY_LOST, "it was broken");
  operations_.ask_about(1, hold, PendingKind::kVerify, 0);
  EXPECT_TRUE(sent().empty());
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.message, "it was broken");
}

TEST_F(OperationsAlone, DowngradeOnlyTheOneExclusiveHold) {
  Hold& hold = hold_of(5 * kSecond);
  hold.claim->want.group = "others";
  EXPECT_EQ(operations_.downgrade(1, hold, "readers").code, BELAY_INVALID_ARGUMENT);
  EXPECT_TRUE(ledger_.pendings.empty());
  hold.claim->want.group.clear();
  EXPECT_TRUE(operations_.downgrade(1, hold, "readers").ok());
  EXPECT_TRUE(watchdog_.due());  // it rides on a renewal
}

}  // namespace
}  // namespace belay
