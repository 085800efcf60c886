// Several names as one. First all are tried at once, one command a group of slots; if that does not
// give all, what it gave goes back, and they are taken one after the other in an order that
// everybody keeps: so nobody deadlocks. What its parts' claims and holds go through is theirs; what
// that means for the whole is looked at when an entry of the engine ends.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "engine/engine.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kKeptTimes = 3;  // a lease, while the other names are waited for
constexpr std::size_t kMostLeft = 32;

// The worst of what the parts have come to; in doubt for the longest.
void merge(Status* worst, const Status& other) {
  const Micros in_doubt_until = std::max(worst->in_doubt_until, other.in_doubt_until);
  if (belay_status_class(other.code) > belay_status_class(worst->code)) {
    *worst = other;
  }
  worst->in_doubt_until = in_doubt_until;
}

}  // namespace

// ---- Asking

void Engine::acquire_many(std::int64_t tag, const AcquireRequest& request, Micros wait,
                          Micros now) {
  auto owned = std::make_unique<Bundle>();
  Bundle& bundle = *owned;
  bundle.id = ++last_hold_;
  bundle.tag = tag;
  bundle.primitive = request.primitive;
  bundle.many = request.many;
  for (const auto& [name, want] : request.names) {
    bundle.parts.push_back({name, want});
  }
  bundle.order.resize(bundle.parts.size());
  std::iota(bundle.order.begin(), bundle.order.end(), 0);
  std::sort(bundle.order.begin(), bundle.order.end(),
            [&bundle](std::size_t left, std::size_t right) {
              return bundle.parts[left].name < bundle.parts[right].name;
            });
  bundle.is_try = wait == 0;
  bundle.wait_until = after(now, wait);
  bundle.owner = request.owner;
  bundle.lease = request.lease;
  bundle.max_hold = request.max_hold;
  bundle.notify = request.notify;
  bundles_.emplace(bundle.id, std::move(owned));
  add_lead(tag, PendingKind::kAcquire, bundle, now).hold = 0;
  for (std::size_t i = 0; i < bundle.parts.size() && bundle.failure.ok(); ++i) {
    ask_part(bundle, i, now);
  }
}

void Engine::ask_part(Bundle& bundle, std::size_t index, Micros now) {
  BundlePart& part = bundle.parts[index];
  part.tag = --last_part_;
  AcquireRequest request;
  request.primitive = bundle.primitive;
  request.name = part.name;
  request.want = part.want;
  request.owner = bundle.owner;
  request.lease = bundle.lease;
  Pending& pending = add_acquire(part.tag, request, 0, now);
  ++parts_pending_;
  pending.lead = bundle.tag;
  pending.set = bundle.id;
  pending.is_try = bundle.stage == BundleStage::kTrying;
  pending.many = pending.is_try ? bundle.many : nullptr;
  pending.wait_until = bundle.wait_until;
  place_acquire(pending, now);
}

// One command a set and group of slots.
void Engine::flush_asks(Micros now) {
  std::map<std::pair<std::int64_t, std::uint16_t>, std::vector<Claim*>> groups;
  for (Claim* claim : std::exchange(asks_due_, {})) {
    claim->ask_due = false;
    const bool asks = claim->state == ClaimState::kAsking && !claim->ask_out &&
                      !claim->waiting.empty() && claim->node->up();
    if (asks && claim->waiting.front()->many != nullptr) {
      groups[{claim->waiting.front()->set, router_.group_of(claim->resource.slot)}].push_back(
          claim);
    } else {
      if (asks) {  // whose set it was that was to ask has given up since
        ask(*claim, now);
      }
      settle(*claim, now);
    }
  }
  for (const auto& [group, claims] : groups) {
    send_many(claims, now);
  }
}

