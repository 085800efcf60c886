// What the engine remembers of one name: who waits, what is asked for, what is held, what is left.
// `Course` moves it along, inside the client's monitor; the ledger owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/epoch.h"
#include "engine/hold.h"
#include "engine/primitive.h"
#include "engine/timer_heap.h"
#include "route/router.h"

namespace belay {

struct Pending;

// The shortest grant lease.
inline constexpr Micros kMinGrant = 100 * kMillisecond;

enum class ClaimState : std::uint8_t { kIdle, kAsking, kHeld };

struct Claim {
  const Primitive* primitive = nullptr;
  // In the ledger.
  std::string key;
  Resource resource;
  Router* router = nullptr;
  Timer timer;
  std::list<Pending*> waiting;
  std::vector<Hold*> holds;
  // How many commands refer to it.
  int in_flight = 0;
  // It stands in a queue: to be asked about anew, asked for with the others of its bundle, renewed.
  bool check_due = false;
  bool ask_due = false;
  bool renew_due = false;

  ClaimState state = ClaimState::kIdle;
  std::int64_t epoch = 0;
  // What the epoch asks for, or has.
  Want want;
  Asking asking;
  Held held;
  std::vector<Leaving> leaving;
  // The connection broke, or the slot moved, since the epoch began, or since the message that
  // granted it: the server's record may be older than what others were granted since.
  bool was_cut = false;
  // The latest passing error of the server.
  Status refusal;

  // The server that has the name by now. Whoever sends asks anew: names may move to another one.
  [[nodiscard]] Node& node() const { return router->node_of(resource.slot); }

  // From one state to the next: asks for what the first who waits wants; holds what was granted;
  // is idle, and says what the server may still know of the epoch.
  void begin(std::int64_t next, Micros poll_at);
  void take(const Grant& grant, Micros now);
  Leaving end(Micros now);
  // What this one had is lost, whether or not others of the claim are left.
  void on_loss_of(const Hold& hold, Micros now);

  // Whether owners may have it beside each other, as others' clients may.
  [[nodiscard]] bool shared() const { return want.shared(); }

  // Whether the server counts it among several that hold the name together.
  [[nodiscard]] bool joint() const { return shared() || primitive->claim_per_request(); }

  // The hold that lets `owner` re-enter the claim, or none.
  [[nodiscard]] const Hold* own_hold(std::int64_t owner) const;
  [[nodiscard]] bool would_deadlock(const Want& wanted) const;
  [[nodiscard]] std::string shared_by_all() const;

  // Who may have it next, without the server. For next: whoever waits, and nobody else has it yet.
  [[nodiscard]] bool is_for_next() const {
    return state == ClaimState::kAsking || (state == ClaimState::kHeld && held.awaits_reply);
  }

  [[nodiscard]] bool next_wants_the_same() const;
  [[nodiscard]] bool is_sure(Micros now) const;
  [[nodiscard]] bool may_hand_locally(Micros now) const;
  [[nodiscard]] bool wants_to_join(const Pending& pending) const;
  [[nodiscard]] bool may_be_let_in(const Pending& pending) const;
  [[nodiscard]] bool may_join(const Pending& pending, Micros now) const;
  [[nodiscard]] bool waits_for_others() const;
  [[nodiscard]] bool runs_short_of_fences() const;
  [[nodiscard]] bool watchable() const;
  // Whether a renewal by one key will do, as far as is known. Of what is held alone: nobody waits
  // for it or looks after it.
  [[nodiscard]] bool renews_by_one_key(Micros lease, Micros now) const;
  // The server has been told that in full, for a lease.
  void sits(const Seat& seat, Micros lease, Micros now);
  void others_are_waiting(Micros now);
  [[nodiscard]] std::vector<Pending*> concerned(std::int64_t answered) const;

  // Epochs that are over. None: the server has answered, or never knew it.
  [[nodiscard]] Leaving* leaving_of(std::int64_t old);
  void forget(const Leaving& done);
  [[nodiscard]] bool loss_is_untold() const;
  void suspect(std::int64_t of, ServerTime until);
  // No fence follows the range that it has.
  void leave_range();
  // What happens to the name is not heard from now on, and perhaps by another server.
  void on_node_down();
  // There is news that what it holds, or has been granted, may be gone.
  void put_in_question(Micros now);
  // Its node has found another server: the times of the one before say nothing there.
  void on_another_server();

  // Until when it is certainly the hold's, whatever longer lease another one has.
  [[nodiscard]] Micros certain_until(const Hold& hold) const {
    return std::min({held.deadline, hold.ends_at, hold.max_end});
  }

  // How long it still is another's at most, unless that one renews it; 0: not known.
  [[nodiscard]] Micros taken_for(Micros now) const {
    return std::max<Micros>(0, (state == ClaimState::kHeld ? held.deadline : asking.free_by) - now);
  }

  [[nodiscard]] Micros risk_time(const Hold& hold) const;
  [[nodiscard]] Micros next_due() const;
};

}  // namespace belay
