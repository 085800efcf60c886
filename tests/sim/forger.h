// Somebody who may publish and subscribe but has no right to any key: hears what is sent to every
// inbox, and publishes there what it heard, altered or made up. One thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world.h"

namespace belay::sim {

class Forger {
 public:
  // Forges messages about these names, and what else it hears of; also what makes others look
  // later, if `delays`: that may cost a poll.
  Forger(World& world, std::vector<std::string> names, bool delays);

  // Of one push message, as the server sends it.
  void overhear(std::string_view push);
  // Publishes one message to somebody, of whom there are so many.
  void forge(std::int64_t processes);

 private:
  struct Heard {
    std::string channel;
    std::string payload;
  };

  std::string made_up();
  std::string altered(std::string payload);

  World& world_;
  const std::vector<std::string> names_;
  const bool delays_;
  std::deque<Heard> heard_;  // lately
  std::int64_t last_epoch_ = 1;
};

}  // namespace belay::sim
