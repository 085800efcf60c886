#include "engine/claim.h"

#include <algorithm>

#include "base/contract.h"
#include "engine/pending.h"

namespace belay {

namespace {

// Shorter holds are not worth the command that watches them.
constexpr Micros kWatchAfter = kSecond;
constexpr std::int64_t kFirstReserve = contract::kRange;
constexpr int kMaxHandoffs = 16;
constexpr Micros kMaxHandoffTime = 10 * kMillisecond;
// How long what several hold stands without a renewal in full, less what clocks may differ by.
constexpr Micros kStands = contract::kStandsUs / 2 / 10 * 9;
// How often other numbers of holds and waiters are told, which only people read.
constexpr Micros kTellAfter = 10 * kSecond;
// How long after the server's word that nobody else waits owners may join those who share a claim.
constexpr Micros kJoinWindow = 100 * kMillisecond;

}  // namespace

void Claim::begin(std::int64_t next, Micros poll_at) {
  state = ClaimState::kAsking;
  epoch = next;
  want = waiting.front()->want;
  asking = Asking();
  asking.poll_at = poll_at;
  was_cut = false;
  refusal = Status();
  for (Leaving& one : leaving) {
    one.goes_first = one.lost;
  }
}

void Claim::take(const Grant& grant, Micros now) {
  // It is ours again: what this client passed on before was taken up.
  std::erase_if(leaving, [](const Leaving& one) { return one.looks_after; });
  state = ClaimState::kHeld;
  asking.again_at = kNever;
  was_cut = was_cut && grant.confirmed;
  held = Held();
  static_cast<Grant&>(held) = grant;
  held.next_fence = grant.fence;
  held.reserve = kFirstReserve;
  held.awaits_reply = !grant.confirmed && !waiting.empty() && waiting.front()->confirmed;
  // An ask that was cut off may have been for longer: what is told again is not shortened.
  held.lapses_at = std::max(now + drifted(grant.lease), asking.cut_until);
  sits({grant.since, want.lock_delay, grant.permits}, grant.lease, now);
  held.look_at = watchable() ? now + kWatchAfter : kNever;
  held.others_since = now;
  held.heard_at = now;
  if (!grant.confirmed) {  // rule 5
    const Micros latest = grant.deadline - std::max(2 * node().round_trip(), grant.lease / 2);
    held.renew_at = std::max(now, std::min(now + grant.lease / 3, latest));
  }
}

Leaving Claim::end(Micros now) {
  const bool was_held = state == ClaimState::kHeld;
  const Micros queued_until =
      asking.may_be_queued ? std::max(now, asking.expires_by) + kQueueStands : 0;
  Leaving left;
  left.epoch = epoch;
  left.sweep_until = asking.suspect_until;
  // An ask that is not answered yet may prolong what a message has granted; one that was cut off
  // may have got what a later answer does not speak of.
  left.cut_until = std::max(asking.cut_until, asking.expires_by);
  left.expires_by = std::max(left.cut_until, was_held ? held.lapses_by() : queued_until);
  left.look_at = !was_held && asking.told_to_look ? asking.again_at : kNever;
  left.ours_until = held.deadline;
  left.given = was_held && !was_cut ? std::max(held.fence, held.next_fence - 1) : 0;
  left.lost = now < held.delay_until;
  left.in_vain = !was_held;
  left.only_asked = !was_held && asking.out && asking.ticket == 0 && !asking.maybe_on_server;
  left.joint = joint();
  left.fence = held.fence;
  left.seat = held.seat;
  left.uncontended =
      was_held && held.confirmed && !held.others_wait && !asking.suspect_until.any() && !left.lost;
  left.broken_by = held.broken_by;
  state = ClaimState::kIdle;
  asking = Asking();
  held = Held();
  return left;
}

const Hold* Claim::own_hold(std::int64_t owner) const {
  const auto found = std::find_if(holds.begin(), holds.end(), [owner](const Hold* hold) {
    return owner != 0 && hold->owner == owner && !hold->abandoned;
  });
  return found == holds.end() ? nullptr : *found;
}

// Who shares a name, or has begun to, cannot have it alone: others may be waiting for the same.
bool Claim::would_deadlock(const Want& wanted) const {
  const std::string& group = shared() ? want.group : held.share_with;
  return !group.empty() && group != wanted.group;
}

// Re-entered holds may be all that is left, and be content to share.
std::string Claim::shared_by_all() const {
  const std::string& group = holds.front()->group;
  const bool all = std::all_of(holds.begin(), holds.end(),
                               [&group](const Hold* hold) { return hold->group == group; });
  return all ? group : std::string();
}

void Claim::on_loss_of(const Hold& hold, Micros now) {
  held.delay_until = now + want.lock_delay;
  held.lost_alone = held.lost_alone || hold.group.empty();
}

// Whether the next local owner wants just what the claim is, and nobody beside it.
bool Claim::next_wants_the_same() const {
  return !waiting.empty() && !shared() && held.share_with.empty() &&
         waiting.front()->want.suits(want);
}

// Whether a reply vouches for it, for longer than soon, and nothing has put it in question since.
bool Claim::is_sure(Micros now) const {
  const Micros soon = std::max({kMinGrant / 2, held.lease / 3, 2 * node().round_trip()});
  return state == ClaimState::kHeld && held.confirmed && !held.in_question &&
         held.deadline - now > soon;
}

// Local owners may have it among themselves as long as that keeps no other client waiting beyond a
// small budget, and what vouches for the claim is a reply and not about to end.
bool Claim::may_hand_locally(Micros now) const {
  const bool spent = held.others_wait &&
                     (held.handoffs >= kMaxHandoffs || now - held.others_since > kMaxHandoffTime);
  const bool has_fence = held.next_fence <= held.last_fence || (node().up() && !held.others_wait);
  const bool delayed = now < held.delay_until;
  return next_wants_the_same() && is_sure(now) && has_fence && !spent && !delayed;
}

// Whether it may be beside those who have the claim, as far as is known.
bool Claim::wants_to_join(const Pending& pending) const {
  return state == ClaimState::kHeld && shared() && pending.want.suits(want) && !held.others_wait;
}

// Whether a try may be let in by the answer that others of its kind are waiting for.
bool Claim::may_be_let_in(const Pending& pending) const {
  if (own_hold(pending.owner) != nullptr) {
    return true;
  }
  const bool asks = state == ClaimState::kAsking && shared() && asking.ticket == 0;
  return (asks || wants_to_join(pending)) && pending.want.suits(want) &&
         std::all_of(waiting.begin(), waiting.end(),
                     [this](const Pending* other) { return other->want.suits(want); });
}

// Whether it may be beside those who share the claim, at once: not before another client that
// waits, as far as the server has said lately.
bool Claim::may_join(const Pending& pending, Micros now) const {
  return wants_to_join(pending) && is_sure(now) && now - held.heard_at <= kJoinWindow;
}

// Whether somebody could join but for another client that waits, which may give up.
bool Claim::waits_for_others() const {
  return shared() && held.others_wait && !waiting.empty() && waiting.front()->want.suits(want);
}

bool Claim::runs_short_of_fences() const {
  const std::int64_t left = held.last_fence - held.next_fence + 1;
  return next_wants_the_same() && left <= held.reserve / 2;
}

// A record that several share is written whenever one of them comes or goes: it is not watched.
bool Claim::watchable() const {
  return node().can_watch() && !joint();
}

// What several hold is looked at in full where its record may be gone, of which the members know
// nothing; where somebody wants to know who waits; where it would stand no longer; and now and then
// where other numbers are to be told. While the slot moves, less has to do: or the claim would be
// lost.
bool Claim::renews_by_one_key(Micros lease, Micros now) const {
  if (held.renew_in_full || (!held.share_with.empty() && !held.slot_moves)) {
    return false;
  }
  if (joint()) {
    const bool told = held.seat.holds == holds.size() && held.seat.local_waiters == waiting.size();
    return held.seat.since.any() && !held.in_question && (held.slot_moves || waiting.empty()) &&
           now + lease + held.seat.lock_delay <= held.stands_until &&
           (told || now < held.told_at + kTellAfter);
  }
  return held.confirmed && (held.slot_moves || (!held.others_wait && !runs_short_of_fences()));
}

void Claim::sits(const Seat& seat, Micros lease, Micros now) {
  held.seat = seat;
  held.told_at = now;
  held.stands_until = now + lease + seat.lock_delay + kStands;
}

void Claim::others_are_waiting(Micros now) {
  if (!held.others_wait) {
    held.others_wait = true;
    held.others_since = now;
    held.handoffs = 0;
  }
}

// Those who wait for what the server has answered about. Who came later may mean what began later,
// unless it says which generation it means. `answered`: 0 if the answer was about none.
std::vector<Pending*> Claim::concerned(std::int64_t answered) const {
  std::vector<Pending*> list;
  const std::uint64_t to = asking.generation != 0 ? asking.known_to : asking.asked_to;
  std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(list),
               [to, answered](const Pending* pending) {
                 const std::int64_t wanted = pending->want.generation;
                 return wanted == 0 ? pending->order <= to : answered == 0 || wanted == answered;
               });
  return list;
}

