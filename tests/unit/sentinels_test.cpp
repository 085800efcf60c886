// A client of a master that three sentinels watch: whom it believes, whom it leaves, and what it
// says where nobody knows. Fake links; what sentinels and servers say is given by hand.
#include "route/sentinels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/greeted.h"

namespace belay {
namespace {

constexpr const char* kOld = "10.0.0.1";
constexpr const char* kNew = "10.0.0.2";

class SentinelsTest : public testing::Test {
 protected:
  SentinelsTest() : SentinelsTest("") {}

  explicit SentinelsTest(const std::string& address_map) : config_(mapped(address_map)) {
    core_.start(now_);
    core_.on_timer(now_);
  }

  static Config mapped(const std::string& address_map) {
    Config config;
    config.address_map = address_map;
    return config;
  }

  // The latest link to there; null: there is none.
  [[nodiscard]] RecordingLink* link_to(const std::string& where) const {
    const auto found = std::find_if(links_.rbegin(), links_.rend(), [&where](const auto& link) {
      return link->endpoint().display() == where;
    });
    return found == links_.rend() ? nullptr : found->get();
  }

  [[nodiscard]] RecordingLink& sentinel(int number) const {
    return *link_to("s" + std::to_string(number) + ":26379");
  }

  void say(RecordingLink& link, const std::string& bytes) {
    core_.peer(link)->on_link_bytes(bytes, now_);
  }

  void close(RecordingLink& link) {
    core_.peer(link)->on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  }

  void open(int number) {
    core_.peer(sentinel(number))->on_link_open(now_);
    say(sentinel(number), "%1\r\n" + bulk("mode") + bulk("sentinel"));
    for (const char* const channel : {"+promoted-slave", "+switch-master"}) {
      say(sentinel(number), ">3\r\n" + bulk("subscribe") + bulk(channel) + ":1\r\n");
    }
  }

  // To what it was asked last.
  void tell(int number, const std::string& host, std::int64_t epoch,
            const std::string& port = "6379") {
    say(sentinel(number), "*2\r\n" + bulk(host) + bulk(port) + "%2\r\n" + bulk("name") + bulk("m") +
                              bulk("config-epoch") + bulk(std::to_string(epoch)));
  }

  void tell_again(int number, const std::string& host, std::int64_t epoch) {
    wait();
    tell(number, host, epoch);
  }

  [[nodiscard]] std::ptrdiff_t count_links(const std::string& where) const {
    return std::count_if(links_.begin(), links_.end(), [&where](const auto& link) {
      return link->endpoint().display() == where;
    });
  }

  void deny(int number) { say(sentinel(number), "*-1\r\n-ERR No such master with that name\r\n"); }

  void greet_server(const std::string& host) {
    core_.on_timer(now_);
    RecordingLink& link = *link_to(host + ":6379");
    ASSERT_TRUE(link.opened);
    core_.peer(link)->on_link_open(now_);
    say(link, "%1\r\n" + bulk("version") + bulk("7.0") + ":5\r\n");
    say(link, ">3\r\n" + bulk("subscribe") + bulk(dialect_.inbox().channel(0)) + ":1\r\n");
    say(link, "+OK\r\n" + bulk("run_id:" + host + "\r\n") + bulk(""));
    say(link, "*2\r\n" + bulk("100") + bulk("0"));
  }

  // It is connected to the old master, as the first sentinel says.
  void connect() {
    open(1);
    tell(1, kOld, 4);
    greet_server(kOld);
    ASSERT_TRUE(node().up());
  }

  // Another round of questions.
  void wait() {
    now_ += 3 * kSecond;
    for (int number = 1; number <= 3; ++number) {
      sentinel(number).sent.clear();
    }
    core_.on_timer(now_);
  }

  Node& node() { return core_.router().node_of(0); }

  [[nodiscard]] bool asked(int number) const {
    const std::vector<std::string>& sent = sentinel(number).sent;
    return std::any_of(sent.begin(), sent.end(), [](const std::string& command) {
      return command.find("GET-MASTER-ADDR-BY-NAME\r\n$1\r\nm\r\n") != std::string::npos;
    });
  }

