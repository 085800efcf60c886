// Acquire and release of a name that nobody has used before, over and over, as a side.
#pragma once

#include <cstdint>

#include "floor.h"
#include "measure.h"
#include "target.h"

namespace belay::bench {

// `count`: how many names were used so far.
Side belay_pairs(const char* name, Target& target, std::int64_t& count);
// With so many names in one hold.
Side names_pairs(const char* side, int names, Target& target, std::int64_t& count);
Side plain_pairs(const char* name, Floor& floor, std::int64_t& count);

}  // namespace belay::bench
