// A client of a cluster that is told of some nodes: how it finds the others, whom it believes of
// who has which slots, and when it asks again. Fake links; what nodes say is given by hand.
#include "route/slot_owners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/greeted.h"
#include "unit/with_reply.h"

namespace belay {
namespace {

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string number(std::size_t value) {
  return ":" + std::to_string(value) + "\r\n";
}

// As a node tells it: with a replica.
std::string range(std::size_t first, std::size_t last, const std::string& host, std::size_t port) {
  const std::string name = host == "null" ? "_\r\n" : bulk(host);
  return "*4\r\n" + number(first) + number(last) + "*3\r\n" + name + number(port) + bulk("id") +
         "*3\r\n" + bulk("replica") + number(1) + bulk("id");
}

std::string map_of(const std::vector<std::string>& ranges) {
  std::string map = "*" + std::to_string(ranges.size()) + "\r\n";
  for (const std::string& one : ranges) {
    map += one;
  }
  return map;
}

constexpr std::size_t kHalf = kSlots / 2;

// The first half of the slots, and the second.
std::string halves(const std::string& first, const std::string& second) {
  return map_of({range(0, kHalf - 1, first, 7000), range(kHalf, kSlots - 1, second, 7000)});
}

TEST(SlotMap, NamesTheMasterOfEachRange) {
  const Endpoint from{"teller", 6379, "", true};
  const std::string ranges =
      map_of({range(0, 4, "a", 1), range(5, 5, "null", 2), range(6, 8, "", 3), range(9, 10, "?", 4),
              range(11, 12, "b", 0), range(13, 16383, "::1", 65535)});
  with_reply(ranges, [&from](Reply reply) {
    const auto map = read_slot_map(reply, from);
    ASSERT_TRUE(map.has_value());
    std::string shown;
    for (const SlotRange& one : *map) {
      EXPECT_TRUE(one.master.tls);
      shown += std::to_string(one.first) + "-" + std::to_string(one.last) + " " +
               one.master.display() + ", ";
    }
    EXPECT_EQ(shown, "0-4 a:1, 5-5 teller:2, 6-8 teller:3, 13-16383 [::1]:65535, ");
  });
}

// As of a cluster that announces host names, one of whose nodes has none.
TEST(SlotMap, TakesTheAddressWhereNoHostNameIsKnown) {
  const auto unnamed = [](const std::string& more) {
    return map_of({"*3\r\n" + number(0) + number(16383) + "*4\r\n" + bulk("?") + number(7000) +
                   bulk("id") + "%1\r\n" + bulk(more) + bulk("10.0.0.4")});
  };
  with_reply(unnamed("ip"), [](Reply reply) {
    const auto map = read_slot_map(reply, Endpoint());
    ASSERT_TRUE(map.has_value());
    ASSERT_EQ(map->size(), 1U);
    EXPECT_EQ(map->front().master.display(), "10.0.0.4:7000");
  });
  with_reply(unnamed("other"), [](Reply reply) {
    const auto map = read_slot_map(reply, Endpoint());
    ASSERT_TRUE(map.has_value());
    EXPECT_TRUE(map->empty());
  });
}

TEST(SlotMap, IsNothingElse) {
  for (const std::string& wrong :
       {std::string("+OK\r\n"), bulk("map"), map_of({number(1)}), map_of({range(5, 4, "a", 1)}),
        map_of({range(0, kSlots, "a", 1)}), map_of({range(0, 1, "a", 65536)}),
        map_of({"*3\r\n" + number(0) + number(1) + bulk("a")}),
        map_of({"*3\r\n" + bulk("0") + number(1) + "*2\r\n" + bulk("a") + number(1)}),
        map_of({"*2\r\n" + number(0) + number(1)}),
        map_of({"*3\r\n" + number(0) + number(1) + "*2\r\n" + bulk("a") + bulk("1")})}) {
    with_reply(wrong, [&wrong](Reply reply) {
      EXPECT_FALSE(read_slot_map(reply, Endpoint()).has_value()) << wrong;
    });
  }
  with_reply("*0\r\n",
             [](Reply reply) { EXPECT_TRUE(read_slot_map(reply, Endpoint()).has_value()); });
}

class SlotOwnersTest : public testing::Test {
 protected:
  SlotOwnersTest() {
    core_.start(now_);
    core_.on_timer(now_);
  }

