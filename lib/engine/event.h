// What a client's callers are told: completions and news of holds. A value, moved from the engine
// to whoever takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace belay {

// Somebody who holds or awaits a name, a name that was found, or a metric.
struct Member {
  std::int32_t role = 0;
  std::string name;
  std::string client;
  std::string label;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t since_ms = 0;
  std::int64_t lease_ms = 0;
  std::int64_t fence = 0;
  std::int64_t holds = 0;
  std::int64_t local_waiters = 0;
  std::int64_t permits = 0;
  bool shared = false;     // a reader
  std::int64_t value = 0;  // of a metric
};

struct Event {
  std::int32_t kind = 0;
  std::int64_t tag = 0;
  Status status;
  std::int64_t hold = 0;
  std::int64_t fence = 0;
  std::vector<std::int64_t> fences;  // of several names, in the order in which they were added
  std::int64_t permits = 0;
  Micros remaining = 0;
  Micros in_doubt = 0;          // a duration
  std::string text;             // what a fenced write's command replied; where an inspected name is
  std::int64_t slot = 0;        // of an inspected name; -1: of no cluster
  std::int64_t count = 0;       // of a latch
  std::int64_t generation = 0;  // of a latch
  std::int64_t available = 0;   // of a semaphore
  std::int64_t limit = 0;       // of a semaphore
  std::int32_t primitive = 0;   // of an inspected name: belay_primitive
  std::vector<Member> members;
  std::int64_t member_total = 0;
  std::int32_t level = 0;    // of a log event
  std::int64_t time_ms = 0;  // the same: when, since 1970
  std::int64_t dropped = 0;  // the same: how many before it were
};

// An event that has nothing to tell but how a submission ended.
inline Event ended(std::int32_t kind, std::int64_t tag, Status status) {
  Event event;
  event.kind = kind;
  event.tag = tag;
  event.status = std::move(status);
  return event;
}

class EngineEvents {
 public:
  EngineEvents() = default;
  virtual ~EngineEvents() = default;
  EngineEvents(const EngineEvents&) = delete;
  EngineEvents& operator=(const EngineEvents&) = delete;

  // Called inside the monitor; must not call the engine.
  virtual void on_event(Event event) = 0;

  // How many completions nobody has taken yet. Called inside the monitor.
  [[nodiscard]] virtual std::size_t undelivered() const { return 0; }
};

}  // namespace belay
