// Makes a schedule that goes wrong smaller: leaves out what decisions it can while the same kind of
// violation occurs after fewer events. The same schedule gives the same result.
#pragma once

#include <functional>

#include "sim/schedule.h"

namespace belay::sim {

// Runs the schedule without the decisions left out, and adds those that it took.
using RunOnce = std::function<Outcome(Decisions&)>;

// The decisions of the smallest schedule found. `taken` has those that none can be done without.
Decisions minimise(const RunOnce& run_once);

}  // namespace belay::sim
