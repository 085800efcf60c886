// Many: several names in one call, all or none; on every server. One thread.
#include <map>

#include "base/packing.h"
#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

// `code` is granted, busy, late, stale, more, or the code of an error.
struct Taken {
  struct One {
    std::int64_t fence = 0;
    std::int64_t last = 0;
    int waits = 0;
  };

  std::string code;
  std::string words;  // of an error
  std::int64_t ts = 0;
  std::int64_t remaining = 0;
  std::vector<One> names;
};

class Many : public JointTest {
 protected:
  // The names, each as its group, '' = alone.
  using Wanted = std::vector<std::pair<std::string, std::string>>;

  // What the names have in common, and what is asked of each.
  static std::string head(const AcquireCall& call) {
    return Packer().bytes(client_id(call.client)).number(call.not_after).number(call.lease).take();
  }

  static std::string row(const AcquireCall& call) {
    return Packer()
        .number(call.epoch)
        .number(call.highest)
        .number(call.delay)
        .u16(static_cast<std::uint64_t>(call.local_waiters))
        .take();
  }

  Taken take_as(const AcquireCall& call, const Wanted& wanted) {
    std::vector<std::string> keys;
    std::vector<std::string> groups;
    std::string packed = head(call);
    bool alone = true;
    for (const auto& [name, group] : wanted) {
      const std::vector<std::string> own = keys_of(name);
      keys.insert(keys.end(), own.begin(), own.end());
      packed += row(call);
      groups.push_back(group);
      alone = alone && group.empty();
    }
    std::vector<std::string> args{kInbox, call.info, packed};
    if (!alone) {
      args.insert(args.end(), groups.begin(), groups.end());
    }
    return read(run(scripts::kMany, keys, args), wanted.size());
  }

  Taken take(const std::string& client, const Names& names, std::int64_t epoch = 1) {
    Wanted wanted;
    for (const std::string& name : names) {
      wanted.emplace_back(name, "");
    }
    return take_as({.client = client, .epoch = epoch}, wanted);
  }

  // Leaves all at once; what it was for each, or the code of an error.
  Names leave_all(const std::string& client, const Names& names, std::int64_t epoch = 1) {
    std::vector<std::string> keys;
    Packer packed;
    packed.u8(kLock);
    for (const std::string& name : names) {
      const std::vector<std::string> own = keys_of(name);
      keys.insert(keys.end(), own.begin(), own.end());
      packed.bytes(claim(client, epoch)).number(0).u8(0).number(0);
    }
    const Reply reply = run(scripts::kLeave, keys, {packed.take(), kInbox});
    if (reply.is_error()) {
      return {reply.error_code()};
    }
    static constexpr const char* kCodes[] = {"?", "ok", "not ours", "more"};
    Names codes;
    Unpacker in(reply.text);
    for (std::size_t i = 0; i < names.size(); ++i) {
      codes.emplace_back(kCodes[in.u8() & 3U]);
      in.number();  // server time
      in.number();  // grant lease
    }
    EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
    return codes;
  }

  // The client that holds a name alone; "" where nobody does.
  std::string holder(const std::string& name) {
    use_lock(name);
    const std::optional<Record> stands = record();
    return stands ? stands->client : "";
  }

  Names members_of(const std::string& name) {
    use_lock(name);
    return members();
  }

  // Expects B to get neither of "a" and "b" for what stands at "b", which does not change.
  void expect_none(const std::string& code) {
    const std::string before = contents();
    EXPECT_EQ(take("B", {"a", "b"}).code, code);
    EXPECT_EQ(take("B", {"b", "a"}).code, code);
    EXPECT_EQ(contents(), before);
  }

