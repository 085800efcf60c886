// A core between two servers whose clocks are an hour apart, each with slots of its own: what a
// link brings goes to its own node, and time to all. And with one node that moves from the first
// to the second. Fake links, with the servers' replies by hand.
#include "core/core.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/packing.h"
#include "dialect/native.h"
#include "unit/parts.h"

namespace belay {
namespace {

// The link to it, and what its clock shows at any time.
struct Server {
  Server(std::string its_run, std::uint16_t port, Micros ahead)
      : link(Endpoint{"127.0.0.1", port, "", false}), run(std::move(its_run)), clock_ahead(ahead) {}

  RecordingLink link;
  const std::string run;
  const Micros clock_ahead;
};

// The name "a" is on the first server, all others are on the second; every slot is a group.
class CoreTest : public testing::Test {
 protected:
  // Both are hosts of one node, if it is one.
  explicit CoreTest(bool is_one = false) : is_one_(is_one) {}

  void connect() {
    core_.start(now_);
    core_.on_timer(now_);
  }

  void greet(Server& server) {
    greet_but_for_time(server);
    tell_time(server);
    server.link.sent.clear();
  }

  void greet_but_for_time(Server& server) {
    core_.node(server.link)->on_link_open(now_);
    answer(server, "%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:5\r\n");
    answer(server, ">3\r\n$9\r\nsubscribe\r\n" + bulk(me_.inbox().channel(0)) + ":1\r\n");
    answer(server, "+OK\r\n" + bulk("run_id:" + server.run + "\r\n") + bulk(""));
  }

  void answer(Server& server, const std::string& bytes) {
    core_.node(server.link)->on_link_bytes(server.link.marks.marked(bytes), now_);
  }

  Micros time_of(const Server& server) const { return now_ + server.clock_ahead; }

  void tell_time(Server& server) {
    const std::string seconds = std::to_string(time_of(server) / kSecond);
    answer(server, "*2\r\n" + bulk(seconds) + bulk(std::to_string(time_of(server) % kSecond)));
  }

  void acquire(std::int64_t tag, const std::string& name, Micros wait = kNever) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = name;
    ASSERT_TRUE(engine_.acquire(tag, request, wait, now_).ok());
  }

  void grant(Server& server) { answer(server, granted(time_of(server))); }

  void queue(Server& server) { answer(server, queued(time_of(server))); }

  void grant_by_message(Server& server, std::int64_t epoch, const std::string& name) {
    grant_by_message(server, epoch, name, server);
  }

  // Of one server, perhaps sent on by another.
  void grant_by_message(const Server& server, std::int64_t epoch, const std::string& name,
                        Server& by) {
    const GrantMessage grant{epoch, time_of(server), 60, 300 * kMillisecond, false, name};
    answer(by, pushed(me_, grant.payload(me_)));
  }

  // The commands since the last time that contain such a word.
  static std::vector<std::string> commands(Server& server, const std::string& word) {
    std::vector<std::string> found;
    for (std::string& bytes : std::exchange(server.link.sent, {})) {
      if (bytes.find(word) != std::string::npos) {
        found.push_back(std::move(bytes));
      }
    }
    return found;
  }

