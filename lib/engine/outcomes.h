// What callers are told: how their submissions end, and what happens to their holds. Also counts
// both. A part of a bundle is told of to its bundle. The engine owns it; used inside the client's
// monitor.
#pragma once

#include <cstdint>
#include <string>

#include "engine/event.h"
#include "engine/ledger.h"

namespace belay {

class Outcomes {
 public:
  Outcomes(Ledger& ledger, EngineEvents& events) : ledger_(ledger), events_(events) {}

  // A submission's completion, to be added to.
  [[nodiscard]] static Event outcome(const Pending& pending, Status status);
  // Ends a submission, which has not ended yet.
  void complete(Pending& pending, Status status);
  void complete(Pending& pending, Event event);

  // News of a hold.
  void tell_of(Hold& hold, std::int32_t kind, Status status);

  // Of a hold that was had since then, until that time.
  void count_release(Micros since, Micros until);
  void count_loss(Micros since, Micros until);

  // Words for a loss; `hold` is the id that its holder knows.
  [[nodiscard]] static Status lost(std::int64_t hold, const Claim& claim, std::int32_t reason,
                                   const std::string& why);
  // Words for what ends without an answer, and for an acquire whose wait has ended.
  [[nodiscard]] static Status unavailable(const Node& node, const std::string& what, Micros within);
  [[nodiscard]] static Status waited_out(const std::string& name, Micros wait);

 private:
  void explain(const Pending& pending, Status* status) const;
  [[nodiscard]] Micros still_taken(const Pending& pending) const;
  void on_part_done(const Pending& part, const Event& event);
  void on_part_news(const Hold& hold, std::int32_t kind, const Status& status);
  void count_acquire(const Pending& pending, std::int32_t code);

  Ledger& ledger_;
  EngineEvents& events_;
};

}  // namespace belay
