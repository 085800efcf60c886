// Several names as one. First all are tried at once, one command a group of slots; if that does not
// give all, what it gave goes back, and they are taken one after the other in an order that
// everybody keeps: so nobody deadlocks. What its parts' claims and holds go through is theirs; what
// that means for the whole is looked at when an entry of the engine ends. The engine owns it; used
// inside the client's monitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/timing.h"
#include "engine/watchdog.h"

namespace belay {

class Course;
class Departures;
class Operations;

class Bundles {
 public:
  Bundles(Timing& timing, Ledger& ledger, Outcomes& outcomes, EngineEvents& events,
          Watchdog& watchdog, Course& course, Operations& operations, Departures& departures)
      : timing_(timing),
        ledger_(ledger),
        outcomes_(outcomes),
        events_(events),
        watchdog_(watchdog),
        course_(course),
        operations_(operations),
        departures_(departures) {}

  // Submissions, admitted already.
  void acquire(std::int64_t tag, const AcquireRequest& request, Micros wait);
  void release(std::int64_t tag, Bundle& bundle);
  // Without an event. Returns why it was lost, if it was.
  Status let_go(Bundle& bundle);
  void ask_about(std::int64_t tag, Bundle& bundle, PendingKind kind, Micros lease);
  void abandon(Bundle& bundle);

  [[nodiscard]] Micros remaining_of(const Bundle& bundle) const;

  // While the names are gathered.
  void on_lead_due(const Pending& lead);
  [[nodiscard]] std::optional<Micros> doubt_of(const Bundle& bundle) const;

  // A claim that is to be asked for waits for the others of its bundle.
  void ask_with_others(Claim& claim);

  // The end of an entry: what has come of the parts, and what is asked for together.
  [[nodiscard]] bool due() const { return !ledger_.bundles_due.empty() || !asks_due_.empty(); }

  void take_steps();
  void send_asks();

 private:
  void ask_part(Bundle& bundle, std::size_t index);
  Pending& add_lead(std::int64_t tag, PendingKind kind, const Bundle& bundle);
  Pending& add_part(Pending& lead);
  void take_step(Bundle& bundle);
  void gather(Bundle& bundle);
  void take_next(Bundle& bundle);
  void keep_parts(Bundle& bundle);
  void conclude(Bundle& bundle);
  void begin_hold(Bundle& bundle);
  void give_back(Bundle& bundle);
  void keep_together(const Bundle& bundle);
  void report(Bundle& bundle);
  void tell_of(Bundle& bundle, std::int32_t kind, const Status& status);

  Timing& timing_;
  Ledger& ledger_;
  Outcomes& outcomes_;
  EngineEvents& events_;
  Watchdog& watchdog_;
  Course& course_;
  Operations& operations_;
  Departures& departures_;
  std::vector<Claim*> asks_due_;
};

}  // namespace belay
