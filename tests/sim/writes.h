// What must be true of fenced writes: each takes place at most once, while it is asked for or in
// doubt and as its caller is told, and none after one of a newer fence. It looks at what is written
// whenever a script has run. One thread; the schedule owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "dialect/fenced_write.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

class Writes {
 public:
  Writes(World& world, const Faults& faults) : world_(world), faults_(faults) {}

  // The key that holders of the name write to.
  void watch(const std::string& name);

  // A write that a process is to ask for.
  FencedWrite ask(const Process& process, std::int64_t tag, const std::string& name,
                  std::int64_t fence);
  // The event of that, or of anything else.
  void on_event(const Process& process, const Event& event);

  void before_script();
  void after_script();

 private:
  struct Key {
    std::size_t size = 0;         // of its list, before the script that runs
    std::int64_t last_fence = 0;  // under which something was written
  };

  struct Write {
    std::int64_t fence = 0;
    bool taken = false;
    Micros until = kNever;  // it may take place; true time
  };

  void check(const std::string& key, const std::string& id);

  World& world_;
  const Faults faults_;
  std::map<std::string, Key> keys_;
  std::map<std::string, Write> writes_;  // by what they write
};

}  // namespace belay::sim
