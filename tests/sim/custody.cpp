#include "sim/custody.h"

#include <algorithm>

#include "base/packing.h"
#include "primitive/keys.h"
#include "scripts/scripts.h"
#include "sim/process.h"

namespace belay::sim {

namespace {

constexpr std::string_view kPrefix = "belay:";

bool is_break(Server::Args argv) {
  return argv.size() > 1 && (argv[1] == scripts::kBreak.sha1 || argv[1] == scripts::kBreak.body);
}

}  // namespace

void Custody::watch(const std::string& name) {
  watched_.push_back({name, key_of(kPrefix, 'r', name), key_of(kPrefix, 'q', name), {}, {}});
}

std::optional<Custody::Record> Custody::live_record(const Watched& watched) {
  const std::optional<std::string_view> bytes = world_.server().text(watched.record_key);
  if (!bytes) {
    return std::nullopt;
  }
  Unpacker fields(*bytes);
  fields.bytes(3);  // version, type, somebody waits
  Record record;
  record.claim = fields.bytes(30);
  record.process = process_of(record.claim);
  record.epoch = Unpacker(std::string_view(record.claim).substr(22)).number();
  fields.bytes(24);  // fence, since, end of the range
  record.expires = fields.number();
  return fields.complete() && record.expires >= world_.server_time() ? std::optional(record)
                                                                     : std::nullopt;
}

int Custody::holder(const std::string& name) {
  for (const Watched& watched : watched_) {
    if (watched.name == name) {
      const std::optional<Record> record = live_record(watched);
      return record ? record->process : -1;
    }
  }
  return -1;
}

void Custody::before_script() {
  for (Watched& watched : watched_) {
    watched.before = live_record(watched);
    watched.queue = world_.server().ranked(watched.queue_key);
  }
}

void Custody::after_script(int process, Server::Args argv) {
  for (const Watched& watched : watched_) {
    const std::optional<Record> after = live_record(watched);
    if (after == watched.before || is_break(argv)) {
      continue;
    }
    check_owner(watched, after, process);
    if (after && (!watched.before || after->claim != watched.before->claim)) {
      check_order(watched, *after);
      check_forgotten(watched, *after);
    }
  }
}

void Custody::after_step(int process) {
  if (remembers_(process)) {
    return;
  }
  for (const Watched& watched : watched_) {
    const std::optional<Record> record = live_record(watched);
    if (record && record->process == process) {
      check_forgotten(watched, *record);
    }
  }
}

void Custody::check_owner(const Watched& watched, const std::optional<Record>& after, int process) {
  if (watched.before && after && after->process == watched.before->process &&
      after->epoch < watched.before->epoch) {
    world_.violation("P2: an older claim of process " + std::to_string(process) + " on '" +
                     watched.name + "' came back");
  }
  if (!watched.before || watched.before->process == process) {
    return;
  }
  const bool renewed = after && after->claim == watched.before->claim;
  world_.violation("P1: process " + std::to_string(process) + (renewed ? " renewed" : " freed") +
                   " '" + watched.name + "', which was process " +
                   std::to_string(watched.before->process) + "'s");
}

// P4: whoever stood in the queue and still does came later. Lost data lose places.
void Custody::check_order(const Watched& watched, const Record& after) {
  if (faults_.data_loss) {
    return;
  }
  const std::vector<Server::Ranked> queue = world_.server().ranked(watched.queue_key);
  for (const Server::Ranked& was : watched.queue) {
    if (std::string_view(after.claim).starts_with(was.member)) {
      return;
    }
    const bool still = std::any_of(queue.begin(), queue.end(), [&was](const Server::Ranked& is) {
      return is.member == was.member && is.score == was.score;
    });
    if (still) {
      world_.violation("P4: process " + std::to_string(after.process) + " got '" + watched.name +
                       "' before process " + std::to_string(process_of(was.member)));
      return;
    }
  }
}

void Custody::check_forgotten(const Watched& watched, const Record& record) {
  // Where the clock went back, a late command may come in time after all; and a replica that was
  // behind knows nothing of the latest leaves.
  if (!faults_.clock_back && !faults_.failovers && !remembers_(record.process)) {
    world_.violation("P2: '" + watched.name + "' stands for process " +
                     std::to_string(record.process) + ", which has forgotten it");
  }
}

}  // namespace belay::sim
