// What the verbs do where their keys hold something else, and where memory is full; on every
// server. One thread.
#include <cmath>
#include <limits>

#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

// What stands for a waiter: of a lock, alone.
std::string entry(double epoch, double grant) {
  return client_id("B") + packed_double(epoch) + packed_double(grant) + packed_double(0) +
         packed_double(1) + packed_double(0) + packed_double(1) + std::string(2, '\0') +
         packed_double(1) + kSecret;
}

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
  command({"SETRANGE", record_key(), "0", "\x03"});
  expect_refusal(kVerbs, "BELAYVERSION");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, OlderVersionsRecordIsLeftAlone) {
  acquire("A");
  command({"SETRANGE", record_key(), "0", "\x01"});
  expect_refusal(kVerbs, "BELAYVERSION");
  expect_refusal({"renew"}, "unreadable");
}

// No version is a letter.
TEST_P(Foreign, LongTextAtTheRecordsKeyIsLeftAlone) {
  command({"SET", record_key(), std::string(200, 'x')});
  expect_refusal(kVerbs, "BELAYTYPE");
  expect_refusal({"renew"}, "unreadable");
}

TEST_P(Foreign, HashAtTheQueuesKeyIsLeftAlone) {
  acquire("A");
  command({"HSET", queue_key(), "f", "v"});
  expect_refusal({"acquire"}, "BELAYTYPE");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(command({"HGET", queue_key(), "f"}).text, "v");
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

TEST_P(Foreign, NumberAtTheFencesKeyThatIsNoFenceIsLeftAlone) {
  hold_and_wait();
  for (const double number :
       {-1.0, 1.5, 4503599627370497.0, 1e300, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    command({"SET", fence_key(), packed_double(number)});
    expect_refusal({"leave", "break"}, "BELAYTYPE");
  }
  command({"SET", fence_key(), "17"});
  expect_refusal({"leave", "break"}, "BELAYTYPE");
  EXPECT_EQ(acquire("B").code, "queued");  // needs no fence
}

TEST_P(Foreign, FencesKeyThatCannotBeReadKeepsNoHolderFromRenewing) {
  const Acquired held = acquire("A");
  command({"SET", fence_key(), "17"});
  const Renewed renewed = renew({.client = "A", .fence = held.fence, .more = 8});
  EXPECT_EQ(renewed.code, "ok");
  EXPECT_EQ(renewed.last, held.last);
  EXPECT_EQ(command({"GET", fence_key()}).text, "17");
}

TEST_P(Foreign, LapsedRecordIsNotServedWithoutItsFence) {
  hold_and_wait();
  lapse();
  command({"SET", fence_key(), "17"});
  expect_refusal({"renew"}, "not ours");
}

// A record whose numbers are none: fence, since, end of the range, expiry, lock-delay.
TEST_P(Foreign, RecordWithoutNumbersIsLeftAlone) {
  for (const char* offset : {"33", "41", "49", "57", "99"}) {
    command({"DEL", record_key()});
    acquire("A");
    command({"SETRANGE", record_key(), offset, packed_double(std::nan(""))});
    expect_refusal(kVerbs, "BELAYTYPE");
    expect_refusal({"renew"}, "unreadable");
  }
}

TEST_P(Foreign, WaiterWhoseEntryCannotBeReadIsSkipped) {
  for (const std::string& bytes :
       {std::string("short"), std::string(), entry(1, std::nan("")), entry(std::nan(""), 1e6),
        entry(1, 1e6).substr(0, 99), entry(1, 1e6).replace(70, 1, "\5"), entry(-1, 1e6),
        entry(1, -1)}) {
    command({"FLUSHALL"});
    hold_and_wait();
    acquire("C");
    listen({"C"});
    write_waiter(client_id("B"), bytes);
    EXPECT_EQ(leave("A"), "ok");
    EXPECT_EQ(record()->client, "C");
  }
}

TEST_P(Foreign, FieldOfTheQueueThatIsNoWaitersIsPassedOver) {
  hold_and_wait();
  command({"HSET", queue_key(), "nobody", entry(1, 1e6)});
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "B");
  EXPECT_EQ(command({"EXISTS", queue_key()}).integer, 0);
}

// Where the line begins and ends is not to be known: nobody is served from it, and nobody joins it.
TEST_P(Foreign, QueueWithoutItsBoundsIsLeftAlone) {
  for (const std::string& bounds :
       {std::string(), std::string("short"), packed_double(2) + packed_double(1) + packed_double(9),
        packed_double(1.5) + packed_double(4) + packed_double(9),
        packed_double(1) + packed_double(std::nan("")) + packed_double(9),
        packed_double(-1) + packed_double(4) + packed_double(9)}) {
    command({"FLUSHALL"});
    hold_and_wait();
    command({"HSET", queue_key(), "", bounds});
    expect_refusal({"acquire"}, "BELAYTYPE");
    EXPECT_EQ(leave("A"), "ok");
    EXPECT_FALSE(record());
  }
}

TEST_P(Foreign, CallsThatNoClientMakesAreRefused) {
  hold_and_wait();
  const std::string before = contents();
  const Script* const scripts[] = {&scripts::kAcquire, &scripts::kLeave, &scripts::kRenew,
                                   &scripts::kInspect, &scripts::kBreak, &scripts::kLimit};
  const std::vector<std::vector<std::string>> calls{
      {}, {"x"}, {"x", "x"}, {"x", "x", "x"}, {kInbox, packed_double(0), "x"}};
  for (const Script* script : scripts) {
    for (const std::vector<std::string>& args : calls) {
      if (script == &scripts::kRenew && args.size() == 2 && args[1].size() == 16) {
        continue;  // a renewal of nothing
      }
      EXPECT_EQ(run(*script, keys(), args).error_code(), "BELAYARGS") << script->name;
      EXPECT_EQ(run(*script, {}, args).error_code(), "BELAYARGS") << script->name;
      EXPECT_EQ(contents(), before);
    }
  }
}

// On a free lock, and beside a holder and a waiter.
TEST_P(Foreign, AcquiresThatNoClientMakesAreRefused) {
  std::vector<std::string> requests;
  const auto add = [&requests](const AcquireCall& call, std::size_t at, const std::string& bytes) {
    requests.push_back(call.packed().replace(at, bytes.size(), bytes));
  };
  const AcquireCall lock{.client = "C"};
  const AcquireCall semaphore{.client = "C", .kind = kSemaphore, .limit = 3};
  for (const AcquireCall& call : {lock, semaphore}) {
    for (const std::size_t at : {25U, 33U, 49U, 57U, 65U, 76U, 84U, 92U}) {  // all but not-after
      for (const double number : {std::nan(""), 0.5, -1.0, HUGE_VAL, 1e16}) {
        add(call, at, packed_double(number));
      }
    }
    for (const std::size_t at : {0U, 2U, 3U}) {  // version; 0; the client's first byte
      add(call, at, std::string(1, at == 3 ? '\0' : '\3'));
    }
    add(call, 3, std::string(30, '\0'));
    requests.push_back(call.packed().substr(0, 123));
    add(call, 100, "\xFF\xFF");  // sizes of the group, and of the prefix
    add(call, 102, "\xFF\xFF");
    add(call, 102, "\x0D");  // one more than there is
  }
  add(lock, 1, std::string(1, '\0'));  // kinds: none, and a latch
  add(lock, 1, "\3");
  add(lock, 84, packed_double(2));  // a lock of which there are several, or with a limit
  add(lock, 92, packed_double(1));
  AcquireCall shared = semaphore;  // a semaphore with a group
  shared.group = "r";
  requests.push_back(shared.packed());
  add(semaphore, 84, packed_double(0));  // to wait for no permits
  for (const bool free : {true, false}) {
    if (!free) {
      hold_and_wait();
    }
    const std::string before = contents();
    for (const std::string& request : requests) {
      EXPECT_EQ(run(scripts::kAcquire, keys(), {request}).error_code(), "BELAYARGS")
          << printable(request);
      EXPECT_EQ(run(scripts::kAcquire, keys(), {request, "x"}).error_code(), "BELAYARGS");
      ASSERT_EQ(contents(), before) << printable(request);
    }
    EXPECT_EQ(run(scripts::kAcquire, {}, {lock.packed()}).error_code(), "BELAYARGS");
  }
}

TEST_P(Foreign, NumbersThatNoClientSendsAreRefused) {
  hold_and_wait();
  const std::string before = contents();
  const std::string nan = packed_double(std::nan(""));
  const std::string sound = packed_double(1);
  const std::string zero(1, '\0');
  const auto numbers = [&](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += sound;
    }
    return all;
  };
  const auto refused = [&](const Script& script, const std::vector<std::string>& args) {
    EXPECT_EQ(run(script, keys(), args).error_code(), "BELAYARGS") << script.name;
    EXPECT_EQ(contents(), before) << script.name;
  };
  const std::string nobody(30, '\0');
  refused(scripts::kLeave, {"\1" + nobody + sound + zero, kInbox});
  refused(scripts::kLeave, {"\1" + claim("A", 1) + nan + zero, kInbox});
  refused(scripts::kLimit, {nan + sound + sound, kInbox});
  refused(scripts::kLimit, {sound + nan + sound, kInbox});
  refused(scripts::kLimit, {sound + sound + nan, kInbox});
  refused(scripts::kBreak, {sound + nan + sound, kInbox, "info"});
  refused(scripts::kBreak, {sound + sound + nan, kInbox, "info"});
  const std::string head = sound + packed_double(kNever);
  refused(scripts::kRenew, {kInbox, head, claim("A", 1) + nan + sound + "\1\1\1\1\1\1\1"});
  refused(scripts::kRenew, {kInbox, nan + packed_double(kNever)});
  refused(scripts::kLeave, {"\3" + claim("A", 1) + sound + zero, kInbox});
  refused(scripts::kLeave, {"\1" + claim("A", 1) + sound, kInbox});
  refused(scripts::kRenew, {kInbox, head, claim("A", 1) + numbers(2) + "\1\1\1\1\1\1" + zero});
  refused(scripts::kInspect, {"1e300"});
  refused(scripts::kInspect, {"-1"});
}

