// The course of a claim: asking, grants, local handoffs, leaving, loss. Rule numbers refer to
// lib/README.md.
#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kMinGrant = 100 * kMillisecond;
// How many round trips a lease must last: to be granted, renewed and, in time, given back.
constexpr Micros kLeastTrips = 4;
constexpr Micros kUsable = 200;  // a deadline nearer than this is as good as past
constexpr Micros kFallbackPoll = 5 * kSecond;
constexpr std::int64_t kUnhurried = 16;  // waiting clients up to which everybody polls at that pace
constexpr std::int64_t kMaxStretch = 6;  // 30 s
constexpr int kMaxHandoffs = 16;
constexpr Micros kMaxHandoffTime = 10 * kMillisecond;
constexpr Micros kRetryPause = 50 * kMillisecond;  // after an error that may pass
constexpr Micros kRefusedPause = kSecond;          // after one that somebody has to mend
constexpr Micros kWatchAfter = kSecond;            // shorter holds are not worth the command
constexpr Micros kQueueStands = 120 * kSecond;     // QUEUE_MS of the scripts
constexpr std::int64_t kFirstReserve = 8;          // RANGE of the scripts
// How long after the server's word that nobody else waits owners may join those who share a claim.
constexpr Micros kJoinWindow = 100 * kMillisecond;

}  // namespace

// ---- Asking

void Engine::start_claim(Claim& claim, Micros now) {
  claim.state = ClaimState::kAsking;
  claim.epoch = ++last_epoch_;
  epochs_.emplace(claim.epoch, &claim);
  claim.want = claim.waiting.front()->want;
  claim.share_with.clear();
  claim.delay_until = 0;
  claim.ask_out = false;
  claim.may_stand = false;
  claim.ask_at = kNever;
  claim.poll_at = now + kFallbackPoll;
  claim.answered_at = 0;
  claim.not_after = 0;
  claim.matters_until = 0;
  claim.suspect_until = 0;
  claim.cut_until = 0;
  claim.ticket = 0;
  claim.generation = 0;
  claim.known_to = 0;
  claim.refusal = Status();
  ask(claim, now);
}

// Rule 6: a grant must outlast the way to its waiter, a short hold and the confirmation, and what
// the clock's bound has aged by since the waiter's last poll.
// Yet no longer than the lease that is asked for: so long others wait if its waiter has died.
Micros Engine::grant_lease(const Node& node, Micros lease) const {
  const Micros longest = std::max(kMinGrant, std::min(lease, max_grant(config_.request_timeout)));
  return std::clamp(4 * node.round_trip() + kAgeing, kMinGrant, longest);
}

// Whether the claim's server is near enough for a hold with such a lease, and for those who wait:
// for whom it is not are told, as their holds would end before they are renewed.
bool Engine::is_near(Claim& claim, Micros lease, Micros now) {
  const Micros trip = claim.node->distance();
  const bool answers_in_time = 2 * trip <= config_.request_timeout;
  const Micros least = answers_in_time ? kLeastTrips * trip : kNever;
  if (least <= kMinLease || claim.primitive->lets_pass()) {
    return true;
  }
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (lease_for(*pending) >= least) {
      continue;
    }
    const std::string why =
        answers_in_time ? std::to_string(kLeastTrips) + " of them are more than the lease of " +
                              std::to_string(to_ms(lease_for(*pending))) + " ms"
                        : "more than half the request timeout of " +
                              std::to_string(to_ms(config_.request_timeout)) + " ms";
    complete(*pending,
             Status(BELAY_UNAVAILABLE, "a round trip to " + claim.node->display() + " takes " +
                                           std::to_string(to_ms(trip)) + " ms: " + why),
             now);
  }
  // Whoever is next now may want something else than the claim is for.
  return lease >= least && !claim.waiting.empty() && claim.waiting.front()->want.suits(claim.want);
}

Micros Engine::lease_for(const Pending& pending) const {
  return pending.lease > 0 ? pending.lease : config_.watchdog_lease;
}

// Whoever asks anew has freed what it had. An earlier hold that was lost has to be known for lost
// first, as no lock-delay follows otherwise.
bool Engine::loss_is_untold(const Claim& claim) {
  return std::any_of(claim.leaving.begin(), claim.leaving.end(),
                     [](const Leaving& leaving) { return leaving.lost && !leaving.answered; });
}

// Rule 14: when the server is to do nothing any more that is asked for now.
Micros Engine::not_after_of(const Node& node, Micros now) const {
  return now + node.clock().bound(now) + config_.request_timeout;
}

