// What tests stand on: servers, and waiting. One thread.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "support/eventually.h"
#include "support/redis.h"
#include "support/server_process.h"

namespace belay::test {
namespace {

using std::chrono::milliseconds;

TEST(Server, IsStartedAgainWithWhatItHasSaved) {
  ServerProcess server("redis-server");
  Redis before = server.connect();
  before.command({"SET", "k", "v"});
  server.restart();
  EXPECT_TRUE(before.command({"PING"}).is_error());
  Redis after = server.connect();
  EXPECT_EQ(after.command({"GET", "k"}).canonical(), "null");
  after.command({"SET", "k", "v"});
  after.command({"SAVE"});
  server.restart();
  EXPECT_EQ(server.connect().command({"GET", "k"}).canonical(), "\"v\"");
}

TEST(Server, LeavesNothingBehind) {
  pid_t pid = 0;
  {
    const ServerProcess server("redis-server");
    pid = server.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(Eventually, IsTrueAsSoonAsItsPredicateIs) {
  int calls = 0;
  EXPECT_TRUE(eventually([&] { return ++calls == 3; }));
  EXPECT_EQ(calls, 3);
}

TEST(Eventually, IsFalseBeyondItsLimit) {
  EXPECT_FALSE(eventually([] { return false; }, milliseconds(1)));
}

}  // namespace
}  // namespace belay::test
