// A server-side verb, embedded at build time. Plain constants.
#pragma once

#include <string_view>

namespace belay {

struct Script {
  std::string_view name;
  std::string_view sha1;
  std::string_view body;
};

}  // namespace belay
