// Which server answers for a slot: as the topology begins, and as servers have said since. Used
// inside the client's monitor; owned by the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "route/node.h"
#include "route/server_error.h"

namespace belay {

// Where a slot is: on which of the servers, and in which group of slots. Those of one group are on
// one server, and may be named by one script.
struct Place {
  std::size_t server = 0;
  std::uint16_t group = 0;
  // What is published at any server reaches the subscribers of all, and each server only counts its
  // own: so it is, in a cluster, with channels that are of no slot. Whoever is told that a name is
  // theirs may have been taken for gone by the server that said so.
  bool echoes = false;
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

  Node& node_of(std::uint16_t slot);

  std::uint16_t group_of(std::uint16_t slot) { return topology_(slot).group; }

  // Whether anything of an earlier connection may still arrive, at any server.
  [[nodiscard]] bool has_ghosts() const;

  bool echoes() { return topology_(0).echoes; }

  // An error reply is dealt with from now on. If it says where a slot is, what is sent for that
  // slot until `end_reply` goes there: after MOVED for good, after ASK each command with ASKING.
  // It came from a node, which may have been asked because of another ASK: on a `detour`. Returns
  // the slot if it has moved, as far as that is news.
  std::optional<std::uint16_t> begin_reply(std::string_view error, const Node& from, bool detour,
                                           Micros now);

  // The same for an answer that says nothing of the present: the command goes once more.
  void begin_outdated_reply() { follows_ = true; }

  void end_reply();

  // What an error means: what sends us elsewhere is followed, if that can be.
  [[nodiscard]] ServerError judge(std::string_view error) const;

 private:
  struct Moved {
    Node* node = nullptr;
    int times = 0;
    Micros since = 0;
  };

  // What an error says: that a slot has moved to a node, or is on its way there.
  struct Redirect {
    bool moved;
    std::uint16_t slot;
    Node* to;
  };

  [[nodiscard]] Node* node_at(std::string_view endpoint) const;
  [[nodiscard]] std::optional<Redirect> read(std::string_view error) const;
  std::optional<std::uint16_t> learn(std::uint16_t slot, Node& node, Micros now);

  const Topology topology_;
  std::deque<Node>& nodes_;
  std::unordered_map<std::uint16_t, Moved> moved_;
  // While an error reply is dealt with.
  bool follows_ = false;
  std::optional<Redirect> detour_;
};

}  // namespace belay
