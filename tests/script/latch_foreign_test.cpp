// What the latch's verbs do where their keys hold something else, and where memory is full; on
// every server. One thread.

#include "base/config.h"
#include "base/contract.h"
#include "base/packing.h"
#include "script/latch_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

const std::vector<std::string> kVerbs{"set", "down", "await"};

class LatchForeign : public LatchTest {
 protected:
  Reply call(const std::string& verb) {
    if (verb == "set") {
      const SetCall call{.client = "A", .number = 99, .count = 1};
      return run(scripts::kLatchSet, latch_keys().set, {call.packed(), kInbox, "info"});
    }
    if (verb == "down") {
      return run(scripts::kLatchDown, latch_keys().other,
                 {DownCall{.client = "A", .number = 99, .by = 9}.packed(), kInbox});
    }
    const AwaitCall call{.client = "W"};
    return run(scripts::kLatchAwait, latch_keys().other, {call.packed(), "info"});
  }

  // Expects each of these verbs to answer an error that says `text`, and to change nothing.
  void expect_refusal(const std::vector<std::string>& verbs, const std::string& text) {
    const std::string before = contents();
    for (const std::string& verb : verbs) {
      const Reply reply = call(verb);
      EXPECT_TRUE(reply.is_error()) << verb;
      EXPECT_NE(reply.text.find(text), std::string::npos) << verb << ": " << reply.text;
      EXPECT_EQ(contents(), before) << verb;
    }
  }
};

TEST_P(LatchForeign, LockAtTheRecordsKeyIsLeftAlone) {
  acquire("A");
  expect_refusal(kVerbs, "BELAYTYPE key " + record_key() + " holds a lock, not a latch");
  command({"SETRANGE", record_key(), "1", "\x02"});
  expect_refusal(kVerbs, "BELAYTYPE key " + record_key() + " holds a semaphore, not a latch");
}

TEST_P(LatchForeign, LatchIsLeftAloneByTheVerbsOfTheLock) {
  set(1);
  const std::string before = contents();
  EXPECT_EQ(acquire("A").code, "BELAYTYPE");
  EXPECT_EQ(renew({.client = "A", .fence = 1}).code, "unreadable");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchForeign, ListAtAnyKeyIsLeftAloneAndNamed) {
  for (const std::size_t place : {0U, 1U, 2U}) {
    const std::string& key = latch_keys().set[place];
    command({"FLUSHALL"});
    set(1);
    await("V");
    command({"DEL", key});
    command({"RPUSH", key, "x"});
    const std::string words = "BELAYTYPE key " + key + " holds a list";
    const std::vector<std::vector<std::string>> concerned{kVerbs, {}, {"down", "await"}};
    expect_refusal(concerned[place], words);
  }
}

TEST_P(LatchForeign, ListAtTheFencesKeyKeepsALatchFromBeingSet) {
  command({"RPUSH", fence_key(), "x"});
  expect_refusal({"set"}, "BELAYTYPE key " + fence_key() + " holds a list");
}

TEST_P(LatchForeign, ListInPlaceOfWaitersKeepsALatchFromBeingSet) {
  command({"RPUSH", queue_key(), "x"});
  expect_refusal({"set"}, "BELAYTYPE key " + queue_key() + " holds a list");
}

TEST_P(LatchForeign, TextAtTheRecordsKeyIsLeftAlone) {
  for (const std::string& text : {std::string("17"), std::string(100, '\0')}) {
    command({"SET", record_key(), text});
    expect_refusal(kVerbs, "BELAYTYPE key " + record_key() + " does not hold a latch");
  }
}

TEST_P(LatchForeign, NewerVersionsRecordIsLeftAlone) {
  set(1);
  command({"SETRANGE", record_key(), "0", "\x03"});
  expect_refusal(kVerbs, "BELAYVERSION key " + record_key() + " was written by a newer version");
}

TEST_P(LatchForeign, OlderVersionsRecordIsLeftAlone) {
  set(1);
  command({"SETRANGE", record_key(), "0", "\x01"});
  expect_refusal(kVerbs, "BELAYVERSION key " + record_key() + " was written by an older version");
}

// A record whose numbers are none: count, three about requests, generation, opened since, expiry.
TEST_P(LatchForeign, RecordWithoutNumbersIsLeftAlone) {
  for (const char* offset : {"3", "11", "19", "27", "35", "43", "51"}) {
    command({"FLUSHALL"});
    set(1);
    command({"SETRANGE", record_key(), offset, std::string(8, '\xFF')});
    expect_refusal(kVerbs, "BELAYTYPE key " + record_key() + " does not hold a latch");
  }
}

