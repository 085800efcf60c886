// Clients that are told of the cluster: what the tests call belay_client_new. No URL says it yet,
// so this goes below the C API.
#include <vector>

#include "api/handles.h"
#include "route/topology.h"

extern "C" {
#include "cluster.h"

belay_client* __real_belay_client_new(belay_options* options);
belay_client* __wrap_belay_client_new(belay_options* options);
}

belay_client* __wrap_belay_client_new(belay_options* options) {
  const bool is_first = options != nullptr && options->trouble().ok() &&
                        options->endpoints.front().port == cluster_master(0)->port;
  if (!is_first) {
    return __real_belay_client_new(options);
  }
  std::vector<belay::Endpoint> nodes;
  std::vector<belay::SlotRange> ranges;
  for (int i = 0; i < named_masters; ++i) {
    const int end = i + 1 == named_masters ? kSlots : (i + 1) * kSlotsEach;
    nodes.push_back(options->endpoints.front());
    nodes.back().port = cluster_master(i)->port;
    ranges.push_back({static_cast<std::uint16_t>(i * kSlotsEach),
                      static_cast<std::uint16_t>(end - 1), static_cast<std::size_t>(i)});
  }
  return belay::client_on(belay::on_a_cluster(nodes, ranges), options);
}
