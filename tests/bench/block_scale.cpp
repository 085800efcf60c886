// Very many holds of one client and what may strike all of them at once: how long until the last is
// told that it is lost, or has been asked about anew; and how long a call takes meanwhile that asks
// the server for nothing. Ten times the holds are to cost about ten times as much.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr std::int64_t kLeaseMs = 60'000;
constexpr std::int64_t kFlights = 1000;
constexpr double kMostTimes = 15;  // of ten times the holds
constexpr double kGiveUpS = 300;
constexpr auto kPause = std::chrono::microseconds(200);

struct Fault {
  const char* name;
  void (*strike)(Server& server);
  bool loses;
};

constexpr const char* kDeleteRecords =
    "local cursor = '0' "
    "repeat "
    "  local found = redis.call('SCAN', cursor, 'MATCH', 'belay:r:*', 'COUNT', 1000) "
    "  cursor = found[1] "
    "  for _, key in ipairs(found[2]) do redis.call('DEL', key) end "
    "until cursor == '0'";

constexpr std::array<Fault, 5> kFaults{
    {{"flush", [](Server& server) { server.tell({"FLUSHALL"}); }, true},
     {"delete",
      [](Server& server) {
        server.tell({"EVAL", kDeleteRecords, "0"});
      },
      true},
     {"restart empty", [](Server& server) { server.restart(false); }, true},
     {"restart", [](Server& server) { server.restart(true); }, false},
     {"cut",
      [](Server& server) {
        server.tell({"CLIENT", "KILL", "SKIPME", "yes"});
      },
      false}}};

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(now_ns() - start_ns) / 1e9;
}

// A client and its holds.
class Holder {
 public:
  Holder(const std::string& url, std::int64_t count);

  ~Holder() { belay_client_free(client_); }

  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Until each hold is told to be lost.
  void await_losses();
  // Until each hold is vouched for by an answer to what was asked after `fault_ns`.
  void await_checks(std::int64_t fault_ns);

  [[nodiscard]] belay_client* client() const { return client_; }

  [[nodiscard]] std::int64_t any() const { return holds_.front(); }

 private:
  void submit(std::int64_t number);
  belay_event* next();

  belay_client* client_ = nullptr;
  std::vector<std::int64_t> holds_;
};

Holder::Holder(const std::string& url, std::int64_t count) {
  belay_options* options = belay_options_new();
  expect_ok(belay_options_set_url(options, url.c_str()), "belay_options_set_url");
  expect_ok(belay_options_set_watchdog_lease_ms(options, kLeaseMs),
            "belay_options_set_watchdog_lease_ms");
  client_ = belay_client_new(options);
  belay_options_free(options);
  if (client_ == nullptr) {
    give_up("belay_client_new failed");
  }
  std::int64_t asked = 0;
  while (static_cast<std::int64_t>(holds_.size()) < count) {
    while (asked < count && asked - static_cast<std::int64_t>(holds_.size()) < kFlights) {
      submit(++asked);
    }
    belay_event* event = next();
    expect_ok(belay_event_status(event), "belay_submit_acquire");
    holds_.push_back(belay_event_hold(event));
    belay_event_free(event);
  }
}

void Holder::submit(std::int64_t number) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, name_of("scale", number).c_str(), -1);
  belay_request_set_notify(request, 1);
  expect_ok(belay_submit_acquire(client_, number, request, 0, -1), "belay_submit_acquire");
  belay_request_free(request);
}

belay_event* Holder::next() {
  belay_event* event = belay_next(client_, static_cast<std::int64_t>(kGiveUpS * 1e3));
  if (event == nullptr) {
    give_up("no event came for " + number(kGiveUpS, 0) + " s");
  }
  return event;
}

void Holder::await_losses() {
  for (std::size_t lost = 0; lost < holds_.size();) {
    belay_event* event = next();
    lost += belay_event_kind(event) == BELAY_EVENT_LOST ? 1 : 0;
    belay_event_free(event);
  }
}

void Holder::await_checks(std::int64_t fault_ns) {
  const double vouched_ms = static_cast<double>(kLeaseMs) * 0.99 - 15;
  for (const std::int64_t hold : holds_) {
    while (static_cast<double>(belay_hold_remaining_ms(client_, hold)) <
           vouched_ms - seconds_since(fault_ns) * 1e3) {
      if (seconds_since(fault_ns) > kGiveUpS ||
          belay_hold_state(client_, hold) != BELAY_HOLD_HELD) {
        give_up("a hold was not asked about anew");
      }
      std::this_thread::sleep_for(kPause);
    }
  }
}

struct Cost {
  double seconds = 0;
  double longest_call_ms = 0;
};

Cost measure(const std::string& program, const Fault& fault, std::int64_t count) {
  Server server(program);
  Holder holder(server.url(), count);
  std::atomic<bool> ended{false};
  Cost cost;
  std::thread caller([&] {
    while (!ended) {
      const std::int64_t start = now_ns();
      belay_hold_state(holder.client(), holder.any());
      cost.longest_call_ms = std::max(cost.longest_call_ms, seconds_since(start) * 1e3);
      std::this_thread::sleep_for(kPause);
    }
  });
  holder.await_checks(now_ns());  // its first renewal, from which on it is watched
  const std::int64_t start = now_ns();
  fault.strike(server);
  if (fault.loses) {
    holder.await_losses();
  } else {
    holder.await_checks(start);
  }
  cost.seconds = seconds_since(start);
  ended = true;
  caller.join();
  return cost;
}

}  // namespace

void run_scale(const Plan& plan, Report& report) {
  const std::int64_t few = plan.quick ? 2000 : 10'000;
  const std::int64_t many = 10 * few;
  report.begin("scale", std::to_string(few) + " and " + std::to_string(many) +
                            " holds of one client that are struck at once");
  std::vector<Row> rows{{"fault", "holds", "all told s", "longest local call ms"}};
  for (const Fault& fault : kFaults) {
    if (!plan.only.empty() && plan.only != fault.name) {
      continue;
    }
    const Cost small = measure(plan.server.program(), fault, few);
    const Cost large = measure(plan.server.program(), fault, many);
    for (const auto& [count, cost] : {std::pair(few, small), std::pair(many, large)}) {
      rows.push_back({fault.name, std::to_string(count), number(cost.seconds, 2),
                      number(cost.longest_call_ms, 1)});
    }
    report.at_most(std::string(fault.name) + ": ten times the holds, time", "<= 15", kMostTimes,
                   true, large.seconds / small.seconds, 1);
    report.at_most(std::string(fault.name) + ": ten times the holds, longest call", "<= 15",
                   kMostTimes, true, large.longest_call_ms / small.longest_call_ms, 1);
  }
  report.table(rows);
}

}  // namespace belay::bench
