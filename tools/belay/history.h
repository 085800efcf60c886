// What belay top remembers from look to look: who held each name, for the changes of holder, and
// how many waited, for where to look next. Pure: the time comes in.
//
// A look is a sample: however often a name changes hands between two looks at it, one change is
// seen. What is counted here is therefore a lower bound, and one that no sample can exceed.
#ifndef BELAY_TOOLS_HISTORY_H
#define BELAY_TOOLS_HISTORY_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report.h"

class History {
 public:
  // Which of these names (sorted) to look at: all, if `limit` allows. Otherwise half of the limit
  // are those with the most waiters so far, and the rest are taken in turn.
  std::vector<std::string> choose(const std::vector<std::string>& names, std::size_t limit);
  // Take in a look: the names in use (sorted), and what was found of those that were inspected
  // (`complete`: which is all of them). Returns how many changes of holder it shows.
  std::int64_t add(const std::vector<std::string>& names, bool complete,
                   const std::vector<Entry>& entries, std::int64_t now_ms);
  // Changes of a name's holder per second over its last ten looks; nothing before its second.
  [[nodiscard]] std::optional<double> changes_per_s(const std::string& name) const;

 private:
  struct Seen {
    std::int64_t at_ms;
    std::int64_t fence;  // 0: nobody held it
  };

  struct Known {
    std::deque<Seen> looks;
    std::int64_t waiters = 0;
  };

  [[nodiscard]] std::vector<std::string> most_waited_for(const std::vector<std::string>& names,
                                                         std::size_t count) const;
  static bool is_change(Seen before, Seen after);
  static bool record(Known& known, Seen seen);
  void note_free(const std::vector<std::string>& names, std::int64_t now_ms);

  std::map<std::string, Known> known_;
  std::string last_in_turn_;
  std::optional<std::int64_t> complete_at_ms_;  // when the last look saw all names in use
};

#endif
