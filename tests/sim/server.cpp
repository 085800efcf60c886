// An in-memory Redis for simulations: its connections, and the checks in front of each command.
// One thread uses it; the simulation owns it.
#include "sim/server.h"

#include <cassert>
#include <utility>

#include "route/slot.h"
#include "sim/resp.h"
#include "sim/server_command.h"
#include "sim/server_state.h"

namespace belay::sim {
namespace {

// Why the command may not run, or "".
std::string refusal(const ServerState& server, const Session& session, const Command* command,
                    Server::Args argv) {
  if (command == nullptr || (server.is_old && (command->flags & kShard) != 0)) {
    return "ERR unknown command '" + std::string(argv[0]) + "'";
  }
  if (!arity_fits(*command, argv.size())) {
    return "ERR wrong number of arguments for '" + std::string(command->name) + "' command";
  }
  const bool locked = !server.password.empty() && !session.authenticated;
  if (locked && (command->flags & kBeforeAuth) == 0) {
    return "NOAUTH Authentication required.";
  }
  if (server.is_replica && !server.slots &&
      ((command->flags & kWrite) != 0 || is_script(*command))) {
    return "READONLY You can't write against a read only replica.";
  }
  if (server.maxmemory != 0 && (command->flags & kDenyOom) != 0) {
    return "OOM command not allowed when used memory > 'maxmemory'.";
  }
  return {};
}

}  // namespace

Server::Server(std::uint64_t seed) : state_(std::make_unique<ServerState>(seed)) {}

Server::~Server() = default;

void Server::set_clock(Clock clock) {
  state_->clock = std::move(clock);
}

void Server::set_time(std::int64_t us) {
  state_->clock = nullptr;
  state_->fixed_time_us = us;
}

void Server::set_fault(Fault fault) {
  state_->fault = std::move(fault);
}

void Server::set_on_killed(Killed killed) {
  state_->on_killed = std::move(killed);
}

void Server::set_password(std::string password) {
  state_->password = std::move(password);
}

void Server::set_client_commands_allowed(bool allowed) {
  state_->client_commands_allowed = allowed;
}

void Server::join_cluster(std::function<SlotPlace(std::uint16_t slot)> slots,
                          std::function<std::vector<SlotRun>()> map, Bus bus, bool is_old) {
  state_->slots = std::move(slots);
  state_->slot_map = std::move(map);
  state_->bus = std::move(bus);
  state_->is_old = is_old;
  if (is_old) {
    state_->lua->become_old();
  }
}

void Server::give_away() {
  state_->give_away();
}

void Server::become_a_sentinel(std::function<MasterSeen()> seen) {
  state_->master_seen = std::move(seen);
}

void Server::promote() {
  state_->is_replica = false;
  state_->store = std::move(state_->replica);
}

void Server::demote() {
  state_->is_replica = true;
  state_->store.clear();
  state_->invalidate_all();
}

void Server::hear(std::string_view channel, std::string_view payload) {
  state_->publish(ChannelKind::kPlain, channel, payload);
}

void Server::set_number_digits(Digits digits) {
  state_->digits = digits;
}

int Server::connect(Push push) {
  const int id = state_->next_id++;
  Session& session = state_->sessions[id];
  session.id = id;
  session.push = std::move(push);
  return id;
}

void Server::disconnect(int connection) {
  state_->drop(connection);
}

bool Server::connected(int connection) const {
  return state_->session(connection) != nullptr;
}

std::string Server::execute(int connection, Args argv) {
  Session* const session = state_->session(connection);
  std::string bytes;
  if (session == nullptr || argv.empty()) {
    return bytes;
  }
  assert(!state_->in_script);
  RespWriter reply(bytes, RespWriter::Protocol::kResp3, state_->digits);
  ++state_->commands;
  if (state_->fault) {
    if (const auto error = state_->fault(argv)) {
      reply.error(*error);
      return bytes;
    }
  }
  const Command* const command = find_command(argv[0]);
  const std::string refused = refusal(*state_, *session, command, argv);
  if (!refused.empty()) {
    reply.error(refused);
    return bytes;
  }
  state_->now_us = state_->time_us();
  state_->store.set_now_ms(state_->now_us / 1000);
  const bool asked = std::exchange(session->asking, false);
  const std::string elsewhere = redirection(*state_, asked, *command, argv);
  if (!elsewhere.empty()) {
    reply.error(elsewhere);
    return bytes;
  }
  state_->caller = connection;
  const bool tracked = std::exchange(session->caching, false);
  Call call{*state_, session, argv, reply, asked};
  command->run(call);
  const bool writes = (command->flags & kWrite) != 0;
  const Keys keys = keys_of(*command, argv);
  for (std::size_t i = 0; tracked && !writes && i < keys.words.size(); i += keys.step) {
    state_->tracked[std::string(keys.words[i])].insert(connection);
  }
  if (writes) {
    state_->invalidate(keys);
  }
  if (!state_->undeclared.empty()) {  // even where the script caught the error
    bytes.clear();
    reply.error(std::exchange(state_->undeclared, {}));
  }
  return bytes;
}

std::string Server::execute(int connection, const std::vector<std::string>& argv) {
  const std::vector<std::string_view> views(argv.begin(), argv.end());
  return execute(connection, Args(views));
}

void Server::flush_scripts() {
  state_->lua->flush();
}

void Server::restart(bool keep_data) {
  state_->sessions.clear();
  state_->channels.clear();
  state_->tracked.clear();
  state_->lua->flush();
  state_->next_id = 1;
  state_->new_run();
  if (!keep_data) {
    state_->store.clear();
  }
}

std::optional<std::string_view> Server::text(std::string_view key) {
  Value* const value = state_->find_now(key);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

std::optional<std::string_view> Server::field(std::string_view key, std::string_view name) {
  Value* const value = state_->find_now(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<Hash>(&value->data);
  const auto found = hash == nullptr ? Hash::const_iterator() : hash->find(name);
  return hash == nullptr || found == hash->end() ? std::nullopt
                                                 : std::optional<std::string_view>(found->second);
}

std::vector<std::string> Server::fields(std::string_view key) {
  Value* const value = state_->find_now(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<Hash>(&value->data);
  std::vector<std::string> names;
  if (hash != nullptr) {
    for (const auto& [name, text] : *hash) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<Server::Ranked> Server::ranked(std::string_view key) {
  Value* const value = state_->find_now(key);
  const auto* const set = value == nullptr ? nullptr : std::get_if<SortedSet>(&value->data);
  std::vector<Ranked> all;
  if (set != nullptr) {
    for (const auto& [score, member] : set->entries()) {
      all.push_back({*member, score});
    }
  }
  return all;
}

std::span<const std::string> Server::elements(std::string_view key) {
  Value* const value = state_->find_now(key);
  const auto* const list = value == nullptr ? nullptr : std::get_if<List>(&value->data);
  return list == nullptr ? std::span<const std::string>() : std::span<const std::string>(*list);
}

bool Server::has(std::string_view key) {
  return state_->find_now(key) != nullptr;
}

bool Server::move_key(std::string_view key, Server& to) {
  Value* const value = state_->find_now(key);
  if (value == nullptr) {
    return false;
  }
  Value moved = std::move(*value);
  if (moved.expires_ms != 0) {
    moved.expires_ms += to.state_->time_us() / 1000 - state_->time_us() / 1000;
  }
  to.state_->store.find_or_add(key) = std::move(moved);
  state_->store.erase(key);
  state_->caller = 0;
  const std::string_view words[] = {key};
  state_->invalidate({words});
  return true;
}

std::vector<std::string> Server::keys_in(std::uint16_t slot) {
  state_->store.set_now_ms(state_->time_us() / 1000);
  std::vector<std::string> keys;
  for (const Store::Listed& listed : state_->store.list()) {
    if (slot_of(listed.key) == slot) {
      keys.emplace_back(listed.key);
    }
  }
  return keys;
}

void Server::copy_data(const Server& from) {
  state_->replica = from.state_->store;
}

void Server::fail_over() {
  restart(false);
  state_->store = std::move(state_->replica);
}

const std::string& Server::run_id() const {
  return state_->run_id;
}

std::uint64_t Server::commands() const {
  return state_->commands;
}

}  // namespace belay::sim
