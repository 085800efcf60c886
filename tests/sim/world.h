// The world of a simulation: true time, the order of events, servers with clocks of their own, and
// a network that delays, cuts and loses. Deterministic: everything follows from the seed. One
// thread; the schedule owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/random.h"
#include "net/link.h"
#include "route/slot.h"
#include "sim/digest.h"
#include "sim/server.h"
#include "sim/slot_places.h"

namespace belay::sim {

// What may go wrong in a schedule.
struct Faults {
  bool cuts = false;
  bool lost_pushes = false;
  bool pauses = false;
  bool stops = false;  // pauses that outlast every bound of progress
  bool crashes = false;
  bool server_stops = false;
  bool server_restarts = false;  // with data
  bool data_loss = false;        // FLUSHALL, eviction, failover, restarts without data
  bool failovers = false;        // bring back what had been given up
  bool clock_back = false;
  bool clock_forward = false;
  bool script_flushes = false;
  bool no_kill = false;  // CLIENT KILL is not permitted
  bool breaks = false;
  bool shutdowns = false;
  bool errors = false;       // the server refuses now and then
  bool clock_slips = false;  // threads read the clock, then enter the monitor in the other order
};

// What a schedule decides to do, as numbers that mean the same in each run of its seed.
struct Decisions {
  std::unordered_set<std::uint64_t> left_out;  // not to do
  std::vector<std::uint64_t> taken;            // all the others, in order
};

// How much earlier than its entry a thread may have read the clock.
inline constexpr Micros kLongestSlip = 3 * kMillisecond;

// Which hosts are a master and its replicas; the others are their sentinels.
struct Replication {
  std::size_t members = 0;  // the first ones
  std::size_t master = 0;
  bool divided = false;  // the one before goes on as a master, too
};

class World;

// Where a host is.
Endpoint endpoint_of(std::size_t host);

// A client's end of a connection, as Node sees it.
class SimLink final : public Link {
 public:
  // `number` is that of the process whose link it is; it leads to that host.
  SimLink(World& world, int number, std::size_t host_number)
      : SimLink(world, number, host_number, endpoint_of(host_number)) {}

  // Named otherwise.
  SimLink(World& world, int number, std::size_t host_number, const Endpoint& name)
      : Link(name), process(number), host(host_number), world_(world) {}

  ~SimLink() override { SimLink::close(); }

  SimLink(const SimLink&) = delete;
  SimLink& operator=(const SimLink&) = delete;

  void open() override;

  void send(std::string_view bytes) override { queued_.append(bytes); }

  void close() override;

  // Puts what was sent since the last flush on the wire, as the client does when it leaves its
  // monitor.
  void flush();

  bool connected() const { return connection_ >= 0; }

  // What the client does with what arrives; may be called at any later time, also while the process
  // is paused.
  struct Handlers {
    std::function<void(int)> opened;
    // And when what they answer was sent (kNever: they answer nothing), and when they were written.
    std::function<void(int, std::string, Micros sent, Micros written)> bytes;
    std::function<void(int)> closed;
  };

  Handlers handlers;
  const int process;
  const std::size_t host;

  int connection() const { return connection_; }

 private:
  World& world_;
  int connection_ = -1;
  std::string queued_;
};

class World {
 public:
  // `decisions` may be null; else it is read and filled, and outlives the world. The names lie on
  // the hosts by their slots.
  World(std::uint64_t seed, const Faults& faults, Micros longest_delay,
        Decisions* decisions = nullptr, std::size_t hosts = 1);

  Micros now() const { return now_; }

  Random& random() { return random_; }

  bool chance(int percent) { return random_.between(1, 100) <= percent; }

  // How fast a clock runs, in ppm too much: often the most that is assumed.
  std::int64_t some_drift() {
    return chance(50) ? (chance(50) ? kMostDrift : -kMostDrift)
                      : random_.between(-kMostDrift, kMostDrift);
  }

  // How much earlier than now a thread has read the clock.
  Micros clock_slip() {
    const bool slips = faults_.clock_slips && chance(20);
    slipped_at_ = slips ? now_ : slipped_at_;
    return slips ? span(1, kLongestSlip) : 0;
  }

  // Whether what counts from an entry may count from an earlier clock than the entry's.
  [[nodiscard]] bool slipped() const { return now_ - slipped_at_ <= kLongestSlip; }

  // Whether to do something that a smaller schedule may leave out.
  bool decide();

  // Log-uniform: short and long ones are equally likely.
  Micros span(Micros low, Micros high);

