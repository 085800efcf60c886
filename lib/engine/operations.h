// What asks the server without changing a claim's course: extensions and verifications of holds,
// downgrades, and queries, which may change something on the server. Asked again on a new
// connection until the request timeout. The engine owns it; used inside the client's monitor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dialect.h"
#include "engine/flights.h"
#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/query.h"
#include "engine/timing.h"
#include "engine/watchdog.h"

namespace belay {

class Barrier;
class Course;

class Operations {
 public:
  Operations(const Dialect& dialect, Timing& timing, Ledger& ledger, Flights& flights,
             Outcomes& outcomes, Watchdog& watchdog, Course& course, Barrier& barrier)
      : dialect_(dialect),
        timing_(timing),
        ledger_(ledger),
        flights_(flights),
        outcomes_(outcomes),
        watchdog_(watchdog),
        course_(course),
        barrier_(barrier) {}

  // Submissions, admitted already. An extension or verification of a hold:
  void ask_about(std::int64_t tag, Hold& hold, PendingKind kind, Micros lease);
  // Refused unless the hold is the only one of its claim, and exclusive.
  Status downgrade(std::int64_t tag, Hold& hold, const std::string& group);
  void query(std::int64_t tag, std::unique_ptr<Query> query);
  // Whether nothing was sent for it that may change something; then nothing will be.
  bool take_back(Pending& pending);

  // Sends it, unless it is out, or has to wait.
  void send(Pending& pending);
  void on_reply(Pending& pending, Node& node, Reply reply, Micros sent);

  // On a new connection, or where those slots are by now.
  void send_all(const Node& node);
  void send_all(const SlotSet& slots);
  void send_all(const std::vector<PendingRef>& refs);
  // A sample of the node's clock has come, or none will.
  void on_clock(const Node& node);

 private:
  [[nodiscard]] Command command_of(const Pending& pending, ServerTime not_after) const;
  void tell_servers(Pending& pending);
  void send_those(const std::function<bool(const Pending&)>& concern);
  void send_in_order(std::vector<Pending*> queries);
  [[nodiscard]] bool may_come_late(const Pending& pending) const;
  void on_error(Pending& pending, const Node& node, std::string_view words);
  void on_hold_answer(Pending& pending, Node& node, Reply reply, Micros sent);
  void on_answer(Pending& pending, const Node& node, Reply reply);

  const Dialect& dialect_;
  Timing& timing_;
  Ledger& ledger_;
  Flights& flights_;
  Outcomes& outcomes_;
  Watchdog& watchdog_;
  Course& course_;
  Barrier& barrier_;
  std::vector<PendingRef> queries_for_clock_;  // wait for a sample of it
};

}  // namespace belay
