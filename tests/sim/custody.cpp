#include "sim/custody.h"

#include <algorithm>
#include <optional>

#include "base/contract.h"
#include "base/packing.h"
#include "dialect/keys.h"
#include "route/slot.h"
#include "scripts/scripts.h"
#include "sim/process.h"

namespace belay::sim {

namespace {

// Whose an entry is: a client's, or a claim's where it wants permits.
std::string who_of(std::string_view entry) {
  Unpacker limit(entry.substr(std::min<std::size_t>(entry.size(), contract::kLimitOffset)));
  return std::string(
      entry.substr(0, limit.number() > 0 ? contract::kClaimSize : contract::kClientSize));
}

std::string claim_of(std::string_view entry) {
  return std::string(entry.substr(0, contract::kClaimSize));
}

// In the members' sorted set.
bool is_seat(const Server::Ranked& one) {
  return one.member.size() >= contract::kMemberSize;
}

constexpr std::string_view kPrefix = "belay:";
constexpr std::size_t kClientSize = 22;
// What a few grants reserve that follow at once; and by how much the clocks of a cluster differ.
constexpr Micros kMostAhead = 2 * kMillisecond;

bool is_break(Server::Args argv) {
  return argv.size() > 1 && (argv[1] == scripts::kBreak.sha1 || argv[1] == scripts::kBreak.body);
}

}  // namespace

void Custody::watch(const std::string& name) {
  watched_.push_back({name,
                      key_of(kPrefix, 'r', name),
                      key_of(kPrefix, 'w', name),
                      key_of(kPrefix, 'm', name),
                      fence_key_of(kPrefix, slot_of(key_of(kPrefix, 'r', name))),
                      {},
                      {},
                      {},
                      {},
                      {}});
}

Custody::Queue Custody::queue_of(const Watched& watched) const {
  Queue queue;
  Server& server = world_.server_of(watched.queue_key);
  for (const std::string& field : server.fields(watched.queue_key)) {
    if (field.size() == sizeof(double)) {
      const std::string_view entry = server.field(watched.queue_key, field).value_or("");
      queue[Unpacker(field).number()] = entry.substr(0, contract::kLimitOffset + sizeof(double));
    }
  }
  return queue;
}

std::size_t Custody::size_of_who(const Watched& watched) const {
  const auto record = world_.server_of(watched.record_key).text(watched.record_key).value_or("");
  return record.size() > 1 && record[1] == contract::kSemaphore ? contract::kClaimSize
                                                                : kClientSize;
}

Custody::Holders Custody::live_holders(const Watched& watched) const {
  return holders(watched, world_.server_time(world_.host_of(watched.record_key)));
}

Custody::Holders Custody::holders(const Watched& watched, Micros until) const {
  Holders holders;
  const std::optional<std::string_view> bytes =
      world_.server_of(watched.record_key).text(watched.record_key);
  if (!bytes) {
    return holders;
  }
  Unpacker fields(*bytes);
  fields.bytes(3);  // version, kind, somebody waits
  const std::string client(fields.bytes(kClientSize));
  Holder holder;
  holder.epoch = fields.number();
  holder.fence = fields.number();
  fields.number();  // since
  holder.last_fence = fields.number();
  holder.expires = fields.number();
  if (fields.complete() && holder.epoch == 0) {
    add_members(watched, until, &holders);
    return holders;
  }
  fields.bytes(34);  // holds, local waiters, who handed it on
  holder.kept_until = holder.expires + fields.number();
  if (fields.complete() && holder.kept_until >= until) {
    holder.process = process_of(client);
    holders.emplace(client, holder);
  }
  return holders;
}

void Custody::add_members(const Watched& watched, Micros until, Holders* holders) const {
  for (const Server::Ranked& seat :
       world_.server_of(watched.members_key).ranked(watched.members_key)) {
    if (!is_seat(seat)) {
      continue;
    }
    Unpacker fields(seat.member);
    Holder holder;
    holder.process = process_of(fields.bytes(kClientSize));
    holder.epoch = fields.number();
    holder.fence = holder.last_fence = fields.number();
    const bool lost = fields.number() == 0;
    holder.kept_until = static_cast<Micros>(seat.score);
    holder.expires = lost ? 0 : holder.kept_until - fields.number();
    if (holder.kept_until >= until) {
      holders->emplace(seat.member.substr(0, size_of_who(watched)), holder);
    }
  }
}

Micros Custody::expires(const std::string& name, int process) const {
  for (const Watched& watched : watched_) {
    for (const auto& [who, holder] : watched.name == name ? live_holders(watched) : Holders()) {
      if (holder.process == process &&
          holder.expires >= world_.server_time(world_.host_of(watched.record_key))) {
        return holder.expires;
      }
    }
  }
  return 0;
}

bool Custody::holds(const std::string& name, int process) const {
  for (const Watched& watched : watched_) {
    for (const auto& [who, holder] : watched.name == name ? live_holders(watched) : Holders()) {
      if (holder.process == process) {
        return true;
      }
    }
  }
  return false;
}

bool Custody::stood(const std::string& name, int process, std::int64_t epoch) const {
  return had(&Watched::before, name, process, epoch);
}

bool Custody::was_there(const std::string& name, int process, std::int64_t epoch) const {
  return had(&Watched::there, name, process, epoch);
}

bool Custody::had(Holders Watched::*which, const std::string& name, int process,
                  std::int64_t epoch) const {
  return std::any_of(watched_.begin(), watched_.end(), [&](const Watched& watched) {
    const Holders& holders = watched.*which;
    return watched.name == name &&
           std::any_of(holders.begin(), holders.end(), [&](const auto& entry) {
             return entry.second.process == process && entry.second.epoch == epoch;
           });
  });
}

std::int64_t Custody::epoch_of(const std::string& name, int process, std::int64_t fence) const {
  std::int64_t latest = 0;
  for (const Watched& watched : watched_) {
    for (const auto& [whom, from, to, epoch] : watched.fences) {
      if (watched.name == name && whom == process && fence >= from && fence <= to) {
        latest = std::max(latest, epoch);
      }
    }
  }
  return latest;
}

void Custody::before_script() {
  for (Watched& watched : watched_) {
    watched.before = live_holders(watched);
    watched.there = holders(watched, 0);
    watched.queue = queue_of(watched);
  }
}

void Custody::after_script(int process, Server::Args argv) {
  for (Watched& watched : watched_) {
    check_members(watched);
    check_queue(watched);
    check_newcomers(watched);
    const Holders after = live_holders(watched);
    check_served(watched, after);
    check_ranges(watched, after);
    for (const auto& [who, holder] : after) {
      watched.fences.emplace(holder.process, holder.fence, holder.last_fence, holder.epoch);
    }
    if (after == watched.before || is_break(argv)) {
      continue;
    }
    check_owner(watched, after, process);
    for (const auto& [who, holder] : after) {
      const auto before = watched.before.find(who);
      if (before == watched.before.end() || before->second.epoch != holder.epoch) {
        check_order(watched, who);
        check_forgotten(watched, holder);
      }
    }
  }
}

void Custody::after_step(int process) {
  if (remembers_(process)) {
    return;
  }
  for (const Watched& watched : watched_) {
    for (const auto& [who, holder] : live_holders(watched)) {
      if (holder.process == process) {
        check_forgotten(watched, holder);
      }
    }
  }
}

void Custody::check_owner(const Watched& watched, const Holders& after, int process) {
  for (const auto& [who, before] : watched.before) {
    const auto found = after.find(who);
    if (found != after.end() && found->second == before) {
      continue;
    }
    const bool renewed = found != after.end() && found->second.epoch == before.epoch;
    if (found != after.end() && found->second.epoch < before.epoch) {
      world_.violation("P2: an older claim of process " + std::to_string(process) + " on '" +
                       watched.name + "' came back");
    }
    if (before.process != process) {
      world_.violation("P1: process " + std::to_string(process) +
                       (renewed ? " renewed" : " freed") + " '" + watched.name +
                       "', which was process " + std::to_string(before.process) + "'s");
    }
  }
}

// P4: whoever stood in the queue and still does came later. Lost data lose places.
void Custody::check_order(const Watched& watched, const std::string& who) {
  if (faults_.data_loss) {
    return;
  }
  const Queue queue = queue_of(watched);
  for (const auto& [place, entry] : watched.queue) {
    const std::string waiter = who_of(entry);
    if (waiter == who) {
      return;
    }
    const auto still = queue.find(place);
    if (still != queue.end() && who_of(still->second) == waiter) {
      world_.violation("P4: process " + std::to_string(process_of(who)) + " got '" + watched.name +
                       "' before process " + std::to_string(process_of(waiter)));
      return;
    }
  }
}

// Each seat is somebody's, who is found by when it ends; and as much is in use as they have.
// Somebody may delete keys.
void Custody::check_members(const Watched& watched) {
  const std::string_view record =
      world_.server_of(watched.record_key).text(watched.record_key).value_or("");
  if (faults_.data_loss || record.size() < contract::kHeaderSize + contract::kJointSize ||
      record[contract::kClaimOffset] != 0) {
    return;
  }
  std::map<std::string, double> seats;
  std::map<std::string, double> sitting;
  std::int64_t used = 0;
  for (const Server::Ranked& one :
       world_.server_of(watched.members_key).ranked(watched.members_key)) {
    if (is_seat(one)) {
      seats[one.member.substr(0, size_of_who(watched))] = one.score;
      used += Unpacker(std::string_view(one.member).substr(contract::kPermitsOffset)).number();
    } else {
      sitting[one.member] = -one.score;
    }
  }
  const std::int64_t counted = Unpacker(record.substr(contract::kHeaderSize)).number();
  // What has expired lives again when the clock steps back, unless somebody has looked meanwhile.
  if (seats != sitting || (used != counted && !(faults_.clock_back && seats.empty()))) {
    world_.violation("the members of '" + watched.name +
                     "' are broken: " + std::to_string(seats.size()) + " seats, " +
                     std::to_string(sitting.size()) + " who sit, " + std::to_string(counted) +
                     " in use, of which they have " + std::to_string(used));
  }
}

// The queue is of one piece: its bounds hold all places, the first of them somebody's; each place
// has an entry whose waiter has that place; and the hash ends with the last.
void Custody::check_queue(const Watched& watched) {
  Server& server = world_.server_of(watched.queue_key);
  const std::vector<std::string> fields = server.fields(watched.queue_key);
  if (fields.empty()) {
    return;
  }
  Unpacker bounds(server.field(watched.queue_key, "").value_or(""));
  const std::int64_t head = bounds.number();
  const std::int64_t tail = bounds.number();
  const Queue queue = queue_of(watched);
  const bool bounded = bounds.number() > 0 && bounds.complete() && !queue.empty() &&
                       queue.begin()->first == head && queue.rbegin()->first < tail;
  bool paired = fields.size() == 1 + 2 * queue.size();
  for (const auto& [place, entry] : queue) {
    paired =
        paired && server.field(watched.queue_key, who_of(entry)) == Packer().number(place).take();
  }
  if (!bounded || !paired) {
    world_.violation("the queue of '" + watched.name + "' is broken, of " +
                     std::to_string(queue.size()) + " waiters");
  }
}

// First come, first served: who has never waited joins behind all who wait.
void Custody::check_newcomers(Watched& watched) {
  const Queue queue = queue_of(watched);
  for (const auto& [place, entry] : queue) {
    const bool is_new = watched.queued.insert(claim_of(entry)).second;
    const auto last = queue.rbegin();
    if (is_new && !faults_.data_loss && !faults_.failovers && last->first != place) {
      world_.violation("P4: process " + std::to_string(process_of(entry)) + " waits for '" +
                       watched.name + "' before process " +
                       std::to_string(process_of(last->second)) + ", who came first");
    }
  }
}

// Who has what it waited for waits no more: only a newer claim of its client may.
void Custody::check_served(const Watched& watched, const Holders& holders) {
  for (const auto& [place, entry] : queue_of(watched)) {
    const auto holder = holders.find(who_of(entry));
    Unpacker claim(entry);
    claim.bytes(kClientSize);
    if (holder != holders.end() && claim.number() <= holder->second.epoch) {
      world_.violation("P4: process " + std::to_string(process_of(entry)) + " waits for '" +
                       watched.name + "', which it has");
    }
  }
}

// Whatever follows is above all that was reserved, also where nobody knows the record any more; and
// after lost data the clock is above all that anybody was given. Somebody may delete the fence.
void Custody::check_ranges(const Watched& watched, const Holders& holders) {
  if (faults_.data_loss || faults_.failovers) {
    return;
  }
  const std::string_view fences =
      world_.server_of(watched.fence_key).text(watched.fence_key).value_or("");
  const std::int64_t reserved = Unpacker(fences).number();
  for (const auto& [who, holder] : holders) {
    if (holder.last_fence > reserved) {
      world_.violation("P5: process " + std::to_string(holder.process) + " has fences of '" +
                       watched.name + "' up to " + std::to_string(holder.last_fence) +
                       ", reserved are those up to " + std::to_string(reserved));
    }
  }
  if (!faults_.clock_back && !faults_.clock_forward &&
      reserved > world_.server_time(world_.host_of(watched.record_key)) + kMostAhead) {
    world_.violation("P5: the fences of '" + watched.name + "' have outrun the server's clock");
  }
}

void Custody::check_forgotten(const Watched& watched, const Holder& holder) {
  // Where the clock went back, a late command may come in time after all; and a replica that was
  // behind knows nothing of the latest leaves.
  if (!faults_.clock_back && !faults_.failovers &&
      holder.expires >= world_.server_time(world_.host_of(watched.record_key)) &&
      !remembers_(holder.process)) {
    world_.violation("P2: '" + watched.name + "' stands for process " +
                     std::to_string(holder.process) + ", which has forgotten it");
  }
}

}  // namespace belay::sim
