// The log: its bound, and a stderr that takes nothing, is gone, or has become something else.
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <string>

namespace belay {
namespace {

// As stderr, for as long as it lives.
class AsStderr {
 public:
  explicit AsStderr(int fd) : before_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    dup2(fd, STDERR_FILENO);
  }

  ~AsStderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

  AsStderr(const AsStderr&) = delete;
  AsStderr& operator=(const AsStderr&) = delete;

 private:
  const int before_;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    out = ends[0];
    in = ends[1];
  }

  ~Pipe() {
    close(out);
    close(in);
  }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // What there is to read.
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> bytes{};
    fcntl(out, F_SETFL, O_NONBLOCK);
    for (ssize_t size = 0; (size = read(out, bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

  // Until it takes no byte more. Its flags are as before.
  void fill() const {
    fcntl(in, F_SETFL, O_NONBLOCK);
    const std::string bytes(4096, 'x');
    while (write(in, bytes.data(), bytes.size()) > 0 || write(in, "x", 1) > 0) {
    }
    fcntl(in, F_SETFL, 0);
  }

  int out = -1;
  int in = -1;
};

std::string content_of(int fd) {
  std::array<char, 65536> bytes{};
  const ssize_t size = pread(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(size)};
}

int temporary_file(int flags) {
  char path[] = "/tmp/belay-log-XXXXXX";
  const int made = mkstemp(path);
  const int fd = open(path, flags | O_CLOEXEC);
  unlink(path);
  close(made);
  return fd;
}

TEST(Log, WritesWhatWasAskedFor) {
  int woken = 0;
  const Pipe pipe;
  const AsStderr as_stderr(pipe.in);
  Log log(BELAY_LOG_WARNING, [&woken] { ++woken; });
  log.write(BELAY_LOG_INFO, "not this");
  EXPECT_EQ(woken, 0);
  log.write(BELAY_LOG_WARNING, "this");
  log.write(BELAY_LOG_ERROR, "and that");
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(pipe.read_all(), "belay warning: this\nbelay error: and that\n");
}

TEST(Log, KeepsSoManyLinesAndCountsTheRest) {
  const Pipe pipe;
  const AsStderr as_stderr(pipe.in);
  Log log(BELAY_LOG_INFO, [] {});
  for (int i = 0; i < 300; ++i) {
    log.write(BELAY_LOG_INFO, "line " + std::to_string(i));
  }
  EXPECT_TRUE(log.flush());
  EXPECT_TRUE(pipe.read_all().ends_with("belay info: line 255\n"));
  log.write(BELAY_LOG_INFO, "another");
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(pipe.read_all(),
            "belay warning: 44 lines of this log were dropped\nbelay info: another\n");
}

TEST(Log, KeepsSoManyBytes) {
  const Pipe pipe;
  const AsStderr as_stderr(pipe.in);
  Log log(BELAY_LOG_INFO, [] {});
  for (int i = 0; i < 20; ++i) {
    log.write(BELAY_LOG_INFO, std::string(6000, 'x'));
  }
  while (!log.flush()) {
    EXPECT_TRUE(pipe.read_all().find("x...\n") < 4096);
  }
  pipe.read_all();
  log.write(BELAY_LOG_INFO, "another");
  EXPECT_TRUE(log.flush());
  EXPECT_TRUE(pipe.read_all().starts_with("belay warning: 4 lines"));
}

TEST(Log, WaitsForNoFullPipeAndLeavesItsFlagsAlone) {
  const Pipe pipe;
  pipe.fill();
  const AsStderr as_stderr(pipe.in);
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  Log log(BELAY_LOG_INFO, [] {});
  log.write(BELAY_LOG_INFO, "first");
  log.write(BELAY_LOG_INFO, "second");
  EXPECT_FALSE(log.flush());
  EXPECT_EQ(fcntl(STDERR_FILENO, F_GETFL), flags);
  pipe.read_all();
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(pipe.read_all(), "belay info: first\nbelay info: second\n");
}

TEST(Log, WaitsForNoFullSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const std::string bytes(4096, 'x');
  while (send(ends[1], bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  const AsStderr as_stderr(ends[1]);
  Log log(BELAY_LOG_INFO, [] {});
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_FALSE(log.flush());
  close(ends[0]);
  EXPECT_TRUE(log.flush());  // and no SIGPIPE
  close(ends[1]);
}

TEST(Log, GivesUpAPipeThatNobodyReads) {
  Pipe pipe;
  const AsStderr as_stderr(pipe.in);
  Log log(BELAY_LOG_INFO, [] {});
  close(pipe.out);
  sigset_t broken;
  sigset_t before;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_TRUE(log.flush());
  const timespec at_once{};
  sigtimedwait(&broken, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pipe.out = -1;
}

TEST(Log, FollowsAStderrThatIsRedirected) {
  const Pipe first;
  const Pipe second;
  const AsStderr as_stderr(first.in);
  Log log(BELAY_LOG_INFO, [] {});
  dup2(second.in, STDERR_FILENO);
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(first.read_all(), "");
  EXPECT_EQ(second.read_all(), "belay info: line\n");
}

// A host that closes its stderr gives the number to what it opens next.
TEST(Log, TakesNoDataOfTheHostForStderr) {
  const Pipe pipe;
  const AsStderr as_stderr(pipe.in);
  Log log(BELAY_LOG_INFO, [] {});
  const int data = temporary_file(O_RDWR);
  dup2(data, STDERR_FILENO);
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(content_of(data), "");
  close(data);
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  dup2(ends[1], STDERR_FILENO);
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_TRUE(log.flush());
  char byte = 0;
  EXPECT_EQ(recv(ends[0], &byte, 1, MSG_DONTWAIT), -1);
  close(ends[0]);
  close(ends[1]);
  close(STDERR_FILENO);
  log.write(BELAY_LOG_INFO, "line");
  EXPECT_TRUE(log.flush());
}

}  // namespace
}  // namespace belay
