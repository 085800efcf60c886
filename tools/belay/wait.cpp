// Everything is asked of the library asynchronously and by fixed tags: the acquire, one ping that
// tells whether the server can be reached at all, and on a terminal an inspect every few seconds.
// Used by the main thread alone.
#include "wait.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "member.h"
#include "poll.h"
#include "text.h"

namespace {

constexpr std::int64_t kAcquireTag = 1;
constexpr std::int64_t kPingTag = 2;
constexpr std::int64_t kInspectTag = 3;
constexpr std::int64_t kSettleEveryMs = 5;
constexpr std::int64_t kLongestGrantMs = 2000;  // the library's: what lasts longer is confirmed
constexpr std::int64_t kDefaultLeaseMs = 30000;
constexpr std::int64_t kFirstInspectMs = 300;  // a short wait needs no explanation
constexpr std::int64_t kInspectEveryMs = 2000;
constexpr std::size_t kShownOfName = 40;  // leaves room in the line for what is news

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool is_us(const Member& member) {
  return member.pid == getpid() && member.host == host_name();
}

// How many waiters stand before this process; -1 where it is not among them.
std::int64_t waiters_before_us(const Members& members) {
  const auto us = std::find_if(members.waiters.begin(), members.waiters.end(), is_us);
  return us == members.waiters.end() ? -1 : us - members.waiters.begin();
}

std::string waiting_line(const std::string& name, const Members& members) {
  std::string text = "waiting for '" + cut_to_width(printable(name), kShownOfName) + "'";
  if (!members.holders.empty()) {
    const Member& holder = members.holders[0];
    text += ": held by " + describe(holder) + " for " + duration(holder.since_ms);
  }
  const std::int64_t before = waiters_before_us(members);
  if (before == 0) {
    text += ", next in line";
  } else if (before > 0) {
    text += ", " + std::to_string(before) + " waiting before us";
  }
  return text;
}

Request request_of(const RunOptions& options) {
  Request request(belay_request_new(options.permits > 0 ? BELAY_SEMAPHORE : BELAY_LOCK));
  const auto add = options.shared ? belay_request_add_shared_name : belay_request_add_name;
  for (const std::string& name : options.names) {
    add(request.get(), name.data(), static_cast<std::int64_t>(name.size()));
  }
  if (options.permits > 0) {
    belay_request_set_permits(request.get(), options.permits, options.limit);
  }
  if (options.identity) {
    belay_request_set_identity(request.get(), options.identity->data(),
                               static_cast<std::int64_t>(options.identity->size()));
  }
  if (options.lock_delay_ms > 0) {
    belay_request_set_lock_delay_ms(request.get(), options.lock_delay_ms);
  }
  return request;
}

// How many grants other clients' releases have handed to this one: those are to be confirmed.
std::int64_t handed_over(belay_client* client) {
  belay_event* event = nullptr;
  belay_client_metrics(client, &event);
  const Event metrics(event);
  const auto count = static_cast<std::int32_t>(belay_event_int(event, BELAY_FIELD_MEMBERS));
  for (std::int32_t i = 0; i < count; i++) {
    const std::string_view name = belay_event_member_text(event, i, BELAY_MEMBER_NAME, nullptr);
    if (name == "handoffs_by_message") {
      return belay_event_member_int(event, i, BELAY_MEMBER_VALUE);
    }
  }
  return 0;
}

}  // namespace

Wait::Wait(belay_client* client, const Signals& signals, const RunOptions& options)
    : client_(client),
      signals_(signals),
      options_(options),
      settled_ms_(std::min(options.server.lease_ms.value_or(kDefaultLeaseMs) / 2, kLongestGrantMs)),
      started_ms_(now_ms()),
      next_inspect_ms_(started_ms_ + kFirstInspectMs) {}

Grant Wait::run() {
  done_ = !submit();
  if (!done_ && options_.wait_ms < 0) {
    [[maybe_unused]] const std::int32_t pinged = belay_submit_ping(client_, kPingTag);
  }
  while (!done_) {
    poll_for({static_cast<int>(belay_client_fd(client_)), signals_.fd()}, timeout_ms());
    while (const auto signal = signals_.next()) {
      on_signal(signal->number);
    }
    while (const Event event{belay_next(client_, 0)}) {
      on_event(event.get());
    }
    settle();
    inspect_if_due();
  }
  line_.clear();
  return grant_;
}

bool Wait::submit() {
  const Request request = request_of(options_);
  const std::int64_t waited_ms = now_ms() - started_ms_;
  const std::int64_t wait_ms =
      options_.wait_ms < 0 ? -1 : std::max<std::int64_t>(0, options_.wait_ms - waited_ms);
  handed_over_ = handed_over(client_);
  const std::int32_t status = belay_submit_acquire(client_, kAcquireTag, request.get(), 0, wait_ms);
  if (status != BELAY_OK) {
    const std::string error = visible(belay_request_error(request.get()));
    complain(error.empty() ? belay_status_name(status) : error);
    grant_.exit_code = exit_code_of(status);
    return false;
  }
  return true;
}

