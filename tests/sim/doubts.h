// What must be true of what processes are told to be in doubt: when the doubt of an acquire or a
// release is over, the server keeps nothing of it; an extension that is over and known does not
// take place; and no doubt lasts longer than what is asked for. It looks at the server's records
// whenever a script has run. One thread; the schedule owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/checks.h"
#include "sim/custody.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

class Doubts {
 public:
  Doubts(World& world, const Faults& faults, const Custody& custody, const Checks& checks,
         Micros watchdog_lease, Micros timeout);

  void watch(const std::string& name) { watched_.insert(name); }

  // A process asks for these names, or releases a hold of them. `lease`: what it asks for.
  void asked(const Process& process, std::int64_t tag, std::vector<std::string> names,
             Micros lease);
  // It extends a hold of these names.
  void extends(const Process& process, std::int64_t tag, std::vector<std::string> names,
               Micros lease);

  // Something of the process's is left in the background, of which nobody is told how long it may
  // matter.
  void leaves_something(const Process& process, Micros stands = 0) {
    Micros& left = left_at_[process.number()];
    left = std::max(left, world_.now() + stands);
  }

  // What it abandons stands for a lease, also beside what the same owner has entered again.
  void abandons(const Process& process) { leaves_something(process, longest_lease_ * 102 / 100); }

  // The event of that, or of anything else, when the checks know of it.
  void on_event(const Process& process, const Event& event);
  void after_script(int process, Server::Args argv);

 private:
  using Tag = std::pair<int, std::int64_t>;   // process and tag
  using Place = std::pair<int, std::string>;  // process and name

  struct Extension {
    std::vector<std::string> names;
    Micros lease = 0;
    Micros asked_at = 0;
    Micros until = kNever;  // it may take place; true time
  };

  // Of a doubt.
  struct Over {
    Micros at;            // nothing stands after that; true time
    Micros expires;       // what stands, by the server's clock; 0: nothing
    bool handed = false;  // by no ask of its own, to a place in the queue that it has not left yet
  };

  void on_end(const Process& process, const Event& event, const std::vector<std::string>& names);
  void on_extended(const Process& process, const Event& event, Extension* extension);
  Micros vagueness(int process) const;
  void check_length(const Process& process, const Event& event, Micros least, Micros lease);
  void after_renewal(int process, std::string_view key, Micros lease);
  void check_extension(int process, const std::string& name, Micros lease);
  bool alone(const Place& place) const;

  Micros expires(const Place& place) const { return custody_.expires(place.second, place.first); }

  void look_at(const Place& place, Over& over, bool asked);

  World& world_;
  const Custody& custody_;
  const Checks& checks_;
  const bool applies_;  // the server's clock and data are as they should be
  const Micros timeout_;
  const Micros watchdog_lease_;
  Micros longest_lease_;  // that anybody has asked for
  std::set<std::string> watched_;
  std::map<Tag, std::vector<std::string>> asked_;  // pending
  std::map<Tag, Extension> extensions_;            // pending or over
  std::map<Place, Over> over_;
  std::map<Place, Micros> granted_at_;   // the latest
  std::map<Place, Micros> extended_at_;  // the latest
  std::map<int, Micros> left_at_;        // the latest; of what was abandoned, its end
};

}  // namespace belay::sim