  // The action's random numbers follow from those of the action that asks for it, and from nothing
  // else that happens: what is left out of a schedule changes little of the rest.
  void at(Micros time, std::function<void()> action);
  // Runs until nothing is left, `end` has come, or a violation was noted. False: too many events.
  bool run(Micros end);

  void violation(const std::string& what);

  const std::string& violation() const { return violation_; }

  void trace(const std::string& line);

  // Of all commands that servers run, and of what else is added.
  Digest& digest() { return digest_; }

  void set_verbose(bool verbose) { verbose_ = verbose; }

  bool verbose() const { return verbose_; }

  // What looks on when the server runs a script for a process, before and after.
  struct Onlooker {
    std::function<void()> before;
    std::function<void(int process, Server::Args argv, bool failed)> after;
  };

  void set_onlooker(Onlooker onlooker) { onlooker_ = std::move(onlooker); }

  // Who hears each message that the server sends to a process.
  void set_listener(std::function<void(std::string_view push)> listener) {
    listener_ = std::move(listener);
  }

  // A message takes so many times the longest delay now and then, until it is calm.
  static constexpr Micros kSeldomLonger = 20;

  // The network.
  int connect(SimLink& link);
  void send(int connection, std::string bytes);
  void close(int connection);  // by the client: what is on its way may still arrive
  // Breaks a connection: a prefix of what is on its way still reaches the server, perhaps much
  // later (a ghost). `told`: whether the client learns of it, or has to find out (half-open).
  void cut(int connection, bool ghosts, bool told);

  // The servers: each an hour ahead of the one before, or nodes of a cluster whose clocks agree.
  std::size_t hosts() const { return hosts_.size(); }

  // Where a slot begins, as every client knows from its start.
  std::size_t home_of(std::uint16_t slot) const { return places_.home_of(slot); }

  // Where a key is, or would be made.
  std::size_t host_of(std::string_view key);

  Server& server_of(std::string_view key) { return server(host_of(key)); }

  // Whether its slot has ever moved, or begun to.
  bool has_moved(std::string_view key) const;

  // From now on the servers are nodes of a cluster, and send away what is not theirs. So many are
  // masters; the others have nothing. `are_old`: of Redis 6.2.
  void become_a_cluster(std::size_t masters, bool are_old = false);

  bool is_a_cluster() const { return is_a_cluster_; }

  SlotPlaces& places() { return places_; }

  [[nodiscard]] const SlotPlaces& places() const { return places_; }

  bool has_shard_channels() const { return is_a_cluster_ && !are_old_; }

  // The slot goes to another node, a key after each pause.
  void move_slot(std::uint16_t slot, std::size_t to, Micros longest_pause);
  // The same step by step. False: it is on its way, or there.
  bool begin_move(std::uint16_t slot, std::size_t to);
  void move_key(const std::string& key);
  void end_move(std::uint16_t slot);  // with what is left of its keys

  // From now on the names lie on the master of so many hosts; all clocks agree, or each is that
  // much ahead or behind at most.
  void become_replicated(std::size_t members, Micros apart);

  // None: the servers are no replicas of each other.
  std::optional<Replication>& replication() { return replication_; }

  [[nodiscard]] const std::optional<Replication>& replication() const { return replication_; }

  std::size_t some_host();

  Server& server(std::size_t host = 0) { return hosts_[host].server; }

  Micros server_time(std::size_t host = 0) const;

  // A process has read the answer to what it sent then.
  void answered(int process, Micros sent) {
    if (sent != kNever) {
      longest_trips_[process] = std::max(longest_trip(process), now_ - sent);
    }
  }

  // There and back, as the process has seen it: with whatever stopped the server or itself.
  Micros longest_trip(int process) const {
    const auto found = longest_trips_.find(process);
    return found == longest_trips_.end() ? 0 : found->second;
  }

  void step_clock(std::size_t host, Micros by) { hosts_[host].offset += by; }

  void stop_server(std::size_t host, Micros duration);
  void restart_server(std::size_t host, bool keep_data);
  // Another server takes over at the same address, with the data as they were `lag` before.
  void fail_over(std::size_t host, Micros lag);
  // Nobody reaches it until it is there again, and it tells everybody so.
  void go_down(std::size_t host);

  void come_back(std::size_t host) { hosts_[host].down = false; }

  bool is_down(std::size_t host) const { return hosts_[host].down; }

  // It ends all its connections.
  void cut_everybody(std::size_t host);

  bool server_stopped(std::size_t host) const { return hosts_[host].stopped; }

  // Since when it is not.
  Micros runs_since(std::size_t host) const { return hosts_[host].runs_since; }

  // By hand, beside what restarts and failovers lose.
  void lose_data(std::size_t host) {
    data_lost_ = now_;
    end_fences(host);
  }

