#include "sim/minimise.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace belay::sim {

namespace {

constexpr int kMostRuns = 5000;  // some seconds

// The text up to its first number, as those differ from run to run; "P1" is none.
std::string kind_of(const std::string& violation) {
  return violation.substr(0, violation.find_first_of("0123456789", 2));
}

class Minimiser {
 public:
  explicit Minimiser(const RunOnce& run_once) : run_once_(run_once) {
    const Outcome outcome = run_once_(smallest_);
    kind_ = kind_of(outcome.violation);
    events_ = outcome.events;
  }

  Decisions run() {
    bool smaller = !kind_.empty();
    while (smaller) {
      smaller = false;
      for (std::size_t size = smallest_.taken.size(); size > 0; size /= 2) {
        smaller = leave_out_parts_of(size) || smaller;
      }
    }
    return std::move(smallest_);
  }

 private:
  // Tries to do without each part of so many decisions. False if none could be left out.
  bool leave_out_parts_of(std::size_t size) {
    bool smaller = false;
    for (std::size_t at = 0; at < smallest_.taken.size() && runs_ < kMostRuns;) {
      if (leave_out(at, std::min(size, smallest_.taken.size() - at))) {
        smaller = true;
      } else {
        at += size;
      }
    }
    return smaller;
  }

  bool leave_out(std::size_t at, std::size_t size) {
    ++runs_;
    const auto first = smallest_.taken.begin() + static_cast<std::ptrdiff_t>(at);
    Decisions smaller{smallest_.left_out, {}};
    smaller.left_out.insert(first, first + static_cast<std::ptrdiff_t>(size));
    const Outcome outcome = run_once_(smaller);
    if (kind_of(outcome.violation) != kind_ || outcome.events >= events_) {
      return false;
    }
    events_ = outcome.events;
    smallest_ = std::move(smaller);
    return true;
  }

  const RunOnce& run_once_;
  std::string kind_;
  std::uint64_t events_ = 0;
  Decisions smallest_;
  int runs_ = 0;
};

}  // namespace

Decisions minimise(const RunOnce& run_once) {
  return Minimiser(run_once).run();
}

}  // namespace belay::sim
