#include "engine/flights.h"

#include <algorithm>

namespace belay {

namespace {

// Few enough to be answered within a millisecond or two, and enough for all cancels of a while.
constexpr int kMostInVain = 32;

}  // namespace

bool Flight::is_outdated() const {
  const bool asks = kind == FlightKind::kAcquire || kind == FlightKind::kRenew;
  const Claim* const claim = !refs.empty()      ? refs.front().claim
                             : !renewed.empty() ? renewed.front().claim
                                                : nullptr;
  return asks && (outdated || (!detour && claim != nullptr && &claim->node() != node));
}

std::uint64_t Flights::send(Node& node, Command command, Flight flight, Micros now) {
  command.id = ++last_command_;
  // Scripts take for gone who does not hear them.
  for (const Renewed& renewed : flight.renewed) {
    ++renewed.claim->in_flight;
    node.listen(renewed.claim->resource.slot, now);
  }
  for (const ClaimRef& ref : flight.refs) {
    ++ref.claim->in_flight;
    node.listen(ref.claim->resource.slot, now);
  }
  flight.node = &node;
  flight.detour = node.asking();
  if (flight.in_vain) {
    ++in_vain_[&node];
  }
  flights_.emplace(command.id, std::move(flight));
  node.send(command, now);
  return command.id;
}

void Flights::watch(Node& node, const std::vector<std::string_view>& keys, Flight flight,
                    Micros now) {
  flight.node = &node;
  node.watch(++last_command_, keys, now);
  flights_.emplace(last_command_, std::move(flight));
}

std::optional<Flight> Flights::take(std::uint64_t id) {
  const auto found = flights_.find(id);
  if (found == flights_.end()) {
    return std::nullopt;
  }
  std::optional<Flight> flight = std::move(found->second);
  if (flight->in_vain && --in_vain_[flight->node] == 0) {
    in_vain_.erase(flight->node);
  }
  flights_.erase(found);
  return flight;
}

std::vector<std::pair<std::uint64_t, Flight>> Flights::take_all_of(const Node& node) {
  std::vector<std::pair<std::uint64_t, Flight>> taken;
  std::erase_if(flights_, [&node, &taken](auto& entry) {
    const bool gone = entry.second.node == &node;
    if (gone) {
      taken.emplace_back(entry.first, std::move(entry.second));
    }
    return gone;
  });
  in_vain_.erase(&node);
  return taken;
}

void Flights::outdate(const Claim& claim, const Node& node) {
  if (claim.in_flight == 0) {
    return;
  }
  const auto about_it = [&claim](const auto& ref) { return ref.claim == &claim; };
  for (auto& [id, flight] : flights_) {
    flight.outdated =
        flight.outdated || (flight.node != &node &&
                            (std::any_of(flight.refs.begin(), flight.refs.end(), about_it) ||
                             std::any_of(flight.renewed.begin(), flight.renewed.end(), about_it)));
  }
}

bool Flights::has_any_of(const Node& node) const {
  return std::any_of(flights_.begin(), flights_.end(),
                     [&node](const auto& entry) { return entry.second.node == &node; });
}

bool Flights::is_behind(const Node& node) const {
  const auto found = in_vain_.find(&node);
  return found != in_vain_.end() && found->second >= kMostInVain;
}

}  // namespace belay
