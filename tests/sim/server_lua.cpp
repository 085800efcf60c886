// The Lua 5.1 of a simulated server: compiles scripts once, runs them, converts values both ways as
// Redis does. Lua errors leave by longjmp: a function that can raise one owns nothing that needs a
// destructor.
#include "sim/server_lua.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <lua.hpp>
#include <utility>

#include "base/sha1.h"
#include "sim/server_command.h"
#include "sim/server_struct.h"

namespace belay::sim {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kVersionNumber = 0x0007000F;  // of 7.0.15
constexpr int kReplicateAll = 3;            // to the append-only file and to replicas
// Collect when the heap has grown to this many per cent: often, so that it stays in the processor's
// cache.
constexpr int kCollectorPause = 150;
// A thread keeps no host that has compiled more: it served a test of many scripts.
constexpr std::size_t kMostScriptsKept = 64;

// --- RESP2 to Lua
// -----------------------------------------------------------------------------------------------------

std::int64_t read_header(const char*& at) {
  std::int64_t value = 0;
  at = std::from_chars(at + 1, at + 24, value).ptr + 2;
  return value;
}

void push_line(lua_State* lua, const char*& at, const char* field) {
  const char* end = at;
  while (*end != '\r') {
    ++end;
  }
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, at + 1, static_cast<std::size_t>(end - at - 1));
  lua_setfield(lua, -2, field);
  at = end + 2;
}

// NOLINTNEXTLINE(misc-no-recursion)
void push_resp(lua_State* lua, const char*& at) {
  switch (*at) {
    case ':':
      lua_pushnumber(lua, static_cast<lua_Number>(read_header(at)));
      return;
    case '+':
      push_line(lua, at, "ok");
      return;
    case '-':
      push_line(lua, at, "err");
      return;
    case '*': {
      const auto size = static_cast<int>(read_header(at));
      luaL_checkstack(lua, 4, "reply too deep");  // LUA_MINSTACK is enough for all but the nested
      lua_createtable(lua, size, 0);
      for (int i = 1; i <= size; ++i) {
        push_resp(lua, at);
        lua_rawseti(lua, -2, i);
      }
      return;
    }
    default: {
      const std::int64_t size = read_header(at);
      if (size < 0) {
        lua_pushboolean(lua, 0);
        return;
      }
      lua_pushlstring(lua, at, static_cast<std::size_t>(size));
      at += size + 2;
    }
  }
}

// --- Lua to RESP
// ------------------------------------------------------------------------------------------------------

std::string_view to_view(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, index, &size);
  return {bytes, size};
}

// Whether the table on top has a string at `field`; then it is pushed.
bool push_text_field(lua_State* lua, const char* field) {
  lua_pushstring(lua, field);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) {
    return true;
  }
  lua_pop(lua, 1);
  return false;
}

void write_value(lua_State* lua, RespWriter& reply, int depth);

// NOLINTNEXTLINE(misc-no-recursion)
void write_table(lua_State* lua, RespWriter& reply, int depth) {
  if (push_text_field(lua, "err")) {
    reply.error(lua_tostring(lua, -1));  // up to a NUL, as Redis does
    lua_pop(lua, 1);
    return;
  }
  if (push_text_field(lua, "ok")) {
    reply.status(to_view(lua, -1));
    lua_pop(lua, 1);
    return;
  }
  int size = 0;
  for (bool more = true; more;) {
    lua_rawgeti(lua, -1, size + 1);
    more = !lua_isnil(lua, -1);
    size += more ? 1 : 0;
    lua_pop(lua, 1);
  }
  reply.array(static_cast<std::size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(lua, -1, i);
    write_value(lua, reply, depth + 1);
    lua_pop(lua, 1);
  }
}

// Writes the value on top of the stack, which stays there.
// NOLINTNEXTLINE(misc-no-recursion)
void write_value(lua_State* lua, RespWriter& reply, int depth) {
  if (depth > kMaxDepth || lua_checkstack(lua, 4) == 0) {
    reply.error("ERR reached lua stack limit");
    return;
  }
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
      reply.bulk(to_view(lua, -1));
      return;
    case LUA_TNUMBER:
      reply.integer(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
      return;
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) != 0) {
        reply.integer(1);
      } else {
        reply.null();
      }
      return;
    case LUA_TTABLE:
      write_table(lua, reply, depth);
      return;
    default:
      reply.null();
  }
}

