// Names to keys and back. Every key of a resource shares one hash tag; distinct names never share a
// key. The table of cases is in lib/scripts/README.md. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

// The key of `kind` (one letter) for `name`. A name with a valid hash tag keeps it: PREFIX kind '='
// name. Any other becomes one: PREFIX kind ':{' escaped name '}', where % and } are
// percent-encoded.
std::string key_of(std::string_view prefix, char kind, std::string_view name);

// The name whose key of that kind this is; none if it is no such key.
std::optional<std::string> name_of(std::string_view prefix, char kind, std::string_view key);

// The key that holds the highest fence of `slot`, and lies in it.
std::string fence_key_of(std::string_view prefix, std::uint16_t slot);

// A key of `slot` that is never there.
std::string absent_key_of(std::string_view prefix, std::uint16_t slot);

// The key that remembers the newest fence seen for `key`, any key of the user's, and lies in its
// slot.
std::string guard_key_of(std::string_view prefix, std::string_view key);

}  // namespace belay
