#include "route/slot_owners.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace belay {

namespace {

// Servers that send us in circles are not believed for a while: all that is in the slot would
// follow each time.
constexpr int kMostMoves = 4;
constexpr Micros kMoveWindow = kSecond;
// Far more than clusters have: servers may send us anywhere.
constexpr std::size_t kMostServers = 2000;
constexpr Micros kOut = kSecond;
// MOVED tells of what has changed; the map of what has changed and was not used.
constexpr Micros kAskEvery = 60 * kSecond;
constexpr Micros kLeastPause = 50 * kMillisecond;
// What a failover takes beyond the cluster's own time counts against the leases there.
constexpr Micros kLongestPause = kSecond;

}  // namespace

SlotOwners::SlotOwners(const Topology& topology, const AddressMap& addresses, Servers& servers,
                       std::uint64_t seed)
    : addresses_(addresses), servers_(servers), backoff_(seed, kLongestPause) {
  std::vector<Server*> all;
  for (Server& server : servers_.all()) {
    server.is_entrance = topology.has_entrance;
    all.push_back(&server);
  }
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
    owners_.push_back(all[topology.place_of(slot).server]);
    ++owners_.back()->slots;
  }
}

void SlotOwners::give(std::uint16_t slot, Server& to) {
  --owners_[slot]->slots;
  owners_[slot] = &to;
  ++to.slots;
}

bool SlotOwners::knows_any() const {
  const auto& all = servers_.all();
  return std::any_of(all.begin(), all.end(),
                     [](const Server& server) { return server.slots > 0 && !server.is_entrance; });
}

std::vector<std::uint16_t> SlotOwners::slots_of_servers(bool nodes) const {
  std::unordered_set<const Server*> seen;
  std::vector<std::uint16_t> slots;
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
    const Server& owner = *owners_[slot];
    if ((!nodes || owner.node != nullptr) && seen.insert(&owner).second) {
      slots.push_back(slot);
    }
  }
  return slots.empty() ? std::vector<std::uint16_t>{0} : slots;
}

Server* SlotOwners::at(const Endpoint& endpoint) {
  forget_unused();
  return find_or_add(endpoint);
}

Server* SlotOwners::find_or_add(const Endpoint& endpoint) {
  Server* const known = servers_.find(endpoint);
  return known != nullptr                       ? known
         : servers_.all().size() < kMostServers ? &servers_.add({endpoint})
                                                : nullptr;
}

void SlotOwners::forget_unused() {
  std::erase_if(servers_.all(), [this](const Server& server) {
    return server.node == nullptr && server.slots == 0 && !server.is_entrance && &server != knows_;
  });
}

SlotOwners::Verdict SlotOwners::on_moved(std::uint16_t slot, Server& to, const Node& from,
                                         Micros now) {
  if (owners_[slot] == &to) {
    return Verdict::kKnown;
  }
  Moves& moves = moves_.try_emplace(slot, Moves{0, now}).first->second;
  if (now - moves.since > kMoveWindow) {
    moves = {0, now};
  }
  if (moves.times == kMostMoves) {
    return Verdict::kCircles;
  }
  ++moves.times;
  give(slot, to);
  is_wanted_ = true;
  knows_ = &servers_.of(from);
  return Verdict::kNews;
}

void SlotOwners::on_out_of_service(const Node& node, Micros now) {
  servers_.of(node).out_until = now + kOut;
  is_wanted_ = true;
}

// A node may be cut off from the others, and tell of the past. So a slot leaves a node that serves
// it by that node's own word only.
SlotSet SlotOwners::on_map(const std::vector<SlotRange>& map, const Node& from, Micros now) {
  const Server* const teller = &servers_.of(from);
  told_at_ = now;
  forget_unused();
  std::unordered_map<std::string, Server*> masters;  // very few of very many ranges
  SlotSet moved;
  for (const SlotRange& range : map) {
    const auto [known, is_new] = masters.try_emplace(range.master.display());
    if (is_new) {
      known->second = find_or_add(addresses_.reachable(range.master));
    }
    Server* const to = known->second;
    for (unsigned slot = range.first; to != nullptr && slot <= range.last; ++slot) {
      const Server& present = *owners_[slot];
      const bool is_believed = &present == teller || present.is_entrance || !present.serves(now);
      if (&present != to && is_believed) {
        give(static_cast<std::uint16_t>(slot), *to);
        moved.set(slot);
      }
    }
  }
  return moved;
}

// ---- Asking for the map

// Every node tells it as it is connected to. It is asked for again when it turns out to be wrong,
// when a node that has slots does not answer, and from time to time.
Micros SlotOwners::next_deadline() const {
  Micros next = is_wanted_ ? not_before_ : kNever;
  for (const Server& server : servers_.all()) {
    if (server.node != nullptr && server.slots > 0) {
      next =
          std::min({next, told_at_ + kAskEvery, std::max(not_before_, server.node->overdue_at())});
    } else if (server.node != nullptr && server.node->up()) {
      next = std::min(next, server.node->overdue_at());
    }
  }
  return next;
}

void SlotOwners::on_timer(Micros now) {
  give_up_on_silent(now);
  if (now < next_deadline()) {
    return;
  }
  if (now > not_before_ + kSecond) {
    backoff_.reset();
  }
  is_wanted_ = false;
  told_at_ = now;
  not_before_ = now + std::max(kLeastPause, backoff_.next());
  ask(now);
}

// What it owes is asked for where its slots are by now.
void SlotOwners::give_up_on_silent(Micros now) {
  for (const Server& server : servers_.all()) {  // others may come while that is told
    const bool is_left = server.slots == 0 && server.node != nullptr && server.node->up();
    if (is_left && now >= server.node->overdue_at()) {
      server.node->give_up(now);
    }
  }
}

// Who has sent us elsewhere knows its own slots; else whoever answers, in turn; else whoever may.
void SlotOwners::ask(Micros now) {
  std::vector<Server*> answering;
  std::vector<Server*> others;
  for (Server& server : servers_.all()) {
    if (server.serves(now)) {
      answering.push_back(&server);
    } else if (server.node == nullptr) {
      others.push_back(&server);
    }
  }
  if (knows_ != nullptr && knows_->serves(now)) {
    answering = {knows_};
  }
  knows_ = nullptr;
  const std::vector<Server*>& from = answering.empty() ? others : answering;
  if (!from.empty()) {
    Server& one = *from[turn_++ % from.size()];
    Node& node = servers_.node_in(one);
    if (node.up()) {
      node.ask_slots(now);
    }
  }
}

}  // namespace belay