  const bool is_one_;
  Micros now_ = kSecond;
  Config config_;
  const Identity me_{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label", "my secret"};
  const NativeDialect dialect_{me_, config_.request_timeout};
  const LockOrSemaphore& lock_ = dialect_.lock;
  RecordedEvents events_;
  Log log_{BELAY_LOG_NONE, [] {}};
  Server first_{"r1", 7000, 100 * kSecond};
  Server second_{"r2", 7001, 3700 * kSecond};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  const std::uint16_t slot_of_a_ = lock_.resource("a").slot;
  Core core_{config_,
             dialect_,
             is_one_ ? on_one_server({first_.link.endpoint(), second_.link.endpoint()})
                     : on_two_servers(slot_of_a_, first_.link.endpoint(), second_.link.endpoint()),
             dial_to({&first_.link, &second_.link}),
             log_,
             events_,
             last_hold_,
             random_};
  Engine& engine_ = core_.engine();
};

TEST_F(CoreTest, ConnectsToEveryServerOnceStarted) {
  EXPECT_EQ(core_.next_deadline(), kNever);
  core_.start(now_);
  EXPECT_EQ(core_.next_deadline(), now_);
  core_.on_timer(now_);
  EXPECT_TRUE(first_.link.opened);
  EXPECT_TRUE(second_.link.opened);
}

TEST_F(CoreTest, KnowsWhichNodeIsBehindALinkAndWhichHasASlot) {
  connect();
  greet(second_);
  EXPECT_FALSE(core_.node(first_.link)->up());
  EXPECT_TRUE(core_.node(second_.link)->up());
  EXPECT_EQ(&core_.router().node_of(slot_of_a_), core_.node(first_.link));
  EXPECT_EQ(&core_.router().node_of(lock_.resource("b").slot), core_.node(second_.link));
}

TEST_F(CoreTest, IsDueWhenTheFirstOfItsPartsIs) {
  core_.start(now_);
  acquire(1, "a", 9 * kSecond);
  const Micros given_up_at = now_ + config_.request_timeout;
  EXPECT_EQ(core_.next_deadline(), now_);  // the nodes'
  now_ += kSecond;
  core_.on_timer(now_);
  EXPECT_EQ(core_.next_deadline(), given_up_at);  // the engine's
  core_.node(second_.link)->on_link_closed({BELAY_UNAVAILABLE, "refused"}, now_);
  EXPECT_LT(core_.next_deadline(), now_ + kSecond);  // one node's
  EXPECT_TRUE(events_.events.empty());
  now_ = given_up_at;
  core_.on_timer(now_);
  EXPECT_EQ(events_.events.size(), 1U);
}

TEST_F(CoreTest, StopsEveryNode) {
  connect();
  greet(second_);
  core_.stop();
  EXPECT_FALSE(core_.node(second_.link)->up());
  EXPECT_EQ(core_.next_deadline(), kNever);
}

class TwoNodes : public CoreTest {
 protected:
  TwoNodes() {
    connect();
    greet(first_);
    greet(second_);
  }
};

TEST_F(TwoNodes, AreEachGivenANotAfterByTheirOwnClock) {
  acquire(1, "a");
  acquire(2, "b");
  const auto not_after = [this](const Server& server) {
    return Packer().number(time_of(server) + config_.request_timeout).take();
  };
  EXPECT_EQ(commands(first_, not_after(first_)).size(), 1U);
  EXPECT_EQ(commands(second_, not_after(second_)).size(), 1U);
}

TEST_F(TwoNodes, SayNothingOfEachOthersClocks) {
  acquire(1, "a");
  acquire(2, "b");
  now_ += kMillisecond;
  grant(second_);
  grant(first_);
  ASSERT_EQ(events_.events.size(), 2U);
  const ClockBound& first = core_.node(first_.link)->clock();
  const ClockBound& second = core_.node(second_.link)->clock();
  ASSERT_TRUE(first.known(now_));
  ASSERT_TRUE(second.known(now_));
  EXPECT_LE(first.bound(now_), first_.clock_ahead + kMillisecond);
  EXPECT_GE(second.bound(now_), second_.clock_ahead);
}

// A grant that a message brings is believed by the clock of the server that it came from.
TEST_F(TwoNodes, GrantByMessageByTheirOwnClocks) {
  acquire(1, "a");
  acquire(2, "b");
  queue(first_);
  queue(second_);
  grant_by_message(first_, 1, "a");
  grant_by_message(second_, 2, "b");
  ASSERT_EQ(events_.events.size(), 2U);
  for (const Event& event : events_.events) {
    EXPECT_TRUE(event.status.ok());
    EXPECT_GT(event.remaining, 200 * kMillisecond);
    EXPECT_LE(event.remaining, 300 * kMillisecond);
  }
}

TEST_F(TwoNodes, BelieveNoGrantThatAnotherServerBrings) {
  acquire(1, "b");
  queue(second_);
  grant_by_message(second_, 1, "b", first_);
  EXPECT_TRUE(events_.events.empty());
  EXPECT_EQ(core_.router().dropped_messages(), 0U);  // servers of a cluster send on what others say
  grant_by_message(second_, 1, "b");
  EXPECT_EQ(events_.events.size(), 1U);
}

// What has slots of its own cannot be named together with others: neither renewed nor watched.
TEST_F(TwoNodes, RenewAndWatchEachSlotApart) {
  acquire(1, "a");
  grant(first_);
  for (const std::string name : {"b", "c"}) {
    acquire(name[0], name);
    grant(second_);
  }
  commands(first_, "");
  commands(second_, "");
  now_ += config_.watchdog_lease / 3;
  engine_.on_timer(now_);
  EXPECT_EQ(commands(first_, "EVAL").size(), 1U);
  const std::vector<std::string> renewals = commands(second_, "EVAL");
  ASSERT_EQ(renewals.size(), 2U);
  for (const std::string& renewal : renewals) {
    EXPECT_NE(renewal.find("{b}") != std::string::npos, renewal.find("{c}") != std::string::npos);
  }
}

// No clock is known after half a minute without an answer.
TEST_F(TwoNodes, WaitEachForTheirOwnClock) {
  now_ += 31 * kSecond;
  acquire(1, "a");
  acquire(2, "b");
  EXPECT_EQ(commands(first_, "TIME").size(), 1U);
  EXPECT_EQ(commands(second_, "TIME").size(), 1U);
  tell_time(first_);
  EXPECT_EQ(commands(first_, "EVAL").size(), 1U);
  EXPECT_TRUE(commands(second_, "").empty());
  core_.node(first_.link)->on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  EXPECT_TRUE(commands(second_, "").empty());
  tell_time(second_);
  EXPECT_EQ(commands(second_, "EVAL").size(), 1U);
}

TEST_F(TwoNodes, LoseOnlyWhatIsTheirOwn) {
  acquire(1, "a");
  acquire(2, "b");
  core_.node(first_.link)->on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  grant(second_);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 2);
  EXPECT_TRUE(events_.events[0].status.ok());
}

class OneNode : public CoreTest {
 protected:
  OneNode() : CoreTest(true) {
    connect();
    greet(first_);
  }

