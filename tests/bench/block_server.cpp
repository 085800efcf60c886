// What the scripts cost inside the server: its own count of microseconds an EVALSHA, for loops of
// acquires and of releases.
#include <functional>
#include <string>
#include <vector>

#include "blocks.h"
#include "floor.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kNames = 200;  // a round and side

// One side's scripts, one call after the other: all names are acquired, then all released.
struct ScriptSide {
  std::string name;
  std::function<void(const std::string& lock)> acquire;
  std::function<void()> release_all;
  std::vector<double> acquire_us;  // a round
  std::vector<double> release_us;
};

double usec_per_call(Server& server, const std::function<void()>& work) {
  const CommandStat before = server.command_stats()["evalsha"];
  work();
  const CommandStat after = server.command_stats()["evalsha"];
  return static_cast<double>(after.usec - before.usec) /
         static_cast<double>(after.calls - before.calls);
}

void run_round(const Plan& plan, ScriptSide* side, std::int64_t* count) {
  side->acquire_us.push_back(usec_per_call(plan.server, [&] {
    for (int i = 0; i < kNames; ++i) {
      side->acquire(name_of("server", ++*count));
    }
  }));
  side->release_us.push_back(usec_per_call(plan.server, side->release_all));
}

ScriptSide belay_side(Target& target, std::vector<std::int64_t>& holds) {
  return {"belay",
          [&](const std::string& name) { holds.push_back(target.lock(name.c_str())); },
          [&] {
            for (const std::int64_t hold : holds) {
              target.release(hold);
            }
            holds.clear();
          },
          {},
          {}};
}

struct FloorHold {
  std::string name;
  Floor::Claim claim;
};

ScriptSide floor_side(const char* name, Floor& floor, std::vector<FloorHold>& holds) {
  return {name,
          [&](const std::string& lock) {
            holds.push_back({lock, floor.acquire(lock)});
          },
          [&] {
            for (const FloorHold& hold : holds) {
              floor.release(hold.name, hold.claim);
            }
            holds.clear();
          },
          {},
          {}};
}

}  // namespace

void run_server(const Plan& plan, Report& report) {
  report.begin("server", "us inside the server for each call of a script");
  Target target(plan.server.url());
  target.release(target.lock("server"));  // from now on by EVALSHA
  Floor bare(plan.server.port(), Recipe::kBare);
  Floor fenced(plan.server.port(), Recipe::kFenced);
  std::vector<std::int64_t> holds;
  std::vector<FloorHold> bare_holds;
  std::vector<FloorHold> fenced_holds;
  std::vector<ScriptSide> sides{belay_side(target, holds), floor_side("bare", bare, bare_holds),
                                floor_side("fenced", fenced, fenced_holds)};
  std::int64_t count = 0;
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      ScriptSide& side = sides[round % 2 == 0 ? i : sides.size() - 1 - i];
      if (plan.only.empty() || plan.only == side.name) {
        run_round(plan, &side, &count);
      }
    }
  }
  std::vector<Row> rows{{"side", "acquire us", "release us", "both us"}};
  for (const ScriptSide& side : sides) {
    const double acquire = percentile(side.acquire_us, 0.5);
    const double release = percentile(side.release_us, 0.5);
    rows.push_back(
        {side.name, number(acquire, 2), number(release, 2), number(acquire + release, 2)});
  }
  report.table(rows);
  for (const std::size_t floor : {std::size_t{1}, std::size_t{2}}) {
    report.line("to " + sides[floor].name + ": acquire " +
                show(ratio(sides[0].acquire_us, sides[floor].acquire_us)) + ", release " +
                show(ratio(sides[0].release_us, sides[floor].release_us)));
  }
}

}  // namespace belay::bench
