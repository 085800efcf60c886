// How a client knows a message that it is to believe from one that anybody may have published: by a
// MAC under a secret that stands only in its entry in the queue. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dialect/lock.h"

namespace belay {

inline constexpr std::size_t kMacSize = 40;

// What an acquire of this epoch tells the server, and nobody else: 20 bytes.
std::string secret_of(const Identity& me, std::int64_t epoch);

// Of a message about that epoch: all its bytes but those of the MAC itself.
std::string mac_of(const Identity& me, std::int64_t epoch, std::string_view message);

}  // namespace belay
