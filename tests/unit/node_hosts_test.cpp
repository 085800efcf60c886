// A node that is at one of two endpoints: the master is found by its role, and found again. Fake
// links; the servers' replies are given by hand, and their clocks are an hour apart.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "route/node.h"
#include "unit/counted.h"
#include "unit/fake_link.h"
#include "unit/replies.h"

namespace belay {
namespace {

// A server as its greeting shows it.
struct Host {
  FakeLink link;
  std::string run;
  Micros ahead;  // its clock
};

constexpr Micros kHour = 3600 * kSecond;

class NodeHostsTest : public testing::Test {
 protected:
  NodeHostsTest() { node_.start(counted_, now_); }

  void answer(const std::string& bytes) { node_.on_link_bytes(bytes, now_); }

  // Which of the two is being tried.
  Host& tried() { return node_.link().get() == &first_.link ? first_ : second_; }

  void open() {
    node_.on_timer(now_);
    node_.on_link_open(now_);
  }

  void hello(const std::string& role) {
    answer("%2\r\n" + bulk("version") + bulk("7.0.15") + bulk("role") + bulk(role));
  }

  // What the server says that is tried now, of a connection with that number.
  void greet_master(int id, Micros trip = 0) {
    open();
    now_ += trip;
    hello("master");
    answer(":" + std::to_string(id) + "\r\n>3\r\n" + bulk("subscribe") + bulk("inbox") + ":1\r\n");
    answer("+OK\r\n" + bulk(tried().run.empty() ? "" : "run_id:" + tried().run + "\r\n") +
           bulk(""));
    const Micros time = now_ + tried().ahead;
    answer("*2\r\n" + bulk(std::to_string(time / kSecond)) + bulk(std::to_string(time % kSecond)));
  }

  void meet_replica() {
    open();
    hello("replica");
  }

  void refuse() {
    node_.on_timer(now_);
    node_.on_link_closed({BELAY_UNAVAILABLE, "connection refused"}, now_);
  }

  void cut() { node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_); }

  void wait_for_reconnect() { now_ = node_.next_deadline(); }

  void ask() { node_.send({1, nullptr, {}, {"PING"}}, now_); }

