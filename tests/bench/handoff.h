// Two processes that hold one thing in turn, for 1 ms each: how long it takes from the one to the
// other. Used by the main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure.h"
#include "report.h"

namespace belay::bench {

// What is taken and given back.
struct Turns {
  std::function<void()> take;
  std::function<void()> give;
};

struct Contender {
  std::string name;
  // Called in each of the processes, which are 0 and 1: connections do not survive a fork.
  std::function<Turns(int process)> connect;
};

Contender belay_turns(const std::string& name, const std::string& url);
// A token in a list.
Contender blpop_turns(const std::string& name, int port);

struct HandedOver {
  std::string name;
  std::vector<double> latencies_us = {};
  std::vector<double> p50s_us = {};  // a round
  std::int64_t holds = 0;
  std::int64_t changes = 0;  // holds that were not taken by who gave back
};

std::vector<HandedOver> hand_over(const Plan& plan, const std::vector<Contender>& contenders);

std::vector<Row> handoff_rows(const std::vector<HandedOver>& sides);
// Of the p50s, round by round.
Ratio handoff_ratio(const std::vector<HandedOver>& sides, const std::string& ours,
                    const std::string& theirs);

}  // namespace belay::bench
