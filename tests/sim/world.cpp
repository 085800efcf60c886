#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "route/slot.h"
#include "scripts/scripts.h"
#include "sim/resp.h"

namespace belay::sim {

namespace {

constexpr Micros kEpoch = Micros{1'700'000'000} * kSecond;
constexpr std::uint16_t kFirstPort = 7000;
constexpr Micros kApart = 3600 * kSecond;
constexpr std::uint64_t kMaxEvents = 400'000;
constexpr int kLostPercent = 10;
constexpr std::size_t kFirstKey = 3;  // of a script: after EVALSHA, the script, how many keys

// What a command is about: the verb of a script, or its own name.
std::string_view verb_of(Server::Args argv) {
  for (const Script* script :
       {&scripts::kAcquire, &scripts::kMany, &scripts::kTake, &scripts::kLeave, &scripts::kRelease,
        &scripts::kRenew, &scripts::kKeep, &scripts::kKeepMembers, &scripts::kReleaseMembers,
        &scripts::kInspect, &scripts::kBreak, &scripts::kLimit, &scripts::kGuard,
        &scripts::kLatchSet, &scripts::kLatchDown, &scripts::kLatchAwait, &scripts::kLatchLeave}) {
    if (argv.size() > 1 && (argv[1] == script->sha1 || argv[1] == script->body)) {
      return script->name;
    }
  }
  return argv[0];
}

}  // namespace

Endpoint endpoint_of(std::size_t host) {
  Endpoint endpoint;
  endpoint.host = "sim";
  endpoint.port = static_cast<std::uint16_t>(kFirstPort + host);
  return endpoint;
}

void SimLink::open() {
  close();
  connection_ = world_.connect(*this);
}

void SimLink::close() {
  queued_.clear();
  if (connection_ >= 0) {
    world_.close(connection_);
    connection_ = -1;
  }
}

void SimLink::flush() {
  if (connection_ >= 0 && !queued_.empty()) {
    world_.send(connection_, std::move(queued_));
  }
  queued_.clear();
}

World::World(std::uint64_t seed, const Faults& faults, Micros longest_delay, Decisions* decisions,
             std::size_t hosts)
    : random_(seed),
      seeds_(~seed),
      decisions_(decisions),
      faults_(faults),
      longest_delay_(longest_delay),
      places_(hosts) {
  lost_percent_ = faults.lost_pushes ? kLostPercent : 0;
  for (std::size_t i = 0; i < hosts; ++i) {
    add_host(seed + i);
  }
}

void World::add_host(std::uint64_t seed) {
  const std::size_t number = hosts_.size();
  Host& host = hosts_.emplace_back(seed);
  host.offset = static_cast<Micros>(number) * kApart;
  host.drift_ppm = some_drift();
  host.server.set_clock([this, number] { return server_time(number); });
  host.server.set_client_commands_allowed(!faults_.no_kill);
  if (faults_.errors) {
    host.server.set_fault([this](Server::Args argv) { return refusal(argv); });
  }
  host.server.set_on_killed([this, number](int id) {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i]->server_id == id && connections_[i]->host == number) {
        connections_[i]->server_id = -1;
        connections_[i]->backlog.clear();
        tell_closed(static_cast<int>(i), now_ + delay());
      }
    }
  });
}

// What a server in trouble answers to a script now and then.
std::optional<std::string> World::refusal(Server::Args argv) {
  static constexpr const char* kRefusals[] = {
      "OOM command not allowed when used memory > 'maxmemory'.",
      "BUSY Redis is busy running a script.",
      "LOADING Redis is loading the dataset in memory",
      "MISCONF Redis is configured to save RDB snapshots",
      "READONLY You can't write against a read only replica.",
      "NOREPLICAS Not enough good replicas to write.",
      "ERR something else"};
  if (calm_ || !argv[0].starts_with("EVAL")) {
    return std::nullopt;
  }
  // What stands because a leave did not come has rules of its own.
  const std::string_view verb = verb_of(argv);
  const bool leaves = verb == "leave" || verb == "release";
  if (!chance(leaves ? 25 : 5) || !decide()) {
    return std::nullopt;
  }
  const char* const words =
      kRefusals[random_.between(0, static_cast<std::int64_t>(std::size(kRefusals)) - 1)];
  trace(std::string("the server refuses: ") + words);
  return words;
}

bool World::decide() {
  const std::uint64_t decision = seeds_.next();
  if (decisions_ == nullptr) {
    return true;
  }
  if (decisions_->left_out.contains(decision)) {
    return false;
  }
  decisions_->taken.push_back(decision);
  return true;
}

Micros World::span(Micros low, Micros high) {
  const double part = static_cast<double>(random_.next() >> 11U) * 0x1.0p-53;
  return static_cast<Micros>(
      static_cast<double>(low) *
      std::exp(part * std::log(static_cast<double>(high) / static_cast<double>(low))));
}

