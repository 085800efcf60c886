// What a simulated server is made of, and how its commands get at it. Not thread-safe; a Server
// owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/resp.h"
#include "sim/server.h"
#include "sim/server_lua.h"
#include "sim/server_store.h"

namespace belay::sim {

// The keys of a command: every so many of these words.
struct Keys {
  std::span<const std::string_view> words;
  std::size_t step = 1;
};

enum class ChannelKind : char { kPlain = 'p', kShard = 's' };

struct Session {
  int id = 0;
  Server::Push push;
  std::vector<std::string> channels;  // each after its kind
  std::string name;
  std::string library;
  bool tracking = false;
  bool no_loop = false;  // its own writes are not told to it
  bool caching = false;  // the next command's keys are tracked
  bool authenticated = false;
  bool asking = false;  // the next command comes after ASK
};

struct ServerState final : ScriptCommands {
  explicit ServerState(std::uint64_t seed_of_run);

  // The command of a script.
  void call(std::span<const std::string_view> argv, RespWriter& reply) override;

  [[nodiscard]] Digits number_digits() const override { return digits; }

  [[nodiscard]] std::int64_t time_us() const { return clock ? clock() : fixed_time_us; }

  // The value at a key, as it stands now; null where there is none.
  Value* find_now(std::string_view key) {
    store.set_now_ms(time_us() / 1000);
    return store.find(key);
  }

  Session* session(int id);
  // Forgets a connection.
  void drop(int id);
  void new_run();
  void subscribe(Session& to, ChannelKind kind, std::string_view channel);
  void unsubscribe(Session& from, ChannelKind kind, std::string_view channel);
  // Returns the receivers.
  int publish(ChannelKind kind, std::string_view channel, std::string_view payload);
  // Ends the subscriptions to shard channels of slots that are not here, and says so.
  void give_away();
  // Tells connections with tracking that any key may have changed.
  void invalidate_all();
  // Tells those that track these keys that they have changed, once.
  void invalidate(const Keys& keys);

  Server::Clock clock;
  std::int64_t fixed_time_us = 0;
  Server::Fault fault;
  Server::Killed on_killed;
  std::string password;
  std::function<SlotPlace(std::uint16_t slot)> slots;  // none: no node of a cluster
  std::function<std::vector<SlotRun>()> slot_map;
  Server::Bus bus;
  std::function<MasterSeen()> master_seen;  // none: no sentinel
  bool is_replica = false;
  bool is_old = false;
  bool client_commands_allowed = true;
  Digits digits = Digits::kSeventeen;
  std::int64_t maxmemory = 0;  // any limit counts as exceeded

  Store store;
  Store replica;
  LuaHost::Borrowed lua;
  std::map<int, Session> sessions;
  StringMap<std::vector<int>> channels;  // each after its kind
  StringMap<std::set<int>> tracked;      // key -> connections
  int next_id = 1;
  std::uint64_t seed;
  std::uint64_t run = 0;
  std::string run_id;
  std::uint64_t commands = 0;

  // Of the command that runs.
  std::int64_t now_us = 0;
  int caller = 0;
  // Of the script that runs.
  bool in_script = false;
  bool script_wrote = false;
  bool script_asked = false;  // it came after ASK
  std::span<const std::string_view> script_keys;
  std::string undeclared;
  std::string push_bytes;
};

}  // namespace belay::sim
