// What a cluster costs: a pair, a handoff, 16 names in one hold and 10 000 names at once, on three
// masters with a replica each, beside the same on one server.
#include <string>
#include <vector>

#include "blocks.h"
#include "cluster.h"
#include "handoff.h"
#include "many.h"
#include "pairs.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kNames = 16;
constexpr int kManyNames = 10'000;
constexpr const char* kSingle = "single";
constexpr const char* kCluster = "cluster";

using Make = Side (*)(const char* side, Target& target, std::int64_t& count);

Side names16(const char* side, Target& target, std::int64_t& count) {
  return names_pairs(side, kNames, target, count);
}

Side names10000(const char* side, Target& target, std::int64_t& count) {
  return {side, [&target, &count](double) { return take_many(target, "many", kManyNames, count); }};
}

// Where the time of each is short, p50 says more; else the rate.
void compare_sides(const Plan& plan, const Cluster& cluster, const char* what, Make make,
                   bool by_rate, Report& report) {
  Target single(plan.server.url());
  Target all(cluster.url());
  std::int64_t count = 0;
  const std::vector<Measured> measured =
      compare(plan, {make(kSingle, single, count), make(kCluster, all, count)});
  report.sides(measured, what, Report::Servers::kSeveral);
  const Ratio ratio = by_rate ? rate_ratio(measured, kCluster, kSingle)
                              : latency_ratio(measured, kCluster, kSingle);
  report.line((by_rate ? "rate to one server: " : "p50 to one server: ") + show(ratio));
}

}  // namespace

void run_cluster(const Plan& plan, Report& report) {
  report.begin("cluster", "on three masters with a replica each, beside one server");
  const Cluster cluster(plan.server.program());
  compare_sides(plan, cluster, "pair", belay_pairs, false, report);
  compare_sides(plan, cluster, "hold of 16 names", names16, false, report);
  compare_sides(plan, cluster, "name of 10 000", names10000, true, report);
  const std::vector<HandedOver> sides = hand_over(
      plan, {belay_turns(kSingle, plan.server.url()), belay_turns(kCluster, cluster.url())});
  report.table(handoff_rows(sides));
  report.line("p50 to one server: " + show(handoff_ratio(sides, kCluster, kSingle)));
}

}  // namespace belay::bench
