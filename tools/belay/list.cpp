// The tag of each submission is its name's index + 1.
#include "list.h"

#include <algorithm>

#include "handles.h"
#include "server.h"
#include "text.h"

namespace {

constexpr std::size_t kMaxInFlight = 64;  // enough to hide the round trip, little for the server

}  // namespace

Inspector::Inspector(belay_client* client, std::vector<std::string> names)
    : client_(client), inspected_(names.size()) {
  entries_.reserve(names.size());
  for (std::string& name : names) {
    entries_.push_back({std::move(name), {}});
  }
}

void Inspector::submit() {
  while (submitted_ < entries_.size() && in_flight_ < kMaxInFlight) {
    const std::string& name = entries_[submitted_++].name;
    const std::int32_t status =
        belay_submit_inspect(client_, static_cast<std::int64_t>(submitted_), name.data(),
                             static_cast<std::int64_t>(name.size()));
    if (status == BELAY_OK) {
      in_flight_++;
    } else if (status == BELAY_TOO_MANY_PENDING && in_flight_ > 0) {
      submitted_--;  // again after the next answer
      break;
    } else {
      failures_.push_back({name, status, belay_status_name(status)});
    }
  }
}

void Inspector::on_event(const belay_event* event) {
  if (belay_event_kind(event) != BELAY_EVENT_INSPECTED) {
    return;
  }
  in_flight_--;
  const auto index = static_cast<std::size_t>(belay_event_tag(event) - 1);
  const std::int32_t status = belay_event_status(event);
  if (status == BELAY_OK) {
    entries_[index].members = read_members(event);
    inspected_[index] = true;
  } else {
    failures_.push_back({entries_[index].name, status, reason(event)});
  }
}

std::vector<Entry> Inspector::take_entries() {
  std::vector<Entry> taken;
  for (std::size_t i = 0; i < entries_.size(); i++) {
    if (inspected_[i]) {
      taken.push_back(std::move(entries_[i]));
    }
  }
  return taken;
}

bool in_use(const Entry& entry) {
  return !entry.members.holders.empty() || entry.members.to_go || !entry.members.waiters.empty();
}

InUse inspect_all(belay_client* client, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  Inspector inspector(client, std::move(names));
  inspector.submit();
  while (!inspector.done()) {
    if (const Event event{belay_next(client, -1)}) {
      inspector.on_event(event.get());
    }
    inspector.submit();
  }
  InUse result{inspector.take_entries(), 0};
  std::erase_if(result.entries, [](const Entry& entry) { return !in_use(entry); });
  for (const Uninspected& failure : inspector.failures()) {
    complain(in_quotes(failure.name) + ": " + failure.message);
    result.exit_code = result.exit_code == 0 ? exit_code_of(failure.status) : result.exit_code;
  }
  return result;
}
