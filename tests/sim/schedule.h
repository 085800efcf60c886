// One simulated schedule, all of it from a seed: processes with owners who acquire, release, cancel
// and so on, faults that come and go, then quiet, then an end at which nothing may be left.
#pragma once

#include <cstdint>
#include <string>

#include "sim/world.h"

namespace belay::sim {

struct Outcome {
  std::string violation;  // "" where there is none
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  std::uint64_t digest = 0;  // of all commands and events
};

// `verbose` prints every step. `decisions` may be null; else it says what to leave out, and gets
// the rest.
Outcome run_schedule(std::uint64_t seed, bool verbose, Decisions* decisions = nullptr);

}  // namespace belay::sim
