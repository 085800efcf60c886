#include "look.h"

#include <algorithm>
#include <utility>

#include "poll.h"
#include "server.h"
#include "text.h"

namespace {

constexpr std::int64_t kMostListed = 100000;  // names of a listing, of which the limit is inspected
constexpr std::int64_t kListTag = 1;          // an inspection's, too: they are never out together

}  // namespace

void Look::begin() {
  running_ = true;
  began_ms_ = now_ms();
  const std::int32_t status =
      belay_submit_list(client_, kListTag, pattern_.c_str(), -1, kMostListed);
  if (status != BELAY_OK) {
    fail(status, belay_status_name(status));
  }
}

void Look::on_event(const belay_event* event) {
  if (belay_event_kind(event) == BELAY_EVENT_LISTED) {
    on_listed(event);
  } else if (inspector_) {
    inspector_->on_event(event);
    inspector_->submit();
  }
  if (inspector_ && inspector_->done()) {
    finish();
  }
}

std::optional<LookResult> Look::take_result() {
  return std::exchange(result_, std::nullopt);
}

void Look::on_listed(const belay_event* event) {
  const std::int32_t status = belay_event_status(event);
  if (status != BELAY_OK) {
    fail(status, reason(event));
    return;
  }
  names_ = read_names(event);
  names_total_ = belay_event_int(event, BELAY_FIELD_TOTAL);
  inspector_.emplace(client_, history_.choose(names_, limit_));
  inspector_->submit();
}

void Look::finish() {
  const std::vector<Uninspected> failures = inspector_->failures();
  std::vector<Entry> entries = inspector_->take_entries();
  inspector_.reset();
  // Some names may be at a master that is down, or in a slot that is moving.
  const auto cut_off =
      std::find_if(failures.begin(), failures.end(),
                   [](const Uninspected& failure) { return failure.status == BELAY_UNAVAILABLE; });
  if (cut_off != failures.end() && entries.empty()) {
    fail(cut_off->status, cut_off->message);
    return;
  }
  const auto inspected = static_cast<std::int64_t>(entries.size());
  Survey survey;
  survey.changes = history_.add(names_, inspected == names_total_, entries, began_ms_);
  if (last_began_ms_) {
    survey.since_last_ms = began_ms_ - *last_began_ms_;
  }
  for (Entry& entry : entries) {
    if (in_use(entry)) {
      const std::optional<double> changes_per_s = history_.changes_per_s(entry.name);
      survey.rows.push_back({std::move(entry), changes_per_s});
    }
  }
  // Not in use, but listed: a semaphore of which only the limit is set, a name that was released.
  survey.names_inspected = static_cast<std::int64_t>(survey.rows.size());
  survey.names_total = names_total_ - (inspected - survey.names_inspected);
  if (!failures.empty()) {
    survey.trouble = counted(static_cast<std::int64_t>(failures.size()), "name") +
                     " could not be read, such as " + in_quotes(failures[0].name) + ": " +
                     failures[0].message;
  }
  last_began_ms_ = began_ms_;
  end({std::move(survey), BELAY_OK, ""});
}

void Look::fail(std::int32_t status, const std::string& why) {
  end({std::nullopt, status, why});
}

void Look::end(LookResult result) {
  running_ = false;
  result_ = std::move(result);
}