void Engine::send_many(const std::vector<Claim*>& claims, Micros now) {
  const ManyNames& many = *claims.front()->waiting.front()->many;
  Flight flight;
  flight.kind = FlightKind::kMany;
  flight.many = &many;
  std::vector<ManyPart> parts;
  for (Claim* claim : claims) {
    parts.push_back({&claim->resource, begin_ask(*claim, now)});
    flight.asked.push_back({claim, claim->epoch, parts.back().args.lease});
    flight.not_after = parts.back().args.not_after;
  }
  send(*claims.front()->node, many.acquire(parts), std::move(flight), now);
}

void Engine::on_many_reply(const Flight& flight, Reply reply, Micros sent, Micros now) {
  const auto answers = flight.many->read(reply, flight.asked.size());
  for (std::size_t i = 0; i < flight.asked.size(); ++i) {
    const Asked& asked = flight.asked[i];
    Claim& claim = *asked.claim;
    --claim.in_flight;
    const bool current = claim.epoch == asked.epoch && claim.state != ClaimState::kIdle;
    if (current) {
      claim.ask_out = false;
    }
    if (answers) {
      on_acquire_answer(asked, (*answers)[i], sent, now);
    } else if (current && claim.state == ClaimState::kAsking) {
      on_acquire_error(claim, error_words(reply), now);
    }
    settle(claim, now);
  }
}

// ---- Leaving

// One command a group of slots, of a bounded size: each of its names may have waiters to be served.
void Engine::flush_leaves(const ManyNames& many, Micros now) {
  gathers_leaves_ = false;
  std::map<std::uint16_t, std::vector<Asked>> groups;
  for (const Asked& left : std::exchange(leaves_due_, {})) {
    std::vector<Asked>& group = groups[router_.group_of(left.claim->resource.slot)];
    group.push_back(left);
    if (group.size() == kMostLeft) {
      send_leaves(many, std::exchange(group, {}), now);
    }
  }
  for (const auto& [number, group] : groups) {
    if (!group.empty()) {
      send_leaves(many, group, now);
    }
  }
}

void Engine::send_leaves(const ManyNames& many, const std::vector<Asked>& claims, Micros now) {
  Flight flight;
  flight.kind = FlightKind::kManyLeft;
  flight.many = &many;
  flight.asked = claims;
  std::vector<ManyLeft> parts;
  parts.reserve(claims.size());
  for (const Asked& left : claims) {
    parts.push_back(
        {&left.claim->resource, args_of(*left.claim, *leaving_of(*left.claim, left.epoch))});
  }
  send(*claims.front().claim->node, many.leave(parts), std::move(flight), now);
}

void Engine::on_many_left(const Flight& flight, Reply reply, Micros sent, Micros now) {
  const auto answers = flight.many->read_leave(reply, flight.asked.size());
  gathers_leaves_ = answers.has_value();
  for (std::size_t i = 0; i < flight.asked.size(); ++i) {
    Claim& claim = *flight.asked[i].claim;
    const std::int64_t epoch = flight.asked[i].epoch;
    --claim.in_flight;
    const auto found = leaving_of(claim, epoch);
    if (answers || flight.asked.size() == 1) {
      on_left(claim, epoch, answers ? std::optional((*answers)[i]) : std::nullopt,
              error_words(reply), sent, now);
    } else if (found != claim.leaving.end()) {  // whose fault it is shows only one by one
      found->in_flight = false;
      send_leave(claim, *found, now);
    }
    settle(claim, now);
  }
  flush_leaves(*flight.many, now);
}

// ---- Parts and their lead

Pending& Engine::add_lead(std::int64_t tag, PendingKind kind, const Bundle& bundle, Micros now) {
  Pending& lead = add_pending(tag, kind, now);
  lead.set = bundle.id;
  lead.hold = bundle.id;
  timers_.set(lead.timer, kNever);  // its parts have their time
  return lead;
}

