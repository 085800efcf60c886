// The table of commands that are out, alone.
#include "engine/flights.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "unit/parts.h"

namespace belay {
namespace {

class FlightsAlone : public EngineParts {
 protected:
  std::uint64_t send(Flight flight) {
    return flights_.send(node_, dialect_.inspect(dialect_.resource("a")), std::move(flight), now_);
  }

  void on_node_reply(Node& /*node*/, std::uint64_t id, Reply /*reply*/, Micros /*sent*/,
                     Micros /*now*/) override {
    replies_.push_back(id);
  }

  std::vector<std::uint64_t> replies_;
};

TEST_F(FlightsAlone, AreFoundByTheirReplies) {
  Flight renewal;
  renewal.kind = FlightKind::kRenew;
  Flight query;
  query.pending = {7, 3};
  const std::uint64_t first = send(renewal);
  const std::uint64_t second = send(query);
  EXPECT_EQ(flights_.sent(), 2U);
  EXPECT_EQ(sent().size(), 2U);
  answer(bulk("x") + bulk("y"));
  EXPECT_EQ(replies_, (std::vector<std::uint64_t>{first, second}));
  const std::optional<Flight> taken = flights_.take(second);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->pending, (PendingRef{7, 3}));
  EXPECT_EQ(taken->node, &node_);
  EXPECT_EQ(flights_.take(first)->kind, FlightKind::kRenew);
}

TEST_F(FlightsAlone, AreTakenOnce) {
  const std::uint64_t id = send(Flight());
  EXPECT_TRUE(flights_.take(id));
  EXPECT_FALSE(flights_.take(id));
  EXPECT_FALSE(flights_.take(id + 1));
}

// Until whoever takes them says otherwise, no claim of theirs is forgotten.
TEST_F(FlightsAlone, CountWithEachOfTheirClaims) {
  Claim& asked = held("a");
  Claim& renewed = held("b");
  Claim& left = held("c");
  Flight flight;
  flight.renewed.push_back({&renewed, {}});
  flight.refs = {{&left, 3}, {&asked, 1}, {&asked, 2}};
  const std::uint64_t id = send(flight);
  EXPECT_EQ(asked.in_flight, 2);
  EXPECT_EQ(renewed.in_flight, 1);
  EXPECT_EQ(left.in_flight, 1);
  EXPECT_TRUE(flights_.take(id));
  EXPECT_EQ(left.in_flight, 1);
}

TEST_F(FlightsAlone, OfAWatchHoldOnToNoClaim) {
  const Claim& claim = held("a");
  Flight flight;
  flight.kind = FlightKind::kWatch;
  flight.watched = {claim.epoch};
  const std::uint64_t other = send(Flight());
  sent();
  flights_.watch(node_, {claim.resource.keys[kRecordKey]}, flight, now_);
  EXPECT_EQ(claim.in_flight, 0);
  EXPECT_EQ(sent("EXISTS").size(), 1U);
  answer(bulk("x") + "+OK\r\n:1\r\n");
  ASSERT_EQ(replies_, (std::vector<std::uint64_t>{other, flights_.sent()}));
  EXPECT_EQ(flights_.take(replies_[1])->watched, flight.watched);
}

// A break that another server tells of may have come after what they were answered.
TEST_F(FlightsAlone, AreOutdatedByABreakElsewhere) {
  RecordingLink link;
  Node other(config_, Deployment::kSingle, me_.inbox(), 2, Links{borrowed(link)}, log_);
  Claim& broken = held("a");
  const auto out = [this](FlightKind kind, Claim& claim) {
    Flight flight;
    flight.kind = kind;
    if (kind == FlightKind::kRenew) {
      flight.renewed.push_back({&claim, {}});
    } else {
      flight.refs = {{&held("b"), 1}, {&claim, 1}};
    }
    return send(flight);
  };
  for (const bool elsewhere : {false, true}) {
    const std::uint64_t asked = out(FlightKind::kAcquire, broken);
    const std::uint64_t renewed = out(FlightKind::kRenew, broken);
    const std::uint64_t left = out(FlightKind::kLeave, broken);
    const std::uint64_t others = out(FlightKind::kRenew, held("c"));
    flights_.outdate(broken, elsewhere ? other : node_);
    EXPECT_EQ(flights_.take(asked)->is_outdated(), elsewhere);
    EXPECT_EQ(flights_.take(renewed)->is_outdated(), elsewhere);
    EXPECT_FALSE(flights_.take(left)->is_outdated());
    EXPECT_FALSE(flights_.take(others)->is_outdated());
  }
}

// Unless ASK led them there, and but for leaves: what has been left is left.
TEST_F(FlightsAlone, AreOutdatedWhereTheSlotIsElsewhereByNow) {
  RecordingLink link;
  Node other(config_, Deployment::kSingle, me_.inbox(), 2, Links{borrowed(link)}, log_);
  Claim& claim = held("a");
  for (const FlightKind kind :
       {FlightKind::kAcquire, FlightKind::kRenew, FlightKind::kLeave, FlightKind::kQuery}) {
    const bool concerned = kind == FlightKind::kAcquire || kind == FlightKind::kRenew;
    Flight flight;
    flight.kind = kind;
    if (kind != FlightKind::kQuery) {
      flight.refs = {{&claim, 1}};
    }
    flight.node = &node_;
    EXPECT_FALSE(flight.is_outdated());
    flight.node = &other;
    EXPECT_EQ(flight.is_outdated(), concerned);
    flight.detour = true;
    EXPECT_FALSE(flight.is_outdated());
  }
}

TEST_F(FlightsAlone, OfALostConnectionAreTakenTogether) {
  RecordingLink link;
  Node other(config_, Deployment::kSingle, me_.inbox(), 2, Links{borrowed(link)}, log_);
  const std::uint64_t first = send(Flight());
  const std::uint64_t second = send(Flight());
  EXPECT_TRUE(flights_.take_all_of(other).empty());
  const auto taken = flights_.take_all_of(node_);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].first + taken[1].first, first + second);
  EXPECT_FALSE(flights_.take(first));
  EXPECT_TRUE(flights_.take_all_of(node_).empty());
}

}  // namespace
}  // namespace belay
