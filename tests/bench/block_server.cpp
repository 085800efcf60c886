// What the scripts cost inside the server, by its own count of microseconds in EVALSHA. All that is
// asked for is on its way at once: else each call would also pay for the server's awakening.
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blocks.h"
#include "floor.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kNames = 64;      // in flight
constexpr int kManyNames = 32;  // times as many
constexpr int kPermits = 100;   // of which one or two are in use
constexpr auto kRenewed = std::chrono::seconds(3);
constexpr auto kConfirmed = std::chrono::seconds(1);  // by then what is asked for has come

using Names = std::vector<std::string>;

// How names are held.
struct How {
  const char* what;
  std::int32_t primitive = BELAY_LOCK;
  bool shared = false;
  const char* identity = nullptr;
  const char* renewed_by = "zadd";  // which command of the server comes once in a renewal
  int together = 1;                 // so many names are asked for as one
};

constexpr How kAlone{.what = "lock", .renewed_by = "pexpire"};
constexpr How kSixteen{.what = "16 names", .together = 16};
constexpr How kJoint[] = {{.what = "reader", .shared = true},
                          {.what = "identity", .identity = "bench"},
                          {.what = "permit", .primitive = BELAY_SEMAPHORE}};

// Each set is used again and again: a name's first use also makes its slot's fence key. They are no
// other block's: a semaphore keeps the limit that it was given first.
Names names_of(int set, const How& how = kAlone) {
  const std::string prefix = std::string("server:") + how.what;
  Names names;
  for (int i = 0; i < kNames; ++i) {
    names.push_back(name_of(prefix.c_str(), set * kNames + i));
  }
  return names;
}

double usec_per_name(Server& server, const std::function<void()>& work) {
  const std::int64_t before = server.command_stats()["evalsha"].usec;
  work();
  return static_cast<double>(server.command_stats()["evalsha"].usec - before) / kNames;
}

// One client that does the same to all names at once.
class Crowd {
 public:
  explicit Crowd(const std::string& url, const How& how = kAlone) : target_(url), how_(how) {
    acquire(names_of(0, how));  // from now on by EVALSHA
    release();
  }

  // Returns when the server has all of it.
  void ask(const Names& names) {
    const auto add = how_.shared ? belay_request_add_shared_name : belay_request_add_name;
    for (auto name = names.begin(); name != names.end();) {
      belay_request* const request = belay_request_new(how_.primitive);
      for (int i = 0; i < how_.together; ++i, ++name) {
        expect_ok(add(request, name->c_str(), -1), "belay_request_add_name");
      }
      if (how_.identity != nullptr) {
        expect_ok(belay_request_set_identity(request, how_.identity, -1),
                  "belay_request_set_identity");
      } else if (how_.primitive == BELAY_SEMAPHORE) {
        expect_ok(belay_request_set_permits(request, 1, kPermits), "belay_request_set_permits");
      }
      expect_ok(belay_submit_acquire(target_.get(), ++tag_, request, 0, -1),
                "belay_submit_acquire");
      belay_request_free(request);
    }
    expect_ok(belay_client_ping(target_.get(), nullptr), "belay_client_ping");
  }

  void take() {
    for (int i = 0; i < kNames; i += how_.together) {
      holds_.push_back(next("an acquire"));
    }
  }

  void acquire(const Names& names) {
    ask(names);
    take();
  }

  void release() {
    for (const std::int64_t hold : holds_) {
      expect_ok(belay_submit_release(target_.get(), ++tag_, hold), "belay_submit_release");
    }
    for (std::size_t left = std::exchange(holds_, {}).size(); left > 0; --left) {
      next("a release");
    }
  }

 private:
  std::int64_t next(const char* what) {
    belay_event* event = belay_next(target_.get(), -1);
    expect_ok(belay_event_status(event), what);
    const std::int64_t hold = belay_event_hold(event);
    belay_event_free(event);
    return hold;
  }

  Target target_;
  const How how_;
  std::int64_t tag_ = 0;
  std::vector<std::int64_t> holds_;
};

// The same on one connection of hiredis.
class FloorCrowd {
 public:
  FloorCrowd(int port, Recipe recipe) : floor_(port, recipe) {}

  void acquire(const Names& names) {
    for (const std::string& name : names) {
      holds_.emplace_back(name, floor_.append_acquire(name));
    }
    for (int i = 0; i < kNames; ++i) {
      floor_.expect_granted();
    }
  }

  void release() {
    for (const auto& [name, claim] : std::exchange(holds_, {})) {
      floor_.append_release(name, claim);
    }
    for (int i = 0; i < kNames; ++i) {
      floor_.expect_released();
    }
  }

 private:
  Floor floor_;
  std::vector<std::pair<std::string, Floor::Claim>> holds_;
};

// A round and a name.
struct Pairs {
  std::string name;
  std::vector<double> acquire_us;
  std::vector<double> release_us;
  std::vector<double> both_us;
};

template <typename Side>
void run_pairs(Server& server, Side& side, Pairs* pairs, const How& how = kAlone) {
  pairs->acquire_us.push_back(usec_per_name(server, [&] { side.acquire(names_of(0, how)); }));
  pairs->release_us.push_back(usec_per_name(server, [&] { side.release(); }));
  pairs->both_us.push_back(pairs->acquire_us.back() + pairs->release_us.back());
}

