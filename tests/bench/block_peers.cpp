// Belay's bindings and the lock libraries of others beside blocking calls of C, in one run. The
// programs come by --peer, and their names decide the aims: a binding is compared to C, a library
// to the binding in its language.
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "crew.h"
#include "peer.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr const char* kC = "c";
constexpr int kThreads = 16;
constexpr int kWaiters = 10'000;
constexpr double kLongSlices = 4;  // what is slow has more time per round
constexpr auto kHold = std::chrono::milliseconds(1);
constexpr auto kGather = std::chrono::milliseconds(500);  // until then all waiters stand in line

struct Binding {
  const char* name;
  double most;  // p50 of a pair, times that of C
  const char* aim;
};

constexpr std::array<Binding, 4> kBindings{{{"go", 1.2, "<= 1.20"},
                                            {"java", 1.15, "<= 1.15"},
                                            {"lua", 1.1, "<= 1.10"},
                                            {"luajit", 1.1, "<= 1.10"}}};

struct Library {
  const char* name;
  const char* binding;  // of the same language
};

constexpr std::array<Library, 4> kLibraries{
    {{"redisson", "java"}, {"redsync", "go"}, {"redislock", "go"}, {"rueidislock", "go"}}};

// C and all peers that have the workload.
std::vector<Measured> compare_all(const Plan& plan, const std::string& workload,
                                  const std::function<Slice(double seconds)>& c) {
  const Peers peers(plan, workload);
  std::vector<Side> sides{{kC, c}};
  peers.add_to(&sides);
  return compare(plan, sides);
}

Plan stretched(const Plan& plan) {
  Plan longer = plan;
  longer.slice_s *= kLongSlices;
  return longer;
}

using Compare = Ratio (*)(const std::vector<Measured>& measured, const std::string& first,
                          const std::string& second);

// Each binding to C, without an aim.
void show_bindings(const std::vector<Measured>& measured, Compare compare, const char* what,
                   const Report& report) {
  for (const Binding& binding : kBindings) {
    const Ratio to_c = compare(measured, binding.name, kC);
    if (to_c.known) {
      report.line(std::string(what) + " of " + binding.name + " to c: " + show(to_c));
    }
  }
}

// Each library to our binding: its time, or our rate.
void judge_libraries(const std::vector<Measured>& measured, bool by_rate, Report* report) {
  for (const Library& library : kLibraries) {
    const char* ours = find(measured, library.binding) == nullptr ? kC : library.binding;
    const Ratio times = by_rate ? rate_ratio(measured, ours, library.name)
                                : latency_ratio(measured, library.name, ours);
    if (times.known) {
      const std::string what =
          by_rate ? std::string("rate of ") + ours + ", times that of " + library.name
                  : std::string("p50 of ") + library.name + ", times that of " + ours;
      report->line(what + ": " + show(times));
      report->at_least(what, ">= 1.00", 1, true, times.median, 2);
    }
  }
}

// Two clients on one name. Who has released asks again when the other has the lock.
class Turns {
 public:
  explicit Turns(const std::string& url) : first_(url), second_(url) {}

  Slice run(double seconds) {
    const std::int64_t began = now_ns();
    end_ns_ = began + static_cast<std::int64_t>(seconds * 1e9);
    released_ns_ = 0;
    Slice slice;
    std::vector<double> others;
    std::thread other([&] { take_turns(second_, &others); });
    take_turns(first_, &slice.latencies_us);
    other.join();
    slice.latencies_us.insert(slice.latencies_us.end(), others.begin(), others.end());
    slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
    slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
    return slice;
  }

 private:
  void take_turns(Target& target, std::vector<double>* latencies_us) {
    for (std::int64_t asked = now_ns(); asked < end_ns_; asked = now_ns()) {
      const std::int64_t hold = target.lock("turns");
      // Who came only after the release found the lock free: that is no handoff.
      if (released_ns_ >= asked) {
        latencies_us->push_back(static_cast<double>(now_ns() - released_ns_) / 1e3);
      }
      const int turn = next_turn();
      std::this_thread::sleep_for(kHold);
      released_ns_ = now_ns();
      target.release(hold);
      turns_.wait(turn);
    }
    next_turn();  // nobody waits for who has gone
  }

  int next_turn() {
    const int turn = turns_.fetch_add(1) + 1;
    turns_.notify_all();
    return turn;
  }