Pending& Engine::add_part(Pending& lead, Micros now) {
  Pending& part = add_pending(--last_part_, lead.kind, now);
  ++parts_pending_;
  part.lead = lead.tag;
  part.set = lead.set;
  ++lead.parts;
  return part;
}

// What comes of it waits for the end of the entry: whoever completes the part is not done with it.
void Engine::on_part_done(const Pending& part, const Event& event) {
  --parts_pending_;
  if (part.kind == PendingKind::kAcquire) {
    Bundle& bundle = *bundles_.at(part.set);
    const auto found = std::find_if(bundle.parts.begin(), bundle.parts.end(),
                                    [&part](const BundlePart& one) { return one.tag == part.tag; });
    if (found == bundle.parts.end()) {
      return;
    }
    found->tag = 0;
    found->hold = event.status.ok() ? event.hold : 0;
    found->fence = event.fence;
    merge(&bundle.failure, event.status);
    want_step(bundle);
    return;
  }
  const auto lead = pendings_.find(part.lead);
  if (lead == pendings_.end()) {
    return;
  }
  Event& whole = lead->second->event;
  merge(&whole.status, event.status);
  whole.remaining = std::min(whole.remaining, event.remaining);
  if (--lead->second->parts == 0) {
    leads_due_.push_back(part.lead);
  }
}

void Engine::on_part_news(const Hold& hold, std::int32_t kind, const Status& status) {
  const auto found = bundles_.find(hold.set);
  if (found == bundles_.end()) {
    return;
  }
  Bundle& bundle = *found->second;
  if (kind == BELAY_EVENT_AT_RISK) {
    bundle.warning = status;
  } else if (kind == BELAY_EVENT_LOST && bundle.stage != BundleStage::kHeld) {
    bundle.lost_a_part = true;
  } else if (kind == BELAY_EVENT_LOST && bundle.loss.ok()) {
    bundle.loss = status;
  }
  want_step(bundle);
}

void Engine::want_step(Bundle& bundle) {
  if (!std::exchange(bundle.due, true)) {
    sets_due_.push_back(bundle.id);
  }
}

void Engine::flush_sets(Micros now) {
  while (!sets_due_.empty() || !leads_due_.empty()) {
    for (const std::int64_t tag : std::exchange(leads_due_, {})) {
      if (const auto lead = pendings_.find(tag); lead != pendings_.end()) {
        complete(*lead->second, std::move(lead->second->event), now);
      }
    }
    for (const std::int64_t id : std::exchange(sets_due_, {})) {
      if (const auto found = bundles_.find(id); found != bundles_.end()) {
        take_step(*found->second, now);
      }
    }
  }
}

void Engine::take_step(Bundle& bundle, Micros now) {
  bundle.due = false;
  if (bundle.stage == BundleStage::kHeld) {
    report(bundle, now);
  } else {
    gather(bundle, now);
  }
}

// ---- From the first name to the last

void Engine::gather(Bundle& bundle, Micros now) {
  if (bundle.tag == 0) {  // it was cancelled, or has failed
    give_back(bundle, now);
    bundles_.erase(bundle.id);
    return;
  }
  const bool trying = bundle.stage == BundleStage::kTrying;
  const bool taken = trying && bundle.failure.code == BELAY_BUSY;
  if (!bundle.failure.ok() && (!taken || bundle.is_try)) {
    give_back(bundle, now);
    complete(*pendings_.at(bundle.tag), bundle.failure, now);
  } else if (bundle.lost_a_part && bundle.is_try) {
    give_back(bundle, now);
    complete(*pendings_.at(bundle.tag),
             Status(BELAY_BUSY, "a name was lost before all were acquired"), now);
  } else if (taken || bundle.lost_a_part) {
    give_back(bundle, now);
    bundle.stage = BundleStage::kTaking;
    bundle.failure = Status();
    bundle.lost_a_part = false;
    bundle.next = 0;
    keep_parts(bundle, now);
    take_next(bundle, now);
  } else if (!trying) {
    take_next(bundle, now);
  } else if (bundle.complete()) {
    begin_hold(bundle, now);
  }
}

