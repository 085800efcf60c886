// The engine: claims, local arbitration, waiting, leases, the watchdog. A deterministic state
// machine: submissions, replies, messages and time come in; commands, events and the next deadline
// go out. Used inside the client's monitor; owned by the client. The rules it follows are in
// lib/README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/random.h"
#include "engine/bundle.h"
#include "engine/claim.h"
#include "engine/event.h"
#include "engine/metrics.h"
#include "engine/primitive.h"
#include "engine/query.h"
#include "engine/timer_heap.h"
#include "route/router.h"

namespace belay {

struct AcquireRequest {
  const Primitive* primitive = nullptr;
  std::string name;
  Want want;
  // Several names, all or none; `name` and `want` say nothing then.
  std::vector<std::pair<std::string, Want>> names;
  const ManyNames* many = nullptr;  // how to ask for them at once
  std::int64_t owner = 0;
  Micros lease = 0;     // 0: the watchdog's
  Micros max_hold = 0;  // 0: none
  bool notify = false;
};

class Engine final : public NodeEvents {
 public:
  // Of the primitives there is one a kind, in the kinds' order. `last_hold` is the latest id that a
  // hold was given, by this engine or another one.
  Engine(const Config& config, const Names& names, std::vector<const Primitive*> primitives,
         Router& router, EngineEvents& events, std::atomic<std::int64_t>& last_hold,
         std::uint64_t seed);

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

  const Metrics& metrics() const { return metrics_; }

  // How many commands were sent, how many names are known, and how many holds the callers have.
  std::uint64_t commands() const { return last_command_; }

  std::size_t names() const { return claims_.size(); }

  std::size_t held() const;

  bool closing() const { return closing_; }

  // Nothing is remembered but holds that were lost and not released.
  bool idle() const { return claims_.empty() && pendings_.empty(); }

  // How many submissions have not completed.
  std::size_t pending() const { return pendings_.size() - parts_pending_; }

  // Time.
  void on_timer(Micros now);

  // At once, where an entry has left something.
  Micros next_deadline() const {
    const bool left = !checks_due_.empty() || !renew_due_.empty();
    return left ? 0 : timers_.next() < close_by_ ? timers_.next() : close_by_;
  }

  // NodeEvents.
  void on_node_up(Node& node, Micros now) override;
  void on_node_down(Node& node, Micros now) override;
  void on_node_refused(Node& node, Micros now) override;
  void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) override;
  void on_node_message(Node& node, std::string_view payload, Micros now) override;
  void on_node_flushed(Node& node, Micros now) override;
  void on_node_changed(Node& node, std::string_view key, Micros now) override;
  void on_node_clock(Node& node, Micros now) override;

 private:
  enum class FlightKind : std::uint8_t {
    kAcquire,
    kMany,
    kLeave,
    kManyLeft,
    kRenew,
    kWatch,
    kQuery
  };

  struct Renewed {
    Claim* claim;
    std::int64_t epoch;
    Micros lease;
    std::int64_t reserve;
    std::string group;
  };

  struct Asked {
    Claim* claim;
    std::int64_t epoch;
    Micros lease;
  };

  // The next in line looks this long after the holder's lease has ended.
  static constexpr Micros kLookAfter = 5 * kMillisecond;
  // So many claims are asked about anew, and so many renewed, in one entry: about a millisecond, so
  // that no other thread waits long for the monitor of a client that has very many.
  static constexpr std::size_t kMostChecks = 256;
  static constexpr std::size_t kMostRenewals = 256;

  // A command that is out.
  struct Flight {
    FlightKind kind = FlightKind::kQuery;
    Node* node = nullptr;
    Claim* claim = nullptr;
    std::int64_t epoch = 0;
    Micros lease = 0;
    Micros not_after = 0;  // server time, of an acquire
    std::int64_t tag = 0;
    std::vector<Renewed> renewed;
    std::vector<Asked> asked;           // of one command for several names
    std::vector<std::int64_t> watched;  // epochs
    const ManyNames* many = nullptr;
  };

