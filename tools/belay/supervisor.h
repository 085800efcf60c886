// The second half of belay run: the command runs, and is stopped in time when the lock is about to
// be lost: TERM at the local deadline less kill_after (or as soon as the risk is known), KILL at
// the deadline or at the loss. Forwards signals and takes part in job control.
#ifndef BELAY_TOOLS_SUPERVISOR_H
#define BELAY_TOOLS_SUPERVISOR_H

#include <cstdint>
#include <string>

#include "child.h"
#include "run_options.h"
#include "signals.h"

class Supervisor {
 public:
  Supervisor(belay_client* client, std::int64_t hold, Child& child, const Signals& signals,
             const RunOptions& options);
  // Returns when the child has ended.
  void run();

  // Whether the child was told to stop because of the lock.
  [[nodiscard]] bool intervened() const { return told_ || killed_; }

 private:
  [[nodiscard]] std::int64_t timeout_ms() const;
  void on_event(const belay_event* event);
  void check_deadline();
  void tell_to_stop(std::int64_t remaining_ms);
  std::string fate(const std::string& reached);
  void kill_child();
  void kill_those_left_behind();
  void on_signal(Signals::Arrived signal);
  void on_continued();
  void on_child_changed();
  void stop_with_child();

  belay_client* client_;
  std::int64_t hold_;
  Child& child_;
  const Signals& signals_;
  const RunOptions& options_;
  std::string why_;  // what the last AT_RISK or LOST said
  bool at_risk_ = false;
  bool lost_ = false;
  bool told_ = false;    // TERM was sent
  bool killed_ = false;  // KILL was sent
  bool said_out_of_reach_ = false;
  int stop_signal_ = 0;  // job control asks us to stop; done once the child has stopped
};

#endif
