// Belay from C, as a side of the benchmark, as peer.h asks for one: URL WORKLOAD NAME. The main
// thread owns everything.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crew.h"
#include "many.h"
#include "server.h"
#include "target.h"

namespace {

using belay::bench::Crew;
using belay::bench::expect_ok;
using belay::bench::give_up;
using belay::bench::name_of;
using belay::bench::now_ns;
using belay::bench::Request;
using belay::bench::run_alone;
using belay::bench::Slice;
using belay::bench::take_grants;
using belay::bench::take_many;
using belay::bench::Target;

constexpr int kThreads = 16;
constexpr int kNames = 16;
constexpr int kWaiters = 10'000;
constexpr int kManyNames = 10'000;
constexpr int kFromOther = 3;
constexpr int kToOther = 4;
constexpr double kWarmUpS = 0.5;
constexpr auto kHold = std::chrono::milliseconds(1);
constexpr auto kLongHold = std::chrono::milliseconds(20);  // while a master is replaced
constexpr auto kRetry = std::chrono::milliseconds(10);
constexpr auto kGather = std::chrono::milliseconds(500);  // until then all waiters stand in line

using Workload = std::function<Slice(double seconds)>;

Workload pair(Target& target, const std::string& prefix) {
  return [&target, prefix, count = std::int64_t{0}](double seconds) mutable {
    return run_alone(
        seconds, [&] { target.release(target.lock(name_of(prefix.c_str(), ++count).c_str())); });
  };
}

Workload names16(Target& target, const std::string& prefix) {
  return [&target, prefix, count = std::int64_t{0}](double seconds) mutable {
    return run_alone(seconds, [&] {
      std::vector<std::string> names;
      for (int i = 0; i < kNames; ++i) {
        names.push_back(name_of(prefix.c_str(), ++count));
      }
      Request request(names);
      target.release(target.acquire(request));
    });
  };
}

Workload shared16(Target& target, const std::string& name) {
  auto crew = std::make_shared<Crew>(kThreads, [&target, name](int) {
    target.release(target.lock(name.c_str()));
  });  // shared: a std::function is copied
  return [crew](double seconds) { return crew->run(seconds); };
}

void tell_other(char what) {
  if (write(kToOther, &what, 1) != 1) {
    give_up("the other process has ended");
  }
}

char hear_other() {
  char what = 0;
  if (read(kFromOther, &what, 1) != 1) {
    give_up("the other process has ended");
  }
  return what;
}

// Appends when it asked, had the lock and began to release it.
void take_turn(Target& target, const std::string& name, std::vector<double>* times_us) {
  const std::int64_t asked = now_ns();
  const std::int64_t hold = target.lock(name.c_str());
  const std::int64_t had = now_ns();
  tell_other('h');
  std::this_thread::sleep_for(kHold);
  const std::int64_t released = now_ns();
  target.release(hold);
  for (const std::int64_t ns : {asked, had, released}) {
    times_us->push_back(static_cast<double>(ns) / 1e3);
  }
}

Workload handoff(Target& target, const std::string& name, bool first) {
  return [&target, name, first](double seconds) {
    Slice slice;
    const std::int64_t began = now_ns();
    const std::int64_t end = began + static_cast<std::int64_t>(seconds * 1e9);
    if (first) {
      do {
        take_turn(target, name, &slice.latencies_us);
        hear_other();
      } while (now_ns() < end);
      tell_other('e');
    } else {
      while (hear_other() == 'h') {
        take_turn(target, name, &slice.latencies_us);
      }
    }
    slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
    return slice;
  };
}

// Competes for the name, whatever happens to the server. The steps are three times of each hold:
// when the process asked, had the lock and began to release it.
Workload failover(Target& target, const std::string& name) {
  return [&target, name](double seconds) {
    Slice slice;
    const std::int64_t began = now_ns();
    const std::int64_t end = began + static_cast<std::int64_t>(seconds * 1e9);
    for (std::int64_t asked = began; asked < end; asked = now_ns()) {
      const std::int64_t wait_ms = (end - asked) / 1'000'000;
      const std::int64_t hold = belay_lock(target.get(), name.c_str(), -1, wait_ms, nullptr);
      if (hold < 0) {
        std::this_thread::sleep_for(kRetry);
        continue;
      }
      const std::int64_t had = now_ns();
      std::this_thread::sleep_for(kLongHold);
      const std::int64_t released = now_ns();
      belay_release(target.get(), hold);
      for (const std::int64_t ns : {asked, had, released}) {
        slice.latencies_us.push_back(static_cast<double>(ns) / 1e3);
      }
    }
    slice.seconds = static_cast<double>(now_ns() - began) / 1e9;
    return slice;
  };
}

// Very many submissions on one name that is held. A step is how long after its release one of them
// has it.
Workload waiters10000(Target& target, const std::string& name) {
  return [&target, name](double seconds) {
    Request request(name.c_str());
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
    take_grants(target, kWaiters, began, &slice);
    return slice;
  };
}

// As long as it takes.
Workload names10000(Target& target, const std::string& prefix) {
  return [&target, prefix, count = std::int64_t{0}](double) mutable {
    return take_many(target, prefix, kManyNames, count);
  };
}

Workload find(Target& target, const std::string& workload, const std::string& name) {
  if (workload == "pair") {
    return pair(target, name);
  }
  if (workload == "names16") {
    return names16(target, name);
  }
  if (workload == "shared16") {
    return shared16(target, name);
  }
  if (workload == "waiters10000") {
    return waiters10000(target, name);
  }
  if (workload == "names10000") {
    return names10000(target, name);
  }
  if (workload == "failover") {
    return failover(target, name);
  }
  if (workload == "handoff_first" || workload == "handoff_second") {
    return handoff(target, name, workload == "handoff_first");
  }
  return {};
}

void tell(const Slice& slice) {
  std::printf("%.1f", slice.seconds * 1e6);
  for (const double us : slice.latencies_us) {
    std::printf(" %.1f", us);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    give_up("usage: belay_bench_c URL WORKLOAD NAME");
  }
  Target target(argv[1]);
  const std::string workload = argv[2];
  const Workload work = find(target, workload, argv[3]);
  if (!work) {
    std::puts("none it is not known");
    return 0;
  }
  if (workload != "waiters10000") {  // which runs once before it counts
    work(kWarmUpS);
  }
  std::puts("ready");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    tell(work(std::strtod(line.c_str(), nullptr) / 1e3));
  }
  if (Target::lost() > 0) {
    std::fprintf(stderr, "c: holds lost, as the machine stood still: %lld\n",
                 static_cast<long long>(Target::lost()));
  }
  return 0;
}
