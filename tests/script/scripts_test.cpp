// The scripts as they are embedded: their names on the servers, and what they do not touch.
// One thread.
#include "scripts/scripts.h"

#include "script/lock_fixture.h"

namespace belay::test {
namespace {

const Script* const kAllScripts[] = {
    &scripts::kAcquire,   &scripts::kMany,     &scripts::kLeave,       &scripts::kRelease,
    &scripts::kTake,      &scripts::kKeep,     &scripts::kKeepMembers, &scripts::kReleaseMembers,
    &scripts::kRenew,     &scripts::kInspect,  &scripts::kBreak,       &scripts::kLimit,
    &scripts::kGuard,     &scripts::kLatchSet, &scripts::kLatchDown,   &scripts::kLatchAwait,
    &scripts::kLatchLeave};

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
  command({"DEL", record_key(), fence_key(), queue_key(), members_key()});
  EXPECT_EQ(contents(), "");
}

// An error for the arguments comes after the check of the rights.
TEST_P(Scripts, ChangeNothingWhereTheyCheckTheRights) {
  const std::vector<std::string> keys{record_key(), fence_key(), queue_key(), members_key()};
  for (std::size_t shift = 0; shift < keys.size(); ++shift) {
    command({"FLUSHALL"});
    const auto key = [&](std::size_t index) { return keys[(index + shift) % keys.size()]; };
    command({"SET", key(0), "text"});
    command({"SET", key(1), "other text", "PX", "100000"});
    command({"ZADD", key(2), "1", "member"});
    if (shift > 0) {  // DEL has no key to be tried on, else
      command({"HSET", key(3), "field", "value"});
    }
    const std::string before = contents();
    for (const Script* const script : kAllScripts) {
      std::vector<std::string> call{"EVAL", std::string(script->body), "4"};
      call.insert(call.end(), keys.begin(), keys.end());
      call.emplace_back("mark?");
      EXPECT_EQ(command(call).error_code(), "BELAYARGS") << script->name;
      EXPECT_EQ(contents(), before) << script->name;
    }
  }
}

// What a script asks the server about its user's rights goes to `answer`, a body in Lua.
std::string asking(const std::string& answer, const Script& script) {
  return "local server, redis = redis, {} for name, it in pairs(server) do redis[name] = it end "
         "redis.acl_check_cmd = function(...) " +
         answer + " end\n" + std::string(script.body);
}

// Newer servers refuse to be asked about a command with too few or too many arguments.
TEST(Rights, AreAskedForWithAsManyArgumentsAsTheCommandsTake) {
  for (const auto kind : {Backend::Kind::kRedis, Backend::Kind::kValkey}) {
    Backend& server = Backend::get(kind);
    server.reset();
    for (const Script* const script : kAllScripts) {
      server.execute(
          {"EVAL",
           asking("redis.call('HSET', 'asked', (...), select('#', ...)) return true", *script), "1",
           "key", "mark?inbox"});
    }
    const std::vector<Reply> asked = server.execute({"HGETALL", "asked"}).elements;
    EXPECT_GT(asked.size(), 40U) << "too few commands to believe it";
    for (std::size_t i = 0; i + 1 < asked.size(); i += 2) {
      const Reply info = server.execute({"COMMAND", "INFO", asked[i].text});
      ASSERT_EQ(info.elements.size(), 1U);
      ASSERT_GT(info.elements[0].elements.size(), 1U) << asked[i].text;
      const std::int64_t arity = info.elements[0].elements[1].integer;
      const std::int64_t words = std::stoll(asked[i + 1].text);
      EXPECT_TRUE(arity < 0 ? words >= -arity : words == arity)
          << asked[i].text << " is asked for with " << words << " words, its arity is " << arity;
    }
  }
}

// A check that goes wrong in itself takes no lock away; the mark says that it did.
TEST_P(Scripts, GoOnWhereTheServerCannotBeAskedAboutRights) {
  std::vector<std::string> call{"EVAL", asking("error('not now')", scripts::kAcquire), "4"};
  const std::vector<std::string> keys = keys_of("name");
  call.insert(call.end(), keys.begin(), keys.end());
  call.push_back(AcquireCall{.client = "A"}.packed());
  call.push_back("mark?" + kInbox);
  const std::string granted = command(call).text;
  EXPECT_EQ(granted.substr(0, 1), "\1");
  EXPECT_TRUE(granted.ends_with("mark?" + kInbox + "!")) << printable(granted);
}

ON_ALL_BACKENDS(Scripts);

}  // namespace
}  // namespace belay::test
