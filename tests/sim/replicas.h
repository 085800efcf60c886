// A master that is replaced by its replicas, in a simulation: what each of these hosts says of
// itself, and what sentinels say of them, each in its own time. One thread; the schedule owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/world.h"

namespace belay::sim {

// What sentinels call the master.
inline constexpr const char* kMasterName = "mymaster";

class Replicas {
 public:
  // What becomes of the master that is replaced.
  enum class Fate : std::uint8_t {
    kDies,     // it is gone before another is promoted, and comes back later
    kCutsAll,  // it becomes a replica and ends its connections, as sentinels have it do
    kStays,    // it becomes a replica, and answers READONLY
  };

  struct Failover {
    std::size_t to = 1;
    Micros lag = 0;  // of the copy
    Fate fate = Fate::kCutsAll;
    Micros between = 0;                       // for so long there is no master, or there are two
    Micros slowest = 0;                       // until when each sentinel knows
    std::optional<std::size_t> cut_off = {};  // but this one, which never hears of it
  };

  // Of a world that is replicated, and outlives it.
  explicit Replicas(World& world);

  // To another member. Not while one goes on.
  void fail_over(const Failover& how);
  // One by chance.
  void fail_over();
  // A sentinel says for a while that a host is the master, since that failover: the latest one and
  // so many.
  void lie(std::size_t sentinel, std::size_t host, std::int64_t later, Micros duration);
  // Some sentinel, of some host.
  void lie();

 private:
  struct Seen {
    std::size_t master = 0;
    std::int64_t epoch = 0;
  };

  void promote(const Failover& how, std::size_t from);
  void demote(std::size_t host, Fate fate);
  std::size_t some_sentinel();
  void tell(std::size_t sentinel, Seen seen);

  [[nodiscard]] std::size_t first_sentinel() const { return world_.replication()->members; }

  World& world_;
  bool under_way_ = false;
  Seen now_;
  std::vector<Seen> seen_;  // by sentinel
};

}  // namespace belay::sim
