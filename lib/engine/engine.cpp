// Submissions, time and dispatch.
#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>
#include <utility>

namespace belay {

namespace {

constexpr Micros kCloseBound = 2 * kSecond;

Status not_fixed(std::int64_t hold) {
  return {BELAY_INVALID_ARGUMENT,
          "hold " + std::to_string(hold) +
              " is renewed by the watchdog; only a fixed lease is extended"};
}

Status unknown_hold(std::int64_t id) {
  return {BELAY_UNKNOWN_HOLD,
          "hold " + std::to_string(id) + " was never granted, or has been released"};
}

bool may_be_repeated(const Pending& pending) {
  return pending.kind != PendingKind::kQuery || pending.query->effect() != Query::Effect::kOnce;
}

}  // namespace

// An entry to the engine: all of it happens at one moment. What has become due by then comes first,
// as a process that was stopped learns of its losses before anything else. What is to be sent goes
// out at the end, and what has ended is freed.
class Engine::Entry {
 public:
  Entry(Engine& engine, Micros now) : Entry(engine, now, [] {}) {}

  // `first` comes even before what has become due: it puts names in question, so that no turn that
  // has ended hands them on.
  template <class First>
  Entry(Engine& engine, Micros now, const First& first) : engine_(engine) {
    assert(engine_.now_ == kNever);
    engine_.now_ = now;
    first();
    engine_.advance();
  }

  ~Entry() {
    engine_.finish(leaves_renewals_);
    engine_.ledger_.free_retired();
    engine_.now_ = kNever;
  }

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // The next entry sends the renewals, together with others that it may bring.
  void leave_renewals() { leaves_renewals_ = true; }

