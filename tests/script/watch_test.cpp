// What a client hears that watches a record by CLIENT TRACKING: the end of its hold at once, and
// no word of each waiter; on every server. One thread.
#include <functional>
#include <string>

#include "script/lock_fixture.h"

namespace belay::test {
namespace {

class Watch : public LockTest {
 protected:
  // How often a holder that has just looked at its record is told of a change by others.
  std::size_t told_of(const std::function<void()>& change) {
    Backend& backend = Backend::get(GetParam());
    backend.execute_as_listener({"CLIENT", "TRACKING", "ON", "OPTIN"});
    backend.execute_as_listener({"CLIENT", "CACHING", "YES"});
    backend.execute_as_listener({"EXISTS", record_key()});
    backend.take_pushes();
    change();
    backend.execute_as_listener({"PING"});
    std::size_t times = 0;
    for (const Reply& push : backend.take_pushes()) {
      times += push.elements.at(0).text == "invalidate" ? 1 : 0;
    }
    backend.execute_as_listener({"CLIENT", "TRACKING", "OFF"});
    return times;
  }

  // Expects that only the first waiter is heard of: not those behind, not polls, not who gives up.
  void expect_one_word_of_waiters(const AcquireCall& wanted) {
    const auto wait = [&](const std::string& client) {
      AcquireCall call = wanted;
      call.client = client;
      EXPECT_EQ(acquire_with(call).code, "queued");
    };
    listen({"A", "B", "C", "D"});
    EXPECT_EQ(told_of([&] { wait("B"); }), 1U);
    EXPECT_EQ(told_of([&] { wait("C"); }), 0U);
    EXPECT_EQ(told_of([&] { wait("D"); }), 0U);
    EXPECT_EQ(told_of([&] { wait("B"); }), 0U);
    EXPECT_EQ(told_of([&] { wait("D"); }), 0U);
    EXPECT_EQ(told_of([&] { leave_with({.client = "C", .kind = wanted.kind}); }), 0U);
    EXPECT_EQ(told_of([&] { command({"DEL", record_key()}); }), 1U);
  }
};

TEST_P(Watch, HolderHearsOfTheFirstWaiterOnly) {
  acquire("A");
  expect_one_word_of_waiters({});
}

TEST_P(Watch, ReaderHearsOfTheFirstWaiterOnly) {
  acquire_with({.client = "A", .group = "r"});
  expect_one_word_of_waiters({});
}

TEST_P(Watch, OwnerOfPermitsHearsOfTheFirstWaiterOnly) {
  acquire_with({.client = "A", .kind = kSemaphore, .permits = 3, .limit = 3});
  expect_one_word_of_waiters({.client = "", .kind = kSemaphore, .permits = 2, .limit = 3});
}

ON_ALL_BACKENDS(Watch);

}  // namespace
}  // namespace belay::test
