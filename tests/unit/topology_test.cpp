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

TEST(OnACluster, EachSlotIsAGroupThatIsStillToBeFound) {
  const Topology topology = on_a_cluster({at("a"), at("b"), at("c")});
  ASSERT_EQ(topology.servers.size(), 1U);
  EXPECT_EQ(topology.servers[0].size(), 3U);
  EXPECT_TRUE(topology.is_cluster());
  EXPECT_TRUE(topology.has_entrance);
  for (const std::uint16_t slot : std::array<std::uint16_t, 3>{0, 1, kSlots - 1}) {
    EXPECT_EQ(topology.place_of(slot).group, slot);
  }
}

}  // namespace
}  // namespace belay
