#include "engine/operations.h"

#include <algorithm>
#include <utility>

#include "engine/barrier.h"
#include "engine/course.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kRetryPause = 50 * kMillisecond;

}  // namespace

void Operations::ask_about(std::int64_t tag, Hold& hold, PendingKind kind, Micros lease) {
  Pending& pending = ledger_.add_pending(tag, kind);
  pending.hold = hold.id;
  pending.lease = lease;
  if (hold.claim == nullptr) {
    outcomes_.complete(pending, hold.loss);
  } else {
    hold.asked.push_back(tag);
    send(pending);
  }
}

// Rides on a renewal, so that it is asked for until it is answered.
Status Operations::downgrade(std::int64_t tag, Hold& hold, const std::string& group) {
  Claim* const claim = hold.claim;
  const bool shared_otherwise = !hold.group.empty() && hold.group != group;
  if (claim != nullptr && (claim->shared() || shared_otherwise || claim->holds.size() > 1 ||
                           claim->primitive->claim_per_request())) {
    return {BELAY_INVALID_ARGUMENT,
            "hold " + std::to_string(hold.id) + " is not the only exclusive one of its owner"};
  }
  Pending& pending = ledger_.add_pending(tag, PendingKind::kDowngrade);
  pending.hold = hold.id;
  if (claim == nullptr) {
    outcomes_.complete(pending, hold.loss);
  } else {
    hold.asked.push_back(tag);
    pending.unanswered = 1;
    pending.begins_sharing = hold.group.empty();
    hold.group = group;
    claim->held.share_with = group;
    claim->held.stays_alone = false;
    watchdog_.want(*claim);
    course_.reconcile(*claim);
  }
  return {};
}

bool Operations::take_back(Pending& pending) {
  // Not where it asks for what its hold has anyway, or where another downgrade waits for the same.
  Hold* const hold = pending.begins_sharing ? ledger_.hold(pending.hold) : nullptr;
  if (hold != nullptr && hold->claim != nullptr && hold->asked.size() == 1 &&
      hold->claim->held.shares_sent == 0) {
    hold->group.clear();
    hold->claim->held.share_with.clear();
    pending.unanswered = 0;
  }
  return !pending.may_have_effect();
}

void Operations::query(std::int64_t tag, std::unique_ptr<Query> query) {
  Pending& pending = ledger_.add_pending(tag, PendingKind::kQuery);
  pending.query = std::move(query);
  pending.event = outcomes_.outcome(pending, Status());
  tell_servers(pending);
  const Node& node = ledger_.node_for(pending);
  if (node.refused()) {
    outcomes_.complete(pending, node.trouble());
  } else {
    send(pending);
  }
}

Command Operations::command_of(const Pending& pending, ServerTime not_after) const {
  if (pending.query != nullptr) {
    return pending.query->command(ledger_.highest_fence_of(pending.query->slot()), not_after);
  }
  Claim& claim = *ledger_.holds.at(pending.hold)->claim;
  return dialect_.renew_all({{&claim.resource, watchdog_.args_to_send(claim, pending.lease)}},
                            ledger_.highest_fence_of(claim.resource.slot), not_after);
}

void Operations::tell_servers(Pending& pending) {
  const bool concerns_it = pending.query != nullptr && pending.query->reach() != Query::Reach::kOne;
  if (concerns_it && !pending.knows_servers && ledger_.router.knows_slots()) {
    pending.knows_servers = true;
    pending.query->on_servers(
        ledger_.router.slots_of_servers(pending.query->reach() == Query::Reach::kThoseInUse));
  }
}

void Operations::send(Pending& pending) {
  tell_servers(pending);
  Node& node = ledger_.node_for(pending);
  if (!node.up() || pending.command != 0) {
    return;
  }
  const bool overwrites =
      pending.query != nullptr && pending.query->effect() == Query::Effect::kOverwrites;
  if (overwrites && may_come_late(pending)) {
    return;  // until the request timeout, which tells of the doubt
  }
  // Rule 3. Also what changes nothing waits: it may ask for what an earlier query changes.
  if (pending.query != nullptr && !node.clock().known(ledger_.now)) {
    node.refresh_clock(ledger_.now);
    queries_for_clock_.push_back(pending.ref());
    return;
  }
  const Micros until =
      pending.reach_by == kNever ? ledger_.now + timing_.request_timeout() : pending.reach_by;
  const ServerTime not_after = timing_.not_after(node, until);
  Flight flight;
  flight.pending = pending.ref();
  ++pending.unanswered;
  pending.may_arrive_until = std::max(pending.may_arrive_until, node.clock().passed_by(not_after));
  pending.command =
      flights_.send(node, command_of(pending, not_after), std::move(flight), ledger_.now);
  if (pending.query == nullptr) {
    Claim& claim = *ledger_.holds.at(pending.hold)->claim;
    pending.shares =
        !claim.held.share_with.empty() && !claim.renews_by_one_key(pending.lease, ledger_.now);
    claim.held.lapses_at =
        std::max(claim.held.lapses_at, Timing::lapses_by(node, not_after, pending.lease));
    watchdog_.watch({ledger_.holds.at(pending.hold)->claim});  // its write ended that
  }
}

// Whether an earlier connection may still deliver it once more.
bool Operations::may_come_late(const Pending& pending) const {
  return pending.unanswered > 0 && ledger_.router.has_ghosts();
}

void Operations::send_all(const Node& node) {
  send_those([this, &node](const Pending& pending) { return &ledger_.node_for(pending) == &node; });
}

