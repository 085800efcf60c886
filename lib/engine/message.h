// What other clients and the server publish to us, once the dialect has read it. A value.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/contract.h"
#include "engine/want.h"

namespace belay {

enum class MessageKind : std::uint8_t {
  kGrant = contract::kGrant,
  kNext = contract::kNext,
  kWaits = contract::kWaits,
  kBroken = contract::kBroken,
  kSettled = contract::kSettled,
  kPassed = contract::kPassed
};

// What came to our inbox.
struct Message {
  MessageKind kind = MessageKind::kNext;
  Kind of = Kind::kLock;
  std::int64_t epoch = 0;
  ServerTime server_time;
  std::int64_t fence = 0;
  std::int64_t last_fence = 0;
  Micros grant_lease = 0;
  bool others_wait = false;
  Micros look_in = 0;
  std::int64_t generation = 0;  // that has ended
  bool opened = false;          // or it is gone
  std::string by;               // who broke it
  std::string name;
};

}  // namespace belay
