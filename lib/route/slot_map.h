// What a node of a cluster says of who has which slots: its reply to CLUSTER SLOTS. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/endpoint.h"
#include "net/resp.h"

namespace belay {

// The slots from `first` to `last` are on that master.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  Endpoint master;
};

// Null: it is no such reply. Ranges whose master's address is not told are left out. `from` has
// sent it: without a host, the master is on the same.
std::optional<std::vector<SlotRange>> read_slot_map(Reply reply, const Endpoint& from);

}  // namespace belay
