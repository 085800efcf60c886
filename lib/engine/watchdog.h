// The watchdog: what is renewed when, in batches, and what the answers mean. Knows claims that are
// held and nothing of their course: what an answer means for that, it says in a verdict. The engine
// owns it; used inside the client's monitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dialect.h"
#include "engine/flights.h"
#include "engine/ledger.h"
#include "engine/outcomes.h"
#include "engine/timing.h"

namespace belay {

// What an answer to a renewal means for its claim.
struct Verdict {
  enum class Kind : std::uint8_t {
    kNothing,  // it has ended meanwhile, or is asked about again
    kOurs,
    kLost,
    kOursAlone  // the server refuses to let others share it
  };

  Kind kind = Kind::kNothing;
  Claim* claim = nullptr;
  // Of what is ours: until when, by which lease, and who shares it from now on.
  Micros deadline = 0;
  Micros lease = 0;
  std::string group = {};
  // Of what is lost.
  std::int32_t reason = 0;  // belay_reason
  std::string why = {};
};

class Watchdog {
 public:
  Watchdog(const Dialect& dialect, Timing& timing, Ledger& ledger, Flights& flights,
           Outcomes& outcomes)
      : dialect_(dialect),
        timing_(timing),
        ledger_(ledger),
        flights_(flights),
        outcomes_(outcomes) {}

  // Sets when to renew next; a grant that is not confirmed yet has its time already.
  void plan(Claim& claim);
  // A renewal goes out when the engine's entry ends.
  void want(Claim& claim);
  // So too where there is news that the claim may be lost, but a little later where there was much
  // of it just before. Until the answer nobody is given it.
  void question(Claim& claim);

  // Whether renewals wait to be sent, and whether more than one entry may send.
  [[nodiscard]] bool due() const { return !due_.empty(); }

  [[nodiscard]] bool overfull() const { return due_.size() > kMostRenewals; }

  // One command a group of slots and up to 64 claims. Returns the claims whose turn it was. What is
  // beyond the bound is left to the next timer.
  std::vector<Claim*> flush();
  // Asks to be told when the records of these change, of claims in one group of slots.
  void watch(const std::vector<Claim*>& claims);

  // What a command that goes out asks for, for one claim; by an operation on a hold, too.
  [[nodiscard]] RenewArgs args_to_send(Claim& claim, Micros lease) const;

  // A verdict for each claim of the command, in its order.
  std::vector<Verdict> on_reply(const Flight& flight, Reply reply, Micros sent);
  void on_watch_reply(const Flight& flight, Reply reply);
  // What the server's answer about one claim means; also to an operation on a hold.
  Verdict judge(const Renewed& renewed, const RenewAnswer& answer, Micros sent);

  // Whoever has entered again has the name for as long: the fixed leases of that owner's holds
  // before `latest` do not end before `until`.
  void keep_until(const Hold& latest, Micros until);
  // The server has said that the claim is ours, until `deadline` at least.
  void extend_deadline(Claim& claim, Micros deadline, Micros lease);

 private:
  // So many are renewed in one entry: about a millisecond, so that no other thread waits long for
  // the monitor of a client that has very many.
  static constexpr std::size_t kMostRenewals = 256;

  [[nodiscard]] Micros wanted_lease(const Claim& claim) const;
  void send(const std::vector<Claim*>& claims);
  RenewArgs begin_renewal(Claim& claim, ServerTime not_after) const;
  std::optional<RenewAnswers> read(const Flight& flight, Reply reply, bool* late,
                                   Micros sent) const;
  void note_seat(const Renewed& renewed, const Verdict& verdict, ServerTime server_time) const;
  void hear_of_others(Claim& claim, bool wait) const;
  Verdict on_error(const Renewed& renewed, const Node& from, std::string_view words, bool alone);

  const Dialect& dialect_;
  Timing& timing_;
  Ledger& ledger_;
  Flights& flights_;
  Outcomes& outcomes_;
  std::deque<Claim*> due_;
};

}  // namespace belay
