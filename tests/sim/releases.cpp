#include "sim/releases.h"

#include <algorithm>

#include "base/packing.h"
#include "dialect/keys.h"
#include "scripts/scripts.h"

namespace belay::sim {

namespace {

constexpr Micros kRounding = 5;  // of converting between clocks
constexpr std::size_t kClientSize = 22;
constexpr std::size_t kFirstKey = 3;  // after EVALSHA, the script, how many keys
constexpr std::size_t kKeys = 4;      // of each name that is left in full

bool runs(Server::Args argv, const Script& script) {
  return argv[1] == script.sha1 || argv[1] == script.body;
}

}  // namespace

void Releases::asked(Process& process, std::int64_t tag, const std::vector<std::string>& names,
                     const Engine::HoldView& hold, Micros now) {
  if (hold.state == BELAY_HOLD_LOST) {
    return;
  }
  Pending pending;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t fence = hold.fences.empty() ? hold.fence : hold.fences.at(i);
    pending.parts.push_back({names[i], custody_.epoch_of(names[i], process.number(), fence)});
  }
  pending.ours_until = process.true_time_of(now + hold.remaining);
  pending.connection = process.connection(key_of("belay:", 'r', names.front()));
  pending_[{process.number(), tag}] = std::move(pending);
}

void Releases::after_script(int process, Server::Args argv, bool failed) {
  if (argv.size() <= kFirstKey) {
    return;
  }
  if (runs(argv, scripts::kAcquire) || runs(argv, scripts::kMany) || runs(argv, scripts::kTake)) {
    on_acquire(process, argv);
    return;
  }
  if (failed) {
    return;
  }
  const bool in_full = runs(argv, scripts::kLeave);
  if (runs(argv, scripts::kReleaseMembers)) {
    Unpacker seat(argv[kFirstKey + 2]);
    seat.bytes(kClientSize);
    left(process, name_of("belay:", 'r', argv[kFirstKey]).value_or(""), seat.number(), false);
    return;
  }
  if (!in_full && !runs(argv, scripts::kRelease)) {
    return;
  }
  const auto keys = static_cast<std::size_t>(std::stoll(std::string(argv[2])));
  const std::size_t apart = in_full ? kKeys : 1;
  Unpacker request(argv[kFirstKey + keys]);
  request.bytes(in_full ? 1 : kClientSize);  // the kind, or who asks
  for (std::size_t i = 0; i < keys; i += apart) {
    request.bytes(in_full ? kClientSize : 0);
    const std::int64_t epoch = request.number();
    request.bytes(in_full ? 17 : 0);  // the highest fence, flags, the latest one given
    const std::optional<std::string> name = name_of("belay:", 'r', argv[kFirstKey + i]);
    left(process, name.value_or(""), epoch, in_full);
  }
}

void Releases::on_acquire(int process, Server::Args argv) {
  for (auto& [key, pending] : pending_) {
    for (Part& part : pending.parts) {
      const std::string record = key_of("belay:", 'r', part.name);
      part.asked_anew =
          part.asked_anew ||
          (key.first == process && std::find(argv.begin(), argv.end(), record) != argv.end());
    }
  }
}

// What was not left in full either was had, or nothing was done.
void Releases::left(int process, const std::string& name, std::int64_t epoch, bool in_full) {
  const bool had = custody_.stood(name, process, epoch);
  if (!in_full && (!had || custody_.holds(name, process))) {
    return;
  }
  if (!had && custody_.was_there(name, process, epoch)) {
    return;  // it has lapsed, and was freed before anybody took it
  }
  for (auto& [key, pending] : pending_) {
    for (Part& part : pending.parts) {
      if (key.first == process && part.name == name && part.epoch == epoch) {
        ++(had ? part.had : part.had_not);
      }
    }
  }
}

void Releases::on_event(const Process& process, const Event& event) {
  const auto found = pending_.find({process.number(), event.tag});
  if (event.tag == 0 || found == pending_.end()) {
    return;
  }
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  // A server with older data may have again what was lost.
  const bool lost =
      std::any_of(pending.parts.begin(), pending.parts.end(), [this](const Part& part) {
        const bool beside = world_.has_had_two_masters() && part.had == 0;
        return part.was_lost() || beside || (faults_.failovers && part.had_not > 0);
      });
  const Part& first = pending.parts.front();
  const std::string record = key_of("belay:", 'r', first.name);
  const std::string what = "P1: the release of '" + first.name + "', tag " +
                           std::to_string(event.tag) + " of process " +
                           std::to_string(process.number());
  // What was refused, or sent on another connection or to another server, is sent again. One of
  // several names may go to the next local owner, who leaves it meanwhile.
  const bool once = !faults_.errors && !faults_.script_flushes && !world_.has_moved(record) &&
                    pending.connection == process.connection(record);
  const bool in_time = !faults_.clock_forward && world_.now() < pending.ours_until - kRounding;
  if (event.status.ok() && pending.parts.size() == 1 && first.was_lost() && first.had_not == 1 &&
      !first.asked_anew && once && in_time) {
    world_.violation(what + " said OK, and the server did not have it");
  }
  if (event.status.code == BELAY_LOST && !lost) {
    world_.violation(what + " said LOST, and the server had it");
  }
}

}  // namespace belay::sim