  Target first_;
  Target second_;
  std::int64_t end_ns_ = 0;
  std::atomic<std::int64_t> released_ns_{0};
  std::atomic<int> turns_{0};
};

// Very many submissions on one name that is held, and how long after its release each has it. Ends
// when each has had it, or the time is over.
Slice serve_waiters(Target& target, double seconds) {
  Request request("waiters");
  const std::int64_t first = target.acquire(request);
  for (int waiter = 1; waiter <= kWaiters; ++waiter) {
    expect_ok(belay_submit_acquire(target.get(), waiter, request.get(), 0,
                                   static_cast<std::int64_t>(seconds * 1e3)),
              "belay_submit_acquire");
  }
  std::this_thread::sleep_for(kGather);
  Slice slice;
  const std::int64_t began = now_ns();
  target.release(first);
  for (int left = kWaiters; left > 0; --left) {
    belay_event* event = belay_next(target.get(), -1);
    if (belay_event_status(event) == BELAY_OK) {
      slice.latencies_us.push_back(static_cast<double>(now_ns() - began) / 1e3);
      target.release_nowait(belay_event_hold(event));
    }
    belay_event_free(event);
  }
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
  return slice;
}

}  // namespace

void run_peers_pair(const Plan& plan, Report& report) {
  report.begin("peers_pair", "acquire and release, one thread, distinct names");
  Target target(plan.server.url());
  std::int64_t count = 0;
  const std::vector<Measured> measured = compare_all(plan, "pair", [&](double seconds) {
    return run_alone(seconds, [&] { target.release(target.lock(name_of("c", ++count).c_str())); });
  });
  report.sides(measured, "pair");
  for (const Binding& binding : kBindings) {
    const Ratio to_c = latency_ratio(measured, binding.name, kC);
    if (to_c.known) {
      const std::string what = std::string("p50 of ") + binding.name + ", times that of c";
      report.line(what + ": " + show(to_c));
      report.at_most(what, binding.aim, binding.most, true, to_c.median, 2);
    }
  }
  judge_libraries(measured, false, &report);
}

void run_peers_shared16(const Plan& plan, Report& report) {
  report.begin("peers_shared16", "16 threads, goroutines or coroutines of one client on one name");
  Target target(plan.server.url());
  Crew crew(kThreads, [&](int) { target.release(target.lock("shared16")); });
  const Plan longer = stretched(plan);
  const std::vector<Measured> measured =
      compare_all(longer, "shared16", [&](double seconds) { return crew.run(seconds); });
  report.sides(measured, "hold");
  show_bindings(measured, rate_ratio, "rate", report);
  judge_libraries(measured, true, &report);
}

void run_peers_handoff(const Plan& plan, Report& report) {
  report.begin("peers_handoff", "two clients of one process take turns with holds of 1 ms");
  Turns turns(plan.server.url());
  const Plan longer = stretched(plan);
  const std::vector<Measured> measured =
      compare_all(longer, "handoff", [&](double seconds) { return turns.run(seconds); });
  report.sides(measured, "handoff");
  show_bindings(measured, latency_ratio, "p50", report);
  judge_libraries(measured, false, &report);
}

void run_peers_waiters10000(const Plan& plan, Report& report) {
  const double limit_s = plan.quick ? 10 : 60;
  report.begin("peers_waiters10000",
               "10 000 of one client wait on one name; C's are submissions; once, for " +
                   number(limit_s, 0) + " s at most");
  Target target(plan.server.url());
  Plan once = plan;
  once.rounds = 1;
  once.slice_s = limit_s;
  const std::vector<Measured> measured = compare_all(
      once, "waiters10000", [&](double seconds) { return serve_waiters(target, seconds); });
  std::vector<Row> rows{{"side", "had it", "the last after s", "client CPU s", "server CPU s"}};
  for (const Measured& side : measured) {
    rows.push_back({side.name, std::to_string(side.count),
                    number(percentile(side.latencies_us, 1) / 1e6, 2),
                    number(static_cast<double>(side.client_cpu_ns) / 1e9, 2),
                    number(static_cast<double>(side.server_cpu_ns) / 1e9, 2)});
  }
  report.table(rows);
  judge_libraries(measured, true, &report);
}

}  // namespace belay::bench
