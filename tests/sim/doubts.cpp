#include "sim/doubts.h"

#include <algorithm>
#include <utility>

#include "base/packing.h"
#include "dialect/keys.h"
#include "scripts/scripts.h"

namespace belay::sim {

namespace {

constexpr Micros kRounding = 5;  // of converting between clocks
constexpr std::size_t kClientSize = 22;
constexpr std::size_t kFirstKey = 3;  // after EVALSHA, the script, how many keys
constexpr std::size_t kKeys = 4;      // of each name

}  // namespace

Doubts::Doubts(World& world, const Faults& faults, const Custody& custody, const Checks& checks,
               Micros watchdog_lease, Micros timeout)
    : world_(world),
      custody_(custody),
      checks_(checks),
      applies_(!faults.data_loss && !faults.clock_back && !faults.clock_forward),
      timeout_(timeout),
      watchdog_lease_(watchdog_lease),
      longest_lease_(watchdog_lease) {}

void Doubts::asked(const Process& process, std::int64_t tag, std::vector<std::string> names,
                   Micros lease) {
  longest_lease_ = std::max(longest_lease_, lease);
  for (const std::string& name : names) {
    if (over_.erase({process.number(), name}) > 0) {
      leaves_something(process);  // the doubt that comes is of the latest only
    }
  }
  asked_[{process.number(), tag}] = std::move(names);
}

void Doubts::extends(const Process& process, std::int64_t tag, std::vector<std::string> names,
                     Micros lease) {
  longest_lease_ = std::max(longest_lease_, lease);
  extensions_[{process.number(), tag}] = {std::move(names), lease, world_.now()};
}

void Doubts::on_event(const Process& process, const Event& event) {
  const Tag key(process.number(), event.tag);
  if (event.kind == BELAY_EVENT_LOST) {
    leaves_something(process);
  } else if (const auto extension = extensions_.find(key); extension != extensions_.end()) {
    on_extended(process, event, &extension->second);
  } else if (const auto found = asked_.find(key); found != asked_.end()) {
    const std::vector<std::string> names = std::move(found->second);
    asked_.erase(found);
    on_end(process, event, names);
  }
}

// Whether the process has and asks for nothing else of the name.
bool Doubts::alone(const Place& place) const {
  return !checks_.holds(place.first, place.second) &&
         std::none_of(asked_.begin(), asked_.end(), [&place](const auto& entry) {
           return entry.first.first == place.first &&
                  std::find(entry.second.begin(), entry.second.end(), place.second) !=
                      entry.second.end();
         });
}

void Doubts::on_end(const Process& process, const Event& event,
                    const std::vector<std::string>& names) {
  check_length(process, event, 0, longest_lease_);
  const bool granted = event.kind == BELAY_EVENT_ACQUIRED && event.status.ok();
  for (const std::string& name : names) {
    const Place place(process.number(), name);
    const auto left = left_at_.find(process.number());
    if (granted) {
      granted_at_[place] = world_.now();
    } else if (event.in_doubt > 0 && alone(place) && watched_.contains(name) &&
               (left == left_at_.end() || left->second < granted_at_[place])) {
      over_[place] = {process.true_time_of(event.status.in_doubt_until), expires(place)};
    } else if (!event.status.ok()) {
      leaves_something(process);
    }
  }
}

// How exactly a process knows the server's clock: by a round trip that it has had, and since then
// worse, by 0.5 % each way.
Micros Doubts::vagueness(int process) const {
  return world_.longest_trip(process) + world_.now() / 100;
}

void Doubts::on_extended(const Process& process, const Event& event, Extension* extension) {
  const std::int32_t code = event.status.code;
  const bool answered =
      event.status.ok() || code == BELAY_LOST || code == BELAY_UNKNOWN_HOLD || code == BELAY_CLOSED;
  extension->until = answered             ? kNever
                     : event.in_doubt > 0 ? process.true_time_of(event.status.in_doubt_until)
                                          : world_.now();
  if (!answered) {
    check_length(process, event, extension->lease, extension->lease);
  }
}

// What may just have taken place lasts for its lease, and what is asked for is asked for within the
// request timeout by the server's clock.
void Doubts::check_length(const Process& process, const Event& event, Micros least, Micros lease) {
  const Micros most =
      timeout_ + lease * 102 / 100 + vagueness(process.number()) + 20 * kMillisecond;
  if (event.in_doubt > 0 && (event.in_doubt < least || event.in_doubt > most)) {
    world_.violation("doubt: tag " + std::to_string(event.tag) + " of process " +
                     std::to_string(process.number()) + " is in doubt for " +
                     std::to_string(event.in_doubt / kMillisecond) + " ms");
  }
}

// A process has run something; `asked`: the one of that place has asked for names. A waiter that
// gave up while the server was out of reach is like one that has stopped: until it is left, a
// release may hand it the name for a grant lease, also one of its own that goes before.
void Doubts::look_at(const Place& place, Over& over, bool asked) {
  const Micros now = world_.server_time(world_.host_of(key_of("belay:", 'r', place.second)));
  const bool stood = std::exchange(over.expires, expires(place)) >= now;
  over.handed = over.expires > 0 && (over.handed || (!stood && !asked));
  if (over.expires > 0 && !over.handed && world_.now() > over.at + kRounding) {
    world_.violation(
        "doubt: '" + place.second + "' stands for process " + std::to_string(place.first) + ", " +
        std::to_string((world_.now() - over.at) / kMillisecond) + " ms after the end of its doubt");
  }
}

void Doubts::after_script(int process, Server::Args argv) {
  if (!applies_) {
    return;
  }
  const auto runs = [argv](const Script& script) {
    return argv.size() > kFirstKey && (argv[1] == script.sha1 || argv[1] == script.body);
  };
  const bool asks = runs(scripts::kAcquire) || runs(scripts::kMany) || runs(scripts::kTake);
  for (auto& [place, over] : over_) {
    look_at(place, over, asks && process == place.first);
  }
  if (runs(scripts::kRenew)) {
    const auto keys = static_cast<std::size_t>(std::stoll(std::string(argv[2])));
    for (std::size_t i = 0; i * kKeys < keys; ++i) {
      Unpacker request(argv[kFirstKey + keys + 2 + i]);
      request.bytes(kClientSize);
      request.number();  // epoch
      after_renewal(process, argv[kFirstKey + i * kKeys], request.number());
    }
  } else if (runs(scripts::kKeep) || runs(scripts::kKeepMembers)) {
    const bool joint = runs(scripts::kKeepMembers);
    const auto keys = static_cast<std::size_t>(std::stoll(std::string(argv[2])));
    Unpacker request(argv[kFirstKey + keys]);
    request.number();  // not-after
    for (std::size_t i = 0; i < keys; ++i) {
      request.bytes(kClientSize);
      request.number();               // epoch
      request.bytes(joint ? 36 : 8);  // the fence; of a seat, all that follows
      after_renewal(process, argv[kFirstKey + i], request.number());
      request.bytes(joint ? 1 : 4);  // kind; or holds, local waiters
    }
  }
}

void Doubts::after_renewal(int process, std::string_view key, Micros lease) {
  for (const std::string& name : watched_) {
    if ((key == key_of("belay:", 'r', name) || key == key_of("belay:", 'm', name)) &&
        custody_.expires(name, process) == world_.server_time(world_.host_of(key)) + lease) {
      check_extension(process, name, lease);
    }
  }
}

// It has just taken place: within its request timeout, and what has begun by it ends before its
// doubt does. A renewal by the watchdog may ask for as much.
void Doubts::check_extension(int process, const std::string& name, Micros lease) {
  if (lease == watchdog_lease_) {
    return;
  }
  const Micros now = world_.now();
  bool known = false;
  bool may = false;
  for (const auto& [key, extension] : extensions_) {
    const bool suits =
        key.first == process && extension.lease == lease &&
        std::find(extension.names.begin(), extension.names.end(), name) != extension.names.end();
    known = known || suits;
    may = may || (suits && now + lease * 99 / 100 - kRounding <= extension.until &&
                  now <= extension.asked_at + timeout_ + vagueness(process) + 20 * kMillisecond);
  }
  if (known && !may) {
    world_.violation("doubt: an extension of '" + name + "' by process " + std::to_string(process) +
                     " took place after its end, or that of its doubt");
  }
}

}  // namespace belay::sim
