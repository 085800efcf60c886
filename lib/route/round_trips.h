// How long a server takes to answer. A value; time comes in.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/clock.h"

namespace belay {

class RoundTrips {
 public:
  void sample(Micros sent, Micros received) {
    const Micros trip = std::max<Micros>(0, received - sent);
    highest_ = std::max(trip, highest_ / 8 * 7);
    if (sent >= next_from_) {
      at_ = (at_ + 1) % kKept;
      latest_[at_] = trip;
      next_from_ = received;
    } else {  // on its way together with the one before: a pause of the server holds up both
      latest_[at_] = std::min(latest_[at_], trip);
    }
  }

  // The highest of the recent ones, decaying.
  [[nodiscard]] Micros highest() const { return highest_; }

  // The least of the latest few that were begun one after the other: the way itself, though the
  // server pause once or twice.
  [[nodiscard]] Micros least() const { return *std::min_element(latest_.begin(), latest_.end()); }

 private:
  static constexpr std::size_t kKept = 4;

  Micros highest_ = 0;
  std::array<Micros, kKept> latest_{kNever, kNever, kNever, kNever};
  std::size_t at_ = 0;
  Micros next_from_ = 0;  // sent later than that: another
};

}  // namespace belay