  // The latest link to there that was opened; null: there is none.
  [[nodiscard]] RecordingLink* link_to(const std::string& where) const {
    const auto found = std::find_if(links_.rbegin(), links_.rend(), [&where](const auto& link) {
      return link->opened && link->endpoint().display() == where;
    });
    return found == links_.rend() ? nullptr : found->get();
  }

  void say(RecordingLink& link, const std::string& bytes) {
    core_.peer(link)->on_link_bytes(link.marks.marked(bytes), now_);
  }

  void greet(const std::string& where, const std::string& map) {
    RecordingLink& link = *link_to(where);
    core_.peer(link)->on_link_open(now_);
    say(link, "%2\r\n" + bulk("version") + bulk("7.0") + bulk("mode") + bulk("cluster") + ":5\r\n");
    say(link, ">3\r\n" + bulk("subscribe") + bulk(dialect_.inbox().channel(0)) + ":1\r\n");
    say(link, "+OK\r\n" + bulk("run_id:" + where + "\r\n") + bulk("") + map);
    say(link, "*2\r\n" + bulk(std::to_string(now_ / kSecond)) + bulk("0"));
    link.sent.clear();
    core_.on_timer(now_);
  }

  void cut(const std::string& where) {
    core_.peer(*link_to(where))->on_link_closed({BELAY_UNAVAILABLE, where + " is cut"}, now_);
  }

  void pass(Micros time) {
    now_ += time;
    core_.on_timer(now_);
  }

  // Where a slot is sought.
  std::string owner_of(std::size_t slot) {
    return core_.router().node_of(static_cast<std::uint16_t>(slot)).goal().display();
  }

  // How often that node was asked for the map since the last time.
  std::ptrdiff_t asked(const std::string& where) {
    const std::vector<std::string> sent = std::exchange(link_to(where)->sent, {});
    return std::count_if(sent.begin(), sent.end(), [](const std::string& command) {
      return command.find("CLUSTER\r\n$5\r\nSLOTS\r\n") != std::string::npos;
    });
  }

  // Both halves are connected to, and serve.
  void connect() {
    greet("s1:6379", halves("a", "b"));
    owner_of(0);
    owner_of(kHalf);
    core_.on_timer(now_);
    greet("a:7000", halves("a", "b"));
    greet("b:7000", halves("a", "b"));
  }

  void reply_of(const std::string& where, const std::string& error) {
    core_.router().begin_reply(error, *core_.node(*link_to(where)), false, now_);
    core_.router().end_reply();
  }

