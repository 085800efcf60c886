// What the tests of the lock's verbs share: calls with packed arguments, and what stands on the
// server and in the inboxes afterwards, unpacked. One thread; GoogleTest makes one per test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/script.h"
#include "script/backend.h"

namespace belay::test {

inline constexpr std::int64_t kSecond = 1'000'000;
inline constexpr std::int64_t kLease = 30 * kSecond;
inline constexpr std::int64_t kGrant = 10 * kSecond;
inline constexpr std::int64_t kNever = 9'000'000'000'000'000;
// Ahead of the clock by far.
inline constexpr std::int64_t kFarFence = 4'000'000'000'000'000;
inline constexpr int kFenceRange = 8;
inline constexpr int kSkips = 64;
inline constexpr int kLock = 1;
inline constexpr int kSemaphore = 2;
inline const std::string kInbox = "belay:i:";
inline const std::string kSecret = "its waiter's secret.";

// The four keys of a resource, in the scripts' order.
std::vector<std::string> keys_of(const std::string& name);

// Client "A" has the id "A---------------------".
std::string client_id(const std::string& client);
std::string client_of(const std::string& id);
std::string claim(const std::string& client, std::int64_t epoch);

// Any number, also one that Packer has no use for.
std::string packed_double(double number);

struct AcquireCall {
  std::string client;
  std::int64_t epoch = 1;
  std::int64_t lease = kLease;
  std::int64_t not_after = kNever;
  std::int64_t grant = kGrant;
  std::int64_t ticket = 0;
  std::int64_t highest = 0;
  bool queue = true;
  int local_waiters = 0;
  std::string info = "info";
  int kind = kLock;
  std::int64_t delay = 0;
  std::int64_t permits = 1;
  std::int64_t limit = 0;
  std::string group = {};
  std::string secret = kSecret;

  [[nodiscard]] std::string packed() const;
};

// `code` is granted, queued, busy, late, stale, more, missing, limit, or the code of an error.
struct Acquired {
  std::string code;
  std::int64_t ts = 0;
  std::int64_t fence = 0;
  std::int64_t last = 0;
  int waits = 0;
  std::int64_t position = 0;
  std::int64_t remaining = 0;
  std::int64_t ticket = 0;
  std::int64_t stored = 0;
  std::int64_t handed = 0;
  std::int64_t permits = 0;
  std::int64_t limit = 0;
};

struct LeaveCall {
  std::string client;
  std::int64_t epoch = 1;
  std::int64_t highest = 0;
  int kind = kLock;
  bool lost = false;
  bool parting = false;
  std::int64_t given = 0;
};

struct RenewCall {
  std::string client;
  std::int64_t epoch = 1;
  std::int64_t fence = 0;
  std::int64_t lease = kLease;
  int more = 0;
  int holds = 1;
  int local_waiters = 0;
  int kind = kLock;
  std::string group = {};           // a downgrade
  std::int64_t fence_of_group = 0;  // under which; 0: the grant's
  std::int64_t not_after = kNever;

  [[nodiscard]] std::string packed() const;
};

// `code` is ok, not ours, unreadable, late, or the code of an error.
struct Renewed {
  std::string code;
  std::int64_t last = 0;
  int waits = 0;
};

struct Record {
  int version = 0;
  int type = 0;
  int waits = 0;
  std::string client;
  std::int64_t epoch = 0;
  std::int64_t fence = 0;
  std::int64_t since = 0;
  std::int64_t last = 0;
  std::int64_t expires = 0;
  int holds = 0;
  int local_waiters = 0;
  std::string from;  // the client that handed it on; empty: nobody
  std::int64_t delay = 0;
  std::string info;
  bool joint = false;
  // Of what several hold together.
  std::int64_t used = 0;
  std::int64_t limit = 0;
  std::int64_t stands = 0;
  std::string group;
};

// One of those who hold something together.
struct Member {
  std::string client;
  std::int64_t ends = 0;  // with its lock-delay
  std::int64_t epoch = 0;
  std::int64_t fence = 0;
  std::int64_t since = 0;
  std::int64_t expires = 0;
  std::int64_t delay = 0;
  std::int64_t permits = 0;
  int holds = 0;
  int local_waiters = 0;
  std::string info;
};

// Whether a verb came beyond its not-after, as it says with the server's time.
bool is_late(const Reply& reply);

// The record that a verb replied.
Record unpack_record(std::string_view bytes);

struct Broken {
  std::string code;  // ok, late, or the code of an error
  std::optional<Record> parted = {};
  bool more = false;       // to serve the queue
  bool more_part = false;  // to part more members
  std::vector<Member> members = {};
};

struct Inspected {
  struct Waiter {
    std::string client;
    std::int64_t ticket = 0;
    std::int64_t epoch = 0;
    std::int64_t grant = 0;
    std::int64_t delay = 0;
    std::int64_t permits = 0;
    std::int64_t limit = 0;
    std::int64_t since = 0;
    std::string group;
    std::string info;
  };

