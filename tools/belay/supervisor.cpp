// One loop on one thread: signals, events, the deadline, in this order, and after a stop (^Z, or
// the host asleep) the deadline first: a child must not be continued without the lock. The
// deadline is read from the library each time, as every renewal moves it.
#include "supervisor.h"

#include <algorithm>
#include <string>

#include "handles.h"
#include "poll.h"
#include "text.h"

Supervisor::Supervisor(belay_client* client, std::int64_t hold, Child& child,
                       const Signals& signals, const RunOptions& options)
    : client_(client), hold_(hold), child_(child), signals_(signals), options_(options) {}

void Supervisor::run() {
  while (true) {
    while (const auto signal = signals_.next()) {
      on_signal(*signal);
    }
    if (child_.ended()) {
      break;
    }
    while (const Event event{belay_next(client_, 0)}) {
      on_event(event.get());
    }
    check_deadline();
    stop_with_child();
    poll_for({static_cast<int>(belay_client_fd(client_)), signals_.fd()}, timeout_ms());
  }
  if (intervened() && child_.own_group()) {
    kill_those_left_behind();
  }
}

std::int64_t Supervisor::timeout_ms() const {
  if (killed_ || !(at_risk_ || told_)) {
    return -1;
  }
  const std::int64_t remaining_ms = belay_hold_remaining_ms(client_, hold_);
  const std::int64_t reserve_ms = told_ ? 0 : options_.kill_after_ms;
  return std::max<std::int64_t>(0, remaining_ms - reserve_ms);
}

void Supervisor::on_event(const belay_event* event) {
  if (belay_event_hold(event) != hold_) {
    return;
  }
  switch (belay_event_kind(event)) {
    case BELAY_EVENT_AT_RISK:
      at_risk_ = true;
      why_ = visible(belay_event_message(event));
      break;
    case BELAY_EVENT_RECOVERED:
      at_risk_ = false;
      break;
    case BELAY_EVENT_LOST:
      lost_ = true;
      why_ = visible(belay_event_message(event));
      break;
    default:
      break;
  }
}

void Supervisor::check_deadline() {
  const std::int64_t remaining_ms = belay_hold_remaining_ms(client_, hold_);
  if (lost_ || remaining_ms <= 0) {
    kill_child();
  } else if (at_risk_ && remaining_ms <= options_.kill_after_ms) {
    tell_to_stop(remaining_ms);
  }
}

void Supervisor::tell_to_stop(std::int64_t remaining_ms) {
  if (told_) {
    return;
  }
  told_ = true;
  child_.send(SIGTERM);
  child_.send(SIGCONT);  // a stopped child could not react
  complain(in_words(options_.names) + " is at risk" + (why_.empty() ? "" : ": " + why_) + "; " +
           fate("the command was told to stop within " + seconds(remaining_ms)));
}

void Supervisor::kill_child() {
  if (killed_) {
    return;
  }
  killed_ = true;
  if (!told_) {
    child_.send(SIGTERM);
  }
  child_.send(SIGKILL);
  const std::string because = why_.empty() ? "" : ": " + why_;
  complain((lost_ ? why_ : in_words(options_.names) + " was lost" + because) + "; " +
           fate("the command was killed"));
}

// What the child left in its group when it ended.
void Supervisor::kill_those_left_behind() {
  const bool said = said_out_of_reach_;
  child_.send(SIGKILL);
  if (const std::string unreached = fate(""); !unreached.empty() && !said) {
    complain(unreached);
  }
}

// What became of the command after a signal: `reached`, or who was not.
std::string Supervisor::fate(const std::string& reached) {
  const std::vector<pid_t> unreached = child_.out_of_reach();
  if (unreached.empty()) {
    return reached;
  }
  said_out_of_reach_ = true;
  std::string pids;
  for (const pid_t pid : unreached) {
    pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  }
  return "process " + pids +
         " of the command runs as another user: it cannot be stopped, and may go on without the "
         "lock";
}

void Supervisor::on_signal(Signals::Arrived signal) {
  switch (signal.number) {
    case SIGCHLD:
      on_child_changed();
      return;
    case SIGCONT:
      on_continued();
      return;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      stop_signal_ = signal.number;
      break;
    default:
      break;
  }
  // In a shared process group, what the terminal sends reaches the child by itself.
  if (child_.own_group() || !signal.from_kernel) {
    child_.send(signal.number);
  }
}

void Supervisor::on_continued() {
  stop_signal_ = 0;
  child_.update();
  if (child_.ended()) {
    return;  // whether the lock was lost before that, the release tells
  }
  check_deadline();
  if (!killed_ && child_.stopped_by() != 0) {
    child_.send(SIGCONT);
  }
}

void Supervisor::on_child_changed() {
  child_.update();
  const int signal = child_.stopped_by();
  if (child_.own_group() && (signal == SIGTTIN || signal == SIGTTOU)) {
    complain("the command stopped because it used the terminal, which is not its standard input");
  }
}

// A command that ignores ^Z goes on, and the lock with it.
void Supervisor::stop_with_child() {
  if (stop_signal_ == 0 || child_.stopped_by() == 0 || killed_) {
    return;
  }
  const int signal = stop_signal_;
  stop_signal_ = 0;
  Signals::stop_self(signal);
  on_continued();
}
