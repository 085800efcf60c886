// Which connections that have ended are to be killed, and where (rule 13 of lib/README.md).
#include "route/old_connections.h"

#include <gtest/gtest.h>

#include <vector>

namespace belay {
namespace {

using Ids = std::vector<std::int64_t>;

class OldConnectionsAlone : public testing::Test {
 protected:
  OldConnections old_;
};

// A server may be found elsewhere, and another one where it was.
TEST_F(OldConnectionsAlone, AreKilledOnTheirRunAlone) {
  old_.add({"a", "here:1"}, 5);
  old_.add({"b", "here:1"}, 5);
  old_.add({"a", "here:1"}, 6);
  EXPECT_EQ(old_.of({"a", "there:1"}), (Ids{5, 6}));
  EXPECT_EQ(old_.of({"c", "here:1"}), Ids());
  EXPECT_TRUE(old_.forget({"a", "there:1"}));
  EXPECT_EQ(old_.of({"a", "here:1"}), Ids());
  EXPECT_EQ(old_.of({"b", "here:1"}), Ids{5});
  EXPECT_TRUE(old_.forget({"b", "here:1"}));
  EXPECT_TRUE(old_.empty());
}

// Ids may be another server's where a run is not told.
TEST_F(OldConnectionsAlone, OfUnknownRunsAreForgottenByTheirEndpoint) {
  old_.add({"", "here:1"}, 5);
  old_.add({"a", "there:1"}, 6);
  EXPECT_EQ(old_.of({"", "here:1"}), Ids());
  EXPECT_EQ(old_.of({"", "there:1"}), Ids());
  EXPECT_TRUE(old_.forget({"b", "here:1"}));
  EXPECT_FALSE(old_.forget({"", "here:1"}));
  EXPECT_TRUE(old_.forget({"", "there:1"}));
  EXPECT_TRUE(old_.empty());
}

TEST_F(OldConnectionsAlone, AreAtMost64OfWhichTheLatestCount) {
  for (int id = 1; id <= 70; ++id) {
    old_.add({"a", "here:1"}, id);
  }
  const Ids ids = old_.of({"a", "here:1"});
  EXPECT_EQ(ids.size(), 64U);
  EXPECT_EQ(ids.back(), 70);
}

}  // namespace
}  // namespace belay