std::int64_t Wait::timeout_ms() const {
  if (grant_.hold != 0) {
    return kSettleEveryMs;
  }
  const bool inspects = line_.enabled() && !inspecting_;
  return inspects ? std::max<std::int64_t>(0, next_inspect_ms_ - now_ms()) : -1;
}

void Wait::on_signal(int signal) {
  if (signal == SIGCHLD || cancelled_by_ != 0) {
    return;
  }
  cancelled_by_ = signal;
  if (grant_.hold != 0) {
    belay_release(client_, grant_.hold);
    grant_ = {0, {}, kExitSignal + signal};
    done_ = true;
  }
  belay_cancel(client_, kAcquireTag);
}

void Wait::on_event(const belay_event* event) {
  switch (belay_event_tag(event)) {
    case kAcquireTag:
      on_acquired(event);
      break;
    case kPingTag:
      note_unreachable(event);
      break;
    case kInspectTag:
      on_inspected(event);
      break;
    default:
      break;  // AT_RISK or LOST already: the hold's state says so when it is looked at
  }
}

void Wait::on_acquired(const belay_event* event) {
  const std::int32_t status = belay_event_status(event);
  if (cancelled_by_ == 0 && status == BELAY_OK) {
    grant_.hold = belay_event_hold(event);
    confirmed_ = handed_over(client_) == handed_over_;
    last_remaining_ms_ = belay_event_int(event, BELAY_FIELD_REMAINING_MS);
    grant_.fences.clear();
    for (std::size_t i = 0; i < options_.names.size(); i++) {
      grant_.fences.push_back(belay_event_fence(event, static_cast<std::int32_t>(i)));
    }
    return;
  }
  done_ = true;
  if (cancelled_by_ != 0) {
    grant_.exit_code = kExitSignal + cancelled_by_;  // a grant that came first ends with the client
  } else if (exit_code_of(status) == kExitConflict) {
    grant_.exit_code = options_.conflict_code;
    tell_if_verbose(in_words(options_.names) + " is in use, waited ");
  } else {
    grant_.exit_code = exit_code_of(status);
    tell(reason(event));
  }
}

// A lock that was handed over is ours for a moment only, until the server has heard from us. No
// command is started before that, as it might have to be killed at once; if the moment passes
// unused (this host stood still), we queue again. A lock that the server itself gave us has its
// whole lease, however short; AT_RISK of it says that the answer took most of that.
void Wait::settle() {
  if (done_ || grant_.hold == 0) {
    return;
  }
  const std::int64_t remaining_ms = belay_hold_remaining_ms(client_, grant_.hold);
  if (remaining_ms <= 0) {
    belay_release(client_, grant_.hold);
    grant_ = {};
    done_ = !submit();
  } else if (remaining_ms >= settled_ms_ || remaining_ms > last_remaining_ms_ ||
             (confirmed_ && belay_hold_state(client_, grant_.hold) == BELAY_HOLD_HELD)) {
    done_ = true;
    tell_if_verbose("got " + in_words(options_.names) + ", fence " +
                    std::to_string(grant_.fences[0]) + ", after ");
  }
  last_remaining_ms_ = remaining_ms;
}

void Wait::on_inspected(const belay_event* event) {
  inspecting_ = false;
  next_inspect_ms_ = now_ms() + kInspectEveryMs;
  if (done_) {
    return;
  }
  if (belay_event_status(event) != BELAY_OK) {
    note_unreachable(event);
    return;
  }
  const Members members = read_members(event);
  const std::vector<Member>& holders = members.holders;
  const bool keeps_us = !holders.empty() && std::none_of(holders.begin(), holders.end(), is_us);
  if (keeps_us || options_.names.size() == 1) {
    line_.show(waiting_line(options_.names[inspected_], members));
  }
}

void Wait::inspect_if_due() {
  if (done_ || grant_.hold != 0 || timeout_ms() != 0) {
    return;
  }
  inspected_ = (inspected_ + 1) % options_.names.size();
  const std::string& name = options_.names[inspected_];
  inspecting_ = belay_submit_inspect(client_, kInspectTag, name.data(),
                                     static_cast<std::int64_t>(name.size())) == BELAY_OK;
  next_inspect_ms_ = now_ms() + kInspectEveryMs;
}

void Wait::note_unreachable(const belay_event* event) {
  const bool waits_on = options_.wait_ms < 0 && !done_;
  if (waits_on && !said_unreachable_ && belay_event_status(event) == BELAY_UNAVAILABLE) {
    said_unreachable_ = true;
    tell(reason(event) + "; waiting until it can be reached");
  }
}

void Wait::tell_if_verbose(const std::string& message) {
  if (options_.verbose) {
    tell(message + seconds(now_ms() - started_ms_));
  }
}

void Wait::tell(const std::string& message) {
  line_.clear();
  complain(message);
}
