// How long nobody has the lock while a master is replaced. All sides compete at once for a name
// each, on the same master, so that one failover strikes all of them.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "measure.h"
#include "peer.h"
#include "trio.h"

namespace belay::bench {

namespace {

constexpr const char* kSentinels = "sentinels";  // how long they take to name another master
constexpr const char* kC = "c";
constexpr double kBeforeS = 3;
constexpr double kSliceS = 42;  // the longest default lease of a side is 30 s

struct Cause {
  const char* name;
  const char* column;
  void (Trio::*begin)();
};

constexpr Cause kCauses[] = {{"killed", "killed s", &Trio::kill_master},
                             {"asked for", "asked for s", &Trio::ask_for_another_master}};

// The longest time from the begin of a release to the next who had the lock, or to the end.
double longest_gap_us(std::vector<Turn> turns, double end_us) {
  std::sort(turns.begin(), turns.end(),
            [](const Turn& one, const Turn& other) { return one.had < other.had; });
  double longest = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const double next = i + 1 < turns.size() ? turns[i + 1].had : end_us;
    longest = std::max(longest, next - turns[i].released);
  }
  return longest;
}

double gap_us(const Team& team, double end_us) {
  std::vector<Turn> turns;
  for (const auto& peer : team) {
    const std::vector<Turn> own = turns_of(peer->answer());
    turns.insert(turns.end(), own.begin(), own.end());
  }
  if (turns.empty()) {
    give_up("'" + team.front()->name() + "' never had the lock");
  }
  return longest_gap_us(std::move(turns), end_us);
}

// Each round's gap stands where its p50 does with other blocks. The sentinels are the first side.
void fail_over(const Peers& peers, const Cause& cause, Trio& trio, std::vector<Measured>* gaps) {
  for (const Team& team : peers.teams()) {
    for (const auto& peer : team) {
      peer->ask(kSliceS);
    }
  }
  const double end_us = static_cast<double>(now_ns()) / 1e3 + kSliceS * 1e6;
  std::this_thread::sleep_for(std::chrono::duration<double>(kBeforeS));
  const std::int64_t began = now_ns();
  (trio.*cause.begin)();
  trio.await_another_master();
  gaps->front().p50s_us.push_back(static_cast<double>(now_ns() - began) / 1e3);
  trio.restore();
  for (std::size_t i = 0; i < peers.teams().size(); ++i) {
    gaps->at(i + 1).p50s_us.push_back(gap_us(peers.teams()[i], end_us));
  }
}

std::string seconds(double us) {
  const bool to_the_end = us > (kSliceS - kBeforeS - 1) * 1e6;
  return to_the_end ? "for ever" : number(us / 1e6, 2);
}

void show_gaps(const Cause& cause, const std::vector<Measured>& gaps, Report* report) {
  std::vector<Row> rows{
      {cause.name, "gap s, median", "least", "most", "times the sentinels'", "times c's"}};
  for (const Measured& side : gaps) {
    const double median = percentile(side.p50s_us, 0.5);
    rows.push_back({side.name, seconds(median), seconds(percentile(side.p50s_us, 0)),
                    seconds(percentile(side.p50s_us, 1)),
                    number(latency_ratio(gaps, side.name, kSentinels).median, 2),
                    number(latency_ratio(gaps, side.name, kC).median, 2)});
    if (side.name != kSentinels) {
      report->overview().set(side.name, cause.column, median / 1e6, seconds(median));
    }
  }
  report->table(rows);
  const Ratio ours = latency_ratio(gaps, kC, kSentinels);
  report->at_most(std::string(cause.name) + ": gap of c, times the sentinels'", "<= 1.25", 1.25,
                  ours.known, ours.median, 2);
}

}  // namespace

void run_peers_failover(const Plan& plan, Report& report) {
  const int rounds = plan.quick ? 3 : 7;
  report.begin("peers_failover",
               "two processes of each side compete, with holds of 20 ms, while a master is "
               "replaced; " +
                   std::to_string(rounds) + " times each cause");
  Trio trio(plan.server.program());
  const Peers peers(plan, trio.url(), "failover");
  for (const Cause& cause : kCauses) {
    std::vector<Measured> gaps{{kSentinels}};
    for (const Team& team : peers.teams()) {
      gaps.push_back({team.front()->name()});
    }
    for (int round = 0; round < rounds; ++round) {
      fail_over(peers, cause, trio, &gaps);
    }
    show_gaps(cause, gaps, &report);
  }
  for (const Peers::Absence& absence : peers.absent()) {
    report.line(absence.name + " is left out: " + absence.why);
  }
}

}  // namespace belay::bench
