// The scripts as they are embedded: their names on the servers, and what they do not touch.
// One thread.
#include "scripts/scripts.h"

#include "script/lock_fixture.h"

namespace belay::test {
namespace {

const Script* const kAllScripts[] = {
    &scripts::kAcquire,    &scripts::kMany,      &scripts::kLeave,    &scripts::kRelease,
    &scripts::kTake,       &scripts::kRenew,     &scripts::kInspect,  &scripts::kBreak,
    &scripts::kLimit,      &scripts::kGuard,     &scripts::kLatchSet, &scripts::kLatchDown,
    &scripts::kLatchAwait, &scripts::kLatchLeave};

class Scripts : public LockTest {};

TEST_P(Scripts, HaveTheSha1ThatTheServerGivesThem) {
  for (const Script* const script : kAllScripts) {
    EXPECT_EQ(command({"SCRIPT", "LOAD", std::string(script->body)}).text, script->sha1)
        << script->name;
  }
}

TEST_P(Scripts, AreMissedByTheirSha1UntilLoaded) {
  command({"SCRIPT", "FLUSH"});
  const std::string sha1(scripts::kInspect.sha1);
  EXPECT_EQ(command({"EVALSHA", sha1, "0"}).error_code(), "NOSCRIPT");
  EXPECT_EQ(command({"SCRIPT", "EXISTS", sha1}).canonical(), "[0]");
}

TEST_P(Scripts, KeepToTheKeysOfTheirLock) {
  acquire("A");
  acquire("B");
  command({"DEL", record_key(), fence_key(), queue_key(), waiters_key(), ends_key()});
  EXPECT_EQ(contents(), "");
}

// An error for the arguments comes after the check of the rights.
TEST_P(Scripts, ChangeNothingWhereTheyCheckTheRights) {
  const std::vector<std::string> keys{record_key(), fence_key(), queue_key(), waiters_key(),
                                      ends_key()};
  for (std::size_t shift = 0; shift < keys.size(); ++shift) {
    command({"FLUSHALL"});
    const auto key = [&](std::size_t index) { return keys[(index + shift) % keys.size()]; };
    command({"SET", key(0), "text"});
    command({"SET", key(1), "other text", "PX", "100000"});
    command({"ZADD", key(2), "1", "member"});
    command({"HSET", key(3), "field", "value"});
    if (shift > 0) {  // DEL has no key to be tried on, else
      command({"ZADD", key(4), "1", "member"});
    }
    const std::string before = contents();
    for (const Script* const script : kAllScripts) {
      std::vector<std::string> call{"EVAL", std::string(script->body), "5"};
      call.insert(call.end(), keys.begin(), keys.end());
      call.emplace_back("mark?");
      EXPECT_EQ(command(call).error_code(), "BELAYARGS") << script->name;
      EXPECT_EQ(contents(), before) << script->name;
    }
  }
}

ON_ALL_BACKENDS(Scripts);

}  // namespace
}  // namespace belay::test