  Micros now_ = 10 * kSecond;
  Config config_;
  Host first_{FakeLink(Endpoint{"first", 1, "", false}), "run1", 100 * kSecond + kHour};
  Host second_{FakeLink(Endpoint{"second", 1, "", false}), "run2", 100 * kSecond};
  Counted counted_;
  std::vector<std::string> warnings_;  // about settings
  Log log_{BELAY_LOG_NONE, [] {}, BELAY_LOG_WARNING,
           [this](std::int32_t, const std::string& message) {
             if (message.starts_with(kOfSettings)) {
               warnings_.push_back(message);
             }
           }};
  Node node_{config_,
             Deployment::kReplicated,
             Inbox{"in", "box"},
             1,
             {borrowed(first_.link), borrowed(second_.link)},
             log_};
};

TEST_F(NodeHostsTest, LeavesAReplicaAtOnceForTheNext) {
  meet_replica();
  EXPECT_EQ(node_.next_deadline(), now_);
  EXPECT_FALSE(node_.refused());
  greet_master(5);
  EXPECT_TRUE(node_.up());
  EXPECT_TRUE(node_.trouble().ok());
  EXPECT_EQ(node_.link().get(), &second_.link);
  EXPECT_FALSE(node_.is_another());
  EXPECT_EQ(counted_.up, 1);
  EXPECT_EQ(counted_.down, 0);
}

TEST_F(NodeHostsTest, PausesOnlyAfterAWholeRound) {
  for (int round = 0; round < 20; ++round) {
    refuse();
    EXPECT_EQ(node_.next_deadline(), now_);
    meet_replica();
    EXPECT_GT(node_.next_deadline(), now_);
    EXPECT_LE(node_.next_deadline(), now_ + 2 * kSecond);
    EXPECT_EQ(node_.trouble().code, BELAY_UNAVAILABLE);
    EXPECT_EQ(node_.trouble().message,
              "none of the 2 hosts is a master for us: connection refused; "
              "second:1 is a replica: it takes no locks");
    wait_for_reconnect();
  }
  EXPECT_EQ(first_.link.opened, 20);
  EXPECT_EQ(counted_.refused, 0);
}

TEST_F(NodeHostsTest, WarnsOnceOfMastersThatWaitForNoReplica) {
  greet_master(0);
  answer(bulk("role:master\r\nmin_slaves_good_slaves:1\r\n"));
  EXPECT_TRUE(warnings_.empty());
  cut();
  wait_for_reconnect();
  greet_master(0);
  answer(bulk("role:master\r\n"));
  const std::vector<std::string> told = {
      "settings: first:1 may grant locks that a failover loses: its min-replicas-to-write is 0"};
  EXPECT_EQ(warnings_, told);
  cut();
  wait_for_reconnect();
  greet_master(0);
  EXPECT_FALSE(tried().link.has_sent("replication"));
  EXPECT_TRUE(node_.up());
}

TEST_F(NodeHostsTest, MayBeForbiddenToAskAboutReplicas) {
  greet_master(0);
  EXPECT_TRUE(tried().link.has_sent("replication"));
  answer("-NOPERM this user has no permissions\r\n");
  EXPECT_TRUE(node_.up());
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(NodeHostsTest, TellsOfAWrongPasswordWhereverItIs) {
  meet_replica();
  open();
  answer("-WRONGPASS no\r\n");
  EXPECT_EQ(counted_.refused, 1);
  EXPECT_TRUE(node_.refused());
  EXPECT_NE(node_.trouble().message.find("WRONGPASS"), std::string::npos);
}

TEST_F(NodeHostsTest, SharesARequestsTimeAmongTheHosts) {
  node_.on_timer(now_);
  EXPECT_EQ(node_.next_deadline(), now_ + config_.request_timeout / 2);
  wait_for_reconnect();
  node_.on_timer(now_);
  EXPECT_NE(node_.trouble().message.find("did not come about within 2500 ms"), std::string::npos);
  node_.on_timer(now_);
  EXPECT_EQ(node_.link().get(), &second_.link);
  node_.on_link_open(now_);  // and says nothing
  wait_for_reconnect();
  node_.on_timer(now_);
  EXPECT_NE(node_.trouble().message.find("did not answer within 2500 ms"), std::string::npos);
}

TEST_F(NodeHostsTest, FindsTheMasterThatAReplicaHasBecome) {
  greet_master(5);
  cut();
  EXPECT_EQ(counted_.down, 1);
  EXPECT_LE(node_.next_deadline(), now_ + 10 * kMillisecond);
  wait_for_reconnect();
  refuse();  // where it was last
  greet_master(7);
  EXPECT_TRUE(node_.up());
  EXPECT_EQ(node_.link().get(), &second_.link);
  EXPECT_TRUE(node_.is_another());
}

TEST_F(NodeHostsTest, LeavesAMasterThatBecameAReplica) {
  for (const char* words :
       {"-READONLY You can't write against a read only replica.\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-ERR Error running script (call to f_0): @user_script:1: -READONLY You "
        "can't write against a read only replica.\r\n"}) {
    greet_master(5);
    if (!node_.up()) {  // it kills its older connection
      answer(":1\r\n");
    }
    Host& was = tried();
    ask();
    answer(words);
    EXPECT_FALSE(node_.up()) << words;
    wait_for_reconnect();
    node_.on_timer(now_);
    EXPECT_NE(&tried(), &was) << words;
    cut();
    wait_for_reconnect();
  }
}

// A bound of the old one would be an hour off.
TEST_F(NodeHostsTest, KnowsNothingOfTheOldOnesClockAndDistance) {
  greet_master(5, 80 * kMillisecond);
  EXPECT_GE(node_.clock().bound(now_), first_.ahead);
  EXPECT_EQ(node_.distance(), 80 * kMillisecond);
  cut();
  EXPECT_FALSE(node_.clock().known(now_));
  wait_for_reconnect();
  refuse();
  greet_master(7, kMillisecond);
  EXPECT_TRUE(node_.clock().known(now_));
  EXPECT_LE(node_.clock().bound(now_), second_.ahead + kMillisecond);
  EXPECT_EQ(node_.round_trip(), kMillisecond);
}

TEST_F(NodeHostsTest, KnowsNothingOfAnotherRunAtTheSamePlace) {
  greet_master(5, 80 * kMillisecond);
  cut();
  wait_for_reconnect();
  first_.run = "run3";
  greet_master(6, kMillisecond);
  EXPECT_TRUE(node_.is_another());
  EXPECT_EQ(node_.round_trip(), kMillisecond);
  cut();
  wait_for_reconnect();
  greet_master(7, kMillisecond);
  answer(":1\r\n");
  EXPECT_TRUE(node_.up());
  EXPECT_FALSE(node_.is_another());
}

TEST_F(NodeHostsTest, FearsNoGhostsOfTheOldOneUntilItIsBack) {
  greet_master(5);
  cut();
  wait_for_reconnect();
  refuse();
  greet_master(7);
  EXPECT_TRUE(node_.up());
  EXPECT_FALSE(node_.has_ghosts());
  EXPECT_FALSE(second_.link.has_sent("KILL"));
  cut();
  wait_for_reconnect();
  refuse();
  greet_master(8);
  EXPECT_TRUE(first_.link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n5\r\n"));
  EXPECT_FALSE(first_.link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n7\r\n"));
  answer("-NOPERM no\r\n");
  EXPECT_TRUE(node_.up());
  EXPECT_TRUE(node_.has_ghosts());
}

// Where no run is told.
TEST_F(NodeHostsTest, TakesAHostForAServer) {
  first_.run.clear();
  second_.run.clear();
  greet_master(5);
  cut();
  wait_for_reconnect();
  refuse();
  greet_master(7);
  EXPECT_TRUE(node_.is_another());
  EXPECT_FALSE(node_.has_ghosts());
  cut();
  wait_for_reconnect();
  refuse();
  greet_master(8);
  EXPECT_FALSE(first_.link.has_sent("KILL"));
  EXPECT_TRUE(node_.has_ghosts());
}

// The second name leads to the first server: its connections are killed there.
TEST_F(NodeHostsTest, KnowsAServerByItsRunUnderAnyName) {
  second_.run = first_.run;
  greet_master(5);
  cut();
  wait_for_reconnect();
  refuse();
  greet_master(6);
  EXPECT_TRUE(second_.link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n5\r\n"));
  answer(":1\r\n");
  EXPECT_TRUE(node_.up());
  EXPECT_FALSE(node_.is_another());
}

}  // namespace
}  // namespace belay
