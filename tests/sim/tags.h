// The tags under which a process submits: as few as can be, each used again as soon as it is free.
// The schedule and its checks number submissions, each once.
#pragma once

#include <cstdint>
#include <map>

namespace belay::sim {

class Tags {
 public:
  std::int64_t give(std::int64_t submission) {
    std::int64_t tag = 1;
    while (submissions_.contains(tag)) {
      ++tag;
    }
    submissions_[tag] = submission;
    tags_[submission] = tag;
    return tag;
  }

  // What belongs to no submission is given out under no tag.
  [[nodiscard]] std::int64_t of(std::int64_t submission) const {
    const auto found = tags_.find(submission);
    return found == tags_.end() ? 0 : found->second;
  }

  // The submission whose tag is free from now on; of another number, that number.
  std::int64_t take_back(std::int64_t tag) {
    const auto found = submissions_.find(tag);
    if (found == submissions_.end()) {
      return tag;
    }
    const std::int64_t submission = found->second;
    tags_.erase(submission);
    submissions_.erase(found);
    return submission;
  }

 private:
  std::map<std::int64_t, std::int64_t> submissions_;  // by tag
  std::map<std::int64_t, std::int64_t> tags_;         // by submission
};

}  // namespace belay::sim
