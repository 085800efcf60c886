// Several names that are asked for and held as one: what the engine remembers of them. Each name
// has a claim and a hold of its own; the bundle is what its holder knows. Data: `Bundles` moves it
// along, inside the client's monitor. The ledger owns all of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/hold.h"
#include "engine/primitive.h"

namespace belay {

struct BundlePart {
  std::string name;
  Want want;
  std::int64_t tag = 0;   // of its acquire, while that is pending
  std::int64_t hold = 0;  // 0: none
  std::int64_t fence = 0;
};

enum class BundleStage : std::uint8_t {
  kTrying,  // all at once, all or none
  kTaking,  // one after the other, in the order of their bytes, which everybody keeps
  kHeld
};

struct Bundle : AcquireTerms {
  std::int64_t id = 0;             // of the hold
  std::int64_t tag = 0;            // of the acquire; 0 once it has completed
  std::vector<BundlePart> parts;   // in the order in which they were added
  std::vector<std::size_t> order;  // in which they are taken
  std::size_t next = 0;            // in that order: all before are had
  Micros wait_until = kNever;
  Micros answer_by = kNever;  // about a name that is had, and in question
  Micros free_by = 0;         // when others have lost what is not had at the latest; 0: not known
  Micros since = 0;           // when it was granted
  Status failure;             // why the acquire cannot succeed as it is
  Status loss;                // why it is lost, once it is
  Status warning;             // of the latest part at risk
  BundleStage stage = BundleStage::kTrying;
  bool is_try = false;
  bool lost_a_part = false;  // before all were had
  bool told_of_loss = false;
  bool prolonged = false;  // one of its fixed leases, as its owner has entered again
  bool at_risk = false;
  bool due = false;

  [[nodiscard]] bool complete() const {
    return std::all_of(parts.begin(), parts.end(),
                       [](const BundlePart& part) { return part.hold != 0; });
  }

  [[nodiscard]] std::vector<std::int64_t> fences() const {
    std::vector<std::int64_t> fences;
    for (const BundlePart& part : parts) {
      fences.push_back(part.fence);
    }
    return fences;
  }
};

}  // namespace belay
