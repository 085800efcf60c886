// The watchdog: what is renewed when, in batches, and what the answers mean.
#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr std::size_t kBatch = 64;
constexpr std::int64_t kMaxReserve = 64;  // fences must not run far ahead of the clock
// Renewals within such a part of a lease go out together.
constexpr Micros kGridDivisor = 64;
constexpr Micros kTolerance = kMillisecond;
constexpr Micros kRetryPause = 100 * kMillisecond;

// The lease to ask for so that, its margin taken off, `remaining` is left.
Micros lease_covering(Micros remaining) {
  return (remaining + 10 * kMillisecond) * 100 / 99 + 1;
}

}  // namespace

bool Engine::runs_short_of_fences(const Claim& claim) {
  const std::int64_t left = claim.last_fence - claim.next_fence + 1;
  return next_wants_the_same(claim) && left <= claim.reserve / 2;
}

// Whether somebody could join but for another client that waits, which may give up.
bool Engine::waits_for_others(const Claim& claim) {
  return claim.shared() && claim.others_wait && !claim.waiting.empty() &&
         claim.waiting.front()->want.suits(claim.want);
}

// What the server must be asked for: the longest that a hold needs. Nobody holding (the next owner
// waits for a fence): the watchdog's.
Micros Engine::wanted_lease(const Claim& claim, Micros now) const {
  Micros wanted = claim.holds.empty() ? config_.watchdog_lease : 0;
  for (const Hold* hold : claim.holds) {
    if (hold->watched()) {
      wanted = std::max(wanted, config_.watchdog_lease);
    } else if (hold->lease > 0 && !hold->abandoned) {
      wanted = std::max(wanted, lease_covering(hold->ends_at - now));
    }
  }
  if (!claim.waiting.empty() && wants_to_join(claim, *claim.waiting.front())) {
    wanted = std::max(wanted, lease_for(*claim.waiting.front()));
  }
  return wanted;
}

// When a record has lapsed for certain for which such a lease is asked for until then; 0: none is.
Micros Engine::lapses_by(const Node& node, Micros not_after, Micros lease) {
  return lease > 0 ? node.clock().passed_by(not_after + lease) : 0;
}

// Sets when to renew next; a grant that is not confirmed yet has its time already.
void Engine::plan_renewal(Claim& claim, Micros now) {
  if (!claim.confirmed || claim.state != ClaimState::kHeld) {
    return;
  }
  claim.renew_at = kNever;
  for (const Hold* hold : claim.holds) {
    if (hold->watched()) {
      const Micros lease = config_.watchdog_lease;
      const Micros due = claim.deadline + lease_margin(lease) - lease / 3 * 2;
      claim.renew_at =
          std::min(claim.renew_at, due - due % std::max<Micros>(1, lease / kGridDivisor));
    } else if (hold->lease > 0 && !hold->abandoned && hold->ends_at > claim.deadline + kTolerance) {
      claim.renew_at = now;
    }
    if (!hold->abandoned) {
      claim.renew_at = std::min(claim.renew_at, claim.look_at);
    }
  }
  if (runs_short_of_fences(claim) || !claim.share_with.empty()) {
    claim.renew_at = now;
  }
  if (waits_for_others(claim)) {
    claim.renew_at = std::min(claim.renew_at, claim.heard_at + fallback_poll(0));
  }
  if (claim.renew_at <= now) {
    want_renewal(claim);
  }
}

void Engine::want_renewal(Claim& claim) {
  claim.renew_at = kNever;
  if (!claim.renew_out && !claim.renew_due && claim.node->up()) {
    claim.renew_due = true;
    renew_due_.push_back(&claim);
  }
}

// One command a node and up to kBatch claims. What is beyond the bound is left to the next timer.
void Engine::flush_renewals(Micros now) {
  std::vector<Claim*> batch;
  for (std::size_t left = std::min(kMostRenewals, renew_due_.size()); left > 0; --left) {
    Claim* const claim = renew_due_.front();
    renew_due_.pop_front();
    claim->renew_due = false;
    if (claim->state != ClaimState::kHeld || !claim->node->up()) {
      settle(*claim, now);
      continue;
    }
    if (std::exchange(claim->renew_alone, false)) {
      send_renewals({claim}, now);
      continue;
    }
    if (batch.size() == kBatch || (!batch.empty() && batch.front()->node != claim->node)) {
      send_renewals(batch, now);
      batch.clear();
    }
    batch.push_back(claim);
  }
  if (!batch.empty()) {
    send_renewals(batch, now);
  }
}

