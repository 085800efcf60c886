// The Lua 5.1 of a simulated server: compiles scripts once, runs them, converts values both ways as
// Redis does. Not thread-safe; a ServerState owns it and answers its redis.call.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/resp.h"
#include "sim/server_memory.h"
#include "sim/server_store.h"

struct lua_State;

namespace belay::sim {

// Who runs the commands of scripts.
class ScriptCommands {
 public:
  virtual void call(std::span<const std::string_view> argv, RespWriter& reply) = 0;

 protected:
  ~ScriptCommands() = default;
};

class LuaHost {
 public:
  explicit LuaHost(ScriptCommands& commands);
  LuaHost(const LuaHost&) = delete;
  LuaHost& operator=(const LuaHost&) = delete;
  ~LuaHost();

  // Compiles a script under its SHA1. Returns "" or the error to answer.
  std::string load(std::string_view sha1, std::string_view body);

  [[nodiscard]] bool has(std::string_view sha1) const { return scripts_.contains(sha1); }

  void flush();

  using Args = std::span<const std::string_view>;
  // Runs a script that was loaded. `reply` gets its result or its error.
  void run(std::string_view sha1, Args keys, Args args, RespWriter& reply);

 private:
  static int call_and_raise(lua_State* lua);
  static int call_and_return(lua_State* lua);

  void open_libraries();
  void register_redis_library();
  void set_global(const char* name, Args values);
  // Runs the command on the stack and pushes its reply. False if that is an error.
  bool call(lua_State* lua);
  bool read_args(lua_State* lua);
  void reply_error(std::string_view sha1, RespWriter& reply);

  ScriptCommands& commands_;
  LuaMemory memory_;  // before lua_, which it must outlive
  lua_State* lua_;
  int error_handler_;
  StringMap<int> scripts_;  // references in the Lua registry
  // Reused by every redis.call.
  std::vector<std::string_view> argv_;
  std::vector<std::array<char, 40>> numbers_;
  std::string reply_;
};

}  // namespace belay::sim
