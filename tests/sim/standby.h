// A node of a simulated cluster without slots, which takes the place of a master. One thread; the
// schedule owns it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/world.h"

namespace belay::sim {

class Standby {
 public:
  // What becomes of the master.
  enum class Fate : std::uint8_t {
    kYields,  // it hands over, and nothing is lost
    kDies,    // it is gone before it is replaced, and comes back later
    kStays,   // it learns of its replacement later, and goes on until then
  };

  // Of a cluster whose last host has no slots, and which outlives it.
  explicit Standby(World& world) : world_(world), host_(world.hosts() - 1) {
    world_.server(host_).demote();
  }

  [[nodiscard]] std::size_t another_master(std::size_t than) const;
  // Of any master; `loses`: the latest writes may be lost.
  void take_over(bool loses);
  // With the data as they were `lag` ago; for so long there is no master of its slots, or there
  // are two. Not while slots move from or to it, or one is being replaced. What it was is what the
  // old master becomes.
  void take_over(std::size_t from, Fate fate, Micros lag, Micros between);

 private:
  void promote(std::size_t from, Fate fate, Micros between);
  void demote(std::size_t host);

  World& world_;
  std::size_t host_;
  bool under_way_ = false;
};

}  // namespace belay::sim
