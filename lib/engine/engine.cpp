// Submissions, time and dispatch.
#include "engine/engine.h"

#include <algorithm>

#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kCloseBound = 2 * kSecond;
// So many messages about epochs that are over make us leave these, in that time: anybody who may
// publish could send any number, and what stands there lapses by itself.
constexpr int kMostStrays = 256;
constexpr Micros kStrayWindow = 5 * kSecond;

std::int32_t event_kind(const Pending& pending) {
  switch (pending.kind) {
    case PendingKind::kAcquire:
      return BELAY_EVENT_ACQUIRED;
    case PendingKind::kRelease:
      return BELAY_EVENT_RELEASED;
    case PendingKind::kExtend:
      return BELAY_EVENT_EXTENDED;
    case PendingKind::kVerify:
      return BELAY_EVENT_VERIFIED;
    case PendingKind::kDowngrade:
      return BELAY_EVENT_DOWNGRADED;
    default:
      return pending.query->event_kind();
  }
}

bool is_query(const Pending& pending) {
  return pending.query != nullptr || (!pending.is_lead() && (pending.kind == PendingKind::kExtend ||
                                                             pending.kind == PendingKind::kVerify));
}

// A blocking call has a tag beyond those of submissions, a part of one below.
bool is_submission(std::int64_t tag) {
  return tag >= 1 && tag <= kMaxId;
}

Status unknown_hold(std::int64_t id) {
  return {BELAY_UNKNOWN_HOLD,
          "hold " + std::to_string(id) + " was never granted, or has been released"};
}

// What a cancel cannot take back, once it may be on its way.
bool has_effect(const Pending& pending) {
  if (pending.kind == PendingKind::kQuery) {
    return pending.query->effect() != Query::Effect::kNone;
  }
  return pending.kind == PendingKind::kRelease || pending.kind == PendingKind::kExtend ||
         pending.kind == PendingKind::kDowngrade;
}

bool may_be_repeated(const Pending& pending) {
  return pending.kind != PendingKind::kQuery || pending.query->effect() != Query::Effect::kOnce;
}

// The hold that lets `owner` re-enter the claim, or none.
const Hold* own_hold(const Claim& claim, std::int64_t owner) {
  const auto found = std::find_if(
      claim.holds.begin(), claim.holds.end(),
      [owner](const Hold* hold) { return owner != 0 && hold->owner == owner && !hold->abandoned; });
  return found == claim.holds.end() ? nullptr : *found;
}

// Who shares a name, or has begun to, cannot have it alone: others may be waiting for the same.
bool would_deadlock(const Claim& claim, const Want& want) {
  const std::string& group = claim.shared() ? claim.want.group : claim.share_with;
  return !group.empty() && group != want.group;
}

// Re-entered holds may be all that is left, and be content to share.
std::string shared_by_all(const Claim& claim) {
  const std::string& group = claim.holds.front()->group;
  const bool all = std::all_of(claim.holds.begin(), claim.holds.end(),
                               [&group](const Hold* hold) { return hold->group == group; });
  return all ? group : std::string();
}

std::string table_key(Kind kind, std::string_view name) {
  std::string key(1, static_cast<char>(kind));
  return key.append(name);
}

}  // namespace

Engine::Engine(const Config& config, const Names& names, std::vector<const Primitive*> primitives,
               Router& router, EngineEvents& events, std::atomic<std::int64_t>& last_hold,
               std::uint64_t seed)
    : config_(config),
      names_(names),
      primitives_(std::move(primitives)),
      router_(router),
      events_(events),
      random_(seed),
      last_hold_(last_hold) {}

// ---- Submissions

// Giving back is never refused, for want of room or as the client has been shut down: the hold was
// lost then. Blocking calls have room: each has a thread of its own.
Status Engine::admit(std::int64_t tag, PendingKind kind) const {
  if (closing_ && kind != PendingKind::kRelease) {
    return {BELAY_CLOSED, "the client has been shut down"};
  }
  if (pendings_.contains(tag)) {
    return {BELAY_TAG_IN_USE, "tag " + std::to_string(tag) + " belongs to a pending submission"};
  }
  const std::size_t count = submissions_ + events_.undelivered();
  const bool full = static_cast<std::int64_t>(count) >= config_.max_pending;
  if (full && is_submission(tag) && kind != PendingKind::kRelease) {
    return {BELAY_TOO_MANY_PENDING, "there are " + std::to_string(count) +
                                        " submissions that are pending or whose events nobody has "
                                        "taken, the limit of this client"};
  }
  return {};
}

Pending& Engine::add_pending(std::int64_t tag, PendingKind kind, Micros now) {
  auto owned = std::make_unique<Pending>();
  Pending& pending = *owned;
  pending.tag = tag;
  pending.order = ++last_order_;
  pending.since = now;
  pending.kind = kind;
  pending.timer.pending = &pending;
  pending.reach_by = now + config_.request_timeout;
  timers_.set(pending.timer, pending.reach_by);
  pendings_.emplace(tag, std::move(owned));
  submissions_ += is_submission(tag) ? 1 : 0;
  return pending;
}

