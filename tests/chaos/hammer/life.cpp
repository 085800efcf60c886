#include "hammer/life.h"

#include <cstdlib>
#include <optional>
#include <utility>

namespace belay::hammer {

namespace {

constexpr std::int64_t kPumpMs = 50;

Outcome outcome_of(std::int32_t status, const belay_event* event) {
  Outcome outcome;
  outcome.status = status;
  if (event == nullptr) {
    return outcome;
  }
  outcome.hold = belay_event_hold(event);
  for (std::int32_t i = 0; belay_event_fence(event, i) > 0; ++i) {
    outcome.fences.push_back(belay_event_fence(event, i));
  }
  outcome.permits = belay_event_int(event, BELAY_FIELD_PERMITS);
  outcome.generation = belay_event_int(event, BELAY_FIELD_GENERATION);
  outcome.message = belay_event_message(event);
  return outcome;
}

Outcome gone() {
  Outcome outcome;
  outcome.gone = true;
  return outcome;
}

belay_client* make_client(const std::string& url, std::int64_t watchdog_lease_ms) {
  belay_options* options = belay_options_new();
  belay_options_set_url(options, url.c_str());
  belay_options_set_watchdog_lease_ms(options, watchdog_lease_ms);
  belay_client* client = belay_client_new(options);
  if (client == nullptr) {
    std::printf("no client: %s\n", belay_options_error(options));
    std::abort();
  }
  belay_options_free(options);
  return client;
}

}  // namespace

Life::Life(const std::string& url, std::int64_t watchdog_lease_ms, Report& report, OnLost on_lost)
    : report_(report),
      on_lost_(std::move(on_lost)),
      handle_(make_client(url, watchdog_lease_ms)),
      pump_([this] { pump(); }) {}

Life::~Life() {
  pump_.join();
}

Outcome Life::block(const Call& call) {
  const std::shared_lock lock(gate_);
  if (ending_) {
    return gone();
  }
  belay_event* why = nullptr;
  const std::int64_t value = call.block(handle_, &why);
  const bool failed = call.values ? value < 0 : value != BELAY_OK;
  const std::int64_t refusal = call.values ? -value : value;
  Outcome outcome = outcome_of(failed ? static_cast<std::int32_t>(refusal) : BELAY_OK, why);
  belay_event_free(why);
  return outcome;
}

std::int64_t Life::new_tag() {
  const std::lock_guard answers(answers_mutex_);
  pendings_.emplace(++last_tag_, Pending());
  return last_tag_;
}

Outcome Life::within(const Call& call, std::int64_t patience_ms) {
  std::int64_t tag = 0;
  belay_event* event = nullptr;
  {
    const std::shared_lock lock(gate_);
    if (ending_) {
      return gone();
    }
    tag = new_tag();
    event = call.within(handle_, tag, patience_ms);
  }
  if (event == nullptr) {
    return await(tag, call.what);
  }
  Outcome outcome = outcome_of(belay_event_status(event), event);
  if (belay_event_tag(event) != tag) {
    report_.violation(call.what, "returned the event of another call");
  }
  belay_event_free(event);
  const std::lock_guard answers(answers_mutex_);
  Pending& pending = pendings_.at(tag);
  if (pending.answer != Answer::kNone) {
    report_.violation(call.what, "its event was returned and queued");
  }
  // Stays for a while, to see a second one.
  pending.answer = Answer::kRead;
  return outcome;
}

Outcome Life::submit(const Call& call, std::int64_t cancel_ms) {
  std::int64_t tag = 0;
  {
    const std::shared_lock lock(gate_);
    if (ending_) {
      return gone();
    }
    tag = new_tag();
    const std::int32_t status = call.submit(handle_, tag);
    if (status != BELAY_OK) {
      const std::lock_guard answers(answers_mutex_);
      if (pendings_.at(tag).answer != Answer::kNone) {
        report_.violation(call.what, "a refused submission has an event");
      }
      pendings_.erase(tag);
      Outcome outcome;
      outcome.status = status;
      outcome.message = belay_status_name(status);
      return outcome;
    }
  }
  if (cancel_ms >= 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(cancel_ms));
    const std::shared_lock lock(gate_);
    const std::int32_t status = ending_ ? BELAY_OK : belay_cancel(handle_, tag);
    if (status != BELAY_OK && status != BELAY_UNKNOWN_TAG && !closing_) {
      report_.violation(call.what, std::string("a cancel answers ") + belay_status_name(status));
    }
  }
  return await(tag, call.what);
}

