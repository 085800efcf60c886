// What the simulated server promises to simulations, beyond what the script suite compares with
// Redis.
#include "sim/server.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace belay::sim {
namespace {

std::string eval(Server& server, const std::string& script) {
  return server.execute(server.connect([](std::string_view) {}), {"EVAL", script, "0"});
}

// Servers of one thread take turns with one Lua state.
TEST(SimulatedServer, HidesFromTheNextServerWhatAScriptDidToItsLua) {
  {
    Server server;
    EXPECT_EQ(eval(server, "string.left = 7 redis.call = nil tonumber = string.sub return 1"),
              ":1\r\n");
    EXPECT_EQ(eval(server, "return string.left"), ":7\r\n");
  }
  Server next;
  EXPECT_EQ(eval(next, "return string.left"), "_\r\n");
  EXPECT_EQ(eval(next, "redis.call('SET', 'k', tonumber('7')) return 2"),
            "-ERR script touched undeclared key 'k'\r\n");
}

TEST(SimulatedServer, KnowsNoScriptOfTheServerBeforeIt) {
  const std::string sha1_of_return_1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  for (int i = 0; i < 2; ++i) {
    Server server;
    const int connection = server.connect([](std::string_view) {});
    EXPECT_TRUE(
        server.execute(connection, {"EVALSHA", sha1_of_return_1, "0"}).starts_with("-NOSCRIPT"));
    EXPECT_EQ(eval(server, "return 1"), ":1\r\n");
    EXPECT_EQ(server.execute(connection, {"EVALSHA", sha1_of_return_1, "0"}), ":1\r\n");
  }
}

TEST(SimulatedServer, ServesTwoServersOfOneThreadAtOnce) {
  Server one;
  Server other;
  EXPECT_EQ(eval(one, "string.left = 7 return string.left"), ":7\r\n");
  EXPECT_EQ(eval(other, "return string.left"), "_\r\n");
}

}  // namespace
}  // namespace belay::sim