// --- what scripts see
// -------------------------------------------------------------------------------------------------

int push_error(lua_State* lua, const char* text) {
  lua_createtable(lua, 0, 1);
  lua_pushstring(lua, text);
  lua_setfield(lua, -2, "err");
  return 1;
}

// "-CODE text" and "CODE text" alike become { err = "CODE text" }; one word alone gets the code
// ERR.
int error_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    return push_error(lua, "ERR wrong number or type of arguments");
  }
  const char* text = lua_tostring(lua, 1);
  text += *text == '-' ? 1 : 0;
  if (std::strchr(text, ' ') == nullptr) {
    text = lua_pushfstring(lua, "ERR %s", text);
  }
  return push_error(lua, text);
}

int status_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    return push_error(lua, "ERR wrong number or type of arguments");
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

// There are no users here: everybody may do everything. A question that is no command is refused,
// as Redis 8.6.2 does.
int acl_check_cmd(lua_State* lua) {
  const Command* const command = lua_gettop(lua) > 0 ? find_command(to_view(lua, 1)) : nullptr;
  if (command == nullptr || !arity_fits(*command, static_cast<std::size_t>(lua_gettop(lua)))) {
    return luaL_error(lua, "Wrong number of args for redis.acl_check_cmd()");
  }
  lua_pushboolean(lua, 1);
  return 1;
}

int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    return luaL_error(lua, "wrong number of arguments");
  }
  char digits[41] = {};
  {
    const std::string hex = sha1_hex(to_view(lua, 1));
    std::memcpy(digits, hex.data(), 40);
  }
  lua_pushlstring(lua, digits, 40);
  return 1;
}

// Nobody replicates this server.
int set_repl(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    return luaL_error(lua, "redis.set_repl() requires one argument.");
  }
  const auto flags = static_cast<int>(lua_tonumber(lua, 1));
  if ((flags & ~kReplicateAll) != 0) {
    return luaL_error(lua,
                      "Invalid replication flags. Please use REPL_AOF, REPL_REPLICA, "
                      "REPL_ALL or REPL_NONE.");
  }
  return 0;
}

int refuse_global(lua_State* lua) {
  const char* const name = lua_tostring(lua, 2);
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    name != nullptr ? name : "?");
}

int refuse_new_global(lua_State* lua) {
  return luaL_error(lua, "Attempt to modify a readonly table");
}

// Makes a table of any error, with the line of the script in it.
int handle_error(lua_State* lua) {
  if (lua_type(lua, 1) != LUA_TTABLE) {
    const char* const text = lua_tostring(lua, 1);
    push_error(lua, lua_pushfstring(lua, "ERR %s", text != nullptr ? text : "unknown error"));
    lua_replace(lua, 1);
    lua_settop(lua, 1);
  }
  lua_Debug info{};
  for (int level = 1; level <= 2 && lua_getstack(lua, level, &info) == 1; ++level) {
    lua_getinfo(lua, "Sl", &info);
    if (info.currentline > 0) {
      lua_pushfstring(lua, "%s:%d", info.source, info.currentline);
      lua_setfield(lua, 1, "at");
      break;
    }
  }
  return 1;
}

// Copies the fields of the table at `from` into that at `to`.
void copy_fields(lua_State* lua, int from, int to) {
  for (lua_pushnil(lua); lua_next(lua, from) != 0;) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, to);
  }
}

void clear_fields(lua_State* lua, int table) {
  for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
    lua_pushvalue(lua, -2);
    lua_pushnil(lua);
    lua_rawset(lua, table);
  }
}

}  // namespace

LuaHost::Borrowed LuaHost::borrow(ScriptCommands& commands) {
  LuaHost* host = nullptr;
  if (kept_hosts().empty()) {
    host = new LuaHost();
  } else {
    host = kept_hosts().back().release();
    kept_hosts().pop_back();
  }
  host->commands_ = &commands;
  return {host, give_back};
}

void LuaHost::give_back(LuaHost* host) {
  std::unique_ptr<LuaHost> owned(host);
  if (owned->scripts_.size() <= kMostScriptsKept) {
    owned->flush();
    owned->restore_tables();
    kept_hosts().push_back(std::move(owned));
  }
}

