#include "route/router.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "route/slot.h"

namespace belay {

namespace {

// Servers that send us in circles are asked again after a pause only.
constexpr int kMostMoves = 4;
constexpr Micros kMoveWindow = kSecond;

constexpr std::string_view kMoved = "MOVED ";
constexpr std::string_view kAsk = "ASK ";

}  // namespace

Node& Router::node_of(std::uint16_t slot) {
  if (detour_ && detour_->slot == slot) {
    return *detour_->to;
  }
  const auto moved = moved_.find(slot);
  return moved == moved_.end() ? nodes_[topology_(slot).server] : *moved->second.node;
}

bool Router::has_ghosts() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.has_ghosts(); });
}

Node* Router::node_at(std::string_view endpoint) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [endpoint](const Node& node) {
    return node.link().endpoint().display() == endpoint;
  });
  return found == nodes_.end() ? nullptr : &*found;
}

// "MOVED 3999 127.0.0.1:6381"
std::optional<Router::Redirect> Router::read(std::string_view error) const {
  const bool moved = error.starts_with(kMoved);
  if (!moved && !error.starts_with(kAsk)) {
    return std::nullopt;
  }
  const std::string_view where = error.substr(moved ? kMoved.size() : kAsk.size());
  const char* const end = where.data() + where.size();
  std::uint16_t slot = kSlots;
  const char* const rest = std::from_chars(where.data(), end, slot).ptr;
  if (slot >= kSlots || rest == end) {
    return std::nullopt;
  }
  Node* const to = node_at({rest + 1, static_cast<std::size_t>(end - rest - 1)});
  return to == nullptr ? std::nullopt : std::make_optional(Redirect{moved, slot, to});
}

std::optional<std::uint16_t> Router::begin_reply(std::string_view error, const Node& from,
                                                 bool detour, Micros now) {
  const std::optional<Redirect> redirect = read(error);
  if (!redirect || redirect->to == &from || detour) {  // it would send us to itself for ever
    return std::nullopt;
  }
  if (redirect->moved) {
    return learn(redirect->slot, *redirect->to, now);
  }
  Node& to = *redirect->to;
  follows_ = to.up() && to.clock().known(now);
  if (follows_) {
    detour_ = redirect;
    to.set_asking(true);
  } else if (to.up()) {  // what is asked there would wait for that
    to.refresh_clock(now);
  }
  return std::nullopt;
}

std::optional<std::uint16_t> Router::learn(std::uint16_t slot, Node& node, Micros now) {
  if (&node_of(slot) == &node) {
    follows_ = true;
    return std::nullopt;
  }
  Moved& known = moved_[slot];
  if (now - known.since > kMoveWindow) {
    known = {nullptr, 0, now};
  }
  known.node = &node;
  follows_ = ++known.times <= kMostMoves;
  return slot;
}

void Router::end_reply() {
  follows_ = false;
  if (detour_) {
    detour_->to->set_asking(false);
    detour_.reset();
  }
}

ServerError Router::judge(std::string_view error) const {
  if (!error.starts_with("MOVED") && !error.starts_with(kAsk)) {
    return classify_error(error);
  }
  const bool others = nodes_.size() > 1;
  return {.remedy = follows_ ? Remedy::kAskAgain
                    : others ? Remedy::kWait
                             : Remedy::kGiveUp,
          .status = others ? BELAY_UNAVAILABLE : BELAY_UNSUPPORTED_SERVER,
          .halfway = false,
          .moving = !error.starts_with("MOVED")};
}

}  // namespace belay