void Engine::ask(Claim& claim, Micros now) {
  Node& node = *claim.node;
  if (!node.up() || claim.ask_out || claim.waiting.empty()) {
    return;
  }
  claim.ask_at = kNever;
  if (loss_is_untold(claim)) {
    return;
  }
  if (!node.clock().known(now)) {  // rule 3
    node.refresh_clock(now);
    if (!std::exchange(claim.check_due, true)) {
      claims_for_clock_.push_back(&claim);
    }
    return;
  }
  if (claim.waiting.front()->many != nullptr) {
    if (!std::exchange(claim.ask_due, true)) {
      asks_due_.push_back(&claim);
    }
    return;
  }
  const AcquireArgs args = begin_ask(claim, now);
  Flight flight;
  flight.kind = FlightKind::kAcquire;
  flight.claim = &claim;
  flight.epoch = claim.epoch;
  flight.lease = args.lease;
  flight.not_after = args.not_after;
  send(node, claim.primitive->acquire(claim.resource, args), std::move(flight), now);
}

// What the claim's next owner asks for; it goes out now.
AcquireArgs Engine::begin_ask(Claim& claim, Micros now) {
  const Node& node = *claim.node;
  const Pending& head = *claim.waiting.front();
  AcquireArgs args;
  args.want = claim.want;
  args.epoch = claim.epoch;
  args.lease = lease_for(head);
  args.not_after = not_after_of(node, now);
  args.grant_lease = grant_lease(node, args.lease);
  args.ticket = claim.ticket;
  args.highest_fence = highest_fence_of(claim.resource.slot);
  args.generation = claim.generation;
  args.queue = !head.is_try;
  args.first = claim.not_after == 0;
  args.local_waiters = claim.waiting.size() - 1;
  claim.not_after = args.not_after;
  claim.matters_until =
      claim.primitive->lets_pass() ? 0 : lapses_by(node, args.not_after, args.lease);
  claim.asked_to = last_order_;
  claim.ask_out = true;
  return args;
}

void Engine::on_acquire_reply(Claim& claim, const Flight& flight, Reply reply, Micros sent,
                              Micros now) {
  const bool current = claim.epoch == flight.epoch && claim.state != ClaimState::kIdle;
  if (current) {
    claim.ask_out = false;
  }
  const std::optional<AcquireAnswer> answer = claim.primitive->read_acquire(reply);
  if (!answer) {
    if (current && claim.state == ClaimState::kAsking) {
      on_acquire_error(claim, error_words(reply), now);
    }
    return;
  }
  on_acquire_answer({&claim, flight.epoch, flight.lease}, *answer, sent, now);
}

void Engine::on_acquire_answer(const Asked& asked, const AcquireAnswer& answer, Micros sent,
                               Micros now) {
  Claim& claim = *asked.claim;
  claim.node->saw_time(answer.server_time, sent, now);
  saw_fence(claim.resource.slot, std::max(answer.highest_fence, answer.last_fence));
  const bool current = claim.epoch == asked.epoch && claim.state != ClaimState::kIdle;
  if (current) {
    claim.matters_until = 0;
  }
  if (answer.code == AcquireCode::kGranted) {
    // Rule 8: the lease counts from when it was asked for.
    on_grant(
        claim,
        {asked.epoch, answer.fence, answer.last_fence, answer.permits,
         sent + asked.lease - lease_margin(asked.lease), asked.lease, true, answer.others_wait},
        now);
    return;
  }
  if (!current || claim.state != ClaimState::kAsking) {
    return;
  }
  // Where an ask that was cut off has queued the claim, these leave it its place.
  claim.may_stand =
      claim.may_stand && (answer.code == AcquireCode::kBusy || answer.code == AcquireCode::kLimit ||
                          answer.code == AcquireCode::kMissing);
  claim.refusal = Status();
  switch (answer.code) {
    case AcquireCode::kQueued:
      on_queued(claim, answer, now);
      break;
    case AcquireCode::kBusy:
      on_busy(claim, now);
      break;
    case AcquireCode::kStale:
      end_claim(claim, false, 0, now);
      break;
    case AcquireCode::kPassed:
      let_pass(claim, answer.generation, now);
      break;
    case AcquireCode::kMissing:
      refuse(claim, Status(BELAY_NOT_FOUND, "there is no '" + claim.resource.name + "'"), now);
      break;
    case AcquireCode::kLimit:
      refuse(claim,
             Status(BELAY_LIMIT_DIFFERS, "the limit of '" + claim.resource.name + "' is " +
                                             std::to_string(answer.limit)),
             now);
      break;
    default:  // late, or more to do
      ask(claim, now);
      break;
  }
}

