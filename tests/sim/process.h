// A client process in a simulation: the real core over a simulated link to each host, on a clock of
// its own that drifts, and that may be paused or killed. One thread; the schedule owns it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/core.h"
#include "dialect/native.h"
#include "sim/tags.h"
#include "sim/world.h"

namespace belay::sim {

// The id of a process's client, who it is with that, and the number in it.
std::string client_of(int number);
Identity identity_of(int number, bool in_cluster);
int process_of(std::string_view client);

class Process final : public EngineEvents {
 public:
  // What the checks want to hear.
  struct Observer {
    std::function<void(Process&, const Event&)> on_event;
    std::function<void(Process&)> after_step;
    std::function<void(Process&, const Message&)> on_message = {};  // may be none
    // A watched key has changed; none: all data were wiped. The server wrote so then.
    std::function<void(Process&, std::size_t host, std::string_view key, Micros written)>
        on_invalidated = {};
  };

  Process(World& world, int number, Observer observer, Micros watchdog_lease,
          Micros request_timeout, bool slots_apart = false);

  int number() const { return number_; }

  bool alive() const { return alive_; }

  bool paused() const { return paused_; }

  Micros able_since() const { return able_since_; }  // runs without a pause

  // To where a key is; below 0: there is none.
  int connection(std::string_view key) const {
    return links_.empty() ? -1 : links_[world_.host_of(key)].connection();
  }

  // Since when it is connected to the master of several hosts; kNever: it is not.
  Micros up_since() const;

  bool idle() { return core_.engine().idle(); }  // remembers no claim and no submission

  const NativeDialect& dialect() const { return dialect_; }

  Micros clock() const { return clock_at(world_.now()); }  // its local time

  Micros true_time_of(Micros local) const;

  // Runs `action` on the engine as a call of the application; nothing happens while it is paused.
  void call(const std::function<void(Engine&, Micros now)>& action);
  // Submits under a tag that is free; the event has the number of the submission instead.
  Status submit(std::int64_t submission, const std::function<Status(std::int64_t tag)>& action);

  std::int64_t tag_of(std::int64_t submission) const { return tags_.of(submission); }

  std::optional<Engine::HoldView> look(std::int64_t hold);

  void pause(Micros duration);
  void crash();
  void cut(bool ghosts, bool told);

 private:
  std::shared_ptr<Link> dial(const Endpoint& endpoint);
  void listen_to(SimLink& link);
  bool is_up(const SimLink& link);
  void note_up();
  void flush();
  Micros clock_at(Micros true_time) const;
  void on_event(Event event) override;
  template <class Action>
  void deliver(Action action);
  template <class Action>
  void step(const Action& action);
  void overhear(const SimLink& link, std::string_view bytes, Micros written);
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
  std::uint64_t timer_ = 0;  // the latest one armed
  Micros armed_ = kNever;    // for which local time
  std::deque<std::function<void()>> missed_;
  const Config config_;
  const NativeDialect dialect_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::deque<SimLink> links_;     // by host
  std::vector<Micros> up_since_;  // the same
  std::atomic<std::int64_t> last_hold_{0};
  Tags tags_;
  Core core_;
};

}  // namespace belay::sim
