// The handshake, reconnecting and the matching of replies, over a fake link.
#include "route/node.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/fake_link.h"

namespace belay {
namespace {

class Heard final : public NodeEvents {
 public:
  void on_node_up(Node&, Micros) override { ++up; }

  void on_node_down(Node&, Micros) override { ++down; }

  void on_node_refused(Node&, Micros) override { ++refused; }

  void on_node_reply(Node&, std::uint64_t id, Reply reply, Micros, Micros) override {
    replies.push_back(id);
    texts.emplace_back(reply.is_array() ? "elements: " + std::to_string(reply.size())
                                        : reply.text());
  }

  void on_node_message(Node&, std::string_view payload, Micros) override {
    messages.emplace_back(payload);
  }

  void on_node_flushed(Node&, Micros) override { ++flushed; }

  void on_node_changed(Node&, std::string_view key, Micros) override { changed.emplace_back(key); }

  void on_node_slots(Node&, const std::vector<SlotRange>& map, Micros) override {
    maps.push_back(map.size());
  }

  void on_node_left(Node&, std::uint16_t, Micros) override {}

  void on_node_clock(Node&, Micros) override { ++clock; }

  int up = 0;
  int down = 0;
  int refused = 0;
  int flushed = 0;
  int clock = 0;
  std::vector<std::size_t> maps;  // how many ranges each has
  std::vector<std::uint64_t> replies;
  std::vector<std::string> texts;
  std::vector<std::string> messages;
  std::vector<std::string> changed;
};

constexpr Script kScript{"verb", "0123456789012345678901234567890123456789", "return 1"};

class NodeTest : public testing::Test {
 protected:
  NodeTest() { node.start(heard, now); }

