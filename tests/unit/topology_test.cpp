#include "route/topology.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "route/slot.h"

namespace belay {
namespace {

Endpoint at(const std::string& host) {
  return {host, 6379, "", false};
}

// Where else could it be.
TEST(OneServer, HasEverySlotInOneGroup) {
  const Topology topology = on_one_server({Endpoint()});
  for (const std::uint16_t slot : std::array<std::uint16_t, 3>{0, 1, kSlots - 1}) {
    EXPECT_EQ(topology.place_of(slot).server, 0U);
    EXPECT_EQ(topology.place_of(slot).group, 0);
  }
  EXPECT_FALSE(topology.is_cluster());
}

TEST(OnACluster, EachSlotIsAGroupAtTheNodeOfItsRange) {
  const Topology topology =
      on_a_cluster({at("a"), at("b"), at("c")}, {{100, 199, 1}, {200, kSlots - 1, 2}});
  ASSERT_EQ(topology.servers.size(), 3U);
  EXPECT_EQ(topology.servers[2].front().host, "c");
  EXPECT_TRUE(topology.is_cluster());
  for (int slot = 0; slot < kSlots; ++slot) {
    const Place place = topology.place_of(static_cast<std::uint16_t>(slot));
    EXPECT_EQ(place.server, slot < 100 ? 0U : slot < 200 ? 1U : 2U) << slot;
    EXPECT_EQ(place.group, slot);
  }
}

}  // namespace
}  // namespace belay
