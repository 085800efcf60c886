// The course of a claim on one name: who waits, what is asked for, what answers and messages mean,
// who holds it, how it is handed on or lost. Rule numbers refer to lib/README.md. The engine owns
// it; used inside the client's monitor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dialect.h"
#include "engine/flights.h"
#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/primitive.h"
#include "engine/timing.h"
#include "engine/watchdog.h"

namespace belay {

class Barrier;
class Bundles;
class Departures;

class Course {
 public:
  Course(const Dialect& dialect, Timing& timing, Ledger& ledger, Flights& flights,
         Outcomes& outcomes, Watchdog& watchdog, Barrier& barrier, Bundles& bundles,
         Departures& departures)
      : dialect_(dialect),
        timing_(timing),
        ledger_(ledger),
        flights_(flights),
        outcomes_(outcomes),
        watchdog_(watchdog),
        barrier_(barrier),
        bundles_(bundles),
        departures_(departures) {}

  // Acquires. Placed, one is granted at once, refused, or waits.
  Pending& add_acquire(std::int64_t tag, const AcquireRequest& request, Micros wait);
  void place(Pending& pending);
  void line_up(Claim& claim, Pending& pending);
  void look_for_room(Claim& claim);
  [[nodiscard]] Status acquire_timeout(const Pending& pending) const;

  // Brings a claim in line with who wants it, forgets it if nobody does, and sets its timer
  // otherwise. Whatever has changed a claim ends with it.
  void reconcile(Claim& claim);

  // Holds. `release`, unless null, completes when the hold is parted from its claim.
  void drop_hold(Hold& hold, Pending* release);
  void abandon(std::unique_ptr<Hold> hold);
  [[nodiscard]] Status release_timeout(const Pending& pending) const;

  // Until when the server may keep the name, if nobody waits for the answer to an acquire or a
  // release any longer; none if an acquire has its answer, and the server can be told.
  [[nodiscard]] std::optional<Micros> doubt_of(const Pending& pending) const;

  // Asking.
  void ask(Claim& claim);
  // By one command: of the claims of one bundle in one group of slots.
  void send_ask(const std::vector<Claim*>& claims);
  // Ends the current epoch. `release`, if any, waits for the server's answer.
  void end(Claim& claim, bool leaves, const PendingRef& release);

  // Replies.
  void on_acquire_reply(const Flight& flight, Reply reply, Micros sent);
  void on_acquire_answer(const ClaimRef& asked, Node& node, const AcquireAnswer& answer,
                         Micros sent);
  void on_acquire_error(Claim& claim, const Node& from, std::string_view words);
  void on_verdict(const Verdict& verdict);
  // After the departures have read the answer to a leave.
  void on_left(Claim& claim);

  // Messages: about the epoch that stands, and about one that is over. False: it is none for us,
  // or one too many.
  void on_message(Claim& claim, const Node& node, const Message& message);
  bool on_stray(const Primitive& primitive, const Message& message);

  // A command whose connection is lost; an ask whose answer says nothing of the present; time.
  void on_cut(const Flight& flight);
  void on_outdated_ask(const Flight& flight);
  void on_due(Claim& claim);

  // The client ends.
  void close(Claim& claim);

 private:
  AcquireArgs begin_ask(Claim& claim);
  void re_enter(Claim& claim, Pending& pending, const Hold& own);
  void start(Claim& claim);
  bool refuse_distant_waiters(Claim& claim, Micros lease);
  void refuse(Claim& claim, const Status& status);
  void on_busy(Claim& claim);
  void mark_reached(Claim& claim);
  void on_queued(Claim& claim, const AcquireAnswer& answer);
  void on_grant(Claim& claim, const Grant& grant);
  void on_grant_of_held(Claim& claim, const Grant& grant);
  void on_still_ours(Claim& claim, Micros deadline, Micros lease);
  void end_question(Claim& claim);
  void deliver(Claim& claim, std::int64_t fence, Micros fixed_end);
  void make_hold(Claim& claim, Pending& pending, std::int64_t fence, Micros fixed_end);
  void let_join(Claim& claim);
  void end_tries(Claim& claim);
  void end_tries_in_vain(Claim& claim);
  void confirm_for_those_who_wait(Claim& claim);
  void become_shared(Claim& claim, const std::string& group);
  void stay_alone(Claim& claim);
  void end_downgrades(Claim& claim, const Status& status);
  void pass_on(Claim& claim);
  void on_settled(Claim& claim, std::int64_t epoch);
  void share_what_is_left(Claim& claim);
  void check_hold(Hold& hold);
  void check_holds(Claim& claim);
  void stop_watching(Hold& hold, Micros ends_at);
  void warn_if_at_risk(Claim& claim);
  void declare_lost(Hold& hold, std::int32_t reason, const std::string& why);
  void lose_hold(Hold& hold, std::int32_t reason, const std::string& why);
  void lose(Claim& claim, std::int32_t reason, const std::string& why);

  const Dialect& dialect_;
  Timing& timing_;
  Ledger& ledger_;
  Flights& flights_;
  Outcomes& outcomes_;
  Watchdog& watchdog_;
  Barrier& barrier_;
  Bundles& bundles_;
  Departures& departures_;
};

}  // namespace belay