  // Those that it has given stand for nothing any more.
  void end_fences(std::size_t host) { hosts_[host].data_lost_at = server_time(host); }

  // By the server's clock, the latest time; 0: never. Of a master, or a node of a cluster, by the
  // clock of whichever host lost some, or went on beside it.
  Micros data_lost_at(std::size_t host) const;

  // The same in true time, on any host; negative: never.
  Micros data_lost() const { return data_lost_; }

  // Whether a master may have written beside its replacement, where nobody watches it.
  bool has_had_two_masters() const {
    return replication_.has_value() || (is_a_cluster_ && data_lost_ >= 0);
  }

  // Whether one does now.
  bool has_two_masters() const {
    return replication_ ? replication_->divided : places_.unaware().has_value();
  }

  // No more faults by chance.
  void calm() {
    calm_ = true;
    lost_percent_ = 0;
  }

  // From now on the servers' clocks are as fast as is assumed.
  void speed_up_servers() {
    for (Host& host : hosts_) {
      host.drift_ppm = kMostDrift;
    }
  }

  // A network of some length, with less jitter.
  void set_shortest_delay(Micros delay) { shortest_delay_ = delay; }

  void lose_messages(int percent) { lost_percent_ = percent; }

  // When the latest message was lost; 0: none was.
  Micros lost_message_at() const { return lost_message_at_; }

  std::uint64_t events() const { return events_; }

 private:
  // A server, on a machine with a clock of its own.
  struct Host {
    explicit Host(std::uint64_t seed) : server(seed) {}

    Server server;
    Micros offset = 0;
    std::int64_t drift_ppm = 0;
    bool stopped = false;
    Micros runs_since = 0;
    bool down = false;
    Micros data_lost_at = 0;
  };

  // Whether names lie there: what runs beside the master counts for nothing.
  [[nodiscard]] bool is_watched(std::size_t host) const {
    return replication_ ? replication_->master == host : places_.unaware() != host;
  }

  void tell_other_nodes(std::size_t host, const std::string& channel, const std::string& payload);
  void move_some_key(std::uint16_t slot, Micros longest_pause);
  void add_host(std::uint64_t seed);

  // With another clock's as much, within the 0.5 % that are assumed.
  static constexpr std::int64_t kMostDrift = 2400;

  struct Event {
    Micros time;
    std::uint64_t order;
    std::uint64_t seed;
    std::function<void()> action;

    // As a heap has its greatest in front: the earliest is the greatest.
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  struct Chunk {
    std::string bytes;
    Micros sent = 0;
  };

  struct Connection {
    SimLink* link = nullptr;  // null once the client has let go
    int process = 0;
    std::size_t host = 0;
    int server_id = -1;  // CLIENT ID; -1: gone on the server's side
    bool cut = false;
    std::uint64_t sent = 0;     // chunks by the client
    std::uint64_t arrives = 0;  // of a cut one: how many of these still arrive
    Micros ghost_delay = 0;
    Micros to_server = 0;  // when the latest chunk arrives
    Micros to_client = 0;
    std::deque<Chunk> backlog;  // while the server is stopped
  };

  Micros delay();
  std::optional<std::string> refusal(Server::Args argv);
  void arrive(int connection, const Chunk& chunk);
  void execute(int connection, const Chunk& chunk);
  void reply(int connection, std::string bytes, bool push, Micros sent);
  void drop_on_server(int connection);
  void tell_closed(int connection, Micros when);

  Digest digest_;
  Random random_;  // of the event that runs
  Random seeds_;   // for those that it causes
  Decisions* const decisions_;
  const Faults faults_;
  Micros shortest_delay_ = 50;
  const Micros longest_delay_;
  Micros now_ = 0;
  Micros slipped_at_ = -kSecond;
  std::uint64_t order_ = 0;
  std::uint64_t events_ = 0;
  std::vector<Event> queue_;  // a heap
  std::string violation_;
  Onlooker onlooker_;
  std::function<void(std::string_view)> listener_;
  bool verbose_ = false;
  bool calm_ = false;
  int lost_percent_ = 0;
  Micros lost_message_at_ = 0;
  std::map<int, Micros> longest_trips_;  // by process
  std::deque<Host> hosts_;
  Micros data_lost_ = -1;
  std::optional<Replication> replication_;
  bool is_a_cluster_ = false;
  bool are_old_ = false;
  SlotPlaces places_;
  std::map<std::pair<std::size_t, std::size_t>, Micros> heard_at_;  // of one node, by another
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::string_view> argv_;  // of the command that runs
};

}  // namespace belay::sim
