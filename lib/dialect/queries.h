// The queries that clients have: what each asks of the server, and how its event comes about. A
// query refers to what it was made with, which outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/dialect.h"
#include "engine/query.h"

namespace belay {

// Who holds a name and who waits for it.
std::unique_ptr<Query> inspect_query(const Dialect& dialect, std::string_view name);

// Takes a name from its holder; with a fence other than 0, only from the holder that has it.
std::unique_ptr<Query> break_query(const Dialect& dialect, std::string_view name,
                                   std::int64_t fence);

// Up to `limit` of the names in use that match a glob pattern.
std::unique_ptr<Query> list_query(const Dialect& dialect, std::string_view pattern,
                                  std::int64_t limit);

std::unique_ptr<Query> ping_query();

}  // namespace belay
