// What the other primitives cost beside the exclusive lock: a pair of each on names that nobody
// else wants, and readers of one name.
#include <functional>
#include <string>
#include <vector>

#include "blocks.h"
#include "crew.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kReaders = 16;
constexpr double kPairAim = 2.0;

// Makes a request for a name of that kind, and one pair of it.
struct Pair {
  const char* kind;
  std::function<void(belay_client* client, const char* name)> run;
};

void acquire_and_release(belay_client* client, belay_request* request) {
  const std::int64_t hold = belay_acquire(client, request, 0, -1, nullptr);
  belay_request_free(request);
  if (hold <= 0) {
    expect_ok(static_cast<std::int32_t>(-hold), "belay_acquire");
  }
  expect_ok(belay_release(client, hold), "belay_release");
}

belay_request* reader_of(const char* name) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  expect_ok(belay_request_add_shared_name(request, name, -1), "belay_request_add_shared_name");
  return request;
}

void run_lock(belay_client* client, const char* name) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  expect_ok(belay_request_add_name(request, name, -1), "belay_request_add_name");
  acquire_and_release(client, request);
}

void run_reader(belay_client* client, const char* name) {
  acquire_and_release(client, reader_of(name));
}

void run_identity(belay_client* client, const char* name) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  expect_ok(belay_request_add_name(request, name, -1), "belay_request_add_name");
  expect_ok(belay_request_set_identity(request, "job", -1), "belay_request_set_identity");
  acquire_and_release(client, request);
}

void run_permit(belay_client* client, const char* name) {
  belay_request* request = belay_request_new(BELAY_SEMAPHORE);
  expect_ok(belay_request_add_name(request, name, -1), "belay_request_add_name");
  expect_ok(belay_request_set_permits(request, 1, 8), "belay_request_set_permits");
  acquire_and_release(client, request);
}

void run_latch(belay_client* client, const char* name) {
  if (belay_latch_set(client, name, -1, 1, 1000, nullptr) <= 0 ||
      belay_latch_count_down(client, name, -1, 1, nullptr) != 0) {
    give_up("a latch did not open");
  }
}

}  // namespace

void run_kinds(const Plan& plan, Report& report) {
  report.begin("kinds",
               "an acquire and release of each kind, or a latch that is set and counted down, on a "
               "new name; one thread");
  const std::vector<Pair> pairs{{"lock", run_lock},
                                {"reader", run_reader},
                                {"identity", run_identity},
                                {"permit", run_permit},
                                {"latch", run_latch}};
  Target target(plan.server.url());
  std::int64_t count = 0;
  std::vector<Side> sides;
  for (const Pair& pair : pairs) {
    sides.push_back({pair.kind, [&pair, &target, &count](double seconds) {
                       return run_alone(seconds, [&] {
                         pair.run(target.get(), name_of(pair.kind, ++count).c_str());
                       });
                     }});
  }
  const std::vector<Measured> measured = compare(plan, sides);
  report.sides(measured, "pair");
  for (const Pair& pair : pairs) {
    if (&pair != &pairs.front()) {
      const Ratio times = latency_ratio(measured, pair.kind, "lock");
      report.at_most(std::string(pair.kind) + ", times a lock", "<= 2.00", kPairAim, times.known,
                     times.median, 2);
    }
  }
}

void run_readers16(const Plan& plan, Report& report) {
  report.begin("readers16",
               "16 threads of one client read one name, beside 16 that lock it in turn");
  Target target(plan.server.url());
  Crew readers(kReaders, [&](int) { run_reader(target.get(), "readers16:shared"); });
  Crew lockers(kReaders, [&](int) { run_lock(target.get(), "readers16:alone"); });
  const std::vector<Measured> measured =
      compare(plan, {{"readers", [&](double seconds) { return readers.run(seconds, {}); }},
                     {"lockers", [&](double seconds) { return lockers.run(seconds, {}); }}});
  report.sides(measured, "pair");
  const Ratio rate = rate_ratio(measured, "readers", "lockers");
  report.line("rate to those who lock it: " + show(rate));
  report.at_least("rate, times the exclusive lock's", ">= 1.00", 1.0, rate.known, rate.median, 2);
}

}  // namespace belay::bench