 private:
  static Taken read(const Reply& reply, std::size_t count) {
    static constexpr const char* kCodes[] = {"?",    "granted", "?",    "busy",
                                             "late", "stale",   "more", "?"};
    Taken taken;
    if (reply.is_error()) {
      taken.code = reply.error_code();
      taken.words = reply.text;
      return taken;
    }
    Unpacker in(reply.text);
    taken.code = kCodes[in.u8() & 7U];
    taken.ts = in.number();
    if (taken.code == "busy") {
      taken.remaining = in.number();
    }
    for (std::size_t i = 0; taken.code == "granted" && i < count; ++i) {
      Taken::One one;
      one.fence = in.number();
      one.last = in.number();
      one.waits = in.u8();
      taken.names.push_back(one);
    }
    EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
    return taken;
  }
};

TEST_P(Many, TakesAllThatAreFree) {
  const Taken reply = take_as(
      {.client = "A", .epoch = 3, .local_waiters = 2, .info = "web-7", .delay = 5 * kSecond},
      {{"a", ""}, {"b", ""}});
  ASSERT_EQ(reply.code, "granted");
  for (const std::size_t i : {0U, 1U}) {
    use_lock(i == 0 ? "a" : "b");
    const Record stands = record().value();
    EXPECT_EQ(stands.client, "A");
    EXPECT_EQ(stands.epoch, 3);
    EXPECT_EQ(stands.fence, reply.names[i].fence);
    EXPECT_EQ(stands.last, reply.names[i].last);
    EXPECT_EQ(stands.last, stands.fence + kFenceRange);
    EXPECT_EQ(stands.expires, reply.ts + kLease);
    EXPECT_EQ(stands.delay, 5 * kSecond);
    EXPECT_EQ(stands.local_waiters, 2);
    EXPECT_EQ(stands.info, "web-7");
    EXPECT_EQ(stored_fence(), stands.last);
    EXPECT_EQ(renew({.client = "A", .epoch = 3, .fence = stands.fence}).code, "ok");
    EXPECT_EQ(leave("A", 3), "ok");
  }
}

// ---- Leaving several

TEST_P(Many, AreLeftTogether) {
  take("A", {"a", "b", "c"});
  EXPECT_EQ(leave_all("A", {"a", "b", "c"}), (Names{"ok", "ok", "ok"}));
  EXPECT_EQ(holder("a") + holder("b") + holder("c"), "");
  EXPECT_EQ(leave_all("A", {"a", "b"}), (Names{"not ours", "not ours"}));
}

TEST_P(Many, LeftServeTheWaitersOfEach) {
  listen({"B", "C"});
  take_as({.client = "A"}, {{"a", ""}, {"b", "r"}, {"c", ""}});
  use_lock("a");
  acquire("B", 5);
  use_lock("b");
  acquire("C", 6);
  told();
  EXPECT_EQ(leave_all("A", {"a", "b", "c"}), (Names{"ok", "ok", "ok"}));
  EXPECT_EQ(told_briefly(), (Names{"B grant 5", "C grant 6"}));
  EXPECT_EQ(holder("a") + holder("b") + holder("c"), "BC");
}

TEST_P(Many, LeftTellWhichWereNotOurs) {
  take("A", {"a", "c"});
  take("B", {"b"});
  EXPECT_EQ(leave_all("A", {"a", "b", "c"}), (Names{"ok", "not ours", "ok"}));
  EXPECT_EQ(holder("b"), "B");
}

TEST_P(Many, AreNotLeftWhereOneCannotBeRead) {
  take("A", {"a", "b"});
  for (const std::string& foreign : {keys_of("c")[0], keys_of("c")[1], keys_of("c")[2]}) {
    command({"RPUSH", foreign, "x"});
    const std::string before = contents();
    EXPECT_EQ(leave_all("A", {"a", "b", "c"}), Names{"BELAYTYPE"});
    EXPECT_EQ(contents(), before);
    command({"DEL", foreign});
  }
}

TEST_P(Many, AreLeftOnlyOnceEach) {
  take("A", {"a"});
  EXPECT_EQ(leave_all("A", {"a", "a"}), Names{"BELAYARGS"});
  EXPECT_EQ(holder("a"), "A");
}

