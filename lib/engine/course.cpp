#include "engine/course.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/barrier.h"
#include "engine/bundles.h"
#include "engine/departures.h"
#include "route/server_error.h"

namespace belay {

namespace {

// How many round trips a lease must last: to be granted, renewed and, in time, given back.
constexpr Micros kLeastTrips = 4;
constexpr Micros kUsable = 200;                    // a deadline nearer than this is as good as past
constexpr Micros kRetryPause = 50 * kMillisecond;  // after an error that may pass

}  // namespace

// ---- Acquires come in

Pending& Course::add_acquire(std::int64_t tag, const AcquireRequest& request, Micros wait) {
  Pending& pending = ledger_.add_pending(tag, PendingKind::kAcquire);
  static_cast<AcquireTerms&>(pending) = static_cast<const AcquireTerms&>(request);
  if (request.want.generation != 0) {
    pending.name = request.name;
  } else {
    pending.claim = &ledger_.claim_for_acquire(*request.primitive, request.name);
  }
  pending.want = request.want;
  pending.is_try = wait == 0;
  pending.wait_until = after(ledger_.now, wait);
  return pending;
}

void Course::place(Pending& pending) {
  Claim& claim = *pending.claim;
  const Hold* const own = claim.own_hold(pending.owner);
  const bool vouched = claim.held.confirmed || !pending.confirmed;
  if (own != nullptr && vouched && (!claim.held.in_question || ledger_.told_of(*own))) {
    re_enter(claim, pending, *own);
  } else if (claim.waiting.empty() && claim.may_join(pending, ledger_.now)) {
    make_hold(claim, pending, claim.held.fence, kNever);
    watchdog_.plan(claim);
  } else if (pending.is_try && claim.state != ClaimState::kIdle && !claim.may_be_let_in(pending)) {
    outcomes_.complete(pending, Status(BELAY_BUSY));
  } else if (claim.node().refused()) {
    outcomes_.complete(pending, claim.node().trouble());
  } else {
    line_up(claim, pending);
  }
  reconcile(claim);
}

// By an owner who has the claim, under the fence of its other holds; of a claim that is shared, of
// those who share it: others of them may have had a newer one.
void Course::re_enter(Claim& claim, Pending& pending, const Hold& own) {
  if (claim.would_deadlock(pending.want)) {
    outcomes_.complete(
        pending, Status(BELAY_WOULD_DEADLOCK, "owner " + std::to_string(pending.owner) +
                                                  " shares '" + claim.resource.name +
                                                  "' and cannot wait for the others to leave"));
    return;
  }
  const std::int64_t fence = claim.shared() ? std::max(own.fence, claim.held.fence) : own.fence;
  make_hold(claim, pending, fence, kNever);
  watchdog_.plan(claim);
}

void Course::line_up(Claim& claim, Pending& pending) {
  pending.waits = true;
  pending.place = claim.waiting.insert(claim.waiting.end(), &pending);
  pending.reach_by = timing_.reach_by(claim.node(), pending);
  pending.reached =
      !pending.is_try && (claim.state == ClaimState::kHeld ||
                          (claim.state == ClaimState::kAsking && claim.asking.ticket != 0));
  ledger_.timers.set(pending.timer, pending.reached ? pending.wait_until : pending.reach_by);
  look_for_room(claim);
  confirm_for_those_who_wait(claim);
}

void Course::reconcile(Claim& claim) {
  assert(ledger_.stands(claim));
  if (claim.state != ClaimState::kIdle && claim.waiting.empty() && claim.holds.empty()) {
    end(claim, claim.state == ClaimState::kHeld || claim.asking.begun, {});
  } else if (claim.is_for_next() && !claim.waiting.front()->want.suits(claim.want)) {
    end(claim, claim.asking.begun, {});
  }
  if (claim.state == ClaimState::kIdle && !claim.waiting.empty()) {
    start(claim);
  }
  const bool idle = claim.state == ClaimState::kIdle && claim.leaving.empty() &&
                    claim.in_flight == 0 && !claim.renew_due && !claim.ask_due && !claim.check_due;
  if (idle) {
    ledger_.retire(claim);
  } else {
    ledger_.timers.set(claim.timer, claim.next_due());
  }
}

// ---- Asking

void Course::start(Claim& claim) {
  ledger_.epochs.erase(claim.epoch);
  claim.begin(++ledger_.last_epoch, ledger_.now + Timing::kFallbackPoll);
  ledger_.epochs.emplace(claim.epoch, &claim);
  ask(claim);
}

// Whether the claim's server is near enough for a hold with such a lease, and for those who wait:
// for whom it is not are told, as their holds would end before they are renewed.
bool Course::refuse_distant_waiters(Claim& claim, Micros lease) {
  const Micros trip = claim.node().distance();
  const bool answers_in_time = 2 * trip <= timing_.request_timeout();
  const Micros least = answers_in_time ? kLeastTrips * trip : kNever;
  if (least <= kMinLease || claim.primitive->waits_only()) {
    return true;
  }
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (timing_.lease_for(*pending) >= least) {
      continue;
    }
    const std::string why =
        answers_in_time ? std::to_string(kLeastTrips) + " of them are more than the lease of " +
                              std::to_string(to_ms(timing_.lease_for(*pending))) + " ms"
                        : "more than half the request timeout of " +
                              std::to_string(to_ms(timing_.request_timeout())) + " ms";
    outcomes_.complete(*pending, Status(BELAY_UNAVAILABLE,
                                        "a round trip to " + claim.node().display() + " takes " +
                                            std::to_string(to_ms(trip)) + " ms: " + why));
  }
  // Whoever is next now may want something else than the claim is for.
  return lease >= least && !claim.waiting.empty() && claim.waiting.front()->want.suits(claim.want);
}

