// The fenced write: one Redis command on a key of the user's, which takes place only if no newer
// fence has been seen for that key.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/query.h"

namespace belay {

struct FencedWrite {
  std::string key;
  std::int64_t fence = 0;
  std::vector<std::string> command;  // its name, then its arguments after the key
};

std::unique_ptr<Query> fenced_write_query(std::string_view prefix, FencedWrite write);

}  // namespace belay
