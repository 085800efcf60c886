// Which node of a cluster has which slot, as its nodes have said last, and when to ask them again.
// Used inside the client's monitor; owned by the router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/address_map.h"
#include "route/backoff.h"
#include "route/servers.h"
#include "route/slot.h"
#include "route/slot_map.h"
#include "route/topology.h"

namespace belay {

class SlotOwners {
 public:
  // The servers are those of the topology. All that is given by reference outlives it.
  SlotOwners(const Topology& topology, const AddressMap& addresses, Servers& servers,
             std::uint64_t seed);

  Server& of(std::uint16_t slot) { return *owners_[slot]; }

  // Whether anybody has said whose any slot is, or was known to have it from the start.
  [[nodiscard]] bool knows_any() const;
  // The first slot of each server that has any, or of those of them that are nodes: at least one.
  [[nodiscard]] std::vector<std::uint16_t> slots_of_servers(bool nodes) const;

  // Who is there, maybe not known until now. Null: there are too many. Forgets who is of no use.
  Server* at(const Endpoint& endpoint);

  // What becomes of a MOVED: it says what is known, or news, or comes too often to be believed.
  enum class Verdict : std::uint8_t { kKnown, kNews, kCircles };

  Verdict on_moved(std::uint16_t slot, Server& to, const Node& from, Micros now);
  // A node has said that it serves no slots for now.
  void on_out_of_service(const Node& node, Micros now);
  // What a node has said of all slots. Gives those that are elsewhere than was known.
  SlotSet on_map(const std::vector<SlotRange>& map, const Node& from, Micros now);

  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

 private:
  struct Moves {
    int times = 0;
    Micros since = 0;
  };

  void give(std::uint16_t slot, Server& to);
  void forget_unused();
  Server* find_or_add(const Endpoint& endpoint);
  void give_up_on_silent(Micros now);
  void ask(Micros now);

  const AddressMap& addresses_;
  Servers& servers_;
  std::vector<Server*> owners_;  // by slot
  std::unordered_map<std::uint16_t, Moves> moves_;
  // Asking for the map.
  bool is_wanted_ = false;
  Server* knows_ = nullptr;      // has sent us elsewhere
  Micros told_at_ = kNever / 2;  // or asked for it in vain; far ahead: not yet
  Micros not_before_ = 0;
  Backoff backoff_;
  std::size_t turn_ = 0;
};

}  // namespace belay