// Two clients wait for what a third one holds; a hold is a release that hands on, and an acquire
// that queues.
double contended_hold_us(Server& server, const std::vector<Crowd*>& crowds) {
  const Names names = names_of(0);
  crowds[0]->acquire(names);
  crowds[1]->ask(names);
  crowds[2]->ask(names);
  const double us = usec_per_name(server, [&] {
    crowds[0]->release();
    crowds[1]->take();
    crowds[0]->ask(names);
  });
  for (const std::size_t next : {1, 2, 0}) {
    if (next != 1) {
      crowds[next]->take();
    }
    crowds[next]->release();
  }
  return us;
}

// Of very many holds that are renewed together, which is all that happens meanwhile.
double renewal_us(Server& server, const How& how = kAlone) {
  Crowd crowd(server.url() + "?watchdog_lease_ms=1000", how);
  for (int i = 0; i < kManyNames; ++i) {
    crowd.acquire(names_of(i, how));
  }
  std::this_thread::sleep_for(kConfirmed);
  std::map<std::string, CommandStat> before = server.command_stats();
  std::this_thread::sleep_for(kRenewed);
  std::map<std::string, CommandStat> after = server.command_stats();
  const std::int64_t renewals = after[how.renewed_by].calls - before[how.renewed_by].calls;
  crowd.release();
  return static_cast<double>(after["evalsha"].usec - before["evalsha"].usec) /
         static_cast<double>(renewals);
}

void show_pairs(const std::vector<Pairs>& sides, const Report& report) {
  std::vector<Row> rows{{"side", "acquire us", "release us", "both us"}};
  for (const Pairs& side : sides) {
    rows.push_back({side.name, number(percentile(side.acquire_us, 0.5), 2),
                    number(percentile(side.release_us, 0.5), 2),
                    number(percentile(side.both_us, 0.5), 2)});
  }
  report.table(rows);
  for (std::size_t floor = 1; floor < sides.size(); ++floor) {
    report.line("to " + sides[floor].name + ": acquire " +
                show(ratio(sides[0].acquire_us, sides[floor].acquire_us)) + ", release " +
                show(ratio(sides[0].release_us, sides[floor].release_us)));
  }
}

// Several names that are had as one cost no more each than one alone, times this.
void compare_together(const Plan& plan, Report& report) {
  Crowd together(plan.server.url(), kSixteen);
  Crowd alone(plan.server.url());
  std::vector<Pairs> pairs{{kSixteen.what, {}, {}, {}}, {kAlone.what, {}, {}, {}}};
  for (int round = 0; round < plan.rounds; ++round) {
    run_pairs(plan.server, together, &pairs[0], kSixteen);
    run_pairs(plan.server, alone, &pairs[1]);
  }
  show_pairs(pairs, report);
  report.at_most("16 names: acquire and release, a name, to a lock's", "<= 1.5", 1.5, true,
                 ratio(pairs[0].both_us, pairs[1].both_us).median, 2);
}

// What several may hold costs as much as a lock, times this; another client has it already.
void compare_joint(const Plan& plan, double renewal, Report& report) {
  Crowd alone(plan.server.url());
  for (const How& how : kJoint) {
    Crowd other(plan.server.url(), how);
    Crowd crowd(plan.server.url(), how);
    other.acquire(names_of(0, how));
    std::vector<Pairs> pairs{{how.what, {}, {}, {}}, {kAlone.what, {}, {}, {}}};
    for (int round = 0; round < plan.rounds; ++round) {
      run_pairs(plan.server, crowd, &pairs[0], how);
      run_pairs(plan.server, alone, &pairs[1]);
    }
    show_pairs(pairs, report);
    const double ratio_of_renewals = renewal_us(plan.server, how) / renewal;
    report.line(std::string(how.what) +
                ": a renewal to that of a lock: " + number(ratio_of_renewals, 2));
    report.at_most(std::string(how.what) + ": acquire and release, to a lock's", "<= 1.5", 1.5,
                   true, ratio(pairs[0].both_us, pairs[1].both_us).median, 2);
    report.at_most(std::string(how.what) + ": renewal, to a lock's", "<= 1.5", 1.5, true,
                   ratio_of_renewals, 2);
    other.release();
  }
}

}  // namespace

void run_server(const Plan& plan, Report& report) {
  report.begin("server", "us inside the server, a name, of " + std::to_string(kNames) +
                             " that are asked for at once");
  Crowd crowd(plan.server.url());
  Crowd second(plan.server.url());
  Crowd third(plan.server.url());
  FloorCrowd bare(plan.server.port(), Recipe::kBare);
  FloorCrowd fenced(plan.server.port(), Recipe::kFenced);
  std::vector<Pairs> pairs{{"belay", {}, {}, {}}, {"bare", {}, {}, {}}, {"fenced", {}, {}, {}}};
  std::vector<double> contended;
  for (int round = 0; round < plan.rounds; ++round) {
    run_pairs(plan.server, crowd, &pairs[0]);
    run_pairs(plan.server, bare, &pairs[1]);
    run_pairs(plan.server, fenced, &pairs[2]);
    contended.push_back(contended_hold_us(plan.server, {&crowd, &second, &third}));
  }
  show_pairs(pairs, report);
  const double pair = percentile(pairs[0].both_us, 0.5);
  const double renewal = renewal_us(plan.server);
  const double hold = percentile(contended, 0.5);
  report.line(
      "a renewal: " + number(renewal, 2) +
      "; a contended hold (a release that hands on, an acquire that queues): " + number(hold, 2));
  report.at_most("us of an acquire and its release", "<= 10.0", 10, true, pair, 1);
  report.at_most("us of a renewal", "<= 3.5", 3.5, true, renewal, 1);
  report.at_most("us of a contended hold", "<= 25.0", 25, true, hold, 1);
  compare_together(plan, report);
  compare_joint(plan, renewal, report);
}

}  // namespace belay::bench
