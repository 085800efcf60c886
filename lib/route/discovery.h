// At which of several endpoints a master is sought: first where it was last, then at the others in
// turn; and what came of a whole round of them. Sans-IO; owned by a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace belay {

class Discovery {
 public:
  // What an endpoint is known for, if it is not the master's.
  enum class Answer : std::uint8_t { kNone, kReplica };

  // Of so many endpoints, which are named by their numbers from 0 on. `in_vain`: what none of them
  // does, in words.
  explicit Discovery(std::size_t endpoints, const char* in_vain = "is a master for us")
      : answers_(endpoints), in_vain_(in_vain) {}

  // Where to look now.
  [[nodiscard]] std::size_t at() const { return at_; }

  // It was found there. From now on a round begins there.
  void found() {
    asked_ = 0;
    knows_all_ = false;
  }

  // It was found there, and is not there any more. Gives what whoever needs it is told meanwhile.
  Status lost(const Status& why, Answer answer);

  // It is not there. Nothing: others are to be asked first; else what a whole round has come to.
  std::optional<Status> failed(const Status& why, Answer answer);

  // Whether a whole round has been in vain since it was there.
  [[nodiscard]] bool knows_all() const { return knows_all_; }

  // What those of this round have said.
  [[nodiscard]] Status so_far() const;

 private:
  struct Asked {
    Status why;
    Answer answer = Answer::kNone;
  };

  [[nodiscard]] Status verdict() const;

  std::vector<Asked> answers_;
  const char* in_vain_;
  std::size_t at_ = 0;
  std::size_t asked_ = 0;  // so many of this round
  bool knows_all_ = false;
};

}  // namespace belay