  std::string code;
  std::int64_t ts = 0;
  std::optional<Record> holder = {};
  std::int64_t count = 0;
  std::vector<Waiter> waiters = {};
  std::int64_t member_count = 0;
  std::vector<Member> members = {};
};

struct Limited {
  std::string code;  // ok, late, more, missing, or the code of an error
  std::int64_t limit = 0;
  std::int64_t used = 0;
};

// A message to an inbox. `kind` is grant, next, waits, broken, settled or passed.
struct Told {
  std::string client;
  std::string kind;
  int type = 0;  // kLock, kSemaphore
  std::int64_t epoch = 0;
  std::int64_t ts = 0;
  std::int64_t fence = 0;
  std::int64_t last = 0;
  std::int64_t grant = 0;
  int waits = 0;
  std::int64_t wait = 0;
  std::int64_t generation = 0;
  int how = 0;
  std::string mac;
  std::string key;
  std::string info;
};

Told unpack_message(const Message& message);

class LockTest : public testing::TestWithParam<Backend::Kind> {
 protected:
  void SetUp() override;

  // The lock that the calls below are about.
  void use_lock(const std::string& name) { keys_ = keys_of(name); }

  Reply run(const Script& script, const std::vector<std::string>& keys,
            const std::vector<std::string>& args);

  Reply command(const std::vector<std::string>& argv) { return backend_->execute(argv); }

  // By the connection at which messages arrive.
  Reply command_of_listener(const std::vector<std::string>& argv) {
    return backend_->execute_as_listener(argv);
  }

  Acquired acquire_with(const AcquireCall& call);
  Acquired acquire(const std::string& client, std::int64_t epoch = 1);
  Acquired try_acquire(const std::string& client, std::int64_t epoch = 1);
  // Returns ok, not ours, more, or the code of an error.
  // Its handed lease goes to handed_.
  std::string leave(const std::string& client, std::int64_t epoch = 1, std::int64_t highest = 0);
  std::string leave_with(const LeaveCall& call);
  Renewed renew(const RenewCall& call);
  Broken break_lock(std::int64_t fence, const std::string& info = "breaker",
                    std::int64_t not_after = kNever);
  Inspected inspect(int most = 100);
  Limited set_limit(std::int64_t limit, std::int64_t not_after = kNever);

  // Clients whose inbox somebody reads; messages to others find nobody.
  void listen(const std::vector<std::string>& clients);
  void stop_listening(const std::string& client);
  std::vector<Told> told() const;

  std::vector<Message> take_messages() const { return backend_->take_messages(); }

  // The same as "B grant 1" (client, kind, epoch), in their order.
  std::vector<std::string> told_briefly() const;

  std::int64_t now();
  std::optional<Record> record();
  std::int64_t stored_fence();
  void store_fence(std::int64_t fence);
  // Clients in the order of the queue.
  std::vector<std::string> queue();
  // The entry of who waits: a client's id, or a claim of a semaphore.
  std::string waiter(const std::string& who);
  void write_waiter(const std::string& who, const std::string& entry);
  // As if it had been taken for dead.
  void drop_waiter(const std::string& who);

  std::int64_t pttl(const std::string& key) { return command({"PTTL", key}).integer; }

  // Lets the lease of the record end a moment ago.
  void lapse();
  // The same for the membership of who: a client's id, or a claim of a semaphore.
  void lapse_member(const std::string& who);
  std::optional<Member> member(const std::string& who);

  // Where a client's id sits, or a claim of a semaphore. Empty: nowhere.
  std::string seat_of(const std::string& who);
  // Lets its lease and its lock-delay end at that time.
  void end_member(const std::string& who, std::int64_t at);

  // All that stands on the server, as text; without times to live.
  std::string contents() { return contents_of(*backend_); }

  // Queues that many clients that nobody listens for.
  void queue_the_dead(int count);

  const std::vector<std::string>& keys() const { return keys_; }

  const std::string& record_key() const { return keys_[0]; }

  const std::string& fence_key() const { return keys_[1]; }

  const std::string& queue_key() const { return keys_[2]; }

  const std::string& members_key() const { return keys_[3]; }

  std::int64_t handed_ = 0;

 private:
  Backend* backend_ = nullptr;
  std::vector<std::string> keys_ = keys_of("orders");
};

}  // namespace belay::test

// The suite on all servers.
#define ON_ALL_BACKENDS(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(all_backends()), \
                           [](const auto& tested) { return name_of(tested.param); })