Status Engine::acquire(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now) {
  advance(now);
  if (Status status = admit(tag, PendingKind::kAcquire); !status.ok()) {
    return status;
  }
  if (request.names.size() > 1) {
    acquire_many(tag, request, wait, now);
  } else if (request.want.generation != 0) {
    acquire_generation(add_acquire(tag, request, wait, now), request, now);
  } else {
    place_acquire(add_acquire(tag, request, wait, now), now);
  }
  finish(now);
  return {};
}

Pending& Engine::add_acquire(std::int64_t tag, const AcquireRequest& request, Micros wait,
                             Micros now) {
  Pending& pending = add_pending(tag, PendingKind::kAcquire, now);
  if (request.want.generation == 0) {
    pending.claim = request.primitive->claims_apart() ? &new_claim(*request.primitive, request.name)
                                                      : &claim_of(*request.primitive, request.name);
  }
  pending.is_try = wait == 0;
  pending.wait_until = after(now, wait);
  pending.owner = request.owner;
  pending.want = request.want;
  pending.lease = request.lease;
  pending.max_hold = request.max_hold;
  pending.notify = request.notify;
  return pending;
}

// Grants it at once, refuses it, or lets it wait.
void Engine::place_acquire(Pending& pending, Micros now) {
  Claim& claim = *pending.claim;
  if (const Hold* own = own_hold(claim, pending.owner); own != nullptr) {
    re_enter(claim, pending, own->fence, now);
  } else if (claim.waiting.empty() && may_join(claim, pending, now)) {
    make_hold(claim, pending, claim.fence, after(now, pending.lease > 0 ? pending.lease : kNever),
              now);
    plan_renewal(claim, now);
  } else if (pending.is_try && claim.state != ClaimState::kIdle && !may_be_let_in(claim, pending)) {
    complete(pending, Status(BELAY_BUSY), now);
  } else if (claim.node->refused()) {
    complete(pending, claim.node->trouble(), now);
  } else {
    line_up(claim, pending, now);
  }
  settle(claim, now);
}

// By an owner who has the claim, under the fence of its other holds.
void Engine::re_enter(Claim& claim, Pending& pending, std::int64_t fence, Micros now) {
  if (would_deadlock(claim, pending.want)) {
    complete(pending,
             Status(BELAY_WOULD_DEADLOCK, "owner " + std::to_string(pending.owner) + " shares '" +
                                              claim.resource.name +
                                              "' and cannot wait for the others to leave"),
             now);
    return;
  }
  make_hold(claim, pending, fence, after(now, pending.lease > 0 ? pending.lease : kNever), now);
  plan_renewal(claim, now);
}

void Engine::line_up(Claim& claim, Pending& pending, Micros now) {
  pending.waits = true;
  pending.place = claim.waiting.insert(claim.waiting.end(), &pending);
  if (pending.wait_until == kNever) {
    pending.reach_by = kNever;
  }
  pending.reached = !pending.is_try && (claim.state == ClaimState::kHeld ||
                                        (claim.state == ClaimState::kAsking && claim.ticket != 0));
  timers_.set(pending.timer, pending.reached ? pending.wait_until : pending.reach_by);
  look_for_room(claim, now);
  if (claim.primitive->lets_pass() && claim.state == ClaimState::kAsking) {
    ask(claim, now);  // it may mean what has begun since the latest ask
  }
}

Status Engine::release(std::int64_t tag, std::int64_t id, Micros now) {
  advance(now);
  if (Status status = admit(tag, PendingKind::kRelease); !status.ok()) {
    return status;
  }
  if (Bundle* bundle = held_set(id); bundle != nullptr) {
    release_set(tag, *bundle, now);
    finish(now);
    return {};
  }
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second->set != 0) {
    return unknown_hold(id);
  }
  const std::unique_ptr<Hold> hold = std::move(found->second);
  holds_.erase(found);
  Pending& pending = add_pending(tag, PendingKind::kRelease, now);
  pending.hold = id;
  if (hold->claim == nullptr) {
    complete(pending, hold->loss, now);
    finish(now);
    return {};
  }
  count_release(hold->since, now);
  part_from(*hold, &pending, now);
  finish(now);
  return {};
}

Status Engine::release_nowait(std::int64_t id, Micros now) {
  advance(now);
  const auto found = holds_.find(id);
  Status loss;
  if (Bundle* bundle = held_set(id); bundle != nullptr) {
    loss = bundle->loss;
    if (loss.ok()) {
      count_release(bundle->since, now);
    }
    give_back(*bundle, now);
    bundles_.erase(id);
  } else if (found == holds_.end() || found->second->set != 0) {
    return unknown_hold(id);
  } else {
    const std::unique_ptr<Hold> hold = std::move(found->second);
    holds_.erase(found);
    loss = hold->loss;
    if (hold->claim != nullptr) {
      count_release(hold->since, now);
      part_from(*hold, nullptr, now);
    }
  }
  finish(now);
  return loss;
}