// An error, or a reply that is none of the script's.
void Engine::on_acquire_error(Claim& claim, std::string_view words, Micros now) {
  const ServerError error = classify_error(words);
  claim.refusal = {error.status, claim.node->display() + " refused to acquire '" +
                                     claim.resource.name + "': " + claim.node->explained(words)};
  if (error.remedy == Remedy::kAskAgain) {
    ask(claim, now);
    return;
  }
  if (error.remedy != Remedy::kGiveUp) {
    claim.ask_at = now + kRetryPause;
    claim.poll_at = claim.ask_at;
    return;
  }
  refuse(claim, claim.refusal, now);
}

// The server will not grant it. An error before anything was queued or lost has changed nothing
// there.
void Engine::refuse(Claim& claim, const Status& status, Micros now) {
  const bool may_stand = claim.ticket != 0 || claim.may_stand;
  for (Pending* pending : concerned(claim, claim.generation)) {
    complete(*pending, status, now);
  }
  end_claim(claim, may_stand, 0, now);
}

void Engine::on_busy(Claim& claim, Micros now) {
  claim.known_to = claim.asked_to;
  if (claim.primitive->lets_pass()) {
    end_tries(claim, now);
  } else if (!claim.waiting.empty() && claim.waiting.front()->is_try) {
    complete(*claim.waiting.front(), Status(BELAY_BUSY), now);
  }
  if (claim.waiting.empty()) {
    end_claim(claim, claim.may_stand || claim.suspect_until != 0, 0, now);
  } else {
    mark_reached(claim);
    ask(claim, now);
  }
}

void Engine::mark_reached(Claim& claim) {
  for (Pending* pending : claim.waiting) {
    if (!pending->reached && !pending->is_try) {
      pending->reached = true;
      timers_.set(pending->timer, pending->wait_until);
    }
  }
}

// Waiting clients poll in case a message is lost: slowly, and the slower the longer the queue
// before them.
Micros Engine::fallback_poll(std::int64_t position) {
  const std::int64_t stretch = std::clamp<std::int64_t>(position / kUnhurried, 1, kMaxStretch);
  return kFallbackPoll * stretch * random_.between(80, 120) / 100;
}

// Rule 18: only the next in line looks when the lease ends; where nobody is in line, all do.
void Engine::on_queued(Claim& claim, const AcquireAnswer& answer, Micros now) {
  claim.answered_at = answer.server_time;
  claim.ticket = answer.ticket;
  claim.generation = answer.generation;
  claim.known_to = claim.asked_to;
  send_off_others(claim, answer.generation, now);
  end_tries(claim, now);
  static_cast<void>(is_near(claim, kMaxLease, now));
  mark_reached(claim);
  claim.poll_at = now + fallback_poll(answer.position);
  claim.ask_at = claim.poll_at;
  claim.told_to_look = answer.handed > 0;
  if (answer.position == 0 || claim.primitive->lets_pass()) {
    claim.ask_at = std::min(claim.ask_at, now + std::max<Micros>(0, answer.remaining) + kLookAfter);
  }
  if (answer.handed > 0) {
    claim.ask_at = std::min(claim.ask_at, now + drifted(answer.handed) + kLookAfter);
  }
  if (claim.primitive->lets_pass() && !claim.waiting.empty() &&
      claim.waiting.back()->order > claim.known_to) {
    ask(claim, now);
  }
}

// Each slot counts its fences apart.
std::int64_t Engine::highest_fence_of(std::uint16_t slot) const {
  const auto found = highest_fences_.find(slot);
  return found == highest_fences_.end() ? 0 : found->second;
}

void Engine::saw_fence(std::uint16_t slot, std::int64_t fence) {
  std::int64_t& highest = highest_fences_[slot];
  highest = std::max(highest, fence);
}

// ---- Holding

