// One loop on one thread: signals, keys, events, then what is due. The next look is not begun
// before the one before is over, and a look that lasts is followed by as long a pause, so that a
// slow server is asked less often rather than more. Without a screen, signals end the program as
// they end any other.
#include "top.h"

#include <algorithm>
#include <optional>

#include "exit_codes.h"
#include "handles.h"
#include "look.h"
#include "poll.h"
#include "screen.h"
#include "signals.h"
#include "text.h"

namespace {

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
        order_(options.order),
        look_(client, options.pattern, options.limit) {}

  Ending run();

 private:
  void wait() const;
  void take_input();
  void on_signal(int signal);
  void on_key(char key);
  void on_look(LookResult result);
  void show(const std::string& report);
  void draw();
  void end(int exit_code, const std::string& complaint = "");

  belay_client* client_;
  const TopOptions& options_;
  Screen* screen_;    // nullptr: lines
  Signals* signals_;  // nullptr where there is no screen
  Order order_;
  Look look_;
  std::int64_t next_ms_ = 0;
  std::int64_t looks_ = 0;
  std::optional<Survey> survey_;  // what the last look found that did not fail
  std::string taken_;             // when: in words
  std::string trouble_;           // why the last look failed; "" where it did not
  std::optional<Ending> ending_;
};

Ending Top::run() {
  draw();
  while (!ending_) {
    if (!look_.running() && now_ms() >= next_ms_) {
      look_.begin();
    }
    wait();
    if (screen_ != nullptr) {
      take_input();
    }
    while (const Event event{belay_next(client_, 0)}) {
      look_.on_event(event.get());
    }
    if (std::optional<LookResult> result = look_.take_result()) {
      on_look(std::move(*result));
    }
  }
  return *ending_;
}

void Top::wait() const {
  const int signal_fd = signals_ != nullptr ? signals_->fd() : -1;
  const int keys_fd = screen_ != nullptr ? screen_->keys_fd() : -1;
  const std::int64_t until_next_ms = std::max<std::int64_t>(0, next_ms_ - now_ms());
  poll_for({static_cast<int>(belay_client_fd(client_)), signal_fd, keys_fd},
           look_.running() ? -1 : until_next_ms);
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
      screen_->return_to_front();
      draw();
      break;
    case SIGCONT:  // others may have used the terminal meanwhile
      screen_->return_to_front();
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

void Top::on_look(LookResult result) {
  if (result.survey) {
    sort(*result.survey, order_);
    survey_ = std::move(result.survey);
    taken_ = time_ago(0);
    trouble_.clear();
    next_ms_ = std::max(look_.began_ms() + options_.interval_ms, 2 * now_ms() - look_.began_ms());
    show(options_.json ? survey_json(*survey_) : survey_text(*survey_));
    return;
  }
  const bool wrong = belay_status_class(result.status) == BELAY_CLASS_MISUSE;
  const bool last = looks_ + 1 == options_.count;
  if (wrong || (!survey_ && (screen_ == nullptr || last))) {
    end(exit_code_of(result.status), result.why);
    return;
  }
  trouble_ = result.why + "; trying on";
  next_ms_ = look_.began_ms() + options_.interval_ms;
  show(options_.json ? trouble_json(result.why) : trouble_text(trouble_));
}

void Top::show(const std::string& report) {
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
