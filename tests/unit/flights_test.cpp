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

TEST_F(FlightsAlone, OfALostConnectionAreTakenTogether) {
  RecordingLink link;
  Node other(config_, me_.inbox(), 2, Links{&link}, log_);
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
