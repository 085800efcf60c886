// The hash slots of Redis Cluster, which also decide which fence key a name uses on a single
// server. Pure.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay {

inline constexpr std::uint16_t kSlots = 16384;

using SlotSet = std::bitset<kSlots>;

// The part of a key that is hashed: what stands in its first braces if that is not empty, else the
// key.
std::string_view hash_tag(std::string_view key);

// CRC16 (XMODEM) of the hash tag, modulo the slots.
std::uint16_t slot_of(std::string_view key);

// The least number whose decimal digits hash to `slot`.
std::string slot_tag(std::uint16_t slot);

}  // namespace belay
