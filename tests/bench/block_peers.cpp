// Belay's bindings, and the lock libraries of others, compared with blocking calls of C in one run.
// The programs come by --peer, and their names decide the aims: a binding is compared to C, a
// library to the binding in its language, or to C.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "blocks.h"
#include "cluster.h"
#include "contest.h"

namespace belay::bench {

namespace {

constexpr const char* kC = "c";
constexpr double kLongSlices = 4;  // what is slow has more time per round
constexpr int kWaiters = 10'000;
constexpr int kLongRounds = 3;  // of what takes as long as it takes

struct Binding {
  const char* name;
  double most;  // p50 of a pair, times that of C
  const char* aim;
};

constexpr std::array<Binding, 4> kBindings{{{"go", 1.2, "<= 1.20"},
                                            {"java", 1.15, "<= 1.15"},
                                            {"lua", 1.1, "<= 1.10"},
                                            {"luajit", 1.1, "<= 1.10"}}};

struct Library {
  const char* name;
  const char* binding;  // of the same language, or C
};

constexpr std::array<Library, 5> kLibraries{{{"redisson", "java"},
                                             {"redsync", "go"},
                                             {"redislock", "go"},
                                             {"rueidislock", "go"},
                                             {"redis-py", kC}}};

// A side's p50 or its rate, and in brackets what it is times that of C.
Contest::Figure median_latency(const std::vector<Measured>& measured) {
  return [&measured](const Measured& side) {
    const double p50 = percentile(side.latencies_us, 0.5);
    const Ratio to_c = latency_ratio(measured, side.name, kC);
    return std::pair(p50, number(p50, 0) + (to_c.known ? " (" + number(to_c.median, 2) + ")" : ""));
  };
}

Contest::Figure median_rate(const std::vector<Measured>& measured) {
  return [&measured](const Measured& side) {
    const double rate = percentile(side.rates, 0.5);
    const Ratio to_c = rate_ratio(measured, side.name, kC);
    return std::pair(rate,
                     number(rate, 0) + (to_c.known ? " (" + number(to_c.median, 3) + ")" : ""));
  };
}

Plan stretched(const Plan& plan) {
  Plan longer = plan;
  longer.slice_s *= kLongSlices;
  return longer;
}

using Compare = Ratio (*)(const std::vector<Measured>& measured, const std::string& first,
                          const std::string& second);

// Each binding to C, without an aim.
void show_bindings(const std::vector<Measured>& measured, Compare compare, const char* what,
                   const Report& report) {
  for (const Binding& binding : kBindings) {
    const Ratio to_c = compare(measured, binding.name, kC);
    if (to_c.known) {
      report.line(std::string(what) + " of " + binding.name + " to c: " + show(to_c));
    }
  }
}

// Each library to our binding: its time, or our rate.
void judge_libraries(const std::vector<Measured>& measured, bool by_rate, Report* report) {
  for (const Library& library : kLibraries) {
    const char* ours = find(measured, library.binding) == nullptr ? kC : library.binding;
    const Ratio times = by_rate ? rate_ratio(measured, ours, library.name)
                                : latency_ratio(measured, library.name, ours);
    if (times.known) {
      const std::string what =
          by_rate ? std::string("rate of ") + ours + ", times that of " + library.name
                  : std::string("p50 of ") + library.name + ", times that of " + ours;
      report->line(what + ": " + show(times));
      report->at_least(what, ">= 1.00", 1, true, times.median, 2);
    }
  }
}

Plan with_rounds(const Plan& plan, int rounds) {
  Plan other = plan;
  other.rounds = rounds;
  return other;
}

}  // namespace

void run_peers_pair(const Plan& plan, Report& report) {
  report.begin("peers_pair", "acquire and release, one thread, distinct names");
  Contest contest(plan, "pair");
  const std::vector<Measured> measured = contest.compare();
  report.sides(measured, "pair");
  contest.fill("pair us", measured, median_latency(measured), &report);
  for (const Binding& binding : kBindings) {
    const Ratio to_c = latency_ratio(measured, binding.name, kC);
    if (to_c.known) {
      const std::string what = std::string("p50 of ") + binding.name + ", times that of c";
      report.line(what + ": " + show(to_c));
      report.at_most(what, binding.aim, binding.most, true, to_c.median, 2);
    }
  }
  judge_libraries(measured, false, &report);
}

void run_peers_names16(const Plan& plan, Report& report) {
  report.begin("peers_names16", "16 names in one hold, one thread");
  Contest contest(plan, "names16");
  const std::vector<Measured> measured = contest.compare();
  report.sides(measured, "hold");
  contest.fill("16 names us", measured, median_latency(measured), &report);
  show_bindings(measured, latency_ratio, "p50", report);
  const Ratio redisson = latency_ratio(measured, "redisson", kC);
  if (redisson.known) {
    report.line("p50 of Redisson's MultiLock to c: " + show(redisson));
    report.at_least("Redisson's p50, times that of c", ">= 20.00", 20, true, redisson.median, 2);
  }
}

void run_peers_shared16(const Plan& plan, Report& report) {
  report.begin("peers_shared16", "16 threads, goroutines or coroutines of one client on one name");
  Contest contest(stretched(plan), "shared16");
  const std::vector<Measured> measured = contest.compare();
  report.sides(measured, "hold");
  contest.fill("16 on one name/s", measured, median_rate(measured), &report);
  contest.count_commands("commands/hold of 16", measured, &report);
  show_bindings(measured, rate_ratio, "rate", report);
  judge_libraries(measured, true, &report);
}

void run_peers_handoff(const Plan& plan, Report& report) {
  report.begin("peers_handoff", "two processes of a side take turns with holds of 1 ms");
  Contest contest(stretched(plan), "handoff");
  const std::vector<Measured> measured = contest.compare();
  report.sides(measured, "hold");
  contest.fill("handoff us", measured, median_latency(measured), &report);
  contest.count_commands("commands/handoff", measured, &report);
  show_bindings(measured, latency_ratio, "p50", report);
  judge_libraries(measured, false, &report);
}

void run_peers_waiters10000(const Plan& plan, Report& report) {
  const double limit_s = plan.quick ? 10 : 60;
  report.begin("peers_waiters10000",
               "10 000 of one client wait on one name; C's are submissions; once, for " +
                   number(limit_s, 0) + " s at most");
  Plan once = with_rounds(plan, 1);
  once.slice_s = limit_s;
  Contest contest(once, "waiters10000");
  contest.count_threads();
  const std::vector<Measured> measured = contest.compare();
  std::vector<Row> rows{
      {"side", "had it", "the last after s", "OS threads", "client CPU s", "server CPU s"}};
  for (const Measured& side : measured) {
    rows.push_back({side.name, std::to_string(side.count),
                    number(percentile(side.latencies_us, 1) / 1e6, 2),
                    std::to_string(contest.most_threads(side.name)),
                    number(static_cast<double>(side.client_cpu_ns) / 1e9, 2),
                    number(static_cast<double>(side.server_cpu_ns) / 1e9, 2)});
  }
  report.table(rows);
  contest.fill(
      "10 000 wait s", measured,
      [limit_s](const Measured& side) {
        const double last_s = percentile(side.latencies_us, 1) / 1e6;
        return side.count == kWaiters
                   ? std::pair(last_s, number(last_s, 2))
                   : std::pair(limit_s, std::to_string(side.count) + " in " + number(limit_s, 0));
      },
      &report);
  contest.fill(
      "OS threads", measured,
      [&contest](const Measured& side) {
        const int most = contest.most_threads(side.name);
        return std::pair(static_cast<double>(most), std::to_string(most));
      },
      &report);
  judge_libraries(measured, true, &report);
}

// Distinct names are spread over all masters.
void run_peers_cluster(const Plan& plan, Report& report) {
  report.begin("peers_cluster", "on a cluster of three masters with a replica each");
  const Cluster cluster(plan.server.program());
  const auto judge = [&](const Contest& contest, const char* unit, const char* column) {
    const std::vector<Measured> measured = contest.compare();
    report.sides(measured, unit, Report::Servers::kSeveral);
    contest.fill(column, measured, median_latency(measured), &report);
    judge_libraries(measured, false, &report);
  };
  judge(Contest(plan, cluster.url(), "pair"), "pair", "cluster pair us");
  judge(Contest(plan, cluster.url(), "names16"), "hold of 16 names", "cluster 16 names us");
  judge(Contest(stretched(plan), cluster.url(), "handoff"), "hold", "cluster handoff us");
  const Contest many(with_rounds(plan, kLongRounds), cluster.url(), "names10000");
  const std::vector<Measured> measured = many.compare();
  report.sides(measured, "name of 10 000", Report::Servers::kSeveral);
  many.fill("cluster 10 000 names/s", measured, median_rate(measured), &report);
  judge_libraries(measured, true, &report);
}

}  // namespace belay::bench