// Of claims on one node.
void Engine::send_renewals(const std::vector<Claim*>& claims, Micros now) {
  std::int64_t highest = 0;
  for (const Claim* claim : claims) {
    highest = std::max(highest, highest_fence_of(claim->resource.slot));
  }
  Node& node = *claims.front()->node;
  const Micros not_after = not_after_of(node, now);
  Command command = names_.renew(highest, not_after);
  Flight flight;
  flight.kind = FlightKind::kRenew;
  for (Claim* claim : claims) {
    flight.renewed.push_back(renewal_of(*claim, &command, not_after, now));
    ++metrics_.renewals;
    settle(*claim, now);
  }
  send(node, std::move(command), std::move(flight), now);
  watch(claims, now);
}

// A record that several share is written whenever one of them comes or goes: it is not watched.
bool Engine::watchable(const Claim& claim) {
  return claim.node->can_watch() && !claim.shared() && claim.primitive->kind() == Kind::kLock;
}

// Of claims on one node.
void Engine::watch(const std::vector<Claim*>& claims, Micros now) {
  std::vector<std::string_view> records;
  Flight flight;
  flight.kind = FlightKind::kWatch;
  flight.node = claims.front()->node;
  for (const Claim* claim : claims) {
    if (watchable(*claim)) {
      records.push_back(claim->resource.keys.front());
      flight.watched.push_back(claim->epoch);
    }
  }
  if (!records.empty()) {
    flight.node->watch(++last_command_, records, now);
    flights_.emplace(last_command_, std::move(flight));
  }
}

// A record that is gone is not watched: what its holder is told of it, a renewal finds out.
void Engine::on_watch_reply(const Flight& flight, Reply reply) {
  if (reply.is_error() || reply.integer() >= static_cast<std::int64_t>(flight.watched.size())) {
    return;
  }
  for (const std::int64_t epoch : flight.watched) {
    const auto claim = epochs_.find(epoch);
    if (claim != epochs_.end() && claim->second->state == ClaimState::kHeld) {
      want_renewal(*claim->second);
    }
  }
}

RenewArgs Engine::renew_args(const Claim& claim, Micros lease) {
  RenewArgs args;
  args.kind = claim.primitive->kind();
  args.epoch = claim.epoch;
  args.lease = lease;
  args.fence = claim.fence;
  args.holds = claim.holds.size();
  args.local_waiters = claim.waiting.size();
  args.group = claim.share_with;
  args.fence_of_group = claim.next_fence - 1;
  return args;
}

Engine::Renewed Engine::renewal_of(Claim& claim, Command* command, Micros not_after,
                                   Micros now) const {
  RenewArgs args = renew_args(claim, wanted_lease(claim, now));
  if (runs_short_of_fences(claim)) {
    claim.reserve = std::min(2 * claim.reserve, kMaxReserve);
    args.reserve = claim.reserve;
  }
  claim.renew_out = true;
  claim.renewed_at = now;
  claim.renewed_until = lapses_by(*claim.node, not_after, args.lease);
  claim.renew_at = kNever;
  claim.look_at = kNever;
  names_.add_renewal(claim.resource, args, command);
  return {&claim, claim.epoch, args.lease, args.reserve, args.group};
}

// None unless it is about all of them. Late: it did nothing.
std::optional<RenewAnswers> Engine::read_renewal(const Flight& flight, Reply reply, bool* late,
                                                 Micros sent, Micros now) {
  if (reply.is_error()) {
    return std::nullopt;
  }
  const std::optional<Micros> late_at = names_.read_late(reply);
  const std::optional<RenewAnswers> answers = names_.read_renew(reply);
  const bool whole = answers && answers->claims.size() == flight.renewed.size();
  if (whole || late_at) {
    flight.node->saw_time(late_at ? *late_at : answers->server_time, sent, now);
  }
  *late = late_at.has_value();
  return whole ? answers : std::nullopt;
}