void Course::ask(Claim& claim) {
  Node& node = claim.node();
  if (!node.up() || claim.asking.out || claim.waiting.empty()) {
    return;
  }
  claim.asking.again_at = kNever;
  if (claim.loss_is_untold()) {
    return;
  }
  const bool has_clock = node.clock().known(ledger_.now);  // rule 3
  if (!has_clock) {
    node.refresh_clock(ledger_.now);
  }
  if (!has_clock || flights_.is_behind(node)) {
    if (!std::exchange(claim.check_due, true)) {
      ledger_.held_back.push_back(&claim);
    }
    return;
  }
  if (claim.waiting.front()->together) {
    bundles_.ask_with_others(claim);
    return;
  }
  send_ask({&claim});
}

void Course::send_ask(const std::vector<Claim*>& claims) {
  const Claim& first = *claims.front();
  Flight flight;
  flight.kind = FlightKind::kAcquire;
  std::vector<AcquirePart> parts;
  parts.reserve(claims.size());
  for (Claim* claim : claims) {
    parts.push_back({&claim->resource, begin_ask(*claim)});
    flight.refs.push_back({claim, claim->epoch, parts.back().args.lease});
    flight.not_after = parts.back().args.not_after;
  }
  const Command command = parts.size() > 1
                              ? dialect_.acquire_all(parts)
                              : first.primitive->acquire(first.resource, parts.front().args);
  flights_.send(first.node(), command, std::move(flight), ledger_.now);
}

// What the claim's next owner asks for; it goes out now.
AcquireArgs Course::begin_ask(Claim& claim) {
  const Node& node = claim.node();
  const Pending& head = *claim.waiting.front();
  AcquireArgs args;
  args.want = claim.want;
  args.epoch = claim.epoch;
  args.lease = timing_.lease_for(head);
  args.not_after = timing_.not_after(node);
  args.grant_lease = timing_.grant_lease(node, args.lease);
  args.ticket = claim.asking.ticket;
  args.highest_fence = ledger_.highest_fence_of(claim.resource.slot);
  args.generation = claim.asking.generation;
  args.queue = !head.is_try;
  args.first = !claim.asking.begun;
  args.local_waiters = claim.waiting.size() - 1;
  claim.asking.before = static_cast<const Traces&>(claim.asking);
  claim.asking.begun = true;
  for (Leaving& leaving : claim.leaving) {
    leaving.overtaken = true;
  }
  claim.asking.out = true;
  claim.asking.may_be_queued = claim.asking.may_be_queued || args.queue;
  if (claim.primitive->waits_only()) {
    claim.asking.asked_to = ledger_.last_order;
  } else {
    claim.asking.expires_by = Timing::lapses_by(node, args.not_after, args.lease);
  }
  return args;
}

void Course::on_acquire_reply(const Flight& flight, Reply reply, Micros sent) {
  std::optional<std::vector<AcquireAnswer>> answers;
  if (flight.refs.size() > 1) {
    answers = dialect_.read_acquire_all(reply, flight.refs.size());
  } else if (const auto answer = flight.refs.front().claim->primitive->read_acquire(reply)) {
    answers = {*answer};
  }
  for (std::size_t i = 0; i < flight.refs.size(); ++i) {
    const ClaimRef& asked = flight.refs[i];
    Claim& claim = *asked.claim;
    --claim.in_flight;
    const bool current = claim.epoch == asked.epoch && claim.state != ClaimState::kIdle;
    if (current) {
      claim.asking.out = false;
    }
    if (answers) {
      on_acquire_answer(asked, *flight.node, (*answers)[i], sent);
    } else if (current && claim.state == ClaimState::kAsking) {
      on_acquire_error(claim, *flight.node, error_words(reply));
    } else if (!current) {
      Departures::on_ask_refused(claim, asked.epoch, reply);
    }
    reconcile(claim);
  }
}

