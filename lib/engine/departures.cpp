#include "engine/departures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "route/server_error.h"

namespace belay {

namespace {

constexpr std::size_t kMostTogether = 32;          // by one command: each may have waiters to serve
constexpr Micros kRetryPause = 50 * kMillisecond;  // after an error that may pass
constexpr Micros kRefusedPause = kSecond;          // after one that somebody has to mend

// So many messages about epochs that are over make us leave these, in that time: anybody who may
// publish could send any number, and what stands there lapses by itself.
constexpr int kMostStrays = 256;
constexpr Micros kStrayWindow = 5 * kSecond;

// The command did nothing. What was asked for after it may have freed the name, though.
void take_back(Leaving& leaving) {
  leaving.sent -= leaving.overtaken ? 0 : 1;
}

}  // namespace

// ---- Commands

// Rule 10: asked again until it is answered.
void Departures::leave(Claim& claim, const Leaving& leaving) {
  if (Leaving* const found = claim.leaving_of(leaving.epoch); found != nullptr) {
    found->sweep_until = std::max(found->sweep_until, leaving.sweep_until);
    if (found->looks_after) {  // as it goes on doing
      found->look_at = found->again_at;
    }
    send(claim, *found);
    return;
  }
  claim.leaving.push_back(leaving);
  send(claim, claim.leaving.back());
}

void Departures::send(Claim& claim, Leaving& leaving) {
  if (leaving.in_flight || !claim.node().up()) {
    return;
  }
  leaving.in_flight = true;
  ++leaving.sent;
  leaving.looks_after = false;
  leaving.parting = closing_;
  leaving.again_at = kNever;
  if (gathers_ && claim.waiting.empty()) {
    gathered_.push_back({&claim, leaving.epoch});
  } else {
    send({{&claim, leaving.epoch}});
  }
}

void Departures::send(std::vector<ClaimRef> left) {
  Flight flight;
  flight.kind = FlightKind::kLeave;
  flight.refs = std::move(left);
  std::vector<LeavePart> parts;
  parts.reserve(flight.refs.size());
  for (const ClaimRef& ref : flight.refs) {
    Leaving& leaving = *ref.claim->leaving_of(ref.epoch);
    const Resource& resource = ref.claim->resource;
    leaving.highest_fence = ledger_.highest_fence_of(resource.slot);
    parts.push_back({&resource, static_cast<const LeaveArgs&>(leaving)});
    flight.in_vain = flight.in_vain || leaving.in_vain;
  }
  const Claim& first = *flight.refs.front().claim;
  const Command command = parts.size() > 1
                              ? dialect_.leave_all(parts)
                              : first.primitive->leave(first.resource, parts.front().args);
  flights_.send(first.node(), command, std::move(flight), ledger_.now);
}

// One command a group of slots.
void Departures::send_gathered() {
  gathers_ = false;
  std::map<std::uint16_t, std::vector<ClaimRef>> groups;
  for (const ClaimRef& left : std::exchange(gathered_, {})) {
    std::vector<ClaimRef>& group = groups[ledger_.router.group_of(left.claim->resource.slot)];
    group.push_back(left);
    if (group.size() == kMostTogether) {
      send(std::exchange(group, {}));
    }
  }
  for (const auto& [number, group] : groups) {
    if (!group.empty()) {
      send(group);
    }
  }
}

void Departures::send_due(Claim& claim) {
  for (Leaving& leaving : claim.leaving) {
    if (ledger_.now >= leaving.again_at) {
      leaving.again_at = kNever;
      send(claim, leaving);
    }
  }
}

// Where older connections were killed, nothing of theirs can arrive any more. A slot may have moved
// on since, and come back: it is not known to which of the servers.
void Departures::send_again(Claim& claim) {
  const bool ghosts = ledger_.router.has_ghosts();
  claim.asking.suspect_until = ghosts ? claim.asking.suspect_until : ServerTime();
  for (Leaving& leaving : claim.leaving) {
    leaving.sweep_until = ghosts ? leaving.sweep_until : ServerTime();
    if (leaving.again_at == kNever) {
      send(claim, leaving);
    }
  }
}

void Departures::on_cut(Claim& claim, std::int64_t epoch) {
  Leaving* const leaving = claim.leaving_of(epoch);
  if (leaving != nullptr && leaving->stray) {
    claim.forget(*leaving);
  } else if (leaving != nullptr) {
    leaving->in_flight = false;
  }
}

void Departures::stop_looking_after(Claim& claim) {
  for (Leaving& leaving : claim.leaving) {
    if (leaving.looks_after) {
      send(claim, leaving);
    }
  }
  std::erase_if(claim.leaving, [](const Leaving& leaving) { return leaving.looks_after; });
}

// ---- Answers

void Departures::on_reply(const Flight& flight, Reply reply, Micros sent) {
  std::optional<std::vector<LeaveAnswer>> answers;
  const bool together = flight.refs.size() > 1;
  if (together) {
    answers = dialect_.read_leave_all(reply, flight.refs.size());
  } else if (const auto answer = flight.refs.front().claim->primitive->read_leave(reply)) {
    answers = {*answer};
  }
  gathers_ = together && answers;
  for (std::size_t i = 0; i < flight.refs.size(); ++i) {
    Claim& claim = *flight.refs[i].claim;
    const std::int64_t epoch = flight.refs[i].epoch;
    --claim.in_flight;
    if (!answers && together) {
      on_error_of_several(claim, epoch, error_words(reply));
      continue;
    }
    const auto answer = answers ? std::optional((*answers)[i]) : std::nullopt;
    if (answer && answer->server_time.any()) {
      flight.node->saw_time(answer->server_time, sent, ledger_.now);
    }
    on_left(claim, epoch, answer, error_words(reply));
  }
  send_gathered();
}

// Whose fault it is shows only one by one.
void Departures::on_error_of_several(Claim& claim, std::int64_t epoch, std::string_view words) {
  Leaving* const left = claim.leaving_of(epoch);
  if (left == nullptr) {
    return;
  }
  left->in_flight = false;
  if (ledger_.router.judge(words).remedy != Remedy::kGiveUp) {
    take_back(*left);
  }
  send(claim, *left);
}

void Departures::on_ask_refused(Claim& claim, std::int64_t epoch, Reply reply) {
  const Leaving* const left = claim.leaving_of(epoch);
  const bool did_nothing = reply.is_error() && !classify_error(reply.text()).halfway;
  if (left != nullptr && left->only_asked && did_nothing) {
    claim.forget(*left);
  }
}

void Departures::on_ask_handed_on(Claim& claim, std::int64_t epoch, Micros grant_lease) {
  Leaving* const left = claim.leaving_of(epoch);
  if (left != nullptr) {
    left->look_at = ledger_.now + drifted(grant_lease) + kLookAfter;
  }
}

void Departures::on_left(Claim& claim, std::int64_t epoch, const std::optional<LeaveAnswer>& answer,
                         std::string_view words) {
  Leaving* const found = claim.leaving_of(epoch);
  if (found == nullptr) {
    return;
  }
  found->in_flight = false;
  const bool was_uncontended = std::exchange(found->uncontended, found->uncontended && !answer);
  if (answer && answer->code == LeaveCode::kContended && was_uncontended) {
    take_back(*found);
    send(claim, *found);
  } else if (answer && answer->code != LeaveCode::kContended) {
    on_answer(claim, *found, *answer);
  } else {
    on_error(claim, *found, words);
  }
}

void Departures::on_answer(Claim& claim, Leaving& leaving, const LeaveAnswer& answer) {
  leaving.answered = true;
  complete_release(leaving, status_of_release(claim, leaving, answer.code));
  if (answer.code == LeaveCode::kMore) {
    send(claim, leaving);
  } else if (leaving.sweep_until.any() && leaving.sweep_until >= answer.server_time) {
    leaving.again_at =
        ledger_.now + drifted(leaving.sweep_until - answer.server_time) + 2 * kMillisecond;
  } else if (answer.handed > 0 && !leaving.parting) {
    leaving.looks_after = true;
    leaving.again_at = closing_ ? ledger_.now : ledger_.now + drifted(answer.handed) + kLookAfter;
  } else if (leaving.look_at != kNever && !leaving.parting) {  // nobody else may look in its place
    leaving.looks_after = true;
    leaving.again_at = closing_ ? ledger_.now : std::exchange(leaving.look_at, kNever);
  } else {
    claim.forget(leaving);
  }
}

// Rule 10: what the server did not have was lost, unless it may have lapsed on the way, or an
// earlier command of ours may have freed it.
Status Departures::status_of_release(const Claim& claim, const Leaving& leaving,
                                     LeaveCode code) const {
  const Pending* const pending = ledger_.pending(leaving.release);
  if (pending == nullptr || code != LeaveCode::kNotOurs || leaving.sent > 1 ||
      ledger_.now >= leaving.ours_until) {
    return {};
  }
  const std::int64_t hold = pending->bundle != 0 ? pending->bundle : pending->hold;
  const std::string& by = leaving.broken_by;
  return by.empty() ? outcomes_.lost(hold, claim, BELAY_REASON_GONE,
                                     "the server did not have it at the release")
                    : outcomes_.lost(hold, claim, BELAY_REASON_BROKEN, "it was broken by " + by);
}

// An error, or a reply that is none of the script's. Asked again until the record has lapsed
// whatever happens.
void Departures::on_error(Claim& claim, Leaving& leaving, std::string_view words) {
  const ServerError error = ledger_.router.judge(words);
  if (error.remedy != Remedy::kGiveUp) {
    take_back(leaving);
  }
  if (error.remedy == Remedy::kAskAgain) {
    send(claim, leaving);
    return;
  }
  if (leaving.stray) {
    claim.forget(leaving);
    return;
  }
  leaving.again_at = ledger_.now + (error.remedy == Remedy::kGiveUp ? kRefusedPause : kRetryPause);
  if (error.remedy != Remedy::kGiveUp) {
    return;
  }
  leaving.answered = true;
  Status status(error.status, claim.node().display() + " refused to release '" +
                                  claim.resource.name + "': " + claim.node().explained(words));
  status.in_doubt_until = leaving.expires_by;
  complete_release(leaving, std::move(status));
  if (ledger_.now >= leaving.expires_by) {
    claim.forget(leaving);
  }
}

void Departures::complete_release(Leaving& leaving, Status status) {
  Pending* const pending = ledger_.pending(std::exchange(leaving.release, {}));
  if (pending != nullptr) {
    outcomes_.complete(*pending, std::move(status));
  }
}

// ---- Messages

// Whether a message about an epoch that is over may make us leave it. One that stands for another
// name or kind may not: its leave would free it. Nor one that names another kind than the lock that
// is being released: the release could not tell what it found. Nor one that is newer than what
// stands for this name: its leave would take that out of the queue.
bool Departures::admit_stray(const Claim* claim, const Message& message) {
  const bool newer =
      claim != nullptr && claim->state != ClaimState::kIdle && message.epoch > claim->epoch;
  Claim* const lock = ledger_.find_claim(Kind::kLock, message.name);
  const bool released = lock != nullptr && lock->leaving_of(message.epoch) != nullptr;
  const bool is_left =
      claim != nullptr && claim->epoch == message.epoch && claim->state == ClaimState::kIdle;
  const bool stands = ledger_.epochs.contains(message.epoch) && !is_left;
  if (message.epoch < 1 || message.epoch > ledger_.last_epoch || stands || newer || released) {
    return false;
  }
  if (ledger_.now - strays_since_ >= kStrayWindow) {
    strays_since_ = ledger_.now;
    strays_ = 0;
  }
  return ++strays_ <= kMostStrays;
}

Claim* Departures::on_stray(const Primitive& primitive, const Message& message) {
  Claim* claim = ledger_.claim_of_past(message);
  Leaving* const left = claim == nullptr ? nullptr : claim->leaving_of(message.epoch);
  if (left == nullptr && !admit_stray(claim, message)) {
    return nullptr;
  }
  if (left != nullptr && message.kind == MessageKind::kBroken) {
    left->broken_by = message.by;
  }
  if (claim == nullptr) {
    claim = &ledger_.claim_for_acquire(primitive, message.name);
  }
  Leaving leaving;
  leaving.epoch = message.epoch;
  leaving.expires_by = ledger_.now + timing_.watchdog_lease();
  leaving.stray = true;
  // A holder who released it has said so before: whoever is taken for one has lost it. So also
  // where the message is its grant, which may be an old one that somebody sends again.
  leaving.lost = true;
  leave(*claim, leaving);
  return claim;
}

}  // namespace belay
