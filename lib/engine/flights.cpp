#include "engine/flights.h"

namespace belay {

namespace {

// Few enough to be answered within a millisecond or two, and enough for all cancels of a while.
constexpr int kMostInVain = 32;

}  // namespace

std::uint64_t Flights::send(Node& node, Command command, Flight flight, Micros now) {
  command.id = ++last_command_;
  for (const Renewed& renewed : flight.renewed) {
    ++renewed.claim->in_flight;
  }
  for (const ClaimRef& ref : flight.refs) {
    ++ref.claim->in_flight;
  }
  flight.node = &node;
  in_vain_[&node] += flight.in_vain ? 1 : 0;
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
  in_vain_[flight->node] -= flight->in_vain ? 1 : 0;
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

bool Flights::is_behind(const Node& node) const {
  const auto found = in_vain_.find(&node);
  return found != in_vain_.end() && found->second >= kMostInVain;
}

}  // namespace belay
