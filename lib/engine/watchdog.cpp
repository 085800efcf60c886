#include "engine/watchdog.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "route/server_error.h"

namespace belay {

namespace {

constexpr std::size_t kBatch = 64;
constexpr std::int64_t kMaxReserve = 64;  // fences must not run far ahead of the clock
// Renewals within such a part of a lease go out together.
constexpr Micros kGridDivisor = 64;
constexpr Micros kTolerance = kMillisecond;
constexpr Micros kRetryPause = 100 * kMillisecond;
// Anybody may send any number of messages that put a hold in question: so many are asked about at
// once, and then one in that time.
constexpr std::int64_t kQuestions = 8;
constexpr Micros kQuestionPause = 100 * kMillisecond;

// The lease to ask for so that, its margin taken off, `remaining` is left.
Micros lease_covering(Micros remaining) {
  return (remaining + 10 * kMillisecond) * 100 / 99 + 1;
}

Verdict lost(Claim& claim, std::int32_t reason, std::string why) {
  return {.kind = Verdict::Kind::kLost, .claim = &claim, .reason = reason, .why = std::move(why)};
}

}  // namespace

// What the server must be asked for: the longest that a hold needs. Nobody holding: what the next
// owner does, who waits for a fence or for this answer.
Micros Watchdog::wanted_lease(const Claim& claim) const {
  Micros wanted = 0;
  if (claim.holds.empty()) {
    wanted = claim.waiting.empty() ? timing_.watchdog_lease()
                                   : timing_.lease_for(*claim.waiting.front());
  }
  for (const Hold* hold : claim.holds) {
    if (hold->watched()) {
      wanted = std::max(wanted, timing_.watchdog_lease());
    } else if (hold->lease > 0 && !hold->abandoned) {
      wanted = std::max(wanted, lease_covering(hold->ends_at - ledger_.now));
    }
  }
  if (!claim.waiting.empty() && claim.wants_to_join(*claim.waiting.front())) {
    wanted = std::max(wanted, timing_.lease_for(*claim.waiting.front()));
  }
  if (claim.held.renew_in_full) {  // perhaps its deadline is by the clock of another server
    wanted = std::max(wanted, lease_covering(claim.held.deadline - ledger_.now));
  }
  return wanted;
}

void Watchdog::plan(Claim& claim) {
  if (!claim.held.confirmed || claim.state != ClaimState::kHeld) {
    return;
  }
  claim.held.renew_at = kNever;
  for (const Hold* hold : claim.holds) {
    if (hold->watched()) {
      const Micros lease = timing_.watchdog_lease();
      // This lease is renewed from now on, however long the one before was. So it is the one of
      // which a third left is a risk; the renewal comes before that.
      claim.held.lease = std::min(claim.held.lease, lease);
      const Micros due = claim.held.deadline + lease_margin(lease) - lease / 3 * 2;
      claim.held.renew_at =
          std::min(claim.held.renew_at, due - due % std::max<Micros>(1, lease / kGridDivisor));
    } else if (hold->lease > 0 && !hold->abandoned &&
               hold->ends_at > claim.held.deadline + kTolerance) {
      claim.held.renew_at = ledger_.now;
    }
    if (!hold->abandoned) {
      claim.held.renew_at = std::min(claim.held.renew_at, claim.held.look_at);
    }
  }
  if (claim.runs_short_of_fences() || !claim.held.share_with.empty()) {
    claim.held.renew_at = ledger_.now;
  }
  if (claim.waits_for_others()) {
    claim.held.renew_at =
        std::min(claim.held.renew_at, claim.held.heard_at + timing_.fallback_poll(0));
  }
  if (claim.held.in_question) {
    claim.held.renew_at = std::min(claim.held.renew_at, claim.held.next_question);
  }
  if (claim.held.renew_at <= ledger_.now) {
    want(claim);
  }
}

void Watchdog::want(Claim& claim) {
  claim.held.renew_at = kNever;
  if (!claim.held.renew_out && !claim.renew_due && claim.node().up()) {
    claim.renew_due = true;
    due_.push_back(&claim);
  }
}

void Watchdog::question(Claim& claim) {
  claim.held.in_question = true;
  if (ledger_.now >= claim.held.next_question) {
    want(claim);
  } else {
    claim.held.renew_at = std::min(claim.held.renew_at, claim.held.next_question);
  }
}

std::vector<Claim*> Watchdog::flush() {
  std::vector<Claim*> touched;
  // By group of slots, whether several hold it, and whether less will do.
  std::map<std::tuple<std::uint16_t, bool, bool>, std::vector<Claim*>> batches;
  for (std::size_t left = std::min(kMostRenewals, due_.size()); left > 0; --left) {
    Claim* const claim = due_.front();
    due_.pop_front();
    claim->renew_due = false;
    touched.push_back(claim);
    if (claim->state != ClaimState::kHeld || !claim->node().up()) {
      continue;
    }
    if (std::exchange(claim->held.renew_alone, false)) {
      send({claim});
      continue;
    }
    std::vector<Claim*>& batch =
        batches[{ledger_.router.group_of(claim->resource.slot), claim->joint(),
                 claim->renews_by_one_key(wanted_lease(*claim), ledger_.now)}];
    batch.push_back(claim);
    if (batch.size() == kBatch) {
      send(std::exchange(batch, {}));
    }
  }
  for (const auto& [group, batch] : batches) {
    if (!batch.empty()) {
      send(batch);
    }
  }
  return touched;
}

// Of claims in one group of slots.
void Watchdog::send(const std::vector<Claim*>& claims) {
  std::int64_t highest = 0;
  for (const Claim* claim : claims) {
    highest = std::max(highest, ledger_.highest_fence_of(claim->resource.slot));
  }
  Node& node = claims.front()->node();
  const ServerTime not_after = timing_.not_after(node);
  std::vector<RenewPart> parts;
  Flight flight;
  flight.kind = FlightKind::kRenew;
  for (Claim* claim : claims) {
    parts.push_back({&claim->resource, begin_renewal(*claim, not_after)});
    flight.renewed.push_back({claim, parts.back().args});
    ++ledger_.metrics.renewals;
  }
  flights_.send(node, dialect_.renew_all(parts, highest, not_after), std::move(flight),
                ledger_.now);
  watch(claims);
}

void Watchdog::watch(const std::vector<Claim*>& claims) {
  std::vector<std::string_view> records;
  Flight flight;
  flight.kind = FlightKind::kWatch;
  for (const Claim* claim : claims) {
    if (claim->watchable()) {
      records.push_back(claim->resource.keys.front());
      flight.watched.push_back(claim->epoch);
    }
  }
  if (!records.empty()) {
    flights_.watch(claims.front()->node(), records, std::move(flight), ledger_.now);
  }
}

// A record that is gone is not watched: what its holder is told of it, a renewal finds out.
void Watchdog::on_watch_reply(const Flight& flight, Reply reply) {
  if (reply.is_error() || reply.integer() >= static_cast<std::int64_t>(flight.watched.size())) {
    return;
  }
  for (const std::int64_t epoch : flight.watched) {
    const auto claim = ledger_.epochs.find(epoch);
    if (claim != ledger_.epochs.end() && claim->second->state == ClaimState::kHeld) {
      want(*claim->second);
    }
  }
}

RenewArgs Watchdog::args_to_send(Claim& claim, Micros lease) const {
  RenewArgs args;
  args.kind = claim.primitive->kind();
  args.epoch = claim.epoch;
  args.lease = lease;
  args.fence = claim.held.fence;
  args.by_one_key = claim.renews_by_one_key(lease, ledger_.now);
  if (!args.by_one_key && !claim.held.share_with.empty()) {
    args.group = claim.held.share_with;
    ++claim.held.shares_sent;
  }
  args.fence_of_group = claim.held.next_fence - 1;
  args.joint = claim.joint();
  args.seat = claim.held.seat;
  args.holds = args.joint ? args.seat.holds : claim.holds.size();
  args.local_waiters = args.joint ? args.seat.local_waiters : claim.waiting.size();
  return args;
}

RenewArgs Watchdog::begin_renewal(Claim& claim, ServerTime not_after) const {
  RenewArgs args = args_to_send(claim, wanted_lease(claim));
  if (claim.runs_short_of_fences()) {
    claim.held.reserve = std::min(2 * claim.held.reserve, kMaxReserve);
    args.reserve = claim.held.reserve;
  }
  if ((args.joint && !args.by_one_key) || !args.group.empty()) {
    args.holds = args.seat.holds = claim.holds.size();
    args.local_waiters = args.seat.local_waiters = claim.waiting.size();
  }
  if (claim.held.in_question) {
    claim.held.next_question =
        std::max(claim.held.next_question, ledger_.now - kQuestions * kQuestionPause) +
        kQuestionPause;
  }
  claim.held.renew_out = true;
  claim.held.renewed_at = ledger_.now;
  claim.held.renewed_until = Timing::lapses_by(claim.node(), not_after, args.lease);
  claim.held.renew_at = kNever;
  claim.held.look_at = kNever;
  return args;
}

// None unless it is about all of them. Late: it did nothing.
std::optional<RenewAnswers> Watchdog::read(const Flight& flight, Reply reply, bool* late,
                                           Micros sent) const {
  if (reply.is_error()) {
    return std::nullopt;
  }
  const std::optional<ServerTime> late_at = dialect_.read_late(reply);
  const std::optional<RenewAnswers> answers = dialect_.read_renew(reply);
  const bool whole = answers && answers->claims.size() == flight.renewed.size();
  if (whole || late_at) {
    flight.node->saw_time(late_at ? *late_at : answers->server_time, sent, ledger_.now);
  }
  *late = late_at.has_value();
  return whole ? answers : std::nullopt;
}

std::vector<Verdict> Watchdog::on_reply(const Flight& flight, Reply reply, Micros sent) {
  bool late = false;
  const std::optional<RenewAnswers> answers = read(flight, reply, &late, sent);
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < flight.renewed.size(); ++i) {
    const Renewed& renewed = flight.renewed[i];
    Claim& claim = *renewed.claim;
    --claim.in_flight;
    const bool current = claim.state == ClaimState::kHeld && claim.epoch == renewed.args.epoch;
    claim.held.renew_out = claim.held.renew_out && !current;
    const bool did_nothing = reply.is_error() || late;
    claim.held.shares_sent -= current && did_nothing && !renewed.args.group.empty() ? 1 : 0;
    Verdict verdict;
    if (current && answers) {
      verdict = judge(renewed, answers->claims[i], sent);
      note_seat(renewed, verdict, answers->server_time);
    } else if (current && late) {
      claim.held.renew_at = ledger_.now;
    } else if (current) {
      verdict = on_error(renewed, *flight.node, error_words(reply), flight.renewed.size() == 1);
    }
    verdict.claim = &claim;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

// `alone`: the command was about this claim only.
Verdict Watchdog::on_error(const Renewed& renewed, const Node& from, std::string_view words,
                           bool alone) {
  Claim& claim = *renewed.claim;
  const ServerError error = ledger_.router.judge(words);
  claim.refusal = {error.status, from.display() + " refused to renew it: " + from.explained(words)};
  if (error.status == BELAY_WRONG_TYPE && alone) {
    return lost(claim, BELAY_REASON_GONE, claim.refusal.message);
  }
  if (error.remedy == Remedy::kGiveUp && alone && !claim.held.share_with.empty() &&
      claim.held.shares_sent == 0) {
    claim.held.renew_at = ledger_.now;
    return {.kind = Verdict::Kind::kOursAlone};
  }
  claim.held.told_at = ledger_.now;  // other numbers wait: less may do
  claim.held.slot_moves = error.moving;
  // Redis 6.2 sends us on where any key is missing; the record may still be there (rule 28).
  const bool by_less = error.moving && !renewed.args.by_one_key &&
                       claim.renews_by_one_key(renewed.args.lease, ledger_.now);
  if (error.remedy == Remedy::kAskAgain && alone && !by_less && claim.node().up()) {
    send({&claim});
    return {};
  }
  const bool at_once = error.remedy == Remedy::kAskAgain || !alone;
  claim.held.renew_alone = error.remedy == Remedy::kGiveUp || error.moving;
  claim.held.renew_at = at_once ? ledger_.now : ledger_.now + kRetryPause;
  return {};
}

Verdict Watchdog::judge(const Renewed& renewed, const RenewAnswer& answer, Micros sent) {
  Claim& claim = *renewed.claim;
  if (answer.code == RenewCode::kContended) {
    claim.held.renew_in_full = true;
    claim.held.renew_at = ledger_.now;
    return {};
  }
  claim.held.renew_in_full = false;
  if (answer.code == RenewCode::kUnreadable) {
    return lost(claim, BELAY_REASON_GONE, "its key on the server was overwritten");
  }
  if (answer.code != RenewCode::kOk) {
    return lost(claim, claim.held.broken_by.empty() ? BELAY_REASON_GONE : BELAY_REASON_BROKEN,
                claim.held.broken_by.empty() ? claim.node().display() + " does not know it any more"
                                             : "it was broken by " + claim.held.broken_by);
  }
  if (renewed.args.group == claim.held.share_with) {  // else what was refused is still wanted
    claim.refusal = Status();
  }
  claim.held.slot_moves = false;
  claim.held.last_fence = std::max(claim.held.last_fence, answer.last_fence);
  ledger_.saw_fence(claim.resource.slot, claim.held.last_fence);
  if (!claim.joint() ||
      !renewed.args.by_one_key) {  // what several hold alone says nothing of the others
    hear_of_others(claim, answer.others_wait);
  }
  // A renewal of no lease only says that it is ours.
  const Micros lease = renewed.args.lease;
  return {.kind = Verdict::Kind::kOurs,
          .claim = &claim,
          .deadline = lease > 0 ? sent + lease - lease_margin(lease) : 0,
          .lease = lease,
          .group = renewed.args.group};
}

// Whoever has come to share it has a seat since the renewal that said so.
void Watchdog::note_seat(const Renewed& renewed, const Verdict& verdict,
                         ServerTime server_time) const {
  Claim& claim = *renewed.claim;
  const bool begins = !claim.joint() && !renewed.args.group.empty();
  if (verdict.kind != Verdict::Kind::kOurs || renewed.args.by_one_key ||
      (!claim.joint() && !begins)) {
    return;
  }
  const Seat first{server_time, claim.want.lock_delay, 1, renewed.args.seat.holds,
                   renewed.args.seat.local_waiters};
  claim.sits(begins ? first : renewed.args.seat, renewed.args.lease, ledger_.now);
}

void Watchdog::hear_of_others(Claim& claim, bool wait) const {
  claim.held.heard_at = ledger_.now;
  if (wait) {
    claim.others_are_waiting(ledger_.now);
  } else {
    claim.held.others_wait = false;
  }
}

void Watchdog::keep_until(const Hold& latest, Micros until) {
  for (Hold* hold : latest.claim->holds) {
    if (hold == &latest) {
      return;  // later ones follow it
    }
    const bool same = hold->owner == latest.owner && hold->lease > 0 && !hold->abandoned;
    if (!same || hold->ends_at >= until) {
      continue;
    }
    hold->ends_at = until;
    if (Bundle* const whole = ledger_.bundle(hold->bundle); whole != nullptr) {
      whole->prolonged = true;
      ledger_.want_step(*whole);
    }
  }
}

void Watchdog::extend_deadline(Claim& claim, Micros deadline, Micros lease) {
  claim.held.in_question = false;
  claim.held.broken_by.clear();
  claim.held.confirmed = true;
  claim.held.lapses_at = std::max(claim.held.lapses_at, ledger_.now + drifted(lease));
  if (deadline > claim.held.deadline) {
    claim.held.deadline = deadline;
    claim.held.lease = lease;
  }
  for (Hold* hold : claim.holds) {
    if (hold->re_entered) {
      keep_until(*hold, claim.certain_until(*hold));
    }
    // A fixed lease needs no renewal beyond its end; after a max-hold there is none.
    const bool lasts = ledger_.now < claim.held.deadline - claim.held.lease / 3 ||
                       (hold->lease > 0 && hold->ends_at <= claim.held.deadline + kTolerance);
    if (hold->at_risk && (hold->watched() || hold->lease > 0) && lasts) {
      hold->at_risk = false;
      outcomes_.tell_of(*hold, BELAY_EVENT_RECOVERED, Status());
    }
  }
}

}  // namespace belay
