#include "hammer/witness.h"

#include <algorithm>

namespace belay::hammer {

namespace {

constexpr std::int64_t kKept = 30 * 1000;    // ms for which an ended hold is remembered
constexpr std::int64_t kGrantLeases = 3000;  // ms after which no hold stands by a message alone
constexpr std::int64_t kShortStall = 20;     // ms of the machine that may cost a grant lease
constexpr std::int64_t kLongStall = 1000;    // that may cost a watchdog's lease
// ms until a client has learned of a break: until then its owners share or hand on what it had.
constexpr std::int64_t kTold = 1000;
constexpr std::int64_t kMargin = 15;  // ms, beside a hundredth of the lease

std::string text_of(const Held& held) {
  std::string text = "hold " + std::to_string(held.id) + " of";
  for (std::size_t i = 0; i < held.names.size(); ++i) {
    text += " " + held.names[i] + "(" + held.groups[i] + " fence " +
            std::to_string(held.fences[i]) + ")";
  }
  return text;
}

}  // namespace

std::int64_t Witness::breaks_of(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const std::string& name : names) {
    sum += breaks_[name];
  }
  return sum;
}

bool Witness::vouched(const Held& held) {
  return !held.broken && held.life->remaining_ms(held.id) > 0;
}

bool Witness::same_owner(const Held& one, const Held& other) {
  return one.life == other.life && one.owner != 0 && one.owner == other.owner;
}

// Whether both cannot have the name number `at` of one of them.
bool Witness::exclude_at(const Held& one, std::size_t at, const Held& other) {
  for (std::size_t i = 0; i < other.names.size(); ++i) {
    if (one.names[at] == other.names[i] && !same_owner(one, other)) {
      return one.groups[at].empty() || one.groups[at] != other.groups[i];
    }
  }
  return false;
}

bool Witness::exclude(const Held& one, const Held& other) {
  for (std::size_t at = 0; at < one.names.size(); ++at) {
    if (exclude_at(one, at, other)) {
      return true;
    }
  }
  return false;
}

// What is vouched for when it is asked about was so since it is known: whoever is vouched for after
// another was vouched for when the other was.
void Witness::check_exclusion(const Held& held) {
  for (const auto& [id, known] : holds_) {
    if (known.active && exclude(held, known.held) && vouched(known.held) && vouched(held)) {
      report_.violation("exclusion", text_of(held) + " beside " + text_of(known.held));
    }
  }
}

void Witness::check_fences(const Held& held) {
  for (std::size_t i = 0; i < held.names.size(); ++i) {
    Highest& highest = highest_[held.names[i]];
    const bool shares = highest.fence == held.fences[i] && !exclude_at(held, i, highest.held);
    if (held.fences[i] <= highest.fence && !shares && vouched(held)) {
      report_.violation("fences", text_of(held) + " after " + text_of(highest.held));
    }
    if (held.fences[i] > highest.fence) {
      highest = {held.fences[i], held};
    }
  }
}

void Witness::check_permits(const Held& held) {
  std::int64_t permits = held.permits;
  for (const auto& [id, known] : holds_) {
    if (known.active && known.held.names == held.names && vouched(known.held)) {
      permits += known.held.permits;
    }
  }
  if (permits > held.limit && vouched(held)) {
    report_.violation("permits", text_of(held) + ": " + std::to_string(permits) + " are held");
  }
}

void Witness::granted(const Held& granted) {
  const std::lock_guard lock(mutex_);
  Held held = granted;
  std::int64_t breaks = 0;
  for (const std::string& name : held.names) {
    breaks += breaks_[name];
    held.broken = held.broken || breaking_[name] > 0 || now_ms() - broken_at_[name] < kTold;
  }
  held.broken = held.broken || breaks != held.breaks || held.life->closing();
  if (holds_.contains(held.id)) {
    report_.violation("ids", text_of(held) + " was granted twice");
  }
  if (held.permits > 0) {
    check_permits(held);
  } else {
    check_exclusion(held);
    check_fences(held);
  }
  const auto told = told_early_.find(held.id);
  holds_[held.id] = {held, true, told != told_early_.end()};
  if (told != told_early_.end()) {
    check_loss(held, told->second);
    told_early_.erase(told);
  }
}

void Witness::parts(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(id);
  if (found != holds_.end() && found->second.active) {
    found->second.active = false;
    ended_.emplace_back(now_ms(), id);
  }
  forget();
}

void Witness::forget() {
  while (!ended_.empty() && now_ms() - ended_.front().first > kKept) {
    holds_.erase(ended_.front().second);
    ended_.pop_front();
  }
}

void Witness::extends(std::int64_t id, std::int64_t called_at, std::int64_t lease_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(id);
  if (found != holds_.end()) {
    Held& held = found->second.held;
    held.fixed_until = std::max(held.fixed_until, called_at + lease_ms - lease_ms / 100 - kMargin);
  }
}

void Witness::downgrades(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(id);
  if (found != holds_.end()) {
    Held& held = found->second.held;
    held.groups[0] = "r";
    Highest& highest = highest_[held.names[0]];
    highest.held = highest.held.id == id ? held : highest.held;
  }
}

void Witness::begin_break(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ++breaks_[name];
  ++breaking_[name];
  for (auto& [id, known] : holds_) {
    const std::vector<std::string>& names = known.held.names;
    known.held.broken =
        known.held.broken || std::find(names.begin(), names.end(), name) != names.end();
  }
}

void Witness::end_break(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ++breaks_[name];
  --breaking_[name];
  broken_at_[name] = now_ms();
}

void Witness::ends(Life& life) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, known] : holds_) {
    if (known.held.life == &life) {
      known.held.broken = true;
      known.active = false;
      ended_.emplace_back(now_ms(), id);
    }
  }
}

void Witness::check_loss(const Held& held, const std::string& why) {
  const std::int64_t now = now_ms();
  const bool over = held.fixed_until > 0 && now >= held.fixed_until;
  const std::int64_t stall = stalls_.longest_since(held.called_at);
  const bool early = now - held.called_at < kGrantLeases;
  const bool stalled = early ? stall >= kShortStall : stall >= kLongStall;
  const bool ended = held.life->closing() && why.ends_with("the client was shut down");
  if (held.broken || over || ended) {
    return;
  }
  report_.count(stalled ? "lost_to_stalls" : "lost_for_nothing");
  if (!stalled) {
    report_.violation("loss", text_of(held) + " after " + std::to_string(now - held.called_at) +
                                  " ms, longest stall " + std::to_string(stall) + " ms: " + why);
  }
}

void Witness::lost(std::int64_t id, const std::string& why, bool event) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(id);
  if (found == holds_.end()) {
    if (event) {
      told_early_.emplace(id, why);
    }
    return;
  }
  if (event && found->second.told) {
    report_.violation("loss", text_of(found->second.held) + " was told of twice");
  }
  found->second.told = found->second.told || event;
  check_loss(found->second.held, why);
}

bool Witness::stands(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(id);
  return found != holds_.end() && found->second.active && vouched(found->second.held);
}

}  // namespace belay::hammer