void World::at(Micros time, std::function<void()> action) {
  queue_.push_back({std::max(time, now_), order_++, seeds_.next(), std::move(action)});
  std::push_heap(queue_.begin(), queue_.end());
}

bool World::run(Micros end) {
  while (!queue_.empty() && queue_.front().time <= end && violation_.empty()) {
    if (++events_ > kMaxEvents) {
      return false;
    }
    std::pop_heap(queue_.begin(), queue_.end());
    const Event event = std::move(queue_.back());
    queue_.pop_back();
    now_ = event.time;
    random_ = Random(event.seed);
    seeds_ = Random(~event.seed);
    event.action();
  }
  now_ = std::max(now_, end);
  return true;
}

void World::violation(const std::string& what) {
  trace("VIOLATION " + what);
  if (violation_.empty()) {
    violation_ = what;
  }
}

void World::trace(const std::string& line) {
  if (verbose_) {
    std::printf("%12.3f ms  %s\n", static_cast<double>(now_) / 1000, line.c_str());
  }
}

// ---- The network

Micros World::delay() {
  if (!calm_ && chance(3) && decide()) {
    return random_.between(longest_delay_, longest_delay_ * kSeldomLonger);
  }
  return random_.between(shortest_delay_, longest_delay_);
}

int World::connect(SimLink& link) {
  const int id = static_cast<int>(connections_.size());
  connections_.push_back(std::make_unique<Connection>());
  connections_.back()->link = &link;
  connections_.back()->process = link.process;
  connections_.back()->host = link.host;
  at(now_ + delay(), [this, id] {
    Connection& connection = *connections_[static_cast<std::size_t>(id)];
    if (connection.link == nullptr) {
      return;
    }
    if (hosts_[connection.host].down) {
      connection.link->handlers.closed(id);
      return;
    }
    connection.server_id = server(connection.host).connect([this, id](std::string_view bytes) {
      reply(id, std::string(bytes), true, kNever);
    });
    trace("connection " + std::to_string(id) + " is client id " +
          std::to_string(connection.server_id));
    connection.link->handlers.opened(id);
  });
  return id;
}

void World::send(int id, std::string bytes) {
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  const std::uint64_t index = connection.sent++;
  connection.to_server = std::max(connection.to_server + 1, now_ + delay());
  at(connection.to_server, [this, id, index, chunk = Chunk{std::move(bytes), now_}] {
    Connection& there = *connections_[static_cast<std::size_t>(id)];
    if (!there.cut) {
      arrive(id, chunk);
    } else if (index < there.arrives) {
      at(now_ + there.ghost_delay, [this, id, chunk] { arrive(id, chunk); });
    }
  });
}

void World::close(int id) {
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  connection.link = nullptr;
  if (!connection.cut) {
    const bool ghosts = faults_.cuts && !calm_ && chance(70);
    cut(id, ghosts, false);
  }
}

void World::cut(int id, bool ghosts, bool told) {
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  if (connection.cut) {
    return;
  }
  connection.cut = true;
  const auto sent = static_cast<std::int64_t>(connection.sent);
  connection.arrives = static_cast<std::uint64_t>(
      random_.between(std::max<std::int64_t>(0, sent - (ghosts ? 4 : 2)), sent));
  connection.ghost_delay = ghosts ? span(kMillisecond, 1500 * kMillisecond) : 0;
  const bool half_open = ghosts && chance(25) && decide();
  const Micros gone = std::max(connection.to_server, now_) + connection.ghost_delay +
                      (half_open ? random_.between(500 * kMillisecond, 8 * kSecond)
                                 : random_.between(100, 20 * kMillisecond));
  trace("connection " + std::to_string(id) + " is cut" + (ghosts ? ", late bytes follow" : "") +
        (half_open ? ", half-open" : ""));
  at(gone, [this, id] { drop_on_server(id); });
  if (told) {
    tell_closed(id, now_ + random_.between(0, 400 * kMillisecond));
  }
}

void World::tell_closed(int id, Micros when) {
  at(when, [this, id] {
    Connection& connection = *connections_[static_cast<std::size_t>(id)];
    if (connection.link != nullptr) {
      connection.link->handlers.closed(id);
    }
  });
}

void World::drop_on_server(int id) {
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  if (connection.server_id >= 0 && !server_stopped(connection.host)) {
    server(connection.host).disconnect(connection.server_id);
    connection.server_id = -1;
  } else if (connection.server_id >= 0) {
    connection.backlog.emplace_back();  // an empty chunk: the end, when the server runs again
  }
}

