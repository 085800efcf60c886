#include "engine/ledger.h"

#include <algorithm>
#include <utility>

namespace belay {

namespace {

std::string table_key(Kind kind, std::string_view name) {
  std::string key(1, static_cast<char>(kind));
  return key.append(name);
}

template <class Table, class Key>
auto* entry(const Table& table, const Key& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : found->second.get();
}

template <class Table, class Key, class Entries>
void move_out(Table& table, const Key& key, Entries* entries) {
  const auto found = table.find(key);
  entries->emplace_back(std::move(found->second));
  table.erase(found);
}

}  // namespace

Claim* Ledger::find_claim(Kind kind, std::string_view name) const {
  return entry(claims, table_key(kind, name));
}

Claim& Ledger::claim_of(const Primitive& primitive, std::string_view name) {
  std::string key = table_key(primitive.kind(), name);
  Claim* const found = entry(claims, key);
  return found != nullptr ? *found : add_claim(primitive, name, std::move(key));
}

Claim& Ledger::claim_for_acquire(const Primitive& primitive, std::string_view name) {
  if (!primitive.claim_per_request()) {
    return claim_of(primitive, name);
  }
  return add_claim(primitive, name,
                   table_key(primitive.kind(), name) + '\0' + std::to_string(++last_claim));
}

Claim& Ledger::add_claim(const Primitive& primitive, std::string_view name, std::string key) {
  auto owned = std::make_unique<Claim>();
  Claim& claim = *owned;
  claim.primitive = &primitive;
  claim.key = key;
  claim.resource = primitive.resource(name);
  claim.router = &router;
  claim.timer.claim = &claim;
  claims.emplace(std::move(key), std::move(owned));
  return claim;
}

Claim* Ledger::claim_of_epoch(const Message& message) const {
  const auto found = epochs.find(message.epoch);
  const bool known = found != epochs.end() && found->second->resource.name == message.name &&
                     found->second->primitive->kind() == message.of;
  return known ? found->second : nullptr;
}

Claim* Ledger::standing_claim(const Message& message) const {
  Claim* const claim = claim_of_epoch(message);
  return claim == nullptr || claim->state == ClaimState::kIdle ? nullptr : claim;
}

Claim* Ledger::claim_of_past(const Message& message) const {
  Claim* const claim = claim_of_epoch(message);
  return claim != nullptr ? claim : find_claim(message.of, message.name);
}

Pending& Ledger::add_pending(std::int64_t tag, PendingKind kind) {
  auto owned = std::make_unique<Pending>();
  Pending& pending = *owned;
  pending.tag = tag;
  pending.order = ++last_order;
  pending.since = now;
  pending.kind = kind;
  pending.timer.pending = &pending;
  pending.reach_by = now + config.request_timeout;
  timers.set(pending.timer, pending.reach_by);
  pendings.emplace(tag, std::move(owned));
  submissions += is_submission(tag) ? 1 : 0;
  return pending;
}

std::uint16_t Ledger::slot_of(const Pending& pending) const {
  if (pending.claim != nullptr) {
    return pending.claim->resource.slot;
  }
  const Hold* const about = hold(pending.hold);
  if (about != nullptr && about->claim != nullptr) {
    return about->claim->resource.slot;
  }
  return pending.query == nullptr ? 0 : pending.query->slot();
}

Pending* Ledger::pending(std::int64_t tag) const {
  return entry(pendings, tag);
}

Pending* Ledger::pending(const PendingRef& ref) const {
  Pending* const found = pending(ref.tag);
  return found == nullptr || found->order != ref.order ? nullptr : found;
}

Hold* Ledger::hold(std::int64_t id) const {
  return entry(holds, id);
}

Hold* Ledger::known_hold(std::int64_t id) const {
  Hold* const found = hold(id);
  return found == nullptr || found->bundle != 0 ? nullptr : found;
}

bool Ledger::told_of(const Hold& hold) const {
  return hold.bundle == 0 || held_bundle(hold.bundle) != nullptr;
}

std::unique_ptr<Hold> Ledger::take_hold(std::int64_t id) {
  const auto found = holds.find(id);
  if (found == holds.end()) {
    return nullptr;
  }
  std::unique_ptr<Hold> taken = std::move(found->second);
  holds.erase(found);
  return taken;
}

std::size_t Ledger::held() const {
  std::size_t count = holds.size();
  for (const auto& [id, bundle] : bundles) {
    count += bundle->stage == BundleStage::kHeld ? 1 : 0;
    for (const BundlePart& part : bundle->parts) {
      count -= holds.contains(part.hold) ? 1 : 0;
    }
  }
  return count;
}

Bundle* Ledger::bundle(std::int64_t id) const {
  return entry(bundles, id);
}

Bundle* Ledger::held_bundle(std::int64_t id) const {
  Bundle* const found = bundle(id);
  return found == nullptr || found->stage != BundleStage::kHeld ? nullptr : found;
}

void Ledger::want_step(Bundle& bundle) {
  if (!std::exchange(bundle.due, true)) {
    bundles_due.push_back(bundle.id);
  }
}

void Ledger::retire(Claim& claim) {
  epochs.erase(claim.epoch);
  timers.set(claim.timer, kNever);
  move_out(claims, claim.key, &retired_);
}

void Ledger::retire(Pending& pending) {
  if (pending.waits) {
    pending.claim->waiting.erase(pending.place);
    pending.waits = false;
  }
  if (Hold* const held = hold(pending.hold); held != nullptr) {
    std::erase(held->asked, pending.tag);
  }
  timers.set(pending.timer, kNever);
  submissions -= is_submission(pending.tag) ? 1 : 0;
  parts_pending -= pending.lead.any() ? 1 : 0;
  move_out(pendings, pending.tag, &retired_);
}

void Ledger::retire(Bundle& bundle) {
  move_out(bundles, bundle.id, &retired_);
}

void Ledger::retire_abandoned(Hold& hold) {
  move_out(abandoned, hold.id, &retired_);
}

bool Ledger::stands(const Claim& claim) const {
  return entry(claims, claim.key) == &claim;
}

bool Ledger::stands(const Pending& pending) const {
  return entry(pendings, pending.tag) == &pending;
}

std::int64_t Ledger::highest_fence_of(std::uint16_t slot) const {
  const auto found = highest_fences.find(slot);
  return found == highest_fences.end() ? 0 : found->second;
}

void Ledger::saw_fence(std::uint16_t slot, std::int64_t fence) {
  std::int64_t& highest = highest_fences[slot];
  highest = std::max(highest, fence);
}

}  // namespace belay