void Course::on_acquire_answer(const ClaimRef& asked, Node& node, const AcquireAnswer& answer,
                               Micros sent) {
  Claim& claim = *asked.claim;
  node.saw_time(answer.server_time, sent, ledger_.now);
  ledger_.saw_fence(claim.resource.slot, std::max(answer.highest_fence, answer.last_fence));
  const bool current = claim.epoch == asked.epoch && claim.state != ClaimState::kIdle;
  if (current) {
    claim.asking.expires_by = 0;
  }
  if (answer.code == AcquireCode::kGranted) {
    // Rule 8: the lease counts from when it was asked for.
    on_grant(claim, {asked.epoch, answer.fence, answer.last_fence, answer.permits,
                     sent + asked.lease - lease_margin(asked.lease), asked.lease, true,
                     answer.others_wait, answer.server_time});
    return;
  }
  if (!current && answer.handed > 0) {
    departures_.on_ask_handed_on(claim, asked.epoch, answer.handed);
  }
  if (!current || claim.state != ClaimState::kAsking) {
    return;
  }
  // Where an ask that was cut off has queued the claim, these leave it its place.
  claim.asking.maybe_on_server =
      claim.asking.maybe_on_server &&
      (answer.code == AcquireCode::kBusy || answer.code == AcquireCode::kLimit ||
       answer.code == AcquireCode::kMissing);
  claim.refusal = Status();
  claim.asking.free_by = answer.remaining > 0 ? after(ledger_.now, answer.remaining) : 0;
  switch (answer.code) {
    case AcquireCode::kQueued:
      on_queued(claim, answer);
      break;
    case AcquireCode::kBusy:
      on_busy(claim);
      break;
    case AcquireCode::kStale:
      end(claim, false, {});
      break;
    case AcquireCode::kPassed:
      barrier_.let_pass(claim, answer.generation);
      break;
    case AcquireCode::kMissing:
      refuse(claim, claim.primitive->missing(claim.resource.name));
      break;
    case AcquireCode::kLimit:
      refuse(claim, Status(BELAY_LIMIT_DIFFERS, "the limit of '" + claim.resource.name + "' is " +
                                                    std::to_string(answer.limit)));
      break;
    default:  // late, or more to do
      ask(claim);
      break;
  }
}

// An error, or a reply that is none of the script's.
void Course::on_acquire_error(Claim& claim, const Node& from, std::string_view words) {
  const ServerError error = ledger_.router.judge(words);
  claim.refusal = {error.status, from.display() + " refused to acquire '" + claim.resource.name +
                                     "': " + from.explained(words)};
  if (error.remedy != Remedy::kGiveUp) {
    static_cast<Traces&>(claim.asking) = claim.asking.before;
  }
  if (error.remedy == Remedy::kWait) {
    const std::string for_now = error.moving
                                    ? " does not grant '" + claim.resource.name + "' for now: "
                                    : std::string(" takes no locks for now: ");
    ledger_.router.on_refusal(from.display() + for_now + from.explained(words), error.moving,
                              ledger_.now);
  }
  if (error.remedy == Remedy::kAskAgain) {
    ask(claim);
    return;
  }
  if (error.remedy != Remedy::kGiveUp) {
    claim.asking.again_at = ledger_.now + kRetryPause;
    claim.asking.poll_at = claim.asking.again_at;
    return;
  }
  Status status = claim.refusal;
  if (error.halfway) {
    claim.asking.maybe_on_server = true;
    status.in_doubt_until = claim.asking.expires_by;
  }
  refuse(claim, status);
}

// The server will not grant it. An error before anything was queued or lost has changed nothing
// there, but where a script had begun.
void Course::refuse(Claim& claim, const Status& status) {
  const bool maybe_on_server = claim.asking.ticket != 0 || claim.asking.maybe_on_server;
  for (Pending* pending : claim.concerned(claim.asking.generation)) {
    outcomes_.complete(*pending, status);
  }
  end(claim, maybe_on_server, {});
}

void Course::on_busy(Claim& claim) {
  claim.asking.known_to = claim.asking.asked_to;
  if (claim.primitive->waits_only()) {
    end_tries(claim);
  } else if (!claim.waiting.empty() && claim.waiting.front()->is_try) {
    outcomes_.complete(*claim.waiting.front(), Status(BELAY_BUSY));
  }
  if (claim.waiting.empty()) {
    end(claim, claim.asking.maybe_on_server || claim.asking.suspect_until.any(), {});
  } else {
    mark_reached(claim);
    ask(claim);
  }
}

void Course::mark_reached(Claim& claim) {
  for (Pending* pending : claim.waiting) {
    if (!pending->reached && !pending->is_try) {
      pending->reached = true;
      ledger_.timers.set(pending->timer, pending->wait_until);
    }
  }
}

// Rule 18: only the next in line looks when the lease ends; where nobody is in line, all do.
void Course::on_queued(Claim& claim, const AcquireAnswer& answer) {
  claim.asking.answered_at = answer.server_time;
  claim.asking.ticket = answer.ticket;
  claim.asking.generation = answer.generation;
  claim.asking.known_to = claim.asking.asked_to;
  barrier_.send_off_others(claim, answer.generation);
  end_tries(claim);
  static_cast<void>(refuse_distant_waiters(claim, kMaxLease));
  mark_reached(claim);
  claim.asking.poll_at = ledger_.now + timing_.fallback_poll(answer.position);
  claim.asking.again_at = std::min(
      claim.asking.poll_at, after(ledger_.now + kLookAfter, std::max<Micros>(0, answer.look_in)));
  claim.asking.told_to_look = answer.handed > 0;
  if (answer.handed > 0) {
    claim.asking.again_at =
        std::min(claim.asking.again_at, ledger_.now + drifted(answer.handed) + kLookAfter);
  }
  if (!claim.waiting.empty() && claim.waiting.back()->order > claim.asking.known_to) {
    ask(claim);
  }
}

