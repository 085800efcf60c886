#include "sim/slot_places.h"

#include <algorithm>

#include "sim/world.h"

namespace belay::sim {

SlotPlaces::SlotPlaces(std::size_t masters) {
  for (std::size_t host = 0; host < masters; ++host) {
    parts_.push_back({host, host});
  }
}

std::size_t SlotPlaces::owner_of(std::uint16_t slot) const {
  const auto found = owners_.find(slot);
  return found == owners_.end() ? parts_[home_of(slot)].host : found->second;
}

const SlotPlaces::Move* SlotPlaces::move_of(std::uint16_t slot) const {
  const auto found = moves_.find(slot);
  return found == moves_.end() ? nullptr : &found->second;
}

bool SlotPlaces::has_moved(std::uint16_t slot) const {
  const Part& part = parts_[home_of(slot)];
  return owners_.contains(slot) || moves_.contains(slot) || part.host != part.before;
}

bool SlotPlaces::takes_part_in_moves(std::size_t host) const {
  return std::any_of(moves_.begin(), moves_.end(), [host](const auto& move) {
    return move.second.from == host || move.second.to == host;
  });
}

SlotPlace SlotPlaces::at(std::uint16_t slot, std::size_t host) const {
  const Move* const move = move_of(slot);
  const std::size_t owner = owner_of(slot);
  SlotPlace place;
  place.is_here = owner == seen_as(host);
  place.is_copied = replaced_ != successor_ && replaced_ == host && owner == successor_;
  place.is_leaving = place.is_here && move != nullptr;
  place.is_coming = move != nullptr && move->to == host;
  place.other = endpoint_of(place.is_leaving ? move->to : owner).display();
  return place;
}

std::vector<SlotRun> SlotPlaces::map_at(std::size_t host, bool is_behind) const {
  std::vector<SlotRun> map;
  const auto add = [this, &map, host](std::size_t first, std::size_t end, std::size_t owner) {
    if (first < end) {
      const Endpoint endpoint = endpoint_of(owner == seen_as(host) ? host : owner);
      map.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(end - 1),
                     endpoint.host, endpoint.port});
    }
  };
  std::size_t first = 0;
  for (const Part& part : parts_) {
    const bool missed = is_behind && part.host != host && part.before != host;
    const std::size_t home = missed ? part.before : part.host;
    const std::size_t end = std::min<std::size_t>(first + slots_each(), kSlots);
    for (auto at = owners_.lower_bound(static_cast<std::uint16_t>(first));
         at != owners_.end() && at->first < end; ++at) {
      const bool knows = !is_behind || at->second == host || part.host == host;
      add(first, at->first, home);
      add(at->first, at->first + std::size_t{1}, knows ? at->second : home);
      first = at->first + std::size_t{1};
    }
    add(first, end, home);
    first = end;
  }
  return map;
}

bool SlotPlaces::begin_move(std::uint16_t slot, std::size_t to) {
  const std::size_t from = owner_of(slot);
  return !are_held_ && from != to && moves_.emplace(slot, Move{from, to}).second;
}

SlotPlaces::Move SlotPlaces::end_move(std::uint16_t slot) {
  const Move move = moves_.at(slot);
  owners_[slot] = move.to;
  moves_.erase(slot);
  return move;
}

void SlotPlaces::replace(std::size_t host, std::size_t by) {
  for (Part& part : parts_) {
    if (part.host == host) {
      part = {by, host};
    }
  }
  for (auto& [slot, owner] : owners_) {
    owner = owner == host ? by : owner;
  }
  replaced_ = host;
  successor_ = by;
  is_told_ = false;
}

}  // namespace belay::sim