// ---- Taking them

TEST_P(Many, TakesMixedModes) {
  const Taken reply = take_as({.client = "A"}, {{"a", ""}, {"b", "r"}, {"c", "i7"}});
  ASSERT_EQ(reply.code, "granted");
  EXPECT_EQ(holder("a"), "A");
  EXPECT_EQ(members_of("b"), (Names{"A"}));
  EXPECT_EQ(record()->group, "r");
  EXPECT_EQ(record()->fence, reply.names[1].fence);
  EXPECT_EQ(reply.names[1].last, reply.names[1].fence);
  EXPECT_EQ(members_of("c"), (Names{"A"}));
  EXPECT_EQ(record()->group, "i7");
}

TEST_P(Many, JoinsThoseWhoShare) {
  use_lock("b");
  const Acquired first = share("A");
  const Taken reply = take_as({.client = "B"}, {{"a", ""}, {"b", "r"}});
  ASSERT_EQ(reply.code, "granted");
  EXPECT_EQ(reply.names[1].fence, first.fence);
  EXPECT_EQ(members_of("b"), (Names{"A", "B"}));
  EXPECT_EQ(record()->used, 2);
}

TEST_P(Many, TakesNoneWhereOneIsHeld) {
  use_lock("b");
  acquire("A");
  expect_none("busy");
  EXPECT_GT(take("B", {"a", "b"}).remaining, kLease / 2);
}

TEST_P(Many, TakesNoneWhereOneIsShared) {
  use_lock("b");
  share("A");
  expect_none("busy");
  const std::string before = contents();
  EXPECT_EQ(take_as({.client = "B"}, {{"a", ""}, {"b", "i"}}).code, "busy");
  EXPECT_EQ(contents(), before);
}

TEST_P(Many, TakesNoneWhereSomebodyWaitsBehindThoseWhoShare) {
  listen({"C"});
  use_lock("b");
  share("A");
  acquire("C");
  EXPECT_EQ(take_as({.client = "B"}, {{"a", ""}, {"b", "r"}}).code, "busy");
  EXPECT_EQ(holder("a"), "");
  EXPECT_EQ(members_of("b"), (Names{"A"}));
  EXPECT_EQ(queue(), (Names{"C"}));
}

TEST_P(Many, ServesWhoWaitsForALapsedNameInstead) {
  listen({"C"});
  use_lock("b");
  acquire("A");
  acquire("C");
  lapse();
  EXPECT_EQ(take("B", {"a", "b"}).code, "busy");
  EXPECT_EQ(holder("a"), "");
  EXPECT_EQ(holder("b"), "C");
  EXPECT_EQ(telling("grant"), (Names{"C"}));
}

TEST_P(Many, PassesOverTheDeadWhoWait) {
  use_lock("b");
  acquire("A");
  queue_the_dead(kSkips + 5);
  lapse();
  EXPECT_EQ(take("B", {"a", "b"}).code, "more");
  EXPECT_EQ(holder("a"), "");
  EXPECT_EQ(take("B", {"a", "b"}).code, "more");
  EXPECT_EQ(take("B", {"a", "b"}).code, "granted");
  EXPECT_EQ(holder("b"), "B");
}

TEST_P(Many, TakesWhatLapsed) {
  use_lock("a");
  acquire("A");
  lapse();
  use_lock("b");
  share("A");
  lapse_member(client_id("A"));
  EXPECT_EQ(take("B", {"a", "b"}).code, "granted");
  EXPECT_EQ(holder("a"), "B");
  EXPECT_EQ(holder("b"), "B");
  EXPECT_EQ(members_of("b"), Names{});
}

TEST_P(Many, WaitsOutTheLockDelayOfALostName) {
  use_lock("b");
  acquire_with({.client = "A", .delay = 5 * kSecond});
  leave_with({.client = "A", .lost = true});
  expect_none("busy");
}

