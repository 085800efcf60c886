// What the verbs do where their keys hold something else, and where memory is full; on every
// server. One thread.
#include "base/packing.h"
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

// Verbs by name, as one client would call them.
class Foreign : public LockTest {
 protected:
  std::string call(const std::string& verb) {
    if (verb == "acquire") {
      return acquire("B").code;
    }
    if (verb == "leave") {
      return leave("A");
    }
    if (verb == "renew") {
      return renew({.client = "A", .fence = 1}).code;
    }
    return verb == "inspect" ? inspect().code : break_lock(0).code;
  }

  // Expects each of these verbs to answer `code` and to change nothing.
  void expect_refusal(const std::vector<std::string>& verbs, const std::string& code) {
    const std::string before = contents();
    for (const std::string& verb : verbs) {
      EXPECT_EQ(call(verb), code) << verb;
      EXPECT_EQ(contents(), before) << verb;
    }
  }

  // Takes the lock for A with B waiting for it.
  void hold_and_wait() {
    listen({"A", "B"});
    acquire("A");
    acquire("B");
  }
};

const std::vector<std::string> kVerbs{"acquire", "leave", "inspect", "break"};

TEST_P(Foreign, ListAtTheRecordsKeyIsLeftAlone) {
  command({"RPUSH", record_key(), "x"});
  expect_refusal(kVerbs, "BELAYTYPE");
}

TEST_P(Foreign, ListAtTheRecordsKeyIsUnreadableToARenewal) {
  command({"RPUSH", record_key(), "x"});
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, ShortStringAtTheRecordsKeyIsLeftAlone) {
  command({"SET", record_key(), "17"});
  expect_refusal(kVerbs, "BELAYTYPE");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, LongStringAtTheRecordsKeyIsLeftAlone) {
  command({"SET", record_key(), std::string(100, '\0')});
  expect_refusal(kVerbs, "BELAYTYPE");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, AnotherPrimitivesRecordIsLeftAlone) {
  acquire("A");
  command({"SETRANGE", record_key(), "1", "\x02"});
  expect_refusal(kVerbs, "BELAYTYPE");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, NewerVersionsRecordIsLeftAlone) {
  acquire("A");
  command({"SETRANGE", record_key(), "0", "\x02"});
  expect_refusal(kVerbs, "BELAYVERSION");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, HashAtTheQueuesKeyIsLeftAlone) {
  acquire("A");
  command({"HSET", queue_key(), "f", "v"});
  expect_refusal({"acquire", "inspect"}, "BELAYTYPE");
}

TEST_P(Foreign, StringAtTheQueuesKeyIsLeftAlone) {
  acquire("A");
  command({"SET", queue_key(), "x"});
  expect_refusal({"acquire", "inspect"}, "BELAYTYPE");
}

TEST_P(Foreign, StringAtTheQueuesKeyKeepsNoFreeLockFromBeingLeft) {
  acquire("A");
  command({"SET", queue_key(), "x"});
  EXPECT_EQ(leave("A"), "ok");
}

TEST_P(Foreign, StringAtTheQueuesKeyOfAContendedLockIsLeftAlone) {
  hold_and_wait();
  command({"SET", queue_key(), "x"});
  expect_refusal({"leave", "break"}, "BELAYTYPE");
}

TEST_P(Foreign, StringAtTheWaitersKeyOfAContendedLockIsLeftAlone) {
  hold_and_wait();
  command({"SET", waiters_key(), "x"});
  expect_refusal({"acquire", "leave", "break"}, "BELAYTYPE");
}

TEST_P(Foreign, ListAtTheFencesKeyIsLeftAlone) {
  command({"RPUSH", fence_key(), "x"});
  expect_refusal({"acquire"}, "BELAYTYPE");
}

TEST_P(Foreign, ListAtTheFencesKeyOfAContendedLockIsLeftAlone) {
  hold_and_wait();
  command({"DEL", fence_key()});
  command({"RPUSH", fence_key(), "x"});
  expect_refusal({"leave", "break"}, "BELAYTYPE");
}

ON_ALL_BACKENDS(Foreign);

// The server's memory is full and it evicts nothing.
class FullMemory : public LockTest {
 protected:
  void fill() { ASSERT_EQ(command({"CONFIG", "SET", "maxmemory", "1"}).canonical(), "+OK"); }

  void TearDown() override { command({"CONFIG", "SET", "maxmemory", "0"}); }
};

TEST_P(FullMemory, RefusesAFreeLockAndChangesNothing) {
  const std::string before = contents();
  fill();
  EXPECT_EQ(acquire("A").code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(FullMemory, RefusesAPlaceInTheQueueAndChangesNothing) {
  acquire("A");
  const std::string before = contents();
  fill();
  EXPECT_EQ(acquire("B").code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(FullMemory, StillTellsAHolderWhatItHas) {
  const Acquired held = acquire("A");
  fill();
  EXPECT_EQ(acquire("A").fence, held.fence);
}

TEST_P(FullMemory, StillLetsAWaiterAskAgain) {
  listen({"B", "C"});
  acquire("A");
  acquire("B");
  const Acquired first = acquire("C");
  fill();
  const Acquired again = acquire("C");
  EXPECT_EQ(again.code, "queued");
  EXPECT_EQ(again.ticket, first.ticket);
}

TEST_P(FullMemory, StillFreesALock) {
  acquire("A");
  fill();
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(FullMemory, StillHandsOff) {
  listen({"B"});
  acquire("A");
  acquire("B");
  fill();
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "B");
}

TEST_P(FullMemory, StillServesTheQueueOfALapsedLock) {
  listen({"B"});
  acquire("A");
  acquire("B");
  lapse();
  fill();
  EXPECT_EQ(acquire("B").code, "granted");
}

TEST_P(FullMemory, StillRenews) {
  const Acquired held = acquire("A");
  fill();
  EXPECT_EQ(renew({.client = "A", .fence = held.fence, .lease = 2 * kLease, .more = 8}).code, "ok");
  EXPECT_EQ(record()->last, held.last + 8);
}

TEST_P(FullMemory, StillLetsAWaiterLeaveTheQueue) {
  acquire("A");
  acquire("B");
  fill();
  EXPECT_EQ(leave("B"), "not ours");
  EXPECT_TRUE(queue().empty());
}

TEST_P(FullMemory, StillBreaksALock) {
  listen({"B"});
  acquire("A");
  acquire("B");
  fill();
  EXPECT_TRUE(break_lock(0).parted);
  EXPECT_EQ(record()->client, "B");
}

TEST_P(FullMemory, StillInspects) {
  acquire("A");
  fill();
  EXPECT_EQ(inspect().holder.value().client, "A");
}

ON_ALL_BACKENDS(FullMemory);

}  // namespace
}  // namespace belay::test
