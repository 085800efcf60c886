// What the tests of joint holders share: readers, and permits of a semaphore, as short calls. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "script/lock_fixture.h"

namespace belay::test {

using Names = std::vector<std::string>;

class JointTest : public LockTest {
 protected:
  Acquired share(const std::string& client, std::int64_t epoch = 1, const std::string& group = "r",
                 std::int64_t lease = kLease) {
    return acquire_with({.client = client, .epoch = epoch, .lease = lease, .group = group});
  }

  Acquired permits(const std::string& client, std::int64_t count, std::int64_t limit = 0,
                   std::int64_t epoch = 1) {
    return acquire_with(
        {.client = client, .epoch = epoch, .kind = kSemaphore, .permits = count, .limit = limit});
  }

  Acquired try_permits(const std::string& client, std::int64_t count, std::int64_t limit = 0) {
    return acquire_with(
        {.client = client, .queue = false, .kind = kSemaphore, .permits = count, .limit = limit});
  }

  std::string give_back(const std::string& client, std::int64_t epoch = 1) {
    return leave_with({.client = client, .epoch = epoch, .kind = kSemaphore});
  }

  Renewed renew_share(const std::string& client, std::int64_t fence, std::int64_t lease = kLease) {
    return renew({.client = client, .fence = fence, .lease = lease});
  }

  Renewed renew_permits(const std::string& client, std::int64_t fence) {
    return renew({.client = client, .fence = fence, .kind = kSemaphore});
  }

  // As if it had last asked so long ago: a client, or a claim of a semaphore.
  void fall_silent(const std::string& who, std::int64_t time) {
    constexpr std::size_t kAskedOffset = 72;
    std::string bytes = waiter(who);
    ASSERT_GT(bytes.size(), kAskedOffset + sizeof(double));
    bytes.replace(kAskedOffset, sizeof(double), packed_double(static_cast<double>(now() - time)));
    write_waiter(who, bytes);
  }

  // Who is a member, in the order of their ends.
  Names members() {
    Names clients;
    const Reply seats = command({"ZRANGE", members_key(), "(0", "+inf", "BYSCORE"});
    for (const Reply& seat : seats.elements) {
      clients.push_back(client_of(seat.text));
    }
    return clients;
  }

  // All keys but the slot's fence and a semaphore's record.
  std::int64_t leftovers() { return command({"EXISTS", queue_key(), members_key()}).integer; }

  Names telling(const std::string& kind) {
    Names clients;
    for (const Told& one : told()) {
      if (one.kind == kind) {
        clients.push_back(one.client);
      }
    }
    return clients;
  }
};

}  // namespace belay::test
