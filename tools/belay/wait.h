// The first half of belay run: from the request to the lock or to the reason why not. Signals
// cancel the wait. On a terminal a line tells who holds the lock meanwhile.
#ifndef BELAY_TOOLS_WAIT_H
#define BELAY_TOOLS_WAIT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "run_options.h"
#include "signals.h"
#include "status_line.h"

struct Grant {
  std::int64_t hold = 0;             // 0: not granted
  std::vector<std::int64_t> fences;  // one a name, in the order of the names
  int exit_code = 0;                 // where not granted
};

class Wait {
 public:
  Wait(belay_client* client, const Signals& signals, const RunOptions& options);
  // Returns when the acquire has completed.
  Grant run();

 private:
  bool submit();
  [[nodiscard]] std::int64_t timeout_ms() const;
  void on_signal(int signal);
  void take_events();
  void on_event(const belay_event* event);
  void on_warning(const std::string& message);
  void ping();
  void on_pinged(const belay_event* event);
  void on_acquired(const belay_event* event);
  void on_inspected(const belay_event* event);
  void inspect_if_due();
  void note_unreachable(const belay_event* event);
  // Adds how long we have been waiting.
  void tell_if_verbose(const std::string& message);
  void tell(const std::string& message);

  belay_client* client_;
  const Signals& signals_;
  const RunOptions& options_;
  StatusLine line_;
  Grant grant_;
  std::int64_t started_ms_;
  std::int64_t next_inspect_ms_;
  std::size_t inspected_ = 0;  // of several names, one after the other
  bool done_ = false;
  bool inspecting_ = false;
  bool pinging_ = false;
  bool said_unreachable_ = false;
  bool said_refusal_ = false;
  int cancelled_by_ = 0;  // the signal; 0: not cancelled
};

#endif
