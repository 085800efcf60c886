// Sees every hold of this process from its grant to its release, and what must be true of them: who
// excludes whom, fences that rise, permits that there are, and that nothing is lost for nothing. A
// hold counts while its client vouches for it, so no clock but the clients' own matters. Any
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "hammer/life.h"
#include "hammer/report.h"

namespace belay::hammer {

struct Held {
  std::int64_t id = 0;
  Life* life = nullptr;
  std::int64_t owner = 0;
  std::vector<std::string> names;
  std::vector<std::string> groups;  // of each: "" alone, else who may share it
  std::vector<std::int64_t> fences;
  std::int64_t permits = 0;  // of a semaphore; 0: it is of locks
  std::int64_t limit = 0;    // as many as there ever are
  std::int64_t called_at = 0;
  std::int64_t fixed_until = 0;  // not lost before, as its lease is fixed; 0: never ends by itself
  std::int64_t breaks = 0;       // of its names, when it was asked for
  bool broken = false;           // or may be
};

class Witness {
 public:
  Witness(Report& report, const Stalls& stalls) : report_(report), stalls_(stalls) {}

  // How many breaks of any of them have begun and ended so far: to be asked before the acquire.
  std::int64_t breaks_of(const std::vector<std::string>& names);
  void granted(const Held& held);
  // Before it is released or abandoned. Its end is told by the client all the same, if it was lost.
  void parts(std::int64_t id);
  void extends(std::int64_t id, std::int64_t called_at, std::int64_t lease_ms);
  void downgrades(std::int64_t id);
  void begin_break(const std::string& name);
  void end_break(const std::string& name);
  // Before a client is ended: nothing that it has counts any more.
  void ends(Life& life);
  // By an event or as an answer: there must be a reason.
  void lost(std::int64_t id, const std::string& why, bool event);
  // Whether the hold excludes all others now.
  bool stands(std::int64_t id);

 private:
  struct Known {
    Held held;
    bool active = false;
    bool told = false;  // that it is lost
  };

  struct Highest {
    std::int64_t fence = 0;
    Held held;  // the first that was granted under it
  };

  [[nodiscard]] static bool vouched(const Held& held);
  [[nodiscard]] static bool same_owner(const Held& one, const Held& other);
  [[nodiscard]] static bool exclude_at(const Held& one, std::size_t at, const Held& other);
  [[nodiscard]] static bool exclude(const Held& one, const Held& other);
  void check_exclusion(const Held& held);
  void check_fences(const Held& held);
  void check_permits(const Held& held);
  void check_loss(const Held& held, const std::string& why);
  void forget();

  Report& report_;
  const Stalls& stalls_;
  std::mutex mutex_;
  std::map<std::int64_t, Known> holds_;
  std::deque<std::pair<std::int64_t, std::int64_t>> ended_;  // when, id
  std::map<std::int64_t, std::string> told_early_;           // lost before they were seen
  std::map<std::string, std::int64_t> breaks_;
  std::map<std::string, int> breaking_;

  std::map<std::string, std::int64_t> broken_at_;  // when the latest break of it ended
  std::map<std::string, Highest> highest_;
};

}  // namespace belay::hammer