// Those that no server has borrowed.
std::vector<std::unique_ptr<LuaHost>>& LuaHost::kept_hosts() {
  thread_local std::vector<std::unique_ptr<LuaHost>> hosts;
  return hosts;
}

LuaHost::LuaHost() : lua_(lua_newstate(&LuaMemory::allocate, &memory_)) {
  lua_gc(lua_, LUA_GCSETPAUSE, kCollectorPause);
  open_libraries();
  register_redis_library();
  register_struct_library(lua_);
  lua_pushcfunction(lua_, handle_error);
  error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);

  lua_createtable(lua_, 0, 2);
  lua_pushcfunction(lua_, refuse_global);
  lua_setfield(lua_, -2, "__index");
  lua_pushcfunction(lua_, refuse_new_global);
  lua_setfield(lua_, -2, "__newindex");
  lua_setmetatable(lua_, LUA_GLOBALSINDEX);
  remember_tables();
}

LuaHost::~LuaHost() {
  lua_close(lua_);
}

// What scripts may have of Lua: nothing that reads files, the clock or random numbers, and nothing
// by which one script could leave behind what the next one sees.
void LuaHost::open_libraries() {
  const luaL_Reg libraries[] = {{"", luaopen_base},
                                {LUA_TABLIBNAME, luaopen_table},
                                {LUA_STRLIBNAME, luaopen_string},
                                {LUA_MATHLIBNAME, luaopen_math}};
  for (const luaL_Reg& library : libraries) {
    lua_pushcfunction(lua_, library.func);
    lua_pushstring(lua_, library.name);
    lua_call(lua_, 1, 0);
  }
  for (const char* const name : {"dofile", "loadfile", "print", "newproxy", "collectgarbage",
                                 "rawset", "setmetatable", "getmetatable", "setfenv", "getfenv"}) {
    lua_pushnil(lua_);
    lua_setglobal(lua_, name);
  }
  lua_getglobal(lua_, "math");
  for (const char* const name : {"random", "randomseed"}) {
    lua_pushnil(lua_);
    lua_setfield(lua_, -2, name);
  }
  lua_pop(lua_, 1);
}

void LuaHost::register_redis_library() {
  const luaL_Reg plain[] = {{"error_reply", error_reply}, {"status_reply", status_reply},
                            {"sha1hex", sha1hex},         {"acl_check_cmd", acl_check_cmd},
                            {"set_repl", set_repl},       {nullptr, nullptr}};
  luaL_register(lua_, "redis", plain);
  lua_pushnumber(lua_, 0);
  lua_setfield(lua_, -2, "REPL_NONE");
  lua_pushnumber(lua_, kReplicateAll);
  lua_setfield(lua_, -2, "REPL_ALL");
  lua_pushnumber(lua_, kVersionNumber);
  lua_setfield(lua_, -2, "REDIS_VERSION_NUM");
  const luaL_Reg bound[] = {{"call", call_and_raise}, {"pcall", call_and_return}};
  for (const luaL_Reg& function : bound) {
    lua_pushlightuserdata(lua_, this);
    lua_pushcclosure(lua_, function.func, 1);
    lua_setfield(lua_, -2, function.name);
  }
  lua_pop(lua_, 1);
}

void LuaHost::become_old() {
  lua_getglobal(lua_, "redis");
  lua_pushnil(lua_);
  lua_setfield(lua_, -2, "REDIS_VERSION_NUM");
  lua_pop(lua_, 1);
}

void LuaHost::remember_tables() {
  for (const char* const name :
       {"_G", LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME, "redis", "struct"}) {
    lua_getglobal(lua_, name);
    lua_newtable(lua_);
    copy_fields(lua_, 1, 2);
    const int original = luaL_ref(lua_, LUA_REGISTRYINDEX);
    tables_.push_back({luaL_ref(lua_, LUA_REGISTRYINDEX), original});
  }
}

void LuaHost::restore_tables() {
  for (const Table& table : tables_) {
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, table.changed);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, table.original);
    clear_fields(lua_, 1);
    copy_fields(lua_, 2, 1);
    lua_settop(lua_, 0);
  }
}