 private:
  Engine& engine_;
  bool leaves_renewals_ = false;
};

Engine::Engine(const Config& config, const Dialect& dialect, Router& router, EngineEvents& events,
               std::atomic<std::int64_t>& last_hold, std::uint64_t seed)
    : dialect_(dialect),
      events_(events),
      timing_(config, now_, seed),
      ledger_(config, router, now_, last_hold),
      outcomes_(ledger_, events_),
      watchdog_(dialect_, timing_, ledger_, flights_, outcomes_),
      departures_(dialect_, timing_, ledger_, flights_, outcomes_),
      course_(dialect_, timing_, ledger_, flights_, outcomes_, watchdog_, barrier_, bundles_,
              departures_),
      barrier_(timing_, ledger_, outcomes_, course_, operations_),
      operations_(dialect_, timing_, ledger_, flights_, outcomes_, watchdog_, course_, barrier_),
      bundles_(timing_, ledger_, outcomes_, events_, watchdog_, course_, operations_, departures_) {
}

// ---- Submissions

// Giving back is never refused, for want of room or as the client has been shut down: the hold was
// lost then. Blocking calls have room: each has a thread of its own.
Status Engine::admit(std::int64_t tag, PendingKind kind) const {
  if (closing_ && kind != PendingKind::kRelease) {
    return {BELAY_CLOSED, "the client has been shut down"};
  }
  if (ledger_.pendings.contains(tag)) {
    return {BELAY_TAG_IN_USE, "tag " + std::to_string(tag) + " belongs to a pending submission"};
  }
  const std::size_t count = ledger_.submissions + events_.undelivered();
  const bool full = static_cast<std::int64_t>(count) >= ledger_.config.max_pending;
  if (full && Ledger::is_submission(tag) && kind != PendingKind::kRelease) {
    return {BELAY_TOO_MANY_PENDING,
            "submissions that are pending or whose events nobody has taken: " +
                std::to_string(count) + ", the limit of this client"};
  }
  return {};
}

Status Engine::acquire(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now) {
  const Entry entry(*this, now);
  if (Status status = admit(tag, PendingKind::kAcquire); !status.ok()) {
    return status;
  }
  if (request.names.size() > 1) {
    bundles_.acquire(tag, request, wait);
  } else if (request.primitive->waits_only()) {
    barrier_.acquire(tag, request, wait);
  } else {
    course_.place(course_.add_acquire(tag, request, wait));
  }
  return {};
}

Status Engine::release(std::int64_t tag, std::int64_t id, Micros now) {
  const Entry entry(*this, now);
  if (Status status = admit(tag, PendingKind::kRelease); !status.ok()) {
    return status;
  }
  if (Bundle* bundle = ledger_.held_bundle(id); bundle != nullptr) {
    bundles_.release(tag, *bundle);
    return {};
  }
  if (ledger_.known_hold(id) == nullptr) {
    return unknown_hold(id);
  }
  const std::unique_ptr<Hold> hold = ledger_.take_hold(id);
  Pending& pending = ledger_.add_pending(tag, PendingKind::kRelease);
  pending.hold = id;
  if (hold->claim == nullptr) {
    outcomes_.complete(pending, hold->loss);
    return {};
  }
  pending.held_since = hold->since;
  course_.drop_hold(*hold, &pending);
  return {};
}

Status Engine::release_nowait(std::int64_t id, Micros now) {
  const Entry entry(*this, now);
  Status loss;
  if (Bundle* bundle = ledger_.held_bundle(id); bundle != nullptr) {
    loss = bundles_.let_go(*bundle);
  } else if (ledger_.known_hold(id) == nullptr) {
    return unknown_hold(id);
  } else {
    const std::unique_ptr<Hold> hold = ledger_.take_hold(id);
    loss = hold->loss;
    if (hold->claim != nullptr) {
      outcomes_.count_release(hold->since, now);
      course_.drop_hold(*hold, nullptr);
    }
  }
  return loss;
}

Status Engine::extend(std::int64_t tag, std::int64_t hold, Micros lease, Micros now) {
  return ask_about(tag, hold, PendingKind::kExtend, lease, now);
}

Status Engine::verify(std::int64_t tag, std::int64_t hold, Micros now) {
  return ask_about(tag, hold, PendingKind::kVerify, 0, now);
}

Status Engine::ask_about(std::int64_t tag, std::int64_t id, PendingKind kind, Micros lease,
                         Micros now) {
  const Entry entry(*this, now);
  if (Status status = admit(tag, kind); !status.ok()) {
    return status;
  }
  Bundle* const bundle = ledger_.held_bundle(id);
  Hold* const hold = ledger_.known_hold(id);
  if (bundle == nullptr && hold == nullptr) {
    return unknown_hold(id);
  }
  if (kind == PendingKind::kExtend && (bundle != nullptr ? bundle->lease : hold->lease) == 0) {
    return not_fixed(id);
  }
  if (bundle != nullptr) {
    bundles_.ask_about(tag, *bundle, kind, lease);
  } else {
    operations_.ask_about(tag, *hold, kind, lease);
  }
  return {};
}

Status Engine::downgrade(std::int64_t tag, std::int64_t id, const std::string& group, Micros now) {
  const Entry entry(*this, now);
  if (Status status = admit(tag, PendingKind::kDowngrade); !status.ok()) {
    return status;
  }
  if (ledger_.held_bundle(id) != nullptr) {
    return {BELAY_INVALID_ARGUMENT, "hold " + std::to_string(id) + " is of several names"};
  }
  Hold* const hold = ledger_.known_hold(id);
  return hold == nullptr ? unknown_hold(id) : operations_.downgrade(tag, *hold, group);
}

Status Engine::query(std::int64_t tag, std::unique_ptr<Query> query, Micros now) {
  const Entry entry(*this, now);
  if (Status status = admit(tag, PendingKind::kQuery); !status.ok()) {
    return status;
  }
  operations_.query(tag, std::move(query));
  return {};
}

Status Engine::cancel(std::int64_t tag, Micros now) {
  const Entry entry(*this, now);
  const Pending* const pending = ledger_.pending(tag);
  if (pending == nullptr) {
    return {BELAY_UNKNOWN_TAG, "tag " + std::to_string(tag) + " belongs to no pending submission"};
  }
  std::vector<std::int64_t> parts = pending->parts;  // the lead ends with the last of them
  if (parts.empty()) {
    parts.push_back(tag);
  }
  const bool comes_too_late = std::any_of(parts.begin(), parts.end(), [this](std::int64_t part) {
    return !operations_.take_back(*ledger_.pending(part));
  });
  for (std::size_t i = 0; i < parts.size() && !comes_too_late; ++i) {
    Pending& part = *ledger_.pending(parts[i]);
    end(part, cancelled(part));
  }
  return {};
}

// The hold lives on without a name until its time is up, so that this client's next claim does not
// take it for freed.
Status Engine::abandon(std::int64_t id, Micros now) {
  const Entry entry(*this, now);
  if (Bundle* bundle = ledger_.held_bundle(id); bundle != nullptr) {
    bundles_.abandon(*bundle);
  } else if (ledger_.known_hold(id) == nullptr) {
    return unknown_hold(id);
  } else {
    course_.abandon(ledger_.take_hold(id));
  }
  return {};
}

Status Engine::shutdown(Micros now) {
  const Entry entry(*this, now);
  if (closing_) {
    return {BELAY_CLOSED, "the client has been shut down"};
  }
  closing_ = true;
  departures_.begin_closing();
  close_by_ = now + kCloseBound;
  end_everything();
  return {};
}

void Engine::end_everything() {
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : ledger_.pendings) {
    if (pending->kind != PendingKind::kRelease) {
      tags.push_back(tag);
    }
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    outcomes_.complete(*ledger_.pendings.at(tag), Status(BELAY_CLOSED, "the client was shut down"));
  }
  std::vector<Claim*> claims;
  for (const auto& [name, claim] : ledger_.claims) {
    claims.push_back(claim.get());
  }
  for (Claim* claim : claims) {
    course_.close(*claim);
  }
  bundles_.take_steps();
  ledger_.abandoned.clear();
}

