#include "route/router.h"

#include <algorithm>
#include <utility>

#include "route/redirection.h"

namespace belay {

namespace {

constexpr Micros kTellRefusal = 60 * kSecond;
constexpr Micros kMovesForLong = kSecond;
constexpr Micros kStopListening = 60 * kSecond;

}  // namespace

Router::Router(const Config& config, Topology topology, Dial dial, Inbox inbox, std::uint64_t seed,
               Log& log)
    : config_(config),
      topology_(std::move(topology)),
      dial_(std::move(dial)),
      log_(log),
      addresses_(config.address_map),
      servers_(config, topology_.deployment, dial_, std::move(inbox), seed, log) {
  for (const std::vector<Endpoint>& endpoints : topology_.servers) {
    homes_.push_back(&servers_.add(endpoints));
    if (!topology_.is_cluster() || topology_.has_entrance) {
      servers_.node_in(*homes_.back());
    }
  }
  if (topology_.is_cluster()) {
    owners_.emplace(topology_, addresses_, servers_, seed);
  }
  if (topology_.watched) {
    sentinels_.emplace(config_, *topology_.watched, dial_, seed, log_);
  }
}

void Router::start(NodeEvents& events, Micros now) {
  servers_.start(events, sentinels_ ? kNever : now);
  if (sentinels_) {
    sentinels_->start([this](Micros at) { follow_sentinels(at); }, now);
    follow_sentinels(now);  // who asks at once is told that they have not answered
  }
}

void Router::stop() {
  if (sentinels_) {
    sentinels_->stop();
  }
  servers_.stop();
}

void Router::on_timer(Micros now) {
  servers_.on_timer(now);
  if (sentinels_) {
    sentinels_->on_timer(seeks(), now);
  }
  if (owners_) {
    owners_->on_timer(now);
  }
}

Micros Router::next_deadline() const {
  Micros next = servers_.next_deadline();
  if (sentinels_) {
    next = std::min(next, sentinels_->next_deadline(seeks()));
  }
  if (owners_) {
    next = std::min(next, owners_->next_deadline());
    for (const Server& server : servers_.all()) {
      const bool is_up = server.node != nullptr && server.node->up();
      next = std::min({next, idle_at(server), is_up ? stop_listening_at_ : kNever});
    }
  }
  return next;
}

// Whoever has shown the way in is of no more use.
Micros Router::idle_at(const Server& server) const {
  if (server.node == nullptr || server.node->used_at() == kNever) {
    return kNever;
  }
  const bool is_done = server.is_entrance && server.slots == 0 && server.node->is_unused();
  return is_done ? 0 : server.node->used_at() + 60 * kSecond + config_.request_timeout;
}

void Router::close_idle(const std::function<bool(const Node&)>& is_needed, Micros now) {
  if (!topology_.is_cluster()) {
    return;
  }
  for (Server& server : servers_.all()) {
    if (now < idle_at(server)) {
      continue;
    }
    if (is_needed(*server.node)) {
      server.node->use(now);
    } else {
      servers_.close(server);
    }
  }
}

void Router::stop_listening(const std::function<SlotSet()>& slots_in_use, Micros now) {
  if (!topology_.is_cluster() || now < stop_listening_at_) {
    return;
  }
  const SlotSet in_use = slots_in_use();
  for (const Server& server : servers_.all()) {
    if (server.node != nullptr && server.node->up()) {
      server.node->stop_listening(in_use, now - kStopListening, now);
    }
  }
  stop_listening_at_ = now + kStopListening;
}

void Router::follow_sentinels(Micros now) {
  Node& node = *homes_.front()->node;
  const std::optional<Endpoint> master = sentinels_->master();
  if (!master) {
    node.on_nowhere(sentinels_->trouble(), now);
    return;
  }
  const Endpoint goal = addresses_.reachable(*master);
  if (node.goal().display() == goal.display()) {
    return;
  }
  const std::string name = "'" + sentinels_->name() + "'";
  const bool mapped = goal.display() != master->display();
  node.move_to(
      dial_(goal),
      {BELAY_UNAVAILABLE, "sentinels say that " + name + " is at " + master->display() + " by now"},
      mapped ? " (sentinels name " + master->display() + " as " + name + "; address_map leads here)"
             : " (sentinels name this as " + name + ")",
      now);
}

Server& Router::server_of(std::uint16_t slot) {
  return detour_ && detour_->slot == slot ? *detour_->to
         : owners_                        ? owners_->of(slot)
                                          : *homes_[topology_.place_of(slot).server];
}

Peer* Router::peer_at(const Link& link) {
  Node* const node = node_at(link);
  return node != nullptr || !sentinels_ ? node : sentinels_->at(link);
}

Links Router::links_to_flush() {
  Links links;
  if (sentinels_) {
    sentinels_->add_links_to_flush(&links);
  }
  servers_.add_links_to_flush(&links);
  return links;
}

std::shared_ptr<Link> Router::only_link() const {
  return !topology_.is_cluster() && homes_.size() == 1 ? homes_.front()->node->link()
                                                       : servers_.only_link_to_flush();
}

std::optional<Router::Redirect> Router::read(std::string_view error, const Node& from) {
  const Endpoint& endpoint = from.link()->endpoint();
  const std::optional<Redirection> found =
      topology_.is_cluster() ? read_redirection(error, endpoint) : std::nullopt;
  const Endpoint where = found ? addresses_.reachable(found->where) : endpoint;
  if (where.display() == endpoint.display()) {  // to itself, for ever
    return std::nullopt;
  }
  Server* const to = owners_->at(where);
  return to == nullptr ? std::nullopt
                       : std::make_optional(Redirect{found->has_moved, found->slot, to});
}

std::optional<std::uint16_t> Router::begin_reply(std::string_view error, const Node& from,
                                                 bool detour, Micros now) {
  if (owners_ && error.starts_with("CLUSTERDOWN")) {
    owners_->on_out_of_service(from, now);
  }
  const std::optional<Redirect> redirect = detour ? std::nullopt : read(error, from);
  if (!redirect) {
    return std::nullopt;
  }
  if (redirect->moved) {
    const auto verdict = owners_->on_moved(redirect->slot, *redirect->to, from, now);
    follows_ = verdict != SlotOwners::Verdict::kCircles;
    if (verdict != SlotOwners::Verdict::kNews) {
      return std::nullopt;
    }
    tell_of_moves(SlotSet().set(redirect->slot));
    return redirect->slot;
  }
  Node& to = servers_.node_in(*redirect->to);
  follows_ = to.up() && to.clock().known(now);
  if (follows_) {
    detour_ = redirect;
    to.set_asking(true);
  } else if (to.up()) {  // what is asked there would wait for that
    to.refresh_clock(now);
  }
  return std::nullopt;
}

SlotSet Router::on_slots(const std::vector<SlotRange>& map, const Node& from, Micros now) {
  const bool knew_any = owners_ && owners_->knows_any();
  const SlotSet moved = owners_ ? owners_->on_map(map, from, now) : SlotSet();
  if (knew_any) {
    tell_of_moves(moved);
  }
  return moved;
}

// One line, however many have moved: a failover moves thousands, to one server.
void Router::tell_of_moves(const SlotSet& moved) {
  if (moved.none() || !log_.enabled(BELAY_LOG_INFO)) {
    return;
  }
  std::uint16_t first = 0;
  while (!moved[first]) {
    ++first;
  }
  const std::string where = owners_->of(first).endpoints.front().display();
  log_.write(BELAY_LOG_INFO, moved.count() == 1
                                 ? "slot " + std::to_string(first) + " is at " + where + " now"
                                 : std::to_string(moved.count()) +
                                       " slots are at other servers now, such as slot " +
                                       std::to_string(first) + " at " + where);
}

void Router::end_reply() {
  follows_ = false;
  if (detour_) {
    servers_.node_in(*detour_->to).set_asking(false);
    detour_.reset();
  }
}

void Router::on_refusal(const std::string& words, bool moving, Micros now) {
  if (moving) {
    moving_since_ = now - moving_at_ > kMovesForLong ? now : moving_since_;
    moving_at_ = now;
    if (now - moving_since_ < kMovesForLong) {
      return;
    }
  }
  if (now >= tell_refusal_at_ && log_.enabled(BELAY_LOG_WARNING)) {
    tell_refusal_at_ = now + kTellRefusal;
    log_.write(BELAY_LOG_WARNING, kOfRefusal + words);
  }
}

ServerError Router::judge(std::string_view error) const {
  const bool moved = error.starts_with("MOVED");
  if (!moved && !error.starts_with("ASK ")) {
    return classify_error(error);
  }
  const bool others = topology_.is_cluster();
  return {.remedy = follows_ ? Remedy::kAskAgain
                    : others ? Remedy::kWait
                             : Remedy::kGiveUp,
          .status = others ? BELAY_UNAVAILABLE : BELAY_UNSUPPORTED_SERVER,
          .halfway = false,
          .moving = !moved};
}

}  // namespace belay
