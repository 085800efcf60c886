// One loop on one thread: signals, keys, events, then what is due. A look lists the names, then
// inspects them; the next is not begun before it is over, and a look that lasts is followed by as
// long a pause, so that a slow server is asked less often rather than more. Without a screen,
// signals end the program as they end any other.
#include "top.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "exit_codes.h"
#include "handles.h"
#include "history.h"
#include "list.h"
#include "poll.h"
#include "screen.h"
#include "signals.h"
#include "text.h"

namespace {

constexpr std::int64_t kMostListed = 100000;  // names of a listing, of which the limit is inspected
constexpr std::int64_t kListTag = 1;          // an inspection's, too: they are never out together

struct Ending {
  int exit_code;
  std::string complaint;  // for when the terminal has been given back; or ""
};

class Top {
 public:
  Top(belay_client* client, const TopOptions& options, Screen* screen, Signals* signals)
      : client_(client),
        options_(options),
        screen_(screen),
        signals_(signals),
        order_(options.order) {}

  Ending run();

 private:
  void wait() const;
  void take_input();
  void on_signal(int signal);
  void resume() const;
  void on_key(char key);
  void on_event(const belay_event* event);
  void begin_look();
  void on_listed(const belay_event* event);
  void finish_look();
  void fail_look(std::int32_t status, const std::string& why);
  void end_look(const std::string& report);
  void draw();
  void end(int exit_code, const std::string& complaint = "");

  belay_client* client_;
  const TopOptions& options_;
  Screen* screen_;    // nullptr: lines
  Signals* signals_;  // nullptr where there is no screen
  Order order_;
  History history_;
  std::vector<std::string> names_;  // of the look that goes on: listed
  std::int64_t names_total_ = 0;
  std::optional<Inspector> inspector_;
  bool looking_ = false;
  std::int64_t began_ms_ = 0;
  std::int64_t next_ms_ = 0;
  std::int64_t looks_ = 0;
  std::optional<Survey> survey_;  // what the last look found that did not fail
  std::string taken_;             // when: in words
  std::int64_t taken_ms_ = 0;
  std::string trouble_;  // why the last look failed; "" where it did not
  std::optional<Ending> ending_;
};

Ending Top::run() {
  draw();
  while (!ending_) {
    if (!looking_ && now_ms() >= next_ms_) {
      begin_look();
    }
    wait();
    if (screen_ != nullptr) {
      take_input();
    }
    while (const Event event{belay_next(client_, 0)}) {
      on_event(event.get());
    }
  }
  return *ending_;
}

void Top::wait() const {
  const int signal_fd = signals_ != nullptr ? signals_->fd() : -1;
  const int keys_fd = screen_ != nullptr ? screen_->keys_fd() : -1;
  const std::int64_t until_next_ms = std::max<std::int64_t>(0, next_ms_ - now_ms());
  const std::int64_t idle_ms = looking_ ? -1 : until_next_ms;
  poll_for({static_cast<int>(belay_client_fd(client_)), signal_fd, keys_fd}, ending_ ? 0 : idle_ms);
}

void Top::take_input() {
  while (const auto signal = signals_->next()) {
    on_signal(signal->number);
  }
  for (const char key : screen_->keys()) {
    on_key(key);
  }
}

void Top::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      break;
    case SIGWINCH:
      draw();
      break;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      screen_->leave();
      Signals::stop_self(signal);
      resume();
      draw();
      break;
    case SIGCONT:  // others may have used the terminal meanwhile
      resume();
      draw();
      break;
    case SIGINT:
      end(kExitOk);
      break;
    default:
      end(kExitSignal + signal);
      break;
  }
}

// Continued in the background, we stop again until we are brought to the front.
void Top::resume() const {
  if (Screen::in_background()) {
    screen_->leave();
    Signals::stop_self(SIGTTOU);
  }
  screen_->enter();
}

void Top::on_key(char key) {
  switch (key) {
    case 'q':
      end(kExitOk);
      return;
    case 'w':
      order_ = Order::kWaiters;
      break;
    case 'h':
      order_ = Order::kHeld;
      break;
    case 'c':
      order_ = Order::kChanges;
      break;
    default:
      return;
  }
  draw();
}