Outcome Life::await(std::int64_t tag, const char* what) {
  std::unique_lock lock(answers_mutex_);
  answer_came_.wait(lock,
                    [this, tag] { return ending_ || pendings_.at(tag).answer != Answer::kNone; });
  const auto found = pendings_.find(tag);
  if (found->second.answer == Answer::kNone) {
    if (shut_down_) {
      report_.violation(what, "a shutdown client had no event for it");
    }
    return gone();
  }
  // Stays for a while, to see a second one.
  found->second.answer = Answer::kRead;
  return std::move(found->second.outcome);
}

std::int64_t Life::remaining_ms(std::int64_t hold) {
  if (ending_) {
    return 0;
  }
  const std::shared_lock lock(gate_);
  const std::int64_t remaining = ending_ ? 0 : belay_hold_remaining_ms(handle_, hold);
  return remaining > 0 ? remaining : 0;
}

void Life::abandon(std::int64_t hold) {
  const std::shared_lock lock(gate_);
  if (!ending_) {
    static_cast<void>(belay_hold_abandon(handle_, hold));
  }
}

void Life::take(const belay_event* event) {
  const std::int64_t tag = belay_event_tag(event);
  const std::int32_t kind = belay_event_kind(event);
  if (kind == BELAY_EVENT_LOST) {
    on_lost_(*this, belay_event_hold(event), belay_event_message(event));
  }
  report_.count(kind == BELAY_EVENT_LOST        ? "lost"
                : kind == BELAY_EVENT_AT_RISK   ? "at_risk"
                : kind == BELAY_EVENT_RECOVERED ? "recovered"
                                                : "events");
  if (tag == 0) {
    return;
  }
  const std::lock_guard lock(answers_mutex_);
  const auto found = pendings_.find(tag);
  if (found == pendings_.end() || found->second.answer != Answer::kNone) {
    report_.violation("events", "an event that nobody waits for: kind " + std::to_string(kind) +
                                    " tag " + std::to_string(tag));
    return;
  }
  found->second.answer = Answer::kCame;
  found->second.outcome = outcome_of(belay_event_status(event), event);
  constexpr std::int64_t kKept = 10000;
  while (!pendings_.empty() && pendings_.begin()->first < tag - kKept &&
         pendings_.begin()->second.answer == Answer::kRead) {
    pendings_.erase(pendings_.begin());
  }
  answer_came_.notify_all();
}

void Life::pump() {
  bool goes_on = true;
  while (goes_on) {
    belay_event* event = nullptr;
    {
      const std::shared_lock lock(gate_);
      goes_on = !ending_;
      event = goes_on ? belay_next(handle_, kPumpMs) : nullptr;
    }
    if (event != nullptr) {
      goes_on = belay_event_kind(event) != BELAY_EVENT_END;
      take(event);
      belay_event_free(event);
    }
  }
}

void Life::free_handle() {
  ending_ = true;
  {
    const std::unique_lock lock(gate_);
    belay_client_free(std::exchange(handle_, nullptr));
  }
  const std::lock_guard lock(answers_mutex_);
  answer_came_.notify_all();
}

void Life::shut_down() {
  shut_down_ = true;
  {
    const std::shared_lock lock(gate_);
    static_cast<void>(belay_client_shutdown(handle_));
  }
  pump_.join();  // until the last event
  pump_ = std::thread([] {});
  free_handle();
}

void Life::free_at_once() {
  free_handle();
}

}  // namespace belay::hammer