  Micros now_ = kSecond;
  const Config config_;
  std::vector<std::shared_ptr<RecordingLink>> links_;
  const NativeDialect dialect_{{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label", "my secret"},
                               config_.request_timeout};
  RecordedEvents events_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  Core core_{config_,
             dialect_,
             on_sentinels({Endpoint{"s1", 26379, "", false}, Endpoint{"s2", 26379, "", false},
                           Endpoint{"s3", 26379, "", false}},
                          "m"),
             [this](const Endpoint& endpoint) {
               links_.push_back(std::make_shared<RecordingLink>(endpoint));
               return links_.back();
             },
             log_,
             events_,
             last_hold_,
             random_};
};

TEST_F(SentinelsTest, GoesWhereTheFirstSaysThatAnswers) {
  for (int number = 1; number <= 3; ++number) {
    EXPECT_TRUE(sentinel(number).opened);
  }
  EXPECT_FALSE(link_to("'m'")->opened);
  open(2);
  EXPECT_TRUE(asked(2));
  tell(2, kOld, 0);
  greet_server(kOld);
  EXPECT_TRUE(node().up());
}

// Of the same failover, whoever names another place does not make it leave one that serves it.
TEST_F(SentinelsTest, GoesWhereTheLatestFailoverHasLedTo) {
  connect();
  open(2);
  tell(2, kNew, 4);
  EXPECT_TRUE(node().up());
  open(3);
  tell(3, kNew, 5);
  EXPECT_FALSE(node().up());
  EXPECT_NE(node().trouble().message.find("'m' is at 10.0.0.2:6379 by now"), std::string::npos);
  EXPECT_EQ(core_.peer(*link_to("10.0.0.1:6379")), nullptr);
  greet_server(kNew);
  EXPECT_TRUE(node().up());
  EXPECT_TRUE(node().is_another());
}

class MappedSentinels : public SentinelsTest {
 protected:
  MappedSentinels() : SentinelsTest("10.0.0.1:6379=outside:7001,10.0.0.2:6379=outside:7002") {}
};

TEST_F(MappedSentinels, GoesWhereAnAnnouncedMasterIsReached) {
  open(1);
  tell(1, kOld, 4);
  EXPECT_EQ(node().goal().display(), "outside:7001");
  tell_again(1, kOld, 5);
  EXPECT_EQ(count_links("outside:7001"), 1);
  tell_again(1, kNew, 6);
  EXPECT_EQ(node().goal().display(), "outside:7002");
  tell_again(1, "10.0.0.3", 7);
  EXPECT_EQ(node().goal().display(), "10.0.0.3:6379");
}

// The others may be cut off from those who have made the failover.
TEST_F(SentinelsTest, ReturnsToAnOlderFailoverOnlyWithMostOfThem) {
  connect();
  close(sentinel(1));
  open(2);
  tell(2, kNew, 3);
  EXPECT_EQ(node().goal().display(), "10.0.0.1:6379");
  open(3);
  tell(3, kNew, 3);
  EXPECT_EQ(node().goal().display(), "10.0.0.2:6379");
}

TEST_F(SentinelsTest, AsksAtOnceWhenASentinelTellsOfAChange) {
  connect();
  sentinel(1).sent.clear();
  const std::string change = ">3\r\n" + bulk("message") + bulk("+switch-master") + bulk("m");
  say(sentinel(1), change);
  EXPECT_EQ(sentinel(1).sent.size(), 2U);
  say(sentinel(1), change + change);
  EXPECT_EQ(sentinel(1).sent.size(), 2U);  // once more, when it has answered
  tell(1, kOld, 4);
  EXPECT_EQ(sentinel(1).sent.size(), 4U);
  tell(1, kNew, 5);
  EXPECT_EQ(node().goal().display(), "10.0.0.2:6379");
  EXPECT_EQ(sentinel(1).sent.size(), 4U);
}

TEST_F(SentinelsTest, AsksFromTimeToTimeAndMoreOftenWhileNobodyServes) {
  connect();
  close(sentinel(2));
  close(sentinel(3));
  const Sentinel& first = static_cast<const Sentinel&>(*core_.peer(sentinel(1)));
  EXPECT_EQ(first.next_deadline(false), now_ + 2 * kSecond);
  EXPECT_EQ(first.next_deadline(true), now_ + 200 * kMillisecond);
  wait();
  EXPECT_TRUE(asked(1));
  tell(1, kOld, 4);
  EXPECT_TRUE(node().up());
}

TEST_F(SentinelsTest, LeavesASilentSentinelAndAsksItAnew) {
  connect();
  wait();
  sentinel(1).opened = false;
  now_ += config_.request_timeout;
  core_.on_timer(now_);
  EXPECT_TRUE(node().up());  // what it said is not taken back
  now_ += 2 * kSecond;
  core_.on_timer(now_);
  EXPECT_TRUE(sentinel(1).opened);
}

TEST_F(SentinelsTest, SaysWhyNobodyKnows) {
  open(1);
  deny(1);
  open(2);
  say(sentinel(2), "*2\r\n" + bulk("h") + bulk("0") + "%0\r\n");
  close(sentinel(3));
  EXPECT_FALSE(node().refused());  // the third may know
  const std::string& why = node().trouble().message;
  EXPECT_EQ(node().trouble().code, BELAY_UNAVAILABLE);
  for (const char* const part :
       {"none of the 3 sentinels says where 'm' is: s1:26379: ERR No such master with that name",
        "s2:26379 names no address and epoch", "cut"}) {
    EXPECT_NE(why.find(part), std::string::npos) << why;
  }
}

TEST_F(SentinelsTest, NamesThoseWhoHaveNotAnsweredAndSaysOnceWhatSeveralSay) {
  EXPECT_EQ(node().trouble().message,
            "none of the 3 sentinels says where 'm' is: "
            "s1:26379, s2:26379, s3:26379: no answer yet");
  open(1);
  deny(1);
  open(3);
  deny(3);
  EXPECT_EQ(node().trouble().message,
            "none of the 3 sentinels says where 'm' is: "
            "s1:26379, s3:26379: ERR No such master with that name; s2:26379: no answer yet");
}

TEST_F(SentinelsTest, SaysWhichPasswordTheSentinelsWant) {
  core_.peer(sentinel(1))->on_link_open(now_);
  say(sentinel(1), "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_NE(node().trouble().message.find("(user 'default'); for sentinels, set sentinel_password"),
            std::string::npos);
}

// One that may be asked for the epoch alone.
TEST_F(SentinelsTest, SaysWhatARefusedQuestionWasAnswered) {
  for (int number = 1; number <= 3; ++number) {
    open(number);
    say(sentinel(number), "-NOPERM this user has no permissions\r\n%2\r\n" + bulk("name") +
                              bulk("m") + bulk("config-epoch") + bulk("4"));
  }
  EXPECT_TRUE(node().refused());
  EXPECT_EQ(node().trouble().code, BELAY_NOT_PERMITTED);
  EXPECT_NE(node().trouble().message.find("NOPERM this user has no permissions"),
            std::string::npos);
}

TEST_F(SentinelsTest, SaysWhoHasLedToWhereNobodyServes) {
  open(1);
  tell(1, kOld, 4);
  core_.on_timer(now_);
  close(*link_to("10.0.0.1:6379"));
  EXPECT_EQ(node().trouble().message, "cut (sentinels name this as 'm')");
}

TEST_F(MappedSentinels, SaysThatTheMapHasLedToWhereNobodyServes) {
  open(1);
  tell(1, kOld, 4);
  core_.on_timer(now_);
  close(*link_to("outside:7001"));
  EXPECT_EQ(node().trouble().message,
            "cut (sentinels name 10.0.0.1:6379 as 'm'; address_map leads here)");
}

TEST_F(SentinelsTest, BelievesNoAddressThatIsNone) {
  open(1);
  for (const std::string& host :
       {std::string(), std::string("a b"), std::string(254, 'a'), std::string("h\xC3\xA4")}) {
    tell(1, host, 4);
    EXPECT_NE(node().trouble().message.find("s1:26379 names no address"), std::string::npos);
    wait();
  }
  tell(1, std::string(253, 'a'), 4);
  EXPECT_EQ(node().goal().host.size(), 253U);
}

TEST_F(SentinelsTest, IsRefusedWhereAllOfThemRefuse) {
  open(1);
  deny(1);
  core_.peer(sentinel(2))->on_link_open(now_);
  say(sentinel(2), "-NOAUTH Authentication required.\r\n");
  core_.peer(sentinel(3))->on_link_open(now_);
  say(sentinel(3), "%1\r\n" + bulk("mode") + bulk("standalone"));
  EXPECT_TRUE(node().refused());
  EXPECT_EQ(node().trouble().code, BELAY_SERVER_ERROR);
  EXPECT_NE(node().trouble().message.find("s3:26379 is no sentinel: the URL of a server is "
                                          "redis://s3:26379"),
            std::string::npos);
}

TEST_F(SentinelsTest, BelievesNothingThatBelongsToNoQuestion) {
  connect();
  say(sentinel(1), "*2\r\n" + bulk(kNew) + bulk("6379") + "%0\r\n");
  EXPECT_EQ(node().goal().display(), "10.0.0.1:6379");
  EXPECT_NE(static_cast<const Sentinel&>(*core_.peer(sentinel(1)))
                .trouble()
                .message.find("belongs to no command"),
            std::string::npos);
}

}  // namespace
}  // namespace belay