void Engine::on_grant(Claim& claim, const Grant& grant, Micros now) {
  if (claim.state == ClaimState::kIdle || claim.epoch != grant.epoch) {
    Leaving leaving;  // rules 11, 12
    leaving.epoch = grant.epoch;
    leaving.matters_until = now + drifted(grant.lease);
    leave(claim, leaving, now);
    return;
  }
  if (claim.state == ClaimState::kHeld) {
    on_grant_of_held(claim, grant, now);
    return;
  }
  const Micros usable = grant.confirmed ? kUsable : grant.lease / 8;
  const bool near = is_near(claim, grant.confirmed ? grant.lease : kMaxLease, now);
  if (grant.deadline <= now + usable || !near) {  // rule 4
    claim.may_stand = true;
    claim.matters_until = std::max(now + drifted(grant.lease), claim.cut_until);
    ask(claim, now);
    return;
  }
  metrics_.handoffs_by_message += grant.confirmed ? 0 : 1;
  // It is ours again: what this client passed on before was taken up.
  std::erase_if(claim.leaving, [](const Leaving& leaving) { return leaving.looks_after; });
  claim.state = ClaimState::kHeld;
  claim.ask_at = kNever;
  claim.permits = grant.permits;
  claim.fence = grant.fence;
  claim.last_fence = grant.last_fence;
  claim.reserve = kFirstReserve;
  claim.confirmed = grant.confirmed;
  claim.deadline = grant.deadline;
  claim.vouched = grant.lease;
  // An ask that was cut off may have been for longer: what is told again is not shortened.
  claim.lapses_at = std::max(now + drifted(grant.lease), claim.cut_until);
  claim.renew_at = kNever;
  claim.renew_out = false;
  claim.look_at = watchable(claim) ? now + kWatchAfter : kNever;
  claim.others_wait = grant.others_wait;
  claim.broken_by.clear();
  claim.others_since = now;
  claim.heard_at = now;
  claim.handoffs = 0;
  if (!grant.confirmed) {  // rule 5
    const Micros latest = grant.deadline - std::max(2 * claim.node->round_trip(), grant.lease / 2);
    claim.renew_at = std::max(now, std::min(now + grant.lease / 3, latest));
  }
  deliver(claim, grant.fence, grant.confirmed ? grant.deadline : kNever, now);
  mark_reached(claim);
}

void Engine::on_grant_of_held(Claim& claim, const Grant& grant, Micros now) {
  if (claim.fence == grant.fence && grant.confirmed) {
    vouch(claim, grant.deadline, grant.lease, now);
  } else if (grant.confirmed) {
    lose_claim(claim, BELAY_REASON_GONE, "the server granted it anew", now);
  } else if (claim.fence != grant.fence) {
    want_renewal(claim);
  }
}

// Gives the claim to the next local owner, and to whoever else waits in that owner's name. A fixed
// lease ends at `fixed_end`, or that long from now.
void Engine::deliver(Claim& claim, std::int64_t fence, Micros fixed_end, Micros now) {
  claim.next_fence = fence + 1;
  const std::int64_t owner = claim.waiting.front()->owner;
  Pending& head = *claim.waiting.front();
  make_hold(claim, head, fence,
            std::min(fixed_end, after(now, head.lease > 0 ? head.lease : kNever)), now);
  if (owner != 0) {
    std::vector<Pending*> same;
    std::copy_if(claim.waiting.begin(), claim.waiting.end(), std::back_inserter(same),
                 [&claim, owner](const Pending* pending) {
                   return pending->owner == owner &&
                          (!claim.shared() || pending->want.suits(claim.want));
                 });
    for (Pending* pending : same) {
      make_hold(claim, *pending, fence, after(now, pending->lease > 0 ? pending->lease : kNever),
                now);
    }
  }
  while (claim.shared() && !claim.waiting.empty() &&
         claim.waiting.front()->want.suits(claim.want)) {
    Pending& next = *claim.waiting.front();
    make_hold(claim, next, fence, after(now, next.lease > 0 ? next.lease : kNever), now);
  }
  plan_renewal(claim, now);
}

// Whether it may be beside those who have the claim, as far as is known.
bool Engine::wants_to_join(const Claim& claim, const Pending& pending) {
  return claim.state == ClaimState::kHeld && claim.shared() && pending.want.suits(claim.want) &&
         !claim.others_wait;
}

// Whether a try may be let in by the answer that others of its kind are waiting for.
bool Engine::may_be_let_in(const Claim& claim, const Pending& pending) {
  if (claim.primitive->lets_pass()) {
    return true;
  }
  const bool asks = claim.state == ClaimState::kAsking && claim.shared() && claim.ticket == 0;
  return (asks || wants_to_join(claim, pending)) && pending.want.suits(claim.want) &&
         std::all_of(claim.waiting.begin(), claim.waiting.end(),
                     [&claim](const Pending* other) { return other->want.suits(claim.want); });
}

// Whoever is first in line may be content to join: the server must say that nobody else waits.
void Engine::look_for_room(Claim& claim, Micros now) {
  if (!claim.waiting.empty() && wants_to_join(claim, *claim.waiting.front())) {
    want_renewal(claim);
  }
  plan_renewal(claim, now);
}