// ---- Holding

void Course::on_grant(Claim& claim, const Grant& grant) {
  if (claim.state == ClaimState::kIdle || claim.epoch != grant.epoch) {
    Leaving leaving;  // rules 11, 12
    leaving.epoch = grant.epoch;
    leaving.expires_by = ledger_.now + drifted(grant.lease);
    departures_.leave(claim, leaving);
    return;
  }
  if (claim.state == ClaimState::kHeld) {
    on_grant_of_held(claim, grant);
    return;
  }
  const Micros usable = grant.confirmed ? kUsable : grant.lease / 8;
  const bool near = refuse_distant_waiters(claim, grant.confirmed ? grant.lease : kMaxLease);
  if (grant.deadline <= ledger_.now + usable || !near) {  // rule 4
    claim.asking.maybe_on_server = true;
    claim.asking.may_be_queued = claim.asking.may_be_queued && claim.asking.out;
    claim.asking.expires_by = std::max(
        {ledger_.now + drifted(grant.lease), claim.asking.cut_until, claim.asking.expires_by});
    claim.asking.before = {true, false, claim.asking.expires_by};
    ask(claim);
    return;
  }
  ledger_.metrics.handoffs_by_message += grant.confirmed ? 0 : 1;
  claim.take(grant, ledger_.now);
  mark_reached(claim);
  if (!claim.held.awaits_reply) {
    deliver(claim, grant.fence, grant.confirmed ? grant.deadline : kNever);
  }
  confirm_for_those_who_wait(claim);
}

// Not only when the confirmation would be due.
void Course::confirm_for_those_who_wait(Claim& claim) {
  if (claim.state == ClaimState::kHeld && !claim.held.confirmed &&
      std::any_of(claim.waiting.begin(), claim.waiting.end(),
                  [](const Pending* pending) { return pending->confirmed; })) {
    watchdog_.want(claim);
  }
}

void Course::on_grant_of_held(Claim& claim, const Grant& grant) {
  if (claim.held.fence == grant.fence && grant.confirmed) {
    claim.sits({grant.since, claim.want.lock_delay, grant.permits}, grant.lease, ledger_.now);
    on_still_ours(claim, grant.deadline, grant.lease);
  } else if (grant.confirmed) {
    lose(claim, BELAY_REASON_GONE, "the server granted it anew");
  } else if (claim.held.fence != grant.fence) {
    watchdog_.question(claim);
  }
}

// What the server has said of a claim that is held.
void Course::on_verdict(const Verdict& verdict) {
  Claim& claim = *verdict.claim;
  if (verdict.kind == Verdict::Kind::kLost) {
    lose(claim, verdict.reason, verdict.why);
  }
  if (verdict.kind == Verdict::Kind::kOursAlone) {
    stay_alone(claim);
  }
  if (verdict.kind != Verdict::Kind::kOurs) {
    return;
  }
  if (!verdict.group.empty()) {
    become_shared(claim, verdict.group);
  }
  on_still_ours(claim, verdict.deadline, verdict.lease);
  if (claim.holds.empty() && !claim.waiting.empty() && !claim.held.awaits_reply) {
    if (claim.may_hand_locally(ledger_.now)) {
      pass_on(claim);
    } else {
      end(claim, true, {});
    }
  }
}

void Course::on_still_ours(Claim& claim, Micros deadline, Micros lease) {
  const bool was_open = claim.held.in_question || !claim.held.confirmed;
  watchdog_.extend_deadline(claim, deadline, lease);
  if (claim.held.awaits_reply && ledger_.now >= claim.held.deadline - claim.held.lease / 3) {
    if (refuse_distant_waiters(claim, claim.held.lease)) {
      watchdog_.want(claim);  // the answer took too long: whoever got it now would be at risk
    }
    return;
  }
  if (std::exchange(claim.held.awaits_reply, false)) {
    deliver(claim, claim.held.fence, kNever);
  }
  if (was_open) {
    end_question(claim);
  }
  let_join(claim);
  watchdog_.plan(claim);
}

// It is ours. Whoever waited for that: several names of which it is one, and their owner.
void Course::end_question(Claim& claim) {
  for (const Hold* hold : claim.holds) {
    if (Bundle* const bundle = ledger_.bundle(hold->bundle); bundle != nullptr) {
      ledger_.want_step(*bundle);
    }
  }
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (const Hold* const own = claim.own_hold(pending->owner); own != nullptr) {
      re_enter(claim, *pending, *own);
    }
  }
}

