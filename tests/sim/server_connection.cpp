// Commands of a simulated server on connections, channels and the server itself. They run in the
// thread of the Server.
#include <algorithm>
#include <string>

#include "sim/server_command.h"

namespace belay::sim {
namespace {

std::string_view version_of(const ServerState& server) {
  return server.is_old ? "6.2.14" : "7.0.15";
}

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

void answer_ok(Call& call) {
  call.reply.status("OK");
}

void ping(Call& call) {
  if (call.argv.size() > 1) {
    call.reply.bulk(call.argv[1]);
  } else {
    call.reply.status("PONG");
  }
}

bool log_in(Call& call, std::string_view user, std::string_view password) {
  if (user != "default" || password != call.server.password) {
    return false;
  }
  call.session->authenticated = true;
  return true;
}

void auth(Call& call) {
  const bool named = call.argv.size() == 3;
  if (call.argv.size() > 3) {
    call.reply.error(kSyntaxError);
  } else if (!named && call.server.password.empty()) {
    call.reply.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  } else if (log_in(call, named ? call.argv[1] : "default", call.argv.back())) {
    answer_ok(call);
  } else {
    call.reply.error(kWrongPassword);
  }
}

// Reads what follows HELLO 3. False after answering an error.
bool read_hello_options(Call& call) {
  for (std::size_t i = 2; i < call.argv.size();) {
    const std::size_t left = call.argv.size() - i - 1;
    if (equals_ignoring_case(call.argv[i], "AUTH") && left >= 2) {
      if (!call.server.password.empty() && !log_in(call, call.argv[i + 1], call.argv[i + 2])) {
        call.reply.error(kWrongPassword);
        return false;
      }
      i += 3;
    } else if (equals_ignoring_case(call.argv[i], "SETNAME") && left >= 1) {
      call.session->name = call.argv[i + 1];
      i += 2;
    } else {
      call.reply.error("ERR Syntax error in HELLO option '" + std::string(call.argv[i]) + "'");
      return false;
    }
  }
  return true;
}

void hello(Call& call) {
  if (call.argv.size() > 1 && call.argv[1] != "3") {
    call.reply.error("NOPROTO unsupported protocol version");
    return;
  }
  if (!read_hello_options(call)) {
    return;
  }
  if (!call.server.password.empty() && !call.session->authenticated) {
    call.reply.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
    return;
  }
  call.reply.map(7);
  call.reply.bulk("server");
  call.reply.bulk("redis");
  call.reply.bulk("version");
  call.reply.bulk(version_of(call.server));
  call.reply.bulk("proto");
  call.reply.integer(3);
  call.reply.bulk("id");
  call.reply.integer(call.session->id);
  call.reply.bulk("mode");
  call.reply.bulk(call.server.master_seen ? "sentinel"
                  : call.server.slot_map  ? "cluster"
                                          : "standalone");
  call.reply.bulk("role");
  call.reply.bulk(call.server.is_replica ? "replica" : "master");
  call.reply.bulk("modules");
  call.reply.array(0);
}

void select(Call& call) {
  if (call.argv[1] == "0") {
    answer_ok(call);
  } else {
    call.reply.error("ERR DB index is out of range");
  }
}

// Reads CLIENT KILL's filters: which sessions are meant. Nothing after answering an error.
std::optional<std::vector<int>> sessions_to_kill(Call& call) {
  std::optional<std::int64_t> id;
  std::string_view type;
  bool skip_me = true;
  bool ok = call.argv.size() % 2 == 0;
  for (std::size_t i = 2; ok && i < call.argv.size(); i += 2) {
    const std::string_view value = call.argv[i + 1];
    if (equals_ignoring_case(call.argv[i], "ID")) {
      id = parse_integer(value);
      ok = id.has_value() && *id > 0;
    } else if (equals_ignoring_case(call.argv[i], "TYPE")) {
      type = value;
      ok = type == "normal" || type == "pubsub";
    } else if (equals_ignoring_case(call.argv[i], "SKIPME")) {
      skip_me = !equals_ignoring_case(value, "no");
    } else {
      ok = equals_ignoring_case(call.argv[i], "USER") && value == "default";
    }
  }
  if (!ok) {
    call.reply.error(kSyntaxError);
    return std::nullopt;
  }
  std::vector<int> meant;
  for (const auto& [number, session] : call.server.sessions) {
    const bool is_pubsub = !session.channels.empty();
    const bool fits = (!id || *id == number) && (type.empty() || (type == "pubsub") == is_pubsub) &&
                      !(skip_me && number == call.session->id);
    if (fits) {
      meant.push_back(number);
    }
  }
  return meant;
}

void client_kill(Call& call) {
  const auto meant = sessions_to_kill(call);
  if (!meant) {
    return;
  }
  call.reply.integer(static_cast<std::int64_t>(meant->size()));
  for (const int id : *meant) {
    call.server.drop(id);
    if (call.server.on_killed) {
      call.server.on_killed(id);
    }
  }
}

void client_tracking(Call& call) {
  const bool on = equals_ignoring_case(call.argv[2], "ON");
  if (!on && !equals_ignoring_case(call.argv[2], "OFF")) {
    call.reply.error(kSyntaxError);
    return;
  }
  call.session->tracking = on;
  call.session->no_loop =
      on && std::any_of(call.argv.begin() + 3, call.argv.end(),
                        [](std::string_view word) { return equals_ignoring_case(word, "NOLOOP"); });
  answer_ok(call);
}

std::string client_info(const Session& session) {
  return "id=" + std::to_string(session.id) + " addr=sim:" + std::to_string(session.id) +
         " name=" + session.name + " sub=" + std::to_string(session.channels.size()) +
         " user=default lib-name=" + session.library + " resp=3\n";
}

void client(Call& call) {
  const auto is = [&](std::string_view verb, std::size_t least) {
    return equals_ignoring_case(call.argv[1], verb) && call.argv.size() >= least;
  };
  const bool restricted = is("KILL", 2) || is("TRACKING", 2);
  if (restricted && !call.server.client_commands_allowed) {
    call.reply.error("NOPERM this user has no permissions to run the 'client|" +
                     std::string(call.argv[1]) + "' command");
  } else if (is("ID", 2)) {
    call.reply.integer(call.session->id);
  } else if (is("KILL", 4)) {
    client_kill(call);
  } else if (is("TRACKING", 3)) {
    client_tracking(call);
  } else if (is("CACHING", 3) && !call.session->tracking) {
    call.reply.error(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled");
  } else if (is("CACHING", 3)) {
    call.session->caching = true;
    answer_ok(call);
  } else if (is("SETNAME", 3)) {
    call.session->name = call.argv[2];
    answer_ok(call);
  } else if (is("GETNAME", 2)) {
    call.reply.bulk(call.session->name);
  } else if (is("SETINFO", 4)) {
    if (equals_ignoring_case(call.argv[2], "LIB-NAME")) {
      call.session->library = call.argv[3];
    }
    answer_ok(call);
  } else if (is("INFO", 2)) {
    call.reply.bulk(client_info(*call.session));
  } else {
    call.reply.error("ERR unknown subcommand or wrong number of arguments for '" +
                     std::string(call.argv[1]) + "'. Try CLIENT HELP.");
  }
}

void info(Call& call) {
  std::string text = "# Server\r\nredis_version:" + std::string(version_of(call.server)) +
                     "\r\nredis_mode:standalone\r\nrun_id:" + call.server.run_id +
                     "\r\ntcp_port:6379\r\n";
  text += "\r\n# Memory\r\nmaxmemory:" + std::to_string(call.server.maxmemory) +
          "\r\nmaxmemory_policy:noeviction\r\n";
  text += std::string("\r\n# Replication\r\nrole:") +
          (call.server.is_replica ? "slave" : "master") + "\r\nconnected_slaves:0\r\n";
  call.reply.bulk(text);
}

void cluster(Call& call) {
  if (!call.server.slot_map || !equals_ignoring_case(call.argv[1], "SLOTS")) {
    call.reply.error("ERR This instance has cluster support disabled");
    return;
  }
  const std::vector<SlotRun> runs = call.server.slot_map();
  call.reply.array(runs.size());
  for (const SlotRun& run : runs) {
    call.reply.array(3);
    call.reply.integer(run.first);
    call.reply.integer(run.last);
    call.reply.array(3);
    call.reply.bulk(run.host);
    call.reply.integer(run.port);
    call.reply.bulk("id");
  }
}

void role(Call& call) {
  call.reply.array(3);
  call.reply.bulk("master");
  call.reply.integer(0);
  call.reply.array(0);
}

void time(Call& call) {
  call.reply.array(2);
  call.reply.bulk(std::to_string(call.server.now_us / 1000000));
  call.reply.bulk(std::to_string(call.server.now_us % 1000000));
}

void answer_subscription(Call& call, std::string_view kind, std::string_view channel) {
  call.reply.push(3);
  call.reply.bulk(kind);
  if (channel.data() == nullptr) {
    call.reply.null();
  } else {
    call.reply.bulk(channel);
  }
  call.reply.integer(static_cast<std::int64_t>(call.session->channels.size()));
}

void subscribe(Call& call) {
  for (const std::string_view channel : call.argv.subspan(1)) {
    call.server.subscribe(*call.session, ChannelKind::kPlain, channel);
    answer_subscription(call, "subscribe", channel);
  }
}

void ssubscribe(Call& call) {
  for (const std::string_view channel : call.argv.subspan(1)) {
    call.server.subscribe(*call.session, ChannelKind::kShard, channel);
    answer_subscription(call, "ssubscribe", channel);
  }
}

void sunsubscribe(Call& call) {
  for (const std::string_view channel : call.argv.subspan(1)) {
    call.server.unsubscribe(*call.session, ChannelKind::kShard, channel);
    answer_subscription(call, "sunsubscribe", channel);
  }
}

void unsubscribe(Call& call) {
  for (const std::string_view channel : call.argv.subspan(1)) {
    call.server.unsubscribe(*call.session, ChannelKind::kPlain, channel);
    answer_subscription(call, "unsubscribe", channel);
  }
  if (call.argv.size() > 1) {
    return;
  }
  if (call.session->channels.empty()) {
    answer_subscription(call, "unsubscribe", {});
  }
  while (!call.session->channels.empty()) {
    const std::string channel = call.session->channels.front().substr(1);
    call.server.unsubscribe(*call.session, ChannelKind::kPlain, channel);
    answer_subscription(call, "unsubscribe", channel);
  }
}

void publish(Call& call) {
  if (call.server.bus) {
    call.server.bus(call.argv[1], call.argv[2]);
  }
  call.reply.integer(call.server.publish(ChannelKind::kPlain, call.argv[1], call.argv[2]));
}

void spublish(Call& call) {
  call.reply.integer(call.server.publish(ChannelKind::kShard, call.argv[1], call.argv[2]));
}

void config(Call& call) {
  const bool about_memory = call.argv.size() > 2 && equals_ignoring_case(call.argv[2], "maxmemory");
  if (equals_ignoring_case(call.argv[1], "SET") && call.argv.size() == 4 && about_memory) {
    call.server.maxmemory = parse_integer(call.argv[3]).value_or(0);
    answer_ok(call);
    return;
  }
  if (!equals_ignoring_case(call.argv[1], "GET") || call.argv.size() != 3) {
    call.reply.error("ERR unsupported CONFIG subcommand");
    return;
  }
  const bool about_policy = equals_ignoring_case(call.argv[2], "maxmemory-policy");
  call.reply.map(about_memory || about_policy ? 1 : 0);
  if (about_policy) {
    call.reply.bulk("maxmemory-policy");
    call.reply.bulk("noeviction");
  } else if (about_memory) {
    call.reply.bulk("maxmemory");
    call.reply.bulk(std::to_string(call.server.maxmemory));
  }
}

void asking(Call& call) {
  call.session->asking = true;
  answer_ok(call);
}

// What is asked of a sentinel.
void sentinel(Call& call) {
  const std::string_view verb = call.argv.size() > 2 ? call.argv[1] : std::string_view();
  if (!call.server.master_seen) {
    call.reply.error("ERR unknown command 'sentinel'");
    return;
  }
  const MasterSeen seen = call.server.master_seen();
  const bool by_name = equals_ignoring_case(verb, "GET-MASTER-ADDR-BY-NAME");
  if (!by_name && !equals_ignoring_case(verb, "MASTER")) {
    call.reply.error(kSyntaxError);
  } else if (call.argv[2] != seen.name && by_name) {
    call.reply.null();
  } else if (call.argv[2] != seen.name) {
    call.reply.error("ERR No such master with that name");
  } else if (by_name) {
    call.reply.array(2);
    call.reply.bulk(seen.host);
    call.reply.bulk(std::to_string(seen.port));
  } else {
    call.reply.map(1);
    call.reply.bulk("config-epoch");
    call.reply.bulk(std::to_string(seen.epoch));
  }
}

constexpr Command kCommands[] = {
    {"ping", -1, 0, 0, 0, ping},
    {"cluster", -2, kNoScript, 0, 0, cluster},
    {"asking", 1, kNoScript, 0, 0, asking},
    {"hello", -1, kNoScript | kBeforeAuth, 0, 0, hello},
    {"auth", -2, kNoScript | kBeforeAuth, 0, 0, auth},
    {"select", 2, kNoScript, 0, 0, select},
    {"client", -2, kNoScript, 0, 0, client},
    {"info", -1, 0, 0, 0, info},
    {"role", 1, kNoScript, 0, 0, role},
    {"time", 1, 0, 0, 0, time},
    {"subscribe", -2, kNoScript, 0, 0, subscribe},
    {"unsubscribe", -1, kNoScript, 0, 0, unsubscribe},
    {"publish", 3, 0, 0, 0, publish},
    {"ssubscribe", -2, kNoScript | kShard, 0, 0, ssubscribe},
    {"sunsubscribe", -2, kNoScript | kShard, 0, 0, sunsubscribe},
    {"spublish", 3, kShard, 0, 0, spublish},
    {"config", -2, kNoScript, 0, 0, config},
    {"sentinel", -2, kNoScript, 0, 0, sentinel},
};

}  // namespace

std::span<const Command> connection_commands() {
  return kCommands;
}

}  // namespace belay::sim
