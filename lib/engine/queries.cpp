// What asks the server without changing a claim's course: extensions and verifications of holds,
// and queries. Asked again on a new connection until the request timeout.
#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kRetryPause = 50 * kMillisecond;

Status not_fixed(std::int64_t hold) {
  return {BELAY_INVALID_ARGUMENT,
          "hold " + std::to_string(hold) +
              " is renewed by the watchdog; only a fixed lease is extended"};
}

}  // namespace

Status Engine::submit_hold_query(std::int64_t tag, std::int64_t id, PendingKind kind, Micros lease,
                                 Micros now) {
  advance(now);
  if (Status status = admit(tag, kind); !status.ok()) {
    return status;
  }
  if (Bundle* bundle = held_set(id); bundle != nullptr) {
    if (kind == PendingKind::kExtend && bundle->lease == 0) {
      return not_fixed(id);
    }
    query_set(tag, *bundle, kind, lease, now);
    finish(now);
    return {};
  }
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second->set != 0) {
    return {BELAY_UNKNOWN_HOLD,
            "hold " + std::to_string(id) + " was never granted, or has been released"};
  }
  Hold& hold = *found->second;
  if (kind == PendingKind::kExtend && hold.lease == 0) {
    return not_fixed(id);
  }
  Pending& pending = add_pending(tag, kind, now);
  pending.hold = id;
  pending.lease = lease;
  if (hold.claim == nullptr) {
    complete(pending, hold.loss, now);
  } else {
    hold.asked.push_back(tag);
    send_query(pending, now);
  }
  finish(now);
  return {};
}

Status Engine::extend(std::int64_t tag, std::int64_t hold, Micros lease, Micros now) {
  return submit_hold_query(tag, hold, PendingKind::kExtend, lease, now);
}

Status Engine::verify(std::int64_t tag, std::int64_t hold, Micros now) {
  return submit_hold_query(tag, hold, PendingKind::kVerify, 0, now);
}

// Rides on a renewal, so that it is asked for until it is answered.
Status Engine::downgrade(std::int64_t tag, std::int64_t id, const std::string& group, Micros now) {
  advance(now);
  if (Status status = admit(tag, PendingKind::kDowngrade); !status.ok()) {
    return status;
  }
  if (held_set(id) != nullptr) {
    return {BELAY_INVALID_ARGUMENT, "hold " + std::to_string(id) + " is of several names"};
  }
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second->set != 0) {
    return {BELAY_UNKNOWN_HOLD,
            "hold " + std::to_string(id) + " was never granted, or has been released"};
  }
  Hold& hold = *found->second;
  Claim* const claim = hold.claim;
  const bool shared_otherwise = !hold.group.empty() && hold.group != group;
  if (claim != nullptr && (claim->shared() || shared_otherwise || claim->holds.size() > 1 ||
                           claim->primitive->kind() != Kind::kLock)) {
    return {BELAY_INVALID_ARGUMENT,
            "hold " + std::to_string(id) + " is not the only exclusive one of its owner"};
  }
  Pending& pending = add_pending(tag, PendingKind::kDowngrade, now);
  pending.hold = id;
  if (claim == nullptr) {
    complete(pending, hold.loss, now);
  } else {
    hold.asked.push_back(tag);
    pending.unanswered = 1;
    hold.group = group;
    claim->share_with = group;
    want_renewal(*claim);
    settle(*claim, now);
  }
  finish(now);
  return {};
}

Status Engine::query(std::int64_t tag, std::unique_ptr<Query> query, Micros now) {
  advance(now);
  if (Status status = admit(tag, PendingKind::kQuery); !status.ok()) {
    return status;
  }
  Pending& pending = add_pending(tag, PendingKind::kQuery, now);
  pending.query = std::move(query);
  pending.event = outcome(pending, Status());
  const Node& node = node_for(pending);
  if (node.refused()) {
    complete(pending, node.trouble(), now);
  } else {
    send_query(pending, now);
  }
  finish(now);
  return {};
}

Node& Engine::node_for(const Pending& pending) {
  if (pending.claim != nullptr) {
    return *pending.claim->node;
  }
  if (const auto hold = holds_.find(pending.hold);
      hold != holds_.end() && hold->second->claim != nullptr) {
    return *hold->second->claim->node;
  }
  return router_.node_of(pending.query == nullptr ? 0 : pending.query->slot());
}

Command Engine::command_of(const Pending& pending, Micros not_after) const {
  if (pending.query != nullptr) {
    return pending.query->command(highest_fence_of(pending.query->slot()), not_after);
  }
  const Claim& claim = *holds_.at(pending.hold)->claim;
  Command command = names_.renew(highest_fence_of(claim.resource.slot), not_after);
  names_.add_renewal(claim.resource, renew_args(claim, pending.lease), &command);
  return command;
}

