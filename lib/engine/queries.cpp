// What asks the server without changing a claim's course: extend, verify, inspect, break, list,
// ping. Asked again on a new connection until the request timeout.
#include <algorithm>
#include <utility>

#include "base/glob.h"
#include "engine/engine.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kRetryPause = 50 * kMillisecond;
constexpr std::string_view kScanCount = "1000";

}  // namespace

Status Engine::submit_hold_query(std::int64_t tag, std::int64_t id, PendingKind kind, Micros lease,
                                 Micros now) {
  advance(now);
  if (Status status = admit(tag, kind); !status.ok()) {
    return status;
  }
  const auto found = holds_.find(id);
  if (found == holds_.end()) {
    return {BELAY_UNKNOWN_HOLD,
            "hold " + std::to_string(id) + " was never granted, or has been released"};
  }
  Hold& hold = *found->second;
  if (kind == PendingKind::kExtend && hold.lease == 0) {
    return {BELAY_INVALID_ARGUMENT,
            "hold " + std::to_string(id) +
                " is renewed by the watchdog; only a fixed lease is extended"};
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
  const auto found = holds_.find(id);
  if (found == holds_.end()) {
    return {BELAY_UNKNOWN_HOLD,
            "hold " + std::to_string(id) + " was never granted, or has been released"};
  }
  Hold& hold = *found->second;
  Claim* const claim = hold.claim;
  if (claim != nullptr &&
      (claim->shared() || claim->holds.size() > 1 || claim->primitive->kind() != Kind::kLock)) {
    return {BELAY_INVALID_ARGUMENT,
            "hold " + std::to_string(id) + " is not the only exclusive one of its owner"};
  }
  Pending& pending = add_pending(tag, PendingKind::kDowngrade, now);
  pending.hold = id;
  if (claim == nullptr) {
    complete(pending, hold.loss, now);
  } else {
    hold.asked.push_back(tag);
    hold.group = group;
    claim->share_with = group;
    want_renewal(*claim);
    settle(*claim, now);
  }
  finish(now);
  return {};
}

Status Engine::inspect(std::int64_t tag, std::string_view name, Micros now) {
  return submit_query(tag, PendingKind::kInspect, now,
                      [&](Pending& pending) { pending.resource = lock_.resource(name); });
}

Status Engine::force(std::int64_t tag, std::string_view name, std::int64_t fence, Micros now) {
  return submit_query(tag, PendingKind::kBreak, now, [&](Pending& pending) {
    pending.resource = lock_.resource(name);
    pending.fence = fence;
  });
}

Status Engine::list(std::int64_t tag, std::string_view pattern, std::int64_t limit, Micros now) {
  return submit_query(tag, PendingKind::kList, now, [&](Pending& pending) {
    pending.pattern = pattern;
    pending.cursor = "0";
    pending.limit = limit;
  });
}

Status Engine::ping(std::int64_t tag, Micros now) {
  return submit_query(tag, PendingKind::kPing, now, [](Pending&) {});
}

Status Engine::submit_query(std::int64_t tag, PendingKind kind, Micros now,
                            const std::function<void(Pending&)>& fill) {
  advance(now);
  if (Status status = admit(tag, kind); !status.ok()) {
    return status;
  }
  Pending& pending = add_pending(tag, kind, now);
  fill(pending);
  const Node& node = node_for(pending);
  if (!node.up() && belay_status_class(node.trouble().code) == BELAY_CLASS_REFUSED) {
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
  return router_.node_of(pending.resource.slot);
}

void Engine::send_query(Pending& pending, Micros now) {
  Node& node = node_for(pending);
  if (!node.up() || pending.command != 0) {
    return;
  }
  Command command;
  switch (pending.kind) {
    case PendingKind::kExtend:
    case PendingKind::kVerify: {
      const Claim& claim = *holds_.at(pending.hold)->claim;
      RenewArgs args;
      args.epoch = claim.epoch;
      args.lease = pending.lease;
      args.fence = claim.fence;
      args.holds = claim.holds.size();
      args.local_waiters = claim.waiting.size();
      command = claim.primitive->renew(highest_fence_);
      claim.primitive->add_renewal(claim.resource, args, &command);
      break;
    }
    case PendingKind::kInspect:
      command = lock_.inspect(pending.resource);
      break;
    case PendingKind::kBreak:
      command = lock_.force(pending.resource, pending.fence, highest_fence_);
      break;
    case PendingKind::kList:
      command.args = {"SCAN",  pending.cursor,         "MATCH", lock_.scan_pattern(),
                      "COUNT", std::string(kScanCount)};
      break;
    default:
      command.args = {"PING"};
      break;
  }
  Flight flight;
  flight.tag = pending.tag;
  pending.command = send(node, std::move(command), std::move(flight), now);
  if (pending.kind == PendingKind::kExtend || pending.kind == PendingKind::kVerify) {
    watch({holds_.at(pending.hold)->claim}, now);  // its write ended that
  }
}

void Engine::on_query_reply(Pending& pending, Reply reply, Micros sent, Micros now) {
  pending.command = 0;
  if (reply.is_error()) {
    on_query_error(pending, reply.text(), now);
    return;
  }
  switch (pending.kind) {
    case PendingKind::kExtend:
    case PendingKind::kVerify:
      on_hold_answer(pending, reply, sent, now);
      break;
    case PendingKind::kList:
      on_listed(pending, reply, now);
      break;
    case PendingKind::kPing:
      complete(pending, Status(), now);
      break;
    default:
      on_inspected(pending, reply, now);
      break;
  }
}

void Engine::on_query_error(Pending& pending, std::string_view words, Micros now) {
  const ServerError error = classify_error(words);
  pending.trouble = {error.status, node_for(pending).display() + ": " + std::string(words)};
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
  const std::optional<RenewAnswers> answers = claim.primitive->read_renew(reply);
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

void Engine::on_inspected(Pending& pending, Reply reply, Micros now) {
  const bool breaks = pending.kind == PendingKind::kBreak;
  std::optional<Inspection> inspection =
      breaks ? lock_.read_force(reply) : lock_.read_inspect(reply);
  if (!inspection) {
    complete(pending,
             Status(BELAY_SERVER_ERROR,
                    node_for(pending).display() + " sent a reply that is none of the script's"),
             now);
    return;
  }
  Event& event = pending.event;
  event.member_total += inspection->total;
  std::move(inspection->members.begin(), inspection->members.end(),
            std::back_inserter(event.members));
  if (inspection->again) {
    // The queue may still be to be served, which needs nobody to be parted from it: an impossible
    // fence.
    pending.fence = inspection->serve_only ? kMaxId : pending.fence;
    send_query(pending, now);
    return;
  }
  Event done = outcome(pending, Status());
  done.members = std::move(event.members);
  done.member_total = event.member_total;
  complete(pending, std::move(done), now);
}

// SCAN may name a key twice; a name counts once.
void Engine::on_listed(Pending& pending, Reply reply, Micros now) {
  if (reply.size() != 2) {
    on_query_error(pending, "ERR not a reply to SCAN", now);
    return;
  }
  Event& event = pending.event;
  const Reply keys = reply.at(1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::optional<std::string> name = lock_.name_of_key(keys.at(i).text());
    if (name && glob_match(pending.pattern, *name)) {
      Member member;
      member.role = BELAY_ROLE_NAME;
      member.name = *name;
      event.members.push_back(std::move(member));
    }
  }
  pending.cursor = reply.at(0).text();
  const auto by_name = [](const Member& left, const Member& right) {
    return left.name < right.name;
  };
  if (pending.cursor != "0") {
    pending.reach_by = now + config_.request_timeout;
    timers_.set(pending.timer, pending.reach_by);
    send_query(pending, now);
    return;
  }
  Event done = outcome(pending, Status());
  done.members = std::move(event.members);
  std::sort(done.members.begin(), done.members.end(), by_name);
  const auto same = [](const Member& left, const Member& right) { return left.name == right.name; };
  done.members.erase(std::unique(done.members.begin(), done.members.end(), same),
                     done.members.end());
  done.member_total = static_cast<std::int64_t>(done.members.size());
  if (done.member_total > pending.limit) {
    done.members.resize(static_cast<std::size_t>(pending.limit));
  }
  complete(pending, std::move(done), now);
}

}  // namespace belay
