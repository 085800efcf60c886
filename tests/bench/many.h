// Very many submissions of one client at once. Used by one thread.
#pragma once

#include <cstdint>
#include <string>

#include "measure.h"
#include "target.h"

namespace belay::bench {

// Takes the events of so many acquires, and releases each hold at once. Adds how long after
// `began_ns` each was granted.
void take_grants(Target& target, int acquires, std::int64_t began_ns, Slice* slice);

// Takes names that nobody has used before, all asked for at once, and releases them. `count`: how
// many were used so far. A latency is how long one takes, until it is held.
Slice take_many(Target& target, const std::string& prefix, int names, std::int64_t& count);

}  // namespace belay::bench
