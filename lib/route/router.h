// The servers that a client knows, each a node while it is connected to or about to be, and which
// of them answers for a slot: as the topology begins, and as servers or sentinels have said since.
// Used inside the client's monitor; owned by the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address_map.h"
#include "base/config.h"
#include "base/log.h"
#include "net/link.h"
#include "route/inbox.h"
#include "route/node.h"
#include "route/sentinels.h"
#include "route/server_error.h"
#include "route/servers.h"
#include "route/slot_owners.h"
#include "route/topology.h"

namespace belay {

class Router {
 public:
  // `dial` makes links to where servers are. Nodes of a cluster are dialled when a slot of theirs
  // is first needed, any other server at once.
  Router(const Config& config, Topology topology, Dial dial, Inbox inbox, std::uint64_t seed,
         Log& log);

  // From now on `events` hears of every node.
  void start(NodeEvents& events, Micros now);
  void stop();
  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  // Lets go of the servers of a cluster that nobody needs and that nothing was sent to for a while:
  // whatever of that is still on its way comes too late to have an effect.
  void close_idle(const std::function<bool(const Node&)>& is_needed, Micros now);

  // Likewise ends listening to what is published about slots that are not in use.
  void stop_listening(const std::function<SlotSet()>& slots_in_use, Micros now);

  Node& node_of(std::uint16_t slot) { return servers_.node_in(server_of(slot)); }

  std::uint16_t group_of(std::uint16_t slot) { return topology_.place_of(slot).group; }

  [[nodiscard]] bool is_cluster() const { return topology_.is_cluster(); }

  // Whether any server has said where slots are, or need not.
  [[nodiscard]] bool knows_slots() const { return !owners_ || owners_->knows_any(); }

  // A slot of each server that has any, or of each of these that is connected to or about to be; at
  // least one.
  [[nodiscard]] std::vector<std::uint16_t> slots_of_servers(bool in_use) const {
    return owners_ ? owners_->slots_of_servers(in_use) : std::vector<std::uint16_t>{0};
  }

  // Whose link it is; null where that node has been let go of, or has moved away from there.
  Node* node_at(const Link& link) { return servers_.node_at(link); }

  // The same, of a sentinel, too.
  Peer* peer_at(const Link& link);
  // What is to be written now that the monitor is left.
  Links links_to_flush();
  // The only link that waits for that, or that there is; null: there is no such.
  [[nodiscard]] std::shared_ptr<Link> only_link() const;

  // How many messages came that no script sent.
  [[nodiscard]] std::size_t dropped_messages() const { return servers_.dropped_messages(); }

  // Whether anything of an earlier connection may still arrive, at any server.
  [[nodiscard]] bool has_ghosts() const { return servers_.has_ghosts(); }

  // An error reply is dealt with from now on. If it says where a slot is, what is sent for that
  // slot until `end_reply` goes there: after MOVED for good, after ASK each command with ASKING.
  // It came from a node, which may have been asked because of another ASK: on a `detour`. Returns
  // the slot if it has moved, as far as that is news.
  std::optional<std::uint16_t> begin_reply(std::string_view error, const Node& from, bool detour,
                                           Micros now);

  // A node of a cluster has said who has which slots. Gives those that are elsewhere than was
  // known.
  SlotSet on_slots(const std::vector<SlotRange>& map, const Node& from, Micros now);

  // The same for an answer that says nothing of the present: the command goes once more.
  void begin_outdated_reply() { follows_ = true; }

  void end_reply();

  // A server takes no locks for now, as these words say: told once a minute at most, as others may
  // be answered meanwhile, and the words may differ from script to script. Because a slot is
  // moving: told if that lasts.
  void on_refusal(const std::string& words, bool moving, Micros now);

  // What an error means: what sends us elsewhere is followed, if that can be.
  [[nodiscard]] ServerError judge(std::string_view error) const;

 private:
  // What an error says: that a slot has moved to a server, or is on its way there.
  struct Redirect {
    bool moved;
    std::uint16_t slot;
    Server* to;
  };

  // Nobody is connected to the master that is watched.
  [[nodiscard]] bool seeks() const { return !servers_.all().front().node->up(); }

  [[nodiscard]] Micros idle_at(const Server& server) const;
  void follow_sentinels(Micros now);
  void tell_of_moves(const SlotSet& moved);
  Server& server_of(std::uint16_t slot);
  std::optional<Redirect> read(std::string_view error, const Node& from);

  const Config& config_;
  const Topology topology_;
  const Dial dial_;
  Log& log_;
  const AddressMap addresses_;
  Servers servers_;
  std::vector<Server*> homes_;        // those of the topology
  std::optional<SlotOwners> owners_;  // of a cluster
  std::optional<Sentinels> sentinels_;
  Micros tell_refusal_at_ = 0;
  Micros moving_since_ = 0;           // a slot that is asked about
  Micros moving_at_ = -10 * kSecond;  // at last; none has yet
  Micros stop_listening_at_ = 0;
  // While an error reply is dealt with.
  bool follows_ = false;
  std::optional<Redirect> detour_;
};

}  // namespace belay
