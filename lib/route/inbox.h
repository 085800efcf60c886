// The channels on which a client hears what others tell it. A value.
#pragma once

#include <cstdint>
#include <string>

#include "route/slot.h"

namespace belay {

// One channel for all names, or in a cluster one for each slot: what is published there stays with
// the node that has the slot.
struct Inbox {
  std::string prefix;
  std::string client;
  bool by_slot = false;

  // What scripts put before the id of whoever is told.
  [[nodiscard]] std::string prefix_in(std::uint16_t slot) const {
    return by_slot ? prefix + "{" + slot_tag(slot) + "}:" : prefix;
  }

  [[nodiscard]] std::string channel(std::uint16_t slot) const { return prefix_in(slot) + client; }
};

}  // namespace belay