ON_ALL_BACKENDS(Foreign);

// The same where several hold it, with a member whose lease has ended, which each verb would drop:
// nothing may be changed before the foreign key is found.
class ForeignBesideMembers : public JointTest {
 protected:
  void hold_together(int kind) {
    kind_ = kind;
    listen({"W"});
    acquire_with(of("A"));
    acquire_with(of("B"));
    acquire_with(of("C"));
    AcquireCall writer{.client = "W"};
    if (kind == kSemaphore) {
      writer = of("W");
      writer.permits = 3;
    }
    ASSERT_EQ(acquire_with(writer).code, "queued");
    lapse_member(kind == kSemaphore ? claim("A", 1) : client_id("A"));
  }

  AcquireCall of(const std::string& client) const {
    AcquireCall call{.client = client, .kind = kind_};
    call.limit = kind_ == kSemaphore ? 3 : 0;
    call.group = kind_ == kSemaphore ? "" : "r";
    return call;
  }

  std::string call(const std::string& verb) {
    if (verb == "acquire") {
      return acquire_with(of("D")).code;
    }
    if (verb == "acquire alone") {
      return kind_ == kSemaphore ? acquire_with(of("D")).code : acquire("D").code;
    }
    if (verb == "leave") {
      return leave_with({.client = "B", .kind = kind_});
    }
    if (verb == "inspect") {
      return inspect().code;
    }
    if (verb == "break") {
      return break_lock(0).code;
    }
    if (verb == "renew") {
      return renew({.client = "B", .fence = 1, .kind = kind_}).code;
    }
    return set_limit(4).code;
  }

