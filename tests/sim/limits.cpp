#include "sim/limits.h"

#include <algorithm>
#include <optional>

#include "base/packing.h"
#include "dialect/keys.h"

namespace belay::sim {

namespace {

constexpr std::size_t kHeaderSize = 107;

}  // namespace

Limits::Limits(World& world, const Faults& faults, const std::string& name)
    : world_(world), faults_(faults), record_key_(key_of("belay:", 'r', name)) {}

Limits::Semaphore Limits::look() {
  Unpacker fields(world_.server_of(record_key_).text(record_key_).value_or(std::string_view()));
  fields.bytes(kHeaderSize);
  Semaphore semaphore;
  semaphore.used = fields.number();
  semaphore.limit = fields.number();
  return fields.complete() ? semaphore : Semaphore();
}

void Limits::before_script() {
  before_ = look();
}

void Limits::after_script(int process) {
  const Semaphore after = look();
  if (after.used > before_.used && after.used > after.limit) {
    world_.violation("limit: " + std::to_string(after.used) + " permits were given of " +
                     std::to_string(after.limit));
  }
  if (after.limit == before_.limit) {
    return;
  }
  in_force_.emplace_back(world_.now(), after.limit);
  const bool other = before_.limit > 0 && after.limit > 0;
  if (other && !may_set(process, after.limit)) {
    world_.violation("limit: process " + std::to_string(process) + " changed it to " +
                     std::to_string(after.limit) + ", for which no request is on its way");
  }
}

bool Limits::may_set(int process, std::int64_t limit) const {
  return faults_.clock_back ||
         std::any_of(changes_.begin(), changes_.end(), [&](const auto& entry) {
           return entry.first.first == process && entry.second.limit == limit &&
                  entry.second.until >= world_.now();
         });
}

void Limits::asked(const Process& process, std::int64_t tag, std::int64_t limit) {
  changes_[{process.number(), tag}] = {limit, kNever};
}

void Limits::on_event(const Process& process, const Event& event) {
  const auto found = changes_.find({process.number(), event.tag});
  if (found != changes_.end()) {
    found->second.until =
        event.in_doubt > 0 ? process.true_time_of(event.status.in_doubt_until) : world_.now();
  }
}

std::int64_t Limits::highest_since(Micros then) const {
  std::int64_t highest = 0;
  for (auto at = in_force_.rbegin(); at != in_force_.rend(); ++at) {
    highest = std::max(highest, at->second);
    if (at->first < then) {
      break;
    }
  }
  return highest;
}

}  // namespace belay::sim
