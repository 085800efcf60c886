// Connections, channels and restarts: what all servers do alike, and what the simulated one offers
// to simulations beyond that. One thread.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "script/lock_fixture.h"
#include "sim/server.h"

namespace belay::test {
namespace {

class Connections : public testing::TestWithParam<Backend::Kind> {
 protected:
  void SetUp() override { backend_.reset(); }

  void TearDown() override {
    backend_.execute_as_listener({"CLIENT", "TRACKING", "OFF"});
    backend_.reset();
  }

  std::string answer(const std::vector<std::string>& argv) {
    return backend_.execute(argv).canonical();
  }

  std::string pushes() {
    std::string all;
    for (const Reply& push : backend_.take_pushes()) {
      all += push.canonical();
    }
    return all;
  }

  Backend& backend_ = Backend::get(GetParam());
};

TEST_P(Connections, CountTheReceiversOfAMessage) {
  EXPECT_EQ(answer({"PUBLISH", "news", "x"}), "0");
  EXPECT_EQ(backend_.execute_as_listener({"SUBSCRIBE", "news"}).canonical(),
            ">[\"subscribe\", \"news\", 1]");
  EXPECT_EQ(answer({"PUBLISH", "news", "x"}), "1");
  EXPECT_EQ(answer({"PUBLISH", "other", "x"}), "0");
  EXPECT_EQ(pushes(), ">[\"message\", \"news\", \"x\"]");
  EXPECT_EQ(backend_.execute_as_listener({"UNSUBSCRIBE", "news"}).canonical(),
            ">[\"unsubscribe\", \"news\", 0]");
  EXPECT_EQ(answer({"PUBLISH", "news", "x"}), "0");
}

TEST_P(Connections, AreToldOfFlushallWhenTheyTrack) {
  EXPECT_EQ(backend_.execute_as_listener({"CLIENT", "TRACKING", "ON", "OPTIN"}).canonical(), "+OK");
  EXPECT_EQ(answer({"FLUSHALL"}), "+OK");
  EXPECT_EQ(pushes(), ">[\"invalidate\", null]");
  backend_.execute_as_listener({"CLIENT", "TRACKING", "OFF"});
  EXPECT_EQ(answer({"FLUSHALL"}), "+OK");
  EXPECT_EQ(pushes(), "");
}

TEST_P(Connections, AreToldOnceOfAChangeByOthersOfAKeyThatTheyTrack) {
  const auto listener = [this](const std::vector<std::string>& argv) {
    return backend_.execute_as_listener(argv).canonical();
  };
  EXPECT_EQ(listener({"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}), "+OK");
  answer({"SET", "a", "1"});
  answer({"SET", "b", "1"});
  EXPECT_EQ(listener({"EXISTS", "a"}), "1");
  answer({"DEL", "a"});
  EXPECT_EQ(pushes(), "");
  answer({"SET", "a", "1"});
  EXPECT_EQ(listener({"CLIENT", "CACHING", "YES"}), "+OK");
  EXPECT_EQ(listener({"EXISTS", "a", "b"}), "2");
  answer({"SETRANGE", "a", "0", "x"});
  answer({"DEL", "a"});
  EXPECT_EQ(pushes(), ">[\"invalidate\", [\"a\"]]");
  EXPECT_EQ(listener({"DEL", "b"}), "1");
  EXPECT_EQ(pushes(), "");
  answer({"SET", "b", "1"});
  EXPECT_EQ(pushes(), "");
}

TEST_P(Connections, TrackNothingUnlessTheyAskFor) {
  EXPECT_EQ(backend_.execute_as_listener({"CLIENT", "CACHING", "YES"}).error_code(), "ERR");
}

TEST_P(Connections, KillNobodyWhoIsNotThere) {
  EXPECT_EQ(answer({"CLIENT", "KILL", "ID", "999999"}), "0");
  const std::string own = answer({"CLIENT", "ID"});
  EXPECT_EQ(answer({"CLIENT", "KILL", "ID", own}), "0");
}

TEST_P(Connections, SayWhatTheyAre) {
  const Reply hello = backend_.execute({"HELLO", "3", "SETNAME", "test"});
  ASSERT_EQ(hello.elements.size(), 14U);
  EXPECT_EQ(hello.elements[5].integer, 3);
  EXPECT_EQ(hello.elements[6].text, "id");
  EXPECT_EQ(std::to_string(hello.elements[7].integer), answer({"CLIENT", "ID"}));
  EXPECT_EQ(hello.elements[11].text, "master");
  EXPECT_EQ(answer({"CLIENT", "GETNAME"}), "\"test\"");
  EXPECT_NE(answer({"INFO", "server"}).find("run_id:"), std::string::npos);
  EXPECT_EQ(answer({"CONFIG", "GET", "maxmemory-policy"}),
            "{\"maxmemory-policy\": \"noeviction\"}");
}

ON_ALL_BACKENDS(Connections);

std::string resp(sim::Server& server, int connection, const std::vector<std::string>& argv) {
  return server.execute(connection, argv);
}

TEST(SimServer, ForgetsScriptsAndConnectionsWhenRestarted) {
  sim::Server server;
  const int first = server.connect(nullptr);
  resp(server, first, {"SET", "k", "v"});
  resp(server, first, {"SCRIPT", "LOAD", "return 1"});
  const std::string run = server.run_id();
  server.restart(true);
  EXPECT_FALSE(server.connected(first));
  EXPECT_EQ(resp(server, first, {"PING"}), "");
  const int second = server.connect(nullptr);
  EXPECT_EQ(second, 1);
  EXPECT_NE(server.run_id(), run);
  EXPECT_EQ(resp(server, second, {"GET", "k"}), "$1\r\nv\r\n");
  EXPECT_EQ(resp(server, second, {"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"}),
            "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  server.restart(false);
  EXPECT_EQ(resp(server, server.connect(nullptr), {"DBSIZE"}), ":0\r\n");
}

TEST(SimServer, TellsWhomItKilled) {
  sim::Server server;
  int killed = 0;
  server.set_on_killed([&](int id) { killed = id; });
  const int first = server.connect([](std::string_view) { ADD_FAILURE(); });
  const int second = server.connect(nullptr);
  resp(server, first, {"SUBSCRIBE", "news"});
  EXPECT_EQ(resp(server, second, {"CLIENT", "KILL", "ID", std::to_string(first)}), ":1\r\n");
  EXPECT_EQ(killed, first);
  EXPECT_EQ(resp(server, second, {"PUBLISH", "news", "x"}), ":0\r\n");
}

TEST(SimServer, LetsNoScriptTouchAKeyItHasNotDeclared) {
  sim::Server server;
  const int id = server.connect(nullptr);
  const std::string refusal = "-ERR script touched undeclared key 'other'\r\n";
  EXPECT_EQ(resp(server, id, {"EVAL", "redis.pcall('SET', 'other', 1)", "1", "k"}), refusal);
  EXPECT_EQ(resp(server, id, {"EVAL", "redis.call('DEL', KEYS[1], 'other')", "1", "k"}), refusal);
  EXPECT_EQ(resp(server, id, {"DBSIZE"}), ":0\r\n");
}

TEST(SimServer, ExpiresKeysByItsClockThatStandsStillInScripts) {
  sim::Server server;
  std::int64_t now = 1'000'000'000;
  server.set_clock([&] { return ++now; });
  const int id = server.connect(nullptr);
  resp(server, id, {"SET", "k", "v", "PX", "100"});
  now += 99'000;
  EXPECT_EQ(resp(server, id, {"EXISTS", "k"}), ":1\r\n");
  now += 2'000;
  EXPECT_EQ(resp(server, id, {"EXISTS", "k"}), ":0\r\n");
  EXPECT_EQ(
      resp(server, id, {"EVAL", "return redis.call('TIME')[2] == redis.call('TIME')[2]", "0"}),
      ":1\r\n");
}

TEST(SimServer, AsksForThePassword) {
  sim::Server server;
  server.set_password("secret");
  const int id = server.connect(nullptr);
  EXPECT_EQ(resp(server, id, {"PING"}), "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(resp(server, id, {"AUTH", "wrong"}).substr(0, 10), "-WRONGPASS");
  EXPECT_EQ(resp(server, id, {"HELLO", "3", "AUTH", "default", "secret"})[0], '%');
  EXPECT_EQ(resp(server, id, {"PING"}), "+PONG\r\n");
}

TEST(SimServer, AnswersTheFaultInsteadOfTheCommand) {
  sim::Server server;
  const int id = server.connect(nullptr);
  server.set_fault([](sim::Server::Args argv) -> std::optional<std::string> {
    return argv[0] == "SET" ? std::optional<std::string>("LOADING wait") : std::nullopt;
  });
  EXPECT_EQ(resp(server, id, {"SET", "k", "v"}), "-LOADING wait\r\n");
  EXPECT_EQ(resp(server, id, {"EXISTS", "k"}), ":0\r\n");
}

}  // namespace
}  // namespace belay::test
