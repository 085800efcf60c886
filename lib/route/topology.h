// Which servers there are and which slots each has, as a client knows it from its start. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"

namespace belay {

// Where a slot is: on which of the servers, and in which group of slots. Those of one group are on
// one server, and may be named by one script.
struct Place {
  std::size_t server = 0;
  std::uint16_t group = 0;
};

// A master that sentinels watch, and what they call it.
struct Watched {
  std::vector<Endpoint> sentinels;
  std::string master;
};

// What stands behind a server, besides itself: nobody, replicas that may take its place, or the
// other nodes of its cluster.
enum class Deployment : std::uint8_t { kSingle, kReplicated, kCluster };

struct Topology {
  // Of each server, the endpoints at which it may be; of one that is watched, a name in place of
  // these.
  std::vector<std::vector<Endpoint>> servers;
  std::function<Place(std::uint16_t slot)> place_of;
  Deployment deployment = Deployment::kSingle;
  // Where the only server is, these say.
  std::optional<Watched> watched = {};
  // The only server stands for any node of a cluster, which says where the slots are.
  bool has_entrance = false;

  // Slots move between the nodes of a cluster, also to others than these, and a node is connected
  // to while it is in use.
  [[nodiscard]] bool is_cluster() const { return deployment == Deployment::kCluster; }

  // One that is connected to first.
  [[nodiscard]] const Endpoint& first() const {
    return watched ? watched->sentinels.front() : servers.front().front();
  }
};

// Every slot, in one group, is on one server: at any of these endpoints.
Topology on_one_server(std::vector<Endpoint> endpoints);

// The same, where sentinels say it is, which know it as `master`.
Topology on_sentinels(std::vector<Endpoint> sentinels, const std::string& master);

// Each slot, a group of its own, is on a node of the cluster to which these belong.
Topology on_a_cluster(std::vector<Endpoint> some);

}  // namespace belay
