#include "route/topology.h"

#include <utility>

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

Topology on_a_cluster(std::vector<Endpoint> some) {
  Topology topology = on_one_server(std::move(some));
  topology.place_of = [](std::uint16_t slot) { return Place{0, slot}; };
  topology.deployment = Deployment::kCluster;
  topology.has_entrance = true;
  return topology;
}

}  // namespace belay
