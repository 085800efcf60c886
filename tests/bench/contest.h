// What all sides that have a workload do with it; it fills the columns of the overview. Owned by a
// block of peers; used by the main thread, with a thread of its own that counts others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "measure.h"
#include "peer.h"
#include "report.h"

namespace belay::bench {

class Contest {
 public:
  Contest(const Plan& plan, const std::string& workload)
      : Contest(plan, plan.server.url(), workload) {}

  // On other servers than the plan's.
  Contest(const Plan& plan, const std::string& url, const std::string& workload);

  // Has the OS threads of each side's process counted while it works.
  void count_threads();
  std::vector<Measured> compare() const;

  // The most OS threads that a side has had at once.
  int most_threads(const std::string& side) { return threads_[side]; }

  // A side's value and text.
  using Figure = std::function<std::pair<double, std::string>(const Measured& side)>;
  // Fills a column. A side without the workload gets a dash and its reason.
  void fill(const std::string& column, const std::vector<Measured>& measured, const Figure& figure,
            Report* report) const;
  // Fills a column with each side's commands per hold, in a slice of its own: the server is slower
  // while it tells of its commands.
  void count_commands(const std::string& column, const std::vector<Measured>& measured,
                      Report* report) const;

 private:
  const Plan plan_;
  const Peers peers_;
  std::vector<Side> sides_;
  std::map<std::string, int> threads_;  // by side
};

}  // namespace belay::bench
