// What asks the server without changing a claim's course: which command it takes, and what is made
// of the reply. Implemented in lib/dialect; the engine owns a query from its submission to its
// one event, sends its command again on a new connection until the request timeout, and calls it
// inside the client's monitor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/event.h"
#include "net/resp.h"
#include "route/command.h"

namespace belay {

class Query {
 public:
  // What its command does to the server. What changes something cannot be cancelled.
  enum class Effect : std::uint8_t {
    kNone,
    kIdempotent,  // twice is as good as once
    kOverwrites,  // the same, unless something else came between: not to be sent again where it may
                  // also arrive later
    kOnce         // not to be sent again where it may have arrived: in doubt without a reply
  };

  enum class Progress : std::uint8_t {
    kDone,   // the event is whole
    kAgain,  // ask again, with what is left of the request timeout
    kWait,   // of a latch: the generation has not ended
    kNext,   // a part of the answer: ask for the next one, with what is left of the request timeout
    kUnsound  // no reply that the command has
  };

  Query() = default;
  virtual ~Query() = default;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  [[nodiscard]] virtual std::int32_t event_kind() const = 0;

  [[nodiscard]] virtual Effect effect() const { return Effect::kNone; }

  // Whose server is asked next.
  [[nodiscard]] virtual std::uint16_t slot() const { return 0; }

  // Which servers are asked, one after the other.
  enum class Reach : std::uint8_t { kOne, kThoseInUse, kAll };

  [[nodiscard]] virtual Reach reach() const { return Reach::kOne; }

  // Who has answered, and whether it is a node of a cluster.
  virtual void on_answered_by(const std::string& /*server*/, bool /*of_cluster*/,
                              Event* /*event*/) const {}

  // Before its first command, as soon as they are known: a slot of each.
  virtual void on_servers(const std::vector<std::uint16_t>& /*slots*/) {}

  // Beyond `not_after` it is to change nothing.
  [[nodiscard]] virtual Command command(std::int64_t highest_fence, ServerTime not_after) = 0;

  // Adds what a reply, which is no error, says to the event; also its status, where not OK.
  virtual Progress read(Reply reply, Event* event) = 0;
};

}  // namespace belay
