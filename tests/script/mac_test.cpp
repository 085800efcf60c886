// What a script tells a waiter, as its client reads it, and nobody else. On every server; one
// thread. That no reply and no message shows a secret, the fixture sees to.
#include "dialect/mac.h"

#include "dialect/native.h"
#include "script/latch_fixture.h"

namespace belay::test {
namespace {

Identity identity(const std::string& client) {
  return {client_id(client), "belay:", "info", "the secret of " + client};
}

class Mac : public LatchTest {
 protected:
  // What `client` makes of the one message that was sent.
  static std::optional<belay::Message> read_by(const std::string& client,
                                               const std::string& payload) {
    return NativeDialect(identity(client), kSecond).read_message(payload);
  }

  std::string only_message() {
    const std::vector<Message> messages = take_messages();
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? "" : messages[0].payload;
  }

  void wait_as(const std::string& client, std::int64_t epoch, int kind, const std::string& group) {
    AcquireCall call{
        .client = client, .epoch = epoch, .grant = kSecond, .kind = kind, .group = group};
    call.limit = kind == kSemaphore ? 1 : 0;
    call.secret = secret_of(identity(client), epoch);
    ASSERT_EQ(acquire_with(call).code, "queued");
  }
};

TEST_P(Mac, OfAGrantIsRightForItsWaiterAlone) {
  struct Case {
    int kind;
    std::string group;
  };

  for (const Case& tried : {Case{kLock, ""}, Case{kLock, "r"}, Case{kSemaphore, ""}}) {
    use_lock("orders" + std::to_string(tried.kind) + tried.group);
    listen({"B"});
    acquire_with({.client = "A", .kind = tried.kind, .limit = tried.kind == kSemaphore ? 1 : 0});
    wait_as("B", 9, tried.kind, tried.group);
    take_messages();
    leave_with({.client = "A", .kind = tried.kind});
    const std::string payload = only_message();
    const std::optional<belay::Message> message = read_by("B", payload);
    ASSERT_TRUE(message) << tried.kind << tried.group;
    EXPECT_EQ(message->kind, MessageKind::kGrant);
    EXPECT_EQ(message->epoch, 9);
    EXPECT_FALSE(read_by("C", payload));
  }
}

TEST_P(Mac, OfPassedIsRightForItsWaiterAlone) {
  listen({"V"});
  const LatchReply latch = set(1);
  await_with({.client = "V", .epoch = 3, .secret = secret_of(identity("V"), 3)});
  count_down();
  const std::string payload = only_message();
  const std::optional<belay::Message> message = read_by("V", payload);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, MessageKind::kPassed);
  EXPECT_EQ(message->generation, latch.generation);
  EXPECT_FALSE(read_by("W", payload));
}

TEST_P(Mac, FollowsTheSecretOfTheLatestAsk) {
  listen({"B"});
  acquire("A");
  acquire_with({.client = "B", .epoch = 9});
  wait_as("B", 9, kLock, "");
  take_messages();
  leave("A");
  EXPECT_TRUE(read_by("B", only_message()));
}

TEST_P(Mac, SecretStandsInTheEntryAndNowhereElse) {
  listen({"B"});
  acquire_with({.client = "A"});
  acquire_with({.client = "B", .epoch = 9, .info = "billing"});
  EXPECT_NE(waiter(client_id("B")).find(kSecret), std::string::npos);
  EXPECT_EQ(inspect().waiters.at(0).info, "billing");
  leave("A");
  EXPECT_EQ(contents().find(kSecret), std::string::npos);
}

ON_ALL_BACKENDS(Mac);

}  // namespace
}  // namespace belay::test
