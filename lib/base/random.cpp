#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cstddef>

#include "base/contract.h"

namespace belay {

namespace {

constexpr std::size_t kIdSize = contract::kClientSize;
static_assert(kIdSize * 6 >= 128, "random enough that no two clients have one id");

}  // namespace

std::string random_id() {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, kIdSize> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  std::string id;
  for (const unsigned char byte : bytes) {
    id.push_back(kAlphabet[byte & 63U]);
  }
  return id;
}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(next() % range);
}

}  // namespace belay