  // engine.cpp: submissions, time, dispatch.
  Pending& add_pending(std::int64_t tag, PendingKind kind, Micros now);
  Pending& add_acquire(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now);
  void place_acquire(Pending& pending, Micros now);
  void part_from(Hold& hold, Pending* release, Micros now);
  Event outcome(const Pending& pending, Status status) const;
  void explain(const Pending& pending, Status* status) const;
  static Status waited_out(const std::string& name, Micros wait);
  void re_enter(Claim& claim, Pending& pending, std::int64_t fence, Micros now);
  void line_up(Claim& claim, Pending& pending, Micros now);
  void complete(Pending& pending, Status status, Micros now);
  void complete(Pending& pending, Event event, Micros now);
  void advance(Micros now);
  void finish(Micros now);
  void time_out_all(Micros now);
  void on_pending_due(Pending& pending, Micros now);
  void time_out(Pending& pending, Micros now);
  Status acquire_timeout(const Pending& pending) const;
  Status release_timeout(const Pending& pending) const;
  std::uint64_t send(Node& node, Command command, Flight flight, Micros now);
  Status unavailable(const Node& node, const std::string& what) const;
  Claim& claim_of(const Primitive& primitive, std::string_view name);
  Claim* standing_claim(const Message& message) const;
  Claim& new_claim(const Primitive& primitive, std::string_view name);
  Claim& add_claim(const Primitive& primitive, std::string_view name, std::string key);
  void settle(Claim& claim, Micros now);
  bool admit_stray(const Claim* claim, const Message& message, Micros now);
  bool on_stray(const Message& message, Micros now);
  void on_message(Claim& claim, const Message& message, Micros now);
  void want_checks(const Node& node);
  void flush_checks(Micros now);
  void end_wait_for_clock(Micros now);
  void send_leaves(Claim& claim, Micros now);
  void send_queries(Node& node, Micros now);
  void send_in_order(std::vector<Pending*> queries, Micros now);
  void give_up_on(std::uint64_t id, const Flight& flight, std::vector<Claim*>* claims);
  static void suspect(Claim& claim, std::int64_t epoch, Micros not_after);
  void reset_claim(Claim& claim, Micros now);
  void count_acquire(const Pending& pending, std::int32_t code, Micros now);
  void count_release(Micros since, Micros now);
  void count_loss(Micros since, Micros now);
  void tell_of(Hold& hold, std::int32_t kind, Status status, Micros now);
  void end_everything(Micros now);
  void end_standing(Claim& claim, Micros now);

  // claims.cpp: asking, grants, renewals, ends.
  void start_claim(Claim& claim, Micros now);
  static bool loss_is_untold(const Claim& claim);
  void ask(Claim& claim, Micros now);
  Micros grant_lease(const Node& node, Micros lease) const;
  Micros lease_for(const Pending& pending) const;
  bool is_near(Claim& claim, Micros lease, Micros now);
  void mark_reached(Claim& claim);
  Micros fallback_poll(std::int64_t position);
  std::int64_t highest_fence_of(std::uint16_t slot) const;
  // By a reply: a message may be anybody's, and what it says would be sent on to the server.
  void saw_fence(std::uint16_t slot, std::int64_t fence);
  Micros not_after_of(const Node& node, Micros now) const;
  AcquireArgs begin_ask(Claim& claim, Micros now);
  void on_acquire_reply(Claim& claim, const Flight& flight, Reply reply, Micros sent, Micros now);
  void on_acquire_answer(const Asked& asked, const AcquireAnswer& answer, Micros sent, Micros now);
  void on_acquire_error(Claim& claim, std::string_view words, Micros now);
  void refuse(Claim& claim, const Status& status, Micros now);
  void on_busy(Claim& claim, Micros now);
  void on_queued(Claim& claim, const AcquireAnswer& answer, Micros now);

  struct Grant {
    std::int64_t epoch;
    std::int64_t fence;
    std::int64_t last_fence;
    std::int64_t permits;
    Micros deadline;
    Micros lease;
    bool confirmed;
    bool others_wait;
  };

