// The parts of an engine and one greeted node, but no engine: a test calls each part as the engine
// would, and passes on what the node says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/packing.h"
#include "engine/barrier.h"
#include "engine/bundles.h"
#include "engine/course.h"
#include "engine/departures.h"
#include "engine/operations.h"
#include "unit/greeted.h"

namespace belay {

// The first server has the slot of one name, the second all other slots. Every slot is a group.
inline Topology on_two_servers(std::uint16_t slot_of_first, const Endpoint& first,
                               const Endpoint& second) {
  return {{{first}, {second}}, [slot_of_first](std::uint16_t slot) {
            return Place{slot == slot_of_first ? 0U : 1U, slot};
          }};
}

class EngineParts : public GreetedNode, public NodeEvents {
 protected:
  EngineParts() { start(*this); }

  [[nodiscard]] ServerTime server_time() const { return {now_ + 99 * kSecond}; }

  // The commands since the last time that contain such a word.
  std::vector<std::string> sent(std::string_view word = "") {
    std::vector<std::string> found = std::exchange(link_.sent, {});
    std::erase_if(found, [word](const std::string& command) {
      return command.find(word) == std::string::npos;
    });
    return found;
  }

  void cut() {
    node_.on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
    for (const auto& [id, flight] : flights_.take_all_of(node_)) {
      course_.on_cut(flight);
      for (const ClaimRef& ref : flight.refs) {
        --ref.claim->in_flight;
      }
      for (const Renewed& renewed : flight.renewed) {
        --renewed.claim->in_flight;
      }
    }
  }

  void connect_again() {
    now_ += kSecond;
    greet("6");
    answer(":1\r\n");  // to CLIENT KILL
  }

  // A name that is held alone, by one hold of the watchdog's or of a fixed lease.
  Claim& held(const std::string& name, Micros lease = 0) {
    Claim& claim = ledger_.claim_of(lock_, name);
    claim.state = ClaimState::kHeld;
    claim.epoch = ++ledger_.last_epoch;
    ledger_.epochs.emplace(claim.epoch, &claim);
    claim.held.confirmed = true;
    claim.held.fence = 50;
    claim.held.last_fence = 58;
    claim.held.next_fence = 51;
    claim.held.lease = lease > 0 ? lease : config_.watchdog_lease;
    claim.held.deadline = now_ + claim.held.lease - lease_margin(claim.held.lease);
    auto hold = std::make_unique<Hold>();
    hold->id = ++last_hold_;
    hold->claim = &claim;
    hold->fence = claim.held.fence;
    hold->since = now_;
    hold->lease = lease;
    hold->ends_at = lease > 0 ? claim.held.deadline : kNever;
    hold->notify = true;
    claim.holds.push_back(hold.get());
    ledger_.holds.emplace(hold->id, std::move(hold));
    return claim;
  }

  // Answers the latest command as the server would: an ask, or a leave.
  void reply(const AcquireAnswer& told, Micros round_trip = 0) {
    const ClaimRef asked = landed().refs.at(0);
    Claim& claim = *asked.claim;
    if (claim.epoch == asked.epoch) {
      claim.asking.out = false;
    }
    course_.on_acquire_answer(asked, node_, told, now_ - round_trip);
    course_.reconcile(claim);
  }

  void reply(LeaveCode code, Micros handed = 0) {
    left(LeaveAnswer{code, server_time(), handed}, "");
  }

  // To a leave of one claim.
  void left(const std::optional<LeaveAnswer>& answer, std::string_view words) {
    const ClaimRef left = landed().refs.at(0);
    on_left(*left.claim, left.epoch, answer, words);
  }

  void on_left(Claim& claim, std::int64_t epoch, const std::optional<LeaveAnswer>& answer,
               std::string_view words = "") {
    departures_.on_left(claim, epoch, answer, words);
    course_.on_left(claim);
  }

  [[nodiscard]] AcquireAnswer told(AcquireCode code) const {
    AcquireAnswer answer;
    answer.code = code;
    answer.server_time = server_time();
    return answer;
  }

  [[nodiscard]] AcquireAnswer granted(std::int64_t fence) const {
    AcquireAnswer answer = told(AcquireCode::kGranted);
    answer.fence = fence;
    answer.last_fence = fence + 8;
    answer.permits = 1;
    return answer;
  }

  // The latest command; its claims wait for it no more.
  Flight landed() {
    std::optional<Flight> flight = flights_.take(flights_.sent());
    EXPECT_TRUE(flight.has_value());
    for (const ClaimRef& ref : flight ? flight->refs : std::vector<ClaimRef>()) {
      --ref.claim->in_flight;
    }
    return flight.value_or(Flight());
  }

  void on_node_up(Node& /*node*/, Micros /*now*/) override {}

  void on_node_down(Node& /*node*/, Micros /*now*/) override {}

  void on_node_refused(Node& /*node*/, Micros /*now*/) override {}

  void on_node_reply(Node& /*node*/, std::uint64_t /*id*/, Reply /*reply*/, Micros /*sent*/,
                     Micros /*now*/) override {}

  void on_node_message(Node& /*node*/, std::string_view /*payload*/, Micros /*now*/) override {}

  void on_node_flushed(Node& /*node*/, Micros /*now*/) override {}

  void on_node_changed(Node& /*node*/, std::string_view /*key*/, Micros /*now*/) override {}

  void on_node_slots(Node& /*node*/, const std::vector<SlotRange>& /*map*/,
                     Micros /*now*/) override {}

  void on_node_left(Node& /*node*/, std::uint16_t /*slot*/, Micros /*now*/) override {}

  void on_node_clock(Node& /*node*/, Micros /*now*/) override {}

  Timing timing_{config_, now_, 2};
  Ledger ledger_{config_, core_.router(), now_, last_hold_};
  Flights flights_;
  Outcomes outcomes_{ledger_, events_};
  Watchdog watchdog_{dialect_, timing_, ledger_, flights_, outcomes_};
  Departures departures_{dialect_, timing_, ledger_, flights_, outcomes_};
  Course course_{dialect_,  timing_,  ledger_,  flights_,   outcomes_,
                 watchdog_, barrier_, bundles_, departures_};
  Barrier barrier_{timing_, ledger_, outcomes_, course_, operations_};
  Operations operations_{dialect_,  timing_,   ledger_, flights_,
                         outcomes_, watchdog_, course_, barrier_};
  Bundles bundles_{timing_,   ledger_, outcomes_,   events_,
                   watchdog_, course_, operations_, departures_};
};

}  // namespace belay
