#include "peer.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

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

Peer::Peer(Program program, int port, const std::string& workload) : program_(std::move(program)) {
  int to[2];
  int from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    give_up("no pipes could be made");
  }
  signal(SIGPIPE, SIG_IGN);  // whether it has ended shows when it is read
  const std::string line = "exec " + program_.command + " " + std::to_string(port) + " " + workload;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_peer(line, parent, to[0], from[1]);
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

std::string Peer::read_line() {
  char* line = nullptr;
  std::size_t size = 0;
  const ssize_t length = getline(&line, &size, from_);
  if (length < 1) {
    give_up("'" + program_.command + "' has ended");
  }
  std::string text(line, static_cast<std::size_t>(length) - 1);
  std::free(line);
  return text;
}

bool Peer::has_workload() {
  const std::string line = read_line();
  if (line != "ready" && line != "none") {
    give_up("'" + program_.command + "' said '" + line + "', which is neither ready nor none");
  }
  return line == "ready";
}

Side Peer::side() {
  return {program_.name, [this](double seconds) { return run(seconds); }, pid_};
}

Slice Peer::run(double seconds) {
  std::fprintf(to_, "%d\n", static_cast<int>(seconds * 1e3));
  std::fflush(to_);
  std::istringstream fields(read_line());
  Slice slice;
  double worked_us = 0;
  if (!(fields >> worked_us)) {
    give_up("'" + program_.command + "' did not say how long it has worked");
  }
  slice.seconds = worked_us / 1e6;
  for (double us = 0; fields >> us;) {
    slice.latencies_us.push_back(us);
  }
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  return slice;
}

Peers::Peers(const Plan& plan, const std::string& workload) {
  for (const Program& program : plan.peers) {
    if (plan.only.empty() || plan.only == program.name) {
      peers_.push_back(std::make_unique<Peer>(program, plan.server.port(), workload));
    }
  }
  std::erase_if(peers_, [](const auto& peer) { return !peer->has_workload(); });
}

void Peers::add_to(std::vector<Side>* sides) const {
  for (const auto& peer : peers_) {
    sides->push_back(peer->side());
  }
}

}  // namespace belay::bench
