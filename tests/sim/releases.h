// What must be true of how a release ends: OK if the server had what it frees when it was executed,
// LOST if not. Neither is known of what was sent twice, had ended on its way, or was asked for anew
// by the same process: then OK is right, too. It looks on when the server runs a script. One
// thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/custody.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

class Releases {
 public:
  Releases(World& world, const Faults& faults, const Custody& custody)
      : world_(world), faults_(faults), custody_(custody) {}

  // A process releases a hold of these names, as it looks at `now`, which the thread has read from
  // its clock some time ago.
  void asked(Process& process, std::int64_t tag, const std::vector<std::string>& names,
             const Engine::HoldView& hold, Micros now);
  // The event of that, or of anything else.
  void on_event(const Process& process, const Event& event);
  void after_script(int process, Server::Args argv, bool failed);

 private:
  struct Part {
    std::string name;
    std::int64_t epoch = 0;
    int had = 0;      // how often it was freed
    int had_not = 0;  // how often the server did not have it
    bool asked_anew = false;

    bool was_lost() const { return had == 0 && had_not > 0; }
  };

  struct Pending {
    std::vector<Part> parts;
    Micros ours_until = 0;  // true time
    int connection = 0;     // by which it was sent
  };

  void on_acquire(int process, Server::Args argv);
  void left(int process, const std::string& name, std::int64_t epoch, bool in_full);

  World& world_;
  const Faults faults_;
  const Custody& custody_;
  std::map<std::pair<int, std::int64_t>, Pending> pending_;  // by process and tag
};

}  // namespace belay::sim
