// What a server sends of a lock, as bytes. Fences are 50 to 58 where a test does not mind.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/packing.h"
#include "dialect/keys.h"
#include "dialect/mac.h"

namespace belay {

inline std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// To the inbox of this client.
inline std::string pushed(const Identity& me, const std::string& payload) {
  return ">3\r\n$7\r\nmessage\r\n" + bulk(me.inbox().channel(0)) + bulk(payload);
}

// To an acquire.
inline std::string granted(Micros server_time, std::int64_t fence = 50) {
  return bulk(
      Packer().u8(1).number(server_time).number(fence).number(fence + 8).u8(0).number(1).take());
}

inline std::string queued(Micros server_time, Micros look_in = kSecond) {
  return bulk(Packer()
                  .u8(2)
                  .number(server_time)
                  .number(0)
                  .number(look_in)
                  .number(7)
                  .number(0)
                  .number(0)
                  .take());
}

// A grant as a script makes it, with its code.
struct GrantMessage {
  std::int64_t epoch = 1;
  Micros server_time = 0;
  std::int64_t fence = 50;
  Micros lease = 0;
  bool others_wait = false;
  std::string name = "a";

  [[nodiscard]] std::string payload(const Identity& me) const {
    const std::string key = key_of(me.prefix, 'r', name);
    const std::string head = Packer()
                                 .u8(1)
                                 .u8(1)
                                 .number(epoch)
                                 .number(server_time)
                                 .number(fence)
                                 .number(fence + 8)
                                 .number(lease)
                                 .u8(others_wait ? 1 : 0)
                                 .take();
    return head + mac_of(me, epoch, head + key) + key;
  }
};

}  // namespace belay
