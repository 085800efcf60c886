// Waits for a latch: whom the end of a generation lets pass. Those of one client share a claim, and
// the server keeps one place for them: they wait for the generation that runs. Who asks for a given
// generation joins them once the server has said that this one runs. The engine owns it; used
// inside the client's monitor.
#pragma once

#include <cstdint>

#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/timing.h"

namespace belay {

class Course;
class Operations;

class Barrier {
 public:
  Barrier(Timing& timing, Ledger& ledger, Outcomes& outcomes, Course& course,
          Operations& operations)
      : timing_(timing),
        ledger_(ledger),
        outcomes_(outcomes),
        course_(course),
        operations_(operations) {}

  // An acquire of a latch, admitted already.
  void acquire(std::int64_t tag, const AcquireRequest& request, Micros wait);
  // The server has said that the generation that an acquire is for runs.
  void wait(Pending& pending);

  // Those who wait for another generation ask about theirs anew.
  void send_off_others(Claim& claim, std::int64_t generation);
  // There is nothing to hold: whoever waited for that generation goes on.
  void let_pass(Claim& claim, std::int64_t generation);
  void on_passed(Claim& claim, const Message& message);

 private:
  void ask(Pending& pending);
  void join(Pending& pending);

  Timing& timing_;
  Ledger& ledger_;
  Outcomes& outcomes_;
  Course& course_;
  Operations& operations_;
};

}  // namespace belay
