// What tests stand on: servers as child processes, and waiting. One thread.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>

#include "support/eventually.h"
#include "support/redis.h"
#include "support/server_process.h"

namespace belay::test {
namespace {

using std::chrono::milliseconds;

class RealServer : public testing::TestWithParam<ServerProcess::Kind> {};

TEST_P(RealServer, AnswersOnItsSocketAndItsPort) {
  const ServerProcess server(GetParam());
  EXPECT_EQ(server.connect().command({"PING"}).canonical(), "+PONG");
  EXPECT_EQ(Redis::tcp(server.port()).command({"PING"}).canonical(), "+PONG");
  EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(server.unix_url(), "unix://" + server.socket_path());
}

TEST_P(RealServer, KeepsItsDataAcrossARestartWhereAsked) {
  ServerProcess server(GetParam());
  const int port = server.port();
  server.connect().command({"SET", "k", "v"});
  server.restart(true);
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.connect().command({"GET", "k"}).canonical(), "\"v\"");
  server.restart(false);
  EXPECT_EQ(server.connect().command({"GET", "k"}).canonical(), "null");
}

TEST_P(RealServer, IsStartedAgainAfterAKill) {
  ServerProcess server(GetParam());
  Redis before = server.connect();
  server.kill();
  EXPECT_TRUE(before.command({"PING"}).is_error());
  EXPECT_FALSE(server.connect().connected());
  server.restart(false);
  EXPECT_EQ(server.connect().command({"PING"}).canonical(), "+PONG");
}

TEST_P(RealServer, EndsWhenStopped) {
  ServerProcess server(GetParam());
  const pid_t pid = server.pid();
  server.stop();
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_P(RealServer, ResumesAfterAPause) {
  const ServerProcess server(GetParam());
  server.pause();
  server.resume();
  EXPECT_EQ(server.connect().command({"PING"}).canonical(), "+PONG");
}

TEST_P(RealServer, AsksForItsPassword) {
  const ServerProcess server(GetParam(), {.args = {}, .password = "secret"});
  EXPECT_EQ(server.connect().command({"PING"}).canonical(), "+PONG");
  EXPECT_EQ(Redis::tcp(server.port()).command({"PING"}).error_code(), "NOAUTH");
}

TEST_P(RealServer, LeavesNothingBehind) {
  std::string socket;
  pid_t pid = 0;
  {
    const ServerProcess server(GetParam());
    socket = server.socket_path();
    pid = server.pid();
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(socket).parent_path()));
  EXPECT_EQ(::kill(pid, 0), -1);
}

INSTANTIATE_TEST_SUITE_P(Of, RealServer,
                         testing::Values(ServerProcess::Kind::kRedis, ServerProcess::Kind::kValkey),
                         [](const auto& tested) {
                           return tested.param == ServerProcess::Kind::kRedis ? "redis" : "valkey";
                         });

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
