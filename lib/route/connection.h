// One connection to a server, from the attempt to its end: the greeting, which reply belongs to
// which command, which scripts the server has, the inbox and the watched keys. Sans-IO: what comes
// in is told to the node that owns it. Used inside the client's monitor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "net/link.h"
#include "net/resp.h"
#include "route/command.h"
#include "route/heard.h"
#include "route/inbox.h"
#include "route/slot_map.h"
#include "route/topology.h"

namespace belay {

class Connection {
 public:
  // `calls`: so many calls of scripts were made on earlier ones. All that is given by reference
  // outlives it.
  Connection(const Config& config, Deployment deployment, const Inbox& inbox, Link& link, Log& log,
             std::uint32_t calls);

  // Begins to connect; once the link is open, the greeting is sent.
  void open() { link_.open(); }

  void greet(Micros now);
  // Ends the link and forgets what was not answered.
  void end();

  void send(const Command& command, Micros now);

  // The next command is for a slot that is on its way to this server.
  void announce_asking(Micros now) { write(Step::kAsking, {"ASKING"}, now); }

  // From now on what is published about this slot is heard, where each slot has a channel. For a
  // minute or more after the last time.
  void listen(std::uint16_t slot, Micros now);
  // Ends that for the slots that were not named since and are not in use.
  void stop_listening(const SlotSet& in_use, Micros since, Micros now);

  void watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now);
  // Unless that is on its way.
  void ask_time(Micros now);
  void ask_replication(Micros now);
  // Unless that is on its way, too.
  void ask_slots(Micros now);
  void kill(std::int64_t connection, Micros now);

  // Cuts bytes into replies and pushes, each of which is to be heard. See ReplyReader::feed.
  std::string read(std::string_view bytes, const std::function<bool(Reply)>& on_reply);

  std::size_t take_passed_over() { return reader_.take_passed_over(); }

  Heard hear(Reply reply, Micros now);

  // By when the server must have answered something; kNever where nothing was asked.
  [[nodiscard]] Micros deadline() const;

  // Since when it has owed the answer that comes next; kNever: it owes none.
  [[nodiscard]] Micros waits_since() const;

  // Which node of a cluster has which slots, as this one has said last.
  [[nodiscard]] const std::vector<SlotRange>& slots() const { return slots_; }

  // Whether it is sent what was published at other servers, too.
  [[nodiscard]] bool echoes() const { return inbox_.by_slot && !has_shard_channels_; }

  // All that was asked has been answered.
  [[nodiscard]] bool idle() const { return in_flight_.empty(); }

  [[nodiscard]] const Status& why() const { return why_; }

  // The server has said that it is a replica, or has become one.
  [[nodiscard]] bool met_replica() const { return met_replica_; }

  // Keys can be watched.
  [[nodiscard]] bool tracks() const { return tracking_; }

  // CLIENT ID, 0 = not known.
  [[nodiscard]] std::int64_t id() const { return id_; }

  // Of the server, "" = not known.
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

  // Of scripts, also on earlier connections.
  [[nodiscard]] std::uint32_t calls() const { return calls_; }

 private:
  // Those of the greeting come before those of an open connection.
  enum class Step : std::uint8_t {
    kHello,
    kId,
    kSelect,
    kSubscribe,
    kTracking,
    kInfo,
    kMemory,
    kMap,
    kTime,
    kKill,
    kCommand,
    kClock,
    kReplication,
    kNewMap,
    kListen,
    kStopListening,
    kAsking,
    kCaching,
    kWatch
  };

  struct Sent {
    Step step;
    std::uint64_t id;  // of a command or a watch; the slot that is listened to
    Micros at;
    const Script* script;
    std::string mark;  // of a script's call, which its reply repeats
  };

  void write(Step step, const std::vector<std::string_view>& argv, Micros now,
             std::uint64_t id = 0);
  static bool can_answer(Step step, Reply reply);
  std::optional<Reply> answer_in(Reply whole, const Sent& sent);
  Heard on_reply(Reply whole, Micros now);
  Heard on_push(Reply push);
  Heard on_not_listening(std::uint16_t slot, std::string_view error);
  [[nodiscard]] bool is_ours(std::string_view channel) const;
  [[nodiscard]] bool may_listen(std::string_view error) const;
  [[nodiscard]] const char* subscribe_verb() const;
  Heard on_greeting(Step step, Reply reply);
  Heard on_command_reply(const Sent& sent, Reply reply);
  Heard on_time(Heard::What what, Reply reply);
  Heard on_slots(Reply reply);
  Heard fail(Status why);
  Heard refuse();
  Status check_server(Reply hello);
  Status check_kind(Reply hello);
  void warn_of_eviction(std::string_view info) const;
  void warn_of_unchecked_rights();
  Status refusal(std::string_view during, std::string_view words) const;

  const Config& config_;
  const Deployment deployment_;
  const Inbox& inbox_;
  Link& link_;
  Log& log_;
  ReplyReader reader_;
  std::deque<Sent> in_flight_;
  Micros answered_at_ = 0;  // when the latest reply came
  bool time_asked_ = false;
  bool slots_asked_ = false;
  std::vector<SlotRange> slots_;
  bool told_unchecked_ = false;
  bool has_shard_channels_ = false;
  std::unordered_map<std::uint16_t, Micros> listened_;  // slots, when they were named last
  std::vector<const Script*> loaded_;
  std::uint32_t calls_;
  bool tracking_ = false;
  bool met_replica_ = false;
  std::int64_t id_ = 0;
  std::string run_id_;
  Status why_;
  std::string bytes_;  // scratch
};

}  // namespace belay
