// The digest of a schedule: by it a change is known that should alter nothing.
#include <gtest/gtest.h>

#include <cstdint>

#include "sim/minimise.h"
#include "sim/schedule.h"

namespace belay::sim {
namespace {

TEST(DigestOfASchedule, IsTheSameWheneverItRuns) {
  EXPECT_EQ(run_schedule(5, false).digest, run_schedule(5, false).digest);
  EXPECT_NE(run_schedule(5, false).digest, run_schedule(6, false).digest);
}

TEST(DigestOfASchedule, IsAnotherWhereActsAreLeftOut) {
  Decisions all;
  const std::uint64_t whole = run_schedule(5, false, &all).digest;
  ASSERT_FALSE(all.taken.empty());
  Decisions less;
  less.left_out.insert(all.taken.begin(), all.taken.end());
  EXPECT_NE(run_schedule(5, false, &less).digest, whole);
}

}  // namespace
}  // namespace belay::sim
