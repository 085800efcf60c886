// An error by which a node of a cluster sends us to another one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/endpoint.h"

namespace belay {

struct Redirection {
  bool has_moved = false;  // for good; otherwise the slot is on its way there
  std::uint16_t slot = 0;
  Endpoint where;
};

// Null: it says nothing of the kind, or not where to. `from` has sent it: without a host, the other
// is on the same.
std::optional<Redirection> read_redirection(std::string_view error, const Endpoint& from);

}  // namespace belay
