// A sorted set: members ordered by score, then by bytes. A sorted vector beside a hash, since
// queues are short and grow at their end. Not thread-safe; a Store owns it.
#include "sim/server_sorted_set.h"

#include <algorithm>

namespace belay::sim {

SortedSet::SortedSet(const SortedSet& other) {
  for (const auto& [score, member] : other.entries_) {
    add(*member, score);
  }
}

bool SortedSet::add(std::string_view member, double score) {
  const bool is_new = !remove(member);
  const auto at = static_cast<std::ptrdiff_t>(place(score, member));
  const auto added = scores_.emplace(member, score).first;
  entries_.insert(entries_.begin() + at, {score, &added->first});
  return is_new;
}

bool SortedSet::remove(std::string_view member) {
  const auto found = scores_.find(member);
  if (found == scores_.end()) {
    return false;
  }
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place(found->second, member)));
  scores_.erase(found);
  return true;
}

std::optional<double> SortedSet::score(std::string_view member) const {
  const auto found = scores_.find(member);
  return found == scores_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t SortedSet::place(double score, std::string_view member) const {
  const auto at = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.first != score ? entry.first < score : *entry.second < member;
  });
  return static_cast<std::size_t>(at - entries_.begin());
}

}  // namespace belay::sim