// Gives the claim to the next local owner, and to whoever else waits in that owner's name. That
// owner's fixed lease ends at `fixed_end` at the latest.
void Course::deliver(Claim& claim, std::int64_t fence, Micros fixed_end) {
  claim.held.next_fence = fence + 1;
  const std::int64_t owner = claim.waiting.front()->owner;
  Pending& head = *claim.waiting.front();
  const auto is_ready = [&claim](const Pending& pending) {
    return claim.held.confirmed || !pending.confirmed;
  };
  make_hold(claim, head, fence, fixed_end);
  if (owner != 0) {
    std::vector<Pending*> same;
    std::copy_if(claim.waiting.begin(), claim.waiting.end(), std::back_inserter(same),
                 [&claim, owner, is_ready](const Pending* pending) {
                   return pending->owner == owner && is_ready(*pending) &&
                          (!claim.shared() || pending->want.suits(claim.want));
                 });
    for (Pending* pending : same) {
      make_hold(claim, *pending, fence, kNever);
    }
  }
  while (claim.shared() && !claim.waiting.empty() && is_ready(*claim.waiting.front()) &&
         claim.waiting.front()->want.suits(claim.want)) {
    make_hold(claim, *claim.waiting.front(), fence, kNever);
  }
  end_tries_in_vain(claim);
  watchdog_.plan(claim);
}

// Of those who wait: a try that has waited for what its owner had, which is gone.
void Course::end_tries_in_vain(Claim& claim) {
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (pending->is_try && !claim.may_be_let_in(*pending)) {
      outcomes_.complete(*pending, Status(BELAY_BUSY));
    }
  }
}

// Whoever is first in line may be content to join: the server must say that nobody else waits.
void Course::look_for_room(Claim& claim) {
  if (!claim.waiting.empty() && claim.wants_to_join(*claim.waiting.front())) {
    watchdog_.want(claim);
  }
  watchdog_.plan(claim);
}

// The server has just said whether anybody else waits.
void Course::let_join(Claim& claim) {
  while (!claim.waiting.empty() && claim.may_join(*claim.waiting.front(), ledger_.now)) {
    make_hold(claim, *claim.waiting.front(), claim.held.fence, kNever);
  }
  if (claim.shared()) {
    end_tries(claim);
  }
}

// Of those who wait, the tries have their answer.
void Course::end_tries(Claim& claim) {
  for (Pending* pending : claim.concerned(claim.asking.generation)) {
    if (pending->is_try) {
      outcomes_.complete(*pending, Status(BELAY_BUSY));
    }
  }
}

// The server knows by now that those who hold the claim share it with `group`.
void Course::become_shared(Claim& claim, const std::string& group) {
  claim.want.group = group;
  claim.held.fence = claim.held.next_fence - 1;
  claim.held.share_with.clear();
  end_downgrades(claim, Status());
}

// The server will not have it shared. What is held goes on, and is renewed without that.
void Course::stay_alone(Claim& claim) {
  claim.held.share_with.clear();
  claim.held.stays_alone = true;
  end_downgrades(claim, claim.refusal);
}

void Course::end_downgrades(Claim& claim, const Status& status) {
  for (Hold* hold : claim.holds) {
    for (const std::int64_t asked : std::vector<std::int64_t>(hold->asked)) {
      Pending& pending = *ledger_.pendings.at(asked);
      if (pending.kind == PendingKind::kDowngrade) {
        hold->group = status.ok() ? hold->group : "";
        Event event = outcomes_.outcome(pending, status);
        event.fence = hold->fence;
        outcomes_.complete(pending, std::move(event));
      }
    }
  }
}

// A fixed lease counts from now, but ends at `fixed_end` at the latest.
void Course::make_hold(Claim& claim, Pending& pending, std::int64_t fence, Micros fixed_end) {
  auto owned = std::make_unique<Hold>();
  Hold& hold = *owned;
  static_cast<AcquireTerms&>(hold) = static_cast<const AcquireTerms&>(pending);
  hold.id = ++ledger_.last_hold;
  hold.claim = &claim;
  hold.since = ledger_.now;
  hold.group = pending.want.group;
  hold.fence = fence;
  hold.ends_at =
      pending.lease > 0 ? std::min(fixed_end, after(ledger_.now, pending.lease)) : kNever;
  if (pending.max_hold > 0 && pending.lease == 0) {
    timing_.limit(hold, pending.max_hold);
  }
  hold.bundle = pending.bundle;
  hold.re_entered = claim.own_hold(pending.owner) != nullptr;
  claim.holds.push_back(&hold);
  if (hold.re_entered) {  // also if it is released before the server has heard of that
    watchdog_.keep_until(hold, hold.watched()
                                   ? std::min(ledger_.now + timing_.watchdog_lease(), hold.max_end)
                                   : hold.ends_at);
  }
  ledger_.holds.emplace(hold.id, std::move(owned));
  pending.hold = hold.id;
  Event event = outcomes_.outcome(pending, Status());
  event.fence = fence;
  event.permits = claim.held.permits;
  event.remaining = claim.certain_until(hold) - ledger_.now;
  outcomes_.complete(pending, std::move(event));
}

