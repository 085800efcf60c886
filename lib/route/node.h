// One server, which outlives its connections and may be at one of several endpoints: when and where
// to reconnect, what older connections may still deliver, and what is known of its clock and
// distance. Sans-IO: bytes and time come in, bytes go out to a Link. Used inside the client's
// monitor; owned by the core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "net/link.h"
#include "route/backoff.h"
#include "route/clock_bound.h"
#include "route/command.h"
#include "route/connection.h"
#include "route/discovery.h"
#include "route/inbox.h"
#include "route/node_events.h"
#include "route/old_connections.h"
#include "route/peer.h"
#include "route/round_trips.h"
#include "route/topology.h"

namespace belay {

class Node final : public Peer {
 public:
  // `links`: to wherever it may be.
  Node(const Config& config, Deployment deployment, Inbox inbox, std::uint64_t seed, Links links,
       Log& log);

  // Inputs. From the start on, `events` hears of everything. `now`: kNever where its links lead
  // nowhere until it is told where it is.
  void start(NodeEvents& events, Micros now);
  void stop();
  void on_link_open(Micros now) override;
  void on_link_bytes(std::string_view bytes, Micros now) override;
  void on_link_closed(const Status& why, Micros now) override;
  // It is at the end of this link by now, and why; `lead`: what has led there, in brackets. A
  // connection to another place ends.
  void move_to(std::shared_ptr<Link> link, const Status& why, std::string lead, Micros now);
  // Nobody can say where it is.
  void on_nowhere(const Status& why, Micros now);
  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  // Sends a command. Only while up.
  void send(const Command& command, Micros now);
  // From now on what others say about this slot is heard. Likewise.
  void listen(std::uint16_t slot, Micros now);
  // Ends that for the slots that were not named since and are not in use.
  void stop_listening(const SlotSet& in_use, Micros since, Micros now);

  // Whether we are sent what was published at other servers, too. Likewise.
  [[nodiscard]] bool echoes() const { return connection_->echoes(); }

  // Asks to be told of the next change of each key; the reply says how many there are. Only where
  // it can be watched.
  void watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now);

  // Something needs it. And when something was last sent for that, or needed it, or when it was
  // first connected to; kNever: it will be.
  void use(Micros now);
  [[nodiscard]] Micros used_at() const;
  // It is up, and nobody has needed it so far.
  [[nodiscard]] bool is_unused() const;
  // Asks a node of a cluster who has which slots; on_node_slots follows. Only while up.
  void ask_slots(Micros now);
  // From when on it does not answer as it should: so far as is known now.
  [[nodiscard]] Micros overdue_at() const;
  // Waits no longer for what it owes. Only while up.
  void give_up(Micros now);
  // From now on each command is one for a slot that is on its way here, or no longer so.
  void set_asking(bool asking);
  [[nodiscard]] bool asking() const;
  // Asks for a sample of the clock; on_node_clock follows, or the node goes down.
  void refresh_clock(Micros now);
  // The server's time in a reply to a command, or in a message (`sent` = 0).
  void saw_time(ServerTime server, Micros sent, Micros now);

  [[nodiscard]] bool up() const { return state_ == State::kUp; }

  [[nodiscard]] bool can_watch() const;
  // Commands of earlier connections may still be on their way: they could not be killed, or have
  // not been yet.
  [[nodiscard]] bool has_ghosts() const;

  // The server is not the one that was there before: it has another clock, and maybe other data.
  // While up.
  [[nodiscard]] bool is_another() const { return is_another_; }

  [[nodiscard]] const ClockBound& clock() const { return clock_; }

  [[nodiscard]] Micros round_trip() const { return round_trips_.highest(); }

  // What a round trip takes at least. Only while up.
  [[nodiscard]] Micros distance() const;
  // So many messages came that no script sent: tells of them now and then.
  void dropped_messages(std::size_t count, Micros now);
  // How many there were.
  [[nodiscard]] std::size_t dropped() const;

  // Why it is not up; OK while it is, or while nothing has failed yet.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  // Whether the trouble is one that somebody has to mend.
  [[nodiscard]] bool refused() const;
  // What the server said, and where it is about a user, of whom.
  [[nodiscard]] std::string explained(std::string_view words) const;

  // The link that is in use; one that may be.
  [[nodiscard]] const std::shared_ptr<Link>& link() const { return link_; }

  [[nodiscard]] bool has(const Link& link) const;
  // Where it is sought next.
  [[nodiscard]] const Endpoint& goal() const;
  [[nodiscard]] std::string display() const;

 private:
  enum class State : std::uint8_t { kStopped, kWaiting, kConnecting, kGreeting, kUp };

  // Its connection is open.
  [[nodiscard]] bool connected() const;
  [[nodiscard]] ServerRun server() const;
  [[nodiscard]] Micros share() const;
  void connect(Micros now);
  void fail(const Status& why, Micros now);
  void on_heard(const Heard& heard, Micros now);
  void warn_of_failover(Reply info);
  void on_invalidated(Reply keys, Micros now);
  void on_greeted(const Heard& heard, Micros now);
  void kill_old(Micros now);
  void become_up_when_idle(Micros now);

  const Config& config_;
  const Deployment deployment_;
  const Inbox inbox_;
  Log& log_;
  Backoff backoff_;
  Links links_;
  std::shared_ptr<Link> link_;  // one of them
  Discovery discovery_;
  NodeEvents* events_ = nullptr;
  std::optional<Connection> connection_;  // the latest
  State state_ = State::kStopped;
  Micros act_at_ = kNever;  // when to connect, or to give up connecting and greeting
  Micros patience_ = 0;     // with connecting
  ClockBound clock_;
  RoundTrips round_trips_;
  Status trouble_;
  std::string lead_;          // to where it is sought, in words: for whoever cannot find it there
  Micros begun_at_ = kNever;  // to connect, the latest time
  Micros used_at_ = kNever;
  bool used_ = false;
  bool ghosts_ = false;
  bool asking_ = false;
  std::optional<ServerRun> latest_;  // that was up
  bool is_another_ = false;
  std::size_t dropped_ = 0;  // messages that nobody was told of yet
  std::size_t all_dropped_ = 0;
  Micros tell_dropped_at_ = 0;
  bool told_risk_ = false;
  OldConnections old_;
};

}  // namespace belay
