// The minimiser, on schedules that are no more than a list of decisions.
#include "sim/minimise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace belay::sim {
namespace {

using Numbers = std::vector<std::uint64_t>;

// Takes each of 1 to `last` that is not left out, an event each.
Outcome take_up_to(std::uint64_t last, Decisions& decisions) {
  for (std::uint64_t decision = 1; decision <= last; ++decision) {
    if (!decisions.left_out.contains(decision)) {
      decisions.taken.push_back(decision);
    }
  }
  return {"", decisions.taken.size(), 0};
}

bool takes(const Decisions& decisions, std::uint64_t decision) {
  return std::find(decisions.taken.begin(), decisions.taken.end(), decision) !=
         decisions.taken.end();
}

TEST(Minimiser, KeepsOnlyTheDecisionsThatTheViolationNeeds) {
  const Decisions smallest = minimise([](Decisions& decisions) {
    Outcome outcome = take_up_to(100, decisions);
    outcome.violation = takes(decisions, 3) && takes(decisions, 77) ? "P1: hold 5" : "";
    return outcome;
  });
  EXPECT_EQ(smallest.taken, (Numbers{3, 77}));
  EXPECT_EQ(smallest.left_out.size(), 98U);
}

TEST(Minimiser, StaysWithTheKindOfViolationWhateverItsNumbers) {
  const Decisions smallest = minimise([](Decisions& decisions) {
    Outcome outcome = take_up_to(40, decisions);
    outcome.violation =
        takes(decisions, 20) ? "P1: hold " + std::to_string(decisions.taken.size()) : "P2: hold 1";
    return outcome;
  });
  EXPECT_EQ(smallest.taken, (Numbers{20}));
}

TEST(Minimiser, TakesNoLongerScheduleForASmallerOne) {
  const Decisions smallest = minimise([](Decisions& decisions) {
    Outcome outcome = take_up_to(2, decisions);
    outcome.violation = "P1: hold 5";
    outcome.events = takes(decisions, 1) ? 10 : 20;
    return outcome;
  });
  EXPECT_EQ(smallest.taken, (Numbers{1, 2}));
}

TEST(Minimiser, LeavesOutNothingWhereNothingIsWrong) {
  const Decisions smallest =
      minimise([](Decisions& decisions) { return take_up_to(10, decisions); });
  EXPECT_EQ(smallest.taken.size(), 10U);
  EXPECT_TRUE(smallest.left_out.empty());
}

}  // namespace
}  // namespace belay::sim
