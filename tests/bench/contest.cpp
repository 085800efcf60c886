#include "contest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace belay::bench {

namespace {

constexpr double kCountS = 3;  // how long commands are counted
constexpr double kQuickCountS = 1;
constexpr auto kLook = std::chrono::milliseconds(20);

// How many OS threads a process has, the most of it, looked at often until destroyed.
class ThreadCount {
 public:
  explicit ThreadCount(pid_t process, int* most)
      : looks_([this, process, most] {
          while (!ended_) {
            *most = std::max(*most, count(process));
            std::this_thread::sleep_for(kLook);
          }
        }) {}

  ~ThreadCount() {
    ended_ = true;
    looks_.join();
  }

  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  static int count(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Threads:")) {
        return std::atoi(line.c_str() + sizeof "Threads:");
      }
    }
    return 0;
  }

  std::atomic<bool> ended_{false};
  std::thread looks_;
};

}  // namespace

Contest::Contest(const Plan& plan, const std::string& url, const std::string& workload)
    : plan_(plan), peers_(plan, url, workload), sides_(peers_.sides()) {}

void Contest::count_threads() {
  for (Side& side : sides_) {
    side.run = [run = side.run, process = side.processes.front(),
                most = &threads_[side.name]](double seconds) {
      const ThreadCount count(process, most);
      return run(seconds);
    };
  }
}

std::vector<Measured> Contest::compare() const {
  return bench::compare(plan_, sides_);
}

void Contest::fill(const std::string& column, const std::vector<Measured>& measured,
                   const Figure& figure, Report* report) const {
  for (const Measured& side : measured) {
    const auto [value, text] = figure(side);
    report->overview().set(side.name, column, value, text);
  }
  for (const Peers::Absence& absence : peers_.absent()) {
    report->overview().leave_out(absence.name, column, absence.why);
  }
}

void Contest::count_commands(const std::string& column, const std::vector<Measured>& measured,
                             Report* report) const {
  const double seconds = plan_.quick ? kQuickCountS : kCountS;
  const Figure per_hold = [&](const Measured& side) {
    const auto at = std::find_if(sides_.begin(), sides_.end(), [&side](const Side& candidate) {
      return candidate.name == side.name;
    });
    std::int64_t holds = 0;
    const std::int64_t commands =
        plan_.server.count_commands([&] { holds = at->run(seconds).count; });
    const double value = static_cast<double>(commands) / static_cast<double>(holds);
    return std::pair(value, number(value, 2));
  };
  fill(column, measured, per_hold, report);
}

}  // namespace belay::bench
