// Glob patterns over bytes: * ? [a-z] [^a-z] and \ escapes, as Redis knows them. Pure.
#pragma once

#include <string_view>

namespace belay {

bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace belay