Leaving* Claim::leaving_of(std::int64_t old) {
  const auto found = std::find_if(leaving.begin(), leaving.end(),
                                  [old](const Leaving& one) { return one.epoch == old; });
  return found == leaving.end() ? nullptr : &*found;
}

void Claim::forget(const Leaving& done) {
  std::erase_if(leaving, [&done](const Leaving& one) { return &one == &done; });
}

// Whoever asks anew has freed what it had. An earlier hold that was lost has to be known for lost
// first, as no lock-delay follows otherwise.
bool Claim::loss_is_untold() const {
  return std::any_of(leaving.begin(), leaving.end(),
                     [](const Leaving& one) { return one.goes_first && !one.answered; });
}

// Rule 15: an acquire whose reply was lost in a cut may still arrive, until its not-after.
void Claim::suspect(std::int64_t of, ServerTime until) {
  if (state != ClaimState::kIdle && epoch == of) {
    asking.suspect_until = std::max(asking.suspect_until, until);
    asking.cut_until = std::max(asking.cut_until, asking.expires_by);
    asking.maybe_on_server = true;
  }
  if (Leaving* const found = leaving_of(of); found != nullptr) {
    found->sweep_until = std::max(found->sweep_until, until);
    found->only_asked = false;
  }
}

// A server that serves the name from now on may lack what another one has granted, or still grants.
void Claim::leave_range() {
  was_cut = true;
  for (Leaving& one : leaving) {
    one.given = 0;
  }
}

