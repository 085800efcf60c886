// What a reply or a push of the server says to a node, as its connection understands it. A value.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "net/resp.h"

namespace belay {

struct Heard {
  enum class What : std::uint8_t {
    kNothing,
    kFailed,       // the connection is of no use: why()
    kGreeted,      // with the server's time; older connections may be killed now
    kKilled,       // or an error
    kReply,        // to a command or a watch
    kTime,         // that was asked for
    kReplication,  // likewise: INFO, or an error
    kMap,          // of a cluster: slots()
    kMessage,      // in the inbox
    kLeft,         // slot
    kInvalidated,  // watched keys, or all
  };

  What what = What::kNothing;
  Reply reply{nullptr};  // of kKilled, kReply, kReplication, kMessage and kInvalidated
  Micros sent = kNever;  // when the command was that it answers; kNever: none
  std::uint64_t id = 0;  // of that command or watch
  ServerTime server_time = {};
  std::uint16_t slot = 0;  // that the server has given away
};

}  // namespace belay