// Takes a hold out of its claim, which goes to the next owner or back to the server. `release`,
// unless null, completes when that is done.
void Engine::part_from(Hold& hold, Pending* release, Micros now) {
  Claim& claim = *hold.claim;
  std::erase(claim.holds, &hold);
  for (const std::int64_t asked : std::exchange(hold.asked, {})) {
    complete(*pendings_.at(asked), Status(BELAY_UNKNOWN_HOLD, "the hold was released meanwhile"),
             now);
  }
  const bool stays = !claim.holds.empty();
  const bool handed = !stays && may_hand_locally(claim, now);
  std::int64_t tag = 0;
  if (release != nullptr && (stays || handed)) {
    complete(*release, Status(), now);
  } else if (release != nullptr) {
    tag = release->tag;
    release->claim = &claim;
    // A grant that was not confirmed ends soon: no reason to give up on the answer.
    if (claim.confirmed) {
      timers_.set(release->timer, std::min(release->reach_by, claim.deadline));
    }
  }
  if (stays) {
    if (!claim.shared() && !shared_by_all(claim).empty()) {
      claim.share_with = shared_by_all(claim);
      want_renewal(claim);
    }
    plan_renewal(claim, now);
  } else if (handed) {
    pass_on(claim, now);
  } else {
    end_claim(claim, true, tag, now);
  }
  settle(claim, now);
}

Status Engine::cancel(std::int64_t tag, Micros now) {
  advance(now);
  const auto found = pendings_.find(tag);
  if (found == pendings_.end()) {
    return {BELAY_UNKNOWN_TAG, "tag " + std::to_string(tag) + " belongs to no pending submission"};
  }
  Pending& pending = *found->second;
  if (!has_effect(pending)) {
    Claim* claim = pending.claim;
    complete(pending, Status(BELAY_CANCELLED), now);
    if (claim != nullptr) {
      look_for_room(*claim, now);
      settle(*claim, now);
    }
  }
  finish(now);
  return {};
}

// The hold lives on without a name until its time is up, so that this client's next claim does not
// take it for freed.
Status Engine::abandon(std::int64_t id, Micros now) {
  advance(now);
  const auto found = holds_.find(id);
  if (Bundle* bundle = held_set(id); bundle != nullptr) {
    abandon_set(*bundle, now);
  } else if (found == holds_.end() || found->second->set != 0) {
    return unknown_hold(id);
  } else {
    std::unique_ptr<Hold> hold = std::move(found->second);
    holds_.erase(found);
    abandon_hold(std::move(hold), now);
  }
  finish(now);
  return {};
}

void Engine::abandon_hold(std::unique_ptr<Hold> hold, Micros now) {
  Claim* claim = hold->claim;
  if (claim == nullptr) {
    return;
  }
  hold->abandoned = true;
  hold->owner = 0;
  hold->ends_at = std::min(hold->ends_at, own_end(*claim, now));
  for (const std::int64_t asked : std::exchange(hold->asked, {})) {
    complete(*pendings_.at(asked), Status(BELAY_UNKNOWN_HOLD, "the hold was abandoned meanwhile"),
             now);
  }
  const std::int64_t id = hold->id;
  abandoned_.emplace(id, std::move(hold));
  settle(*claim, now);
}

Status Engine::shutdown(Micros now) {
  advance(now);
  if (closing_) {
    return {BELAY_CLOSED, "the client has been shut down"};
  }
  closing_ = true;
  close_by_ = now + kCloseBound;
  end_everything(now);
  finish(now);
  return {};
}

void Engine::end_everything(Micros now) {
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : pendings_) {
    if (pending->kind != PendingKind::kRelease) {
      tags.push_back(tag);
    }
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    complete(*pendings_.at(tag), Status(BELAY_CLOSED, "the client was shut down"), now);
  }
  std::vector<Claim*> claims;
  for (const auto& [name, claim] : claims_) {
    claims.push_back(claim.get());
  }
  for (Claim* claim : claims) {
    end_standing(*claim, now);
  }
  flush_sets(now);
  abandoned_.clear();
}

// Whoever holds it learns that it is lost before the server is told to free it.
void Engine::end_standing(Claim& claim, Micros now) {
  for (Leaving& leaving : claim.leaving) {
    if (leaving.looks_after) {  // from now on others do
      send_leave(claim, leaving, now);
    }
  }
  std::erase_if(claim.leaving, [](const Leaving& leaving) { return leaving.looks_after; });
  if (claim.state == ClaimState::kHeld) {
    bool abandoned = false;
    for (Hold* hold : std::exchange(claim.holds, {})) {
      if (hold->abandoned) {
        abandoned = true;
      } else {
        declare_lost(*hold, BELAY_REASON_CLOSED, "the client was shut down", now);
      }
    }
    end_claim(claim, !abandoned, 0, now);
  }
  settle(claim, now);
}

Engine::HoldView Engine::look(std::int64_t id, Micros now) {
  advance(now);
  finish(now);
  if (const Bundle* bundle = held_set(id); bundle != nullptr) {
    const std::int32_t held = bundle->at_risk ? BELAY_HOLD_AT_RISK : BELAY_HOLD_HELD;
    return {bundle->loss.ok() ? held : BELAY_HOLD_LOST, remaining_of(*bundle, now),
            bundle->fences().front(), bundle->fences()};
  }
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second->set != 0) {
    return {};
  }
  const Hold& hold = *found->second;
  if (hold.claim == nullptr) {
    return {BELAY_HOLD_LOST, 0, hold.fence, {}};
  }
  return {hold.at_risk ? BELAY_HOLD_AT_RISK : BELAY_HOLD_HELD,
          std::min(hold.claim->deadline, hold.ends_at) - now,
          hold.fence,
          {}};
}