std::string LuaHost::load(std::string_view body, std::string& sha1) {
  for (Script& script : scripts_) {
    if (script.body == body) {
      script.loaded = true;
      sha1 = script.sha1;
      return {};
    }
  }
  if (luaL_loadbuffer(lua_, body.data(), body.size(), "@user_script") != 0) {
    std::string error = "ERR Error compiling script (new function): ";
    error += to_view(lua_, -1);
    lua_settop(lua_, 0);
    return error;
  }
  sha1 = sha1_hex(body);
  scripts_.push_back({std::string(body), sha1, luaL_ref(lua_, LUA_REGISTRYINDEX), true});
  return {};
}

void LuaHost::flush() {
  for (Script& script : scripts_) {
    script.loaded = false;
  }
}

const LuaHost::Script* LuaHost::find(std::string_view sha1) const {
  for (const Script& script : scripts_) {
    if (script.loaded && script.sha1 == sha1) {
      return &script;
    }
  }
  return nullptr;
}

void LuaHost::run(std::string_view sha1, Args keys, Args args, RespWriter& reply) {
  set_global("KEYS", keys);
  set_global("ARGV", args);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, error_handler_);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, find(sha1)->reference);
  if (lua_pcall(lua_, 0, 1, 1) == 0) {
    write_value(lua_, reply, 0);
  } else {
    reply_error(sha1, reply);
  }
  lua_settop(lua_, 0);
}

void LuaHost::set_global(const char* name, Args values) {
  lua_pushstring(lua_, name);
  lua_createtable(lua_, static_cast<int>(values.size()), 0);
  int index = 0;
  for (const std::string_view value : values) {
    lua_pushlstring(lua_, value.data(), value.size());
    lua_rawseti(lua_, -2, ++index);
  }
  lua_rawset(lua_, LUA_GLOBALSINDEX);
}

void LuaHost::reply_error(std::string_view sha1, RespWriter& reply) {
  std::string text = "ERR unknown error";
  if (lua_type(lua_, -1) == LUA_TTABLE && push_text_field(lua_, "err")) {
    text = lua_tostring(lua_, -1);
    lua_pop(lua_, 1);
  }
  text.append(" script: ").append(sha1);
  if (lua_type(lua_, -1) == LUA_TTABLE && push_text_field(lua_, "at")) {
    text.append(", on ").append(to_view(lua_, -1)).append(".");
  }
  reply.error(text);
}

int LuaHost::call_and_raise(lua_State* lua) {
  auto* const host = static_cast<LuaHost*>(lua_touserdata(lua, lua_upvalueindex(1)));
  return host->call(lua) ? 1 : lua_error(lua);
}

int LuaHost::call_and_return(lua_State* lua) {
  auto* const host = static_cast<LuaHost*>(lua_touserdata(lua, lua_upvalueindex(1)));
  host->call(lua);
  return 1;
}

bool LuaHost::call(lua_State* lua) {
  if (!read_args(lua)) {
    return false;
  }
  reply_.clear();
  RespWriter writer(reply_, RespWriter::Protocol::kResp2, commands_->number_digits());
  commands_->call(argv_, writer);
  const char* at = reply_.c_str();
  push_resp(lua, at);
  return reply_[0] != '-';
}

// Points argv_ at the arguments on the stack. Pushes an error and returns false if they are no
// command.
bool LuaHost::read_args(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) {
    push_error(lua, "ERR Please specify at least one argument for this redis lib call");
    return false;
  }
  argv_.resize(static_cast<std::size_t>(count));
  numbers_.resize(std::max(numbers_.size(), argv_.size()));
  for (std::size_t i = 0; i < argv_.size(); ++i) {
    const int index = static_cast<int>(i) + 1;
    switch (lua_type(lua, index)) {
      case LUA_TSTRING:
        argv_[i] = to_view(lua, index);
        break;
      case LUA_TNUMBER: {
        auto& buffer = numbers_[i];
        argv_[i] = format_double(lua_tonumber(lua, index), commands_->number_digits(),
                                 *reinterpret_cast<char(*)[40]>(buffer.data()));
        break;
      }
      default:
        push_error(lua, "ERR Lua redis lib command arguments must be strings or integers");
        return false;
    }
  }
  return true;
}

}  // namespace belay::sim
