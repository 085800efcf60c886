// Guard, the fenced write, on every server. One thread.
#include "base/config.h"
#include "base/packing.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

const std::string kData = "order";
const std::string kGuard = "belay:g:{1}:order";

std::string packed(std::int64_t number) {
  return Packer().number(number).take();
}

// A fence that may write for ever.
std::string under(std::int64_t fence) {
  return packed(fence) + packed(kNever);
}

class Guard : public LockTest {
 protected:
  // What came of a command under a fence: "written REPLY", "stale NEWEST", "late", or the code of
  // an error.
  std::string write(std::int64_t fence, const std::vector<std::string>& words,
                    std::int64_t not_after = kNever) {
    std::vector<std::string> args{packed(fence) + packed(not_after)};
    args.insert(args.end(), words.begin(), words.end());
    const Reply reply = run(scripts::kGuard, {kData, kGuard}, args);
    if (reply.is_error()) {
      return reply.error_code();
    }
    if (is_late(reply)) {
      return "late";
    }
    const std::string newest = std::to_string(Unpacker(reply.elements.at(1).text).number());
    if (reply.elements.at(0).integer == 2) {
      EXPECT_EQ(reply.elements.size(), 2U);
      return "stale " + newest;
    }
    EXPECT_EQ(reply.elements.at(0).integer, 1);
    EXPECT_EQ(newest, std::to_string(fence));
    return "written " + (reply.elements.size() > 2 ? reply.elements[2].canonical() : "");
  }

  std::string data() { return command({"GET", kData}).text; }

  std::int64_t newest() { return Unpacker(command({"GET", kGuard}).text).number(); }
};

TEST_P(Guard, WritesUnderTheFirstFence) {
  EXPECT_EQ(write(100, {"SET", "paid"}), "written +OK");
  EXPECT_EQ(data(), "paid");
  EXPECT_EQ(newest(), 100);
}

TEST_P(Guard, WritesAgainUnderTheSameFence) {
  write(100, {"SET", "paid"});
  EXPECT_EQ(write(100, {"SET", "sent"}), "written +OK");
  EXPECT_EQ(data(), "sent");
}

TEST_P(Guard, WritesUnderANewerFence) {
  write(100, {"SET", "paid"});
  EXPECT_EQ(write(101, {"SET", "sent"}), "written +OK");
  EXPECT_EQ(data(), "sent");
  EXPECT_EQ(newest(), 101);
}

TEST_P(Guard, RefusesAnOlderFenceAndChangesNothing) {
  write(100, {"SET", "paid"});
  const std::string before = contents();
  EXPECT_EQ(write(99, {"SET", "late"}), "stale 100");
  EXPECT_EQ(contents(), before);
}

TEST_P(Guard, ChangesNothingWhenItComesLate) {
  write(100, {"SET", "paid"});
  const std::string before = contents();
  EXPECT_EQ(write(101, {"SET", "sent"}, now() - 1), "late");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(write(101, {"SET", "sent"}, now() + kSecond * 60), "written +OK");
}

TEST_P(Guard, RemembersTheFenceOfADeletedKey) {
  write(100, {"SET", "paid"});
  EXPECT_EQ(write(101, {"DEL"}), "written 1");
  EXPECT_EQ(write(100, {"SET", "late"}), "stale 101");
  EXPECT_EQ(data(), "");
}

TEST_P(Guard, TellsAllDigitsOfAFence) {
  const std::int64_t fence = 1'700'000'000'000'001;
  write(fence, {"SET", "paid"});
  EXPECT_EQ(write(fence - 1, {"SET", "late"}), "stale " + std::to_string(fence));
}

TEST_P(Guard, WritesKeysOfEveryType) {
  EXPECT_EQ(write(1, {"HSET", "state", "paid"}), "written 1");
  EXPECT_EQ(command({"HGET", kData, "state"}).text, "paid");
  EXPECT_EQ(write(2, {"DEL"}), "written 1");
  EXPECT_EQ(write(3, {"rpush", "a", "b"}), "written 2");
  EXPECT_EQ(command({"LLEN", kData}).integer, 2);
  EXPECT_EQ(write(2, {"RPUSH", "late"}), "stale 3");
}

TEST_P(Guard, PassesOptionsOn) {
  EXPECT_EQ(write(1, {"SET", "paid", "PX", "60000"}), "written +OK");
  EXPECT_GT(pttl(kData), 0);
  EXPECT_EQ(pttl(kGuard), -1);
}

TEST_P(Guard, TellsOfAWriteThatFoundNothingToDo) {
  write(1, {"SET", "paid"});
  EXPECT_EQ(write(2, {"SET", "sent", "NX"}), "written null");
  EXPECT_EQ(data(), "paid");
  EXPECT_EQ(newest(), 2);
}

TEST_P(Guard, ForgetsTheFenceOfACommandThatFailed) {
  write(100, {"SET", "paid"});
  const std::string before = contents();
  EXPECT_EQ(write(101, {"HSET", "f", "v"}), "WRONGTYPE");
  EXPECT_EQ(write(101, {"SET", "paid", "PX", "no number"}), "ERR");
  EXPECT_EQ(write(101, {"SET"}), "ERR");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(write(100, {"SET", "sent"}), "written +OK");
}

