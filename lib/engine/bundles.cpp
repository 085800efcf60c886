#include "engine/bundles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "engine/course.h"
#include "engine/departures.h"
#include "engine/operations.h"

namespace belay {

namespace {

constexpr Micros kRestartsPerLease = 3;  // a lease, while the other names are waited for

}  // namespace

// ---- Asking

void Bundles::acquire(std::int64_t tag, const AcquireRequest& request, Micros wait) {
  auto owned = std::make_unique<Bundle>();
  Bundle& bundle = *owned;
  static_cast<AcquireTerms&>(bundle) = static_cast<const AcquireTerms&>(request);
  bundle.id = ++ledger_.last_hold;
  bundle.tag = tag;
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
  bundle.wait_until = after(ledger_.now, wait);
  ledger_.bundles.emplace(bundle.id, std::move(owned));
  add_lead(tag, PendingKind::kAcquire, bundle).hold = 0;
  for (std::size_t i = 0; i < bundle.parts.size() && bundle.failure.ok(); ++i) {
    ask_part(bundle, i);
  }
}

void Bundles::ask_part(Bundle& bundle, std::size_t index) {
  BundlePart& part = bundle.parts[index];
  part.tag = --ledger_.last_part;
  AcquireRequest request{static_cast<const AcquireTerms&>(bundle), part.name, part.want, {}};
  request.max_hold = 0;  // counts from when all are had
  Pending& pending = course_.add_acquire(part.tag, request, 0);
  ++ledger_.parts_pending;
  pending.lead = ledger_.pendings.at(bundle.tag)->ref();
  pending.bundle = bundle.id;
  pending.is_try = bundle.stage == BundleStage::kTrying;
  pending.together = pending.is_try;
  pending.wait_until = bundle.wait_until;
  course_.place(pending);
}

void Bundles::ask_with_others(Claim& claim) {
  if (!std::exchange(claim.ask_due, true)) {
    asks_due_.push_back(&claim);
  }
}

// One command a bundle and group of slots.
void Bundles::send_asks() {
  if (asks_due_.empty()) {
    return;
  }
  std::map<std::pair<std::int64_t, std::uint16_t>, std::vector<Claim*>> groups;
  for (Claim* claim : std::exchange(asks_due_, {})) {
    claim->ask_due = false;
    const bool asks = claim->state == ClaimState::kAsking && !claim->asking.out &&
                      !claim->waiting.empty() && claim->node().up();
    if (asks && claim->waiting.front()->together) {
      groups[{claim->waiting.front()->bundle, ledger_.router.group_of(claim->resource.slot)}]
          .push_back(claim);
    } else {
      if (asks) {  // whose bundle it was that was to ask has given up since
        course_.ask(*claim);
      }
      course_.reconcile(*claim);
    }
  }
  for (const auto& [group, claims] : groups) {
    course_.send_ask(claims);
  }
}

// ---- Parts and their lead

Pending& Bundles::add_lead(std::int64_t tag, PendingKind kind, const Bundle& bundle) {
  Pending& lead = ledger_.add_pending(tag, kind);
  lead.bundle = bundle.id;
  lead.hold = bundle.id;
  ledger_.timers.set(lead.timer, kNever);  // its parts have their time
  return lead;
}

Pending& Bundles::add_part(Pending& lead) {
  Pending& part = ledger_.add_pending(--ledger_.last_part, lead.kind);
  ++ledger_.parts_pending;
  part.lead = lead.ref();
  part.bundle = lead.bundle;
  lead.parts.push_back(part.tag);
  return part;
}

void Bundles::take_steps() {
  while (!ledger_.bundles_due.empty() || !ledger_.leads_due.empty()) {
    for (const PendingRef& due : std::exchange(ledger_.leads_due, {})) {
      // A part may have completed at once, before the next was added.
      Pending* const lead = ledger_.pending(due);
      if (lead != nullptr && lead->parts.empty()) {
        outcomes_.complete(*lead, std::move(lead->event));
      }
    }
    for (const std::int64_t id : std::exchange(ledger_.bundles_due, {})) {
      if (Bundle* const bundle = ledger_.bundle(id); bundle != nullptr) {
        take_step(*bundle);
      }
    }
  }
}

void Bundles::take_step(Bundle& bundle) {
  bundle.due = false;
  if (bundle.stage == BundleStage::kHeld) {
    report(bundle);
  } else {
    gather(bundle);
  }
}

// ---- From the first name to the last

void Bundles::gather(Bundle& bundle) {
  if (bundle.tag == 0) {  // it was cancelled, or has failed
    give_back(bundle);
    ledger_.retire(bundle);
    return;
  }
  const bool trying = bundle.stage == BundleStage::kTrying;
  const bool taken = trying && bundle.failure.code == BELAY_BUSY;
  if (!bundle.failure.ok() && (!taken || bundle.is_try)) {
    if (bundle.failure.code == BELAY_UNAVAILABLE || bundle.failure.code == BELAY_TIMEOUT) {
      bundle.failure.in_doubt_until = doubt_of(bundle).value_or(0);
    }
    give_back(bundle);
    outcomes_.complete(*ledger_.pendings.at(bundle.tag), bundle.failure);
  } else if (bundle.lost_a_part && bundle.is_try) {
    give_back(bundle);
    outcomes_.complete(*ledger_.pendings.at(bundle.tag),
                       Status(BELAY_BUSY, "a name was lost before all were acquired"));
  } else if (taken || bundle.lost_a_part) {
    give_back(bundle);
    bundle.stage = BundleStage::kTaking;
    bundle.failure = Status();
    bundle.lost_a_part = false;
    bundle.answer_by = kNever;
    bundle.free_by = 0;
    bundle.next = 0;
    keep_parts(bundle);
    take_next(bundle);
  } else if (!trying) {
    take_next(bundle);
  } else if (bundle.complete()) {
    conclude(bundle);
  }
}

// Asks for the next name once all before it are had.
void Bundles::take_next(Bundle& bundle) {
  while (bundle.next < bundle.order.size() && bundle.failure.ok()) {
    const std::size_t index = bundle.order[bundle.next];
    const BundlePart& part = bundle.parts[index];
    if (part.hold != 0) {
      ++bundle.next;
    } else if (part.tag != 0) {
      return;
    } else if (ledger_.now >= bundle.wait_until) {
      const Micros since = ledger_.pendings.at(bundle.tag)->since;
      bundle.failure = outcomes_.waited_out(part.name, bundle.wait_until - since);
      ledger_.want_step(bundle);
    } else {
      ask_part(bundle, index);
    }
  }
  if (bundle.complete()) {
    conclude(bundle);
  }
}

void Bundles::on_lead_due(const Pending& lead) {
  Bundle& bundle = *ledger_.bundles.at(lead.bundle);
  ledger_.timers.set(ledger_.pendings.at(lead.tag)->timer, kNever);
  keep_parts(bundle);
  ledger_.want_step(bundle);
}

// A fixed lease counts from when all are had: until then it begins anew before it ends.
void Bundles::keep_parts(Bundle& bundle) {
  if (bundle.lease == 0) {
    return;
  }
  for (const BundlePart& part : bundle.parts) {
    Hold* const hold = ledger_.hold(part.hold);
    if (hold != nullptr && hold->claim != nullptr) {
      hold->ends_at = std::max(hold->ends_at, ledger_.now + bundle.lease);
      watchdog_.plan(*hold->claim);
      course_.reconcile(*hold->claim);
    }
  }
  if (bundle.tag != 0) {
    ledger_.timers.set(ledger_.pendings.at(bundle.tag)->timer,
                       ledger_.now + bundle.lease / kRestartsPerLease);
  }
}

// All are had. Of one that is in question the server's word is waited for, within the bounds of the
// acquire: it may have been broken meanwhile.
void Bundles::conclude(Bundle& bundle) {
  const auto asked =
      std::find_if(bundle.parts.begin(), bundle.parts.end(), [this](const BundlePart& part) {
        return ledger_.holds.at(part.hold)->claim->held.in_question;
      });
  if (asked == bundle.parts.end()) {
    begin_hold(bundle);
    return;
  }
  const Claim& claim = *ledger_.holds.at(asked->hold)->claim;
  if (bundle.answer_by == kNever) {
    bundle.answer_by =
        bundle.is_try ? ledger_.now + timing_.request_timeout()
                      : std::max(bundle.wait_until, ledger_.now + Timing::to_answer(claim.node()));
  } else if (ledger_.now >= bundle.answer_by) {
    const Micros since = ledger_.pendings.at(bundle.tag)->since;
    bundle.failure = outcomes_.unavailable(claim.node(), "no answer", bundle.answer_by - since);
    bundle.failure.in_doubt_until = claim.held.lapses_by();
    ledger_.want_step(bundle);
    return;
  }
  Timer& timer = ledger_.pendings.at(bundle.tag)->timer;
  ledger_.timers.set(timer, std::min(timer.at, bundle.answer_by));
}

void Bundles::begin_hold(Bundle& bundle) {
  Pending& lead = *ledger_.pendings.at(bundle.tag);
  if (bundle.stage == BundleStage::kTaking) {
    keep_parts(bundle);
  }
  for (BundlePart& part : bundle.parts) {
    Hold& hold = *ledger_.holds.at(part.hold);
    // Who shares the name by now may have a newer fence than it had when it came.
    if (hold.claim->shared()) {
      part.fence = hold.fence = hold.claim->held.fence;
    }
    if (bundle.max_hold > 0 && bundle.lease == 0) {
      timing_.limit(hold, bundle.max_hold);
    }
    course_.reconcile(*hold.claim);
  }
  bundle.stage = BundleStage::kHeld;
  bundle.tag = 0;
  ledger_.want_step(bundle);  // some may be at risk by now
  bundle.since = ledger_.now;
  lead.hold = bundle.id;
  Event event = outcomes_.outcome(lead, Status());
  event.fences = bundle.fences();
  event.fence = event.fences.front();
  event.permits = 1;
  event.remaining = remaining_of(bundle);
  outcomes_.complete(lead, std::move(event));
}

// Until when the server may keep one of the names; none if it has answered for all and can be told.
std::optional<Micros> Bundles::doubt_of(const Bundle& bundle) const {
  Micros until = bundle.failure.in_doubt_until;
  bool answered = until == 0;
  for (const BundlePart& part : bundle.parts) {
    if (const Pending* const asked = ledger_.pending(part.tag); asked != nullptr) {
      const std::optional<Micros> doubt = course_.doubt_of(*asked);
      answered = answered && !doubt;
      until = std::max(until, doubt.value_or(0));
    } else if (const Hold* const had = ledger_.hold(part.hold);
               had != nullptr && had->claim != nullptr) {
      answered = answered && had->claim->node().up();
      until = std::max(until, had->claim->held.lapses_by());
    }
  }
  return answered ? std::nullopt : std::optional(until);
}

// Ends what the bundle has and asks for, name by name, in the background.
void Bundles::give_back(Bundle& bundle) {
  departures_.gather();
  for (BundlePart& part : bundle.parts) {
    if (Pending* const asked = ledger_.pending(std::exchange(part.tag, 0)); asked != nullptr) {
      Claim& claim = *asked->claim;
      outcomes_.complete(*asked, Status(BELAY_CANCELLED));
      course_.look_for_room(claim);
      course_.reconcile(claim);
    }
    const std::unique_ptr<Hold> hold = ledger_.take_hold(std::exchange(part.hold, 0));
    if (hold != nullptr && hold->claim != nullptr) {
      // Whoever was told that all is lost may still act on any of them: their lock-delay begins.
      if (!bundle.loss.ok()) {
        hold->claim->on_loss_of(*hold, ledger_.now);
      }
      course_.drop_hold(*hold, nullptr);
    }
  }
  departures_.send_gathered();
}

// ---- Holding

// A fixed lease is one for all names: where one of them was entered again, all last as long.
void Bundles::keep_together(const Bundle& bundle) {
  Micros until = 0;
  for (const BundlePart& part : bundle.parts) {
    until = std::max(until, ledger_.holds.at(part.hold)->ends_at);
  }
  for (const BundlePart& part : bundle.parts) {
    Hold& hold = *ledger_.holds.at(part.hold);
    if (hold.claim != nullptr && hold.ends_at < until) {
      hold.ends_at = until;
      watchdog_.plan(*hold.claim);
      course_.reconcile(*hold.claim);
    }
  }
}

// Passes on what has happened to the parts.
void Bundles::report(Bundle& bundle) {
  if (!bundle.loss.ok()) {
    give_back(bundle);
    if (!std::exchange(bundle.told_of_loss, true)) {
      outcomes_.count_loss(bundle.since, ledger_.now);
      tell_of(bundle, BELAY_EVENT_LOST, bundle.loss);
    }
    return;
  }
  if (std::exchange(bundle.prolonged, false)) {
    keep_together(bundle);
  }
  const bool at_risk =
      std::any_of(bundle.parts.begin(), bundle.parts.end(),
                  [this](const BundlePart& part) { return ledger_.holds.at(part.hold)->at_risk; });
  if (at_risk != std::exchange(bundle.at_risk, at_risk)) {
    tell_of(bundle, at_risk ? BELAY_EVENT_AT_RISK : BELAY_EVENT_RECOVERED,
            at_risk ? bundle.warning : Status());
  }
}

void Bundles::tell_of(Bundle& bundle, std::int32_t kind, const Status& status) {
  if (!bundle.notify) {
    return;
  }
  Event event;
  event.kind = kind;
  event.status = status;
  event.hold = bundle.id;
  event.fences = bundle.fences();
  event.fence = event.fences.front();
  event.remaining = remaining_of(bundle);
  events_.on_event(std::move(event));
}

// The least of its parts'; 0 once it is lost.
Micros Bundles::remaining_of(const Bundle& bundle) const {
  Micros least = bundle.loss.ok() ? kNever : ledger_.now;
  for (const BundlePart& part : bundle.parts) {
    const Hold* const hold = ledger_.hold(part.hold);
    if (hold != nullptr && hold->claim != nullptr) {
      least = std::min(least, hold->claim->certain_until(*hold));
    }
  }
  return std::max<Micros>(0, least - ledger_.now);
}

void Bundles::release(std::int64_t tag, Bundle& bundle) {
  Pending& lead = add_lead(tag, PendingKind::kRelease, bundle);
  lead.event = outcomes_.outcome(lead, bundle.loss);
  if (!bundle.loss.ok()) {
    outcomes_.complete(lead, bundle.loss);
  } else {
    lead.held_since = bundle.since;
  }
  ledger_.retire(bundle);
  departures_.gather();
  for (const BundlePart& part : bundle.parts) {
    if (const std::unique_ptr<Hold> hold = ledger_.take_hold(part.hold); hold != nullptr) {
      course_.drop_hold(*hold, &add_part(lead));
    }
  }
  departures_.send_gathered();
}

Status Bundles::let_go(Bundle& bundle) {
  Status loss = bundle.loss;
  if (loss.ok()) {
    outcomes_.count_release(bundle.since, ledger_.now);
  }
  give_back(bundle);
  ledger_.retire(bundle);
  return loss;
}

void Bundles::ask_about(std::int64_t tag, Bundle& bundle, PendingKind kind, Micros lease) {
  Pending& lead = add_lead(tag, kind, bundle);
  lead.lease = lease;
  if (!bundle.loss.ok()) {
    outcomes_.complete(lead, bundle.loss);
    return;
  }
  lead.event = outcomes_.outcome(lead, Status());
  lead.event.fences = bundle.fences();
  lead.event.fence = lead.event.fences.front();
  lead.event.remaining = kNever;
  for (const BundlePart& part : bundle.parts) {
    Pending& query = add_part(lead);
    query.hold = part.hold;
    query.lease = lease;
    ledger_.holds.at(part.hold)->asked.push_back(query.tag);
    operations_.send(query);
  }
}

void Bundles::abandon(Bundle& bundle) {
  ledger_.retire(bundle);
  for (const BundlePart& part : bundle.parts) {
    if (std::unique_ptr<Hold> hold = ledger_.take_hold(part.hold); hold != nullptr) {
      course_.abandon(std::move(hold));
    }
  }
}

}  // namespace belay