// Rule 21: without a reserved fence the next owner waits for the answer that brings more.
void Course::pass_on(Claim& claim) {
  if (claim.held.next_fence > claim.held.last_fence) {
    watchdog_.want(claim);
    return;
  }
  ++claim.held.handoffs;
  ++ledger_.metrics.handoffs_local;
  deliver(claim, claim.held.next_fence, kNever);
}

// ---- Leaving and loss

// Takes a hold out of its claim, which goes to the next owner or back to the server. `release`,
// unless null, completes when that is done.
void Course::drop_hold(Hold& hold, Pending* release) {
  Claim& claim = *hold.claim;
  std::erase(claim.holds, &hold);
  for (const std::int64_t asked : std::exchange(hold.asked, {})) {
    outcomes_.complete(*ledger_.pendings.at(asked),
                       Status(BELAY_UNKNOWN_HOLD, "the hold was released meanwhile"));
  }
  const bool stays = !claim.holds.empty();
  const bool handed = !stays && claim.may_hand_locally(ledger_.now);
  PendingRef waiting;
  if (release != nullptr && (stays || handed)) {
    outcomes_.complete(*release, Status());
  } else if (release != nullptr) {
    waiting = release->ref();
    release->claim = &claim;
    // A grant that was not confirmed ends soon: no reason to give up on the answer.
    if (claim.held.confirmed) {
      ledger_.timers.set(release->timer, std::min(release->reach_by, claim.held.deadline));
    }
  }
  if (stays) {
    share_what_is_left(claim);
    watchdog_.plan(claim);
  } else if (handed) {
    pass_on(claim);
  } else {
    end(claim, true, waiting);
  }
  reconcile(claim);
}

// Those who are left may be content to share it: after the lock-delay of one that was lost.
void Course::share_what_is_left(Claim& claim) {
  Held& held = claim.held;
  const bool content = !claim.shared() && held.share_with.empty() && !held.stays_alone &&
                       !claim.shared_by_all().empty();
  held.share_at = content && held.delay_until > ledger_.now ? held.delay_until : kNever;
  if (!content || held.share_at != kNever) {
    return;
  }
  held.next_fence += std::exchange(held.lost_alone, false) ? 1 : 0;
  held.share_with = claim.shared_by_all();
  watchdog_.want(claim);
}

void Course::abandon(std::unique_ptr<Hold> hold) {
  Claim* claim = hold->claim;
  if (claim == nullptr) {
    return;
  }
  hold->abandoned = true;
  hold->owner = 0;
  hold->re_entered = false;
  hold->ends_at = std::min(hold->ends_at, timing_.own_end(*claim));
  for (const std::int64_t asked : std::exchange(hold->asked, {})) {
    outcomes_.complete(*ledger_.pendings.at(asked),
                       Status(BELAY_UNKNOWN_HOLD, "the hold was abandoned meanwhile"));
  }
  const std::int64_t id = hold->id;
  ledger_.abandoned.emplace(id, std::move(hold));
  reconcile(*claim);
}

// Whoever holds it learns that it is lost before the server is told to free it.
void Course::close(Claim& claim) {
  departures_.stop_looking_after(claim);
  if (claim.state == ClaimState::kHeld) {
    bool abandoned = false;
    for (Hold* hold : std::exchange(claim.holds, {})) {
      if (hold->abandoned) {
        abandoned = true;
      } else {
        declare_lost(*hold, BELAY_REASON_CLOSED, "the client was shut down");
      }
    }
    end(claim, !abandoned, {});
  }
  reconcile(claim);
}

void Course::end(Claim& claim, bool leaves, const PendingRef& release) {
  Leaving leaving = claim.end(ledger_.now);
  if (!claim.primitive->claim_per_request()) {
    ledger_.epochs.erase(claim.epoch);
  }
  if (leaves || leaving.sweep_until.any()) {
    leaving.release = release;
    departures_.leave(claim, leaving);
  }
}

// The server has answered a leave. What has waited until it has heard of a loss is asked for.
void Course::on_left(Claim& claim) {
  if (claim.state == ClaimState::kAsking && claim.asking.again_at == kNever) {
    ask(claim);
  }
  reconcile(claim);
}

// The grant that this client has passed on was taken up.
void Course::on_settled(Claim& claim, std::int64_t epoch) {
  std::erase_if(claim.leaving, [epoch](const Leaving& leaving) {
    return leaving.epoch == epoch && leaving.looks_after;
  });
  if (claim.state == ClaimState::kAsking && claim.epoch == epoch &&
      claim.asking.again_at != kNever) {
    claim.asking.again_at = std::min(claim.asking.poll_at, ledger_.now + timing_.fallback_poll(0));
    claim.asking.told_to_look = false;
  }
}

// It is out of its claim's list already.
void Course::declare_lost(Hold& hold, std::int32_t reason, const std::string& why) {
  hold.loss = Outcomes::lost(hold.known_as(), *std::exchange(hold.claim, nullptr), reason, why);
  if (hold.bundle == 0) {
    outcomes_.count_loss(hold.since, ledger_.now);
  }
  outcomes_.tell_of(hold, BELAY_EVENT_LOST, hold.loss);
  for (const std::int64_t asked : std::exchange(hold.asked, {})) {
    outcomes_.complete(*ledger_.pendings.at(asked), hold.loss);
  }
}

