#include "peer.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

#include "server.h"

namespace belay::bench {

namespace {

[[noreturn]] void become_peer(const std::string& line, pid_t parent, int in, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  _exit(127);
}

}  // namespace

Peer::Peer(const std::string& command, int port) : command_(command) {
  int to[2];
  int from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    give_up("no pipes could be made");
  }
  signal(SIGPIPE, SIG_IGN);  // whether it has ended shows when it is read
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_peer("exec " + command + " " + std::to_string(port), parent, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
}

Peer::~Peer() {
  fclose(to_);
  fclose(from_);
  waitpid(pid_, nullptr, 0);
}

Slice Peer::run(double seconds) {
  const std::int64_t began = now_ns();
  std::fprintf(to_, "%d\n", static_cast<int>(seconds * 1e3));
  std::fflush(to_);
  char* line = nullptr;
  std::size_t size = 0;
  if (getline(&line, &size, from_) < 0) {
    give_up("'" + command_ + "' has ended");
  }
  Slice slice;
  slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
  std::istringstream fields(line);
  std::free(line);
  for (double us = 0; fields >> us;) {
    slice.latencies_us.push_back(us);
  }
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  if (slice.count == 0) {
    give_up("'" + command_ + "' said nothing of what its steps took");
  }
  return slice;
}

}  // namespace belay::bench