  // Whether an error of that code names the key.
  void expect_named(const std::string& key) {
    const Reply reply = run(scripts::kAcquire, keys(), {of("D").packed()});
    EXPECT_EQ(reply.error_code(), "BELAYTYPE");
    EXPECT_NE(reply.text.find("key " + key + " "), std::string::npos) << reply.text;
  }

  int kind_ = kLock;
};

TEST_P(ForeignBesideMembers, AnyKeyIsLeftAlone) {
  for (const int kind : {kLock, kSemaphore}) {
    for (std::size_t at = 0; at < 4; ++at) {
      command({"FLUSHALL"});
      hold_together(kind);
      command({"DEL", keys()[at]});
      command({"RPUSH", keys()[at], "x"});
      const std::string before = contents();
      for (const char* const verb :
           {"acquire", "acquire alone", "leave", "break", "inspect", "limit"}) {
        if ((verb == std::string("limit") && kind == kLock && at != 0) ||
            (verb == std::string("inspect") && at == 1)) {
          continue;  // refused for its kind; reads no fence
        }
        EXPECT_EQ(call(verb), "BELAYTYPE") << verb << " " << keys()[at];
        EXPECT_EQ(contents(), before) << verb << " " << keys()[at];
      }
      expect_named(keys()[at]);
    }
  }
}

