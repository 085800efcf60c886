#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>
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

[[noreturn]] void become_peer(const std::string& line, pid_t parent, Link stdio, Link link) {
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

Link make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    give_up("no pipe could be made");
  }
  return {ends[0], ends[1]};
}

Slice work_alone(Peer& peer, double seconds) {
  peer.ask(seconds);
  std::vector<double> steps = peer.answer();
  Slice slice;
  slice.seconds = steps.front() / 1e6;
  steps.erase(steps.begin());
  slice.count = static_cast<std::int64_t>(steps.size());
  slice.latencies_us = std::move(steps);
  return slice;
}

// When a process asked for the lock, had it and began to release it, in microseconds.
struct Turn {
  double asked;
  double had;
  double released;
};

std::vector<Turn> turns_of(const std::vector<double>& answer) {
  std::vector<Turn> turns;
  for (std::size_t i = 1; i + 2 < answer.size(); i += 3) {
    turns.push_back({answer[i], answer[i + 1], answer[i + 2]});
  }
  return turns;
}

void note_handoff(const Turn& before, const Turn& after, Slice* slice) {
  // Who came only after the release found the lock free: that is no handoff.
  if (after.asked <= before.released) {
    slice->latencies_us.push_back(after.had - before.released);
  }
}

Slice take_turns(Peer& first, Peer& second, double seconds) {
  first.ask(seconds);
  second.ask(seconds);
  const std::vector<double> answer = first.answer();
  const std::vector<Turn> firsts = turns_of(answer);
  const std::vector<Turn> seconds_turns = turns_of(second.answer());
  Slice slice;
  slice.seconds = answer.front() / 1e6;
  slice.count = static_cast<std::int64_t>(firsts.size() + seconds_turns.size());
  for (std::size_t i = 0; i < std::min(firsts.size(), seconds_turns.size()); ++i) {
    note_handoff(firsts[i], seconds_turns[i], &slice);
    if (i + 1 < firsts.size()) {
      note_handoff(seconds_turns[i], firsts[i + 1], &slice);
    }
  }
  return slice;
}

}  // namespace

Peer::Peer(const Program& program, int port, const std::string& workload, Link link)
    : program_(program) {
  const Link to = make_pipe();
  const Link from = make_pipe();
  signal(SIGPIPE, SIG_IGN);  // whether it has ended shows when it is read
  const std::string name = program_.name + ":" + workload.substr(0, workload.find('_'));
  const std::string line =
      "exec " + program_.command + " " + std::to_string(port) + " " + workload + " " + name;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_peer(line, parent, {to.from, from.to}, link);
  }
  close(to.from);
  close(from.to);
  to_ = fdopen(to.to, "w");
  from_ = fdopen(from.from, "r");
}

Peer::~Peer() {
  fclose(to_);
  fclose(from_);
  waitpid(pid_, nullptr, 0);
}

std::string Peer::read_line() {
  pollfd said{fileno(from_), POLLIN, 0};
  if (poll(&said, 1, kSilentMs) == 0) {
    give_up("'" + program_.command + "' has said nothing for " + std::to_string(kSilentMs / 1000) +
            " s: it hangs");
  }
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
  if (line.starts_with("none ")) {
    why_not_ = line.substr(line.find(' ') + 1);
  } else if (line != "ready") {
    give_up("'" + program_.command + "' said '" + line + "', which is neither ready nor none");
  }
  return line == "ready";
}

void Peer::ask(double seconds) {
  std::fprintf(to_, "%d\n", static_cast<int>(seconds * 1e3));
  std::fflush(to_);
}

std::vector<double> Peer::answer() {
  std::istringstream fields(read_line());
  std::vector<double> answer;
  for (double us = 0; fields >> us;) {
    answer.push_back(us);
  }
  if (answer.empty()) {
    give_up("'" + program_.command + "' did not say how long it has worked");
  }
  return answer;
}

Peers::Peers(const Plan& plan, const std::string& workload) {
  for (const Program& program : plan.peers) {
    if (!plan.only.empty() && plan.only != program.name) {
      continue;
    }
    Team& team = teams_.emplace_back();
    const int port = plan.server.port();
    if (workload == "handoff") {
      const Link there = make_pipe();
      const Link back = make_pipe();
      team.push_back(
          std::make_unique<Peer>(program, port, "handoff_first", Link{back.from, there.to}));
      team.push_back(
          std::make_unique<Peer>(program, port, "handoff_second", Link{there.from, back.to}));
      for (const int end : {there.from, there.to, back.from, back.to}) {
        close(end);
      }
    } else {
      team.push_back(std::make_unique<Peer>(program, port, workload));
    }
  }
  std::erase_if(teams_, [this](const Team& team) {
    bool have = true;
    for (const auto& peer : team) {
      have = peer->has_workload() && have;
    }
    if (!have) {
      absent_.push_back({team.front()->name(), team.front()->why_not()});
    }
    return !have;
  });
}

std::vector<Side> Peers::sides() const {
  std::vector<Side> sides;
  for (const Team& team : teams_) {
    Peer& first = *team.front();
    if (team.size() == 1) {
      sides.push_back({first.name(),
                       [&first](double seconds) { return work_alone(first, seconds); },
                       {first.pid()}});
    } else {
      Peer& second = *team.back();
      sides.push_back(
          {first.name(),
           [&first, &second](double seconds) { return take_turns(first, second, seconds); },
           {first.pid(), second.pid()}});
    }
  }
  return sides;
}

}  // namespace belay::bench