void Operations::send_all(const SlotSet& slots) {
  send_those([this, &slots](const Pending& pending) { return slots[ledger_.slot_of(pending)]; });
}

void Operations::send_all(const std::vector<PendingRef>& refs) {
  std::vector<Pending*> queries;
  for (const PendingRef& ref : refs) {
    if (Pending* const pending = ledger_.pending(ref)) {
      queries.push_back(pending);
    }
  }
  send_in_order(std::move(queries));
}

void Operations::send_those(const std::function<bool(const Pending&)>& concern) {
  std::vector<Pending*> queries;
  for (const auto& [tag, pending] : ledger_.pendings) {
    if (pending->is_operation() && concern(*pending)) {
      queries.push_back(pending.get());
    }
  }
  send_in_order(std::move(queries));
}

// Of their submission: what changes something may build on what came before.
void Operations::send_in_order(std::vector<Pending*> queries) {
  std::sort(queries.begin(), queries.end(),
            [](const Pending* left, const Pending* right) { return left->order < right->order; });
  for (Pending* query : queries) {
    send(*query);
  }
}

void Operations::on_clock(const Node& node) {
  std::vector<Pending*> queries;
  std::erase_if(queries_for_clock_, [this, &node, &queries](const PendingRef& query) {
    Pending* const pending = ledger_.pending(query);
    const bool ends = pending == nullptr || &ledger_.node_for(*pending) == &node;
    if (ends && pending != nullptr) {
      queries.push_back(pending);
    }
    return ends;
  });
  send_in_order(std::move(queries));
}

void Operations::on_reply(Pending& pending, Node& node, Reply reply, Micros sent) {
  pending.command = 0;
  --pending.unanswered;
  const std::optional<ServerTime> late =
      reply.is_error() ? std::nullopt : dialect_.read_late(reply);
  if (std::exchange(pending.shares, false) && (reply.is_error() || late)) {  // it did nothing
    --ledger_.holds.at(pending.hold)->claim->held.shares_sent;
  }
  if (reply.is_error()) {
    on_error(pending, node, reply.text());
  } else if (late) {
    node.saw_time(*late, sent, ledger_.now);
    send(pending);
  } else if (pending.query == nullptr) {
    on_hold_answer(pending, node, reply, sent);
  } else {
    on_answer(pending, node, reply);
  }
}

void Operations::on_error(Pending& pending, const Node& node, std::string_view words) {
  const ServerError error = ledger_.router.judge(words);
  pending.trouble = {error.status, node.display() + ": " + node.explained(words)};
  if (error.remedy == Remedy::kGiveUp) {
    outcomes_.complete(pending, pending.trouble);
  } else if (error.remedy == Remedy::kAskAgain) {
    send(pending);
  } else {
    if (pending.query == nullptr) {
      ledger_.holds.at(pending.hold)->claim->held.slot_moves = error.moving;
    }
    ledger_.timers.set(pending.timer, std::min(pending.reach_by, ledger_.now + kRetryPause));
  }
}

void Operations::on_hold_answer(Pending& pending, Node& node, Reply reply, Micros sent) {
  Hold& hold = *ledger_.holds.at(pending.hold);
  Claim& claim = *hold.claim;
  const std::optional<RenewAnswers> answers = dialect_.read_renew(reply);
  if (!answers || answers->claims.size() != 1) {
    on_error(pending, node, error_words(reply));
    return;
  }
  node.saw_time(answers->server_time, sent, ledger_.now);
  if (answers->claims.front().code == RenewCode::kContended) {
    claim.held.renew_in_full = true;
    send(pending);
    return;
  }
  const Micros lease = pending.lease;
  if (answers->claims.front().code == RenewCode::kOk && lease > 0) {
    hold.ends_at = std::max(hold.ends_at, sent + lease - lease_margin(lease));
  }
  if (answers->claims.front().code == RenewCode::kOk) {
    Event event = outcomes_.outcome(pending, Status());
    event.fence = hold.fence;
    const Micros deadline = std::max(claim.held.deadline, sent + lease - lease_margin(lease));
    event.remaining = std::min({deadline, hold.ends_at, hold.max_end}) - ledger_.now;
    outcomes_.complete(pending, std::move(event));
  }
  Renewed renewed{&claim, {}};
  renewed.args.lease = lease;
  renewed.args.by_one_key = true;
  course_.on_verdict(watchdog_.judge(renewed, answers->claims.front(), sent));
  course_.reconcile(claim);
}

void Operations::on_answer(Pending& pending, const Node& node, Reply reply) {
  pending.query->on_answered_by(node.display(), ledger_.router.is_cluster(), &pending.event);
  const Query::Progress progress = pending.query->read(reply, &pending.event);
  if (!pending.event.status.ok() && pending.may_have_effect()) {
    // What is refused now may have been possible before, or may be possible yet.
    pending.event.status.in_doubt_until =
        std::max(pending.may_arrive_until, ledger_.now + kMillisecond);
  }
  switch (progress) {
    case Query::Progress::kDone:
      outcomes_.complete(pending, std::move(pending.event));
      break;
    case Query::Progress::kNext:
      pending.answered_in_part = true;
      send(pending);
      break;
    case Query::Progress::kAgain:
      send(pending);
      break;
    case Query::Progress::kWait:
      barrier_.wait(pending);
      break;
    case Query::Progress::kUnsound:
      on_error(pending, node, error_words(reply));
      break;
  }
}

}  // namespace belay