// Whether it may be beside those who share the claim, at once: not before another client that
// waits, as far as the server has said lately.
bool Engine::may_join(const Claim& claim, const Pending& pending, Micros now) const {
  const Micros soon = std::max({kMinGrant / 2, claim.vouched / 3, 2 * claim.node->round_trip()});
  return claim.state == ClaimState::kHeld && claim.shared() && claim.confirmed &&
         !claim.others_wait && pending.want.suits(claim.want) && claim.deadline - now > soon &&
         now - claim.heard_at <= kJoinWindow;
}

// The server has just said whether anybody else waits.
void Engine::let_join(Claim& claim, Micros now) {
  while (!claim.waiting.empty() && may_join(claim, *claim.waiting.front(), now)) {
    Pending& next = *claim.waiting.front();
    make_hold(claim, next, claim.fence, after(now, next.lease > 0 ? next.lease : kNever), now);
  }
  if (claim.shared()) {
    end_tries(claim, now);
  }
}

// Of those who wait, the tries have their answer.
void Engine::end_tries(Claim& claim, Micros now) {
  for (Pending* pending : concerned(claim, claim.generation)) {
    if (pending->is_try) {
      complete(*pending, Status(BELAY_BUSY), now);
    }
  }
}

// The server knows by now that those who hold the claim share it with `group`.
void Engine::become_shared(Claim& claim, const std::string& group, Micros now) {
  claim.want.group = group;
  claim.fence = claim.next_fence - 1;
  claim.share_with.clear();
  for (Hold* hold : claim.holds) {
    for (const std::int64_t asked : std::vector<std::int64_t>(hold->asked)) {
      Pending& pending = *pendings_.at(asked);
      if (pending.kind == PendingKind::kDowngrade) {
        Event event = outcome(pending, Status());
        event.fence = hold->fence;
        complete(pending, std::move(event), now);
      }
    }
  }
}

void Engine::make_hold(Claim& claim, Pending& pending, std::int64_t fence, Micros fixed_end,
                       Micros now) {
  auto owned = std::make_unique<Hold>();
  Hold& hold = *owned;
  hold.id = ++last_hold_;
  hold.claim = &claim;
  hold.owner = pending.owner;
  hold.since = now;
  hold.group = pending.want.group;
  hold.fence = fence;
  hold.lease = pending.lease;
  hold.ends_at = pending.lease > 0 ? fixed_end : kNever;
  hold.max_hold = pending.max_hold;
  hold.max_at = pending.max_hold > 0 && pending.lease == 0 ? now + pending.max_hold : kNever;
  hold.notify = pending.notify;
  hold.set = pending.set;
  claim.holds.push_back(&hold);
  holds_.emplace(hold.id, std::move(owned));
  pending.hold = hold.id;
  Event event = outcome(pending, Status());
  event.fence = fence;
  event.permits = claim.permits;
  event.remaining = std::min(claim.deadline, hold.ends_at) - now;
  complete(pending, std::move(event), now);
}

// Whether the next local owner wants just what the claim is, and nobody beside it.
bool Engine::next_wants_the_same(const Claim& claim) {
  return !claim.waiting.empty() && !claim.shared() && claim.share_with.empty() &&
         claim.waiting.front()->want.suits(claim.want);
}

// Local owners may have it among themselves as long as that keeps no other client waiting beyond a
// small budget, and what vouches for the claim is a reply and not about to end.
bool Engine::may_hand_locally(const Claim& claim, Micros now) const {
  const bool spent = claim.others_wait &&
                     (claim.handoffs >= kMaxHandoffs || now - claim.others_since > kMaxHandoffTime);
  const bool has_fence =
      claim.next_fence <= claim.last_fence || (claim.node->up() && !claim.others_wait);
  const bool delayed = now < claim.delay_until;
  const Micros soon = std::max({kMinGrant / 2, claim.vouched / 3, 2 * claim.node->round_trip()});
  return claim.state == ClaimState::kHeld && next_wants_the_same(claim) && claim.confirmed &&
         claim.deadline - now > soon && has_fence && !spent && !delayed;
}

// Rule 21: without a reserved fence the next owner waits for the answer that brings more.
void Engine::pass_on(Claim& claim, Micros now) {
  if (claim.next_fence > claim.last_fence) {
    want_renewal(claim);
    return;
  }
  ++claim.handoffs;
  ++metrics_.handoffs_local;
  deliver(claim, claim.next_fence, kNever, now);
}

void Engine::others_are_waiting(Claim& claim, Micros now) {
  if (!claim.others_wait) {
    claim.others_wait = true;
    claim.others_since = now;
    claim.handoffs = 0;
  }
}

