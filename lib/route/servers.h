// The servers that a client knows, each a node while it is connected to or about to be. Used inside
// the client's monitor; owned by the router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "net/link.h"
#include "route/inbox.h"
#include "route/node.h"
#include "route/topology.h"

namespace belay {

struct Server {
  std::vector<Endpoint> endpoints;  // at which it may be
  std::unique_ptr<Node> node = {};  // null while nobody needs it
  // Of a cluster: no node of its own, but whichever answers first at these endpoints.
  bool is_entrance = false;
  std::size_t slots = 0;  // of a cluster: so many are its own
  Micros out_until = 0;   // it has said that it serves none

  [[nodiscard]] bool serves(Micros now) const;
};

class Servers {
 public:
  // `dial` makes links to where they are.
  Servers(const Config& config, Deployment deployment, Dial dial, Inbox inbox, std::uint64_t seed,
          Log& log);

  // From now on `events` hears of every node. `now`: see Node.
  void start(NodeEvents& events, Micros now);
  void stop();
  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  Server& add(std::vector<Endpoint> endpoints) {
    return all_.emplace_back(Server{std::move(endpoints)});
  }

  // The node of a cluster that is there; null: none that is known.
  Server* find(const Endpoint& endpoint);
  // Whose node it is.
  Server& of(const Node& node);
  Node& node_in(Server& server);
  // Lets go of a node.
  void close(Server& server);

  std::list<Server>& all() { return all_; }

  [[nodiscard]] const std::list<Server>& all() const { return all_; }

  Node* node_at(const Link& link);
  // Adds what is to be written.
  void add_links_to_flush(Links* links) const;
  // The only link that waits for that; null: there is no such.
  [[nodiscard]] std::shared_ptr<Link> only_link_to_flush() const;
  [[nodiscard]] std::size_t dropped_messages() const;
  [[nodiscard]] bool has_ghosts() const;

 private:
  const Config& config_;
  const Deployment deployment_;
  const Dial dial_;
  const Inbox inbox_;
  std::uint64_t seed_;  // of the next node
  Log& log_;
  NodeEvents* events_ = nullptr;
  std::list<Server> all_;
  std::size_t dropped_ = 0;  // messages, by nodes that are gone
};

}  // namespace belay
