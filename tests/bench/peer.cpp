#include "peer.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "server.h"

namespace belay::bench {

namespace {

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

Team start(const Program& program, const std::string& url, const std::string& workload) {
  Team team;
  if (workload == "handoff") {
    const Link there = make_pipe();
    const Link back = make_pipe();
    team.push_back(
        std::make_unique<Peer>(program, url, "handoff_first", Link{back.from, there.to}));
    team.push_back(
        std::make_unique<Peer>(program, url, "handoff_second", Link{there.from, back.to}));
    for (const int end : {there.from, there.to, back.from, back.to}) {
      close(end);
    }
    return team;
  }
  for (int process = 0; process < (workload == "failover" ? 2 : 1); ++process) {
    team.push_back(std::make_unique<Peer>(program, url, workload));
  }
  return team;
}

}  // namespace

Peer::Peer(const Program& program, const std::string& url, const std::string& workload, Link link)
    : name_(program.name),
      child_(program.command + " '" + url + "' " + workload + " " + program.name + ":" +
                 workload.substr(0, workload.find('_')),
             link) {}

bool Peer::has_workload() {
  const std::string line = child_.hear();
  if (line.starts_with("none ")) {
    why_not_ = line.substr(line.find(' ') + 1);
  } else if (line != "ready") {
    give_up("'" + name_ + "' said '" + line + "', which is neither ready nor none");
  }
  return line == "ready";
}

void Peer::ask(double seconds) const {
  child_.say(std::to_string(static_cast<int>(seconds * 1e3)));
}

std::vector<double> Peer::answer() {
  std::istringstream fields(child_.hear());
  std::vector<double> answer;
  for (double us = 0; fields >> us;) {
    answer.push_back(us);
  }
  if (answer.empty()) {
    give_up("'" + name_ + "' did not say how long it has worked");
  }
  return answer;
}

std::vector<Turn> turns_of(const std::vector<double>& answer) {
  std::vector<Turn> turns;
  for (std::size_t i = 1; i + 2 < answer.size(); i += 3) {
    turns.push_back({answer[i], answer[i + 1], answer[i + 2]});
  }
  return turns;
}

Peers::Peers(const Plan& plan, const std::string& url, const std::string& workload) {
  for (const Program& program : plan.peers) {
    if (plan.only.empty() || plan.only == program.name) {
      teams_.push_back(start(program, url, workload));
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
