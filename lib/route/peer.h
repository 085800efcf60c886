// Whoever talks over links: hears of what happens to them. Inside the client's monitor.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace belay {

class Peer {
 public:
  Peer() = default;
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  virtual void on_link_open(Micros now) = 0;
  virtual void on_link_bytes(std::string_view bytes, Micros now) = 0;
  virtual void on_link_closed(const Status& why, Micros now) = 0;
};

}  // namespace belay
