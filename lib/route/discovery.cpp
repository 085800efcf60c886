#include "route/discovery.h"

#include <cstdint>
#include <string>

namespace belay {

Status Discovery::lost(const Status& why, Answer answer) {
  found();
  if (answer == Answer::kReplica) {  // no need to ask it again at once
    static_cast<void>(failed(why, answer));
  }
  // Another may take us: nobody has to mend anything yet.
  return answers_.size() == 1 ? why : Status(BELAY_UNAVAILABLE, why.message);
}

std::optional<Status> Discovery::failed(const Status& why, Answer answer) {
  answers_[at_] = {why, answer};
  at_ = (at_ + 1) % answers_.size();
  if (++asked_ < answers_.size()) {
    return std::nullopt;
  }
  asked_ = 0;
  knows_all_ = true;
  return verdict();
}

Status Discovery::so_far() const {
  const std::size_t count = answers_.size();
  std::string words = "of " + std::to_string(count) + " hosts, " + std::to_string(asked_) +
                      (asked_ == 1 ? " has been tried" : " have been tried");
  for (std::size_t i = 0; i < asked_; ++i) {
    words += (i == 0 ? ": " : "; ") + answers_[(at_ + count - asked_ + i) % count].why.message;
  }
  return {BELAY_UNAVAILABLE, words};
}

// Where all have answered, and some will not have us, that has to be mended: one of them is the
// master. What cannot be reached may be the master, too, and may come back.
Status Discovery::verdict() const {
  if (answers_.size() == 1) {
    return answers_.front().why;
  }
  Status verdict(BELAY_UNAVAILABLE,
                 "none of the " + std::to_string(answers_.size()) + " hosts " + in_vain_);
  bool all_answered = true;
  std::int32_t refusal = BELAY_OK;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const Asked& one = answers_[(at_ + i) % answers_.size()];
    verdict.message += (i == 0 ? ": " : "; ") + one.why.message;
    const bool refused = belay_status_class(one.why.code) == BELAY_CLASS_REFUSED;
    refusal = refused && refusal == BELAY_OK ? one.why.code : refusal;
    all_answered = all_answered && (refused || one.answer == Answer::kReplica);
  }
  verdict.code = all_answered && refusal != BELAY_OK ? refusal : verdict.code;
  return verdict;
}

}  // namespace belay