void World::reply(int id, std::string bytes, bool push, Micros sent) {
  const bool message = push && bytes.find("message") != std::string::npos;
  if (message && listener_) {
    listener_(bytes);
  }
  if (message && lost_percent_ > 0 && chance(lost_percent_) && decide()) {
    trace("a message to connection " + std::to_string(id) + " is lost");
    lost_message_at_ = now_;
    return;
  }
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  connection.to_client = std::max(connection.to_client + 1, now_ + delay());
  at(connection.to_client, [this, id, sent, written = now_, chunk = std::move(bytes)]() mutable {
    Connection& there = *connections_[static_cast<std::size_t>(id)];
    if (there.link != nullptr && !there.cut) {
      there.link->handlers.bytes(id, std::move(chunk), sent, written);
    }
  });
}

// ---- The servers

std::size_t World::host_of(std::string_view key) {
  if (replication_) {
    return replication_->master;
  }
  const std::uint16_t slot = slot_of(key);
  const SlotPlaces::Move* const move = places_.move_of(slot);
  const bool has_moved = move != nullptr && server(move->to).has(key);
  return has_moved ? move->to : places_.owner_of(slot);
}

bool World::has_moved(std::string_view key) const {
  return places_.has_moved(slot_of(key));
}

void World::become_replicated(std::size_t members, Micros apart) {
  replication_ = Replication{members};
  for (Host& host : hosts_) {
    host.offset = random_.between(-apart, apart);
    host.drift_ppm = apart == 0 ? hosts_.front().drift_ppm : host.drift_ppm;
  }
  for (std::size_t host = 1; host < members; ++host) {
    server(host).demote();
  }
}

// Of a master and its replicas mostly the master.
std::size_t World::some_host() {
  if (hosts_.size() == 1 || (replication_ && chance(60))) {
    return replication_ ? replication_->master : 0;
  }
  return static_cast<std::size_t>(random_.next() % hosts_.size());
}

Micros World::data_lost_at(std::size_t host) const {
  Micros latest = hosts_[host].data_lost_at;
  for (std::size_t other = 0; (replication_ || is_a_cluster_) && other < hosts_.size(); ++other) {
    latest = std::max(latest, hosts_[other].data_lost_at);
  }
  return latest;
}

void World::become_a_cluster(std::size_t masters, bool are_old) {
  is_a_cluster_ = true;
  places_ = SlotPlaces(masters);
  are_old_ = are_old;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].offset = static_cast<Micros>(i) * kMillisecond;
    hosts_[i].drift_ppm = hosts_.front().drift_ppm;
    hosts_[i].server.join_cluster([this, i](std::uint16_t slot) { return places_.at(slot, i); },
                                  [this, i] { return places_.map_at(i, !calm_ && chance(30)); },
                                  [this, i](std::string_view channel, std::string_view payload) {
                                    tell_other_nodes(i, std::string(channel), std::string(payload));
                                  },
                                  are_old);
  }
}

// In a cluster every node's subscribers hear of what is published at any, in its order.
void World::tell_other_nodes(std::size_t host, const std::string& channel,
                             const std::string& payload) {
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other == host) {
      continue;
    }
    Micros& heard_at = heard_at_[{host, other}];
    heard_at = std::max(heard_at, now_ + delay());
    at(heard_at, [this, other, channel, payload] {
      if (!server_stopped(other)) {
        server(other).hear(channel, payload);
      }
    });
  }
}

bool World::begin_move(std::uint16_t slot, std::size_t to) {
  if (!places_.begin_move(slot, to)) {
    return false;
  }
  trace("slot " + std::to_string(slot) + " goes from host " +
        std::to_string(places_.owner_of(slot)) + " to " + std::to_string(to));
  return true;
}

void World::move_key(const std::string& key) {
  const SlotPlaces::Move& move = *places_.move_of(slot_of(key));
  trace("key " + key + " moves");
  server(move.from).move_key(key, server(move.to));
}

void World::end_move(std::uint16_t slot) {
  for (const std::string& key : server(places_.move_of(slot)->from).keys_in(slot)) {
    move_key(key);
  }
  trace("slot " + std::to_string(slot) + " has moved");
  const SlotPlaces::Move move = places_.end_move(slot);
  server(move.from).give_away();
}

void World::move_slot(std::uint16_t slot, std::size_t to, Micros longest_pause) {
  if (begin_move(slot, to)) {
    move_some_key(slot, longest_pause);
  }
}

void World::move_some_key(std::uint16_t slot, Micros longest_pause) {
  at(now_ + span(100, longest_pause), [this, slot, longest_pause] {
    const SlotPlaces::Move& move = *places_.move_of(slot);
    const bool stopped = server_stopped(move.from) || server_stopped(move.to);
    const std::vector<std::string> keys =
        stopped ? std::vector<std::string>() : server(move.from).keys_in(slot);
    if (!stopped && keys.empty()) {
      end_move(slot);
      return;
    }
    if (!stopped) {
      const auto last = static_cast<std::int64_t>(keys.size()) - 1;
      move_key(keys[static_cast<std::size_t>(random_.between(0, last))]);
    }
    move_some_key(slot, longest_pause);
  });
}