TEST_P(Many, WaitsForTheLeaveOfAnOlderClaimWithALockDelay) {
  for (const char* const group : {"", "r"}) {
    command({"FLUSHALL"});
    use_lock("b");
    acquire_with({.client = "B", .epoch = 1, .delay = 5 * kSecond, .group = group});
    const std::string before = contents();
    EXPECT_EQ(take("B", {"a", "b"}, 2).code, "busy");
    EXPECT_EQ(contents(), before);
    use_lock("b");
    leave("B", 1);
    EXPECT_EQ(take("B", {"a", "b"}, 2).code, "granted");
  }
}

TEST_P(Many, IsStaleWhereAClaimWasLostAndLeft) {
  for (const char* const group : {"", "r"}) {
    command({"FLUSHALL"});
    use_lock("b");
    acquire_with({.client = "B", .delay = 5 * kSecond, .group = group});
    leave_with({.client = "B", .lost = true});
    const std::string before = contents();
    EXPECT_EQ(take_as({.client = "B"}, {{"a", ""}, {"b", group}}).code, "stale");
    EXPECT_EQ(contents(), before);
  }
}

TEST_P(Many, IsToldAgainWhenRepeated) {
  const Many::Wanted wanted{{"a", ""}, {"b", "r"}};
  const Taken first = take_as({.client = "A"}, wanted);
  const Taken second = take_as({.client = "A", .lease = 2 * kLease}, wanted);
  ASSERT_EQ(second.code, "granted");
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(second.names[i].fence, first.names[i].fence);
    EXPECT_EQ(second.names[i].last, first.names[i].last);
  }
  use_lock("a");
  EXPECT_EQ(record()->expires, second.ts + 2 * kLease);
  EXPECT_GT(pttl(record_key()), 2 * kLease / 1000);
  use_lock("b");
  EXPECT_EQ(member(client_id("A"))->expires, second.ts + 2 * kLease);
  EXPECT_EQ(record()->used, 1);
  EXPECT_EQ(take_as({.client = "A", .lease = kSecond}, wanted).code, "granted");
  EXPECT_EQ(member(client_id("A"))->expires, second.ts + 2 * kLease);
}

TEST_P(Many, SaysWhenItIsRepeatedWhetherAnybodyWaits) {
  take("A", {"a", "b"});
  listen({"C"});
  use_lock("b");
  acquire("C");
  const Taken again = take("A", {"a", "b"});
  EXPECT_EQ(again.names[0].waits, 0);
  EXPECT_EQ(again.names[1].waits, 1);
}

TEST_P(Many, IsNotToldAgainOfWhatHasLapsedSinceAndOthersWaitFor) {
  listen({"C"});
  for (const std::string lapsed : {"a", "b"}) {
    const Many::Wanted wanted{{"a", ""}, {"b", "r"}};
    ASSERT_EQ(take_as({.client = "A"}, wanted).code, "granted");
    use_lock(lapsed);
    acquire("C");
    lapsed == "a" ? lapse() : lapse_member(client_id("A"));
    EXPECT_EQ(take_as({.client = "A"}, wanted).code, "busy");
    EXPECT_EQ(holder(lapsed), "C");
    leave("C");
    use_lock(lapsed == "a" ? "b" : "a");
    leave("A");
  }
}

TEST_P(Many, TakesTheRestWhenRepeatedAfterOneWasWiped) {
  const Taken first = take("A", {"a", "b"});
  use_lock("b");
  command({"DEL", record_key()});
  const Taken second = take("A", {"a", "b"});
  ASSERT_EQ(second.code, "granted");
  EXPECT_EQ(second.names[0].fence, first.names[0].fence);
  EXPECT_GT(second.names[1].fence, first.names[1].last);
}

TEST_P(Many, IsStaleBehindANewerClaimOfItsClient) {
  use_lock("b");
  acquire("B", 2);
  expect_none("stale");
  leave("B", 2);
  share("B", 2);
  expect_none("stale");
}

