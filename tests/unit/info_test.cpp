// What INFO replication says of a master's failover.
#include "route/info.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

const std::string kMaster = "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n";
const std::string kCareful = kMaster + "min_slaves_good_slaves:2\r\n";

std::string replica(int number, int lag) {
  return "slave" + std::to_string(number) +
         ":ip=10.0.0.2,port=6379,state=online,offset=14,lag=" + std::to_string(lag) + "\r\n";
}

TEST(Info, TellsOfAMasterThatWaitsForNoReplica) {
  EXPECT_EQ(risk_of_failover(kMaster), "its min-replicas-to-write is 0");
  EXPECT_EQ(risk_of_failover(kMaster + replica(0, 0)), "its min-replicas-to-write is 0");
  EXPECT_EQ(risk_of_failover(kCareful), "");
}

TEST(Info, TellsOfReplicasThatAreFarBehind) {
  EXPECT_EQ(risk_of_failover(kCareful + replica(0, 9) + replica(1, 7)),
            "its nearest replica is 7 s behind");
  EXPECT_EQ(risk_of_failover(kCareful + replica(0, 90) + replica(1, 1)), "");
  EXPECT_EQ(risk_of_failover(kCareful + replica(0, 0) + replica(1, 90)), "");
}

TEST(Info, TellsNothingOfWhatIsNoMaster) {
  EXPECT_EQ(risk_of_failover("role:slave\r\n"), "");
  EXPECT_EQ(risk_of_failover(""), "");
  EXPECT_EQ(risk_of_failover("lag="), "");
}

}  // namespace
}  // namespace belay
