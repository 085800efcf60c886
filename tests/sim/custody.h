// What must be true of the server's records whenever a script has run: nobody frees, renews or
// re-creates what is not theirs, nobody is served before who came earlier, and no record stands for
// a client that has forgotten it. One thread; the schedule owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

  // Whose record stands and has not lapsed; -1: none.
  int holder(const std::string& name);

 private:
  struct Record {
    int process = -1;
    std::string claim;
    std::int64_t epoch = 0;
    Micros expires = 0;

    bool operator==(const Record&) const = default;
  };

  struct Watched {
    std::string name;
    std::string record_key;
    std::string queue_key;
    std::optional<Record> before;
    std::vector<Server::Ranked> queue;
  };

  std::optional<Record> live_record(const Watched& watched);
  void check_owner(const Watched& watched, const std::optional<Record>& after, int process);
  void check_order(const Watched& watched, const Record& after);
  void check_forgotten(const Watched& watched, const Record& record);

  World& world_;
  const Faults faults_;
  const std::function<bool(int process)> remembers_;
  std::vector<Watched> watched_;
};

}  // namespace belay::sim
