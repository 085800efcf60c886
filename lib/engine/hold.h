// A granted acquire, until its release. Data: the parts of the engine move it along, inside the
// client's monitor; the ledger owns it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace belay {

struct Claim;

struct Hold {
  std::int64_t id = 0;
  // The bundle of which it is a part: the id that its holder knows; 0: none.
  std::int64_t bundle = 0;
  // Null once it is lost; then why.
  Claim* claim = nullptr;
  Status loss;
  std::int64_t owner = 0;
  // With whom it is content to share its name.
  std::string group;
  std::int64_t fence = 0;
  Micros since = 0;
  // Fixed; 0: the watchdog's.
  Micros lease = 0;
  // Of a fixed lease, or after max-hold; whatever the claim's deadline says beyond.
  Micros ends_at = kNever;
  // When the watchdog stops, and when the lease that runs then has ended.
  Micros max_at = kNever;
  Micros max_end = kNever;
  Micros max_hold = 0;
  // Its owner had the name already.
  bool re_entered = false;
  // Events about it are queued.
  bool notify = false;
  bool at_risk = false;
  // Nobody knows its id any more.
  bool abandoned = false;
  // Tags of submissions about it.
  std::vector<std::int64_t> asked;

  [[nodiscard]] bool watched() const { return lease == 0 && ends_at == kNever; }

  [[nodiscard]] std::int64_t known_as() const { return bundle != 0 ? bundle : id; }
};

}  // namespace belay