// ---- Leaving and loss

// Ends the current epoch. `tag`: of the release that waits for the server's answer.
void Engine::end_claim(Claim& claim, bool leaves, std::int64_t tag, Micros now) {
  const Micros queued_until = claim.ticket != 0 ? now + kQueueStands : 0;
  const Micros renewed_until = claim.renew_out ? claim.renewed_until : 0;
  // An ask that is not answered yet may prolong what a message has granted.
  const Micros matters_until = std::max(
      claim.matters_until,
      claim.state == ClaimState::kHeld ? std::max(claim.lapses_at, renewed_until) : queued_until);
  const bool plain = claim.state == ClaimState::kHeld && claim.confirmed && !claim.others_wait &&
                     !claim.shared() && claim.suspect_until == 0;
  const bool was_to_look = claim.state == ClaimState::kAsking && claim.told_to_look;
  const Micros look_at = was_to_look ? claim.ask_at : kNever;
  claim.state = ClaimState::kIdle;
  claim.told_to_look = false;
  claim.ask_out = false;
  claim.ask_at = kNever;
  claim.renew_at = kNever;
  claim.renew_out = false;
  epochs_.erase(claim.epoch);
  if (leaves || claim.suspect_until != 0) {
    Leaving leaving;
    leaving.epoch = claim.epoch;
    leaving.sweep_until = claim.suspect_until;
    leaving.matters_until = matters_until;
    leaving.cut_until = std::max(claim.cut_until, claim.matters_until);
    leaving.tag = tag;
    leaving.look_at = look_at;
    leaving.lost = now < claim.delay_until;
    leaving.plain = plain && !leaving.lost;
    leave(claim, leaving, now);
  }
}

// Rule 10: asked again until it is answered.
void Engine::leave(Claim& claim, const Leaving& leaving, Micros now) {
  const auto found =
      std::find_if(claim.leaving.begin(), claim.leaving.end(),
                   [&leaving](const Leaving& other) { return other.epoch == leaving.epoch; });
  if (found != claim.leaving.end()) {
    found->sweep_until = std::max(found->sweep_until, leaving.sweep_until);
    if (found->looks_after) {  // as it goes on doing
      found->look_at = found->again_at;
    }
    send_leave(claim, *found, now);
    return;
  }
  claim.leaving.push_back(leaving);
  send_leave(claim, claim.leaving.back(), now);
}

void Engine::send_leave(Claim& claim, Leaving& leaving, Micros now) {
  if (leaving.in_flight || !claim.node->up()) {
    return;
  }
  leaving.in_flight = true;
  leaving.looks_after = false;
  leaving.parting = closing_;
  leaving.again_at = kNever;
  if (gathers_leaves_ && claim.waiting.empty()) {
    leaves_due_.push_back({&claim, leaving.epoch, 0});
    return;
  }
  Flight flight;
  flight.kind = FlightKind::kLeave;
  flight.claim = &claim;
  flight.epoch = leaving.epoch;
  send(*claim.node, claim.primitive->leave(claim.resource, args_of(claim, leaving)),
       std::move(flight), now);
}

LeaveArgs Engine::args_of(const Claim& claim, const Leaving& leaving) const {
  return {leaving.epoch, highest_fence_of(claim.resource.slot), leaving.lost, leaving.plain,
          leaving.parting};
}

// `answer`: none where the reply is an error, or none of the script's; `words` are what it says.
void Engine::on_left(Claim& claim, std::int64_t epoch, const std::optional<LeaveAnswer>& answer,
                     std::string_view words, Micros sent, Micros now) {
  const auto found = leaving_of(claim, epoch);
  if (found == claim.leaving.end()) {
    return;
  }
  const bool held_back = loss_is_untold(claim);
  found->in_flight = false;
  const bool was_plain = std::exchange(found->plain, false);
  if (answer && answer->code == LeaveCode::kNotPlain && was_plain) {
    send_leave(claim, *found, now);
  } else if (answer && answer->code != LeaveCode::kNotPlain) {
    on_leave_answer(claim, *found, *answer, sent, now);
  } else {
    on_leave_error(claim, *found, words, now);
  }
  if (held_back && claim.state == ClaimState::kAsking && claim.ask_at == kNever) {
    ask(claim, now);
  }
}

std::vector<Leaving>::iterator Engine::leaving_of(Claim& claim, std::int64_t epoch) {
  return std::find_if(claim.leaving.begin(), claim.leaving.end(),
                      [epoch](const Leaving& leaving) { return leaving.epoch == epoch; });
}