TEST_P(Guard, RefusesWhatIsNoWriteOfOneKey) {
  command({"SET", kData, "1"});
  const std::string before = contents();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"GET"},
           {"DEL", "another"},
           {"UNLINK", "another"},
           {"RENAME", "another"},
           {"EVAL", "0"},
           {"FLUSHALL"},
           {"PUBLISH", "x"},
           {"nonsense"},
           {"set setbit", "x"},
           {"s.t", "x"},
           {"", "x"},
       }) {
    EXPECT_EQ(write(100, words), "BELAYCOMMAND") << words[0];
    EXPECT_EQ(contents(), before) << words[0];
  }
}

TEST_P(Guard, LeavesAloneWhatIsNoFence) {
  for (const std::vector<std::string>& foreign : std::vector<std::vector<std::string>>{
           {"SET", kGuard, "17"},
           {"SET", kGuard, packed(-1)},
           {"RPUSH", kGuard, "x"},
       }) {
    command({"DEL", kGuard});
    command({"HSET", kData, "f", "v"});
    command(foreign);
    const std::string before = contents();
    std::vector<std::string> args{under(100), "HSET", "f", "w"};
    const Reply reply = run(scripts::kGuard, {kData, kGuard}, args);
    EXPECT_EQ(reply.error_code(), "BELAYTYPE");
    EXPECT_NE(reply.text.find(kGuard), std::string::npos) << reply.text;
    EXPECT_EQ(contents(), before);
  }
}

TEST_P(Guard, RefusesCallsThatNoClientMakes) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {},
           {under(1)},
           {packed(1), "SET", "x"},
           {"1", "SET", "x"},
           {under(0), "SET", "x"},
           {under(kMaxFence + 1), "SET", "x"},
           {under(-1), "SET", "x"},
           {std::string(8, '\xFF') + packed(kNever), "SET", "x"},
           {packed(1) + std::string(8, '\xFF'), "SET", "x"},
       }) {
    EXPECT_EQ(run(scripts::kGuard, {kData, kGuard}, args).error_code(), "BELAYARGS");
    EXPECT_EQ(run(scripts::kGuard, {kData}, args).error_code(), "BELAYARGS");
  }
  EXPECT_EQ(contents(), "");
}

TEST_P(Guard, ChangesNothingWhereMemoryIsFull) {
  write(100, {"SET", "paid"});
  const std::string before = contents();
  command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(write(101, {"SET", "sent"}), "OOM");
  EXPECT_EQ(contents(), before);
}

TEST_P(Guard, RemembersTheFenceOfADeletionWhereMemoryIsFull) {
  write(100, {"SET", "paid"});
  command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(write(101, {"DEL"}), "written 1");
  EXPECT_EQ(newest(), 101);
}

TEST_P(Guard, TriesInVainWithoutATraceWhereTheCommandFails) {
  command({"SET", kGuard, packed(100), "PX", "60000"});
  EXPECT_EQ(write(101, {"HSET", "f"}), "ERR");
  EXPECT_EQ(newest(), 100);
  EXPECT_GT(pttl(kGuard), 0);
}

ON_ALL_BACKENDS(Guard);

// Where a user may not keep the fence. The simulated server knows no users.
class GuardRights : public Guard {
 protected:
  void TearDown() override { command({"ACL", "DELUSER", "writer"}); }

  // The same by a user with these rights beside its own command's.
  std::string write_as_user(const std::vector<std::string>& rights, std::int64_t fence,
                            const std::vector<std::string>& words) {
    std::vector<std::string> user{"ACL",    "SETUSER", "writer",   "reset", "on",   ">secret",
                                  "~order", "+auth",   "+evalsha", "+eval", "+time"};
    user.insert(user.end(), rights.begin(), rights.end());
    if (command(user).is_error()) {
      return "no such rights";  // before Redis 7.0
    }
    EXPECT_EQ(command({"AUTH", "writer", "secret"}).text, "OK");
    const std::string outcome = write(fence, words);
    EXPECT_EQ(command({"AUTH", "default", "any"}).text, "OK");
    return outcome;
  }
};

TEST_P(GuardRights, ChangesNothingWhereTheFenceMayNotBeKept) {
  const std::vector<std::string> no_set{"~belay:*", "+get", "+incr"};
  EXPECT_FALSE(write_as_user(no_set, 1002, {"INCR"}).starts_with("written"));
  EXPECT_EQ(contents(), "");
  EXPECT_EQ(write(5, {"INCR"}), "written 1");
  const std::string before = contents();
  EXPECT_FALSE(write_as_user(no_set, 1002, {"INCR"}).starts_with("written"));
  EXPECT_EQ(contents(), before);
}

TEST_P(GuardRights, ChangesNothingWhereTheGuardMayOnlyBeRead) {
  const std::vector<std::string> read_only{"%R~belay:*", "+get", "+set", "+incr"};
  EXPECT_FALSE(write_as_user(read_only, 1002, {"INCR"}).starts_with("written"));
  EXPECT_EQ(contents(), "");
}

TEST_P(GuardRights, WritesWithNoMoreThanTheReadmeSays) {
  const std::vector<std::string> least{"~belay:*", "+get", "+set", "+incr"};
  EXPECT_EQ(write_as_user(least, 1002, {"INCR"}), "written 1");
  EXPECT_EQ(write_as_user(least, 1003, {"INCR"}), "written 2");
  EXPECT_EQ(write_as_user(least, 5, {"INCR"}), "stale 1003");
}

INSTANTIATE_TEST_SUITE_P(On, GuardRights,
                         testing::Values(Backend::Kind::kRedis, Backend::Kind::kValkey),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace belay::test