void Top::on_event(const belay_event* event) {
  if (belay_event_kind(event) == BELAY_EVENT_LISTED) {
    on_listed(event);
  } else if (inspector_) {
    inspector_->on_event(event);
    inspector_->submit();
  }
  if (inspector_ && inspector_->done()) {
    finish_look();
  }
}

void Top::begin_look() {
  looking_ = true;
  began_ms_ = now_ms();
  const std::int32_t status =
      belay_submit_list(client_, kListTag, options_.pattern.c_str(), -1, kMostListed);
  if (status != BELAY_OK) {
    fail_look(status, belay_status_name(status));
  }
}

void Top::on_listed(const belay_event* event) {
  const std::int32_t status = belay_event_status(event);
  if (status != BELAY_OK) {
    fail_look(status, reason(event));
    return;
  }
  names_ = read_names(event);
  names_total_ = belay_event_int(event, BELAY_FIELD_TOTAL);
  inspector_.emplace(client_, history_.choose(names_, static_cast<std::size_t>(options_.limit)));
  inspector_->submit();
}

void Top::finish_look() {
  const std::vector<Uninspected> failures = inspector_->failures();
  std::vector<Entry> entries = inspector_->take_entries();
  inspector_.reset();
  const auto cut_off =
      std::find_if(failures.begin(), failures.end(),
                   [](const Uninspected& failure) { return failure.status == BELAY_UNAVAILABLE; });
  if (cut_off != failures.end()) {
    fail_look(cut_off->status, cut_off->message);
    return;
  }
  const auto inspected = static_cast<std::int64_t>(entries.size());
  Survey survey;
  survey.changes = history_.add(names_, inspected == names_total_, entries, began_ms_);
  if (survey_) {
    survey.since_last_ms = began_ms_ - taken_ms_;
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
  sort(survey, order_);
  survey_ = std::move(survey);
  taken_ = time_ago(0);
  taken_ms_ = began_ms_;
  trouble_.clear();
  next_ms_ = std::max(began_ms_ + options_.interval_ms, 2 * now_ms() - began_ms_);
  end_look(options_.json ? survey_json(*survey_) : survey_text(*survey_));
}

void Top::fail_look(std::int32_t status, const std::string& why) {
  const bool wrong = belay_status_class(status) == BELAY_CLASS_MISUSE;
  const bool last = looks_ + 1 == options_.count;
  if (wrong || (!survey_ && (screen_ == nullptr || last))) {
    end(exit_code_of(status), why);
    return;
  }
  trouble_ = why + "; trying on";
  next_ms_ = began_ms_ + options_.interval_ms;
  end_look(options_.json ? trouble_json(why) : trouble_text(trouble_));
}

void Top::end_look(const std::string& report) {
  looking_ = false;
  looks_++;
  draw();
  if (screen_ == nullptr && print(report, kExitOk) != kExitOk) {
    end(kExitIoError);
  }
  if (looks_ == options_.count) {
    end(kExitOk);
  }
}

void Top::draw() {
  if (screen_ == nullptr || ending_) {
    return;
  }
  if (survey_) {
    sort(*survey_, order_);
  }
  if (!screen_->show(survey_screen(survey_, taken_, trouble_, Screen::size()))) {
    end(kExitIoError, "the terminal could not be written");
  }
}

void Top::end(int exit_code, const std::string& complaint) {
  if (!ending_) {
    ending_ = {exit_code, complaint};
  }
}

// Until it returns, the terminal is the screen's.
Ending run_on_screen(belay_client* client, const TopOptions& options, Signals& signals) {
  Screen screen;
  signals.watch_job_control();
  signals.watch_window();
  return Top(client, options, &screen, &signals).run();
}

int finish(const Ending& ending) {
  if (!ending.complaint.empty()) {
    complain(ending.complaint);
  }
  return ending.exit_code;
}

}  // namespace

int top(const TopOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  std::optional<Signals> signals;
  if (!options.json && Screen::possible()) {
    signals.emplace();
    if (signals->fd() < 0) {
      complain("could not make a signal descriptor");
      return kExitOsError;
    }
  }
  return finish(signals ? run_on_screen(client.get(), options, *signals)
                        : Top(client.get(), options, nullptr, nullptr).run());
}