// Asks for the next name once all before it are had.
void Engine::take_next(Bundle& bundle, Micros now) {
  while (bundle.next < bundle.order.size() && bundle.failure.ok()) {
    const std::size_t index = bundle.order[bundle.next];
    const BundlePart& part = bundle.parts[index];
    if (part.hold != 0) {
      ++bundle.next;
    } else if (part.tag != 0) {
      return;
    } else if (now >= bundle.wait_until) {
      const Micros since = pendings_.at(bundle.tag)->since;
      bundle.failure = waited_out(part.name, bundle.wait_until - since);
      want_step(bundle);
    } else {
      ask_part(bundle, index, now);
    }
  }
  if (bundle.complete()) {
    begin_hold(bundle, now);
  }
}

// A fixed lease counts from when all are had: until then it begins anew before it ends.
void Engine::keep_parts(Bundle& bundle, Micros now) {
  if (bundle.lease == 0) {
    return;
  }
  for (const BundlePart& part : bundle.parts) {
    const auto hold = holds_.find(part.hold);
    if (hold != holds_.end() && hold->second->claim != nullptr) {
      hold->second->ends_at = now + bundle.lease;
      plan_renewal(*hold->second->claim, now);
      settle(*hold->second->claim, now);
    }
  }
  if (bundle.tag != 0) {
    timers_.set(pendings_.at(bundle.tag)->timer, now + bundle.lease / kKeptTimes);
  }
}

void Engine::begin_hold(Bundle& bundle, Micros now) {
  Pending& lead = *pendings_.at(bundle.tag);
  if (bundle.stage == BundleStage::kTaking) {
    keep_parts(bundle, now);
  }
  for (const BundlePart& part : bundle.parts) {
    Hold& hold = *holds_.at(part.hold);
    hold.max_hold = bundle.max_hold;
    hold.max_at = bundle.max_hold > 0 && bundle.lease == 0 ? now + bundle.max_hold : kNever;
    settle(*hold.claim, now);
  }
  bundle.stage = BundleStage::kHeld;
  bundle.tag = 0;
  want_step(bundle);  // some may be at risk by now
  bundle.since = now;
  lead.hold = bundle.id;
  Event event = outcome(lead, Status());
  event.fences = bundle.fences();
  event.fence = event.fences.front();
  event.permits = 1;
  event.remaining = remaining_of(bundle, now);
  complete(lead, std::move(event), now);
}

// Ends what the set has and asks for, name by name, in the background.
void Engine::give_back(Bundle& bundle, Micros now) {
  gathers_leaves_ = true;
  for (BundlePart& part : bundle.parts) {
    if (const auto asked = pendings_.find(std::exchange(part.tag, 0)); asked != pendings_.end()) {
      Claim& claim = *asked->second->claim;
      complete(*asked->second, Status(BELAY_CANCELLED), now);
      look_for_room(claim, now);
      settle(claim, now);
    }
    const auto held = holds_.find(std::exchange(part.hold, 0));
    if (held == holds_.end()) {
      continue;
    }
    const std::unique_ptr<Hold> hold = std::move(held->second);
    holds_.erase(held);
    if (hold->claim != nullptr) {
      // Whoever was told that all is lost may still act on any of them: their lock-delay begins.
      if (!bundle.loss.ok()) {
        hold->claim->delay_until = now + hold->claim->want.lock_delay;
      }
      part_from(*hold, nullptr, now);
    }
  }
  flush_leaves(*bundle.many, now);
}

// ---- Holding

