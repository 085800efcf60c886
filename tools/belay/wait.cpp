// Everything is asked of the library asynchronously and by fixed tags: the acquire; pings that tell
// whether the server can be reached, at first and after a warning; and on a terminal an inspect
// every few seconds.
// Used by the main thread alone.
#include "wait.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "member.h"
#include "poll.h"
#include "text.h"

namespace {

constexpr std::int64_t kAcquireTag = 1;
constexpr std::int64_t kPingTag = 2;
constexpr std::int64_t kInspectTag = 3;
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
  // A command cannot be taken back at once: it starts when the server has heard of the grant.
  belay_request_set_confirmed(request.get(), 1);
  if (options.lock_delay_ms > 0) {
    belay_request_set_lock_delay_ms(request.get(), options.lock_delay_ms);
  }
  return request;
}

}  // namespace

Wait::Wait(belay_client* client, const Signals& signals, const RunOptions& options)
    : client_(client),
      signals_(signals),
      options_(options),
      started_ms_(now_ms()),
      next_inspect_ms_(started_ms_ + kFirstInspectMs) {}

Grant Wait::run() {
  done_ = !submit();
  if (!done_) {
    ping();
  }
  while (!done_) {
    poll_for({static_cast<int>(belay_client_fd(client_)), signals_.fd()}, timeout_ms());
    while (const auto signal = signals_.next()) {
      on_signal(signal->number);
    }
    take_events();
    inspect_if_due();
  }
  line_.clear();
  return grant_;
}

// Up to the grant: what follows is the supervisor's.
void Wait::take_events() {
  while (!done_) {
    const Event event(belay_next(client_, 0));
    if (!event) {
      break;
    }
    on_event(event.get());
  }
}

bool Wait::submit() {
  const Request request = request_of(options_);
  const std::int32_t status =
      belay_submit_acquire(client_, kAcquireTag, request.get(), 0, options_.wait_ms);
  if (status != BELAY_OK) {
    const std::string error = visible(belay_request_error(request.get()));
    complain(error.empty() ? belay_status_name(status) : error);
    grant_.exit_code = exit_code_of(status);
    return false;
  }
  return true;
}

std::int64_t Wait::timeout_ms() const {
  const bool inspects = line_.enabled() && !inspecting_;
  return inspects ? std::max<std::int64_t>(0, next_inspect_ms_ - now_ms()) : -1;
}

void Wait::on_signal(int signal) {
  if (signal == SIGCHLD || cancelled_by_ != 0) {
    return;
  }
  cancelled_by_ = signal;
  belay_cancel(client_, kAcquireTag);
}

void Wait::on_event(const belay_event* event) {
  if (belay_event_kind(event) == BELAY_EVENT_LOG) {
    on_warning(visible(belay_event_message(event)));
    return;
  }
  switch (belay_event_tag(event)) {
    case kAcquireTag:
      on_acquired(event);
      break;
    case kPingTag:
      on_pinged(event);
      break;
    case kInspectTag:
      on_inspected(event);
      break;
    default:
      break;
  }
}

// Any other may be of an outage. Whether it lasts, a ping tells.
void Wait::on_warning(const std::string& message) {
  // As the library begins them.
  constexpr std::string_view kOfSettings = "settings: ";
  constexpr std::string_view kOfRefusal = "refused: ";
  if (message.starts_with(kOfSettings)) {
    tell("warning: " + message.substr(kOfSettings.size()));
  } else if (!message.starts_with(kOfRefusal)) {
    ping();
  } else if (options_.wait_ms < 0 && !std::exchange(said_refusal_, true)) {
    const std::string_view words(message);  // some servers end theirs with a full stop
    tell(std::string(words.substr(0, words.find_last_not_of('.') + 1).substr(kOfRefusal.size())) +
         "; waiting until it does");
  }
}

void Wait::ping() {
  if (options_.wait_ms < 0 && !pinging_) {
    pinging_ = belay_submit_ping(client_, kPingTag) == BELAY_OK;
  }
}

// Again and again while an outage lasts, so that the next one is told, too.
void Wait::on_pinged(const belay_event* event) {
  pinging_ = false;
  note_unreachable(event);
  if (belay_event_status(event) == BELAY_UNAVAILABLE) {
    ping();
  } else if (std::exchange(said_unreachable_, false)) {
    tell_if_verbose("it can be reached again, waited ");
  }
}

void Wait::on_acquired(const belay_event* event) {
  const std::int32_t status = belay_event_status(event);
  done_ = true;
  if (cancelled_by_ == 0 && status == BELAY_OK) {
    grant_.hold = belay_event_hold(event);
    for (std::size_t i = 0; i < options_.names.size(); i++) {
      grant_.fences.push_back(belay_event_fence(event, static_cast<std::int32_t>(i)));
    }
    tell_if_verbose("got " + in_words(options_.names) + ", fence " +
                    std::to_string(grant_.fences[0]) + ", after ");
  } else if (cancelled_by_ != 0) {
    grant_.exit_code = kExitSignal + cancelled_by_;  // a grant that came first ends with the client
  } else if (exit_code_of(status) == kExitConflict) {
    grant_.exit_code = options_.conflict_code;
    tell_if_verbose(in_words(options_.names) + " is in use, waited ");
  } else {
    grant_.exit_code = exit_code_of(status);
    tell(reason(event));
  }
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
  if (done_ || timeout_ms() != 0) {
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
