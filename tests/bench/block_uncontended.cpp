// Distinct names: what an acquire and its release cost when nobody else wants the lock. One thread,
// 64 threads, 64 submissions in flight from one thread, and 16 names in one hold.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "blocks.h"
#include "crew.h"
#include "floor.h"
#include "pairs.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr int kThreads = 64;
constexpr int kInFlight = 64;
constexpr int kNames = 16;

// The release is on its way when the next pair begins.
Side nowait_pair(Target& target, std::int64_t& count) {
  return {"nowait", [&target, &count](double seconds) {
            return run_alone(seconds, [&] {
              target.release_nowait(target.lock(name_of("pair", ++count).c_str()));
            });
          }};
}

std::int64_t taken(belay_event* event, const char* what) {
  expect_ok(belay_event_status(event), what);
  const std::int64_t hold = belay_event_hold(event);
  belay_event_free(event);
  return hold;
}

// Submitted and waited for in one call.
Side within_pair(Target& target, std::int64_t& count) {
  return {"within", [&target, &count](double seconds) {
            return run_alone(seconds, [&] {
              Request request(name_of("pair", ++count).c_str());
              const std::int64_t hold =
                  taken(belay_acquire_within(target.get(), 1, request.get(), 0, -1, -1),
                        "belay_acquire_within");
              taken(belay_release_within(target.get(), 1, hold, -1), "belay_release_within");
            });
          }};
}

// 64 submissions of Belay in flight, from one thread.
class BelayFlight {
 public:
  explicit BelayFlight(Target& target) : client_(target.get()) {}

  Slice run(double seconds) {
    Slice slice;
    const std::int64_t began = now_ns();
    const std::int64_t end = began + static_cast<std::int64_t>(seconds * 1e9);
    for (int lane = 0; lane < kInFlight; ++lane) {
      acquire(lane, began);
    }
    for (int flying = kInFlight; flying > 0;) {
      const int lane = take_event();
      if (lane < 0) {
        continue;
      }
      const std::int64_t now = now_ns();
      slice.latencies_us.push_back(static_cast<double>(now - began_ns_[at(lane)]) / 1e3);
      if (now < end) {
        acquire(lane, now);
      } else {
        --flying;
      }
    }
    slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
    slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
    return slice;
  }

 private:
  static std::size_t at(int lane) { return static_cast<std::size_t>(lane); }

  void acquire(int lane, std::int64_t now) {
    began_ns_[at(lane)] = now;
    Request request(name_of("flight", ++count_).c_str());
    expect_ok(belay_submit_acquire(client_, lane + 1, request.get(), 0, -1),
              "belay_submit_acquire");
  }

  // The lane whose pair is complete; -1 where it is only half of it.
  int take_event() {
    belay_event* event = belay_next(client_, -1);
    expect_ok(belay_event_status(event), "a submission");
    const std::int64_t tag = belay_event_tag(event);
    const bool acquired = belay_event_kind(event) == BELAY_EVENT_ACQUIRED;
    const std::int64_t hold = belay_event_hold(event);
    belay_event_free(event);
    if (acquired) {
      expect_ok(belay_submit_release(client_, tag, hold), "belay_submit_release");
      return -1;
    }
    return static_cast<int>(tag) - 1;
  }

  belay_client* client_;
  std::array<std::int64_t, kInFlight> began_ns_{};
  std::int64_t count_ = 0;
};

// The same on one connection of hiredis. Replies come in the order of the commands, and hiredis
// writes what has gathered whenever it has no reply left to give.
class FloorFlight {
 public:
  explicit FloorFlight(int port) : floor_(port, Recipe::kFenced) {}

  Slice run(double seconds) {
    Slice slice;
    const std::int64_t began = now_ns();
    const std::int64_t end = began + static_cast<std::int64_t>(seconds * 1e9);
    std::array<Lane, kInFlight> lanes;
    for (Lane& lane : lanes) {
      acquire(&lane, began);
    }
    for (int flying = kInFlight; flying > 0;) {
      for (Lane& lane : lanes) {
        if (lane.state == State::kAcquiring) {
          floor_.expect_granted();
          floor_.append_release(lane.name, lane.claim);
          lane.state = State::kReleasing;
        } else if (lane.state == State::kReleasing) {
          floor_.expect_released();
          const std::int64_t now = now_ns();
          slice.latencies_us.push_back(static_cast<double>(now - lane.began_ns) / 1e3);
          lane.state = State::kIdle;
          if (now < end) {
            acquire(&lane, now);
          } else {
            --flying;
          }
        }
      }
    }
    slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
    slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
    return slice;
  }

 private:
  enum class State : std::uint8_t { kIdle, kAcquiring, kReleasing };

  struct Lane {
    State state = State::kIdle;
    std::string name;
    Floor::Claim claim{};
    std::int64_t began_ns = 0;
  };

  void acquire(Lane* lane, std::int64_t now) {
    lane->name = name_of("flight", ++count_);
    lane->claim = floor_.append_acquire(lane->name);
    lane->state = State::kAcquiring;
    lane->began_ns = now;
  }