TEST_P(ForeignBesideMembers, KeepsNoMemberFromRenewingWhereItNeedsNotTheKey) {
  for (const int kind : {kLock, kSemaphore}) {
    for (std::size_t at = 0; at < 4; ++at) {
      command({"FLUSHALL"});
      hold_together(kind);
      const std::string who = kind == kSemaphore ? claim("B", 1) : client_id("B");
      const std::int64_t fence = member(who)->fence;
      command({"DEL", keys()[at]});
      command({"RPUSH", keys()[at], "x"});
      const bool needed = at != 1 && at != 2;
      EXPECT_EQ(renew({.client = "B", .fence = fence, .lease = 2 * kLease, .kind = kind}).code,
                needed ? "unreadable" : "ok")
          << keys()[at];
    }
  }
}

TEST_P(ForeignBesideMembers, FreeNameIsNotShared) {
  for (const int kind : {kLock, kSemaphore}) {
    kind_ = kind;
    for (std::size_t at = 0; at < 4; ++at) {
      command({"FLUSHALL"});
      command({"RPUSH", keys()[at], "x"});
      const std::string before = contents();
      expect_named(keys()[at]);
      EXPECT_EQ(contents(), before) << keys()[at];
    }
  }
}

TEST_P(ForeignBesideMembers, HolderIsNotDowngraded) {
  for (const std::size_t at : {1U, 2U, 3U}) {
    command({"FLUSHALL"});
    const Acquired a = acquire("A");
    command({"DEL", keys()[at]});
    command({"RPUSH", keys()[at], "x"});
    EXPECT_EQ(renew({.client = "A", .fence = a.fence, .group = "r"}).code, "unreadable");
    EXPECT_EQ(record()->client, "A") << keys()[at];
    EXPECT_EQ(renew({.client = "A", .fence = a.fence}).code, "ok") << keys()[at];
  }
}

TEST_P(ForeignBesideMembers, HandoffToAReaderIsRefused) {
  listen({"B"});
  acquire("A");
  share("B");
  command({"RPUSH", members_key(), "x"});
  const std::string before = contents();
  EXPECT_EQ(leave("A"), "BELAYTYPE");
  EXPECT_EQ(break_lock(0).code, "BELAYTYPE");
  EXPECT_EQ(contents(), before);
}

TEST_P(ForeignBesideMembers, RecordWithoutNumbersIsLeftAlone) {
  for (const char* const offset :
       {"107", "115", "123"}) {  // in use, the limit, until when it stands
    for (const double number : {-1.0, 0.5, std::nan("")}) {
      command({"FLUSHALL"});
      hold_together(kSemaphore);
      command({"SETRANGE", record_key(), offset, packed_double(number)});
      const std::string before = contents();
      for (const char* const verb : {"acquire", "leave", "break", "inspect", "limit"}) {
        EXPECT_EQ(call(verb), "BELAYTYPE") << verb;
      }
      EXPECT_EQ(call("renew"), "unreadable");
      EXPECT_EQ(contents(), before);
    }
  }
}

TEST_P(ForeignBesideMembers, RecordThatIsCutOffIsLeftAlone) {
  hold_together(kSemaphore);
  const std::string whole = command({"GET", record_key()}).text;
  command({"SET", record_key(), whole.substr(0, 130)});
  const std::string before = contents();
  for (const char* const verb : {"acquire", "leave", "break", "inspect", "limit"}) {
    EXPECT_EQ(call(verb), "BELAYTYPE") << verb;
  }
  EXPECT_EQ(contents(), before);
}

TEST_P(ForeignBesideMembers, MemberThatCannotBeReadIsNobodys) {
  for (const std::string& bytes :
       {client_id("B") + "short", claim("B", 1) + std::string(36, '\xFF')}) {
    command({"FLUSHALL"});
    hold_together(kLock);
    const std::int64_t fence = member(client_id("B"))->fence;
    const std::string seat = seat_of(client_id("B"));
    const std::string end = command({"ZSCORE", members_key(), seat}).text;
    command({"ZREM", members_key(), seat});
    command({"ZADD", members_key(), end, bytes});
    EXPECT_EQ(renew({.client = "B", .fence = fence}).code, "not ours");
    EXPECT_EQ(leave("B"), "not ours");
    EXPECT_EQ(break_lock(0).members.size(), 1U);  // of C
    EXPECT_EQ(record()->client, "W");
  }
}

ON_ALL_BACKENDS(ForeignBesideMembers);

