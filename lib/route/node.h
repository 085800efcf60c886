// One server: the handshake, reconnecting, which reply belongs to which command, and what is known
// of its clock and distance. Sans-IO: bytes and time come in, bytes go out to a Link. Used inside
// the client's monitor; owned by the client.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "base/random.h"
#include "net/link.h"
#include "net/resp.h"
#include "route/clock_bound.h"
#include "route/command.h"
#include "route/round_trips.h"

namespace belay {

class Node;

class NodeEvents {
 public:
  NodeEvents() = default;
  virtual ~NodeEvents() = default;
  NodeEvents(const NodeEvents&) = delete;
  NodeEvents& operator=(const NodeEvents&) = delete;

  // Commands may be sent from now on. Whatever was sent before and not answered may have happened.
  virtual void on_node_up(Node& node, Micros now) = 0;
  virtual void on_node_down(Node& node, Micros now) = 0;
  // The server will not have us; it is asked again.
  virtual void on_node_refused(Node& node, Micros now) = 0;
  virtual void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent,
                             Micros now) = 0;
  // A message came to our inbox.
  virtual void on_node_message(Node& node, std::string_view payload, Micros now) = 0;
  // The server's data was wiped.
  virtual void on_node_flushed(Node& node, Micros now) = 0;
  // Somebody else wrote or deleted a watched key, or the server did. It is watched no more.
  virtual void on_node_changed(Node& node, std::string_view key, Micros now) = 0;
  // A clock sample that was asked for has come.
  virtual void on_node_clock(Node& node, Micros now) = 0;
};

class Node {
 public:
  Node(const Config& config, std::string inbox, std::uint64_t seed, Link& link, Log& log);

  // Inputs. From the start on, `events` hears of everything.
  void start(NodeEvents& events, Micros now);
  void stop();
  void on_link_open(Micros now);
  void on_link_bytes(std::string_view bytes, Micros now);
  void on_link_closed(const Status& why, Micros now);
  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  // Sends a command. Only while up.
  void send(const Command& command, Micros now);
  // Asks to be told of the next change of each key; the reply says how many there are. Only where
  // it can be watched.
  void watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now);
  // Asks for a sample of the clock; on_node_clock follows, or the node goes down.
  void refresh_clock(Micros now);
  // The server's time in a reply to a command, or in a message (`sent` = 0).
  void saw_time(Micros server, Micros sent, Micros now);

  [[nodiscard]] bool up() const { return state_ == State::kUp; }

  [[nodiscard]] bool can_watch() const { return tracking_; }

  // Commands of earlier connections may still be on their way: they could not be killed.
  [[nodiscard]] bool has_ghosts() const { return ghosts_; }

  [[nodiscard]] const ClockBound& clock() const { return clock_; }

  [[nodiscard]] Micros round_trip() const { return round_trips_.highest(); }

  // What a round trip takes at least. Only while up.
  [[nodiscard]] Micros distance() const { return round_trips_.least(); }

  // So many messages came that no script sent: tells of them now and then.
  void dropped_messages(std::size_t count, Micros now);

  // How many there were.
  [[nodiscard]] std::size_t dropped() const { return all_dropped_; }

  // Why it is not up; OK while it is, or while nothing has failed yet.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  // Whether the trouble is one that somebody has to mend.
  [[nodiscard]] bool refused() const {
    return !up() && belay_status_class(trouble_.code) == BELAY_CLASS_REFUSED;
  }

  // What the server said, and where it is about a user, of whom.
  [[nodiscard]] std::string explained(std::string_view words) const;

  [[nodiscard]] std::string display() const { return config_.server.display(); }

 private:
  enum class State : std::uint8_t { kStopped, kWaiting, kConnecting, kGreeting, kUp };
  enum class Step : std::uint8_t {
    kHello,
    kId,
    kSelect,
    kSubscribe,
    kTracking,
    kInfo,
    kMemory,
    kTime,
    kKill,
    kCommand,
    kClock,
    kCaching,
    kWatch
  };

  // An earlier one of ours.
  struct Connection {
    std::string
        run_id;  // of the server that gave the id: others may have given it to somebody else
    std::int64_t id;
  };

  struct Sent {
    Step step;
    std::uint64_t id;  // of a command or a watch
    Micros at;
    const Script* script;
    std::string mark;  // of a script's call, which its reply repeats
  };

  void connect(Micros now);
  void fail(const Status& why, Micros now);
  void greet(Micros now);
  void write(Step step, const std::vector<std::string_view>& argv, Micros now,
             std::uint64_t id = 0);
  bool on_reply(Reply reply, Micros now);
  static bool can_answer(Step step, Reply reply);
  bool refuse(Micros now);
  bool on_push(Reply push, Micros now);
  void on_invalidated(Reply keys, Micros now);
  bool on_greeting(Step step, Reply reply, Micros sent, Micros now);
  Status check_server(Reply hello) const;
  bool on_time(Reply reply, Micros sent, Micros now);
  void warn_of_eviction(std::string_view info) const;
  bool finish_greeting(Micros now);
  void become_up(Micros now);
  bool on_command_reply(const Sent& sent, Reply reply, Micros now);
  Status refusal(std::string_view during, std::string_view words) const;
  Micros backoff();

  const Config& config_;
  const std::string inbox_;
  Log& log_;
  Random random_;
  Link& link_;
  NodeEvents* events_ = nullptr;
  ReplyReader reader_;
  State state_ = State::kStopped;
  Micros act_at_ = kNever;  // when to connect, or to give up connecting and greeting
  int failures_ = 0;
  std::deque<Sent> in_flight_;
  Micros answered_at_ = 0;  // when the latest reply came
  bool clock_asked_ = false;
  std::vector<const Script*> loaded_;
  std::uint32_t calls_ = 0;  // of scripts, on all connections
  ClockBound clock_;
  RoundTrips round_trips_;
  Status trouble_;
  bool ghosts_ = false;
  bool tracking_ = false;
  std::size_t dropped_ = 0;  // messages that nobody was told of yet
  std::size_t all_dropped_ = 0;
  Micros tell_dropped_at_ = 0;
  std::int64_t connection_id_ = 0;  // CLIENT ID, 0 = not known
  std::deque<Connection> old_;      // that may still be alive on their servers
  std::string run_id_;              // of the server
  std::string bytes_;               // scratch
};

}  // namespace belay
