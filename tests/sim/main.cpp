// sim SCHEDULES [SEED [--first]]: runs that many schedules from that seed on, on every core; to the
// first that goes wrong. sim --replay SEED: prints one, step by step. sim --minimise SEED: prints
// what is left of one that goes wrong without what does not matter. sim --digest SCHEDULES [SEED]:
// prints one hash over all commands and events of those.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "sim/minimise.h"
#include "sim/schedule.h"

namespace {

constexpr std::uint64_t kMostPrinted = 20;  // by each thread

// What one thread has seen; schedules share nothing.
struct Tally {
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  std::uint64_t digest = 0;  // a sum: in whatever order they ran
  std::uint64_t violations = 0;
  std::uint64_t first_violation = std::numeric_limits<std::uint64_t>::max();  // its seed
};

std::uint64_t number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

unsigned cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

int replay(std::uint64_t seed) {
  const std::string violation = belay::sim::run_schedule(seed, true).violation;
  std::printf("%s\n", violation.empty() ? "no violation" : violation.c_str());
  return violation.empty() ? 0 : 1;
}

int minimise(std::uint64_t seed) {
  const auto run_once = [seed](belay::sim::Decisions& decisions) {
    return belay::sim::run_schedule(seed, false, &decisions);
  };
  belay::sim::Decisions smallest = belay::sim::minimise(run_once);
  const std::size_t left = smallest.taken.size();
  const std::string violation = belay::sim::run_schedule(seed, true, &smallest).violation;
  std::printf("seed %llu with %zu decisions, %zu left out: %s\n",
              static_cast<unsigned long long>(seed), left, smallest.left_out.size(),
              violation.empty() ? "no violation" : violation.c_str());
  return violation.empty() ? 0 : 1;
}

struct Run {
  const char* program;
  std::uint64_t first;
  std::uint64_t schedules;
  bool to_first;  // violation
};

// Runs schedules until `next` is beyond the last, and says which went wrong.
Tally work(const Run& run, std::atomic<std::uint64_t>& next) {
  const std::uint64_t end = run.first + run.schedules;
  Tally tally;
  for (std::uint64_t seed = next++; seed < end; seed = next++) {
    const belay::sim::Outcome outcome = belay::sim::run_schedule(seed, false);
    tally.events += outcome.events;
    tally.grants += outcome.grants;
    tally.digest += outcome.digest;
    if (outcome.violation.empty()) {
      continue;
    }
    tally.first_violation = std::min(tally.first_violation, seed);
    if (++tally.violations <= kMostPrinted) {
      std::printf("seed %llu: %s\n  replay: %s --replay %llu\n",
                  static_cast<unsigned long long>(seed), outcome.violation.c_str(), run.program,
                  static_cast<unsigned long long>(seed));
      std::fflush(stdout);
    }
    if (run.to_first) {
      next = end;
    }
  }
  return tally;
}

Tally run_on_all_cores(const Run& run) {
  std::atomic<std::uint64_t> next = run.first;
  std::vector<Tally> tallies(cores());
  std::vector<std::thread> threads;
  for (Tally& tally : tallies) {
    threads.emplace_back([&] { tally = work(run, next); });
  }
  Tally all;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all.events += tallies[i].events;
    all.grants += tallies[i].grants;
    all.digest += tallies[i].digest;
    all.violations += tallies[i].violations;
    all.first_violation = std::min(all.first_violation, tallies[i].first_violation);
  }
  return all;
}

int digest(const Run& run) {
  const Tally all = run_on_all_cores(run);
  std::printf("digest=%016llx violations=%llu\n", static_cast<unsigned long long>(all.digest),
              static_cast<unsigned long long>(all.violations));
  return all.violations == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--replay") == 0) {
    return replay(number(argv[2]));
  }
  if (argc == 3 && std::strcmp(argv[1], "--minimise") == 0) {
    return minimise(number(argv[2]));
  }
  if (argc > 2 && std::strcmp(argv[1], "--digest") == 0) {
    return digest({.program = argv[0],
                   .first = argc > 3 ? number(argv[3]) : 1,
                   .schedules = number(argv[2]),
                   .to_first = false});
  }
  const Run run{.program = argv[0],
                .first = argc > 2 ? number(argv[2]) : 1,
                .schedules = argc > 1 ? number(argv[1]) : 1000,
                .to_first = argc > 3 && std::strcmp(argv[3], "--first") == 0};
  const auto start = std::chrono::steady_clock::now();
  const Tally all = run_on_all_cores(run);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (all.violations > 0 && run.to_first) {
    return 1;
  }
  if (all.violations > 0) {
    std::printf("\nThe smallest like seed %llu (again: %s --minimise %llu):\n",
                static_cast<unsigned long long>(all.first_violation), argv[0],
                static_cast<unsigned long long>(all.first_violation));
    minimise(all.first_violation);
  }
  const auto speed = static_cast<double>(run.schedules) / took.count();
  std::printf("%llu events, %llu grants, %.0f schedules/s, %.0f on each of %u cores\n",
              static_cast<unsigned long long>(all.events),
              static_cast<unsigned long long>(all.grants), speed, speed / cores(), cores());
  std::printf("%llu passed, %llu failed\n",
              static_cast<unsigned long long>(run.schedules - all.violations),
              static_cast<unsigned long long>(all.violations));
  std::printf("schedules=%llu violations=%llu\n", static_cast<unsigned long long>(run.schedules),
              static_cast<unsigned long long>(all.violations));
  return all.violations == 0 ? 0 : 1;
}