// The server's memory is full and it evicts nothing.
class FullMemory : public JointTest {
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

TEST_P(FullMemory, StillConfirmsAHandoff) {
  listen({"A", "B"});
  acquire("A");
  acquire("B");
  fill();
  leave("A");
  ASSERT_EQ(record()->from, "A");
  EXPECT_EQ(renew({.client = "B", .fence = record()->fence}).code, "ok");
  EXPECT_EQ(record()->from, "");
}

TEST_P(FullMemory, StillTakesOverWhatNobodyLooksAfter) {
  listen({"B"});
  acquire("A");
  acquire("B");
  lapse();
  try_acquire("D");
  fill();
  EXPECT_EQ(leave("E"), "not ours");
  EXPECT_EQ(record()->from, "E");
}

TEST_P(FullMemory, StillLeavesAHandoffToTheNextThatAsks) {
  listen({"B", "C", "D"});
  for (const char* client : {"A", "B", "C", "D"}) {
    acquire(client);
  }
  leave("A");
  fill();
  EXPECT_EQ(leave_with({.client = "A", .parting = true}), "not ours");
  EXPECT_GT(acquire("D").handed, 0);
  EXPECT_EQ(record()->from, "D");
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

TEST_P(FullMemory, RefusesToShareAFreeLockAndChangesNothing) {
  fill();
  EXPECT_EQ(share("A").code, "OOM");
  EXPECT_EQ(permits("A", 1, 3).code, "OOM");
  EXPECT_EQ(set_limit(3).code, "OOM");
  EXPECT_EQ(contents(), "");
}

TEST_P(FullMemory, RefusesAPermitAndAPlaceBehindReadersAndChangesNothing) {
  permits("A", 1, 3);
  use_lock("other");
  share("A");
  const std::string before = contents();
  fill();
  EXPECT_EQ(acquire("W").code, "OOM");
  use_lock("orders");
  EXPECT_EQ(permits("B", 1).code, "OOM");
  EXPECT_EQ(permits("B", 3).code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(FullMemory, StillServesThoseWhoHoldTogether) {
  listen({"W", "D"});
  const Acquired a = share("A");
  share("B");
  share("C");
  acquire("W");
  share("D");
  lapse_member(client_id("C"));
  fill();
  EXPECT_EQ(acquire("W").code, "queued");
  EXPECT_EQ(share("D").code, "queued");
  EXPECT_EQ(share("A").code, "granted");
  EXPECT_EQ(renew_share("A", a.fence, 2 * kLease).code, "ok");
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(leave("B"), "ok");
  EXPECT_EQ(record()->client, "W");
  EXPECT_EQ(leave("W"), "ok");
  EXPECT_EQ(members(), Names{"D"});
  EXPECT_EQ(break_lock(0).members.size(), 1U);
  EXPECT_FALSE(record());
}

TEST_P(FullMemory, StillServesThoseWhoHavePermits) {
  listen({"C"});
  const Acquired a = permits("A", 1, 2);
  permits("B", 1);
  permits("C", 2);
  fill();
  EXPECT_EQ(permits("C", 2).code, "queued");
  EXPECT_EQ(permits("A", 1).code, "granted");
  EXPECT_EQ(renew_permits("A", a.fence).code, "ok");
  EXPECT_EQ(set_limit(0).code, "ok");
  EXPECT_EQ(set_limit(3).code, "ok");
  EXPECT_EQ(give_back("B"), "ok");
  EXPECT_EQ(members(), (Names{"C", "A"}));
  EXPECT_EQ(give_back("A"), "ok");
  EXPECT_EQ(give_back("C"), "ok");
  EXPECT_EQ(record()->used, 0);
  EXPECT_EQ(give_back("D"), "not ours");
  EXPECT_EQ(try_permits("D", 1, 5).code, "limit");
}

TEST_P(FullMemory, StillDowngrades) {
  const Acquired a = acquire("A");
  fill();
  EXPECT_EQ(renew({.client = "A", .fence = a.fence, .group = "r"}).code, "ok");
  EXPECT_EQ(members(), Names{"A"});
}

TEST_P(FullMemory, StillKeepsALostLock) {
  acquire_with({.client = "A", .delay = kLease});
  fill();
  EXPECT_EQ(leave_with({.client = "A", .lost = true}), "ok");
  EXPECT_EQ(try_acquire("B").code, "busy");
}

ON_ALL_BACKENDS(FullMemory);

}  // namespace
}  // namespace belay::test