  void on_grant(Claim& claim, const Grant& grant, Micros now);
  void on_grant_of_held(Claim& claim, const Grant& grant, Micros now);
  void deliver(Claim& claim, std::int64_t fence, Micros fixed_end, Micros now);
  void make_hold(Claim& claim, Pending& pending, std::int64_t fence, Micros fixed_end, Micros now);
  static bool next_wants_the_same(const Claim& claim);
  bool may_hand_locally(const Claim& claim, Micros now) const;
  static bool wants_to_join(const Claim& claim, const Pending& pending);
  static bool may_be_let_in(const Claim& claim, const Pending& pending);
  bool may_join(const Claim& claim, const Pending& pending, Micros now) const;
  void look_for_room(Claim& claim, Micros now);
  void let_join(Claim& claim, Micros now);
  void end_tries(Claim& claim, Micros now);
  void become_shared(Claim& claim, const std::string& group, Micros now);
  void pass_on(Claim& claim, Micros now);
  void end_claim(Claim& claim, bool leave, std::int64_t tag, Micros now);
  void leave(Claim& claim, const Leaving& leaving, Micros now);
  void send_leave(Claim& claim, Leaving& leaving, Micros now);
  LeaveArgs args_of(const Claim& claim, const Leaving& leaving) const;
  static std::vector<Leaving>::iterator leaving_of(Claim& claim, std::int64_t epoch);
  void on_left(Claim& claim, std::int64_t epoch, const std::optional<LeaveAnswer>& answer,
               std::string_view words, Micros sent, Micros now);
  void on_leave_answer(Claim& claim, Leaving& leaving, const LeaveAnswer& answer, Micros sent,
                       Micros now);
  void on_settled(Claim& claim, std::int64_t epoch, Micros now);
  void on_leave_error(Claim& claim, Leaving& leaving, std::string_view words, Micros now);
  void complete_release(Leaving& leaving, Status status, Micros now);
  void declare_lost(Hold& hold, std::int32_t reason, const std::string& why, Micros now);
  void lose_hold(Hold& hold, std::int32_t reason, const std::string& why, Micros now);
  void lose_claim(Claim& claim, std::int32_t reason, const std::string& why, Micros now);
  void on_claim_due(Claim& claim, Micros now);
  Micros own_end(const Claim& claim, Micros now) const;
  void check_holds(Claim& claim, Micros now);
  void stop_watching(Hold& hold, Micros now);
  void warn_if_at_risk(Claim& claim, Micros now);
  Micros risk_time(const Claim& claim, const Hold& hold) const;
  Micros claim_deadline(const Claim& claim) const;
  void others_are_waiting(Claim& claim, Micros now);

  // renewal.cpp: the watchdog.
  static Micros lapses_by(const Node& node, Micros not_after, Micros lease);
  Micros wanted_lease(const Claim& claim, Micros now) const;
  static bool waits_for_others(const Claim& claim);
  static bool runs_short_of_fences(const Claim& claim);
  void plan_renewal(Claim& claim, Micros now);
  void want_renewal(Claim& claim);
  void flush_renewals(Micros now);
  void send_renewals(const std::vector<Claim*>& claims, Micros now);
  static bool watchable(const Claim& claim);
  void watch(const std::vector<Claim*>& claims, Micros now);
  void on_watch_reply(const Flight& flight, Reply reply);
  static RenewArgs renew_args(const Claim& claim, Micros lease);
  Renewed renewal_of(Claim& claim, Command* command, Micros not_after, Micros now) const;
  std::optional<RenewAnswers> read_renewal(const Flight& flight, Reply reply, bool* late,
                                           Micros sent, Micros now);
  void on_renew_reply(const Flight& flight, Reply reply, Micros sent, Micros now);
  void on_renewal_error(Claim& claim, std::string_view words, bool alone, Micros now);
  void on_renewed(const Renewed& renewed, const RenewAnswer& answer, Micros sent, Micros now);
  void vouch(Claim& claim, Micros deadline, Micros lease, Micros now);

  // generations.cpp: waits for a latch.
  void acquire_generation(Pending& pending, const AcquireRequest& request, Micros now);
  void ask_about_generation(Pending& pending, Micros now);
  void wait_for_generation(Pending& pending, Micros now);
  void send_off_others(Claim& claim, std::int64_t generation, Micros now);
  static std::vector<Pending*> concerned(const Claim& claim, std::int64_t generation);
  void let_pass(Claim& claim, std::int64_t generation, Micros now);
  void on_passed(Claim& claim, const Message& message, Micros now);

