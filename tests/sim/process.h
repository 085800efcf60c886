// A client process in a simulation: the real node, engine and lock primitive over a simulated link,
// on a clock of its own that drifts, and that may be paused or killed. One thread; the schedule
// owns it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "primitive/latch.h"
#include "primitive/lock.h"
#include "primitive/many.h"
#include "sim/world.h"

namespace belay::sim {

// The id of a process's client, and the number in it.
std::string client_of(int number);
int process_of(std::string_view client);

class Process final : public EngineEvents {
 public:
  // What the checks want to hear.
  struct Observer {
    std::function<void(Process&, const Event&)> on_event;
    std::function<void(Process&)> after_step;
  };

  Process(World& world, int number, Observer observer, Micros watchdog_lease,
          Micros request_timeout, bool slots_apart = false);

  int number() const { return number_; }

  bool alive() const { return alive_; }

  bool paused() const { return paused_; }

  Micros able_since() const { return able_since_; }  // runs without a pause

  Micros longest_pause() const { return longest_pause_; }

  bool idle() const { return engine_->idle(); }  // remembers no claim and no submission

  const HeldPrimitive& lock() const { return lock_; }

  const HeldPrimitive& semaphore() const { return semaphore_; }

  const LatchPrimitive& latch() const { return latch_; }

  const ManyNames& many() const { return many_; }

  Micros clock() const { return clock_at(world_.now()); }  // its local time

  Micros true_time_of(Micros local) const;

  // Runs `action` on the engine as a call of the application; nothing happens while it is paused.
  void call(const std::function<void(Engine&, Micros now)>& action);
  std::optional<Engine::HoldView> look(std::int64_t hold);

  void pause(Micros duration);
  void crash();
  void cut(bool ghosts, bool told);

 private:
  Micros clock_at(Micros true_time) const;
  void on_event(Event event) override;
  template <class Action>
  void deliver(Action action);
  template <class Action>
  void step(const Action& action);
  void arm();
  void resume();

  World& world_;
  const int number_;
  Observer observer_;
  Micros offset_ = 0;
  std::int64_t drift_ppm_ = 0;
  bool alive_ = true;
  bool paused_ = false;
  Micros able_since_ = 0;
  Micros longest_pause_ = 0;
  std::uint64_t timer_ = 0;  // the latest one armed
  Micros armed_ = kNever;    // for which local time
  std::deque<std::function<void()>> missed_;
  Config config_;
  Identity identity_;
  HeldPrimitive lock_;
  HeldPrimitive semaphore_;
  LatchPrimitive latch_;
  ManyLocks many_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::unique_ptr<SimLink> link_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Router> router_;
  std::atomic<std::int64_t> last_hold_{0};
  std::unique_ptr<Engine> engine_;
};

}  // namespace belay::sim
