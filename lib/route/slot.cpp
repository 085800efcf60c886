#include "route/slot.h"

#include <array>
#include <vector>

namespace belay {

namespace {

constexpr std::array<std::uint16_t, 256> make_crc_table() {
  constexpr std::uint16_t kPolynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kCrcTable = make_crc_table();

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc = (crc << 8U) ^ kCrcTable[((crc >> 8U) ^ static_cast<unsigned char>(byte)) & 0xFFU];
    crc &= 0xFFFFU;
  }
  return static_cast<std::uint16_t>(crc);
}

// The least number of each slot. Made once; some 170 000 numbers are looked at.
std::vector<std::uint32_t> make_tags() {
  constexpr std::uint32_t kUnset = UINT32_MAX;
  std::vector<std::uint32_t> tags(kSlots, kUnset);
  std::uint16_t missing = kSlots;
  for (std::uint32_t number = 0; missing > 0; ++number) {
    std::uint32_t& tag = tags[crc16(std::to_string(number)) % kSlots];
    if (tag == kUnset) {
      tag = number;
      --missing;
    }
  }
  return tags;
}

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) {
    return key;
  }
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) {
    return key;
  }
  return key.substr(open + 1, close - open - 1);
}

std::uint16_t slot_of(std::string_view key) {
  return crc16(hash_tag(key)) % kSlots;
}

std::string slot_tag(std::uint16_t slot) {
  // Never destroyed: the host's exit must not take it from a thread that still runs.
  static const auto& tags = *new std::vector<std::uint32_t>(make_tags());
  return std::to_string(tags[slot]);
}

}  // namespace belay
