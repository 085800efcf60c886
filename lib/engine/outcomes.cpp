#include "engine/outcomes.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace belay {

namespace {

// The worst of what the parts have come to; in doubt for the longest.
void merge(Status* worst, const Status& other) {
  const Micros in_doubt_until = std::max(worst->in_doubt_until, other.in_doubt_until);
  if (belay_status_class(other.code) > belay_status_class(worst->code)) {
    *worst = other;
  }
  worst->in_doubt_until = in_doubt_until;
}

}  // namespace

Event Outcomes::outcome(const Pending& pending, Status status) {
  Event event;
  event.kind = pending.kind == PendingKind::kQuery ? pending.query->event_kind()
                                                   : static_cast<std::int32_t>(pending.kind);
  event.tag = pending.tag;
  event.status = std::move(status);
  event.hold = pending.hold;
  return event;
}

void Outcomes::complete(Pending& pending, Status status) {
  Micros taken_for = 0;
  if (status.code == BELAY_BUSY || status.code == BELAY_TIMEOUT) {
    explain(pending, &status);
    taken_for = still_taken(pending);
  }
  const bool hold_is_gone = status.code == BELAY_LOST || status.code == BELAY_UNKNOWN_HOLD;
  if (!status.ok() && !hold_is_gone && pending.may_have_effect()) {
    // Whether a query took place is not known later either.
    status.in_doubt_until =
        pending.query != nullptr
            ? std::max(pending.may_arrive_until, ledger_.now + kMillisecond)
            : std::max(pending.may_arrive_until, ledger_.now + ledger_.config.request_timeout) +
                  pending.lease;
    const Hold* const hold = ledger_.hold(pending.hold);
    if (pending.kind == PendingKind::kDowngrade && hold != nullptr && hold->claim != nullptr) {
      // The renewals go on asking for it.
      status.in_doubt_until = std::max(status.in_doubt_until, hold->claim->held.lapses_by());
    }
  }
  Event event = outcome(pending, std::move(status));
  event.remaining = taken_for;
  complete(pending, std::move(event));
}

// For how long whoever has the name of an acquire that has failed may still have it; 0: not known.
Micros Outcomes::still_taken(const Pending& pending) const {
  if (pending.is_lead()) {
    return std::max<Micros>(0, ledger_.bundle(pending.bundle)->free_by - ledger_.now);
  }
  return pending.claim == nullptr ? 0 : pending.claim->taken_for(ledger_.now);
}

void Outcomes::complete(Pending& pending, Event event) {
  if (event.status.in_doubt_until > ledger_.now) {
    event.in_doubt = event.status.in_doubt_until - ledger_.now;
  }
  assert(ledger_.stands(pending));
  ledger_.retire(pending);
  if (pending.lead.any()) {
    on_part_done(pending, event);
    return;
  }
  if (pending.kind == PendingKind::kAcquire) {
    count_acquire(pending, event.status.code);
  } else if (pending.held_since != kNever && event.status.code == BELAY_LOST) {
    count_loss(pending.held_since, pending.since);
  } else if (pending.held_since != kNever) {
    count_release(pending.held_since, pending.since);
  }
  if (Bundle* const bundle = ledger_.bundle(pending.bundle);
      bundle != nullptr && bundle->tag == pending.tag && !event.status.ok()) {
    bundle->tag = 0;
    ledger_.want_step(*bundle);
  }
  events_.on_event(std::move(event));
}

// Words for an acquire that ends without the name. None for a try for one of several names that is
// not the end of their acquire.
void Outcomes::explain(const Pending& pending, Status* status) const {
  const Bundle* const bundle = ledger_.bundle(pending.bundle);
  const bool goes_on = bundle != nullptr && !bundle->is_try;
  if (pending.primitive == nullptr || (goes_on && status->code == BELAY_BUSY)) {
    return;
  }
  const std::string& name = pending.claim != nullptr ? pending.claim->resource.name : pending.name;
  if (status->code == BELAY_TIMEOUT) {
    const Pending* const lead = ledger_.pending(pending.lead);
    const Micros since = lead == nullptr ? pending.since : lead->since;
    *status = waited_out(name, pending.wait_until - since);
  } else if (bundle != nullptr) {  // the server does not say which
    *status = Status(BELAY_BUSY, "one of the " + std::to_string(bundle->parts.size()) +
                                     " names is held by another owner, others wait for it, or its "
                                     "lock-delay has not passed");
  } else {
    *status = pending.primitive->busy(name);
  }
}