TEST_P(LatchForeign, RecordWithoutAnEndIsLeftAloneByTheVerbsOfTheLock) {
  set(1);
  command({"SETRANGE", record_key(), std::to_string(contract::kLatchEndOffset),
           std::string(8, '\xFF')});
  const std::string before = contents();
  EXPECT_EQ(acquire("A").code, "BELAYTYPE");
  EXPECT_EQ(acquire_with({.client = "A", .group = "r"}).code, "BELAYTYPE");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchForeign, WaiterWhoseEntryCannotBeReadIsDropped) {
  listen({"V", "W"});
  set(1);
  await("V");
  await("W");
  write_waiter(client_id("V"), "short");
  EXPECT_EQ(count_down().code, "counted");
  EXPECT_EQ(told_briefly(), std::vector<std::string>{"W passed 1"});
  EXPECT_TRUE(queue().empty());
}

TEST_P(LatchForeign, CallsThatNoClientMakesAreRefused) {
  set(3);
  await("V");
  const std::string before = contents();
  const auto refused = [&](const Script& script, const std::vector<std::string>& args) {
    EXPECT_EQ(run(script, latch_keys().set, args).error_code(), "BELAYARGS") << script.name;
    EXPECT_EQ(run(script, keys(), args).error_code(), "BELAYARGS") << script.name;
    EXPECT_EQ(contents(), before) << script.name;
  };
  for (const Script* script : {&scripts::kLatchSet, &scripts::kLatchDown, &scripts::kLatchAwait}) {
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {}, {"x"}, {"x", "x"}, {"x", "x", "x"}, {"x", "x", "x", "x"}}) {
      refused(*script, args);
    }
  }
  refused(scripts::kLatchSet, {SetCall{.client = "A", .count = 0}.packed(), kInbox, "info"});
  refused(scripts::kLatchSet, {SetCall{.client = "A", .count = -1}.packed(), kInbox, "info"});
  refused(scripts::kLatchSet, {SetCall{.client = "A", .life = -1}.packed(), kInbox, "info"});
  refused(scripts::kLatchSet, {SetCall{.client = "A", .highest = -1}.packed(), kInbox, "info"});
  refused(scripts::kLatchSet, {SetCall{.client = "A", .not_after = -1}.packed(), kInbox, "info"});
  refused(scripts::kLatchDown, {DownCall{.client = "A", .by = 0}.packed(), kInbox});
  refused(scripts::kLatchDown, {DownCall{.client = "A", .by = -1}.packed(), kInbox});
  refused(scripts::kLatchDown, {DownCall{.client = "A", .not_after = -1}.packed(), kInbox});
  refused(scripts::kLatchAwait, {AwaitCall{.client = "A", .generation = -1}.packed(), "info"});
  refused(scripts::kLatchAwait, {AwaitCall{.client = "A", .ticket = -1}.packed(), "info"});
}

ON_ALL_BACKENDS(LatchForeign);

// The server's memory is full and it evicts nothing.
class LatchFullMemory : public LatchTest {
 protected:
  void fill() { ASSERT_EQ(command({"CONFIG", "SET", "maxmemory", "1"}).canonical(), "+OK"); }

  void TearDown() override { command({"CONFIG", "SET", "maxmemory", "0"}); }
};

TEST_P(LatchFullMemory, RefusesANewLatchAndChangesNothing) {
  const std::string before = contents();
  fill();
  EXPECT_EQ(set(1).code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchFullMemory, RefusesANewWaiterAndChangesNothing) {
  set(1);
  const std::string before = contents();
  fill();
  EXPECT_EQ(await("V").code, "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(LatchFullMemory, StillLetsAWaiterAskAgain) {
  set(1);
  await("V");
  fill();
  EXPECT_EQ(await("V").code, "queued");
}

TEST_P(LatchFullMemory, StillCountsDownAndOpens) {
  listen({"V"});
  set(2);
  await("V");
  fill();
  EXPECT_EQ(count_down("A", 1).count, 1);
  EXPECT_EQ(count_down("A", 1).count, 1);
  EXPECT_EQ(count_down("A", 2).count, 0);
  EXPECT_EQ(told_briefly(), std::vector<std::string>{"V passed 1"});
}

TEST_P(LatchFullMemory, HasNoGenerationThatNoneCanFollow) {
  constexpr std::int64_t kLastFollowed = kMaxFence - 131'072;
  EXPECT_EQ(set_with({.client = "A", .highest = kLastFollowed + 1}).code, "BELAYTYPE");
  EXPECT_EQ(contents(), "");
  store_fence(kLastFollowed);
  EXPECT_EQ(set(1).generation, kLastFollowed + 1);
  count_down();
  const std::string before = contents();
  EXPECT_EQ(set(1).code, "BELAYTYPE");
  EXPECT_EQ(contents(), before);
}

ON_ALL_BACKENDS(LatchFullMemory);

}  // namespace
}  // namespace belay::test