  // Everything the greeting asks for, from a server whose run is `run`.
  void greet(const std::string& version = "7.0.15", const std::string& run = "run1", int id = 5) {
    node.on_timer(now);
    node.on_link_open(now);
    const std::string info = "run_id:" + run + "\r\n";
    answer("%1\r\n$7\r\nversion\r\n$" + std::to_string(version.size()) + "\r\n" + version + "\r\n");
    answer(":" + std::to_string(id) + "\r\n");
    answer(">3\r\n$9\r\nsubscribe\r\n$5\r\ninbox\r\n:1\r\n");
    answer(tracking);
    answer("$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
    answer("$" + std::to_string(memory.size()) + "\r\n" + memory + "\r\n");
    answer("*2\r\n$3\r\n100\r\n$1\r\n0\r\n");
    link.marks.forget();  // of these, whose answers have none
  }

  void answer(const std::string& bytes) { node.on_link_bytes(bytes, now); }

  void wait_for_reconnect() { now = node.next_deadline(); }

  Micros now = 1000;
  std::string tracking = "+OK\r\n";
  std::string memory = "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n";
  Config config;
  FakeLink link;
  Heard heard;
  Log log{BELAY_LOG_NONE, [] {}};
  Node node{config, Deployment::kSingle, Inbox{"in", "box"}, 1, {borrowed(link)}, log};
};

TEST_F(NodeTest, IsUpAfterItsGreeting) {
  greet();
  EXPECT_EQ(heard.up, 1);
  EXPECT_TRUE(node.up());
  EXPECT_TRUE(node.clock().known(now));
  EXPECT_FALSE(node.has_ghosts());
}

TEST_F(NodeTest, IsToldToBeDownOnceAndToBeRefusedEachTime) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  EXPECT_EQ(heard.down, 1);
  wait_for_reconnect();
  node.on_timer(now);
  node.on_link_closed({BELAY_UNAVAILABLE, "not there"}, now);
  EXPECT_EQ(heard.down, 1);
  for (int times = 1; times <= 2; ++times) {
    wait_for_reconnect();
    node.on_timer(now);
    node.on_link_open(now);
    answer("-WRONGPASS invalid username-password pair\r\n");
    EXPECT_EQ(heard.refused, times);
  }
  EXPECT_EQ(heard.down, 1);
}

TEST_F(NodeTest, RefusesAServerThatIsTooOld) {
  greet("6.0.9");
  EXPECT_EQ(heard.up, 0);
  EXPECT_EQ(node.trouble().code, BELAY_UNSUPPORTED_SERVER);
  EXPECT_NE(node.trouble().message.find("6.0.9"), std::string::npos);
}

TEST_F(NodeTest, TakesNoReplicaForItsServer) {
  node.on_timer(now);
  node.on_link_open(now);
  answer("%2\r\n$7\r\nversion\r\n$3\r\n7.0\r\n$4\r\nrole\r\n$7\r\nreplica\r\n");
  EXPECT_EQ(node.trouble().code, BELAY_UNAVAILABLE);
  EXPECT_NE(node.trouble().message.find("is a replica: it takes no locks; name its master, too, as "
                                        "in redis://master,"),
            std::string::npos)
      << node.trouble().message;
}

TEST_F(NodeTest, TakesNoNodeOfAClusterForItsServer) {
  node.on_timer(now);
  node.on_link_open(now);
  answer("%2\r\n$7\r\nversion\r\n$3\r\n7.0\r\n$4\r\nmode\r\n$7\r\ncluster\r\n");
  EXPECT_TRUE(node.refused());
  EXPECT_EQ(node.trouble().code, BELAY_UNSUPPORTED_SERVER);
  EXPECT_NE(node.trouble().message.find("is a node of a cluster: its URL is redis-cluster://"),
            std::string::npos);
}

TEST_F(NodeTest, TellsAWrongPasswordFromAnOutage) {
  node.on_timer(now);
  node.on_link_open(now);
  answer("-WRONGPASS invalid username-password pair\r\n");
  EXPECT_EQ(node.trouble().code, BELAY_AUTH_FAILED);
}

// Servers quote the arguments of what they do not understand.
TEST_F(NodeTest, HidesThePasswordThatAServerEchoes) {
  config.credentials.password = Secret(std::string_view("hunter2"));
  node.on_timer(now);
  node.on_link_open(now);
  ASSERT_TRUE(link.has_sent("hunter2"));
  answer("-ERR wrong arguments, beginning with '3' 'AUTH' 'default' 'hunter2'\r\n");
  EXPECT_NE(node.trouble().message.find("'default' '***'"), std::string::npos);
  EXPECT_EQ(node.trouble().message.find("hunter2"), std::string::npos);
  wait_for_reconnect();
  greet("hunter2");
  EXPECT_NE(node.trouble().message.find("has version '***'"), std::string::npos);
}

// redis://hunter2@host: a lone word is the user.
TEST_F(NodeTest, HidesAUserThatMayBeAPassword) {
  config.credentials.user = "hunter2";
  node.on_timer(now);
  node.on_link_open(now);
  answer("-NOPERM User hunter2 has no permissions\r\n");
  EXPECT_NE(node.trouble().message.find("User *** has"), std::string::npos);
}

TEST_F(NodeTest, SendsTheBodyOfAScriptOnceAConnection) {
  greet();
  node.send({1, &kScript, {"key"}, {"arg"}}, now);
  EXPECT_TRUE(link.has_sent("return 1"));
  link.sent.clear();
  node.send({2, &kScript, {"key"}, {"arg"}}, now);
  EXPECT_TRUE(link.has_sent("EVALSHA"));
  EXPECT_FALSE(link.has_sent("return 1"));
}

TEST_F(NodeTest, SendsTheBodyAgainWhenTheServerHasForgottenIt) {
  greet();
  node.send({1, &kScript, {"key"}, {}}, now);
  node.send({2, &kScript, {"key"}, {}}, now);
  answer(link.marks.marked("$2\r\nhi\r\n"));
  link.sent.clear();
  answer("-NOSCRIPT No matching script\r\n");
  node.send({3, &kScript, {"key"}, {}}, now);
  EXPECT_TRUE(link.has_sent("return 1"));
}

TEST_F(NodeTest, GivesRepliesToTheirCommandsInOrder) {
  greet();
  node.send({7, nullptr, {}, {"PING"}}, now);
  node.send({8, nullptr, {}, {"PING"}}, now);
  answer("+PO");
  answer("NG\r\n+PONG\r\n");
  EXPECT_EQ(heard.replies, (std::vector<std::uint64_t>{7, 8}));
}

TEST_F(NodeTest, GivesAScriptsReplyWithoutItsMark) {
  greet();
  node.send({7, &kScript, {"key"}, {}}, now);
  node.send({8, &kScript, {"key"}, {}}, now);
  node.send({9, &kScript, {"key"}, {}}, now);
  answer(link.marks.marked("$2\r\nhi\r\n$0\r\n\r\n*2\r\n:1\r\n:2\r\n"));
  EXPECT_EQ(heard.texts, (std::vector<std::string>{"hi", "", "elements: 2"}));
}

TEST_F(NodeTest, TakesNoReplyForAnotherCalls) {
  int run = 0;
  for (const std::string& one : std::vector<std::string>{"$2\r\nhi\r\n", "*1\r\n:1\r\n"}) {
    greet("7.0.15", "run" + std::to_string(++run));
    ASSERT_TRUE(node.up());
    node.send({7, &kScript, {"key"}, {}}, now);
    node.send({8, &kScript, {"key"}, {}}, now);
    const std::string first = link.marks.marked(one);
    const std::string second = link.marks.marked(one);
    heard.replies.clear();
    answer(second + first);
    EXPECT_FALSE(node.up());
    EXPECT_TRUE(heard.replies.empty());
    wait_for_reconnect();
  }
}

TEST_F(NodeTest, TakesNoReplyWithoutAMarkForAScripts) {
  int run = 0;
  for (const char* one :
       {"+OK\r\n", ":1\r\n", "_\r\n", "*0\r\n", "$2\r\nhi\r\n", "$4\r\nmark\r\n"}) {
    greet("7.0.15", "run" + std::to_string(++run));
    ASSERT_TRUE(node.up()) << one;
    node.send({7, &kScript, {"key"}, {}}, now);
    answer(one);
    EXPECT_FALSE(node.up()) << one;
    EXPECT_TRUE(heard.replies.empty()) << one;
    wait_for_reconnect();
  }
}

TEST_F(NodeTest, HearsOfMessagesAndOfLostData) {
  greet();
  answer(">3\r\n$7\r\nmessage\r\n$5\r\ninbox\r\n$2\r\nhi\r\n");
  answer(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  EXPECT_EQ(heard.messages, std::vector<std::string>{"hi"});
  EXPECT_EQ(heard.flushed, 1);
}

TEST_F(NodeTest, HearsOfAChangeOfAWatchedKey) {
  greet();
  link.sent.clear();
  node.watch(7, {"k1", "k2"}, now);
  EXPECT_TRUE(link.has_sent("CACHING"));
  EXPECT_TRUE(link.has_sent("EXISTS\r\n$2\r\nk1\r\n$2\r\nk2\r\n"));
  answer("+OK\r\n:2\r\n");
  EXPECT_EQ(heard.replies, std::vector<std::uint64_t>{7});
  answer(">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nk2\r\n");
  EXPECT_EQ(heard.changed, std::vector<std::string>{"k2"});
}

TEST_F(NodeTest, WatchesNothingWhereTrackingIsRefused) {
  tracking = "-NOPERM no\r\n";
  greet();
  EXPECT_FALSE(node.can_watch());
}

TEST_F(NodeTest, WarnsOfAServerThatMayEvictLocks) {
  const auto warning = [this] {
    testing::internal::CaptureStderr();
    Log warnings(BELAY_LOG_WARNING, [] {});
    Node fresh(config, Deployment::kSingle, Inbox{"in", "box"}, 1, {borrowed(link)}, warnings);
    fresh.start(heard, now);
    fresh.on_timer(now);
    fresh.on_link_open(now);
    fresh.on_link_bytes(
        "%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:5\r\n>3\r\n$9\r\nsubscribe\r\n$5\r\ninbox\r\n:1\r\n"
        "+OK\r\n$0\r\n\r\n$" +
            std::to_string(memory.size()) + "\r\n" + memory + "\r\n",
        now);
    EXPECT_TRUE(warnings.flush());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warning(), "");
  memory = "maxmemory:1000\r\nmaxmemory_policy:noeviction\r\n";
  EXPECT_EQ(warning(), "");
  memory = "maxmemory:1000\r\nmaxmemory_policy:volatile-lru\r\n";
  EXPECT_NE(warning().find("maxmemory-policy is volatile-lru"), std::string::npos);
}

TEST_F(NodeTest, KeepsASlowConnectionThatGoesOnAnswering) {
  greet();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    node.send({id, nullptr, {}, {"PING"}}, now);
  }
  for (int answered = 0; answered < 2; ++answered) {
    now += config.request_timeout - kMillisecond;
    node.on_timer(now);
    EXPECT_TRUE(node.up());
    answer("+PONG\r\n");
  }
  now += config.request_timeout;
  node.on_timer(now);
  EXPECT_FALSE(node.up());
}

TEST_F(NodeTest, DropsAConnectionThatDoesNotAnswer) {
  greet();
  node.send({1, nullptr, {}, {"PING"}}, now);
  now += config.request_timeout;
  node.on_timer(now);
  EXPECT_FALSE(node.up());
  EXPECT_EQ(heard.down, 1);
  EXPECT_NE(node.trouble().message.find("did not answer"), std::string::npos);
}

TEST_F(NodeTest, DropsAConnectionThatSpeaksSomethingElse) {
  greet();
  answer("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_FALSE(node.up());
  EXPECT_NE(node.trouble().message.find("not the Redis protocol"), std::string::npos);
}

TEST_F(NodeTest, DropsAConnectionThatAnswersWhatNobodyAsked) {
  greet();
  answer("+OK\r\n");
  EXPECT_FALSE(node.up());
}

TEST_F(NodeTest, RefusesAnArrayHeaderThatAsksForGigabytes) {
  greet();
  answer("*400000000\r\n");
  EXPECT_FALSE(node.up());
}

TEST_F(NodeTest, ReadsAVersionOfManyDigits) {
  greet("99999999999999999999.99999999999999999999.1");
  EXPECT_TRUE(node.up());
}

TEST_F(NodeTest, DropsAConnectionThatTellsNoTime) {
  int run = 0;
  for (const char* time : {"+OK\r\n", "*2\r\n:9223372036854775807\r\n:0\r\n",
                           "*2\r\n:1\r\n:9223372036854775807\r\n", "*2\r\n:-5\r\n:0\r\n"}) {
    greet("7.0.15", "run" + std::to_string(++run));
    ASSERT_TRUE(node.up());
    node.refresh_clock(now);
    answer(time);
    EXPECT_EQ(heard.down, run) << time;
    EXPECT_NE(node.trouble().message.find("no time in the reply"), std::string::npos);
    wait_for_reconnect();
  }
  EXPECT_EQ(heard.clock, 0);
}

TEST_F(NodeTest, SaysInOneLineWhatTheServerSaid) {
  node.on_timer(now);
  node.on_link_open(now);
  answer("-ERR \x1b[2Jgone\x07\r\n");
  EXPECT_NE(node.trouble().message.find("ERR \\x1b[2Jgone\\x07"), std::string::npos);
}

// A server that lets nobody in may do so for months.
TEST_F(NodeTest, RemembersNoConnectionThatNeverCameUp) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  for (int i = 0; i < 10; ++i) {
    wait_for_reconnect();
    node.on_timer(now);
    node.on_link_open(now);
    answer("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:" + std::to_string(100 + i) + "\r\n");
    answer("-NOPERM no channel\r\n");
    EXPECT_FALSE(node.up());
  }
  wait_for_reconnect();
  link.sent.clear();
  greet("7.0.15", "run1", 200);
  EXPECT_TRUE(link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n5\r\n"));
  EXPECT_FALSE(link.has_sent("$3\r\n10"));
  answer(":1\r\n");
  EXPECT_TRUE(node.up());
}

TEST_F(NodeTest, KillsItsOlderConnectionsBeforeItIsUpAgain) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run1", 6);
  EXPECT_FALSE(node.up());
  EXPECT_TRUE(link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n5\r\n"));
  answer(":1\r\n");
  EXPECT_TRUE(node.up());
  EXPECT_FALSE(node.has_ghosts());
}

TEST_F(NodeTest, FearsGhostsWhereItMayNotKill) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run1", 6);
  answer("-NOPERM no permission\r\n");
  EXPECT_TRUE(node.up());
  EXPECT_TRUE(node.has_ghosts());
}

TEST_F(NodeTest, KillsNobodyOnAServerThatWasRestarted) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run2", 5);
  EXPECT_TRUE(node.up());
  EXPECT_FALSE(link.has_sent("KILL"));
}

// One address may lead to several servers in turn.
TEST_F(NodeTest, KillsWhatItLeftOnAServerThatComesBack) {
  greet();
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run2", 6);
  EXPECT_TRUE(node.up());
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run1", 9);
  EXPECT_FALSE(node.up());
  EXPECT_TRUE(link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n5\r\n"));
  EXPECT_FALSE(link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n6\r\n"));
  answer(":1\r\n");
  EXPECT_TRUE(node.up());
}

// However often it changes.
TEST_F(NodeTest, RemembersABoundedNumberOfConnections) {
  for (int i = 0; i < 100; ++i) {
    greet("7.0.15", "run" + std::to_string(i), 5);
    EXPECT_TRUE(node.up());
    node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
    wait_for_reconnect();
  }
  greet("7.0.15", "run99", 6);
  EXPECT_FALSE(node.up());
  answer(":1\r\n");
  node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now);
  wait_for_reconnect();
  greet("7.0.15", "run0", 6);
  EXPECT_TRUE(node.up());
}

TEST_F(NodeTest, ReconnectsWithGrowingButBoundedPauses) {
  for (int i = 0; i < 50; ++i) {
    node.on_timer(now);
    node.on_link_closed({BELAY_UNAVAILABLE, "refused"}, now);
    EXPECT_LE(node.next_deadline() - now, 2 * kSecond);
    EXPECT_GT(node.next_deadline(), now);
    wait_for_reconnect();
  }
  EXPECT_EQ(link.opened, 50);
}

}  // namespace
}  // namespace belay