Engine::HoldView Engine::look(std::int64_t id, Micros now) {
  const Entry entry(*this, now);
  if (const Bundle* bundle = ledger_.held_bundle(id); bundle != nullptr) {
    const std::int32_t held = bundle->at_risk ? BELAY_HOLD_AT_RISK : BELAY_HOLD_HELD;
    return {bundle->loss.ok() ? held : BELAY_HOLD_LOST, bundles_.remaining_of(*bundle),
            bundle->fences().front(), bundle->fences()};
  }
  const Hold* const found = ledger_.known_hold(id);
  if (found == nullptr) {
    return {};
  }
  const Hold& hold = *found;
  if (hold.claim == nullptr) {
    return {BELAY_HOLD_LOST, 0, hold.fence, {}};
  }
  return {hold.at_risk ? BELAY_HOLD_AT_RISK : BELAY_HOLD_HELD,
          hold.claim->certain_until(hold) - now,
          hold.fence,
          {}};
}

std::vector<std::int64_t> Engine::holds_of(std::int64_t owner, std::string_view name, Micros now) {
  const Entry entry(*this, now);
  std::vector<std::int64_t> ids;
  const Claim* const claim = ledger_.find_claim(Kind::kLock, name);
  if (claim == nullptr) {
    return ids;
  }
  for (const Hold* hold : claim->holds) {
    if (hold->owner == owner && ledger_.told_of(*hold) && !hold->abandoned) {
      ids.push_back(hold->known_as());
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// ---- Time

// Also takes up what earlier entries have left, a bounded part of it.
void Engine::on_timer(Micros now) {
  const Entry entry(*this, now);
  flush_checks();
  flush_renewals();
}

void Engine::advance() {
  for (Timer* timer = ledger_.timers.first(); timer != nullptr && timer->at <= now_;
       timer = ledger_.timers.first()) {
    if (timer->claim != nullptr) {
      Claim& claim = *timer->claim;
      course_.on_due(claim);
      course_.reconcile(claim);
    } else {
      on_pending_due(*timer->pending);
    }
  }
  bundles_.take_steps();
}

void Engine::flush_renewals() {
  for (Claim* claim : watchdog_.flush()) {
    course_.reconcile(*claim);
  }
}

void Engine::finish(bool leaves_renewals) {
  if (ledger_.checks_due.size() <= kMostChecks) {
    flush_checks();
  }
  do {
    bundles_.take_steps();
    bundles_.send_asks();
    if (watchdog_.due() && !watchdog_.overfull() && !leaves_renewals) {
      flush_renewals();
    }
  } while (bundles_.due());
  if (close_by_ == kNever) {
    return;
  }
  if (now_ >= close_by_) {
    time_out_all();
  } else if (!ledger_.claims.empty() || !ledger_.pendings.empty()) {
    return;
  }
  close_by_ = kNever;
  events_.on_event(ended(BELAY_EVENT_END, 0, {}));
}

// Parts first, whose tags are the lowest: what leads them ends with them.
void Engine::time_out_all() {
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : ledger_.pendings) {
    tags.push_back(tag);
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    if (Pending* const pending = ledger_.pending(tag); pending != nullptr) {
      time_out(*pending);
      bundles_.take_steps();
    }
  }
}

void Engine::on_pending_due(Pending& pending) {
  if (pending.is_lead()) {
    bundles_.on_lead_due(pending);
    return;
  }
  if (pending.is_operation() && now_ < pending.reach_by) {
    operations_.send(pending);
    ledger_.timers.set(pending.timer, pending.reach_by);
    return;
  }
  time_out(pending);
}

void Engine::time_out(Pending& pending) {
  Status status;
  if (pending.kind == PendingKind::kAcquire && pending.claim != nullptr) {
    status = course_.acquire_timeout(pending);
  } else if (pending.kind == PendingKind::kRelease) {
    status = course_.release_timeout(pending);
  } else {
    if (pending.kind == PendingKind::kDowngrade) {  // it rides on renewals
      pending.trouble = ledger_.hold(pending.hold)->claim->refusal;
    }
    const char* const what = pending.answered_in_part ? "only a part of the answer" : "no answer";
    status = pending.trouble.ok() ? outcomes_.unavailable(ledger_.node_for(pending), what,
                                                          pending.reach_by - pending.since)
                                  : pending.trouble;
  }
  end(pending, std::move(status));
}

void Engine::end(Pending& pending, Status status) {
  Claim* const claim = pending.claim;
  outcomes_.complete(pending, std::move(status));
  if (claim != nullptr) {
    course_.look_for_room(*claim);
    course_.reconcile(*claim);
  }
}

// Says so if the server was in the way, and not another holder.
Status Engine::cancelled(const Pending& pending) const {
  Status status(BELAY_CANCELLED);
  const std::optional<Micros> doubt = pending.is_lead()
                                          ? bundles_.doubt_of(*ledger_.bundle(pending.bundle))
                                          : course_.doubt_of(pending);
  if (doubt) {
    const Node& node = ledger_.node_for(pending);
    status.message = !node.trouble().ok() ? node.trouble().message
                     : pending.claim != nullptr && !pending.claim->refusal.ok()
                         ? pending.claim->refusal.message
                         : node.display() + ": no answer yet";
    status.in_doubt_until = *doubt;
  }
  return status;
}

// ---- Commands and what comes back

void Engine::on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) {
  const std::optional<Flight> flight = flights_.take(id);
  if (!flight) {
    return;
  }
  ledger_.metrics.round_trip.add(now - sent);
  const Entry entry(*this, now);
  Router& router = ledger_.router;
  if (reply.is_error()) {
    if (const auto moved = router.begin_reply(reply.text(), node, flight->detour, now)) {
      on_moved(SlotSet().set(*moved));
    }
  } else if (flight->is_outdated()) {
    router.begin_outdated_reply();
    reply = moved_reply();
    course_.on_outdated_ask(*flight);
  }
  dispatch(*flight, id, reply, sent);
  router.end_reply();
  for (const ClaimRef& ref : flight->refs) {
    // No message of its own server can be told to be newer than that answer.
    ref.claim->asking.answered_at =
        flight->detour ? ServerTime{kNever} : ref.claim->asking.answered_at;
  }
  if (flight->in_vain && !flights_.is_behind(node)) {
    ask_for_held_back(node);
  }
}

void Engine::dispatch(const Flight& flight, std::uint64_t id, Reply reply, Micros sent) {
  switch (flight.kind) {
    case FlightKind::kAcquire:
      course_.on_acquire_reply(flight, reply, sent);
      break;
    case FlightKind::kLeave:
      departures_.on_reply(flight, reply, sent);
      for (const ClaimRef& left : flight.refs) {
        course_.on_left(*left.claim);
      }
      break;
    case FlightKind::kRenew:
      for (const Verdict& verdict : watchdog_.on_reply(flight, reply, sent)) {
        course_.on_verdict(verdict);
        course_.reconcile(*verdict.claim);
      }
      break;
    case FlightKind::kWatch:
      watchdog_.on_watch_reply(flight, reply);
      break;
    case FlightKind::kQuery:
      if (Pending* const pending = ledger_.pending(flight.pending);
          pending != nullptr && pending->command == id) {
        operations_.on_reply(*pending, *flight.node, reply, sent);
      }
      break;
  }
}

void Engine::on_node_message(Node& node, std::string_view payload, Micros now) {
  ++ledger_.metrics.messages;
  const std::optional<Message> message = dialect_.read_message(payload);
  if (!message) {
    node.dropped_messages(1, now);
    return;
  }
  const bool is_break = message->kind == MessageKind::kBroken;
  const Entry entry(*this, now, [&] {
    Claim* const broken = is_break ? ledger_.standing_claim(*message) : nullptr;
    if (broken != nullptr) {
      broken->put_in_question(now);
      flights_.outdate(*broken, node);
    }
  });
  Claim* const claim = ledger_.standing_claim(*message);
  // Anybody may send on what another server has said. Its time is that of the name's own server:
  // only of a break, which tells no time, any is heard.
  const bool elsewhere = claim != nullptr && &claim->node() != &node;
  const bool is_believed =
      message->kind == MessageKind::kGrant || message->kind == MessageKind::kPassed;
  if (is_believed && !elsewhere && !node.echoes()) {
    node.saw_time(message->server_time, 0, now);
  }
  if (claim != nullptr && (is_break || !elsewhere)) {
    course_.on_message(*claim, node, *message);
    course_.reconcile(*claim);
  } else if (claim == nullptr && !course_.on_stray(dialect_.of(message->of), *message)) {
    node.dropped_messages(1, now);
  }
}

// Rule 13: leaves go before acquires and renewals.
void Engine::on_node_up(Node& node, Micros now) {
  ++ledger_.metrics.connections;
  const Entry entry(*this, now);
  for (const auto& [name, claim] : ledger_.claims) {
    if (&claim->node() == &node && node.is_another()) {
      claim->on_another_server();
    }
  }
  want_checks_of(node);
  operations_.send_all(node);
  on_clock(node);
}

// Whatever we have there is asked about anew, where it is now. What may still arrive at the other
// is feared as before: the slot may come back.
void Engine::on_moved(const SlotSet& slots) {
  const auto is_there = [&slots](const Claim& claim) { return slots[claim.resource.slot]; };
  std::erase_if(ledger_.held_back, [&is_there](Claim* claim) {  // for the clock of the other
    claim->check_due = claim->check_due && !is_there(*claim);
    return is_there(*claim);
  });
  for (const auto& [name, claim] : ledger_.claims) {
    if (is_there(*claim)) {
      claim->asking.answered_at = {kNever};
      claim->leave_range();
      static_cast<void>(claim->node());  // in use from now on
    }
  }
  want_checks(is_there);
  operations_.send_all(slots);
}

void Engine::on_node_slots(Node& node, const std::vector<SlotRange>& map, Micros now) {
  const Entry entry(*this, now);
  const SlotSet moved = ledger_.router.on_slots(map, node, now);
  if (moved.any()) {
    on_moved(moved);
  }
}

// Its answers say where the slot is by now.
void Engine::on_node_left(Node& node, std::uint16_t slot, Micros now) {
  const Entry entry(*this, now);
  want_checks([&node, slot](const Claim& claim) {
    return claim.resource.slot == slot && &claim.node() == &node;
  });
}

// The server is to be asked about these claims anew, of a bounded number in each entry: in the
// order in which they began, as a queue serves whoever asks first.
void Engine::want_checks(const std::function<bool(const Claim&)>& concerns) {
  std::vector<Claim*> wanted;
  for (const auto& [name, claim] : ledger_.claims) {
    if (concerns(*claim)) {
      claim->put_in_question(now_);
      if (!std::exchange(claim->check_due, true)) {
        wanted.push_back(claim.get());
      }
    }
  }
  std::sort(wanted.begin(), wanted.end(), [](const Claim* left, const Claim* right) {
    const bool leaves = !left->leaving.empty();
    return leaves != !right->leaving.empty() ? leaves : left->epoch < right->epoch;
  });
  const auto others = std::find_if(wanted.begin(), wanted.end(),
                                   [](const Claim* claim) { return claim->leaving.empty(); });
  ledger_.checks_due.insert(ledger_.checks_due.begin(), wanted.begin(), others);
  ledger_.checks_due.insert(ledger_.checks_due.end(), others, wanted.end());
}

void Engine::want_checks_of(const Node& node) {
  want_checks([&node](const Claim& claim) { return &claim.node() == &node; });
}

bool Engine::needs(const Node& node) const {
  const auto is_there = [&node](const auto& entry) { return &entry.second->node() == &node; };
  return flights_.has_any_of(node) ||
         std::any_of(ledger_.claims.begin(), ledger_.claims.end(), is_there) ||
         std::any_of(
             ledger_.pendings.begin(), ledger_.pendings.end(), [this, &node](const auto& entry) {
               return entry.second->is_operation() && &ledger_.node_for(*entry.second) == &node;
             });
}

SlotSet Engine::slots_in_use() const {
  SlotSet slots;
  for (const auto& [name, claim] : ledger_.claims) {
    slots.set(claim->resource.slot);
  }
  return slots;
}

void Engine::flush_checks() {
  for (std::size_t left = std::min(kMostChecks, ledger_.checks_due.size()); left > 0; --left) {
    Claim& claim = *ledger_.checks_due.front();
    ledger_.checks_due.pop_front();
    claim.check_due = false;
    if (claim.node().up()) {
      departures_.send_again(claim);
    }
    if (claim.state == ClaimState::kAsking) {
      course_.ask(claim);
    } else if (claim.state == ClaimState::kHeld) {
      watchdog_.want(claim);
    }
    course_.reconcile(claim);
  }
}

// Nothing is in flight there any more, and nothing is asked until there is a new connection.
void Engine::on_node_down(Node& node, Micros now) {
  const Entry entry(*this, now);
  std::vector<Claim*> claims;
  std::vector<PendingRef> operations;
  for (const auto& [id, flight] : flights_.take_all_of(node)) {
    give_up_on(id, flight, &claims);
    operations.push_back(flight.pending);
  }
  std::unordered_set<const Claim*> cut(claims.begin(), claims.end());
  // A slot has moved, and its own node knows nothing of what was cut here.
  want_checks(
      [&cut, &node](const Claim& claim) { return &claim.node() != &node && cut.contains(&claim); });
  for (Claim* claim : claims) {
    if (cut.erase(claim) > 0) {
      course_.reconcile(*claim);
    }
  }
  // From now on the connection is what is wrong.
  for (const auto& [name, claim] : ledger_.claims) {
    if (&claim->node() == &node) {
      claim->on_node_down();
    }
  }
  for (const auto& [tag, pending] : ledger_.pendings) {
    pending->trouble = &ledger_.node_for(*pending) == &node ? Status() : pending->trouble;
  }
  operations_.send_all(operations);  // where their slots are by now
  on_clock(node);
}

// No reply will come. Adds the claims that it was about.
void Engine::give_up_on(std::uint64_t id, const Flight& flight, std::vector<Claim*>* claims) {
  course_.on_cut(flight);
  const auto let_go = [claims](Claim* claim) {
    --claim->in_flight;
    claims->push_back(claim);
  };
  for (const ClaimRef& ref : flight.refs) {
    let_go(ref.claim);
  }
  for (const Renewed& renewed : flight.renewed) {
    let_go(renewed.claim);
  }
  Pending* const pending = ledger_.pending(flight.pending);
  if (pending != nullptr && pending->command == id && may_be_repeated(*pending)) {
    pending->command = 0;
  }
}

// Whoever waits is told at once.
void Engine::on_node_refused(Node& node, Micros now) {
  const Entry entry(*this, now);
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : ledger_.pendings) {
    if (&ledger_.node_for(*pending) == &node && (pending->waits || pending->is_operation())) {
      tags.push_back(tag);
    }
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    Pending& pending = *ledger_.pendings.at(tag);
    Claim* claim = pending.claim;
    outcomes_.complete(pending, node.trouble());
    if (claim != nullptr) {
      course_.reconcile(*claim);
    }
  }
}

