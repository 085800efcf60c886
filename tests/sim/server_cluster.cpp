// What a simulated server is as a node of a cluster: which commands it runs itself, and where it
// sends the others. They are judged in the thread of the Server.
#include <algorithm>
#include <string>

#include "route/slot.h"
#include "sim/server_command.h"

namespace belay::sim {
namespace {

// The keys that a command names, also those of a script.
std::span<const std::string_view> named_by(const Command& command,
                                           std::span<const std::string_view> argv) {
  if ((command.flags & kShard) != 0) {
    return command.name == "spublish" ? argv.subspan(1, 1) : argv.subspan(1);
  }
  if (!is_script(command)) {
    return keys_of(command, argv).words;
  }
  const std::int64_t count = parse_integer(argv[2]).value_or(0);
  const std::size_t most = argv.size() - 3;
  return argv.subspan(3,
                      std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(0, count))));
}

}  // namespace

// As Redis 6.2 to 8, and Valkey 8 and 9, decide it (getNodeByQuery).
std::string redirection(ServerState& server, const Session& session, const Command& command,
                        std::span<const std::string_view> argv) {
  const std::span<const std::string_view> keys = named_by(command, argv);
  if (!server.slots || keys.empty()) {
    return {};
  }
  const std::uint16_t slot = slot_of(keys.front());
  if (std::any_of(keys.begin(), keys.end(),
                  [slot](std::string_view key) { return slot_of(key) != slot; })) {
    return "CROSSSLOT Keys in request don't hash to the same slot";
  }
  const SlotPlace place = server.slots(slot);
  if ((command.flags & kShard) != 0) {  // channels stay until the slot has gone
    const bool is_heard = place.is_here || (place.is_coming && session.asking);
    return is_heard ? std::string() : "MOVED " + std::to_string(slot) + " " + place.other;
  }
  const auto missing = std::count_if(keys.begin(), keys.end(), [&server](std::string_view key) {
    return server.find_now(key) == nullptr;
  });
  const bool all = missing == static_cast<std::ptrdiff_t>(keys.size());
  const bool asked = place.is_coming && session.asking;
  const bool is_split = place.is_leaving && missing > 0 && !all && !server.is_old;
  if ((asked && keys.size() > 1 && missing > 0) || is_split) {
    return "TRYAGAIN Multiple keys request during rehashing of slot";
  }
  const std::string where = std::to_string(slot) + " " + place.other;
  if (place.is_leaving && missing > 0) {
    return "ASK " + where;
  }
  return place.is_here || asked ? std::string() : "MOVED " + where;
}

}  // namespace belay::sim
