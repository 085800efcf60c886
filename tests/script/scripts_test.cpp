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

ON_ALL_BACKENDS(Scripts);

}  // namespace
}  // namespace belay::test