std::vector<std::int64_t> Engine::holds_of(std::int64_t owner, std::string_view name, Micros now) {
  advance(now);
  finish(now);
  std::vector<std::int64_t> ids;
  const auto claim = claims_.find(table_key(Kind::kLock, name));
  if (claim == claims_.end()) {
    return ids;
  }
  for (const Hold* hold : claim->second->holds) {
    const bool whole = hold->set == 0 || held_set(hold->set) != nullptr;
    if (hold->owner == owner && whole && !hold->abandoned) {
      ids.push_back(hold->known_as());
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// ---- Completions

Event Engine::outcome(const Pending& pending, Status status) const {
  Event event;
  event.kind = event_kind(pending);
  event.tag = pending.tag;
  event.status = std::move(status);
  event.hold = pending.hold;
  return event;
}

// Words for an acquire that ends without the name. None for a try for one of several names that is
// not the end of their acquire.
void Engine::explain(const Pending& pending, Status* status) const {
  const Primitive* primitive =
      pending.claim != nullptr ? pending.claim->primitive : pending.primitive;
  const auto set = bundles_.find(pending.set);
  const bool goes_on = set != bundles_.end() && !set->second->is_try;
  if (primitive == nullptr || (goes_on && status->code == BELAY_BUSY)) {
    return;
  }
  const std::string& name = pending.claim != nullptr ? pending.claim->resource.name : pending.name;
  if (status->code == BELAY_TIMEOUT) {
    const auto lead = pendings_.find(pending.lead);
    const Micros since = lead == pendings_.end() ? pending.since : lead->second->since;
    *status = waited_out(name, pending.wait_until - since);
  } else if (set != bundles_.end()) {  // the server does not say which
    *status = Status(BELAY_BUSY, "one of the " + std::to_string(set->second->parts.size()) +
                                     " names is held by another owner, or others wait for it");
  } else if (primitive->lets_pass()) {
    *status = Status(BELAY_BUSY, "the latch '" + name + "' has not opened");
  } else if (primitive->claims_apart()) {
    *status = Status(BELAY_BUSY, "too few permits of '" + name + "' are free, or others wait");
  } else {
    *status = Status(BELAY_BUSY, "'" + name + "' is held by another owner, or others wait for it");
  }
}

Status Engine::waited_out(const std::string& name, Micros wait) {
  return {BELAY_TIMEOUT,
          "the wait of " + std::to_string(to_ms(wait)) + " ms for '" + name + "' has ended"};
}

void Engine::complete(Pending& pending, Status status, Micros now) {
  if (status.code == BELAY_BUSY || status.code == BELAY_TIMEOUT) {
    explain(pending, &status);
  }
  const bool hold_is_gone = status.code == BELAY_LOST || status.code == BELAY_UNKNOWN_HOLD;
  if (!status.ok() && !hold_is_gone && pending.unanswered > 0 && has_effect(pending)) {
    // Whether a query took place is not known later either.
    status.in_doubt_until =
        pending.query != nullptr
            ? std::max(pending.may_arrive_until, now + kMillisecond)
            : std::max(pending.may_arrive_until, now + config_.request_timeout) + pending.lease;
  }
  complete(pending, outcome(pending, std::move(status)), now);
}

void Engine::complete(Pending& pending, Event event, Micros now) {
  if (event.status.in_doubt_until > now) {
    event.in_doubt = event.status.in_doubt_until - now;
  }
  if (pending.waits) {
    pending.claim->waiting.erase(pending.place);
  }
  if (const auto hold = holds_.find(pending.hold); hold != holds_.end()) {
    std::erase(hold->second->asked, pending.tag);
  }
  timers_.set(pending.timer, kNever);
  const auto found = pendings_.find(pending.tag);
  const std::unique_ptr<Pending> ended = std::move(found->second);
  pendings_.erase(found);
  submissions_ -= is_submission(ended->tag) ? 1 : 0;
  if (ended->lead != 0) {
    on_part_done(*ended, event);
    return;
  }
  if (ended->kind == PendingKind::kAcquire) {
    count_acquire(*ended, event.status.code, now);
  }
  if (const auto bundle = bundles_.find(ended->set);
      bundle != bundles_.end() && bundle->second->tag == ended->tag && !event.status.ok()) {
    bundle->second->tag = 0;
    want_step(*bundle->second);
  }
  events_.on_event(std::move(event));
}

void Engine::count_acquire(const Pending& pending, std::int32_t code, Micros now) {
  switch (code) {
    case BELAY_OK:
      ++metrics_.grants;
      metrics_.wait.add(now - pending.since);
      return;
    case BELAY_BUSY:
      ++metrics_.busy;
      return;
    case BELAY_TIMEOUT:
      ++metrics_.timeouts;
      return;
    case BELAY_CANCELLED:
      ++metrics_.cancelled;
      return;
    default:
      ++metrics_.failures;
  }
}

void Engine::count_release(Micros since, Micros now) {
  ++metrics_.releases;
  metrics_.hold.add(now - since);
}

void Engine::count_loss(Micros since, Micros now) {
  ++metrics_.lost;
  metrics_.hold.add(now - since);
}

// Several names are held by one hold, their parts by one each.
std::size_t Engine::held() const {
  std::size_t count = holds_.size();
  for (const auto& [id, bundle] : bundles_) {
    count += bundle->stage == BundleStage::kHeld ? 1 : 0;
    for (const BundlePart& part : bundle->parts) {
      count -= holds_.contains(part.hold) ? 1 : 0;
    }
  }
  return count;
}

void Engine::tell_of(Hold& hold, std::int32_t kind, Status status, Micros now) {
  if (hold.set != 0) {
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
    event.remaining = std::max<Micros>(0, std::min(hold.claim->deadline, hold.ends_at) - now);
  }
  events_.on_event(std::move(event));
}

Status Engine::unavailable(const Node& node, const std::string& what) const {
  const std::string limit = " within " + std::to_string(to_ms(config_.request_timeout)) + " ms";
  const std::string text = what + limit;
  if (node.trouble().ok()) {
    return {BELAY_UNAVAILABLE, node.display() + ": " + text};
  }
  if (node.trouble().message.ends_with(limit)) {
    return node.trouble();  // it has waited for as long, and says so
  }
  return {BELAY_UNAVAILABLE, text + ": " + node.trouble().message};
}

// ---- Time

// Also takes up what earlier entries have left, a bounded part of it.
void Engine::on_timer(Micros now) {
  advance(now);
  flush_checks(now);
  flush_renewals(now);
  finish(now);
}

// Everything that is due by now happens before anything else: a process that was stopped learns of
// its losses first.
void Engine::advance(Micros now) {
  for (Timer* timer = timers_.first(); timer != nullptr && timer->at <= now;
       timer = timers_.first()) {
    if (timer->claim != nullptr) {
      Claim& claim = *timer->claim;
      on_claim_due(claim, now);
      settle(claim, now);
    } else {
      on_pending_due(*timer->pending, now);
    }
  }
  flush_sets(now);
}

void Engine::finish(Micros now) {
  if (checks_due_.size() <= kMostChecks) {
    flush_checks(now);
  }
  do {
    flush_sets(now);
    flush_asks(now);
    if (renew_due_.size() <= kMostRenewals) {
      flush_renewals(now);
    }
  } while (!sets_due_.empty() || !asks_due_.empty());
  if (!closing_ || closed_) {
    return;
  }
  if (now >= close_by_) {
    time_out_all(now);
  } else if (!claims_.empty() || !pendings_.empty()) {
    return;
  }
  closed_ = true;
  close_by_ = kNever;
  Event event;
  event.kind = BELAY_EVENT_END;
  events_.on_event(std::move(event));
}

// Parts first, whose tags are the lowest: what leads them ends with them.
void Engine::time_out_all(Micros now) {
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : pendings_) {
    tags.push_back(tag);
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    if (const auto pending = pendings_.find(tag); pending != pendings_.end()) {
      time_out(*pending->second, now);
      flush_sets(now);
    }
  }
}

void Engine::on_pending_due(Pending& pending, Micros now) {
  if (pending.is_lead()) {
    keep_parts(*bundles_.at(pending.set), now);
    return;
  }
  if (is_query(pending) && now < pending.reach_by) {
    send_query(pending, now);
    timers_.set(pending.timer, pending.reach_by);
    return;
  }
  time_out(pending, now);
}

void Engine::time_out(Pending& pending, Micros now) {
  Claim* claim = pending.claim;
  Status status;
  if (pending.kind == PendingKind::kAcquire && claim != nullptr) {
    status = acquire_timeout(pending);
  } else if (pending.kind == PendingKind::kRelease) {
    status = release_timeout(pending);
  } else {
    const char* const what =
        pending.answered_in_part ? "the end of the answer did not come" : "no answer";
    status = pending.trouble.ok() ? unavailable(node_for(pending), what) : pending.trouble;
  }
  complete(pending, std::move(status), now);
  if (claim != nullptr) {
    look_for_room(*claim, now);
    settle(*claim, now);
  }
}

// Only who has been told that the lock is taken can have waited too long for it.
Status Engine::acquire_timeout(const Pending& pending) const {
  const Claim& claim = *pending.claim;
  if (pending.reached && claim.node->up()) {
    return Status(BELAY_TIMEOUT);
  }
  Status status = claim.refusal.ok() ? unavailable(*claim.node, "no answer") : claim.refusal;
  status.in_doubt_until = claim.matters_until;
  return status;
}

// The release itself goes on. The name may also stand for an older claim of ours, whose acquire was
// cut off and may still arrive (rule 15).
Status Engine::release_timeout(const Pending& pending) const {
  Status status = unavailable(*pending.claim->node, "the release was not answered");
  for (Leaving& leaving : pending.claim->leaving) {
    const bool own = leaving.tag == pending.tag;
    const Micros until = own                        ? leaving.matters_until
                         : leaving.sweep_until != 0 ? leaving.cut_until
                                                    : 0;
    status.in_doubt_until = std::max(status.in_doubt_until, until);
    leaving.tag = own ? 0 : leaving.tag;
  }
  return status;
}

// ---- Commands and what comes back

std::uint64_t Engine::send(Node& node, Command command, Flight flight, Micros now) {
  command.id = ++last_command_;
  if (flight.claim != nullptr) {
    ++flight.claim->in_flight;
  }
  for (const Renewed& renewed : flight.renewed) {
    ++renewed.claim->in_flight;
  }
  for (const Asked& asked : flight.asked) {
    ++asked.claim->in_flight;
  }
  flight.node = &node;
  flights_.emplace(command.id, std::move(flight));
  node.send(command, now);
  return command.id;
}

void Engine::on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) {
  const auto found = flights_.find(id);
  if (found == flights_.end()) {
    return;
  }
  const Flight flight = std::move(found->second);
  flights_.erase(found);
  metrics_.round_trip.add(now - sent);
  advance(now);
  if (flight.kind == FlightKind::kRenew) {
    on_renew_reply(flight, reply, sent, now);
  } else if (flight.kind == FlightKind::kMany) {
    on_many_reply(flight, reply, sent, now);
  } else if (flight.kind == FlightKind::kManyLeft) {
    on_many_left(flight, reply, sent, now);
  } else if (flight.kind == FlightKind::kWatch) {
    on_watch_reply(flight, reply);
  } else if (flight.kind == FlightKind::kQuery) {
    const auto pending = pendings_.find(flight.tag);
    if (pending != pendings_.end() && pending->second->command == id) {
      on_query_reply(*pending->second, reply, sent, now);
    }
  } else {
    --flight.claim->in_flight;
    if (flight.kind == FlightKind::kAcquire) {
      on_acquire_reply(*flight.claim, flight, reply, sent, now);
    } else {
      on_left(*flight.claim, flight.epoch, flight.claim->primitive->read_leave(reply),
              error_words(reply), sent, now);
    }
    settle(*flight.claim, now);
  }
  static_cast<void>(node);
  finish(now);
}

// Whether a message about an epoch that is over may make us leave it. One that stands for another
// name or kind may not: its leave would free it. Nor one that is newer than what stands for this
// name: its leave would take that out of the queue.
bool Engine::admit_stray(const Claim* claim, const Message& message, Micros now) {
  const bool newer =
      claim != nullptr && claim->state != ClaimState::kIdle && message.epoch > claim->epoch;
  if (message.epoch < 1 || message.epoch > last_epoch_ || epochs_.contains(message.epoch) ||
      newer) {
    return false;
  }
  if (now - strays_since_ >= kStrayWindow) {
    strays_since_ = now;
    strays_ = 0;
  }
  return ++strays_ <= kMostStrays;
}

// Rule 12: a message about an epoch that is over. False: it is none for us, or one too many.
bool Engine::on_stray(const Message& message, Micros now) {
  if (message.kind == MessageKind::kPassed) {
    return true;  // nothing of it is left there
  }
  const Primitive& primitive = *primitives_[static_cast<std::size_t>(message.of) - 1];
  const auto known = claims_.find(table_key(message.of, message.name));
  Claim* claim = known == claims_.end() ? nullptr : known->second.get();
  if (message.kind == MessageKind::kSettled) {
    if (claim != nullptr) {
      on_settled(*claim, message.epoch, now);
      settle(*claim, now);
    }
    return true;
  }
  const bool leaves = claim != nullptr && leaving_of(*claim, message.epoch) != claim->leaving.end();
  if (!leaves && !admit_stray(claim, message, now)) {
    return false;
  }
  if (claim == nullptr) {
    claim = primitive.claims_apart() ? &new_claim(primitive, message.name)
                                     : &claim_of(primitive, message.name);
  }
  Leaving leaving;
  leaving.epoch = message.epoch;
  leaving.matters_until = now + config_.watchdog_lease;
  leaving.stray = true;
  // A holder who released it has said so before: whoever is taken for one has lost it. So also
  // where the message is its grant, which may be an old one that somebody sends again.
  leaving.lost = true;
  leave(*claim, leaving, now);
  settle(*claim, now);
  return true;
}

// About the epoch that stands. Grants and that a latch has passed are the server's word; anybody
// may have sent the others: they make us ask, or say when to.
void Engine::on_message(Claim& claim, const Message& message, Micros now) {
  if (message.kind == MessageKind::kSettled) {
    on_settled(claim, message.epoch, now);
  } else if (message.kind == MessageKind::kPassed) {
    on_passed(claim, message, now);
  } else if (message.kind == MessageKind::kGrant) {
    const Micros lease = message.grant_lease;
    // Rule 4. Without a bound the message vouches for nothing, nor does one that the server has
    // answered after: a deadline in the past makes us ask.
    const Micros deadline =
        claim.node->clock().known(now) && message.server_time >= claim.answered_at
            ? message.server_time + lease - claim.node->clock().bound(now) - lease_margin(lease)
            : 0;
    on_grant(claim,
             {message.epoch, message.fence, message.last_fence, claim.want.permits, deadline, lease,
              false, message.others_wait},
             now);
  } else if (message.kind == MessageKind::kNext && claim.state == ClaimState::kAsking) {
    // Not later than its poll: a bound of the clock that is too old believes no grant.
    claim.ask_at =
        std::min(claim.poll_at, now + std::min(message.look_in + kLookAfter, fallback_poll(0)));
    claim.told_to_look = true;
  } else if (message.kind == MessageKind::kWaits && claim.state == ClaimState::kHeld) {
    others_are_waiting(claim, now);
  } else if (message.kind == MessageKind::kBroken && claim.state == ClaimState::kHeld) {
    // A renewal that is out was executed after the break, and will tell.
    claim.broken_by = message.by;
    want_renewal(claim);
  }
}

void Engine::on_node_message(Node& node, std::string_view payload, Micros now) {
  ++metrics_.messages;
  const std::optional<Message> message = names_.read_message(payload);
  if (!message || static_cast<std::size_t>(message->of) > primitives_.size()) {
    node.dropped_messages(1, now);
    return;
  }
  advance(now);
  if (message->kind == MessageKind::kGrant || message->kind == MessageKind::kPassed) {
    node.saw_time(message->server_time, 0, now);
  }
  if (Claim* claim = standing_claim(*message); claim != nullptr) {
    on_message(*claim, *message, now);
    settle(*claim, now);
  } else if (!on_stray(*message, now)) {
    node.dropped_messages(1, now);
  }
  finish(now);
}

// Rule 13: leaves go before acquires and renewals.
void Engine::on_node_up(Node& node, Micros now) {
  ++metrics_.connections;
  advance(now);
  want_checks(node);
  send_queries(node, now);
  end_wait_for_clock(now);
  finish(now);
}

// The server is to be asked about every claim anew, of a bounded number in each entry.
void Engine::want_checks(const Node& node) {
  for (const auto& [name, claim] : claims_) {
    if (claim->node != &node || std::exchange(claim->check_due, true)) {
      continue;
    }
    if (claim->leaving.empty()) {
      checks_due_.push_back(claim.get());
    } else {
      checks_due_.push_front(claim.get());
    }
  }
}

void Engine::flush_checks(Micros now) {
  for (std::size_t left = std::min(kMostChecks, checks_due_.size()); left > 0; --left) {
    Claim& claim = *checks_due_.front();
    checks_due_.pop_front();
    claim.check_due = false;
    if (claim.node->up()) {
      send_leaves(claim, now);
    }
    if (claim.state == ClaimState::kAsking) {
      ask(claim, now);
    } else if (claim.state == ClaimState::kHeld) {
      want_renewal(claim);
    }
    settle(claim, now);
  }
}

// On a new connection.
void Engine::send_queries(Node& node, Micros now) {
  std::vector<Pending*> queries;
  for (const auto& [tag, pending] : pendings_) {
    if (is_query(*pending) && &node_for(*pending) == &node) {
      queries.push_back(pending.get());
    }
  }
  send_in_order(std::move(queries), now);
}

// Of their submission: what changes something may build on what came before.
void Engine::send_in_order(std::vector<Pending*> queries, Micros now) {
  std::sort(queries.begin(), queries.end(),
            [](const Pending* left, const Pending* right) { return left->order < right->order; });
  for (Pending* query : queries) {
    send_query(*query, now);
  }
}

// Where older connections were killed, nothing of theirs can arrive any more.
void Engine::send_leaves(Claim& claim, Micros now) {
  const bool ghosts = claim.node->has_ghosts();
  claim.suspect_until = ghosts ? claim.suspect_until : 0;
  for (Leaving& leaving : claim.leaving) {
    leaving.sweep_until = ghosts ? leaving.sweep_until : 0;
    if (!leaving.looks_after || leaving.again_at == kNever) {
      send_leave(claim, leaving, now);
    }
  }
}

// Nothing is in flight any more, and nothing is asked until there is a new connection.
void Engine::on_node_down(Node& node, Micros now) {
  advance(now);
  std::vector<Claim*> claims;
  std::erase_if(flights_, [this, &node, &claims](const auto& entry) {
    const bool gone = entry.second.node == &node;
    if (gone) {
      give_up_on(entry.first, entry.second, &claims);
    }
    return gone;
  });
  for (Claim* claim : claims) {
    reset_claim(*claim, now);
  }
  // From now on the connection is what is wrong.
  for (const auto& [name, claim] : claims_) {
    claim->refusal = claim->node == &node ? Status() : claim->refusal;
  }
  for (const auto& [tag, pending] : pendings_) {
    pending->trouble = &node_for(*pending) == &node ? Status() : pending->trouble;
  }
  end_wait_for_clock(now);
  finish(now);
}

// No reply will come. Adds the claims that nothing else refers to.
void Engine::give_up_on(std::uint64_t id, const Flight& flight, std::vector<Claim*>* claims) {
  const auto let_go = [claims](Claim* claim) {
    if (--claim->in_flight == 0) {
      claims->push_back(claim);
    }
  };
  if (flight.claim != nullptr) {
    if (flight.kind == FlightKind::kAcquire) {
      suspect(*flight.claim, flight.epoch, flight.not_after);
    }
    let_go(flight.claim);
  }
  for (const Asked& asked : flight.asked) {
    suspect(*asked.claim, asked.epoch, flight.not_after);
    let_go(asked.claim);
  }
  for (const Renewed& renewed : flight.renewed) {
    let_go(renewed.claim);
  }
  const auto pending = pendings_.find(flight.tag);
  if (pending != pendings_.end() && pending->second->command == id &&
      may_be_repeated(*pending->second)) {
    pending->second->command = 0;
  }
}

// Rule 15: an acquire whose reply was lost in a cut may still arrive, until its not-after.
void Engine::suspect(Claim& claim, std::int64_t epoch, Micros not_after) {
  if (claim.state != ClaimState::kIdle && claim.epoch == epoch) {
    claim.suspect_until = std::max(claim.suspect_until, not_after);
    claim.cut_until = std::max(claim.cut_until, claim.matters_until);
    claim.may_stand = true;
  }
  for (Leaving& leaving : claim.leaving) {
    if (leaving.epoch == epoch) {
      leaving.sweep_until = std::max(leaving.sweep_until, not_after);
    }
  }
}

// What it had in flight is lost.
void Engine::reset_claim(Claim& claim, Micros now) {
  claim.ask_out = false;
  claim.ask_at = kNever;
  if (std::exchange(claim.renew_out, false)) {  // it may have taken place
    claim.lapses_at = std::max(claim.lapses_at, claim.renewed_until);
  }
  claim.renew_at = kNever;
  std::erase_if(claim.leaving, [](const Leaving& leaving) { return leaving.stray; });
  for (Leaving& leaving : claim.leaving) {
    leaving.in_flight = false;
    leaving.again_at = leaving.looks_after ? leaving.again_at : kNever;
  }
  settle(claim, now);
}

// Whoever waits is told at once.
void Engine::on_node_refused(Node& node, Micros now) {
  advance(now);
  std::vector<std::int64_t> tags;
  for (const auto& [tag, pending] : pendings_) {
    if (&node_for(*pending) == &node && (pending->waits || is_query(*pending))) {
      tags.push_back(tag);
    }
  }
  std::sort(tags.begin(), tags.end());
  for (const std::int64_t tag : tags) {
    Pending& pending = *pendings_.at(tag);
    Claim* claim = pending.claim;
    complete(pending, node.trouble(), now);
    if (claim != nullptr) {
      settle(*claim, now);
    }
  }
  finish(now);
}

void Engine::on_node_flushed(Node& node, Micros now) {
  advance(now);
  want_checks(node);
  finish(now);
}

// A renewal that is out was executed after the change, and will tell. Else one goes out at the next
// entry, together with those of what else has changed.
void Engine::on_node_changed(Node& node, std::string_view key, Micros now) {
  advance(now);
  const std::optional<std::string> name = names_.name_of_key(key);
  const auto claim = claims_.find(table_key(Kind::kLock, name.value_or("")));
  if (claim != claims_.end() && claim->second->node == &node &&
      claim->second->state == ClaimState::kHeld) {
    want_renewal(*claim->second);
  }
}

void Engine::on_node_clock(Node& /*node*/, Micros now) {
  advance(now);
  end_wait_for_clock(now);
  finish(now);
}

// What waits for another node's asks for that again.
void Engine::end_wait_for_clock(Micros now) {
  std::vector<Pending*> queries;
  for (const std::int64_t tag : std::exchange(queries_for_clock_, {})) {
    if (const auto pending = pendings_.find(tag); pending != pendings_.end()) {
      queries.push_back(pending->second.get());
    }
  }
  send_in_order(std::move(queries), now);
  checks_due_.insert(checks_due_.end(), claims_for_clock_.begin(), claims_for_clock_.end());
  claims_for_clock_.clear();
}

// ---- The table of claims

Claim& Engine::claim_of(const Primitive& primitive, std::string_view name) {
  const auto found = claims_.find(table_key(primitive.kind(), name));
  return found != claims_.end() ? *found->second
                                : add_claim(primitive, name, table_key(primitive.kind(), name));
}

Claim& Engine::new_claim(const Primitive& primitive, std::string_view name) {
  return add_claim(primitive, name,
                   table_key(primitive.kind(), name) + '\0' + std::to_string(++last_claim_));
}

Claim& Engine::add_claim(const Primitive& primitive, std::string_view name, std::string key) {
  auto owned = std::make_unique<Claim>();
  Claim& claim = *owned;
  claim.primitive = &primitive;
  claim.key = key;
  claim.resource = primitive.resource(name);
  claim.node = &router_.node_of(claim.resource.slot);
  claim.timer.claim = &claim;
  claims_.emplace(std::move(key), std::move(owned));
  return claim;
}

// The claim that a message is about, if its epoch is not over.
Claim* Engine::standing_claim(const Message& message) const {
  const auto found = epochs_.find(message.epoch);
  const bool known = found != epochs_.end() && found->second->resource.name == message.name &&
                     found->second->primitive->kind() == message.of;
  return known ? found->second : nullptr;
}

// Brings a claim in line with who wants it, forgets it if nobody does, and sets its timer
// otherwise. Every entry ends with it.
void Engine::settle(Claim& claim, Micros now) {
  if (claim.state != ClaimState::kIdle && claim.waiting.empty() && claim.holds.empty()) {
    end_claim(claim, claim.state == ClaimState::kHeld || claim.not_after != 0, 0, now);
  } else if (claim.state == ClaimState::kAsking && !claim.waiting.front()->want.suits(claim.want)) {
    end_claim(claim, claim.not_after != 0, 0, now);
  }
  if (claim.state == ClaimState::kIdle && !claim.waiting.empty()) {
    start_claim(claim, now);
  }
  const bool idle = claim.state == ClaimState::kIdle && claim.leaving.empty() &&
                    claim.in_flight == 0 && !claim.renew_due && !claim.ask_due && !claim.check_due;
  timers_.set(claim.timer, idle ? kNever : claim_deadline(claim));
  if (idle) {
    claims_.erase(claims_.find(claim.key));
  }
}

}  // namespace belay
