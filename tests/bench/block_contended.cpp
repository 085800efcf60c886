// One name and several clients: how long the lock takes from one process to the other, and how many
// commands each hold costs however many wait.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "floor.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr auto kHold = std::chrono::milliseconds(1);

// ---- handoff

constexpr int kProcesses = 2;
constexpr int kSides = 2;
constexpr double kSlices = 4;  // a handoff takes a millisecond's hold: more time a round
constexpr std::size_t kMaxSamples = 1U << 20U;
constexpr std::array<const char*, kSides> kSideNames{"belay", "blpop"};

struct Sample {
  int side;
  int round;
  double us;
};

// In memory that the processes share.
struct Table {
  pthread_barrier_t barrier;
  std::atomic<std::int64_t> released_ns;
  std::atomic<int> holder;  // who held last, -1 in a new slice

  struct {
    std::size_t samples;
    std::array<std::int64_t, kSides> holds;
    std::array<std::int64_t, kSides> changes;
    std::array<Sample, kMaxSamples> sample;
  } process[kProcesses];
};

class SharedTable {
 public:
  SharedTable() {
    void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      give_up("no memory could be shared");
    }
    table_ = static_cast<Table*>(memory);  // zeroed by the system, which is a value of every member
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&table_->barrier, &attributes, kProcesses);
    pthread_barrierattr_destroy(&attributes);
  }

  ~SharedTable() { munmap(table_, sizeof(Table)); }

  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;

  Table* operator->() const { return table_; }

 private:
  Table* table_;
};

// A lock to take turns on.
struct Turns {
  std::function<void()> take;
  std::function<void()> give;
};

void note_taken(const SharedTable& table, int process, int side, int round, std::int64_t asked) {
  const std::int64_t now = now_ns();
  const int before = table->holder.exchange(process);
  const std::int64_t released = table->released_ns;
  auto& mine = table->process[process];
  if (before < 0) {
    return;
  }
  ++mine.holds.at(static_cast<std::size_t>(side));
  if (before == process) {
    return;
  }
  ++mine.changes.at(static_cast<std::size_t>(side));
  // Who came only after the release found the lock free: that is no handoff.
  if (released >= asked && mine.samples < kMaxSamples) {
    mine.sample.at(mine.samples++) = {side, round, static_cast<double>(now - released) / 1e3};
  }
}

void take_turns(const SharedTable& table, const Turns& turns, int process, int side, int round,
                double seconds) {
  pthread_barrier_wait(&table->barrier);
  table->holder = -1;
  pthread_barrier_wait(&table->barrier);
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (true) {
    const std::int64_t asked = now_ns();
    if (asked >= end) {
      break;
    }
    turns.take();
    note_taken(table, process, side, round, asked);
    std::this_thread::sleep_for(kHold);
    table->released_ns = now_ns();
    turns.give();
  }
}

[[noreturn]] void run_process(const Plan& plan, const SharedTable& table, int process) {
  Target target(plan.server.url());
  Plain plain(plan.server.port());
  std::int64_t hold = 0;
  if (process == 0) {
    plain.command({"RPUSH", "handoff:token", "1"});
  }
  const std::array<Turns, kSides> sides{
      Turns{[&] { hold = target.lock("handoff"); }, [&] { target.release(hold); }},
      Turns{[&] {
              plain.command({"BLPOP", "handoff:token", "0"});
            },
            [&] {
              plain.command({"RPUSH", "handoff:token", "1"});
            }}};
  for (int round = 0; round < plan.rounds; ++round) {
    for (int i = 0; i < kSides; ++i) {
      const int side = round % 2 == 0 ? i : kSides - 1 - i;
      const auto at = static_cast<std::size_t>(side);
      if (plan.only.empty() || plan.only == kSideNames.at(at)) {
        take_turns(table, sides.at(at), process, side, round, plan.slice_s * kSlices);
      }
    }
  }
  pthread_barrier_wait(&table->barrier);
  _exit(0);
}

void run_processes(const Plan& plan, const SharedTable& table) {
  const pid_t parent = getpid();
  std::array<pid_t, kProcesses> pids{};
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) {
        run_process(plan, table, process);
      }
      _exit(1);
    }
    pids.at(static_cast<std::size_t>(process)) = pid;
  }
  for (int left = kProcesses; left > 0; --left) {
    int status = 0;
    if (waitpid(-1, &status, 0) < 0 || status != 0) {
      give_up("a process that was to take turns has failed");  // the other dies with us
    }
  }
}

std::vector<double> samples_of(const SharedTable& table, int side, int round) {
  std::vector<double> found;
  for (const auto& process : table->process) {
    for (std::size_t i = 0; i < process.samples; ++i) {
      const Sample& sample = process.sample.at(i);
      if (sample.side == side && (round < 0 || sample.round == round)) {
        found.push_back(sample.us);
      }
    }
  }
  return found;
}

std::vector<double> p50s_of(const SharedTable& table, int side, int rounds) {
  std::vector<double> p50s;
  for (int round = 0; round < rounds; ++round) {
    p50s.push_back(percentile(samples_of(table, side, round), 0.5));
  }
  return p50s;
}

Row handoff_row(const SharedTable& table, int side) {
  const auto at = static_cast<std::size_t>(side);
  std::int64_t holds = 0;
  std::int64_t changes = 0;
  for (const auto& process : table->process) {
    holds += process.holds.at(at);
    changes += process.changes.at(at);
  }
  const std::vector<double> samples = samples_of(table, side, -1);
  return {kSideNames.at(at), number(percentile(samples, 0.5), 1),
          number(percentile(samples, 0.99), 1), std::to_string(holds),
          number(100.0 * static_cast<double>(changes) / static_cast<double>(holds), 1) + " %"};
}

// ---- commands

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
  const SharedTable table;
  run_processes(plan, table);
  report.table({{"side", "p50 us", "p99 us", "holds", "changed process"},
                handoff_row(table, 0),
                handoff_row(table, 1)});
  const Ratio times = ratio(p50s_of(table, 0, plan.rounds), p50s_of(table, 1, plan.rounds));
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
