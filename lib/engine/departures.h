// Epochs that are over. The server is asked to leave each until it has answered: one by one, or
// several names by one command. What a claim asks for next is its course's matter. The engine owns
// it; used inside the client's monitor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/dialect.h"
#include "engine/flights.h"
#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/timing.h"

namespace belay {

class Departures {
 public:
  Departures(const Dialect& dialect, Timing& timing, Ledger& ledger, Flights& flights,
             Outcomes& outcomes)
      : dialect_(dialect),
        timing_(timing),
        ledger_(ledger),
        flights_(flights),
        outcomes_(outcomes) {}

  void leave(Claim& claim, const Leaving& leaving);
  void send(Claim& claim, Leaving& leaving);
  // Those of a claim that are due.
  void send_due(Claim& claim);
  // Those that wait for a new connection.
  void send_again(Claim& claim);
  // What was in flight is lost.
  static void on_cut(Claim& claim, std::int64_t epoch);

  // From now on, what claims leave that nobody waits for here goes out together, when it is sent.
  void gather() { gathers_ = true; }

  void send_gathered();

  void on_reply(const Flight& flight, Reply reply, Micros sent);
  // The server's answer to the ask of an epoch that is over. Where it did nothing, and no other can
  // have, there is nothing to leave.
  static void on_ask_refused(Claim& claim, std::int64_t epoch, Reply reply);
  // The ask of an epoch that is over has handed the lock on; nobody else looks after that grant.
  void on_ask_handed_on(Claim& claim, std::int64_t epoch, Micros grant_lease);
  // `answer`: none where the reply is an error, or none of the script's; `words` are what it says.
  void on_left(Claim& claim, std::int64_t epoch, const std::optional<LeaveAnswer>& answer,
               std::string_view words);

  // Rule 12: a message about an epoch that is over. Returns the claim that leaves it; none: it is
  // no message for us, or one too many.
  Claim* on_stray(const Primitive& primitive, const Message& message);

  // The client ends: from now on others look after what it hands on, and has handed on.
  void begin_closing() { closing_ = true; }

  void stop_looking_after(Claim& claim);

 private:
  void send(std::vector<ClaimRef> left);
  void on_error_of_several(Claim& claim, std::int64_t epoch, std::string_view words);
  void on_answer(Claim& claim, Leaving& leaving, const LeaveAnswer& answer);
  void on_error(Claim& claim, Leaving& leaving, std::string_view words);
  [[nodiscard]] Status status_of_release(const Claim& claim, const Leaving& leaving,
                                         LeaveCode code) const;
  void complete_release(Leaving& leaving, Status status);
  bool admit_stray(const Claim* claim, const Message& message);

  const Dialect& dialect_;
  Timing& timing_;
  Ledger& ledger_;
  Flights& flights_;
  Outcomes& outcomes_;
  bool closing_ = false;
  bool gathers_ = false;
  std::vector<ClaimRef> gathered_;
  Micros strays_since_ = 0;
  int strays_ = 0;  // messages about epochs that are over, since then
};

}  // namespace belay
