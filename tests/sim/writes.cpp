#include "sim/writes.h"

#include <algorithm>

namespace belay::sim {

namespace {

std::string key_for(const std::string& name) {
  return "written:" + name;
}

std::string id_of(const Process& process, std::int64_t tag) {
  return "tag " + std::to_string(tag) + " of process " + std::to_string(process.number());
}

}  // namespace

void Writes::watch(const std::string& name) {
  keys_.emplace(key_for(name), Key());
}

FencedWrite Writes::ask(const Process& process, std::int64_t tag, const std::string& name,
                        std::int64_t fence) {
  const std::string id = id_of(process, tag);
  writes_[id].fence = fence;
  return {key_for(name), fence, {"RPUSH", id}};
}

void Writes::on_event(const Process& process, const Event& event) {
  const auto found = writes_.find(id_of(process, event.tag));
  if (found == writes_.end()) {
    return;
  }
  Write& write = found->second;
  write.until =
      event.in_doubt > 0 ? process.true_time_of(event.status.in_doubt_until) : world_.now();
  const bool known = event.status.ok() || event.status.code == BELAY_STALE_FENCE;
  // One that a master took beside the new one is not seen here.
  const bool beside = world_.has_had_two_masters() && event.status.ok() && !write.taken;
  if (known && write.taken != event.status.ok() && !beside) {
    world_.violation("write: " + found->first + " was told " +
                     belay_status_name(event.status.code) + ", but the write " +
                     (write.taken ? "took place" : "did not take place"));
  }
}

void Writes::before_script() {
  for (auto& [key, state] : keys_) {
    state.size = world_.server_of(key).elements(key).size();
  }
}

void Writes::after_script() {
  for (const auto& [key, state] : keys_) {
    const std::span<const std::string> elements = world_.server_of(key).elements(key);
    if (elements.size() > state.size) {
      check(key, elements.back());
    }
  }
}

void Writes::check(const std::string& key, const std::string& id) {
  Write& write = writes_.at(id);
  std::int64_t& last_fence = keys_.at(key).last_fence;
  if (write.taken) {
    world_.violation("write: " + id + " took place twice");
  }
  if (world_.now() > write.until && !faults_.clock_back) {
    world_.violation("write: " + id + " took place after its end, or that of its doubt");
  }
  if (write.fence < last_fence && !faults_.data_loss) {
    world_.violation("write: " + id + " took place under fence " + std::to_string(write.fence) +
                     ", after " + std::to_string(last_fence));
  }
  write.taken = true;
  last_fence = std::max(last_fence, write.fence);
}

}  // namespace belay::sim
