// One name and several clients: how long the lock takes from one process to the other, and how many
// commands each hold costs however many wait.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "handoff.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr auto kHold = std::chrono::milliseconds(1);

constexpr double kMaxCommands = 2.2;
constexpr auto kQueueLimit = std::chrono::seconds(60);

// What Belay's scripts call. Everything else comes from clients, and so does the script call
// itself.
bool is_inside_scripts(const std::string& command) {
  static const std::set<std::string> kCommands{
      "get",   "set",    "setrange", "del",    "exists",  "pexpire",  "hget",
      "hmget", "hlen",   "hset",     "hdel",   "zadd",    "zrange",   "zrem",
      "zcard", "zscore", "time",     "zcount", "publish", "zrevrange"};
  return kCommands.contains(command);
}

struct Spent {
  std::int64_t by_clients = 0;
  std::int64_t in_scripts = 0;
  std::int64_t script_us = 0;
};

Spent spent(Server& server) {
  Spent sum;
  std::int64_t scripts = 0;
  std::int64_t times = 0;
  for (const auto& [command, stat] : server.command_stats()) {
    const bool inside = is_inside_scripts(command);
    const bool script = command == "evalsha" || command == "eval";
    (inside ? sum.in_scripts : sum.by_clients) += stat.calls;
    scripts += script ? stat.calls : 0;
    sum.script_us += script ? stat.usec : 0;
    times += command == "time" ? stat.calls : 0;
  }
  // Each script asks for the time once: what is beyond that was asked by clients.
  const std::int64_t asked = std::max<std::int64_t>(0, times - scripts);
  return {sum.by_clients + asked, sum.in_scripts - asked, sum.script_us};
}

// Clients that take turns on one name, a thread each, until destroyed.
class Crowd {
 public:
  Crowd(const std::string& url, const std::string& name, int size)
      : held_(static_cast<std::size_t>(size)) {
    for (int i = 0; i < size; ++i) {
      clients_.push_back(std::make_unique<Target>(url));
    }
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      threads_.emplace_back([this, name, i] { work(*clients_[i], name, held_[i]); });
    }
  }

  ~Crowd() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Waits until each has had its turn, so that all wait.
  void settle() const {
    const auto limit = std::chrono::steady_clock::now() + kQueueLimit;
    while (std::any_of(held_.begin(), held_.end(), [](const auto& held) { return held == 0; })) {
      if (std::chrono::steady_clock::now() > limit) {
        give_up("a client waited for a minute");
      }
      std::this_thread::sleep_for(kHold);
    }
  }

  std::int64_t holds() const {
    std::int64_t sum = 0;
    for (const auto& held : held_) {
      sum += held;
    }
    return sum;
  }

 private:
  void work(Target& target, const std::string& name, std::atomic<std::int64_t>& held) const {
    while (!stop_) {
      const std::int64_t hold = target.lock(name.c_str());
      std::this_thread::sleep_for(kHold);
      ++held;
      target.release(hold);
    }
  }

  std::atomic<bool> stop_{false};
  std::vector<std::atomic<std::int64_t>> held_;
  std::vector<std::unique_ptr<Target>> clients_;
  std::vector<std::thread> threads_;
};

struct CommandFigures {
  double by_clients = 0;
  double in_scripts = 0;
  double script_us = 0;
  double rate = 0;
};

CommandFigures count_commands(const Plan& plan, int size) {
  const double seconds = plan.quick ? 1 : 5;
  const Crowd crowd(plan.server.url(), name_of("commands", size), size);
  crowd.settle();
  const std::int64_t held_before = crowd.holds();
  const Spent before = spent(plan.server);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Spent after = spent(plan.server);
  const auto holds = static_cast<double>(crowd.holds() - held_before);
  constexpr std::int64_t kOurOwn = 1;  // the INFO that the second look counts
  return {static_cast<double>(after.by_clients - before.by_clients - kOurOwn) / holds,
          static_cast<double>(after.in_scripts - before.in_scripts) / holds,
          static_cast<double>(after.script_us - before.script_us) / holds, holds / seconds};
}

}  // namespace

void run_handoff(const Plan& plan, Report& report) {
  report.begin("handoff",
               "two processes take turns with holds of 1 ms, beside a token handed over by BLPOP");
  const std::vector<HandedOver> sides = hand_over(
      plan, {belay_turns("belay", plan.server.url()), blpop_turns("blpop", plan.server.port())});
  report.table(handoff_rows(sides));
  const Ratio times = handoff_ratio(sides, "belay", "blpop");
  report.line("p50 to BLPOP: " + show(times));
  report.at_most("p50, times BLPOP", "<= 2.00", 2.0, times.known, times.median, 2);
}

void run_commands(const Plan& plan, Report& report) {
  report.begin("commands", "clients take turns on one name with holds of 1 ms");
  std::vector<Row> rows{{"clients", "client commands/hold", "commands in scripts/hold",
                         "us in scripts/hold", "holds/s"}};
  double most = 0;
  for (const int size : {2, 10, 100}) {
    const CommandFigures figures = count_commands(plan, size);
    most = std::max(most, figures.by_clients);
    rows.push_back({std::to_string(size), number(figures.by_clients, 2),
                    number(figures.in_scripts, 1), number(figures.script_us, 0),
                    number(figures.rate, 0)});
  }
  report.table(rows);
  report.at_most("client commands a hold, the most", "<= 2.20", kMaxCommands, true, most, 2);
}

}  // namespace belay::bench