  Floor floor_;
  std::int64_t count_ = 0;
};

}  // namespace

void run_pair(const Plan& plan, Report& report) {
  report.begin("pair", "acquire and release, one blocking thread, distinct names");
  Target target(plan.server.url());
  Floor bare(plan.server.port(), Recipe::kBare);
  Floor fenced(plan.server.port(), Recipe::kFenced);
  std::int64_t count = 0;
  const std::vector<Measured> measured =
      compare(plan, {belay_pairs("belay", target, count), nowait_pair(target, count),
                     within_pair(target, count), plain_pairs("bare", bare, count),
                     plain_pairs("fenced", fenced, count)});
  report.sides(measured, "pair");
  const Ratio to_fenced = latency_ratio(measured, "belay", "fenced");
  report.line("p50 to bare: " + show(latency_ratio(measured, "belay", "bare")));
  report.line("p50 to fenced: " + show(to_fenced));
  report.at_most("p50, times fenced", "<= 1.25", 1.25, to_fenced.known, to_fenced.median, 2);
  const Ratio nowait = latency_ratio(measured, "nowait", "fenced");
  report.line("p50 without waiting for the release to fenced: " + show(nowait));
  report.at_most("p50 without waiting, times fenced", "<= 0.80", 0.8, nowait.known, nowait.median,
                 2);
  const Ratio within = latency_ratio(measured, "within", "belay");
  report.line("p50 of submissions waited for to blocking calls: " + show(within));
  report.at_most("p50 of submissions waited for, times blocking", "<= 1.05", 1.05, within.known,
                 within.median, 2);
}

void run_threads64(const Plan& plan, Report& report) {
  report.begin("threads64", "64 threads of one client, beside 64 threads with a connection each");
  Target target(plan.server.url());
  std::array<std::int64_t, kThreads> counts{};
  const auto next_name = [&counts](int member) {
    const std::int64_t count = ++counts[static_cast<std::size_t>(member)];
    return name_of("threads", count * kThreads + member);
  };
  std::vector<std::unique_ptr<Floor>> floors;
  for (int member = 0; member < kThreads; ++member) {
    floors.push_back(std::make_unique<Floor>(plan.server.port(), Recipe::kFenced));
  }
  Crew ours(kThreads, [&](int member) { target.release(target.lock(next_name(member).c_str())); });
  Crew theirs(kThreads, [&](int member) {
    const std::string name = next_name(member);
    Floor& floor = *floors[static_cast<std::size_t>(member)];
    floor.release(name, floor.acquire(name));
  });
  const std::vector<Measured> measured =
      compare(plan, {{"belay", [&](double seconds) { return ours.run(seconds); }},
                     {"fenced", [&](double seconds) { return theirs.run(seconds); }}});
  report.sides(measured, "pair");
  const Ratio rate = rate_ratio(measured, "belay", "fenced");
  report.line("rate to 64 fenced connections: " + show(rate));
  report.at_least("rate, times 64 fenced connections", ">= 1.20", 1.2, rate.known, rate.median, 2);
}

void run_flight64(const Plan& plan, Report& report) {
  report.begin("flight64", "64 submissions in flight, beside 64 pipelined on one connection");
  Target target(plan.server.url());
  BelayFlight ours(target);
  FloorFlight theirs(plan.server.port());
  const std::vector<Measured> measured =
      compare(plan, {{"belay", [&](double seconds) { return ours.run(seconds); }},
                     {"fenced", [&](double seconds) { return theirs.run(seconds); }}});
  report.sides(measured, "pair");
  const Ratio rate = rate_ratio(measured, "belay", "fenced");
  report.line("rate to fenced pipelined: " + show(rate));
  report.at_least("rate, times fenced pipelined", ">= 0.85", 0.85, rate.known, rate.median, 2);
}

void run_names16(const Plan& plan, Report& report) {
  report.begin("names16", "16 names in one hold, beside one name and a PING");
  Target target(plan.server.url());
  Floor floor(plan.server.port(), Recipe::kBare);
  std::int64_t count = 0;
  const std::vector<Side> sides{names_pairs("sixteen", kNames, target, count),
                                names_pairs("one", 1, target, count),
                                {"ping", [&floor](double seconds) {
                                   return run_alone(seconds, [&floor] { floor.ping(); });
                                 }}};
  const std::vector<Measured> measured = compare(plan, sides);
  report.sides(measured, "hold");
  const Ratio to_one = latency_ratio(measured, "sixteen", "one");
  report.line("p50 to one: " + show(to_one));
  report.at_most("p50, times one name", "<= 8.00", 8, to_one.known, to_one.median, 2);
  const Ratio to_ping = latency_ratio(measured, "sixteen", "ping");
  report.line("p50 to a PING: " + show(to_ping));
  report.at_most("p50, times a PING", "<= 10.00", 10, to_ping.known, to_ping.median, 2);
}

}  // namespace belay::bench
