// Which connections that have ended are to be killed, and where (rule 13 of lib/README.md).
#include "route/old_connections.h"

#include <gtest/gtest.h>

#include <vector>

#include "unit/fake_link.h"

namespace belay {
namespace {

using Ids = std::vector<std::int64_t>;

class OldConnectionsAlone : public testing::Test {
 protected:
  FakeLink here_;
  FakeLink there_;
  OldConnections old_;
};

// A server may be found elsewhere, and another one where it was.
TEST_F(OldConnectionsAlone, AreKilledOnTheirRunAlone) {
  old_.add({"a", &here_}, 5);
  old_.add({"b", &here_}, 5);
  old_.add({"a", &here_}, 6);
  EXPECT_EQ(old_.of({"a", &there_}), (Ids{5, 6}));
  EXPECT_EQ(old_.of({"c", &here_}), Ids());
  EXPECT_TRUE(old_.forget({"a", &there_}));
  EXPECT_EQ(old_.of({"a", &here_}), Ids());
  EXPECT_EQ(old_.of({"b", &here_}), Ids{5});
  EXPECT_TRUE(old_.forget({"b", &here_}));
  EXPECT_TRUE(old_.empty());
}

// Ids may be another server's where a run is not told.
TEST_F(OldConnectionsAlone, OfUnknownRunsAreForgottenByTheirEndpoint) {
  old_.add({"", &here_}, 5);
  old_.add({"a", &there_}, 6);
  EXPECT_EQ(old_.of({"", &here_}), Ids());
  EXPECT_EQ(old_.of({"", &there_}), Ids());
  EXPECT_TRUE(old_.forget({"b", &here_}));
  EXPECT_FALSE(old_.forget({"", &here_}));
  EXPECT_TRUE(old_.forget({"", &there_}));
  EXPECT_TRUE(old_.empty());
}

TEST_F(OldConnectionsAlone, AreAtMost64OfWhichTheLatestCount) {
  for (int id = 1; id <= 70; ++id) {
    old_.add({"a", &here_}, id);
  }
  const Ids ids = old_.of({"a", &here_});
  EXPECT_EQ(ids.size(), 64U);
  EXPECT_EQ(ids.back(), 70);
}

}  // namespace
}  // namespace belay
