// A random hammer: threads that share a few clients mix all that there is to do on a few names of
// one real server, which is well, while the clients come and go; and what must hold is checked.
//
// hammer SERVER SECONDS SEED [THREADS]   SERVER: redis-server or valkey-server, which it starts
//
// A seed fixes what each thread decides at each of its steps; when things happen is up to the
// machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hammer/actor.h"
#include "hammer/calls.h"
#include "support/eventually.h"
#include "support/server_process.h"

namespace belay::hammer {
namespace {

constexpr int kPlaces = 3;
constexpr std::int64_t kHung = 30 * 1000;  // ms

bool starts_with(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

// Waits until `end` while nobody hangs.
void watch(const std::vector<std::unique_ptr<Actor>>& actors, std::int64_t end, Report& report) {
  while (now_ms() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::size_t i = 0; i < actors.size(); ++i) {
      const std::string doing = actors[i]->doing();
      if (doing != "nothing" && now_ms() - actors[i]->since_ms() > kHung * scale()) {
        report.violation(doing, "actor " + std::to_string(i) + " step " +
                                    std::to_string(actors[i]->steps()) + " hangs");
        report.print();
        std::_Exit(1);
      }
    }
  }
}

// Everybody can have everything once more; then nothing is left but fences, and what is remembered
// of semaphores.
void check_leftovers(const std::string& url, test::Redis& server, Report& report) {
  Life life(url, kWatchdogLease, report, [](Life&, std::int64_t, const std::string&) {});
  const auto have = [&](const std::string& name, std::int32_t primitive, std::int64_t limit) {
    belay_request* request = belay_request_new(primitive);
    belay_request_add_name(request, name.c_str(), -1);
    if (limit > 0) {
      belay_request_set_permits(request, limit, limit);
    }
    const Outcome outcome =
        life.block({"last",
                    [&](belay_client* client, belay_event** why) {
                      if (name == kMoving) {
                        belay_semaphore_set_limit(client, name.c_str(), -1, limit, nullptr);
                      }
                      return belay_acquire(client, request, 0, 30000 * scale(), why);
                    },
                    nullptr, true});
    if (outcome.status != BELAY_OK) {
      report.violation("at the end", "'" + name + "' " + belay_status_name(outcome.status));
    }
    static_cast<void>(life.block({"last", [&](belay_client* client, belay_event** why) {
                                    return release_now(client, outcome.hold, why);
                                  }}));
    belay_request_free(request);
  };
  for (const std::string& name : kLocks) {
    have(name, BELAY_LOCK, 0);
  }
  have(kFixed, BELAY_SEMAPHORE, kFixedLimit);
  have(kMoving, BELAY_SEMAPHORE, kMostPermits);
  static_cast<void>(life.block({"last", [&](belay_client* client, belay_event** why) {
                                  return belay_break(client, kLatch.c_str(), -1, 0, why);
                                }}));
  life.shut_down();
  std::string left;
  const bool clean = test::eventually([&] {
    left.clear();
    for (const test::Reply& key : server.command({"KEYS", "*"}).elements) {
      const bool stays = starts_with(key.text, "belay:f:") || starts_with(key.text, "belay:g:") ||
                         starts_with(key.text, "written:") ||
                         starts_with(key.text, "belay:r:{permits") ||
                         key.text == "belay:r:{latch}";  // its requests, for a while
      left += stays ? "" : " " + key.text;
    }
    return left.empty();
  });
  if (!clean) {
    report.violation("at the end", "left on the server:" + left);
  }
}

// Each write that was told to have taken place did, and none twice.
void check_writes(const std::vector<std::unique_ptr<Actor>>& actors, test::Redis& server,
                  Report& report) {
  for (std::size_t i = 0; i < kLocks.size(); ++i) {
    std::int64_t done = 0;
    std::int64_t unknown = 0;
    for (const auto& actor : actors) {
      done += actor->writes().at(i).done;
      unknown += actor->writes().at(i).unknown;
    }
    const std::string text = server.command({"GET", "written:" + kLocks.at(i)}).text;
    const std::int64_t found = text.empty() ? 0 : std::atoll(text.c_str());
    if (found < done || found > done + unknown) {
      report.violation("writes", kLocks.at(i) + ": " + std::to_string(found) + " of " +
                                     std::to_string(done) + " and " + std::to_string(unknown));
    }
  }
}

void set_up(const std::string& url, Report& report) {
  Life life(url, kWatchdogLease, report, [](Life&, std::int64_t, const std::string&) {});
  for (const std::string& name : {kFixed, kMoving}) {
    const std::int64_t limit = name == kFixed ? kFixedLimit : kMostPermits;
    const Outcome outcome =
        life.block({"first", [&](belay_client* client, belay_event** why) {
                      return belay_semaphore_set_limit(client, name.c_str(), -1, limit, why);
                    }});
    if (outcome.status != BELAY_OK) {
      report.violation("first", outcome.message);
    }
  }
  life.shut_down();
}

int run(const std::string& program, std::int64_t seconds, std::uint64_t seed, int threads) {
  const test::ServerProcess server(program);
  test::Redis connection = server.connect();
  Report report;
  const Stalls stalls;
  Witness witness(report, stalls);
  set_up(server.url(), report);
  Clients clients(server.url(), kPlaces, report, witness);
  std::vector<std::unique_ptr<Actor>> actors;
  std::atomic<bool> stopping{false};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    actors.push_back(std::make_unique<Actor>(seed, i, kPlaces, clients, witness, report));
  }
  for (const auto& actor : actors) {
    running.emplace_back([&stopping, &actor] {
      while (!stopping) {
        actor->step();
      }
    });
  }
  watch(actors, now_ms() + seconds * 1000, report);
  stopping = true;
  watch(actors, now_ms() + 5000, report);
  for (std::thread& thread : running) {
    thread.join();
  }
  clients.end_all();
  check_writes(actors, connection, report);
  check_leftovers(server.url(), connection, report);
  std::int64_t steps = 0;
  for (const auto& actor : actors) {
    steps += actor->steps();
  }
  std::printf("%s threads=%d seed=%llu steps=%lld longest_stall_ms=%lld ", program.c_str(), threads,
              static_cast<unsigned long long>(seed), static_cast<long long>(steps),
              static_cast<long long>(stalls.longest_since(0)));
  report.print();
  return report.violations() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace belay::hammer

int main(int argc, char** argv) {
  if (argc < 4) {
    std::printf("hammer redis-server|valkey-server SECONDS SEED [THREADS]\n");
    return 64;
  }
  return belay::hammer::run(argv[1], std::atoll(argv[2]), std::strtoull(argv[3], nullptr, 10),
                            argc > 4 ? std::atoi(argv[4]) : 8);
}