  Micros now_ = 100 * kSecond;
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
             on_a_cluster({Endpoint{"s1", 6379, "", false}, Endpoint{"s2", 6379, "", false}}),
             [this](const Endpoint& endpoint) {
               links_.push_back(std::make_shared<RecordingLink>(endpoint));
               return links_.back();
             },
             log_,
             events_,
             last_hold_,
             random_};
};

TEST_F(SlotOwnersTest, IsToldByWhoeverAnswersFirst) {
  EXPECT_TRUE(link_to("s1:6379")->opened);
  EXPECT_EQ(link_to("s2:6379"), nullptr);
  cut("s1:6379");
  core_.on_timer(now_);
  greet("s2:6379", halves("a", "b"));
  EXPECT_EQ(owner_of(0), "a:7000");
  EXPECT_EQ(owner_of(kHalf - 1), "a:7000");
  EXPECT_EQ(owner_of(kHalf), "b:7000");
  EXPECT_EQ(owner_of(kSlots - 1), "b:7000");
}

// It has shown the way.
TEST_F(SlotOwnersTest, LetsGoOfWhoeverAnsweredFirst) {
  RecordingLink& first = *link_to("s1:6379");
  EXPECT_NE(core_.node(first), nullptr);
  connect();
  EXPECT_EQ(core_.node(first), nullptr);
}

// Slots whose node nobody has named are asked for where we came in.
TEST_F(SlotOwnersTest, KeepsWhoeverAnsweredFirstWhileSlotsAreNobodys) {
  RecordingLink& first = *link_to("s1:6379");
  greet("s1:6379", map_of({range(0, kHalf - 1, "a", 7000)}));
  EXPECT_EQ(&core_.router().node_of(kHalf), core_.node(first));
  pass(2 * kSecond);
  EXPECT_EQ(&core_.router().node_of(kHalf), core_.node(first));
  reply_of("s1:6379", "MOVED " + std::to_string(kHalf) + " b:7000");
  EXPECT_EQ(owner_of(kHalf), "b:7000");
}

TEST_F(SlotOwnersTest, SaysWhoHasNotAnswered) {
  cut("s1:6379");
  core_.on_timer(now_);
  cut("s2:6379");
  EXPECT_EQ(core_.router().node_of(0).trouble().message,
            "none of the 2 hosts lets us into a cluster: s1:6379 is cut; s2:6379 is cut");
}

TEST_F(SlotOwnersTest, TellsWhatIsNoClusterFromOne) {
  RecordingLink& link = *link_to("s1:6379");
  core_.peer(link)->on_link_open(now_);
  say(link, "%2\r\n" + bulk("version") + bulk("7.0") + bulk("mode") + bulk("standalone"));
  core_.on_timer(now_);
  cut("s2:6379");
  EXPECT_NE(core_.router().node_of(0).trouble().message.find(
                "s1:6379 is no node of a cluster: its URL is redis://s1:6379"),
            std::string::npos)
      << core_.router().node_of(0).trouble().message;
}

TEST_F(SlotOwnersTest, NamesTheRightThatIsMissing) {
  RecordingLink& link = *link_to("s1:6379");
  core_.peer(link)->on_link_open(now_);
  say(link, "%2\r\n" + bulk("version") + bulk("7.0") + bulk("mode") + bulk("cluster") + ":5\r\n");
  say(link, ">3\r\n" + bulk("subscribe") + bulk(dialect_.inbox().channel(0)) + ":1\r\n");
  say(link, "+OK\r\n" + bulk("") + bulk("") +
                "-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n");
  core_.on_timer(now_);
  cut("s2:6379");
  EXPECT_NE(core_.router().node_of(0).trouble().message.find(
                "s1:6379 (CLUSTER SLOTS): NOPERM this user has no permissions"),
            std::string::npos)
      << core_.router().node_of(0).trouble().message;
}

// A node that is cut off from the others may tell of the past.
TEST_F(SlotOwnersTest, BelievesOfASlotOnlyItsOwnNodeWhileThatServes) {
  connect();
  core_.node(*link_to("a:7000"))->ask_slots(now_);
  core_.node(*link_to("b:7000"))->ask_slots(now_);
  say(*link_to("b:7000"), halves("b", "b"));
  EXPECT_EQ(owner_of(0), "a:7000");
  say(*link_to("a:7000"), halves("c", "a"));
  EXPECT_EQ(owner_of(0), "c:7000");
  EXPECT_EQ(owner_of(kHalf), "b:7000");
}

TEST_F(SlotOwnersTest, AsksOthersWhereTheSlotsAreOfANodeThatIsGone) {
  connect();
  cut("a:7000");
  pass(0);
  EXPECT_EQ(asked("b:7000"), 1);
  say(*link_to("b:7000"), halves("a", "b"));  // not yet
  EXPECT_EQ(owner_of(0), "a:7000");
  pass(2 * kSecond);
  EXPECT_EQ(asked("b:7000"), 1);
  say(*link_to("b:7000"), halves("c", "b"));
  EXPECT_EQ(owner_of(0), "c:7000");
  EXPECT_EQ(owner_of(kHalf), "b:7000");
}

// Long before a command fails for it. What it owes is asked for elsewhere then.
TEST_F(SlotOwnersTest, AsksOthersWhileANodeIsSilent) {
  connect();
  core_.router().node_of(0).refresh_clock(now_);
  pass(config_.request_timeout / 10 - 1);
  EXPECT_EQ(asked("b:7000"), 0);
  pass(1);
  EXPECT_EQ(asked("b:7000"), 1);
  EXPECT_TRUE(core_.node(*link_to("a:7000"))->up());
  say(*link_to("b:7000"), halves("c", "b"));
  EXPECT_EQ(owner_of(0), "c:7000");
  core_.on_timer(now_);
  EXPECT_FALSE(core_.node(*link_to("a:7000"))->up());
}

TEST_F(SlotOwnersTest, AsksNowAndThenAllTheSame) {
  connect();
  pass(60 * kSecond - kMillisecond);
  EXPECT_EQ(asked("a:7000") + asked("b:7000"), 0);
  pass(kMillisecond);
  EXPECT_EQ(asked("a:7000") + asked("b:7000"), 1);
}

// It has lost the others, and says so.
TEST_F(SlotOwnersTest, AsksOthersWhereTheSlotsAreOfANodeThatServesNone) {
  connect();
  reply_of("a:7000", "CLUSTERDOWN The cluster is down");
  for (int i = 0; i < 4 && asked("b:7000") == 0; ++i) {
    pass(200 * kMillisecond);
    reply_of("a:7000", "CLUSTERDOWN The cluster is down");
  }
  say(*link_to("b:7000"), halves("c", "b"));
  EXPECT_EQ(owner_of(0), "c:7000");
}

// Its other slots may have gone, too; and it knows.
TEST_F(SlotOwnersTest, AsksWhoeverSendsItElsewhere) {
  connect();
  reply_of("a:7000", "MOVED 5 c:7000");
  reply_of("a:7000", "MOVED 6 c:7000");
  core_.on_timer(now_);
  EXPECT_EQ(asked("a:7000"), 1);
  EXPECT_EQ(asked("b:7000"), 0);
  EXPECT_EQ(owner_of(7), "a:7000");
  say(*link_to("a:7000"), halves("c", "b"));
  EXPECT_EQ(owner_of(7), "c:7000");
  pass(kSecond);
  EXPECT_EQ(asked("a:7000"), 0);
}

// All that are known, and those of the URL.
TEST_F(SlotOwnersTest, AsksAnybodyWhereNobodyAnswers) {
  connect();
  cut("a:7000");
  cut("b:7000");
  link_to("s1:6379")->opened = false;
  for (int i = 0; i < 20 && link_to("s1:6379") == nullptr; ++i) {
    pass(2 * kSecond);
  }
  ASSERT_NE(link_to("s1:6379"), nullptr);
  greet("s1:6379", halves("c", "d"));
  EXPECT_EQ(owner_of(0), "c:7000");
  EXPECT_EQ(owner_of(kHalf), "d:7000");
}

// Whatever is there is asked about where its slot is by now.
TEST_F(SlotOwnersTest, FollowsWithAllThatIsInASlot) {
  connect();
  AcquireRequest request;
  request.primitive = &dialect_.lock;
  request.name = "name";
  cut(owner_of(dialect_.resource("name").slot));
  ASSERT_TRUE(core_.engine().acquire(1, request, kNever, now_).ok());
  pass(0);
  for (const char* const where : {"a:7000", "b:7000"}) {
    if (asked(where) > 0) {
      say(*link_to(where), halves("c", "c"));
    }
  }
  EXPECT_EQ(core_.engine().commands(), 0U);
  core_.on_timer(now_);
  greet("c:7000", halves("c", "c"));
  EXPECT_EQ(core_.engine().commands(), 1U);
}

}  // namespace
}  // namespace belay
