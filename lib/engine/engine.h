// The engine: claims, local arbitration, waiting, leases, the watchdog. A deterministic state
// machine: submissions, replies, messages and time come in; commands, events and the next deadline
// go out. Used inside the client's monitor; owned by the client. The rules it follows are in
// lib/README.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "engine/barrier.h"
#include "engine/bundles.h"
#include "engine/course.h"
#include "engine/departures.h"
#include "engine/dialect.h"
#include "engine/event.h"
#include "engine/flights.h"
#include "engine/ledger.h"
#include "engine/operations.h"
#include "engine/outcomes.h"
#include "engine/query.h"
#include "engine/timing.h"
#include "engine/watchdog.h"
#include "route/router.h"

namespace belay {

class Engine final : public NodeEvents {
 public:
  // Of the primitives there is one a kind, in the kinds' order. `last_hold` is the latest id that a
  // hold was given, by this engine or another one.
  Engine(const Config& config, const Dialect& dialect, Router& router, EngineEvents& events,
         std::atomic<std::int64_t>& last_hold, std::uint64_t seed);

  // Whether a submission of that tag would be accepted: CLOSED, TAG_IN_USE and TOO_MANY_PENDING are
  // refusals of the client, and all others of the submission.
  Status admit(std::int64_t tag, PendingKind kind) const;

  // Submissions. A status other than OK: refused, and no event follows. The arguments have been
  // checked.
  Status acquire(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now);
  Status release(std::int64_t tag, std::int64_t hold, Micros now);
  // Without an event: OK, LOST or UNKNOWN_HOLD at once; the server is told in the background.
  Status release_nowait(std::int64_t hold, Micros now);
  Status extend(std::int64_t tag, std::int64_t hold, Micros lease, Micros now);
  Status verify(std::int64_t tag, std::int64_t hold, Micros now);
  // `group` shares the hold's name from now on.
  Status downgrade(std::int64_t tag, std::int64_t hold, const std::string& group, Micros now);
  Status query(std::int64_t tag, std::unique_ptr<Query> query, Micros now);
  Status cancel(std::int64_t tag, Micros now);
  Status abandon(std::int64_t hold, Micros now);
  // Every hold is lost at once, then released. END follows when the server has answered.
  Status shutdown(Micros now);

  // Local reads.
  struct HoldView {
    std::int32_t state = 0;  // belay_state; 0: no such hold
    Micros remaining = 0;
    std::int64_t fence = 0;
    std::vector<std::int64_t> fences;  // of several names
  };

  HoldView look(std::int64_t hold, Micros now);
  // The owner's holds of a lock that are not lost, the oldest first.
  std::vector<std::int64_t> holds_of(std::int64_t owner, std::string_view name, Micros now);

  const Metrics& metrics() const { return ledger_.metrics; }

  // How many commands were sent, how many names are known, and how many holds the callers have.
  std::uint64_t commands() const { return flights_.sent(); }

  std::size_t names() const { return ledger_.claims.size(); }

  std::size_t held() const { return ledger_.held(); }

  bool closing() const { return closing_; }

  // Nothing is remembered but holds that were lost and not released.
  bool idle() const { return ledger_.claims.empty() && ledger_.pendings.empty(); }

  // Whether anything that is known belongs to that server.
  [[nodiscard]] bool needs(const Node& node) const;

  // The slots of all that is known.
  [[nodiscard]] SlotSet slots_in_use() const;

  // How many submissions have not completed.
  std::size_t pending() const { return ledger_.pendings.size() - ledger_.parts_pending; }

  // Time.
  void on_timer(Micros now);

  // At once, where an entry has left something.
  Micros next_deadline() const {
    const bool left = !ledger_.checks_due.empty() || watchdog_.due();
    return left ? 0 : std::min(ledger_.timers.next(), close_by_);
  }

  // NodeEvents.
  void on_node_up(Node& node, Micros now) override;
  void on_node_down(Node& node, Micros now) override;
  void on_node_refused(Node& node, Micros now) override;
  void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) override;
  void on_node_message(Node& node, std::string_view payload, Micros now) override;
  void on_node_flushed(Node& node, Micros now) override;
  void on_node_changed(Node& node, std::string_view key, Micros now) override;
  void on_node_slots(Node& node, const std::vector<SlotRange>& map, Micros now) override;
  void on_node_left(Node& node, std::uint16_t slot, Micros now) override;
  void on_node_clock(Node& node, Micros now) override;

 private:
  // So many claims are asked about anew in one entry: about a millisecond, so that no other thread
  // waits long for the monitor of a client that has very many.
  static constexpr std::size_t kMostChecks = 256;

  class Entry;

  void advance();
  void finish(bool leaves_renewals);
  Status ask_about(std::int64_t tag, std::int64_t id, PendingKind kind, Micros lease, Micros now);
  void flush_checks();
  void flush_renewals();
  void time_out_all();
  void on_pending_due(Pending& pending);
  void time_out(Pending& pending);
  [[nodiscard]] Status cancelled(const Pending& pending) const;
  void end(Pending& pending, Status status);
  void dispatch(const Flight& flight, std::uint64_t id, Reply reply, Micros sent);
  void on_moved(const SlotSet& slots);
  void want_checks(const std::function<bool(const Claim&)>& concerns);
  void want_checks_of(const Node& node);
  void on_clock(const Node& node);
  void ask_for_held_back(const Node& node);
  void give_up_on(std::uint64_t id, const Flight& flight, std::vector<Claim*>* claims);
  void end_everything();

  const Dialect& dialect_;
  EngineEvents& events_;
  Micros now_ = kNever;  // of the entry that runs
  Timing timing_;
  Ledger ledger_;
  Flights flights_;
  Outcomes outcomes_;
  Watchdog watchdog_;
  Departures departures_;
  Course course_;
  Barrier barrier_;
  Operations operations_;
  Bundles bundles_;
  bool closing_ = false;
  Micros close_by_ = kNever;  // until the end has been told
};

}  // namespace belay
