#include "route/router.h"

#include <numeric>
#include <unordered_set>
#include <utility>

#include "route/redirection.h"

namespace belay {

namespace {

// Servers that send us in circles are not believed for a while: all that is in the slot would
// follow each time.
constexpr int kMostMoves = 4;
constexpr Micros kMoveWindow = kSecond;
// Far more than clusters have: servers may send us anywhere.
constexpr std::size_t kMostServers = 2000;
constexpr Micros kTellRefusal = 60 * kSecond;
constexpr std::uint64_t kSeedStep = 0x9E3779B97F4A7C15;

}  // namespace

Router::Router(const Config& config, Topology topology, Dial dial, std::string inbox,
               std::uint64_t seed, Log& log)
    : config_(config),
      topology_(std::move(topology)),
      dial_(std::move(dial)),
      inbox_(std::move(inbox)),
      seed_(seed),
      log_(log),
      addresses_(config.address_map) {
  for (const std::vector<Endpoint>& endpoints : topology_.servers) {
    homes_.push_back(&servers_.emplace_back(Server{endpoints, nullptr}));
    if (!topology_.is_cluster()) {
      node_in(*homes_.back());
    }
  }
  if (topology_.watched) {
    sentinels_.emplace(config_, *topology_.watched, dial_, seed_, log_);
  }
}

void Router::start(NodeEvents& events, Micros now) {
  events_ = &events;
  for (const Server& server : servers_) {
    if (server.node != nullptr) {
      server.node->start(events, sentinels_ ? kNever : now);
    }
  }
  if (sentinels_) {
    sentinels_->start([this](Micros at) { follow_sentinels(at); }, now);
    follow_sentinels(now);  // who asks at once is told that they have not answered
  }
}

void Router::stop() {
  events_ = nullptr;
  if (sentinels_) {
    sentinels_->stop();
  }
  for (const Server& server : servers_) {
    if (server.node != nullptr) {
      server.node->stop();
    }
  }
}

void Router::on_timer(Micros now) {
  for (const Server& server : servers_) {  // others may come while they are told
    if (server.node != nullptr) {
      server.node->on_timer(now);
    }
  }
  if (sentinels_) {
    sentinels_->on_timer(seeks(), now);
  }
}

Micros Router::next_deadline() const {
  Micros next = sentinels_ ? sentinels_->next_deadline(seeks()) : kNever;
  for (const Server& server : servers_) {
    if (server.node != nullptr) {
      next = std::min({next, server.node->next_deadline(),
                       topology_.is_cluster() ? server.node->used_at() + idle() : kNever});
    }
  }
  return next;
}

void Router::close_idle(const std::function<bool(const Node&)>& is_needed, Micros now) {
  if (!topology_.is_cluster()) {
    return;
  }
  for (Server& server : servers_) {
    if (server.node == nullptr || now < server.node->used_at() + idle()) {
      continue;
    }
    if (is_needed(*server.node)) {
      server.node->use(now);
    } else {
      server.node->stop();
      dropped_ += server.node->dropped();
      server.node.reset();
    }
  }
}

void Router::follow_sentinels(Micros now) {
  Node& node = *servers_.front().node;
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

Router::Server& Router::server_of(std::uint16_t slot) {
  if (detour_ && detour_->slot == slot) {
    return *detour_->to;
  }
  const auto moved = moved_.find(slot);
  return moved == moved_.end() ? *homes_[topology_.place_of(slot).server] : *moved->second.server;
}

Node& Router::node_in(Server& server) {
  if (server.node == nullptr) {
    Links links;
    for (const Endpoint& endpoint : server.endpoints) {
      links.push_back(dial_(endpoint));
    }
    server.node = std::make_unique<Node>(config_, topology_.deployment, inbox_, seed_,
                                         std::move(links), log_);
    seed_ += kSeedStep;
    if (events_ != nullptr) {
      server.node->start(*events_, 0);
    }
  }
  return *server.node;
}

Node* Router::node_at(const Link& link) {
  const auto found = std::find_if(servers_.begin(), servers_.end(), [&link](const Server& server) {
    return server.node != nullptr && server.node->has(link);
  });
  return found == servers_.end() ? nullptr : found->node.get();
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
  for (const Server& server : servers_) {
    if (server.node != nullptr && server.node->link()->take_queued()) {
      links.push_back(server.node->link());
    }
  }
  return links;
}

std::shared_ptr<Link> Router::only_link() const {
  if (!topology_.is_cluster() && servers_.size() == 1) {
    return servers_.front().node->link();
  }
  std::shared_ptr<Link> only;
  for (const Server& server : servers_) {
    if (server.node != nullptr && server.node->link()->has_queued()) {
      if (only != nullptr) {
        return nullptr;
      }
      only = server.node->link();
    }
  }
  return only;
}

std::size_t Router::dropped_messages() const {
  return std::accumulate(servers_.begin(), servers_.end(), dropped_,
                         [](std::size_t sum, const Server& server) {
                           return sum + (server.node == nullptr ? 0 : server.node->dropped());
                         });
}

bool Router::has_ghosts() const {
  return std::any_of(servers_.begin(), servers_.end(), [](const Server& server) {
    return server.node != nullptr && server.node->has_ghosts();
  });
}

// One that is not known yet may be; then those are forgotten that have come to be of no use.
Router::Server* Router::server_at(const Endpoint& endpoint) {
  const std::string where = endpoint.display();
  const auto found = std::find_if(servers_.begin(), servers_.end(), [&where](const Server& server) {
    return server.endpoints.front().display() == where;
  });
  if (found != servers_.end()) {
    return &*found;
  }
  forget_unused();
  return servers_.size() < kMostServers ? &servers_.emplace_back(Server{{endpoint}, nullptr})
                                        : nullptr;
}

void Router::forget_unused() {
  std::unordered_set<const Server*> used(homes_.begin(), homes_.end());
  for (const auto& [slot, moved] : moved_) {
    used.insert(moved.server);
  }
  std::erase_if(servers_, [&used](const Server& server) {
    return server.node == nullptr && !used.contains(&server);
  });
}

std::optional<Router::Redirect> Router::read(std::string_view error, const Node& from) {
  const Endpoint& endpoint = from.link()->endpoint();
  const std::optional<Redirection> found =
      topology_.is_cluster() ? read_redirection(error, endpoint) : std::nullopt;
  const Endpoint where = found ? addresses_.reachable(found->where) : endpoint;
  if (where.display() == endpoint.display()) {  // to itself, for ever
    return std::nullopt;
  }
  Server* const to = server_at(where);
  return to == nullptr ? std::nullopt
                       : std::make_optional(Redirect{found->has_moved, found->slot, to});
}

std::optional<std::uint16_t> Router::begin_reply(std::string_view error, const Node& from,
                                                 bool detour, Micros now) {
  const std::optional<Redirect> redirect = detour ? std::nullopt : read(error, from);
  if (!redirect) {
    return std::nullopt;
  }
  if (redirect->moved) {
    return learn(redirect->slot, *redirect->to, now);
  }
  Node& to = node_in(*redirect->to);
  follows_ = to.up() && to.clock().known(now);
  if (follows_) {
    detour_ = redirect;
    to.set_asking(true);
  } else if (to.up()) {  // what is asked there would wait for that
    to.refresh_clock(now);
  }
  return std::nullopt;
}

std::optional<std::uint16_t> Router::learn(std::uint16_t slot, Server& server, Micros now) {
  Server& present = server_of(slot);
  follows_ = &present == &server;
  if (follows_) {
    return std::nullopt;
  }
  Moved& known = moved_.try_emplace(slot, Moved{&present, 0, now}).first->second;
  if (now - known.since > kMoveWindow) {
    known.times = 0;
    known.since = now;
  }
  follows_ = known.times < kMostMoves;
  if (!follows_) {
    return std::nullopt;
  }
  ++known.times;
  known.server = &server;
  return slot;
}

void Router::end_reply() {
  follows_ = false;
  if (detour_) {
    node_in(*detour_->to).set_asking(false);
    detour_.reset();
  }
}

void Router::on_refusal(const std::string& words, Micros now) {
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
