// One connection: its greeting, and what it makes of replies and pushes, over a fake link.
#include "route/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/fake_link.h"
#include "unit/replies.h"

namespace belay {
namespace {

using What = Heard::What;

constexpr Script kScript{"verb", "0123456789012345678901234567890123456789", "return 1"};

constexpr Script kOther{"other", "1123456789012345678901234567890123456789", "return 2"};

// A string, as a script answers whose check of the rights went wrong in itself.
std::string unchecked(const std::string& reply) {
  const std::size_t line = reply.find("\r\n") + 2;
  const std::string text = reply.substr(line, reply.size() - line - 2) + "!";
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class ConnectionTest : public testing::Test {
 protected:
  explicit ConnectionTest(Deployment deployment = Deployment::kSingle, Inbox where = {"in", "box"})
      : inbox(std::move(where)), connection(config, deployment, inbox, link, log, 0) {}

  // Up to and with the time.
  void greet() {
    connection.open();
    connection.greet(now);
    hear(
        "%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:5\r\n>3\r\n$9\r\nsubscribe\r\n$5\r\ninbox\r\n:1\r\n");
    hear("+OK\r\n$11\r\nrun_id:run1\r\n$0\r\n\r\n*2\r\n:100\r\n:7\r\n");
    link.marks.forget();
  }

  // What a script answers, with the marks of the calls.
  void answer(const std::string& bytes) { hear(link.marks.marked(bytes)); }

  void hear(const std::string& bytes) {
    heard.clear();
    texts.clear();
    EXPECT_EQ(connection.read(bytes,
                              [this](Reply reply) {
                                heard.push_back(connection.hear(reply, now));
                                const What what = heard.back().what;
                                if (what == What::kReply || what == What::kMessage) {
                                  texts.emplace_back(heard.back().reply.text());
                                }
                                return true;
                              }),
              "");
  }

  [[nodiscard]] std::vector<What> kinds() const {
    std::vector<What> kinds;
    for (const Heard& one : heard) {
      kinds.push_back(one.what);
    }
    return kinds;
  }

  Micros now = kSecond;
  Config config;
  const Inbox inbox;
  FakeLink link;
  std::vector<std::string> logged;
  Log log{BELAY_LOG_NONE, [] {}, BELAY_LOG_WARNING,
          [this](std::int32_t, const std::string& message) { logged.push_back(message); }};
  Connection connection;
  std::vector<Heard> heard;        // of the latest bytes; the replies are gone
  std::vector<std::string> texts;  // of those to commands, and of messages
};

TEST_F(ConnectionTest, IsGreetedWithTheServersTimeRunAndItsOwnId) {
  greet();
  EXPECT_EQ(kinds(),
            (std::vector<What>{What::kNothing, What::kNothing, What::kNothing, What::kGreeted}));
  EXPECT_EQ(heard.back().server_time.since_1970, 100 * kSecond + 7);
  EXPECT_EQ(heard.back().sent, now);
  EXPECT_EQ(connection.id(), 5);
  EXPECT_EQ(connection.run_id(), "run1");
  EXPECT_TRUE(connection.tracks());
  EXPECT_TRUE(connection.idle());
}

TEST_F(ConnectionTest, SaysWhyItsGreetingFailed) {
  connection.greet(now);
  hear("-WRONGPASS invalid username-password pair\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_EQ(connection.why().code, BELAY_AUTH_FAILED);
  EXPECT_NE(connection.why().message.find("(user 'default')"), std::string::npos);
}

TEST_F(ConnectionTest, TellsWhichCommandAReplyAnswersAndWhenItWasSent) {
  greet();
  connection.send({7, &kScript, {"key"}, {}}, now);
  now += kSecond;
  connection.send({8, nullptr, {}, {"PING"}}, now);
  EXPECT_FALSE(connection.idle());
  answer("$2\r\nhi\r\n+PONG\r\n");
  EXPECT_EQ(kinds(), (std::vector<What>{What::kReply, What::kReply}));
  EXPECT_EQ(heard[0].id, 7);
  EXPECT_EQ(heard[0].sent, now - kSecond);
  EXPECT_EQ(heard[1].id, 8);
  EXPECT_EQ(heard[1].sent, now);
  EXPECT_EQ(texts, (std::vector<std::string>{"hi", "PONG"}));
  EXPECT_TRUE(connection.idle());
}

TEST_F(ConnectionTest, FailsByAReplyThatAnswersNothing) {
  greet();
  hear("+OK\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_EQ(heard[0].sent, kNever);
}

TEST_F(ConnectionTest, FailsByTheReplyOfAnotherCall) {
  greet();
  connection.send({7, &kScript, {"key"}, {}}, now);
  hear("$4\r\nmark\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_NE(connection.why().message.find("no command of ours"), std::string::npos);
}

TEST_F(ConnectionTest, BelievesAReplyWhoseRightsCouldNotBeCheckedAndSaysSoOnce) {
  greet();
  for (const Script* const script : {&kScript, &kOther}) {
    connection.send({7, script, {"key"}, {}}, now);
    hear(unchecked(link.marks.marked("$2\r\nhi\r\n")));
    EXPECT_EQ(texts, std::vector<std::string>{"hi"});
  }
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_NE(logged[0].find("cannot tell which commands its user may run"), std::string::npos);
}

// Where no rights were to be checked, that mark is another call's.
TEST_F(ConnectionTest, FailsByAnUncheckedMarkThatItDidNotAskFor) {
  greet();
  connection.send({7, &kScript, {"key"}, {}}, now);
  answer("$2\r\nhi\r\n");
  connection.send({8, &kScript, {"key"}, {}}, now);
  hear(unchecked(link.marks.marked("$2\r\nhi\r\n")));
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_EQ(logged, std::vector<std::string>{});
}

TEST_F(ConnectionTest, GoesOnWithTheMarksOfTheOneBefore) {
  greet();
  connection.send({7, &kScript, {"key"}, {}}, now);
  const std::string first = link.marks.marked("$0\r\n\r\n");
  Connection next(config, Deployment::kSingle, inbox, link, log, connection.calls());
  next.send({8, &kScript, {"key"}, {}}, now);
  EXPECT_EQ(next.calls(), 2);
  EXPECT_NE(link.marks.marked("$0\r\n\r\n"), first);
}

TEST_F(ConnectionTest, AsksForTheTimeOnceUntilItHasCome) {
  greet();
  connection.ask_time(now);
  connection.ask_time(now);
  hear("*2\r\n:100\r\n:7\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kTime});
  EXPECT_EQ(heard[0].server_time.since_1970, 100 * kSecond + 7);
  EXPECT_TRUE(connection.idle());
  connection.ask_time(now);
  EXPECT_FALSE(connection.idle());
}

TEST_F(ConnectionTest, TellsOfKillsOneByOne) {
  greet();
  connection.kill(3, now);
  connection.kill(4, now);
  EXPECT_TRUE(link.has_sent("KILL\r\n$2\r\nID\r\n$1\r\n3\r\n"));
  hear(":1\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kKilled});
  EXPECT_FALSE(connection.idle());
  hear("-NOPERM no permission\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kKilled});
  EXPECT_TRUE(connection.idle());
}

TEST_F(ConnectionTest, TellsOfPushesBesideReplies) {
  greet();
  hear(
      ">3\r\n$7\r\nmessage\r\n$5\r\ninbox\r\n$2\r\nhi\r\n"
      ">3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$2\r\nhi\r\n"
      ">2\r\n$10\r\ninvalidate\r\n_\r\n");
  EXPECT_EQ(kinds(), (std::vector<What>{What::kMessage, What::kNothing, What::kInvalidated}));
  EXPECT_EQ(texts[0], "hi");
  EXPECT_EQ(heard[0].sent, kNever);
}

TEST_F(ConnectionTest, MustAnswerOneThingAfterTheOther) {
  greet();
  EXPECT_EQ(connection.deadline(), kNever);
  connection.send({7, nullptr, {}, {"PING"}}, now);
  connection.send({8, nullptr, {}, {"PING"}}, now);
  EXPECT_EQ(connection.deadline(), now + config.request_timeout);
  now += kSecond;
  hear("+PONG\r\n");
  EXPECT_EQ(connection.deadline(), now + config.request_timeout);
}

TEST_F(ConnectionTest, WaitsForNothingOnceItHasEnded) {
  greet();
  connection.send({7, nullptr, {}, {"PING"}}, now);
  connection.end();
  EXPECT_TRUE(connection.idle());
  EXPECT_EQ(connection.deadline(), kNever);
  EXPECT_EQ(link.sent, "");
}

// To a node of a cluster, where each slot has a channel.
class ClusterConnectionTest : public ConnectionTest {
 protected:
  static constexpr std::uint16_t kSlot = 42;

  ClusterConnectionTest() : ConnectionTest(Deployment::kCluster, {"belay:in:", "client", true}) {}

  void greet(const std::string& version, const std::string& subscription) {
    connection.open();
    connection.greet(now);
    hear("%2\r\n" + bulk("version") + bulk(version) + bulk("mode") + bulk("cluster") + ":5\r\n" +
         subscription);
    hear("+OK\r\n" + bulk("run_id:run1") + bulk("") + "*0\r\n*2\r\n:100\r\n:7\r\n");
    link.sent.clear();
    link.marks.forget();
  }

  static std::string push(const std::string& kind, std::uint16_t slot, const std::string& last) {
    return ">3\r\n" + bulk(kind) + bulk(channel(slot)) + last;
  }

  static std::string channel(std::uint16_t slot) {
    return "belay:in:{" + slot_tag(slot) + "}:client";
  }

  // Has named the slot once, long ago, and is told to stop.
  void listen_and_stop() {
    greet("7.0.15", "-MOVED 0 elsewhere:1\r\n");
    connection.listen(kSlot, now);
    hear(push("ssubscribe", kSlot, ":1\r\n"));
    now += 60 * kSecond;
    link.sent.clear();
    connection.stop_listening({}, now, now);
    EXPECT_TRUE(link.has_sent("SUNSUBSCRIBE\r\n" + bulk(channel(kSlot))));
    connection.send({7, nullptr, {}, {"PING"}}, now);
  }

  void expect_no_shift() {
    hear("*2\r\n:160\r\n:7\r\n+PONG\r\n");
    EXPECT_EQ(kinds(), (std::vector<What>{What::kTime, What::kReply}));
    EXPECT_EQ(texts, std::vector<std::string>{"PONG"});
    EXPECT_TRUE(connection.idle());
  }
};

TEST_F(ClusterConnectionTest, NeedsTheRightToListen) {
  connection.open();
  connection.greet(now);
  EXPECT_TRUE(link.has_sent("SSUBSCRIBE\r\n" + bulk(channel(0))));
  hear("%2\r\n" + bulk("version") + bulk("7.0.15") + bulk("mode") + bulk("cluster") +
       ":5\r\n-NOPERM this user has no permissions to run the 'ssubscribe' command\r\n");
  EXPECT_EQ(kinds().back(), What::kFailed);
  EXPECT_EQ(connection.why().code, BELAY_NOT_PERMITTED);
  EXPECT_NE(connection.why().message.find("(SSUBSCRIBE): NOPERM"), std::string::npos)
      << connection.why().message;
}

// Scripts there would publish by a command that the client cannot hear.
TEST_F(ClusterConnectionTest, NeedsShardChannelsWhereTheVersionHasThem) {
  connection.open();
  connection.greet(now);
  hear("%2\r\n" + bulk("version") + bulk("7.0.15") + bulk("mode") + bulk("cluster") +
       ":5\r\n-ERR unknown command 'SSUBSCRIBE', with args beginning with: 'x'\r\n");
  EXPECT_EQ(kinds().back(), What::kFailed);
  EXPECT_NE(connection.why().message.find("unknown command"), std::string::npos);
}

TEST_F(ClusterConnectionTest, HearsOfTheSlotsThatItHasNamed) {
  greet("7.0.15", push("ssubscribe", 0, ":1\r\n"));
  EXPECT_FALSE(connection.echoes());
  connection.listen(kSlot, now);
  EXPECT_TRUE(link.has_sent("SSUBSCRIBE\r\n" + bulk(channel(kSlot))));
  link.sent.clear();
  connection.listen(kSlot, now);
  EXPECT_EQ(link.sent, "");
  hear(push("ssubscribe", kSlot, ":2\r\n") + push("smessage", kSlot, bulk("hi")) +
       push("smessage", kSlot + 1, bulk("not ours")) + push("smessage", 0, bulk("not named")));
  EXPECT_EQ(texts, std::vector<std::string>{"hi"});
  EXPECT_TRUE(connection.idle());
}

// Which has plain channels only, and sends on what other nodes publish.
TEST_F(ClusterConnectionTest, HearsOfTheSlotsOfAnOldServer) {
  greet("6.2.14", "-ERR unknown command `SSUBSCRIBE`, with args beginning with: `x`, \r\n");
  EXPECT_TRUE(connection.echoes());
  connection.listen(kSlot, now);
  EXPECT_TRUE(link.has_sent("$9\r\nSUBSCRIBE\r\n" + bulk(channel(kSlot))));
  hear(push("subscribe", kSlot, ":1\r\n") + push("message", kSlot, bulk("hi")));
  EXPECT_EQ(texts, std::vector<std::string>{"hi"});
}

TEST_F(ClusterConnectionTest, TellsOfASlotThatHasLeftTheServer) {
  greet("7.0.15", "-MOVED 0 elsewhere:1\r\n");
  connection.listen(kSlot, now);
  hear(push("ssubscribe", kSlot, ":1\r\n"));
  hear(push("sunsubscribe", kSlot, ":0\r\n") + push("sunsubscribe", 0, ":0\r\n"));
  EXPECT_EQ(kinds(), (std::vector<What>{What::kLeft, What::kNothing}));
  EXPECT_EQ(heard[0].slot, kSlot);
  link.sent.clear();
  connection.listen(kSlot, now);
  EXPECT_TRUE(link.has_sent("SSUBSCRIBE\r\n" + bulk(channel(kSlot))));
}

TEST_F(ClusterConnectionTest, NamesASlotAnewThatItCouldNotListenTo) {
  greet("7.0.15", "-CLUSTERDOWN The cluster is down\r\n");
  connection.listen(kSlot, now);
  hear("-MOVED 42 elsewhere:1\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kNothing});
  link.sent.clear();
  connection.listen(kSlot, now);
  EXPECT_TRUE(link.has_sent("SSUBSCRIBE\r\n" + bulk(channel(kSlot))));
  hear("-NOPERM this user has no permissions to access one of the channels\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_EQ(connection.why().code, BELAY_NOT_PERMITTED);
}

TEST_F(ClusterConnectionTest, StopsListeningToWhatIsNotUsedAnyMore) {
  greet("7.0.15", "-MOVED 0 elsewhere:1\r\n");
  for (std::uint16_t slot = 1; slot <= 3; ++slot) {
    connection.listen(slot, now);
    hear(push("ssubscribe", slot, ":1\r\n"));
  }
  now += kSecond;
  connection.listen(2, now);
  link.sent.clear();
  connection.stop_listening(SlotSet().set(3), now, now);
  EXPECT_TRUE(link.has_sent(bulk(channel(1))));
  EXPECT_FALSE(link.has_sent(bulk(channel(2))));
  EXPECT_FALSE(link.has_sent(bulk(channel(3))));
  hear(push("sunsubscribe", 1, ":2\r\n") + push("smessage", 1, bulk("late")));
  EXPECT_EQ(kinds(), (std::vector<What>{What::kNothing, What::kNothing}));
  link.sent.clear();
  connection.stop_listening(SlotSet().set(3), now, now);
  EXPECT_EQ(link.sent, "");
}

// By a push; by MOVED where the slot has left; by both where it leaves at this moment.
TEST_F(ClusterConnectionTest, KnowsTheAnswersToThat) {
  listen_and_stop();
  hear(push("sunsubscribe", kSlot, ":0\r\n"));
  EXPECT_EQ(kinds(), std::vector<What>{What::kNothing});
  expect_no_shift();
}

TEST_F(ClusterConnectionTest, KnowsTheAnswersToThatWhereTheSlotHasLeft) {
  listen_and_stop();
  hear("-MOVED 42 elsewhere:1\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kNothing});
  expect_no_shift();
}

TEST_F(ClusterConnectionTest, KnowsTheAnswersToThatWhereTheSlotLeavesMeanwhile) {
  listen_and_stop();
  hear(push("sunsubscribe", kSlot, ":0\r\n") + "-MOVED 42 elsewhere:1\r\n");
  EXPECT_EQ(kinds(), (std::vector<What>{What::kNothing, What::kNothing}));
  expect_no_shift();
}

}  // namespace
}  // namespace belay