TEST_P(Many, IsStaleBehindANewerClaimThatWaits) {
  use_lock("b");
  acquire("A");
  acquire("B", 2);
  expect_none("stale");
}

TEST_P(Many, TakesNoNameThatItsOwnClaimWaitsFor) {
  use_lock("b");
  acquire("A");
  acquire("B", 1);
  lapse();
  expect_none("busy");
}

TEST_P(Many, ReplacesOlderClaimsOfItsClient) {
  use_lock("a");
  const Acquired alone = acquire("A", 1);
  use_lock("b");
  share("A", 1);
  const Taken reply = take("A", {"a", "b"}, 2);
  ASSERT_EQ(reply.code, "granted");
  EXPECT_GT(reply.names[0].fence, alone.last);
  EXPECT_EQ(holder("b"), "A");
  EXPECT_EQ(record()->epoch, 2);
  EXPECT_EQ(members_of("b"), Names{});
}

TEST_P(Many, IsLateAfterItsTime) {
  EXPECT_EQ(take_as({.client = "A", .not_after = now() - 1}, {{"a", ""}, {"b", ""}}).code, "late");
  EXPECT_EQ(contents(), "");
}

TEST_P(Many, HasFencesAboveThoseOfItsSlotAndThoseSeen) {
  const Many::Wanted wanted{{"a", ""}, {"b", "r"}};
  use_lock("a");
  const std::int64_t highest = kFarFence;
  store_fence(highest);
  const Taken reply = take_as({.client = "A", .highest = highest + 5}, wanted);
  EXPECT_EQ(reply.names[0].fence, highest + 6);
  EXPECT_EQ(reply.names[1].fence, highest + 6);
}

TEST_P(Many, HasDistinctFencesInOneSlot) {
  // All three share the fence's key, as names of one hash tag do.
  const AcquireCall call{.client = "A"};
  std::vector<std::string> keys;
  for (const char* const name : {"a", "b", "c"}) {
    std::vector<std::string> own = keys_of(name);
    own[1] = "belay:f:{0}";
    keys.insert(keys.end(), own.begin(), own.end());
  }
  const Reply reply =
      run(scripts::kMany, keys,
          {kInbox, "", head(call) + row(call) + row(call) + row(call), "", "r", ""});
  ASSERT_EQ(reply.text[0], 1);
  Unpacker in(std::string_view(reply.text).substr(9));
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(in.number(), last);
    last = in.number();
    in.u8();
  }
  EXPECT_EQ(Unpacker(command({"GET", "belay:f:{0}"}).text).number(), last);
}

TEST_P(Many, TakesUpTo256) {
  Names names;
  for (int i = 0; i < 256; ++i) {
    names.push_back("name" + std::to_string(i));
  }
  const Taken reply = take("A", names);
  ASSERT_EQ(reply.code, "granted");
  EXPECT_EQ(reply.names.size(), 256U);
  EXPECT_EQ(holder("name255"), "A");
  names.push_back("name256");
  EXPECT_EQ(take("B", names).code, "BELAYARGS");
}

TEST_P(Many, RefusesCallsThatNoClientMakes) {
  const AcquireCall sent{.client = "B"};
  const std::string packed = head(sent) + row(sent);
  const std::vector<std::string> keys = keys_of("a");
  const auto code = [&](const std::vector<std::string>& args) {
    return run(scripts::kMany, keys, args).error_code();
  };
  EXPECT_EQ(code({kInbox, "info"}), "BELAYARGS");
  EXPECT_EQ(code({kInbox, "info", packed.substr(1)}), "BELAYARGS");
  EXPECT_EQ(code({kInbox, "info", head(sent)}), "BELAYARGS");
  EXPECT_EQ(code({kInbox, "info", packed + row(sent)}), "BELAYARGS");  // more than the keys
  EXPECT_EQ(code({kInbox, "info", packed, "r", "r"}), "BELAYARGS");
  EXPECT_EQ(code({kInbox, "info", packed, std::string(65536, 'r')}), "BELAYARGS");
  EXPECT_EQ(code({kInbox, "info", std::string(1, '\0') + packed.substr(1)}), "BELAYARGS");
  for (const AcquireCall& call :
       {AcquireCall{.client = "B", .lease = -1}, AcquireCall{.client = "B", .not_after = -1},
        AcquireCall{.client = "B", .epoch = -1}, AcquireCall{.client = "B", .highest = -1},
        AcquireCall{.client = "B", .delay = std::int64_t{1} << 53}}) {
    EXPECT_EQ(code({kInbox, "info", head(call) + row(call)}), "BELAYARGS");
  }
  EXPECT_EQ(take("B", {"a", "b", "a"}).code, "BELAYARGS");
  EXPECT_EQ(contents(), "");
}

