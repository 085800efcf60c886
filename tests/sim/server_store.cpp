// The keyspace of a simulated server: typed values that expire by the time the server sets.
// Not thread-safe; a ServerState owns it.
#include "sim/server_store.h"

#include <algorithm>

namespace belay::sim {
namespace {

// FNV-1a, cut to 48 bits so that a SCAN cursor holds it: the same on every machine.
std::uint64_t place_of(std::string_view key) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : key) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return (hash >> 16U) + 1;
}

}  // namespace

Value* Store::find(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    return nullptr;
  }
  if (expired(found->second)) {
    values_.erase(found);
    return nullptr;
  }
  return &found->second;
}

Value& Store::find_or_add(std::string_view key) {
  Value* const value = find(key);
  return value != nullptr ? *value : values_[std::string(key)];
}

bool Store::erase(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    return false;
  }
  const bool lived = !expired(found->second);
  values_.erase(found);
  return lived;
}

std::vector<Store::Listed> Store::list() {
  std::erase_if(values_, [this](const auto& entry) { return expired(entry.second); });
  std::vector<Listed> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_) {
    keys.push_back({place_of(key), key});
  }
  std::sort(keys.begin(), keys.end(), [](const Listed& a, const Listed& b) {
    return a.place != b.place ? a.place < b.place : a.key < b.key;
  });
  return keys;
}

}  // namespace belay::sim
