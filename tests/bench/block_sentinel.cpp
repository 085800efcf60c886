// What replication costs: a pair and a handoff through three sentinels, on a master with two
// replicas, beside the same on one server. Plain hiredis on both shows what of it is the server's.
#include <string>
#include <vector>

#include "blocks.h"
#include "floor.h"
#include "handoff.h"
#include "pairs.h"
#include "target.h"
#include "trio.h"

namespace belay::bench {

namespace {

void compare_pairs(const Plan& plan, const Trio& trio, Report& report) {
  Target single(plan.server.url());
  Target sentinel(trio.url());
  Floor plain_single(plan.server.port(), Recipe::kFenced);
  Floor plain_master(trio.master_port(), Recipe::kFenced);
  std::int64_t count = 0;
  const std::vector<Measured> measured =
      compare(plan, {belay_pairs("single", single, count), belay_pairs("sentinel", sentinel, count),
                     plain_pairs("plain single", plain_single, count),
                     plain_pairs("plain master", plain_master, count)});
  std::vector<Row> rows{{"pair", "p50 us", "p99 us", "pairs/s"}};
  for (const Measured& side : measured) {
    rows.push_back({side.name, number(percentile(side.latencies_us, 0.5), 1),
                    number(percentile(side.latencies_us, 0.99), 1),
                    number(percentile(side.rates, 0.5), 0)});
  }
  report.table(rows);
  report.line("p50 to one server: " + show(latency_ratio(measured, "sentinel", "single")));
  report.line("the same of plain hiredis: " +
              show(latency_ratio(measured, "plain master", "plain single")));
}

void compare_handoffs(const Plan& plan, const Trio& trio, Report& report) {
  const std::vector<HandedOver> sides = hand_over(
      plan, {belay_turns("single", plan.server.url()), belay_turns("sentinel", trio.url()),
             blpop_turns("blpop single", plan.server.port()),
             blpop_turns("blpop master", trio.master_port())});
  report.table(handoff_rows(sides));
  report.line("p50 to one server: " + show(handoff_ratio(sides, "sentinel", "single")));
  report.line("the same of BLPOP: " + show(handoff_ratio(sides, "blpop master", "blpop single")));
}

}  // namespace

void run_sentinel(const Plan& plan, Report& report) {
  report.begin("sentinel", "through sentinels, on a master with two replicas, beside one server");
  const Trio trio(plan.server.program());
  compare_pairs(plan, trio, report);
  compare_handoffs(plan, trio, report);
}

}  // namespace belay::bench
