// sim SCHEDULES [SEED]: runs that many schedules from that seed on; sim --replay SEED: prints one,
// step by step.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/schedule.h"

int main(int argc, char** argv) {
  using belay::sim::Outcome;
  if (argc == 3 && std::strcmp(argv[1], "--replay") == 0) {
    const Outcome outcome = belay::sim::run_schedule(std::strtoull(argv[2], nullptr, 10), true);
    std::printf("%s\n", outcome.violation.empty() ? "no violation" : outcome.violation.c_str());
    return outcome.violation.empty() ? 0 : 1;
  }
  const std::uint64_t schedules = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t violations = 0;
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  for (std::uint64_t seed = first; seed < first + schedules; ++seed) {
    const Outcome outcome = belay::sim::run_schedule(seed, false);
    events += outcome.events;
    grants += outcome.grants;
    if (!outcome.violation.empty() && ++violations <= 20) {
      std::printf("seed %llu: %s\n  replay: %s --replay %llu\n",
                  static_cast<unsigned long long>(seed), outcome.violation.c_str(), argv[0],
                  static_cast<unsigned long long>(seed));
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%llu events, %llu grants, %.0f schedules/s\n",
              static_cast<unsigned long long>(events), static_cast<unsigned long long>(grants),
              static_cast<double>(schedules) / took.count());
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(schedules - violations),
              static_cast<unsigned long long>(violations));
  std::printf("schedules=%llu violations=%llu\n", static_cast<unsigned long long>(schedules),
              static_cast<unsigned long long>(violations));
  return violations == 0 ? 0 : 1;
}
