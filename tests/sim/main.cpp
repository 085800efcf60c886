// sim SCHEDULES [SEED]: runs that many schedules from that seed on, on every core; sim --replay
// SEED: prints one, step by step.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sim/schedule.h"

namespace {

constexpr std::uint64_t kMostPrinted = 20;  // by each thread

// What one thread has seen; schedules share nothing.
struct Tally {
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  std::uint64_t violations = 0;
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

// Runs schedules until `next` has reached `end`, and says which went wrong.
Tally work(const char* program, std::atomic<std::uint64_t>& next, std::uint64_t end) {
  Tally tally;
  for (std::uint64_t seed = next++; seed < end; seed = next++) {
    const belay::sim::Outcome outcome = belay::sim::run_schedule(seed, false);
    tally.events += outcome.events;
    tally.grants += outcome.grants;
    if (!outcome.violation.empty() && ++tally.violations <= kMostPrinted) {
      std::printf("seed %llu: %s\n  replay: %s --replay %llu\n",
                  static_cast<unsigned long long>(seed), outcome.violation.c_str(), program,
                  static_cast<unsigned long long>(seed));
      std::fflush(stdout);
    }
  }
  return tally;
}

Tally run_on_all_cores(const char* program, std::uint64_t first, std::uint64_t schedules) {
  std::atomic<std::uint64_t> next = first;
  std::vector<Tally> tallies(cores());
  std::vector<std::thread> threads;
  for (Tally& tally : tallies) {
    threads.emplace_back([&] { tally = work(program, next, first + schedules); });
  }
  Tally all;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all.events += tallies[i].events;
    all.grants += tallies[i].grants;
    all.violations += tallies[i].violations;
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--replay") == 0) {
    return replay(number(argv[2]));
  }
  const std::uint64_t schedules = argc > 1 ? number(argv[1]) : 1000;
  const std::uint64_t first = argc > 2 ? number(argv[2]) : 1;
  const auto start = std::chrono::steady_clock::now();
  const Tally all = run_on_all_cores(argv[0], first, schedules);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto speed = static_cast<double>(schedules) / took.count();
  std::printf("%llu events, %llu grants, %.0f schedules/s, %.0f on each of %u cores\n",
              static_cast<unsigned long long>(all.events),
              static_cast<unsigned long long>(all.grants), speed, speed / cores(), cores());
  std::printf("%llu passed, %llu failed\n",
              static_cast<unsigned long long>(schedules - all.violations),
              static_cast<unsigned long long>(all.violations));
  std::printf("schedules=%llu violations=%llu\n", static_cast<unsigned long long>(schedules),
              static_cast<unsigned long long>(all.violations));
  return all.violations == 0 ? 0 : 1;
}