  // The first is gone, and the second has become the master.
  void fail_over() {
    Node& node = *core_.node(first_.link);
    node.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
    now_ = node.next_deadline();
    core_.on_timer(now_);
    node.on_link_closed({BELAY_UNAVAILABLE, "refused"}, now_);
    core_.on_timer(now_);
    greet_but_for_time(second_);
    second_.link.sent.clear();
    tell_time(second_);
  }
};

TEST_F(OneNode, AsksTheNewServerWithNotAftersOfItsClock) {
  acquire(1, "a");
  queue(first_);
  fail_over();
  EXPECT_EQ(
      commands(second_, Packer().number(time_of(second_) + config_.request_timeout).take()).size(),
      1U);
}

TEST_F(OneNode, IsAskedAboutEveryHoldAtOnce) {
  acquire(1, "a");
  grant(first_);
  ASSERT_EQ(events_.events.size(), 1U);
  fail_over();
  EXPECT_EQ(commands(second_, "EVAL").size(), 1U);
}

// The times of its answers are the old server's, which do not tell whether a message is newer.
TEST_F(OneNode, BelievesNoGrantBeforeTheNewServerHasAnswered) {
  acquire(1, "a");
  queue(first_);
  fail_over();
  grant_by_message(second_, 1, "a");
  EXPECT_TRUE(events_.events.empty());
  queue(second_);
  ++now_;  // a new grant, as the old one stays doubted
  grant_by_message(second_, 1, "a");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_TRUE(events_.events[0].status.ok());
  EXPECT_LE(events_.events[0].remaining, 300 * kMillisecond);
}

}  // namespace
}  // namespace belay