void Claim::on_node_down() {
  refusal = Status();
  held.in_question = true;
  leave_range();
  for (Leaving& one : leaving) {
    one.again_at = one.looks_after ? one.again_at : kNever;
  }
}

// A grant that the server has told of by now is not believed: somebody may send it again.
void Claim::put_in_question(Micros now) {
  held.in_question = true;
  if (node().clock().known(now)) {
    asking.doubted_at = std::max(asking.doubted_at, node().clock().latest_at(now, now));
  }
}

// What may still arrive, arrives at the server that it was sent to. And until this one has
// answered, no message can be told to be newer than its answer: we ask.
void Claim::on_another_server() {
  asking.suspect_until = {};
  asking.answered_at = {kNever};
  asking.doubted_at = {};
  held.renew_in_full = true;  // what is gone is LOST by one answer then
  for (Leaving& one : leaving) {
    one.sweep_until = {};
  }
}

// When less than a third of the lease is left; later while a renewal is out and not overdue.
Micros Claim::risk_time(const Hold& hold) const {
  const bool should_be_renewed = hold.watched() || !held.confirmed;
  if (!should_be_renewed || hold.at_risk || renew_due) {
    return kNever;
  }
  const Micros third = held.deadline - held.lease / 3;
  if (!held.renew_out) {
    return third;
  }
  const Micros overdue = held.renewed_at + 2 * node().round_trip();
  return std::min(std::max(third, overdue), held.deadline - held.lease / 12);
}

Micros Claim::next_due() const {
  Micros soonest = kNever;
  if (state == ClaimState::kHeld) {
    soonest = std::min(held.deadline, held.share_at);
    for (const Hold* hold : holds) {
      soonest = std::min(
          {soonest, hold->ends_at, hold->watched() ? hold->max_at : kNever, risk_time(*hold)});
    }
  }
  if (!node().up()) {
    return soonest;
  }
  if (state == ClaimState::kHeld && !held.renew_out && !renew_due) {
    soonest = std::min(soonest, held.renew_at);
  } else if (state == ClaimState::kAsking && !asking.out) {
    soonest = std::min(soonest, asking.again_at);
  }
  for (const Leaving& one : leaving) {
    soonest = std::min(soonest, one.again_at);
  }
  return soonest;
}

}  // namespace belay
