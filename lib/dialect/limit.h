// The limit of a semaphore: set, or asked for with what is free of it. A query refers to what it
// was made with, which outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "dialect/lock.h"
#include "engine/query.h"

namespace belay {

// Sets it, whatever it was: more permits go to who waits, fewer take nothing back.
std::unique_ptr<Query> limit_query(const LockOrSemaphore& semaphore, std::string_view name,
                                   std::int64_t limit);

// Tells how many permits are free; NOT_FOUND where there is no limit.
std::unique_ptr<Query> available_query(const LockOrSemaphore& semaphore, std::string_view name);

}  // namespace belay