void Engine::on_renew_reply(const Flight& flight, Reply reply, Micros sent, Micros now) {
  bool late = false;
  const std::optional<RenewAnswers> answers = read_renewal(flight, reply, &late, sent, now);
  for (std::size_t i = 0; i < flight.renewed.size(); ++i) {
    const Renewed& renewed = flight.renewed[i];
    Claim& claim = *renewed.claim;
    --claim.in_flight;
    const bool current = claim.state == ClaimState::kHeld && claim.epoch == renewed.epoch;
    claim.renew_out = claim.renew_out && !current;
    if (current && answers) {
      on_renewed(renewed, answers->claims[i], sent, now);
    } else if (current && late) {
      claim.renew_at = now;
    } else if (current) {
      on_renewal_error(claim, error_words(reply), flight.renewed.size() == 1, now);
    }
    settle(claim, now);
  }
}

// `alone`: the command was about this claim only.
void Engine::on_renewal_error(Claim& claim, std::string_view words, bool alone, Micros now) {
  const ServerError error = classify_error(words);
  claim.refusal = {error.status,
                   claim.node->display() + " refused to renew it: " + claim.node->explained(words)};
  if (error.status == BELAY_WRONG_TYPE && alone) {
    lose_claim(claim, BELAY_REASON_GONE, claim.refusal.message, now);
    return;
  }
  const bool at_once = error.remedy == Remedy::kAskAgain || !alone;
  claim.renew_alone = error.remedy == Remedy::kGiveUp;
  claim.renew_at = at_once ? now : now + kRetryPause;
}

void Engine::on_renewed(const Renewed& renewed, const RenewAnswer& answer, Micros sent,
                        Micros now) {
  Claim& claim = *renewed.claim;
  if (answer.code == RenewCode::kUnreadable) {
    lose_claim(claim, BELAY_REASON_GONE, "its key on the server was overwritten", now);
    return;
  }
  if (answer.code != RenewCode::kOk) {
    lose_claim(claim, claim.broken_by.empty() ? BELAY_REASON_GONE : BELAY_REASON_BROKEN,
               claim.broken_by.empty() ? "the server does not know it any more"
                                       : "it was broken by " + claim.broken_by,
               now);
    return;
  }
  claim.broken_by.clear();
  claim.refusal = Status();
  claim.last_fence = std::max(claim.last_fence, answer.last_fence);
  saw_fence(claim.resource.slot, claim.last_fence);
  claim.heard_at = now;
  if (answer.others_wait) {
    others_are_waiting(claim, now);
  } else {
    claim.others_wait = false;
  }
  if (!renewed.group.empty()) {
    become_shared(claim, renewed.group, now);
  }
  // A renewal of no lease only says that it is ours.
  vouch(claim, renewed.lease > 0 ? sent + renewed.lease - lease_margin(renewed.lease) : 0,
        renewed.lease, now);
  if (claim.holds.empty() && !claim.waiting.empty()) {
    if (may_hand_locally(claim, now)) {
      pass_on(claim, now);
    } else {
      end_claim(claim, true, 0, now);
    }
  }
}

// The server has said that the claim is ours, until `deadline` at least.
void Engine::vouch(Claim& claim, Micros deadline, Micros lease, Micros now) {
  claim.confirmed = true;
  claim.lapses_at = std::max(claim.lapses_at, now + drifted(lease));
  if (deadline > claim.deadline) {
    claim.deadline = deadline;
    claim.vouched = lease;
  }
  for (Hold* hold : claim.holds) {
    // A fixed lease needs no renewal beyond its end; after a max-hold there is none.
    const bool lasts = now < claim.deadline - claim.vouched / 3 ||
                       (hold->lease > 0 && hold->ends_at <= claim.deadline + kTolerance);
    if (hold->at_risk && (hold->watched() || hold->lease > 0) && lasts) {
      hold->at_risk = false;
      tell_of(*hold, BELAY_EVENT_RECOVERED, Status(), now);
    }
  }
  let_join(claim, now);
  plan_renewal(claim, now);
}

}  // namespace belay
