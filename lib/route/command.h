// What travels between the engine and a server: a script call, as data. Plain values, no owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/script.h"

namespace belay {

// One command of the engine's. `id` comes back with the reply. Without a script, `args` is the
// whole command. The keys are somebody else's, and stand until it is sent.
struct Command {
  std::uint64_t id = 0;
  const Script* script = nullptr;
  std::vector<std::string_view> keys;
  std::vector<std::string> args;
};

}  // namespace belay
