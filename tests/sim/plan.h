// What a schedule is like: how many take part, how they behave, what may go wrong and when. Values.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"
#include "sim/world.h"

namespace belay::sim {

struct Range {
  Micros low;
  Micros high;
};

// What a schedule is like. Stormy: everything may go wrong, for a short while. Steady: the server
// is well, and bounds are checked throughout. Busy: steady, with owners who are always there.
struct Plan {
  bool steady = false;
  Faults faults;
  Micros lease = kSecond;
  Micros timeout = 300 * kMillisecond;
  Micros longest_delay = kMillisecond;
  bool server_drifts = false;  // ahead, as fast as is assumed
  std::int64_t processes = 2;
  std::int64_t most_users = 3;
  bool re_entry = true;
  bool sharing = false;          // there are readers and identities, and sometimes lock-delays
  std::int64_t readers = 35;     // percent of the requests then
  std::int64_t identities = 15;  // the same
  std::int64_t delays = 10;      // percent of them that want a lock-delay
  std::int64_t fixed = 30;       // percent of the requests for a fixed lease
  // Percent of what is done with such a hold that extends it, beyond what everybody does.
  std::int64_t extends = 0;
  bool semaphore = false;    // one of the names is one
  std::int64_t limits = 0;   // percent of what is done that changes its limit
  bool writes = false;       // holders write under their fence
  bool latch = false;        // users set, count down and await one, too
  bool sets = false;         // there are three names, of which some users take several at once
  bool slots_apart = false;  // and these in a command for each slot
  std::size_t hosts = 1;     // servers, on which the names lie
  bool cluster = false;      // these are nodes of one, of which one stands by
  bool old = false;          // of Redis 6.2
  std::size_t replicas = 0;  // these are a master and so many; with sentinels beside them
  std::size_t sentinels = 0;
  Micros clocks_apart = 0;  // theirs
  bool distant = false;  // round trips of up to half the request timeout, pauses of up to all of it
  bool rows = false;     // several waiters in a row are stopped when a holder lets go and ends
  bool haunted = false;  // acquires are often cut off on their way, given up, and arrive late
  bool forged = false;   // somebody publishes messages
  bool broken = false;   // names are broken again and again
  bool stopped = false;  // requests are chosen so that what stops stands in others' way
  Range think{200, 100 * kMillisecond};
  Range hold{200, 100 * kMillisecond};
  Micros longest_hold = 2 * kSecond;
  Micros longest_wait = 800 * kMillisecond;   // that has a limit
  Micros longest_stop = 1500 * kMillisecond;  // of the server
  Range clock_step{kMillisecond, 2 * kSecond};
  Range between_faults{kMillisecond, 800 * kMillisecond};
  Range between_forged{kMillisecond, 30 * kMillisecond};
  Range pause{kMillisecond, 2500 * kMillisecond};
  Micros start_at = 0;
  Micros calm_at = 0;   // no more faults
  Micros drain_at = 0;  // no more requests
  Micros turn = kNever / 2;

  // Of the fixed leases.
  Micros longest_fixed() const { return distant ? 3 * lease : 900 * kMillisecond; }
};

Plan make_plan(Random& random);

}  // namespace belay::sim
