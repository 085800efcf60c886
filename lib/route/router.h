// Which server answers for a slot. Used inside the client's monitor; owned by the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "route/node.h"

namespace belay {

// Where a slot is: on which of the servers, and in which group of slots. Those of one group are on
// one server, and may be named by one script.
struct Place {
  std::size_t server = 0;
  std::uint16_t group = 0;
};

// How slots lie on servers. The seam at which other topologies will come in.
using Topology = std::function<Place(std::uint16_t slot)>;

inline Place on_one_server(std::uint16_t /*slot*/) {
  return {};
}

class Router {
 public:
  // There is a node for each server of the topology.
  Router(Topology topology, std::deque<Node>& nodes)
      : topology_(std::move(topology)), nodes_(nodes) {}

  Node& node_of(std::uint16_t slot) { return nodes_[topology_(slot).server]; }

  std::uint16_t group_of(std::uint16_t slot) { return topology_(slot).group; }

 private:
  const Topology topology_;
  std::deque<Node>& nodes_;
};

}  // namespace belay
