// What must be true of a latch: a wait ends by what has become of it since, a count-down counts
// once, and what is in doubt does nothing when its doubt has ended. It looks at the server's record
// whenever a script has run. One thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

class Rounds {
 public:
  Rounds(World& world, const Faults& faults, const std::string& name);

  void before_script();
  void after_script(Server::Args argv);

  // A process begins to wait; for a given generation, unless it is 0.
  void awaits(const Process& process, std::int64_t tag, std::int64_t generation);
  // One that there is, was or may be soon.
  std::int64_t some_generation();
  // The event of a wait, or of anything else.
  void on_event(const Process& process, const Event& event);

 private:
  struct Latch {
    bool stands = false;
    std::int64_t count = 0;
    std::int64_t generation = 0;
    std::int64_t opened_since = 0;  // the first generation since which all have opened
  };

  struct Wait {
    Micros since = 0;
    std::int64_t generation = 0;  // that stood then; 0: none
    std::int64_t given = 0;       // that it is for; 0: any
    bool known = false;           // the server had it then
  };

  Latch look();
  void check_end(const Wait& wait, const Event& event);
  void check_count(Server::Args argv, const Latch& after);
  void check_set(Server::Args argv, const Latch& after);
  void check_time(Server::Args argv, const Latch& after);

  World& world_;
  const Faults faults_;
  const std::string record_key_;
  Latch before_;
  std::set<std::int64_t> begun_;  // generations
  std::set<std::int64_t> opened_;
  std::set<std::string> counted_;  // requests that counted
  std::set<std::string> set_;      // requests that began a generation
  Micros missing_until_ = -1;
  std::map<std::pair<int, std::int64_t>, Wait> waits_;  // by process and tag
  std::map<std::pair<int, std::int64_t>, Micros>
      over_since_;  // of changes, with their doubt; true time
};

}  // namespace belay::sim