void Engine::send_query(Pending& pending, Micros now) {
  Node& node = node_for(pending);
  if (!node.up() || pending.command != 0) {
    return;
  }
  const bool overwrites =
      pending.query != nullptr && pending.query->effect() == Query::Effect::kOverwrites;
  if (overwrites && may_come_late(pending)) {
    return;  // until the request timeout, which tells of the doubt
  }
  // Rule 3. Also what changes nothing waits: it may ask for what an earlier query changes.
  if (pending.query != nullptr && !node.clock().known(now)) {
    node.refresh_clock(now);
    queries_for_clock_.push_back(pending.tag);
    return;
  }
  const Micros until =
      pending.reach_by == kNever ? now + config_.request_timeout : pending.reach_by;
  const Micros not_after = until + node.clock().bound(now);  // rule 14
  Flight flight;
  flight.tag = pending.tag;
  ++pending.unanswered;
  pending.may_arrive_until = std::max(pending.may_arrive_until, node.clock().passed_by(not_after));
  pending.command = send(node, command_of(pending, not_after), std::move(flight), now);
  if (pending.query == nullptr) {
    Claim& claim = *holds_.at(pending.hold)->claim;
    claim.lapses_at = std::max(claim.lapses_at, lapses_by(node, not_after, pending.lease));
    watch({holds_.at(pending.hold)->claim}, now);  // its write ended that
  }
}

// Whether an earlier connection may still deliver it once more.
bool Engine::may_come_late(const Pending& pending) {
  return pending.unanswered > 0 && node_for(pending).has_ghosts();
}

void Engine::on_query_reply(Pending& pending, Reply reply, Micros sent, Micros now) {
  pending.command = 0;
  --pending.unanswered;
  if (reply.is_error()) {
    on_query_error(pending, reply.text(), now);
  } else if (const std::optional<Micros> late = names_.read_late(reply); late) {
    node_for(pending).saw_time(*late, sent, now);
    send_query(pending, now);
  } else if (pending.query == nullptr) {
    on_hold_answer(pending, reply, sent, now);
  } else {
    on_query_answer(pending, reply, now);
  }
}

void Engine::on_query_error(Pending& pending, std::string_view words, Micros now) {
  const ServerError error = classify_error(words);
  const Node& node = node_for(pending);
  pending.trouble = {error.status, node.display() + ": " + node.explained(words)};
  if (error.remedy == Remedy::kGiveUp) {
    complete(pending, pending.trouble, now);
  } else if (error.remedy == Remedy::kAskAgain) {
    send_query(pending, now);
  } else {
    timers_.set(pending.timer, std::min(pending.reach_by, now + kRetryPause));
  }
}

void Engine::on_hold_answer(Pending& pending, Reply reply, Micros sent, Micros now) {
  Hold& hold = *holds_.at(pending.hold);
  Claim& claim = *hold.claim;
  const std::optional<RenewAnswers> answers = names_.read_renew(reply);
  if (!answers || answers->claims.size() != 1) {
    on_query_error(pending, error_words(reply), now);
    return;
  }
  claim.node->saw_time(answers->server_time, sent, now);
  const Micros lease = pending.lease;
  if (answers->claims.front().code == RenewCode::kOk && lease > 0) {
    hold.ends_at = std::max(hold.ends_at, sent + lease - lease_margin(lease));
  }
  if (answers->claims.front().code == RenewCode::kOk) {
    Event event = outcome(pending, Status());
    event.fence = hold.fence;
    event.remaining =
        std::min(hold.ends_at, std::max(claim.deadline, sent + lease - lease_margin(lease))) - now;
    complete(pending, std::move(event), now);
  }
  on_renewed({&claim, claim.epoch, lease, 0, {}}, answers->claims.front(), sent, now);
  settle(claim, now);
}

void Engine::on_query_answer(Pending& pending, Reply reply, Micros now) {
  const Query::Progress progress = pending.query->read(reply, &pending.event);
  if (!pending.event.status.ok() && pending.query->effect() != Query::Effect::kNone &&
      may_come_late(pending)) {  // what was refused now may be possible then
    pending.event.status.in_doubt_until = pending.may_arrive_until;
  }
  switch (progress) {
    case Query::Progress::kDone:
      complete(pending, std::move(pending.event), now);
      break;
    case Query::Progress::kNext:
      pending.answered_in_part = true;
      send_query(pending, now);
      break;
    case Query::Progress::kAgain:
      send_query(pending, now);
      break;
    case Query::Progress::kWait:
      wait_for_generation(pending, now);
      break;
    case Query::Progress::kUnsound:
      on_query_error(pending, error_words(reply), now);
      break;
  }
}

}  // namespace belay
