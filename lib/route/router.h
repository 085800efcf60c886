// The servers that a client knows, each a node while it is connected to or about to be, and which
// of them answers for a slot: as the topology begins, and as servers or sentinels have said since.
// Used inside the client's monitor; owned by the core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address_map.h"
#include "base/config.h"
#include "base/log.h"
#include "net/link.h"
#include "route/node.h"
#include "route/sentinels.h"
#include "route/server_error.h"
#include "route/topology.h"

namespace belay {

class Router {
 public:
  // `dial` makes links to where servers are. Servers of a cluster are dialled when a slot of theirs
  // is first needed, any other at once.
  Router(const Config& config, Topology topology, Dial dial, std::string inbox, std::uint64_t seed,
         Log& log);

  // From now on `events` hears of every node.
  void start(NodeEvents& events, Micros now);
  void stop();
  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  // Lets go of the servers of a cluster that nobody needs and that nothing was sent to for a while:
  // whatever of that is still on its way comes too late to have an effect.
  void close_idle(const std::function<bool(const Node&)>& is_needed, Micros now);

  Node& node_of(std::uint16_t slot) { return node_in(server_of(slot)); }

  std::uint16_t group_of(std::uint16_t slot) { return topology_.place_of(slot).group; }

  // Whose link it is; null where that node has been let go of, or has moved away from there.
  Node* node_at(const Link& link);
  // The same, of a sentinel, too.
  Peer* peer_at(const Link& link);
  // What is to be written now that the monitor is left.
  Links links_to_flush();
  // The only link that waits for that, or that there is; null: there is no such.
  [[nodiscard]] std::shared_ptr<Link> only_link() const;
  // How many messages came that no script sent.
  [[nodiscard]] std::size_t dropped_messages() const;

  // Whether anything of an earlier connection may still arrive, at any server.
  [[nodiscard]] bool has_ghosts() const;

  // Whether a server sends on what another one has published.
  [[nodiscard]] bool echoes() const { return topology_.is_cluster(); }

  // An error reply is dealt with from now on. If it says where a slot is, what is sent for that
  // slot until `end_reply` goes there: after MOVED for good, after ASK each command with ASKING.
  // It came from a node, which may have been asked because of another ASK: on a `detour`. Returns
  // the slot if it has moved, as far as that is news.
  std::optional<std::uint16_t> begin_reply(std::string_view error, const Node& from, bool detour,
                                           Micros now);

  // The same for an answer that says nothing of the present: the command goes once more.
  void begin_outdated_reply() { follows_ = true; }

  void end_reply();

  // A server takes no locks for now, as these words say: told once a minute at most, as others may
  // be answered meanwhile, and the words may differ from script to script.
  void on_refusal(const std::string& words, Micros now);

  // What an error means: what sends us elsewhere is followed, if that can be.
  [[nodiscard]] ServerError judge(std::string_view error) const;

 private:
  struct Server {
    std::vector<Endpoint> endpoints;  // at which it may be
    std::unique_ptr<Node> node;       // null while nobody needs it
  };

  struct Moved {
    Server* server = nullptr;
    int times = 0;
    Micros since = 0;
  };

  // What an error says: that a slot has moved to a server, or is on its way there.
  struct Redirect {
    bool moved;
    std::uint16_t slot;
    Server* to;
  };

  [[nodiscard]] Micros idle() const { return 60 * kSecond + config_.request_timeout; }

  // Nobody is connected to the master that is watched.
  [[nodiscard]] bool seeks() const { return !servers_.front().node->up(); }

  void follow_sentinels(Micros now);
  Server& server_of(std::uint16_t slot);
  Node& node_in(Server& server);
  Server* server_at(const Endpoint& endpoint);
  std::optional<Redirect> read(std::string_view error, const Node& from);
  std::optional<std::uint16_t> learn(std::uint16_t slot, Server& server, Micros now);
  void forget_unused();

  const Config& config_;
  const Topology topology_;
  const Dial dial_;
  const std::string inbox_;
  std::uint64_t seed_;  // of the next node
  Log& log_;
  const AddressMap addresses_;
  NodeEvents* events_ = nullptr;
  std::list<Server> servers_;
  std::vector<Server*> homes_;  // those of the topology
  std::optional<Sentinels> sentinels_;
  std::unordered_map<std::uint16_t, Moved> moved_;
  std::size_t dropped_ = 0;  // messages, by nodes that are gone
  Micros tell_refusal_at_ = 0;
  // While an error reply is dealt with.
  bool follows_ = false;
  std::optional<Redirect> detour_;
};

}  // namespace belay