  // queries.cpp: what asks the server without changing a claim's course.
  Command command_of(const Pending& pending, Micros not_after) const;
  void send_query(Pending& pending, Micros now);
  Node& node_for(const Pending& pending);
  bool may_come_late(const Pending& pending);
  void on_query_reply(Pending& pending, Reply reply, Micros sent, Micros now);
  void on_query_error(Pending& pending, std::string_view words, Micros now);
  void on_hold_answer(Pending& pending, Reply reply, Micros sent, Micros now);
  void on_query_answer(Pending& pending, Reply reply, Micros now);
  Status submit_hold_query(std::int64_t tag, std::int64_t hold, PendingKind kind, Micros lease,
                           Micros now);

  // bundles.cpp: several names that are asked for and held as one.
  void acquire_many(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now);
  void ask_part(Bundle& bundle, std::size_t index, Micros now);
  void flush_asks(Micros now);
  void send_many(const std::vector<Claim*>& claims, Micros now);
  void on_many_reply(const Flight& flight, Reply reply, Micros sent, Micros now);
  void flush_leaves(const ManyNames& many, Micros now);
  void send_leaves(const ManyNames& many, const std::vector<Asked>& claims, Micros now);
  void on_many_left(const Flight& flight, Reply reply, Micros sent, Micros now);
  Pending& add_lead(std::int64_t tag, PendingKind kind, const Bundle& bundle, Micros now);
  Pending& add_part(Pending& lead, Micros now);
  void on_part_done(const Pending& part, const Event& event);
  void on_part_news(const Hold& hold, std::int32_t kind, const Status& status);
  void want_step(Bundle& bundle);
  void flush_sets(Micros now);
  void take_step(Bundle& bundle, Micros now);
  void gather(Bundle& bundle, Micros now);
  void take_next(Bundle& bundle, Micros now);
  void keep_parts(Bundle& bundle, Micros now);
  void begin_hold(Bundle& bundle, Micros now);
  void give_back(Bundle& bundle, Micros now);
  void report(Bundle& bundle, Micros now);
  void tell_of(Bundle& bundle, std::int32_t kind, const Status& status, Micros now);
  Micros remaining_of(const Bundle& bundle, Micros now) const;
  Bundle* held_set(std::int64_t hold);
  void release_set(std::int64_t tag, Bundle& bundle, Micros now);
  void query_set(std::int64_t tag, Bundle& bundle, PendingKind kind, Micros lease, Micros now);
  void abandon_set(Bundle& bundle, Micros now);
  void abandon_hold(std::unique_ptr<Hold> hold, Micros now);

  const Config& config_;
  const Names& names_;
  const std::vector<const Primitive*> primitives_;
  Router& router_;
  EngineEvents& events_;
  Random random_;
  TimerHeap timers_;
  std::unordered_map<std::string, std::unique_ptr<Claim>> claims_;
  std::unordered_map<std::int64_t, Claim*> epochs_;  // that are not idle
  std::unordered_map<std::int64_t, std::unique_ptr<Hold>> holds_;
  std::unordered_map<std::int64_t, std::unique_ptr<Hold>> abandoned_;
  std::unordered_map<std::int64_t, std::unique_ptr<Pending>> pendings_;
  std::unordered_map<std::uint64_t, Flight> flights_;
  std::deque<Claim*> checks_due_;
  std::vector<Claim*> claims_for_clock_;  // wait for a sample of it
  std::vector<std::int64_t> queries_for_clock_;
  std::deque<Claim*> renew_due_;
  std::vector<Claim*> asks_due_;
  bool gathers_leaves_ = false;
  std::vector<Asked> leaves_due_;
  std::unordered_map<std::int64_t, std::unique_ptr<Bundle>> bundles_;  // by their hold's id
  std::vector<std::int64_t> sets_due_;
  std::vector<std::int64_t> leads_due_;
  std::size_t submissions_ = 0;  // of pendings_: neither blocking calls nor parts
  std::size_t parts_pending_ = 0;
  std::int64_t last_part_ = 0;
  Micros strays_since_ = 0;
  int strays_ = 0;  // messages about epochs that are over, since then
  std::int64_t last_epoch_ = 0;
  std::atomic<std::int64_t>& last_hold_;
  std::int64_t last_claim_ = 0;
  std::uint64_t last_command_ = 0;
  Metrics metrics_;
  std::uint64_t last_order_ = 0;
  std::unordered_map<std::uint16_t, std::int64_t> highest_fences_;  // by slot
  bool closing_ = false;
  bool closed_ = false;
  Micros close_by_ = kNever;
};

}  // namespace belay
