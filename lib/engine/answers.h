// What the server is asked about names, and what it answers. Values: the dialect packs the one and
// reads the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/contract.h"
#include "engine/event.h"
#include "engine/want.h"

namespace belay {

struct AcquireArgs {
  Want want;
  std::int64_t epoch = 0;
  Micros lease = 0;
  ServerTime not_after;
  Micros grant_lease = 0;
  std::int64_t ticket = 0;
  std::int64_t highest_fence = 0;
  std::int64_t generation = 0;  // that a waiter is to be let pass by; 0: the current one
  bool queue = false;
  bool first = false;  // nothing was asked for under this epoch before
  std::size_t local_waiters = 0;
};

// What a grant lease allows for the ageing of the clock's bound: 0.5 % in the 6 s between a
// waiter's polls, and as much again where the clocks really drift, the other way.
inline constexpr Micros kAgeing = 60 * kMillisecond;

// The longest grant lease of a client with such a request timeout; and of anybody.
constexpr Micros max_grant(Micros request_timeout) {
  return 2 * request_timeout + kAgeing;
}

inline constexpr Micros kMaxGrant = max_grant(kMaxRequestTimeout);
// The longest that a handoff keeps a name: its grant lease, and the lock-delay of who has it.
inline constexpr Micros kMaxHanded = kMaxGrant + kMaxLockDelay;

enum class AcquireCode : std::uint8_t {
  kGranted = contract::kGranted,
  kQueued = contract::kQueued,
  kBusy = contract::kBusy,
  kLate = contract::kLate,
  kStale = contract::kStale,
  kMore = contract::kMore,
  kPassed = contract::kPasses,    // there is nothing to hold: whoever waited may go on
  kMissing = contract::kMissing,  // nobody has made what is asked for
  kLimit = contract::kLimit       // the semaphore has another limit
};

struct AcquireAnswer {
  AcquireCode code = AcquireCode::kBusy;
  ServerTime server_time;
  std::int64_t fence = 0;
  std::int64_t last_fence = 0;  // of the range reserved for local handoffs
  bool others_wait = false;
  std::int64_t permits = 0;
  std::int64_t position = 0;
  // When whoever holds it has lost it at the latest, unless it is renewed; 0: that is not known.
  Micros remaining = 0;
  Micros look_in = kNever;  // whether it is free by then; kNever: that is for others
  std::int64_t ticket = 0;
  std::int64_t highest_fence = 0;
  Micros handed = 0;  // of its grant lease, of a handoff that is this claim's to look after
  std::int64_t limit = 0;
  std::int64_t generation = 0;  // of a latch, as its count
  std::int64_t count = 0;
};

// What a member's seat says of it, as the server was told last: by these bytes it is renewed and
// left for less.
struct Seat {
  ServerTime since;  // none: not known
  Micros lock_delay = 0;
  std::int64_t permits = 0;
  std::size_t holds = 1;
  std::size_t local_waiters = 0;
};

struct LeaveArgs {
  std::int64_t epoch = 0;
  std::int64_t highest_fence = 0;
  bool lost = false;         // somebody was told that it is lost
  bool uncontended = false;  // as far as is known, nobody waits: less will do
  bool parting = false;  // the client ends: others look after what it hands on, and has handed on
  // The latest fence of the grant's range that a hold has; 0: not to count on, as a server that has
  // lost data may not know of a later one.
  std::int64_t given = 0;
  bool joint = false;  // held together with others: by this seat
  std::int64_t fence = 0;
  Seat seat = {};
};

enum class LeaveCode : std::uint8_t {
  kOk = contract::kLeft,
  kNotOurs = contract::kNotOurs,
  kMore = contract::kLeftMore,
  kContended = contract::kNotPlain  // nothing was done
};

struct LeaveAnswer {
  LeaveCode code = LeaveCode::kNotOurs;
  ServerTime server_time;  // none: not told
  Micros handed = 0;       // grant lease of a handoff that the call has made
};

struct RenewArgs {
  Kind kind = Kind::kLock;
  std::int64_t epoch = 0;
  Micros lease = 0;  // 0: only look
  std::int64_t fence = 0;
  std::int64_t reserve = 0;  // how many more fences
  std::size_t holds = 0;
  std::size_t local_waiters = 0;
  std::string group;                // to share it with from now on; empty: as it is
  std::int64_t fence_of_group = 0;  // under which
  bool joint = false;               // held together with others
  bool by_one_key = false;          // as far as is known, less will do
  Seat seat;
};

enum class RenewCode : std::uint8_t {
  kOk = contract::kRenewed,
  kNotOurs = contract::kNotOurs,
  kUnreadable = contract::kUnreadable,
  kContended = contract::kNotPlain  // nothing was done
};

struct RenewAnswer {
  RenewCode code = RenewCode::kNotOurs;
  std::int64_t last_fence = 0;
  bool others_wait = false;
};

struct RenewAnswers {
  ServerTime server_time;
  std::vector<RenewAnswer> claims;
};

struct Inspection {
  ServerTime server_time;
  std::vector<Member> members;
  std::int64_t total = 0;
  std::int64_t generation = 0;  // of a latch, as its count
  std::int64_t count = 0;
  std::int32_t primitive = 0;  // belay_primitive; 0: not in use
  std::int64_t limit = 0;      // of a semaphore
  std::int64_t used = 0;       // of its permits
  bool again = false;          // the script has more to do
  bool serve_only = false;     // that needs nobody to be parted from it
};

}  // namespace belay
