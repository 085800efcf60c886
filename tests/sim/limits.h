// What must be true of a semaphore's limit: nothing beyond it is given, and it changes only as
// somebody asks for, while his request is pending or in doubt. It looks at the server's record
// whenever a script has run. One thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

class Limits {
 public:
  Limits(World& world, const Faults& faults, const std::string& name);

  void before_script();
  void after_script(int process);

  // A process asks for another limit.
  void asked(const Process& process, std::int64_t tag, std::int64_t limit);
  // The event of that, or of anything else.
  void on_event(const Process& process, const Event& event);

  // The highest limit that was in force since then.
  std::int64_t highest_since(Micros then) const;

 private:
  struct Semaphore {
    std::int64_t used = 0;
    std::int64_t limit = 0;  // 0: there is none
  };

  struct Change {
    std::int64_t limit = 0;
    Micros until = kNever;  // it may take place; true time
  };

  Semaphore look();
  bool may_set(int process, std::int64_t limit) const;

  World& world_;
  const Faults faults_;
  const std::string record_key_;
  Semaphore before_;
  std::vector<std::pair<Micros, std::int64_t>> in_force_;   // from when on
  std::map<std::pair<int, std::int64_t>, Change> changes_;  // by process and tag
};

}  // namespace belay::sim