Status Outcomes::lost(std::int64_t hold, const Claim& claim, std::int32_t reason,
                      const std::string& why) {
  Status loss(BELAY_LOST, "hold " + std::to_string(hold) + " of '" + claim.resource.name +
                              "' was lost: " + why);
  loss.reason = reason;
  return loss;
}

Status Outcomes::waited_out(const std::string& name, Micros wait) {
  return {BELAY_TIMEOUT,
          "the wait of " + std::to_string(to_ms(wait)) + " ms for '" + name + "' has ended"};
}

Status Outcomes::unavailable(const Node& node, const std::string& what, Micros within) {
  const std::string limit = " within " + std::to_string(to_ms(within)) + " ms";
  const std::string text = what + limit;
  if (node.trouble().ok()) {
    return {BELAY_UNAVAILABLE, node.display() + ": " + text};
  }
  if (node.trouble().message.ends_with(limit)) {
    return node.trouble();  // it has waited for as long, and says so
  }
  return {BELAY_UNAVAILABLE, text + ": " + node.trouble().message};
}

// What comes of it waits for the end of the entry: whoever completes the part is not done with it.
void Outcomes::on_part_done(const Pending& part, const Event& event) {
  if (part.kind == PendingKind::kAcquire) {
    Bundle& bundle = *ledger_.bundles.at(part.bundle);
    const auto found = std::find_if(bundle.parts.begin(), bundle.parts.end(),
                                    [&part](const BundlePart& one) { return one.tag == part.tag; });
    if (found == bundle.parts.end()) {
      return;
    }
    found->tag = 0;
    found->hold = event.status.ok() ? event.hold : 0;
    found->fence = event.fence;
    merge(&bundle.failure, event.status);
    if (!event.status.ok() && event.remaining > 0) {
      bundle.free_by = std::max(bundle.free_by, after(ledger_.now, event.remaining));
    }
    ledger_.want_step(bundle);
    return;
  }
  Pending* const lead = ledger_.pending(part.lead);
  if (lead == nullptr) {
    return;
  }
  Event& whole = lead->event;
  merge(&whole.status, event.status);
  whole.remaining = std::min(whole.remaining, event.remaining);
  std::erase(lead->parts, part.tag);
  if (lead->parts.empty()) {
    ledger_.leads_due.push_back(part.lead);
  }
}

void Outcomes::tell_of(Hold& hold, std::int32_t kind, Status status) {
  if (hold.bundle != 0) {
    on_part_news(hold, kind, status);
    return;
  }
  if (!hold.notify || hold.abandoned) {
    return;
  }
  Event event;
  event.kind = kind;
  event.status = std::move(status);
  event.hold = hold.id;
  event.fence = hold.fence;
  if (hold.claim != nullptr) {
    event.remaining = std::max<Micros>(0, hold.claim->certain_until(hold) - ledger_.now);
  }
  events_.on_event(std::move(event));
}

void Outcomes::on_part_news(const Hold& hold, std::int32_t kind, const Status& status) {
  Bundle* const found = ledger_.bundle(hold.bundle);
  if (found == nullptr) {
    return;
  }
  Bundle& bundle = *found;
  if (kind == BELAY_EVENT_AT_RISK) {
    bundle.warning = status;
  } else if (kind == BELAY_EVENT_LOST && bundle.stage != BundleStage::kHeld) {
    bundle.lost_a_part = true;
  } else if (kind == BELAY_EVENT_LOST && bundle.loss.ok()) {
    bundle.loss = status;
  }
  ledger_.want_step(bundle);
}

void Outcomes::count_acquire(const Pending& pending, std::int32_t code) {
  Metrics& metrics = ledger_.metrics;
  ++(code == BELAY_OK          ? metrics.grants
     : code == BELAY_BUSY      ? metrics.busy
     : code == BELAY_TIMEOUT   ? metrics.timeouts
     : code == BELAY_CANCELLED ? metrics.cancelled
                               : metrics.failures);
  if (code == BELAY_OK) {
    metrics.wait.add(ledger_.now - pending.since);
  }
}

void Outcomes::count_release(Micros since, Micros until) {
  ++ledger_.metrics.releases;
  ledger_.metrics.hold.add(until - since);
}

void Outcomes::count_loss(Micros since, Micros until) {
  ++ledger_.metrics.lost;
  ledger_.metrics.hold.add(until - since);
}

}  // namespace belay
