#include "route/topology.h"

#include <algorithm>
#include <utility>

#include "route/slot.h"

namespace belay {

Topology on_one_server(std::vector<Endpoint> endpoints) {
  const auto deployment = endpoints.size() > 1 ? Deployment::kReplicated : Deployment::kSingle;
  return {{std::move(endpoints)}, [](std::uint16_t /*slot*/) { return Place(); }, deployment};
}

Topology on_sentinels(std::vector<Endpoint> sentinels, const std::string& master) {
  Endpoint nowhere;
  nowhere.path = "'" + master + "'";
  Topology topology = on_one_server({nowhere});
  topology.deployment = Deployment::kReplicated;
  topology.watched = Watched{std::move(sentinels), master};
  return topology;
}

Topology on_a_cluster(const std::vector<Endpoint>& nodes, const std::vector<SlotRange>& ranges) {
  Topology topology;
  for (const Endpoint& node : nodes) {
    topology.servers.push_back({node});
  }
  std::vector<std::size_t> homes(kSlots);
  for (const SlotRange& range : ranges) {
    std::fill(homes.begin() + range.first, homes.begin() + range.last + 1, range.node);
  }
  topology.place_of = [homes = std::move(homes)](std::uint16_t slot) {
    return Place{homes[slot], slot};
  };
  topology.deployment = Deployment::kCluster;
  return topology;
}

}  // namespace belay
