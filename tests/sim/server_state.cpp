// What a simulated server is made of: connections, channels, and the commands that its scripts
// call. Not thread-safe; a Server owns it.
#include "sim/server_state.h"

#include <algorithm>

#include "base/sha1.h"
#include "route/slot.h"
#include "sim/server_command.h"

namespace belay::sim {
namespace {

constexpr std::string_view kUnknownInScript = "ERR Unknown Redis command called from script";
constexpr std::string_view kNotLocal =
    "ERR Script attempted to access a non local key in a cluster node";

// The first of these keys that the script has not declared, or null.
const std::string_view* undeclared_key(const Keys& keys,
                                       std::span<const std::string_view> declared) {
  for (std::size_t i = 0; i < keys.words.size(); i += keys.step) {
    if (std::find(declared.begin(), declared.end(), keys.words[i]) == declared.end()) {
      return &keys.words[i];
    }
  }
  return nullptr;
}

// Whether a shard channel is in another slot than the keys of the script.
bool is_elsewhere(std::string_view channel, std::span<const std::string_view> declared) {
  return !declared.empty() && slot_of(channel) != slot_of(declared.front());
}

}  // namespace

ServerState::ServerState(std::uint64_t seed_of_run)
    : lua(LuaHost::borrow(*this)), seed(seed_of_run) {
  new_run();
}

void ServerState::call(std::span<const std::string_view> argv, RespWriter& reply) {
  const Command* const command = find_command(argv[0]);
  if (command == nullptr) {
    reply.error(kUnknownInScript);
    return;
  }
  if (!arity_fits(*command, argv.size())) {
    reply.error("ERR Wrong number of args calling Redis command from script");
    return;
  }
  if ((command->flags & kNoScript) != 0) {
    reply.error("ERR This Redis command is not allowed from script");
    return;
  }
  if ((command->flags & kShard) != 0 && (is_old || is_elsewhere(argv[1], script_keys))) {
    reply.error(is_old ? kUnknownInScript : kNotLocal);
    return;
  }
  if (!redirection(*this, script_asked, *command, argv).empty()) {
    reply.error(kNotLocal);
    return;
  }
  const Keys keys = keys_of(*command, argv);
  if (const std::string_view* const key = undeclared_key(keys, script_keys)) {
    undeclared = "ERR script touched undeclared key '" + std::string(*key) + "'";
    reply.error(undeclared);
    return;
  }
  if (maxmemory != 0 && !script_wrote && (command->flags & kDenyOom) != 0) {
    reply.error("OOM command not allowed when used memory > 'maxmemory'.");
    return;
  }
  script_wrote = script_wrote || (command->flags & kWrite) != 0;
  Call call{*this, nullptr, argv, reply};
  command->run(call);
  if ((command->flags & kWrite) != 0) {
    invalidate(keys);
  }
}

Session* ServerState::session(int id) {
  const auto found = sessions.find(id);
  return found == sessions.end() ? nullptr : &found->second;
}

void ServerState::drop(int id) {
  Session* const gone = session(id);
  if (gone == nullptr) {
    return;
  }
  while (!gone->channels.empty()) {
    const std::string last = gone->channels.back();
    unsubscribe(*gone, static_cast<ChannelKind>(last.front()), last.substr(1));
  }
  sessions.erase(id);
}

void ServerState::new_run() {
  ++run;
  run_id = sha1_hex("run " + std::to_string(seed) + " " + std::to_string(run));
}

void ServerState::subscribe(Session& to, ChannelKind kind, std::string_view channel) {
  const std::string named = static_cast<char>(kind) + std::string(channel);
  if (std::find(to.channels.begin(), to.channels.end(), named) != to.channels.end()) {
    return;
  }
  to.channels.emplace_back(named);
  channels[named].push_back(to.id);
}

void ServerState::unsubscribe(Session& from, ChannelKind kind, std::string_view channel) {
  const std::string named = static_cast<char>(kind) + std::string(channel);
  const auto found = channels.find(named);
  if (found == channels.end() || std::erase(found->second, from.id) == 0) {
    return;
  }
  if (found->second.empty()) {
    channels.erase(found);
  }
  std::erase(from.channels, named);
}

int ServerState::publish(ChannelKind kind, std::string_view channel, std::string_view payload) {
  const auto found = channels.find(static_cast<char>(kind) + std::string(channel));
  if (found == channels.end()) {
    return 0;
  }
  push_bytes.clear();
  RespWriter message(push_bytes, RespWriter::Protocol::kResp3);
  message.push(3);
  message.bulk(kind == ChannelKind::kShard ? "smessage" : "message");
  message.bulk(channel);
  message.bulk(payload);
  for (const int id : found->second) {
    const Session& receiver = sessions.find(id)->second;
    if (receiver.push) {
      receiver.push(push_bytes);
    }
  }
  return static_cast<int>(found->second.size());
}

void ServerState::give_away() {
  for (auto& [id, session] : sessions) {
    for (const std::string& named : std::vector<std::string>(session.channels)) {
      const std::string channel = named.substr(1);
      if (static_cast<ChannelKind>(named.front()) != ChannelKind::kShard ||
          slots(slot_of(channel)).is_here) {
        continue;
      }
      unsubscribe(session, ChannelKind::kShard, channel);
      push_bytes.clear();
      RespWriter message(push_bytes, RespWriter::Protocol::kResp3);
      message.push(3);
      message.bulk("sunsubscribe");
      message.bulk(channel);
      message.integer(static_cast<std::int64_t>(session.channels.size()));
      if (session.push) {
        session.push(push_bytes);
      }
    }
  }
}

void ServerState::invalidate(const Keys& keys) {
  for (std::size_t i = 0; i < keys.words.size(); i += keys.step) {
    const std::string_view key = keys.words[i];
    const auto found = tracked.find(key);
    if (found == tracked.end()) {
      continue;
    }
    push_bytes.clear();
    RespWriter message(push_bytes, RespWriter::Protocol::kResp3);
    message.push(2);
    message.bulk("invalidate");
    message.array(1);
    message.bulk(key);
    for (const int id : found->second) {
      const Session* const receiver = session(id);
      if (receiver != nullptr && receiver->tracking && receiver->push &&
          !(receiver->no_loop && id == caller)) {
        receiver->push(push_bytes);
      }
    }
    tracked.erase(found);
  }
}

void ServerState::invalidate_all() {
  tracked.clear();
  push_bytes.clear();
  RespWriter message(push_bytes, RespWriter::Protocol::kResp3);
  message.push(2);
  message.bulk("invalidate");
  message.null();
  for (const auto& [id, receiver] : sessions) {
    if (receiver.tracking && receiver.push) {
      receiver.push(push_bytes);
    }
  }
}

}  // namespace belay::sim
