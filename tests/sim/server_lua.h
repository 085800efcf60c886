// The Lua 5.1 of a simulated server: compiles scripts once, runs them, converts values both ways as
// Redis does. Not thread-safe; a ServerState borrows it and answers its redis.call.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/resp.h"
#include "sim/server_memory.h"

struct lua_State;

namespace belay::sim {

// Who runs the commands of scripts.
class ScriptCommands {
 public:
  virtual void call(std::span<const std::string_view> argv, RespWriter& reply) = 0;
  // How numbers of theirs become arguments and texts.
  [[nodiscard]] virtual Digits number_digits() const = 0;

 protected:
  ~ScriptCommands() = default;
};

class LuaHost {
 public:
  // A host with no script loaded. A thread keeps those given back, with what they have compiled:
  // making one costs more than a short simulation. Nothing that a script did to one is seen by the
  // next borrower.
  using Borrowed = std::unique_ptr<LuaHost, void (*)(LuaHost*)>;
  static Borrowed borrow(ScriptCommands& commands);

  LuaHost(const LuaHost&) = delete;
  LuaHost& operator=(const LuaHost&) = delete;
  ~LuaHost();

  // Compiles a script, unless that was done before, and sets the SHA1 under which it can be run.
  // Returns "" or the error to answer.
  std::string load(std::string_view body, std::string& sha1);

  [[nodiscard]] bool has(std::string_view sha1) const { return find(sha1) != nullptr; }

  void flush();

  // From now on scripts find themselves on Redis 6.2, until the host is given back.
  void become_old();

  using Args = std::span<const std::string_view>;
  // Runs a script that was loaded. `reply` gets its result or its error.
  void run(std::string_view sha1, Args keys, Args args, RespWriter& reply);

 private:
  struct Script {
    std::string body;
    std::string sha1;
    int reference;  // in the Lua registry
    bool loaded;
  };

  // A table that scripts can change, and a copy of what it held first: references in the registry.
  struct Table {
    int changed;
    int original;
  };

  LuaHost();

  static std::vector<std::unique_ptr<LuaHost>>& kept_hosts();
  static void give_back(LuaHost* host);
  static int call_and_raise(lua_State* lua);
  static int call_and_return(lua_State* lua);

  void open_libraries();
  void register_redis_library();
  void remember_tables();
  void restore_tables();
  [[nodiscard]] const Script* find(std::string_view sha1) const;
  void set_global(const char* name, Args values);
  // Runs the command on the stack and pushes its reply. False if that is an error.
  bool call(lua_State* lua);
  bool read_args(lua_State* lua);
  void reply_error(std::string_view sha1, RespWriter& reply);

  ScriptCommands* commands_ = nullptr;
  LuaMemory memory_;  // before lua_, which it must outlive
  lua_State* lua_;
  int error_handler_;
  std::vector<Table> tables_;
  std::vector<Script> scripts_;  // all that were ever compiled here
  // Reused by every redis.call.
  std::vector<std::string_view> argv_;
  std::vector<std::array<char, 40>> numbers_;
  std::string reply_;
};

}  // namespace belay::sim
