// What must be true of the server's records whenever a script has run: nobody frees, renews or
// re-creates what is not theirs, nobody is served before who came earlier, and no record stands for
// a client that has forgotten it. One thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/world.h"

namespace belay::sim {

class Custody {
 public:
  // `remembers` tells whether a process, while it lives, still has a claim on anything. Processes
  // that are gone remember all.
  Custody(World& world, const Faults& faults, std::function<bool(int process)> remembers)
      : world_(world), faults_(faults), remembers_(std::move(remembers)) {}

  void watch(const std::string& name);

  void before_script();
  void after_script(int process, Server::Args argv);
  // The process has done something, perhaps forgotten.
  void after_step(int process);

  // Whether what the process holds of the name stands and has not lapsed.
  bool holds(const std::string& name, int process) const;

  // Until when that is so, by the server's clock and without a lock-delay; 0: it has lapsed.
  Micros expires(const std::string& name, int process) const;

  // Whether that claim of the process's stood when the latest script began.
  bool stood(const std::string& name, int process, std::int64_t epoch) const;

  // Whether it was there at all: what has lapsed is anybody's, but nobody had taken it yet.
  bool was_there(const std::string& name, int process, std::int64_t epoch) const;

  // The latest claim of the process's that the server has given the fence; 0: it gave it to none. A
  // server that has lost its data may give one again.
  std::int64_t epoch_of(const std::string& name, int process, std::int64_t fence) const;

 private:
  // Who holds a name, alone or beside others.
  struct Holder {
    int process = -1;
    std::int64_t epoch = 0;
    std::int64_t fence = 0;
    std::int64_t last_fence = 0;
    Micros expires = 0;
    Micros kept_until = 0;  // with its lock-delay

    bool operator==(const Holder&) const = default;
  };

  using Holders = std::map<std::string, Holder>;  // by client, or of a semaphore by claim

  using Queue = std::map<std::int64_t, std::string>;  // claims that wait, by place

  struct Watched {
    std::string name;
    std::string record_key;
    std::string queue_key;
    std::string members_key;
    std::string fence_key;
    Holders before;
    Holders there;  // also what had lapsed
    Queue queue;
    std::set<std::string> queued;  // claims that have ever waited
    // A process's, from and to, for which epoch.
    std::set<std::tuple<int, std::int64_t, std::int64_t, std::int64_t>> fences;
  };

  Queue queue_of(const Watched& watched) const;
  std::size_t size_of_who(const Watched& watched) const;
  Holders live_holders(const Watched& watched) const;
  // Those that are kept until then at least.
  Holders holders(const Watched& watched, Micros until) const;
  void add_members(const Watched& watched, Micros until, Holders* holders) const;
  bool had(Holders Watched::*which, const std::string& name, int process, std::int64_t epoch) const;
  void check_owner(const Watched& watched, const Holders& after, int process);
  void check_order(const Watched& watched, const std::string& who);
  void check_members(const Watched& watched);
  void check_queue(const Watched& watched);
  void check_newcomers(Watched& watched);
  void check_served(const Watched& watched, const Holders& holders);
  void check_ranges(const Watched& watched, const Holders& holders);
  void check_forgotten(const Watched& watched, const Holder& holder);

  World& world_;
  const Faults faults_;
  const std::function<bool(int process)> remembers_;
  std::vector<Watched> watched_;
};

}  // namespace belay::sim