void Engine::on_node_flushed(Node& node, Micros now) {
  const Entry entry(*this, now, [&] { want_checks_of(node); });
}

// It may have been deleted. A renewal that is out was executed after the change, and will tell.
// Else one goes out at the next entry, together with those of what else has changed.
void Engine::on_node_changed(Node& node, std::string_view key, Micros now) {
  Entry entry(*this, now, [&] {
    const std::optional<std::string> name = dialect_.name_of_key(key);
    Claim* const claim = ledger_.find_claim(Kind::kLock, name.value_or(""));
    if (claim != nullptr && &claim->node() == &node && claim->state == ClaimState::kHeld) {
      watchdog_.question(*claim);
      course_.reconcile(*claim);
    }
  });
  entry.leave_renewals();
}

// What waits for another node's clock goes on waiting.
void Engine::on_clock(const Node& node) {
  operations_.on_clock(node);
  ask_for_held_back(node);
}

void Engine::ask_for_held_back(const Node& node) {
  std::erase_if(ledger_.held_back, [this, &node](Claim* claim) {
    const bool ends = &claim->node() == &node;
    if (ends) {
      ledger_.checks_due.push_back(claim);
    }
    return ends;
  });
}

void Engine::on_node_clock(Node& node, Micros now) {
  const Entry entry(*this, now);
  on_clock(node);
}

}  // namespace belay
