// How long things may take, as the options, the distance of a server and chance say. The engine
// owns it; used inside the client's monitor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/config.h"
#include "base/random.h"
#include "engine/claim.h"
#include "engine/pending.h"
#include "engine/primitive.h"
#include "route/node.h"

namespace belay {

// The next in line looks this long after the holder's lease has ended.
inline constexpr Micros kLookAfter = 5 * kMillisecond;

class Timing {
 public:
  // `now`: the time of the entry to the engine that runs.
  Timing(const Config& config, const Micros& now, std::uint64_t seed)
      : config_(config), now_(now), random_(seed) {}

  [[nodiscard]] Micros watchdog_lease() const { return config_.watchdog_lease; }

  [[nodiscard]] Micros request_timeout() const { return config_.request_timeout; }

  // What a server may need to answer at all: an acquire gives it that, however short its wait.
  [[nodiscard]] static Micros to_answer(const Node& node) {
    const Micros trip = node.distance();
    return std::max(kSecond / 4, trip == kNever ? 0 : 4 * trip);
  }

  // When an acquire ends that the server has not answered: with its wait, a try and a long wait
  // with the request timeout.
  [[nodiscard]] Micros reach_by(const Node& node, const Pending& pending) const {
    if (pending.wait_until == kNever) {
      return kNever;
    }
    const Micros latest = now_ + config_.request_timeout;
    const bool waits = pending.wait_until > pending.since;
    return waits ? std::min(latest, std::max(pending.wait_until, now_ + to_answer(node))) : latest;
  }

  [[nodiscard]] Micros lease_for(const Pending& pending) const {
    return pending.lease > 0 ? pending.lease : config_.watchdog_lease;
  }

  // The watchdog renews it for that time at most.
  void limit(Hold& hold, Micros max_hold) const {
    hold.max_hold = max_hold;
    hold.max_at = now_ + max_hold;
    hold.max_end = hold.max_at + config_.watchdog_lease;
  }

  // When a hold ends that the watchdog renews no more, whatever longer lease another hold of the
  // claim has.
  [[nodiscard]] Micros own_end(const Claim& claim) const {
    return std::min(claim.held.deadline, now_ + config_.watchdog_lease);
  }

  // Rule 6: a grant must outlast the way to its waiter, a short hold and the confirmation, and what
  // the clock's bound has aged by since the waiter's last poll.
  // Yet no longer than the lease that is asked for: so long others wait if its waiter has died.
  [[nodiscard]] Micros grant_lease(const Node& node, Micros lease) const {
    const Micros longest = std::max(kMinGrant, std::min(lease, max_grant(config_.request_timeout)));
    return std::clamp(4 * node.round_trip() + kAgeing, kMinGrant, longest);
  }

  // Rule 14: when the server is to do nothing any more that is asked for now, by its clock; `until`
  // is by ours.
  [[nodiscard]] ServerTime not_after(const Node& node, Micros until) const {
    return node.clock().latest_at(until, now_);
  }

  [[nodiscard]] ServerTime not_after(const Node& node) const {
    return not_after(node, now_ + config_.request_timeout);
  }

  // When a record has lapsed for certain for which such a lease is asked for until then; 0: none
  // is.
  [[nodiscard]] static Micros lapses_by(const Node& node, ServerTime not_after, Micros lease) {
    return lease > 0 ? node.clock().passed_by(not_after + lease) : 0;
  }

  // Waiting clients poll in case a message is lost: slowly, and the slower the longer the queue
  // before them.
  [[nodiscard]] Micros fallback_poll(std::int64_t position) {
    const std::int64_t stretch = std::clamp<std::int64_t>(position / kUnhurried, 1, kMaxStretch);
    return kFallbackPoll * stretch * random_.between(80, 120) / 100;
  }

  static constexpr Micros kFallbackPoll = 5 * kSecond;

 private:
  // Waiting clients up to which everybody polls at that pace; and how many times slower at most.
  static constexpr std::int64_t kUnhurried = 16;
  static constexpr std::int64_t kMaxStretch = 6;

  const Config& config_;
  const Micros& now_;
  Random random_;
};

}  // namespace belay
