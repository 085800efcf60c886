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
class Primitive;

// How names are acquired, whichever they are.
struct AcquireTerms {
  const Primitive* primitive = nullptr;
  std::int64_t owner = 0;
  Micros lease = 0;        // fixed; 0: the watchdog's
  Micros max_hold = 0;     // 0: none
  bool notify = false;     // events about the hold are queued
  bool confirmed = false;  // nothing is granted before a reply vouches for it
};

struct Hold : AcquireTerms {
  std::int64_t id = 0;
  // The bundle of which it is a part: the id that its holder knows; 0: none.
  std::int64_t bundle = 0;
  // Null once it is lost; then why.
  Claim* claim = nullptr;
  Status loss;
  // With whom it is content to share its name.
  std::string group;
  std::int64_t fence = 0;
  Micros since = 0;
  // Of a fixed lease, or after max-hold; whatever the claim's deadline says beyond.
  Micros ends_at = kNever;
  // When the watchdog stops, and when the lease that runs then has ended.
  Micros max_at = kNever;
  Micros max_end = kNever;
  // Its owner had the name already.
  bool re_entered = false;
  bool at_risk = false;
  // Nobody knows its id any more.
  bool abandoned = false;
  // Tags of submissions about it.
  std::vector<std::int64_t> asked;

  [[nodiscard]] bool watched() const { return lease == 0 && ends_at == kNever; }

  [[nodiscard]] std::int64_t known_as() const { return bundle != 0 ? bundle : id; }
};

}  // namespace belay
