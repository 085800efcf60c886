// One connection: its greeting, and what it makes of replies and pushes, over a fake link.
#include "route/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/fake_link.h"

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
  std::string inbox = "inbox";
  FakeLink link;
  std::vector<std::string> logged;
  Log log{BELAY_LOG_NONE, [] {}, BELAY_LOG_WARNING,
          [this](std::int32_t, const std::string& message) { logged.push_back(message); }};
  Connection connection{config, Deployment::kSingle, inbox, link, log, 0};
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
  connection.send({7, &kScript, {}, {}}, now);
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
  connection.send({7, &kScript, {}, {}}, now);
  hear("$4\r\nmark\r\n");
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_NE(connection.why().message.find("no command of ours"), std::string::npos);
}

TEST_F(ConnectionTest, BelievesAReplyWhoseRightsCouldNotBeCheckedAndSaysSoOnce) {
  greet();
  for (const Script* const script : {&kScript, &kOther}) {
    connection.send({7, script, {}, {}}, now);
    hear(unchecked(link.marks.marked("$2\r\nhi\r\n")));
    EXPECT_EQ(texts, std::vector<std::string>{"hi"});
  }
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_NE(logged[0].find("cannot tell which commands its user may run"), std::string::npos);
}

// Where no rights were to be checked, that mark is another call's.
TEST_F(ConnectionTest, FailsByAnUncheckedMarkThatItDidNotAskFor) {
  greet();
  connection.send({7, &kScript, {}, {}}, now);
  answer("$2\r\nhi\r\n");
  connection.send({8, &kScript, {}, {}}, now);
  hear(unchecked(link.marks.marked("$2\r\nhi\r\n")));
  EXPECT_EQ(kinds(), std::vector<What>{What::kFailed});
  EXPECT_EQ(logged, std::vector<std::string>{});
}

TEST_F(ConnectionTest, GoesOnWithTheMarksOfTheOneBefore) {
  greet();
  connection.send({7, &kScript, {}, {}}, now);
  const std::string first = link.marks.marked("$0\r\n\r\n");
  Connection next(config, Deployment::kSingle, inbox, link, log, connection.calls());
  next.send({8, &kScript, {}, {}}, now);
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

}  // namespace
}  // namespace belay
