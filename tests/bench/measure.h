// Sides are run in turn over many short rounds, in alternating order, and compared round by round:
// whatever else the machine does then strikes all of them alike. Used by the main thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server.h"

namespace belay::bench {

// Nanoseconds of CLOCK_MONOTONIC, the same in all processes.
std::int64_t now_ns();
// Nanoseconds of CPU time of a process, all threads; 0: this one.
std::int64_t process_cpu_ns(pid_t process = 0);

// What one side did in one round.
struct Slice {
  std::vector<double> latencies_us;
  std::int64_t count = 0;
  double seconds = 0;
};

struct Side {
  std::string name;
  // Works for about `seconds` and says what it has done.
  std::function<Slice(double seconds)> run;
  std::vector<pid_t> processes = {};  // that do the work; none: this one
};

// What one side did in all rounds.
struct Measured {
  std::string name;
  std::vector<double> latencies_us = {};
  std::vector<double> p50s_us = {};  // a round
  std::vector<double> rates = {};    // a round, per second
  std::int64_t count = 0;
  std::int64_t client_cpu_ns = 0;
  std::int64_t server_cpu_ns = 0;
};

// Another program to measure Belay beside, see peer.h.
struct Program {
  std::string name;
  std::string command;
};

// How to measure.
struct Plan {
  Server& server;
  int rounds;
  double slice_s;
  bool quick;
  std::string only;  // the one side to run, for profilers; empty: all
  std::vector<Program> peers;
};

std::vector<Measured> compare(const Plan& plan, const std::vector<Side>& sides);

// The side of that name; null where it was not run.
const Measured* find(const std::vector<Measured>& measured, const std::string& name);

double percentile(std::vector<double> values, double part);

// The median of the per-round ratios and the quartiles around it.
struct Ratio {
  bool known = false;
  double median = 0;
  double low = 0;
  double high = 0;
};

Ratio ratio(const std::vector<double>& ours, const std::vector<double>& theirs);
Ratio latency_ratio(const std::vector<Measured>& measured, const std::string& ours,
                    const std::string& theirs);
Ratio rate_ratio(const std::vector<Measured>& measured, const std::string& ours,
                 const std::string& theirs);

}  // namespace belay::bench