Micros World::server_time(std::size_t host) const {
  return now_ + now_ * hosts_[host].drift_ppm / 1'000'000 + hosts_[host].offset + kEpoch;
}

void World::arrive(int id, const Chunk& chunk) {
  Connection& connection = *connections_[static_cast<std::size_t>(id)];
  if (connection.server_id < 0) {
    return;
  }
  if (server_stopped(connection.host)) {
    connection.backlog.push_back(chunk);
  } else {
    execute(id, chunk);
  }
}

void World::execute(int id, const Chunk& chunk) {
  std::string_view bytes = chunk.bytes;
  const Connection& connection = *connections_[static_cast<std::size_t>(id)];
  while (connection.server_id >= 0 && next_command(bytes, argv_)) {
    const bool script = argv_[0].starts_with("EVAL") && argv_.size() > kFirstKey;
    if (verbose_) {
      trace("host " + std::to_string(connection.host) + " runs " + std::string(verb_of(argv_)) +
            (script ? " of " + std::string(argv_[kFirstKey]) : "") + " for process " +
            std::to_string(connection.process) + " by connection " + std::to_string(id) +
            (connection.cut ? " (late)" : ""));
    }
    digest_.add(now_);
    digest_.add(id);
    digest_.add(verb_of(argv_));
    std::for_each(argv_.begin() + (script ? 2 : 1), argv_.end(),
                  [this](std::string_view argument) { digest_.add(argument); });
    const bool watched = script && is_watched(connection.host);
    if (watched && onlooker_.before) {
      onlooker_.before();
    }
    std::string answer = server(connection.host).execute(connection.server_id, argv_);
    if (answer.starts_with('-')) {
      trace("  " + answer.substr(0, answer.find('\r')));
    }
    if (answer.starts_with("-CROSSSLOT")) {
      violation("a command of process " + std::to_string(connection.process) +
                " names keys of several slots");
    }
    if (watched && onlooker_.after) {
      onlooker_.after(connection.process, argv_, answer.starts_with('-'));
    }
    if (!answer.empty()) {
      const bool push = answer.starts_with('>');
      reply(id, std::move(answer), push, push ? kNever : chunk.sent);
    }
  }
  if (connection.server_id >= 0 && !bytes.empty()) {
    violation("connection " + std::to_string(id) + " sent what is no whole command");
  }
}

void World::stop_server(std::size_t host, Micros duration) {
  if (server_stopped(host)) {
    return;
  }
  trace("the server stops for " + std::to_string(duration / 1000) + " ms");
  hosts_[host].stopped = true;
  at(now_ + duration, [this, host] {
    hosts_[host].stopped = false;
    hosts_[host].runs_since = now_;
    trace("the server goes on");
    // Connections are served in any order, each in its own.
    std::vector<int> waiting;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i]->host == host && !connections_[i]->backlog.empty()) {
        waiting.push_back(static_cast<int>(i));
      }
    }
    while (!waiting.empty()) {
      const auto pick = static_cast<std::size_t>(
          random_.between(0, static_cast<std::int64_t>(waiting.size()) - 1));
      Connection& connection = *connections_[static_cast<std::size_t>(waiting[pick])];
      if (connection.backlog.empty() || connection.server_id < 0) {
        connection.backlog.clear();
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
        continue;
      }
      const Chunk chunk = connection.backlog.front();
      connection.backlog.pop_front();
      if (chunk.bytes.empty()) {
        drop_on_server(waiting[pick]);
      } else {
        execute(waiting[pick], chunk);
      }
    }
  });
}

void World::restart_server(std::size_t host, bool keep_data) {
  trace(std::string("the server restarts ") + (keep_data ? "with" : "without") + " its data");
  cut_everybody(host);
  if (!keep_data) {
    lose_data(host);
  }
  server(host).restart(keep_data);
}

void World::fail_over(std::size_t host, Micros lag) {
  server(host).copy_data(server(host));
  at(now_ + lag, [this, host] {
    trace("another server takes over, without the latest writes");
    cut_everybody(host);
    lose_data(host);
    server(host).fail_over();
  });
}

void World::go_down(std::size_t host) {
  cut_everybody(host);
  hosts_[host].down = true;
  server(host).restart(false);
}

void World::cut_everybody(std::size_t host) {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& connection = *connections_[i];
    if (connection.host == host && connection.server_id >= 0) {
      connection.server_id = -1;
      connection.backlog.clear();
      tell_closed(static_cast<int>(i), now_ + delay());
    }
  }
}

}  // namespace belay::sim
