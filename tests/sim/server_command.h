// The commands that a simulated server knows: a name, what may be asked before running it, and a
// function. Constant tables; the functions run in the thread of the Server.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/server_state.h"

namespace belay::sim {

// One command being run.
struct Call {
  ServerState& server;
  Session* session;  // null in a script
  std::span<const std::string_view> argv;
  RespWriter& reply;
  bool asked = false;  // it came after ASK
};

enum CommandFlag : unsigned {
  kWrite = 1,
  kDenyOom = 2,
  kNoScript = 4,
  kBeforeAuth = 8,
  kShard = 16,  // about channels, each of which is in a slot
};

struct Command {
  std::string_view name;
  int arity;  // with the name; negative: at least that many
  unsigned flags;
  int first_key;  // 0 = none
  int last_key;   // -1 = the last argument
  void (*run)(Call& call);
  std::size_t key_step = 1;
};

// Whether the command may have so many words, its name among them.
bool arity_fits(const Command& command, std::size_t words);

// Whether the command runs a script.
bool is_script(const Command& command);

// The keys of a command, which has as many words as it needs.
Keys keys_of(const Command& command, std::span<const std::string_view> argv);

// Null if there is no such command. Names are upper or lower case.
const Command* find_command(std::string_view name);

// Where a node of a cluster sends the command; "": it runs it itself. `asked`: it came after ASK.
std::string redirection(ServerState& server, bool asked, const Command& command,
                        std::span<const std::string_view> argv);

std::span<const Command> data_commands();
std::span<const Command> sorted_set_commands();
std::span<const Command> connection_commands();
std::span<const Command> script_commands();

bool equals_ignoring_case(std::string_view a, std::string_view b);
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_double(std::string_view text);
// As Redis: * ? [a-z] [^a] and backslash.
bool matches(std::string_view pattern, std::string_view text);

inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

// The value at `key` if it is a T. Null if there is none, or after answering WRONGTYPE: then `ok`
// is false.
template <class T>
T* find_typed(Call& call, std::string_view key, bool& ok) {
  Value* const value = call.server.store.find(key);
  T* const typed = value != nullptr ? std::get_if<T>(&value->data) : nullptr;
  ok = value == nullptr || typed != nullptr;
  if (!ok) {
    call.reply.error(kWrongType);
  }
  return typed;
}

// The T at `key`, made if it is absent. Null after answering WRONGTYPE.
template <class T>
T* find_or_make(Call& call, std::string_view key) {
  bool ok = false;
  T* const found = find_typed<T>(call, key, ok);
  if (found != nullptr || !ok) {
    return found;
  }
  Value& value = call.server.store.find_or_add(key);
  return &value.data.emplace<T>();
}

}  // namespace belay::sim