void Course::lose_hold(Hold& hold, std::int32_t reason, const std::string& why) {
  Claim& claim = *hold.claim;
  std::erase(claim.holds, &hold);
  claim.on_loss_of(hold, ledger_.now);
  if (hold.abandoned) {
    ledger_.retire_abandoned(hold);
  } else {
    declare_lost(hold, reason, why);
  }
}

void Course::lose(Claim& claim, std::int32_t reason, const std::string& why) {
  for (Hold* hold : std::vector<Hold*>(claim.holds)) {
    lose_hold(*hold, reason, why);
  }
  end(claim, true, {});
}

// ---- Messages

// About the epoch that stands. Grants and that a latch has passed are the server's word; anybody
// may have sent the others: they make us ask, or say when to.
void Course::on_message(Claim& claim, const Node& node, const Message& message) {
  if (message.kind == MessageKind::kSettled) {
    on_settled(claim, message.epoch);
  } else if (message.kind == MessageKind::kPassed) {
    barrier_.on_passed(claim, message);
  } else if (message.kind == MessageKind::kGrant) {
    const Micros lease = message.grant_lease;
    // Rule 4. Without a bound the message vouches for nothing, nor does one that the server has
    // answered after, or that another server may have sent: a deadline in the past makes us ask.
    const Asking& asking = claim.asking;
    const bool sound = !node.echoes() && node.clock().known(ledger_.now) &&
                       message.server_time >= asking.answered_at &&
                       message.server_time > asking.doubted_at;
    const Micros deadline =
        sound ? node.clock().not_before(message.server_time + lease, ledger_.now) -
                    lease_margin(lease)
              : 0;
    on_grant(claim, {message.epoch, message.fence, message.last_fence, claim.want.permits, deadline,
                     lease, false, message.others_wait, message.server_time});
    if (claim.state == ClaimState::kAsking) {
      claim.asking.doubted_at = std::max(asking.doubted_at, message.server_time);
    }
  } else if (message.kind == MessageKind::kNext && claim.state == ClaimState::kAsking) {
    // Not later than its poll: a bound of the clock that is too old believes no grant.
    claim.asking.again_at =
        std::min(claim.asking.poll_at,
                 ledger_.now + std::min(message.look_in + kLookAfter, timing_.fallback_poll(0)));
    claim.asking.told_to_look = true;
  } else if (message.kind == MessageKind::kWaits && claim.state == ClaimState::kHeld) {
    claim.others_are_waiting(ledger_.now);
  } else if (message.kind == MessageKind::kBroken && claim.state == ClaimState::kHeld) {
    // A renewal that is out there was executed after the break, and will tell.
    claim.held.broken_by = message.by;
    watchdog_.question(claim);
  }
}

// About an epoch that is over.
bool Course::on_stray(const Primitive& primitive, const Message& message) {
  if (message.kind == MessageKind::kPassed) {
    return true;  // nothing of it is left there
  }
  const bool settled = message.kind == MessageKind::kSettled;
  Claim* const claim =
      settled ? ledger_.claim_of_past(message) : departures_.on_stray(primitive, message);
  if (claim != nullptr) {
    if (settled) {
      on_settled(*claim, message.epoch);
    }
    reconcile(*claim);
  }
  return settled || claim != nullptr;
}

// ---- Connections

// It may have done all it can do.
void Course::on_cut(const Flight& flight) {
  for (const ClaimRef& ref : flight.refs) {
    Claim& claim = *ref.claim;
    claim.suspect(ref.epoch, flight.not_after);
    if (flight.kind == FlightKind::kLeave) {
      departures_.on_cut(claim, ref.epoch);
    } else if (claim.epoch == ref.epoch) {
      claim.asking.out = false;
      claim.asking.again_at = kNever;
    }
  }
  for (const Renewed& renewed : flight.renewed) {
    Held& held = renewed.claim->held;
    if (flight.kind == FlightKind::kRenew && renewed.claim->epoch == renewed.args.epoch) {
      held.lapses_at = held.lapses_by();
      held.renew_out = false;
      held.renew_at = kNever;
    }
  }
}

// It may have been granted there all the same.
void Course::on_outdated_ask(const Flight& flight) {
  for (const ClaimRef& ref : flight.refs) {
    Claim& claim = *ref.claim;
    claim.suspect(ref.epoch, ServerTime());
    const bool over = claim.epoch != ref.epoch || claim.state == ClaimState::kIdle;
    if (!over) {
      claim.asking.before = static_cast<const Traces&>(claim.asking);  // no refusal undoes that
    }
    if (over && claim.leaving_of(ref.epoch) == nullptr) {
      Leaving leaving;
      leaving.epoch = ref.epoch;
      leaving.expires_by = ledger_.now + drifted(ref.lease);
      departures_.leave(claim, leaving);
    }
  }
}

// ---- Time

