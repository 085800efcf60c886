// A thread that takes, keeps and gives back in every way that the API offers. What it decides
// follows from the seed, its number and how many steps it has taken, and from nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hammer/life.h"
#include "hammer/report.h"
#include "hammer/witness.h"

namespace belay::hammer {

inline constexpr std::int64_t kWatchdogLease = 4000;  // ms
inline constexpr std::int64_t kFixedLimit = 3;
inline constexpr std::int64_t kMostPermits = 5;  // of the other semaphore, whose limit changes
inline const std::array<std::string, 4> kLocks = {"{a}1", "{a}2", "b", "c"};
inline const std::string kFixed = "permits";
inline const std::string kMoving = "permits that change";

// The clients, each in a place of its own where another follows it.
class Clients {
 public:
  Clients(std::string url, int count, Report& report, Witness& witness);

  std::shared_ptr<Life> at(std::int64_t place);
  // The place has a new client before the old one ends.
  void replace(std::int64_t place, bool by_shutdown);
  void end_all();

 private:
  std::shared_ptr<Life> make();
  void end(Life& life, bool by_shutdown);

  std::string url_;
  Report& report_;
  Witness& witness_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Life>> places_;
};

// Of one step.
class Random {
 public:
  Random(std::uint64_t seed, std::int64_t actor, std::int64_t step);

  std::int64_t below(std::int64_t limit);

  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::uint64_t next();

  std::uint64_t state_;
};

class Actor {
 public:
  Actor(std::uint64_t seed, std::int64_t number, int places, Clients& clients, Witness& witness,
        Report& report)
      : seed_(seed),
        number_(number),
        places_(places),
        clients_(clients),
        witness_(witness),
        report_(report) {
    belay_words_add(increment_.get(), "INCR", -1);
  }

  void step();

  [[nodiscard]] std::int64_t steps() const { return steps_; }

  // What it is in, and since when.
  [[nodiscard]] const char* doing() const { return doing_; }

  [[nodiscard]] std::int64_t since_ms() const { return since_; }

  // Fenced writes that were carried out, and those of which nobody knows, of each lock.
  struct Writes {
    std::int64_t done = 0;
    std::int64_t unknown = 0;
  };

  [[nodiscard]] const std::array<Writes, kLocks.size()>& writes() const { return writes_; }

 private:
  struct Ask {
    Held held;
    std::int64_t lease_ms = 0;
    std::int64_t wait_ms = 0;
    std::int64_t delay_ms = 0;
    std::int64_t permits = 0;
    std::int64_t limit = 0;
    bool cancels = false;
    bool nested = false;
  };

  Outcome run(Random& random, const Call& call, std::int64_t cancel_ms = -1);
  // Whether the outcome is none that is allowed.
  void expect(const Call& call, const Outcome& outcome,
              std::initializer_list<std::int32_t> allowed);
  void expect_held(const Call& call, const Outcome& outcome, std::int64_t hold,
                   std::initializer_list<std::int32_t> allowed = {});
  Ask ask_for_locks(Random& random);
  Ask ask_for_permits(Random& random);
  // Returns whether it is held.
  bool acquire(Random& random, Ask& ask);
  void check_acquired(const Call& call, const Ask& ask, const Outcome& outcome);
  void keep(Random& random, const Ask& ask);
  void extend(Random& random, const Ask& ask);
  void downgrade(Random& random, const Ask& ask);
  void nest(Random& random, const Ask& ask);
  void write(Random& random, const Ask& ask);
  void give_back(Random& random, const Ask& ask);
  void hold(Random& random);
  void look(Random& random);
  void use_latch(Random& random);
  void await_latch(Random& random);
  void break_something(Random& random);
  void change_limit(Random& random);

  const std::uint64_t seed_;
  const std::int64_t number_;
  const int places_;
  Clients& clients_;
  Witness& witness_;
  Report& report_;
  std::shared_ptr<Life> life_;

  struct FreeWords {
    void operator()(belay_words* words) const { belay_words_free(words); }
  };

  std::array<Writes, kLocks.size()> writes_ = {};
  const std::unique_ptr<belay_words, FreeWords> increment_{belay_words_new()};
  std::int64_t generation_ = 0;  // of the latch, that it was told last
  std::int64_t steps_ = 0;
  std::atomic<const char*> doing_{"nothing"};
  std::atomic<std::int64_t> since_{0};
};

}  // namespace belay::hammer
