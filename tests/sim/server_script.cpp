// Commands of a simulated server that run and keep scripts. They run in the thread of the Server.
#include <string>

#include "sim/server_command.h"

namespace belay::sim {
namespace {

constexpr std::string_view kNoScriptText = "NOSCRIPT No matching script. Please use EVAL.";

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return lowered;
}

void run_script(Call& call, std::string_view sha1, std::size_t keys) {
  ServerState& server = call.server;
  server.in_script = true;
  server.script_wrote = false;
  server.script_asked = call.asked;
  server.script_keys = call.argv.subspan(3, keys);
  server.undeclared.clear();
  server.lua->run(sha1, server.script_keys, call.argv.subspan(3 + keys), call.reply);
  server.in_script = false;
}

// Reads the number of keys. Nothing after answering an error.
std::optional<std::size_t> count_keys(Call& call) {
  const auto keys = parse_integer(call.argv[2]);
  if (!keys) {
    call.reply.error(kNotAnInteger);
  } else if (*keys < 0) {
    call.reply.error("ERR Number of keys can't be negative");
  } else if (static_cast<std::size_t>(*keys) > call.argv.size() - 3) {
    call.reply.error("ERR Number of keys can't be greater than number of args");
  } else {
    return static_cast<std::size_t>(*keys);
  }
  return std::nullopt;
}

void eval(Call& call) {
  const auto keys = count_keys(call);
  if (!keys) {
    return;
  }
  std::string sha1;
  const std::string problem = call.server.lua->load(call.argv[1], sha1);
  if (!problem.empty()) {
    call.reply.error(problem);
    return;
  }
  run_script(call, sha1, *keys);
}

void evalsha(Call& call) {
  const auto keys = count_keys(call);
  if (!keys) {
    return;
  }
  if (call.server.lua->has(call.argv[1])) {
    run_script(call, call.argv[1], *keys);
    return;
  }
  const std::string sha1 = lower_case(call.argv[1]);
  if (!call.server.lua->has(sha1)) {
    call.reply.error(kNoScriptText);
    return;
  }
  run_script(call, sha1, *keys);
}

void script(Call& call) {
  const std::string_view verb = call.argv[1];
  if (equals_ignoring_case(verb, "LOAD") && call.argv.size() == 3) {
    std::string sha1;
    const std::string problem = call.server.lua->load(call.argv[2], sha1);
    if (problem.empty()) {
      call.reply.bulk(sha1);
    } else {
      call.reply.error(problem);
    }
  } else if (equals_ignoring_case(verb, "EXISTS") && call.argv.size() > 2) {
    call.reply.array(call.argv.size() - 2);
    for (const std::string_view sha1 : call.argv.subspan(2)) {
      call.reply.integer(call.server.lua->has(lower_case(sha1)) ? 1 : 0);
    }
  } else if (equals_ignoring_case(verb, "FLUSH")) {
    call.server.lua->flush();
    call.reply.status("OK");
  } else {
    call.reply.error("ERR unknown subcommand or wrong number of arguments for 'script'");
  }
}

constexpr Command kCommands[] = {
    {"eval", -3, kNoScript, 0, 0, eval},
    {"evalsha", -3, kNoScript, 0, 0, evalsha},
    {"script", -2, kNoScript, 0, 0, script},
};

}  // namespace

std::span<const Command> script_commands() {
  return kCommands;
}

}  // namespace belay::sim
