#include "route/servers.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace belay {

namespace {

constexpr std::uint64_t kSeedStep = 0x9E3779B97F4A7C15;

}  // namespace

bool Server::serves(Micros now) const {
  return node != nullptr && node->up() && now < node->overdue_at() && now >= out_until;
}

Servers::Servers(const Config& config, Deployment deployment, Dial dial, Inbox inbox,
                 std::uint64_t seed, Log& log)
    : config_(config),
      deployment_(deployment),
      dial_(std::move(dial)),
      inbox_(std::move(inbox)),
      seed_(seed),
      log_(log) {}

void Servers::start(NodeEvents& events, Micros now) {
  events_ = &events;
  for (const Server& server : all_) {
    if (server.node != nullptr) {
      server.node->start(events, now);
    }
  }
}

void Servers::stop() {
  events_ = nullptr;
  for (const Server& server : all_) {
    if (server.node != nullptr) {
      server.node->stop();
    }
  }
}

void Servers::on_timer(Micros now) {
  for (const Server& server : all_) {  // others may come while they are told
    if (server.node != nullptr) {
      server.node->on_timer(now);
    }
  }
}

Micros Servers::next_deadline() const {
  return std::accumulate(all_.begin(), all_.end(), kNever, [](Micros next, const Server& server) {
    return server.node == nullptr ? next : std::min(next, server.node->next_deadline());
  });
}

Server* Servers::find(const Endpoint& endpoint) {
  const std::string where = endpoint.display();
  const auto found = std::find_if(all_.begin(), all_.end(), [&where](const Server& server) {
    return !server.is_entrance && server.endpoints.front().display() == where;
  });
  return found == all_.end() ? nullptr : &*found;
}

Server& Servers::of(const Node& node) {
  return *std::find_if(all_.begin(), all_.end(),
                       [&node](const Server& server) { return server.node.get() == &node; });
}

Node& Servers::node_in(Server& server) {
  if (server.node == nullptr) {
    Links links;
    for (const Endpoint& endpoint : server.endpoints) {
      links.push_back(dial_(endpoint));
    }
    server.node =
        std::make_unique<Node>(config_, deployment_, inbox_, seed_, std::move(links), log_);
    seed_ += kSeedStep;
    if (events_ != nullptr) {
      server.node->start(*events_, 0);
    }
  }
  return *server.node;
}

void Servers::close(Server& server) {
  server.node->stop();
  dropped_ += server.node->dropped();
  server.node.reset();
}

Node* Servers::node_at(const Link& link) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&link](const Server& server) {
    return server.node != nullptr && server.node->has(link);
  });
  return found == all_.end() ? nullptr : found->node.get();
}

void Servers::add_links_to_flush(Links* links) const {
  for (const Server& server : all_) {
    if (server.node != nullptr && server.node->link()->take_queued()) {
      links->push_back(server.node->link());
    }
  }
}

std::shared_ptr<Link> Servers::only_link_to_flush() const {
  std::shared_ptr<Link> only;
  for (const Server& server : all_) {
    if (server.node != nullptr && server.node->link()->has_queued()) {
      if (only != nullptr) {
        return nullptr;
      }
      only = server.node->link();
    }
  }
  return only;
}

std::size_t Servers::dropped_messages() const {
  return std::accumulate(all_.begin(), all_.end(), dropped_,
                         [](std::size_t sum, const Server& server) {
                           return sum + (server.node == nullptr ? 0 : server.node->dropped());
                         });
}

bool Servers::has_ghosts() const {
  return std::any_of(all_.begin(), all_.end(), [](const Server& server) {
    return server.node != nullptr && server.node->has_ghosts();
  });
}

}  // namespace belay