// Passes on what has happened to the parts.
void Engine::report(Bundle& bundle, Micros now) {
  if (!bundle.loss.ok()) {
    give_back(bundle, now);
    if (!std::exchange(bundle.told_of_loss, true)) {
      count_loss(bundle.since, now);
      tell_of(bundle, BELAY_EVENT_LOST, bundle.loss, now);
    }
    return;
  }
  const bool at_risk =
      std::any_of(bundle.parts.begin(), bundle.parts.end(),
                  [this](const BundlePart& part) { return holds_.at(part.hold)->at_risk; });
  if (at_risk != std::exchange(bundle.at_risk, at_risk)) {
    tell_of(bundle, at_risk ? BELAY_EVENT_AT_RISK : BELAY_EVENT_RECOVERED,
            at_risk ? bundle.warning : Status(), now);
  }
}

void Engine::tell_of(Bundle& bundle, std::int32_t kind, const Status& status, Micros now) {
  if (!bundle.notify) {
    return;
  }
  Event event;
  event.kind = kind;
  event.status = status;
  event.hold = bundle.id;
  event.fences = bundle.fences();
  event.fence = event.fences.front();
  event.remaining = remaining_of(bundle, now);
  events_.on_event(std::move(event));
}

// The least of its parts'; 0 once it is lost.
Micros Engine::remaining_of(const Bundle& bundle, Micros now) const {
  Micros least = bundle.loss.ok() ? kNever : now;
  for (const BundlePart& part : bundle.parts) {
    const auto hold = holds_.find(part.hold);
    if (hold != holds_.end() && hold->second->claim != nullptr) {
      least = std::min({least, hold->second->ends_at, hold->second->claim->deadline});
    }
  }
  return std::max<Micros>(0, least - now);
}

Bundle* Engine::held_set(std::int64_t hold) {
  const auto found = bundles_.find(hold);
  const bool held = found != bundles_.end() && found->second->stage == BundleStage::kHeld;
  return held ? found->second.get() : nullptr;
}

void Engine::release_set(std::int64_t tag, Bundle& bundle, Micros now) {
  Pending& lead = add_lead(tag, PendingKind::kRelease, bundle, now);
  lead.event = outcome(lead, bundle.loss);
  if (!bundle.loss.ok()) {
    complete(lead, bundle.loss, now);
  } else {
    count_release(bundle.since, now);
  }
  const std::unique_ptr<Bundle> ended = std::move(bundles_.at(bundle.id));
  bundles_.erase(ended->id);
  gathers_leaves_ = true;
  for (const BundlePart& part : ended->parts) {
    if (const auto held = holds_.find(part.hold); held != holds_.end()) {
      const std::unique_ptr<Hold> hold = std::move(held->second);
      holds_.erase(held);
      part_from(*hold, &add_part(lead, now), now);
    }
  }
  flush_leaves(*ended->many, now);
}

void Engine::query_set(std::int64_t tag, Bundle& bundle, PendingKind kind, Micros lease,
                       Micros now) {
  Pending& lead = add_lead(tag, kind, bundle, now);
  lead.lease = lease;
  if (!bundle.loss.ok()) {
    complete(lead, bundle.loss, now);
    return;
  }
  lead.event = outcome(lead, Status());
  lead.event.fences = bundle.fences();
  lead.event.fence = lead.event.fences.front();
  lead.event.remaining = kNever;
  for (const BundlePart& part : bundle.parts) {
    Pending& query = add_part(lead, now);
    query.hold = part.hold;
    query.lease = lease;
    holds_.at(part.hold)->asked.push_back(query.tag);
    send_query(query, now);
  }
}

void Engine::abandon_set(Bundle& bundle, Micros now) {
  const std::unique_ptr<Bundle> ended = std::move(bundles_.at(bundle.id));
  bundles_.erase(ended->id);
  for (const BundlePart& part : ended->parts) {
    if (const auto held = holds_.find(part.hold); held != holds_.end()) {
      std::unique_ptr<Hold> hold = std::move(held->second);
      holds_.erase(held);
      abandon_hold(std::move(hold), now);
    }
  }
}

}  // namespace belay
