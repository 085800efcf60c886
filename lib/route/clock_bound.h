// How far a server's clock may be ahead of ours: server time <= local time + bound. What makes a
// pushed grant safe and gives acquires their not-after (rules 1-3 of the protocol, lib/README.md).
// A value; time comes in.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace belay {

class ClockBound {
 public:
  // A reply's server time. The reply was produced after the command was sent, so the server's clock
  // was at most `server - sent` ahead.
  void sample(ServerTime server, Micros sent, Micros received) {
    notice(server, received);
    const Micros fresh = server.since_1970 - sent;
    if (!known(received) || fresh < bound(received)) {
      bound_ = fresh;
      at_ = received;
      read_ = server;
      has_bound_ = true;
    }
    last_sample_ = received;
  }

  // Any server time seen, also in a pushed message, which gives no upper bound but may show that
  // the clock has jumped.
  void notice(ServerTime server, Micros received) {
    if (known(received) && server.since_1970 - received > bound(received)) {
      has_bound_ = false;
    }
  }

  void forget() { has_bound_ = false; }

  [[nodiscard]] bool known(Micros now) const { return has_bound_ && now - last_sample_ <= kStale; }

  // Clocks may drift apart by 0.5 % meanwhile.
  [[nodiscard]] Micros bound(Micros now) const { return bound_ + (now - at_) / kDriftDivisor; }

  // The latest that the server's clock may show at that time of ours.
  [[nodiscard]] ServerTime latest_at(Micros local, Micros now) const {
    return {local + bound(now)};
  }

  // Until when by our clock the server's has certainly not reached that moment.
  [[nodiscard]] Micros not_before(ServerTime server, Micros now) const {
    return server.since_1970 - bound(now);
  }

  // When the server's clock is certainly past `server`, a time that was made with the bound: unless
  // it is set back. The reply was on its way for a while, and the server's clock may be slow.
  [[nodiscard]] Micros passed_by(ServerTime server) const {
    return at_ + (server - read_) + (server - read_) / kDriftDivisor + 1;
  }

 private:
  static constexpr Micros kStale = 30 * kSecond;
  static constexpr Micros kDriftDivisor = 200;

  bool has_bound_ = false;
  Micros bound_ = 0;
  Micros at_ = 0;           // when bound_ was learnt
  ServerTime read_;         // from which time of the server
  Micros last_sample_ = 0;  // when any reply came
};

}  // namespace belay