void Engine::on_leave_answer(Claim& claim, Leaving& leaving, const LeaveAnswer& answer, Micros sent,
                             Micros now) {
  claim.node->saw_time(answer.server_time, sent, now);
  leaving.answered = true;
  // Rule 10: a release asked for in time is done, whatever the server still knew of it.
  complete_release(leaving, Status(), now);
  if (answer.code == LeaveCode::kMore) {
    send_leave(claim, leaving, now);
  } else if (leaving.sweep_until >= answer.server_time) {
    leaving.again_at = now + drifted(leaving.sweep_until - answer.server_time) + 2 * kMillisecond;
  } else if (answer.handed > 0 && !leaving.parting) {
    leaving.looks_after = true;
    leaving.again_at = closing_ ? now : now + drifted(answer.handed) + kLookAfter;
  } else if (leaving.look_at != kNever && !leaving.parting) {  // nobody else may look in its place
    leaving.looks_after = true;
    leaving.again_at = closing_ ? now : std::exchange(leaving.look_at, kNever);
  } else {
    claim.leaving.erase(leaving_of(claim, leaving.epoch));
  }
}

// The grant that this client has passed on was taken up.
void Engine::on_settled(Claim& claim, std::int64_t epoch, Micros now) {
  std::erase_if(claim.leaving, [epoch](const Leaving& leaving) {
    return leaving.epoch == epoch && leaving.looks_after;
  });
  if (claim.state == ClaimState::kAsking && claim.epoch == epoch && claim.ask_at != kNever) {
    claim.ask_at = std::min(claim.poll_at, now + fallback_poll(0));
    claim.told_to_look = false;
  }
}

// An error, or a reply that is none of the script's. Asked again until the record has lapsed
// whatever happens.
void Engine::on_leave_error(Claim& claim, Leaving& leaving, std::string_view words, Micros now) {
  const ServerError error = classify_error(words);
  if (error.remedy == Remedy::kAskAgain) {
    send_leave(claim, leaving, now);
    return;
  }
  if (leaving.stray) {
    claim.leaving.erase(leaving_of(claim, leaving.epoch));
    return;
  }
  leaving.again_at = now + (error.remedy == Remedy::kGiveUp ? kRefusedPause : kRetryPause);
  if (error.remedy != Remedy::kGiveUp) {
    return;
  }
  leaving.answered = true;
  Status status(error.status, claim.node->display() + " refused to release '" +
                                  claim.resource.name + "': " + claim.node->explained(words));
  status.in_doubt_until = leaving.matters_until;
  complete_release(leaving, std::move(status), now);
  if (now >= leaving.matters_until) {
    std::erase_if(claim.leaving, [&leaving](const Leaving& other) { return &other == &leaving; });
  }
}

void Engine::complete_release(Leaving& leaving, Status status, Micros now) {
  const auto pending = pendings_.find(std::exchange(leaving.tag, 0));
  if (pending != pendings_.end()) {
    complete(*pending->second, std::move(status), now);
  }
}

// It is out of its claim's list already.
void Engine::declare_lost(Hold& hold, std::int32_t reason, const std::string& why, Micros now) {
  const std::string& name = std::exchange(hold.claim, nullptr)->resource.name;
  hold.loss = Status(BELAY_LOST, "hold " + std::to_string(hold.known_as()) + " of '" + name +
                                     "' was lost: " + why);
  hold.loss.reason = reason;
  if (hold.set == 0) {
    count_loss(hold.since, now);
  }
  tell_of(hold, BELAY_EVENT_LOST, hold.loss, now);
  for (const std::int64_t asked : std::exchange(hold.asked, {})) {
    complete(*pendings_.at(asked), hold.loss, now);
  }
}

void Engine::lose_hold(Hold& hold, std::int32_t reason, const std::string& why, Micros now) {
  Claim& claim = *hold.claim;
  std::erase(claim.holds, &hold);
  claim.delay_until = now + claim.want.lock_delay;
  if (hold.abandoned) {
    abandoned_.erase(hold.id);
  } else {
    declare_lost(hold, reason, why, now);
  }
}

void Engine::lose_claim(Claim& claim, std::int32_t reason, const std::string& why, Micros now) {
  for (Hold* hold : std::vector<Hold*>(claim.holds)) {
    lose_hold(*hold, reason, why, now);
  }
  end_claim(claim, true, 0, now);
}

// ---- Time

