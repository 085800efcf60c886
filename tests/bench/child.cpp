#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "server.h"

namespace belay::bench {

namespace {

constexpr int kFromOther = 3;
constexpr int kToOther = 4;
constexpr int kBeyondThose = 10;
constexpr int kSilentMs = 180'000;  // three times the longest slice

void inherit(Link link) {
  // First out of the way of the numbers that they get.
  const int from = fcntl(link.from, F_DUPFD_CLOEXEC, kBeyondThose);
  const int to = fcntl(link.to, F_DUPFD_CLOEXEC, kBeyondThose);
  dup2(from, kFromOther);
  dup2(to, kToOther);
}

[[noreturn]] void become_child(const std::string& line, pid_t parent, Link stdio, Link link) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  dup2(stdio.from, STDIN_FILENO);
  dup2(stdio.to, STDOUT_FILENO);
  if (link.from >= 0) {
    inherit(link);
  }
  execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  _exit(127);
}

}  // namespace

Link make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    give_up("no pipe could be made");
  }
  return {ends[0], ends[1]};
}

Child::Child(std::string command, Link link) : command_(std::move(command)) {
  const Link to = make_pipe();
  const Link from = make_pipe();
  signal(SIGPIPE, SIG_IGN);  // whether it has ended shows when it is heard
  const std::string line = "exec " + command_;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_child(line, parent, {to.from, from.to}, link);
  }
  close(to.from);
  close(from.to);
  to_ = fdopen(to.to, "w");
  from_ = fdopen(from.from, "r");
}

Child::~Child() {
  fclose(to_);
  fclose(from_);
  waitpid(pid_, nullptr, 0);
}

void Child::say(const std::string& line) const {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
}

std::string Child::hear() {
  pollfd said{fileno(from_), POLLIN, 0};
  if (poll(&said, 1, kSilentMs) == 0) {
    give_up("'" + command_ + "' has said nothing for " + std::to_string(kSilentMs / 1000) +
            " s: it hangs");
  }
  char* line = nullptr;
  std::size_t size = 0;
  const ssize_t length = getline(&line, &size, from_);
  if (length < 1) {
    give_up("'" + command_ + "' has ended");
  }
  std::string text(line, static_cast<std::size_t>(length) - 1);
  std::free(line);
  return text;
}

}  // namespace belay::bench
