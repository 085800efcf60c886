#include "handoff.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "floor.h"
#include "target.h"

namespace belay::bench {

namespace {

constexpr auto kHold = std::chrono::milliseconds(1);
constexpr int kProcesses = 2;
constexpr int kMaxSides = 4;
constexpr double kSlices = 4;  // a handoff takes a millisecond's hold: more time a round
constexpr std::size_t kMaxSamples = 1U << 20U;

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
    std::array<std::int64_t, kMaxSides> holds;
    std::array<std::int64_t, kMaxSides> changes;
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

[[noreturn]] void run_process(const Plan& plan, const std::vector<Contender>& contenders,
                              const SharedTable& table, int process) {
  std::vector<Turns> turns;
  for (const Contender& contender : contenders) {
    turns.push_back(contender.connect(process));
  }
  const int sides = static_cast<int>(contenders.size());
  for (int round = 0; round < plan.rounds; ++round) {
    for (int i = 0; i < sides; ++i) {
      const int side = round % 2 == 0 ? i : sides - 1 - i;
      const auto at = static_cast<std::size_t>(side);
      if (plan.only.empty() || plan.only == contenders.at(at).name) {
        take_turns(table, turns.at(at), process, side, round, plan.slice_s * kSlices);
      }
    }
  }
  pthread_barrier_wait(&table->barrier);
  _exit(0);
}

void run_processes(const Plan& plan, const std::vector<Contender>& contenders,
                   const SharedTable& table) {
  const pid_t parent = getpid();
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) {
        run_process(plan, contenders, table, process);
      }
      _exit(1);
    }
  }
  for (int left = kProcesses; left > 0; --left) {
    int status = 0;
    if (waitpid(-1, &status, 0) < 0 || status != 0) {
      give_up("a process that was to take turns has failed");  // the other dies with us
    }
  }
}

HandedOver handed_over(const SharedTable& table, const std::string& name, int side, int rounds) {
  const auto at = static_cast<std::size_t>(side);
  HandedOver handed{name};
  std::vector<std::vector<double>> by_round(static_cast<std::size_t>(rounds));
  for (const auto& process : table->process) {
    handed.holds += process.holds.at(at);
    handed.changes += process.changes.at(at);
    for (std::size_t i = 0; i < process.samples; ++i) {
      const Sample& sample = process.sample.at(i);
      if (sample.side == side) {
        handed.latencies_us.push_back(sample.us);
        by_round.at(static_cast<std::size_t>(sample.round)).push_back(sample.us);
      }
    }
  }
  for (const std::vector<double>& of_round : by_round) {
    handed.p50s_us.push_back(percentile(of_round, 0.5));
  }
  return handed;
}

const HandedOver* find(const std::vector<HandedOver>& sides, const std::string& name) {
  for (const HandedOver& side : sides) {
    if (side.name == name) {
      return &side;
    }
  }
  return nullptr;
}

}  // namespace

Contender belay_turns(const std::string& name, const std::string& url) {
  return {name, [url](int) {
            auto target = std::make_shared<Target>(url);  // shared: a std::function is copied
            auto hold = std::make_shared<std::int64_t>();
            return Turns{[target, hold] { *hold = target->lock("handoff"); },
                         [target, hold] { target->release(*hold); }};
          }};
}

Contender blpop_turns(const std::string& name, int port) {
  return {name, [port](int process) {
            auto plain = std::make_shared<Plain>(port);
            if (process == 0) {
              plain->command({"DEL", "handoff:token"});  // of an earlier block
              plain->command({"RPUSH", "handoff:token", "1"});
            }
            return Turns{[plain] {
                           plain->command({"BLPOP", "handoff:token", "0"});
                         },
                         [plain] {
                           plain->command({"RPUSH", "handoff:token", "1"});
                         }};
          }};
}

std::vector<HandedOver> hand_over(const Plan& plan, const std::vector<Contender>& contenders) {
  const SharedTable table;
  run_processes(plan, contenders, table);
  std::vector<HandedOver> sides;
  for (std::size_t side = 0; side < contenders.size(); ++side) {
    sides.push_back(handed_over(table, contenders[side].name, static_cast<int>(side), plan.rounds));
  }
  return sides;
}

std::vector<Row> handoff_rows(const std::vector<HandedOver>& sides) {
  std::vector<Row> rows{{"side", "p50 us", "p99 us", "holds", "changed process"}};
  for (const HandedOver& side : sides) {
    const double part = static_cast<double>(side.changes) / static_cast<double>(side.holds);
    rows.push_back({side.name, number(percentile(side.latencies_us, 0.5), 1),
                    number(percentile(side.latencies_us, 0.99), 1), std::to_string(side.holds),
                    number(100.0 * part, 1) + " %"});
  }
  return rows;
}

Ratio handoff_ratio(const std::vector<HandedOver>& sides, const std::string& ours,
                    const std::string& theirs) {
  const HandedOver* first = find(sides, ours);
  const HandedOver* second = find(sides, theirs);
  return first == nullptr || second == nullptr ? Ratio() : ratio(first->p50s_us, second->p50s_us);
}

}  // namespace belay::bench
