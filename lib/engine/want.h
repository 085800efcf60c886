// What can be asked for: a name, its kind, and how it is wanted. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/contract.h"

namespace belay {

// A name and where it lives on the server.
struct Resource {
  std::string name;
  std::uint16_t slot = 0;
  std::vector<std::string> keys;
};

// The kinds of what a name can be; a record's second byte.
enum class Kind : std::uint8_t {
  kLock = contract::kLock,
  kSemaphore = contract::kSemaphore,
  kLatch = contract::kLatch
};

// What is asked of a name. Owners of one client who want the same may share a claim, where there is
// a group to share it with.
struct Want {
  std::string group;            // who share it; empty: alone
  std::int64_t permits = 1;     // of a semaphore; 0: all that are free
  std::int64_t limit = 0;       // of a semaphore; 0: as it is set
  std::int64_t generation = 0;  // of a latch, to wait for; 0: the current one
  Micros lock_delay = 0;        // after a loss

  // Whether who wants this may have what was granted to `other`, beside its holder or after it.
  [[nodiscard]] bool suits(const Want& other) const {
    return group == other.group && permits == other.permits && limit == other.limit &&
           lock_delay <= other.lock_delay;
  }

  // Whether several may have it beside each other.
  [[nodiscard]] bool shared() const { return !group.empty(); }
};

}  // namespace belay
