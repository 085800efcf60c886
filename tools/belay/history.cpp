// A name that nobody has held or waited for in its last looks is forgotten, so that what is
// remembered is bounded by what is in use.
#include "history.h"

#include <algorithm>
#include <set>

namespace {

constexpr std::size_t kLooks = 11;  // between which there are ten intervals

}  // namespace

std::vector<std::string> History::choose(const std::vector<std::string>& names, std::size_t limit) {
  if (names.size() <= limit) {
    return names;
  }
  const std::vector<std::string> hottest = most_waited_for(names, limit / 2);
  std::set<std::string> chosen(hottest.begin(), hottest.end());
  auto next = std::upper_bound(names.begin(), names.end(), last_in_turn_);
  while (chosen.size() < limit) {
    next = next == names.end() ? names.begin() : next;
    chosen.insert(*next);
    last_in_turn_ = *next;
    ++next;
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::string> History::most_waited_for(const std::vector<std::string>& names,
                                                  std::size_t count) const {
  std::vector<std::pair<std::int64_t, std::string>> waited_for;
  for (const auto& [name, known] : known_) {
    if (known.waiters > 0 && std::binary_search(names.begin(), names.end(), name)) {
      waited_for.emplace_back(-known.waiters, name);
    }
  }
  std::sort(waited_for.begin(), waited_for.end());
  waited_for.resize(std::min(waited_for.size(), count));
  std::vector<std::string> result;
  result.reserve(waited_for.size());
  for (auto& [waiters, name] : waited_for) {
    result.push_back(std::move(name));
  }
  return result;
}

std::int64_t History::add(const std::vector<std::string>& names, bool complete,
                          const std::vector<Entry>& entries, std::int64_t now_ms) {
  std::int64_t changes = 0;
  for (const Entry& entry : entries) {
    const auto [place, is_new] = known_.try_emplace(entry.name);
    Known& known = place->second;
    if (is_new && complete_at_ms_) {
      record(known, {*complete_at_ms_, 0});
    }
    known.waiters = entry.members.waiters_total;
    const std::int64_t fence = entry.members.holders.empty() ? 0 : entry.members.holders[0].fence;
    changes += record(known, {now_ms, fence}) ? 1 : 0;
  }
  note_free(names, now_ms);
  complete_at_ms_ = complete ? std::optional(now_ms) : std::nullopt;
  return changes;
}

bool History::is_change(Seen before, Seen after) {
  return after.fence != 0 && after.fence != before.fence;
}

// Whether the holder is another than at the look before.
bool History::record(Known& known, Seen seen) {
  const bool changed = !known.looks.empty() && is_change(known.looks.back(), seen);
  known.looks.push_back(seen);
  if (known.looks.size() > kLooks) {
    known.looks.pop_front();
  }
  return changed;
}

// A name that is not listed any more is free, which is a look at it, too.
void History::note_free(const std::vector<std::string>& names, std::int64_t now_ms) {
  for (auto place = known_.begin(); place != known_.end();) {
    Known& known = place->second;
    if (!std::binary_search(names.begin(), names.end(), place->first)) {
      known.waiters = 0;
      record(known, {now_ms, 0});
    }
    const bool idle =
        known.waiters == 0 && std::all_of(known.looks.begin(), known.looks.end(),
                                          [](const Seen& seen) { return seen.fence == 0; });
    place = idle ? known_.erase(place) : std::next(place);
  }
}

std::optional<double> History::changes_per_s(const std::string& name) const {
  const auto place = known_.find(name);
  if (place == known_.end() || place->second.looks.size() < 2) {
    return std::nullopt;
  }
  const std::deque<Seen>& looks = place->second.looks;
  int changes = 0;
  for (std::size_t i = 1; i < looks.size(); i++) {
    changes += is_change(looks[i - 1], looks[i]) ? 1 : 0;
  }
  const auto elapsed_ms = static_cast<double>(looks.back().at_ms - looks.front().at_ms);
  return elapsed_ms > 0 ? std::optional(changes * 1000 / elapsed_ms) : std::nullopt;
}