void Engine::on_claim_due(Claim& claim, Micros now) {
  if (claim.state == ClaimState::kHeld) {
    check_holds(claim, now);
    if (now >= claim.renew_at) {
      want_renewal(claim);
    }
    warn_if_at_risk(claim, now);
  } else if (claim.state == ClaimState::kAsking && now >= claim.ask_at) {
    claim.ask_at = kNever;
    ask(claim, now);
  }
  for (Leaving& leaving : claim.leaving) {
    if (now >= leaving.again_at) {
      leaving.again_at = kNever;
      send_leave(claim, leaving, now);
    }
  }
}

// When a hold ends that the watchdog renews no more, whatever longer lease another hold of the
// claim has.
Micros Engine::own_end(const Claim& claim, Micros now) const {
  return std::min(claim.deadline, now + config_.watchdog_lease);
}

// Its max-hold is reached: it is not renewed any more.
void Engine::stop_watching(Hold& hold, Micros now) {
  hold.ends_at = own_end(*hold.claim, now);
  hold.at_risk = true;
  Status why(BELAY_OK, "hold " + std::to_string(hold.known_as()) + " of '" +
                           hold.claim->resource.name + "' reached its max-hold of " +
                           std::to_string(to_ms(hold.max_hold)) +
                           " ms and is not renewed any more");
  why.reason = BELAY_REASON_MAX_HOLD;
  tell_of(hold, BELAY_EVENT_AT_RISK, std::move(why), now);
}

void Engine::check_holds(Claim& claim, Micros now) {
  for (Hold* hold : std::vector<Hold*>(claim.holds)) {
    if (now >= hold->ends_at && hold->lease > 0) {
      lose_hold(*hold, BELAY_REASON_LEASE_ENDED, "its lease ended", now);
    } else if (now >= hold->ends_at) {
      lose_hold(*hold, BELAY_REASON_MAX_HOLD, "its max-hold was reached", now);
    } else if (hold->watched() && now >= hold->max_at) {
      stop_watching(*hold, now);
    }
  }
  if (now >= claim.deadline) {
    lose_claim(claim, BELAY_REASON_NOT_RENEWED,
               "its lease ended without a renewal" +
                   (claim.refusal.ok() ? "" : ": " + claim.refusal.message),
               now);
    return;
  }
  // Whoever waits gets the claim, or the server does.
  if (claim.holds.empty() && may_hand_locally(claim, now)) {
    pass_on(claim, now);
  } else if (claim.holds.empty()) {
    end_claim(claim, true, 0, now);
  }
}

// When less than a third of the lease is left; later while a renewal is out and not overdue.
Micros Engine::risk_time(const Claim& claim, const Hold& hold) const {
  const bool should_be_renewed = hold.watched() || !claim.confirmed;
  if (!should_be_renewed || hold.at_risk || claim.renew_due) {
    return kNever;
  }
  const Micros third = claim.deadline - claim.vouched / 3;
  if (!claim.renew_out) {
    return third;
  }
  const Micros overdue = claim.renewed_at + 2 * claim.node->round_trip();
  return std::min(std::max(third, overdue), claim.deadline - claim.vouched / 12);
}

void Engine::warn_if_at_risk(Claim& claim, Micros now) {
  for (Hold* hold : claim.holds) {
    if (now >= risk_time(claim, *hold)) {
      hold->at_risk = true;
      std::string why = "hold " + std::to_string(hold->known_as()) + " of '" + claim.resource.name +
                        "' has not been renewed in time";
      if (!claim.refusal.ok()) {
        why += ": " + claim.refusal.message;
      } else if (!claim.node->trouble().ok()) {
        why += ": " + claim.node->trouble().message;
      }
      Status risk(BELAY_OK, why);
      risk.reason = BELAY_REASON_NOT_RENEWED;
      tell_of(*hold, BELAY_EVENT_AT_RISK, std::move(risk), now);
    }
  }
}

Micros Engine::claim_deadline(const Claim& claim) const {
  Micros soonest = kNever;
  if (claim.state == ClaimState::kHeld) {
    soonest = claim.deadline;
    for (const Hold* hold : claim.holds) {
      soonest = std::min({soonest, hold->ends_at, hold->watched() ? hold->max_at : kNever,
                          risk_time(claim, *hold)});
    }
  }
  if (!claim.node->up()) {
    return soonest;
  }
  if (claim.state == ClaimState::kHeld && !claim.renew_out && !claim.renew_due) {
    soonest = std::min(soonest, claim.renew_at);
  } else if (claim.state == ClaimState::kAsking && !claim.ask_out) {
    soonest = std::min(soonest, claim.ask_at);
  }
  for (const Leaving& leaving : claim.leaving) {
    soonest = std::min(soonest, leaving.again_at);
  }
  return soonest;
}

}  // namespace belay