void Course::on_due(Claim& claim) {
  if (claim.state == ClaimState::kHeld) {
    check_holds(claim);
    if (ledger_.now >= claim.held.renew_at) {
      watchdog_.want(claim);
    }
    warn_if_at_risk(claim);
  } else if (claim.state == ClaimState::kAsking && ledger_.now >= claim.asking.again_at) {
    claim.asking.again_at = kNever;
    ask(claim);
  }
  departures_.send_due(claim);
}

// Its max-hold is reached: it is not renewed any more.
void Course::stop_watching(Hold& hold, Micros ends_at) {
  hold.ends_at = ends_at;
  hold.at_risk = true;
  Status why(BELAY_OK, "hold " + std::to_string(hold.known_as()) + " of '" +
                           hold.claim->resource.name + "' reached its max-hold of " +
                           std::to_string(to_ms(hold.max_hold)) +
                           " ms and is not renewed any more");
  why.reason = BELAY_REASON_MAX_HOLD;
  outcomes_.tell_of(hold, BELAY_EVENT_AT_RISK, std::move(why));
}

void Course::check_hold(Hold& hold) {
  // Whenever this comes to know it: another hold of the claim may have a longer lease.
  const bool stops = hold.watched() && ledger_.now >= hold.max_at;
  const Micros ends_at = stops ? hold.claim->certain_until(hold) : hold.ends_at;
  if (ledger_.now >= ends_at && hold.lease > 0) {
    lose_hold(hold, BELAY_REASON_LEASE_ENDED, "its lease ended");
  } else if (ledger_.now >= ends_at) {
    lose_hold(hold, BELAY_REASON_MAX_HOLD, "its max-hold was reached");
  } else if (stops) {
    stop_watching(hold, ends_at);
  }
}

void Course::check_holds(Claim& claim) {
  for (Hold* hold : std::vector<Hold*>(claim.holds)) {
    check_hold(*hold);
  }
  if (ledger_.now >= claim.held.deadline) {
    const Status& why = claim.refusal.ok() ? claim.node().trouble() : claim.refusal;
    lose(claim, BELAY_REASON_NOT_RENEWED,
         "its lease ended without a renewal" + (why.ok() ? "" : ": " + why.message));
    return;
  }
  if (claim.held.awaits_reply) {
    return;
  }
  // Whoever waits gets the claim, or the server does.
  if (claim.holds.empty() && claim.may_hand_locally(ledger_.now)) {
    pass_on(claim);
  } else if (claim.holds.empty()) {
    end(claim, true, {});
  } else {
    share_what_is_left(claim);
  }
}

void Course::warn_if_at_risk(Claim& claim) {
  for (Hold* hold : claim.holds) {
    if (ledger_.now >= claim.risk_time(*hold)) {
      hold->at_risk = true;
      std::string why = "hold " + std::to_string(hold->known_as()) + " of '" + claim.resource.name +
                        "' has not been renewed in time";
      if (!claim.refusal.ok()) {
        why += ": " + claim.refusal.message;
      } else if (!claim.node().trouble().ok()) {
        why += ": " + claim.node().trouble().message;
      }
      Status risk(BELAY_OK, why);
      risk.reason = BELAY_REASON_NOT_RENEWED;
      outcomes_.tell_of(*hold, BELAY_EVENT_AT_RISK, std::move(risk));
    }
  }
}

// Only who has been told that the lock is taken can have waited too long for it.
Status Course::acquire_timeout(const Pending& pending) const {
  const std::optional<Micros> doubt = doubt_of(pending);
  if (!doubt) {
    return Status(BELAY_TIMEOUT);
  }
  const Claim& claim = *pending.claim;
  const Micros limit = (pending.reached ? pending.wait_until : pending.reach_by) - pending.since;
  Status status =
      claim.refusal.ok() ? outcomes_.unavailable(claim.node(), "no answer", limit) : claim.refusal;
  status.in_doubt_until = *doubt;
  return status;
}

// The release itself goes on.
Status Course::release_timeout(const Pending& pending) const {
  Status status = outcomes_.unavailable(pending.claim->node(), "the release was not answered",
                                        std::min(ledger_.now, pending.reach_by) - pending.since);
  status.in_doubt_until = doubt_of(pending).value_or(0);
  return status;
}

std::optional<Micros> Course::doubt_of(const Pending& pending) const {
  if (pending.claim == nullptr) {
    return 0;
  }
  const Claim& claim = *pending.claim;
  if (pending.kind == PendingKind::kAcquire) {
    const bool answered = pending.reached && claim.node().up();
    return answered ? std::nullopt
           : claim.held.awaits_reply
               ? std::optional(std::max(claim.held.lapses_at, claim.asking.expires_by))
               : claim.asking.expires_by;
  }
  Micros until = 0;
  // The name may also stand for an older claim of ours, whose acquire was cut off and may still
  // arrive (rule 15).
  for (const Leaving& leaving : claim.leaving) {
    until = std::max(until, leaving.release == pending.ref() ? leaving.expires_by
                            : leaving.sweep_until.any()      ? leaving.cut_until
                                                             : 0);
  }
  return until;
}

}  // namespace belay
