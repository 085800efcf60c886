// The tag of each submission is its name's index + 1. A name whose inspection fails is complained
// of and left out; the first such failure gives the exit code.
#include "list.h"

#include <algorithm>

#include "handles.h"
#include "server.h"
#include "text.h"

namespace {

constexpr std::size_t kMaxInFlight = 64;  // enough to hide the round trip, little for the server

class Inspector {
 public:
  Inspector(belay_client* client, const std::vector<std::string>& names)
      : client_(client), names_(names), found_(names.size()) {}

  InUse run();

 private:
  void submit();
  void fail(const std::string& name, std::int32_t status, const std::string& message);
  void on_event(const belay_event* event);

  belay_client* client_;
  const std::vector<std::string>& names_;
  std::vector<Members> found_;
  std::size_t submitted_ = 0;
  std::size_t in_flight_ = 0;
  int exit_code_ = 0;
};

InUse Inspector::run() {
  while (submitted_ < names_.size() || in_flight_ > 0) {
    while (submitted_ < names_.size() && in_flight_ < kMaxInFlight) {
      submit();
    }
    const Event event(in_flight_ > 0 ? belay_next(client_, -1) : nullptr);
    if (event) {
      on_event(event.get());
    }
  }
  InUse result{{}, exit_code_};
  for (std::size_t i = 0; i < names_.size(); i++) {
    if (found_[i].holder || !found_[i].waiters.empty()) {
      result.entries.push_back({names_[i], std::move(found_[i])});
    }
  }
  return result;
}

void Inspector::submit() {
  const std::string& name = names_[submitted_++];
  const std::int32_t status =
      belay_submit_inspect(client_, static_cast<std::int64_t>(submitted_), name.data(),
                           static_cast<std::int64_t>(name.size()));
  if (status == BELAY_OK) {
    in_flight_++;
  } else {
    fail(name, status, belay_status_name(status));
  }
}

void Inspector::fail(const std::string& name, std::int32_t status, const std::string& message) {
  complain(in_quotes(name) + ": " + message);
  exit_code_ = exit_code_ == 0 ? exit_code_of(status) : exit_code_;
}

void Inspector::on_event(const belay_event* event) {
  if (belay_event_kind(event) != BELAY_EVENT_INSPECTED) {
    return;
  }
  in_flight_--;
  const auto index = static_cast<std::size_t>(belay_event_tag(event) - 1);
  const std::int32_t status = belay_event_status(event);
  if (status == BELAY_OK) {
    found_[index] = read_members(event);
  } else {
    fail(names_[index], status, reason(event));
  }
}

}  // namespace

InUse inspect_all(belay_client* client, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return Inspector(client, names).run();
}
