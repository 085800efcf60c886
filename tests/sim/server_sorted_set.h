// A sorted set: members ordered by score, then by bytes. A sorted vector beside a hash, since
// queues are short and grow at their end. Not thread-safe; a Store owns it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay::sim {

class SortedSet {
 public:
  using Entry = std::pair<double, const std::string*>;

  SortedSet() = default;
  SortedSet(const SortedSet& other);
  SortedSet& operator=(const SortedSet&) = delete;
  SortedSet(SortedSet&&) = default;
  SortedSet& operator=(SortedSet&&) = default;
  ~SortedSet() = default;

  // Returns whether the member is new.
  bool add(std::string_view member, double score);
  bool remove(std::string_view member);
  [[nodiscard]] std::optional<double> score(std::string_view member) const;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct MemberHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  [[nodiscard]] std::size_t place(double score, std::string_view member) const;

  // The keys of a node-based map stay where they are: entries_ points at them.
  std::unordered_map<std::string, double, MemberHash, std::equal_to<>> scores_;
  std::vector<Entry> entries_;
};

}  // namespace belay::sim
