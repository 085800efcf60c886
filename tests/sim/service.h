// The bounds of progress in a steady world, where processes are paused, killed and cut off and
// messages lost, but the server is well: how long a lock that somebody wants may be nobody's, how
// long a waiter may be passed over, and that nothing is lost without a cause. One thread; the
// schedule owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sim/world.h"

namespace belay::sim {

class Service {
 public:
  struct Figures {
    Micros lease = 0;  // the longest of any hold
    Micros timeout = 0;
    Micros longest_delay = 0;
    Micros turn = 0;    // how long everybody together may need until each waiter has had its turn
    bool rows = false;  // nobody who looks after a handoff is stopped, but several of those in line
  };

  Service(World& world, const Figures& figures) : world_(world), figures_(figures) {}

  // What disturbs from now on, and for a while after: `holds` says whether it hit a holder,
  // `lock_delay` what a grant that is wasted on it may keep others waiting beyond its lease.
  void paused(Micros duration, bool holds, Micros lock_delay) {
    disturbances_.push_back({world_.now() + duration, 1, holds, lock_delay});
  }

  void crashed(bool holds, Micros lock_delay) {
    disturbances_.push_back({world_.now(), 1, holds, lock_delay});
  }

  // What a process had asked for before it was killed was granted after that.
  void granted_late(const std::string& name) {
    disturbances_.push_back({world_.now(), 0, true, 0, false, name});
  }

  // The lease of a hold that nobody gave back: a waiter that then looks after the name may be
  // stopped.
  void ended(Micros lock_delay) {
    ended_until_ = std::max(ended_until_, world_.now() + lock_delay);
  }

  void cut() { disturbances_.push_back({world_.now(), 0, false, 0, true}); }

  // A waiter for the name was given up, who may just be handed it.
  void gave_up(const std::string& name) { given_up_[name].push_back(world_.now()); }

  // After every step, for each name: since when somebody has waited for it who could have had it
  // (kNever: nobody does), and until when somebody believes to hold it. Checks the time that ends
  // now.
  void look(const std::string& name, Micros waiting_since, Micros held_until);

  // A hold was lost, and not because its own time was up.
  void lost(const std::string& name, const std::string& what, Micros granted_at);

 private:
  struct Disturbance {
    Micros until;  // when it was over
    int stopped;   // processes that a grant may be wasted on
    bool held_lock;
    Micros lock_delay;
    bool cut = false;
    std::string name = {};  // the only one that it concerns; empty: any
  };

  // Of a name, since the latest step.
  struct State {
    Micros held_until = 0;
    Micros waiting_since = kNever;
  };

  Micros reconnect() const;

  // How much longer than in calm water it may take, given what has happened since shortly before.
  Micros allowance(const std::string& name, Micros since) const;

  World& world_;
  const Figures figures_;
  std::vector<Disturbance> disturbances_;
  Micros ended_until_ = std::numeric_limits<Micros>::min() / 2;
  std::map<std::string, State> states_;
  std::map<std::string, std::vector<Micros>> given_up_;  // when
};

}  // namespace belay::sim
