// In a cluster a client has an inbox for each slot, in that slot: a shard channel where the server
// has any. On every server; one thread.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dialect/native.h"
#include "script/lock_fixture.h"

namespace belay::test {
namespace {

class InboxOfASlot : public LockTest {
 protected:
  static NativeDialect dialect(const std::string& client) {
    return {{client_id(client), "belay:", "1 host info", "the secret of " + client, true}, kSecond};
  }

  // A reply without an error.
  void call(const Command& of) {
    std::vector<std::string> argv{"EVAL", std::string(of.script->body),
                                  std::to_string(of.keys.size())};
    argv.insert(argv.end(), of.keys.begin(), of.keys.end());
    argv.insert(argv.end(), of.args.begin(), of.args.end());
    argv.emplace_back("mark");
    const Reply reply = command(argv);
    EXPECT_EQ(reply.canonical().find("ERR"), std::string::npos) << reply.canonical();
  }

  static AcquireArgs args(std::int64_t epoch) {
    AcquireArgs args;
    args.epoch = epoch;
    args.lease = 10 * kSecond;
    args.not_after = {kMaxId};
    args.grant_lease = kSecond;
    args.queue = true;
    return args;
  }
};

TEST_P(InboxOfASlot, HearsOfAGrant) {
  const NativeDialect a = dialect("A");
  const NativeDialect b = dialect("B");
  const Resource lock = a.resource("orders");
  const std::string channel = b.inbox().channel(lock.slot);
  const bool is_sharded = GetParam() != Backend::Kind::kOldestRedis;
  command_of_listener({is_sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel});
  call(a.lock.acquire(lock, args(1)));
  call(b.lock.acquire(lock, args(1)));
  LeaveArgs leave;
  leave.epoch = 1;
  call(a.lock.leave(lock, leave));
  const std::vector<Message> messages = take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].channel, channel);
  const auto message = b.read_message(messages[0].payload);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, MessageKind::kGrant);
  command_of_listener({is_sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", channel});
}

ON_ALL_BACKENDS(InboxOfASlot);

}  // namespace
}  // namespace belay::test
