// Who holds a name and who waits for it: the members of an event as values, and in words.
#ifndef BELAY_TOOLS_MEMBER_H
#define BELAY_TOOLS_MEMBER_H

#include <belay/belay.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct Member {
  std::string client;
  std::string label;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t since_ms = 0;
  std::int64_t lease_ms = 0;
  std::int64_t fence = 0;
  std::int64_t holds = 0;
  std::int64_t local_waiters = 0;
  std::int64_t permits = 0;
  bool shared = false;
};

struct Members {
  std::vector<Member> holders;  // several of a semaphore and of a shared lock
  std::vector<Member> waiters;  // in order
  std::int64_t waiters_total = 0;
  std::optional<std::int64_t> to_go;  // of a latch, which has no holders
  std::int32_t primitive = 0;         // enum belay_primitive; 0: not in use
  std::int64_t limit = 0;             // of a semaphore
  std::int64_t available = 0;         // of its permits
  std::string server;                 // that has the name
  std::int64_t slot = -1;             // of the name; -1: the server is in no cluster
};

// The members of an INSPECTED or BROKEN event.
Members read_members(const belay_event* event);
// The names of a LISTED event.
std::vector<std::string> read_names(const belay_event* event);
// "web-7 pid 4711 (billing)".
std::string describe(const Member& member);
// The same of the first holder, "and 2 more"; "free" where there is none, "latch, 2 to go" of a
// latch.
std::string describe_holders(const Members& members);
// What is left of a latch's count: "2 to go", "open".
std::string to_go(std::int64_t count);

#endif
