// The keyspace of a simulated server: typed values that expire by the time the server sets.
// Not thread-safe; a ServerState owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sim/server_sorted_set.h"

namespace belay::sim {

struct StringHash {
  using is_transparent = void;

  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

using Hash = StringMap<std::string>;
using List = std::vector<std::string>;

struct Value {
  std::variant<std::string, SortedSet, Hash, List> data;
  std::int64_t expires_ms = 0;  // 0 = never
};

class Store {
 public:
  // Stands still while a script runs.
  void set_now_ms(std::int64_t now_ms) { now_ms_ = now_ms; }

  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }

  // The live value at `key`, or null.
  Value* find(std::string_view key);
  // The live value, or a new empty string that never expires.
  Value& find_or_add(std::string_view key);
  bool erase(std::string_view key);

  void clear() { values_.clear(); }

  // Drops what has expired, then lists the keys in an order of their own that does not change as
  // keys come and go.
  struct Listed {
    std::uint64_t place;
    std::string_view key;
  };

  std::vector<Listed> list();

 private:
  [[nodiscard]] bool expired(const Value& value) const {
    return value.expires_ms != 0 && now_ms_ > value.expires_ms;
  }

  StringMap<Value> values_;
  std::int64_t now_ms_ = 0;
};

}  // namespace belay::sim
