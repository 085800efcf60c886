// What a simulated server is as a node of a cluster: which commands it runs itself, and where it
// sends the others. They are judged in the thread of the Server.
#include <algorithm>
#include <string>
#include <vector>

#include "route/slot.h"
#include "sim/server_command.h"

namespace belay::sim {
namespace {

// The keys that a command names, also those of a script.
std::vector<std::string_view> named_by(const Command& command,
                                       std::span<const std::string_view> argv) {
  Keys keys = keys_of(command, argv);
  if ((command.flags & kShard) != 0) {
    keys = {command.name == "spublish" ? argv.subspan(1, 1) : argv.subspan(1)};
  } else if (is_script(command)) {
    const auto count =
        static_cast<std::size_t>(std::max<std::int64_t>(0, parse_integer(argv[2]).value_or(0)));
    keys = {argv.subspan(3, std::min(argv.size() - 3, count))};
  }
  std::vector<std::string_view> named;
  for (std::size_t i = 0; i < keys.words.size(); i += keys.step) {
    named.push_back(keys.words[i]);
  }
  return named;
}

}  // namespace

// As Redis 6.2 to 8, and Valkey 8 and 9, decide it (getNodeByQuery), also in a script.
std::string redirection(ServerState& server, bool asked, const Command& command,
                        std::span<const std::string_view> argv) {
  if (!server.slots) {
    return {};
  }
  const std::vector<std::string_view> keys = named_by(command, argv);
  if (keys.empty()) {
    return {};
  }
  const std::uint16_t slot = slot_of(keys.front());
  if (std::any_of(keys.begin(), keys.end(),
                  [slot](std::string_view key) { return slot_of(key) != slot; })) {
    return "CROSSSLOT Keys in request don't hash to the same slot";
  }
  const SlotPlace place = server.slots(slot);
  // Channels stay until the slot has gone, and replicas have them, too.
  if ((command.flags & kShard) != 0) {
    const bool is_heard = place.is_here || place.is_copied || (place.is_coming && asked);
    return is_heard ? std::string() : "MOVED " + std::to_string(slot) + " " + place.other;
  }
  const auto missing = std::count_if(keys.begin(), keys.end(), [&server](std::string_view key) {
    return server.find_now(key) == nullptr;
  });
  const bool all = missing == static_cast<std::ptrdiff_t>(keys.size());
  const bool may_come = place.is_coming && asked;
  const bool is_split = place.is_leaving && missing > 0 && !all && !server.is_old;
  if ((may_come && keys.size() > 1 && missing > 0) || is_split) {
    return "TRYAGAIN Multiple keys request during rehashing of slot";
  }
  const std::string where = std::to_string(slot) + " " + place.other;
  if (place.is_leaving && missing > 0) {
    return "ASK " + where;
  }
  return place.is_here || may_come ? std::string() : "MOVED " + where;
}

}  // namespace belay::sim