TEST_P(Many, TakesNoneWhereOneIsNoLock) {
  use_lock("b");
  command({"RPUSH", record_key(), "x"});
  expect_none("BELAYTYPE");
  EXPECT_NE(take("B", {"a", "b"}).words.find("key " + record_key() + " holds a list"),
            std::string::npos);
}

TEST_P(Many, TakesNoneWhereOneIsASemaphore) {
  use_lock("b");
  permits("A", 1, 2);
  expect_none("BELAYTYPE");
  EXPECT_NE(take("B", {"a", "b"}).words.find("key " + record_key() + " holds a semaphore"),
            std::string::npos);
}

TEST_P(Many, TakesNoneWhereOneIsOfANewerVersion) {
  use_lock("b");
  acquire("A");
  command({"SETRANGE", record_key(), "0", "\3"});
  expect_none("BELAYVERSION");
  EXPECT_NE(take("B", {"a", "b"}).words.find("key " + record_key()), std::string::npos);
}

TEST_P(Many, TakesNoneWhereAKeyBesideTheRecordIsForeign) {
  const std::map<std::size_t, std::string> foreign{{1, "no fence"}, {2, "a string"}};
  for (const auto& [index, text] : foreign) {
    use_lock("b");
    command({"SET", keys()[index], text});
    expect_none("BELAYTYPE");
    EXPECT_NE(take("B", {"a", "b"}).words.find("key " + keys()[index]), std::string::npos);
    command({"DEL", keys()[index]});
  }
  for (const std::size_t index : {3U}) {  // which only those who share use
    use_lock("b");
    command({"SET", keys()[index], "a string"});
    const std::string before = contents();
    const Taken reply = take_as({.client = "B"}, {{"a", ""}, {"b", "r"}});
    EXPECT_EQ(reply.code, "BELAYTYPE");
    EXPECT_NE(reply.words.find("key " + keys()[index]), std::string::npos);
    EXPECT_EQ(contents(), before);
    command({"DEL", keys()[index]});
  }
}

class ManyInFullMemory : public Many {
 protected:
  void fill() { ASSERT_EQ(command({"CONFIG", "SET", "maxmemory", "1"}).canonical(), "+OK"); }

  void TearDown() override { command({"CONFIG", "SET", "maxmemory", "0"}); }
};

TEST_P(ManyInFullMemory, TakesNone) {
  fill();
  expect_none("OOM");
  const std::string before = contents();
  EXPECT_EQ(take_as({.client = "B"}, {{"a", "r"}, {"b", ""}}).code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(ManyInFullMemory, StillTellsAgain) {
  const Many::Wanted wanted{{"a", ""}, {"b", "r"}};
  const Taken first = take_as({.client = "A"}, wanted);
  fill();
  const Taken second = take_as({.client = "A"}, wanted);
  ASSERT_EQ(second.code, "granted");
  EXPECT_EQ(second.names[1].fence, first.names[1].fence);
}

ON_ALL_BACKENDS(Many);
ON_ALL_BACKENDS(ManyInFullMemory);

}  // namespace
}  // namespace belay::test
