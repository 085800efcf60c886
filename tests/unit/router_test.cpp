// The router, and a core on two servers of a cluster: each answers for its own slots only, and
// refuses what names keys of several. Fake links; what is asked in the right way is granted.
#include "route/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/packing.h"
#include "core/core.h"
#include "dialect/native.h"
#include "route/slot.h"
#include "scripts/scripts.h"
#include "unit/counted.h"
#include "unit/parts.h"

namespace belay {
namespace {

using Words = std::vector<std::string>;

// Servers of their own, or nodes of a cluster.
class RouterAlone : public testing::TestWithParam<bool> {
 protected:
  static Endpoint at(std::uint16_t port) { return {"127.0.0.1", port, "", false}; }

  // Three servers by the slot modulo 3, of which two slots in a row are a group.
  [[nodiscard]] Topology topology() const {
    return {{{at(7000)}, {at(7001)}, {at(7002)}},
            [](std::uint16_t slot) {
              return Place{slot % 3U, static_cast<std::uint16_t>(slot / 2)};
            },
            GetParam() ? Deployment::kCluster : Deployment::kSingle};
  }

  std::shared_ptr<Link> dial(const Endpoint& endpoint) {
    dialled_.push_back(endpoint.port);
    return std::make_shared<RecordingLink>(endpoint);
  }

  std::uint16_t port_of(std::uint16_t slot) {
    return router_.node_of(slot).link()->endpoint().port;
  }

  void pass(Micros time) {
    now_ += time;
    router_.close_idle([this](const Node& node) { return &node == needed_; }, now_);
  }

  Config config_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::vector<std::uint16_t> dialled_;
  Micros now_ = kSecond;
  const Node* needed_ = nullptr;
  Router router_{config_,
                 topology(),
                 [this](const Endpoint& endpoint) { return dial(endpoint); },
                 Inbox{"in", "box"},
                 1,
                 log_};
};

INSTANTIATE_TEST_SUITE_P(, RouterAlone, testing::Bool());

// What a router logs.
class RouterTells : public RouterAlone {
 protected:
  Words told_;
  Log telling_{BELAY_LOG_NONE, [] {}, BELAY_LOG_INFO,
               [this](std::int32_t, const std::string& words) { told_.push_back(words); }};
  Router router_{config_,
                 topology(),
                 [this](const Endpoint& endpoint) { return dial(endpoint); },
                 Inbox{"in", "box"},
                 1,
                 telling_};
};

INSTANTIATE_TEST_SUITE_P(, RouterTells, testing::Bool());

TEST_P(RouterTells, OnceAMinuteThatAServerTakesNoLocks) {
  router_.on_refusal("NOREPLICAS at line 1", false, now_);
  router_.on_refusal("NOREPLICAS at line 2", false, now_ + 50 * kMillisecond);
  router_.on_refusal("NOREPLICAS at line 1", false, now_ + 59 * kSecond);
  EXPECT_EQ(told_, (Words{"refused: NOREPLICAS at line 1"}));
  router_.on_refusal("NOREPLICAS at line 2", false, now_ + 60 * kSecond);
  EXPECT_EQ(told_.size(), 2U);
}

TEST_P(RouterTells, OfASlotThatMovesForMoreThanASecond) {
  const Micros other_move = now_ + 10 * kSecond;
  router_.on_refusal("TRYAGAIN", true, now_);
  router_.on_refusal("TRYAGAIN", true, now_ + 900 * kMillisecond);
  router_.on_refusal("TRYAGAIN", true, other_move);
  router_.on_refusal("TRYAGAIN", true, other_move + 900 * kMillisecond);
  EXPECT_EQ(told_, Words());
  router_.on_refusal("TRYAGAIN", true, other_move + kSecond);
  EXPECT_EQ(told_, Words{"refused: TRYAGAIN"});
}

TEST_P(RouterTells, WhereSlotsOfAClusterAre) {
  const Node& teller = router_.node_of(6);
  router_.on_slots({{6, 6, at(7001)}}, teller, now_);
  router_.on_slots({{6, 6, at(7001)}}, teller, now_);
  router_.on_slots({{9, 9, at(7002)}, {12, 12, at(7001)}}, teller, now_);
  EXPECT_EQ(told_, GetParam() ? (Words{"slot 6 is at 127.0.0.1:7001 now",
                                       "2 slots are at other servers now, such as slot 9 at "
                                       "127.0.0.1:7002"})
                              : Words());
}

TEST_P(RouterAlone, FindsTheServerAndTheGroupOfASlot) {
  EXPECT_EQ(port_of(6), 7000);
  EXPECT_EQ(port_of(7), 7001);
  EXPECT_EQ(&router_.node_of(6), &router_.node_of(9));
  EXPECT_EQ(router_.group_of(6), 3);
  EXPECT_EQ(router_.group_of(7), 3);
  EXPECT_EQ(router_.group_of(8), 4);
}

// Those of a cluster when they are needed first, and once.
TEST_P(RouterAlone, DialsItsServers) {
  const bool is_cluster = GetParam();
  EXPECT_EQ(dialled_.size(), is_cluster ? 0U : 3U);
  EXPECT_EQ(port_of(7), 7001);
  EXPECT_EQ(port_of(10), 7001);
  EXPECT_EQ(dialled_.size(), is_cluster ? 1U : 3U);
}

// Not while somebody needs them; and no others than those of a cluster.
TEST_P(RouterAlone, LetsGoOfServersThatAreIdle) {
  const bool is_cluster = GetParam();
  Counted events;
  router_.start(events, now_);
  needed_ = &router_.node_of(0);
  const std::shared_ptr<Link> link = router_.node_of(1).link();
  router_.on_timer(now_);
  pass(60 * kSecond + config_.request_timeout - 1);  // something sent may still have an effect
  EXPECT_NE(router_.node_at(*link), nullptr);
  pass(1);
  EXPECT_EQ(router_.node_at(*link) == nullptr, is_cluster);
  EXPECT_EQ(router_.node_at(*needed_->link()), needed_);
  EXPECT_EQ(link.use_count(), is_cluster ? 1 : 3);
  EXPECT_EQ(port_of(1), 7001);  // dialled anew
  EXPECT_EQ(dialled_.size(), 3U);
}

// However many there have been; and slots are found again where they have moved to.
TEST_P(RouterAlone, ForgetsServersThatHaveNoSlotAnyMore) {
  Counted events;
  router_.start(events, now_);
  for (int i = 0; i < 5000; ++i) {
    const int port = 8000 + i;
    router_.begin_reply("MOVED 1 127.0.0.1:" + std::to_string(port), router_.node_of(0), false,
                        now_);
    router_.end_reply();
    ASSERT_EQ(port_of(1), GetParam() ? port : 7001);  // others send nobody elsewhere
    router_.on_timer(now_);
    pass(60 * kSecond + config_.request_timeout);
  }
}

// Whoever announces an address that leads nowhere is reached by the map.
TEST_P(RouterAlone, FollowsToWhereAServerIsReached) {
  Config config;
  config.address_map = "Inside:6379=127.0.0.1:7005";
  Router router(
      config, topology(), [this](const Endpoint& endpoint) { return dial(endpoint); },
      Inbox{"in", "box"}, 1, log_);
  router.begin_reply("MOVED 1 inside:6379", router.node_of(0), false, now_);
  router.end_reply();
  EXPECT_EQ(router.node_of(1).link()->endpoint().port, GetParam() ? 7005 : 7001);
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// The words of a command as it is sent.
Words words_of(std::string_view sent) {
  Words words;
  for (std::size_t at = sent.find("\r\n") + 2; at < sent.size();) {
    const std::size_t begin = sent.find("\r\n", at) + 2;
    const std::size_t size = std::strtoul(&sent[at + 1], nullptr, 10);
    words.emplace_back(sent.substr(begin, size));
    at = begin + size + 2;
  }
  return words;
}

Words keys_of(const Words& command) {
  if (command[0] == "EXISTS") {
    return {command.begin() + 1, command.end()};
  }
  if (command[0] != "EVAL" && command[0] != "EVALSHA") {
    return {};
  }
  return {command.begin() + 3, command.begin() + 3 + std::strtol(command[2].c_str(), nullptr, 10)};
}

bool calls(const Words& command, const Script& script) {
  return command[1] == script.sha1 || command[1] == script.body;
}

class ACluster : public testing::Test {
 protected:
  static constexpr Micros kAhead = 100 * kSecond;

  void connect() {
    core_.start(now_);
    for (const std::uint16_t slot : {slot_of_a_, static_cast<std::uint16_t>(slot_of_a_ + 1)}) {
      router().node_of(slot);  // needed
    }
    core_.on_timer(now_);
    greet(links_[0]);
    greet(links_[1]);
  }

  void greet(RecordingLink& link) {
    core_.node(link)->on_link_open(now_);
    say(link, "%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:5\r\n");
    say(link, ">3\r\n$9\r\nsubscribe\r\n" + bulk(dialect_.inbox().channel(0)) + ":1\r\n");
    say(link, "+OK\r\n" + bulk("run_id:r\r\n") + bulk("") + map_);
    say(link, "*2\r\n" + bulk(std::to_string((now_ + kAhead) / kSecond)) + bulk("0"));
    link.sent.clear();
  }

  void cut(int at) { node(at).on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_); }

  void say(RecordingLink& link, const std::string& bytes) {
    core_.node(link)->on_link_bytes(link.marks.marked(bytes), now_);
  }

  // Answers until nothing is asked any more.
  void serve() {
    for (bool asked = true; asked;) {
      asked = false;
      for (RecordingLink& link : links_) {
        for (const std::string& sent : std::exchange(link.sent, {})) {
          asked = true;
          const Words command = words_of(sent);
          names_.insert(command[0]);
          say(link, reply_of(link, command));
        }
      }
    }
  }

  std::string reply_of(const RecordingLink& link, const Words& command) {
    const Words keys = keys_of(command);
    std::set<std::uint16_t> slots;
    for (const std::string& key : keys) {
      slots.insert(slot_of(key));
    }
    if (slots.size() > 1) {
      refusals_.push_back("CROSSSLOT");
      return "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
    }
    if (!slots.empty() && on_first(*slots.begin()) != (&link == &links_[0])) {
      refusals_.push_back("MOVED");
      return "-" + moved(*slots.begin(), on_first(*slots.begin()) ? 0 : 1) + "\r\n";
    }
    if (command[0] == "EXISTS") {
      return ":" + std::to_string(keys.size()) + "\r\n";
    }
    return slots.empty() ? "+OK\r\n" : bulk(answer_of(command, keys.size()));
  }

  std::string answer_of(const Words& command, std::size_t keys) {
    Packer packed;
    const ServerTime time{now_ + kAhead};
    if (calls(command, scripts::kRelease) || calls(command, scripts::kLeave)) {
      const std::size_t names = calls(command, scripts::kRelease) ? keys : keys / 4;
      for (std::size_t i = 0; i < names; ++i) {
        packed.u8(1).time(time).number(0);
      }
    } else if (calls(command, scripts::kRenew) || calls(command, scripts::kKeep)) {
      packed.time(time);
      for (std::size_t i = 0; i < (calls(command, scripts::kKeep) ? keys : keys / 4); ++i) {
        packed.u8(1).number(0).u8(0);
      }
    } else {
      const bool many = calls(command, scripts::kTake) || calls(command, scripts::kMany);
      packed.u8(1).time(time);
      for (std::size_t i = 0; i < (many ? keys / 4 : 1); ++i) {
        packed.number(fence_).number(fence_ + 8).u8(0);
        fence_ += 10;
      }
      if (!many) {
        packed.number(1);  // permit
      }
    }
    return packed.take();
  }

  // Several names, or one.
  void acquire(std::int64_t tag, const Words& names) {
    ask_for(tag, names);
    serve();
  }

  void ask_for(std::int64_t tag, const Words& names) {
    AcquireRequest request;
    request.primitive = &dialect_.lock;
    request.name = names.front();
    for (const std::string& name : names) {
      request.names.emplace_back(name, Want());
    }
    ASSERT_TRUE(core_.engine().acquire(tag, request, kNever, now_).ok());
  }

  [[nodiscard]] bool on_first(std::uint16_t slot) const { return !moved_ && slot == slot_of_a_; }

  // What a server says of a slot that another one has.
  [[nodiscard]] std::string moved(std::uint16_t slot, int to) const {
    return "MOVED " + std::to_string(slot) + " " + links_[to].endpoint().display();
  }

  [[nodiscard]] std::string ask(std::uint16_t slot, int at) const {
    return "ASK " + std::to_string(slot) + " " + links_[at].endpoint().display();
  }

  // What is made of it, and where the slot of 'a' is meanwhile.
  Remedy remedy_of(const std::string& error, bool detour = false) {
    news_ = router().begin_reply(error, node(from_), detour, now_);
    const Remedy remedy = router().judge(error).remedy;
    meanwhile_ = &router().node_of(slot_of_a_);
    asking_ = meanwhile_->asking();
    router().end_reply();
    return remedy;
  }

  std::shared_ptr<Link> dial(const Endpoint& endpoint) {
    const std::shared_ptr<Link> known = dial_to({&links_[0], &links_[1]})(endpoint);
    if (known == nullptr) {
      dialled_.push_back(std::make_shared<RecordingLink>(endpoint));
    }
    return known == nullptr ? dialled_.back() : known;
  }

  [[nodiscard]] Topology cluster() const {
    Topology topology = on_two_servers(slot_of_a_, links_[0].endpoint(), links_[1].endpoint());
    topology.deployment = Deployment::kCluster;
    return topology;
  }

  Router& router() { return core_.router(); }

  Node& node(int at) { return *core_.node(links_[at]); }

  Micros now_ = kSecond;
  Config config_;
  const NativeDialect dialect_{{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label", "my secret"},
                               config_.request_timeout};
  RecordedEvents events_;
  Log log_{BELAY_LOG_NONE, [] {}};
  RecordingLink links_[2]{RecordingLink(Endpoint{"127.0.0.1", 7000, "", false}),
                          RecordingLink(Endpoint{"127.0.0.1", 7001, "", false})};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  std::vector<std::shared_ptr<RecordingLink>> dialled_;  // to other servers
  const std::uint16_t slot_of_a_ = dialect_.resource("a").slot;
  Core core_{
      config_, dialect_, cluster(),  [this](const Endpoint& endpoint) { return dial(endpoint); },
      log_,    events_,  last_hold_, random_};
  std::int64_t fence_ = 50;
  std::vector<std::string> refusals_;
  std::set<std::string> names_;  // of commands
  std::string map_ = "*0\r\n";   // what each says as it greets
  bool moved_ = false;           // the slot of 'a', to the second server
  int from_ = 0;                 // where errors come from
  std::optional<std::uint16_t> news_;
  Node* meanwhile_ = nullptr;
  bool asking_ = false;
};

// Rule 31: what the first may still do counts when the slot is back there.
TEST_F(ACluster, FearsWhatAnyServerMayStillDo) {
  connect();
  ask_for(1, {"a"});
  cut(0);
  remedy_of(moved(slot_of_a_, 1));
  moved_ = true;
  ASSERT_TRUE(core_.engine().cancel(1, now_).ok());
  cut(1);
  now_ += kSecond;
  core_.on_timer(now_);
  links_[0].sent.clear();  // it is connecting for ever
  greet(links_[1]);
  say(links_[1], ":1\r\n");  // to CLIENT KILL
  serve();
  EXPECT_FALSE(core_.engine().idle());
  now_ += config_.request_timeout;
  core_.on_timer(now_);
  serve();
  EXPECT_TRUE(core_.engine().idle());
}

// What has granted it there is not undone by what another server refuses.
TEST_F(ACluster, IsInDoubtAboutTheGrantOfAServerThatHasLostTheSlot) {
  connect();
  ask_for(1, {"a"});
  say(links_[0], "-" + moved(slot_of_a_, 1) + "\r\n");
  from_ = 1;
  remedy_of(moved(slot_of_a_, 0));  // which it was told by another call
  links_[0].sent.clear();
  ASSERT_EQ(links_[1].sent.size(), 1U);
  say(links_[1], bulk(answer_of(words_of(links_[1].sent.back()), 4)));
  ASSERT_FALSE(links_[0].sent.empty());
  say(links_[0], "-TRYAGAIN later\r\n");
  ASSERT_TRUE(core_.engine().cancel(1, now_).ok());
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events.back().status.code, BELAY_CANCELLED);
  EXPECT_GT(events_.events.back().status.in_doubt_until, now_);
}

// Acquired one by one and together, renewed, watched, released: each slot is asked apart, and where
// it is.
TEST_F(ACluster, IsAskedAboutOneSlotAtATime) {
  connect();
  acquire(1, {"a"});
  acquire(2, {"b"});
  acquire(3, {"{a}2", "{b}2", "{b}3", "c"});
  ASSERT_EQ(events_.events.size(), 3U);
  now_ += config_.watchdog_lease / 3;
  core_.on_timer(now_);
  serve();
  for (std::int64_t tag = 1; tag <= 3; ++tag) {
    const std::int64_t hold = events_.events.at(static_cast<std::size_t>(tag - 1)).hold;
    ASSERT_TRUE(core_.engine().release(10 + tag, hold, now_).ok());
    serve();
  }
  EXPECT_EQ(refusals_, std::vector<std::string>());
  ASSERT_EQ(events_.events.size(), 6U);
  EXPECT_TRUE(std::all_of(events_.events.begin(), events_.events.end(),
                          [](const Event& event) { return event.status.ok(); }));
  EXPECT_TRUE(core_.engine().idle());
  EXPECT_TRUE(names_.contains("EXISTS"));
}

TEST_F(ACluster, LearnsWhereASlotIs) {
  connect();
  for (const bool is_news : {true, false}) {
    EXPECT_EQ(remedy_of(moved(slot_of_a_, 1)), Remedy::kAskAgain);
    EXPECT_EQ(news_.has_value(), is_news);
    EXPECT_EQ(&router().node_of(slot_of_a_), &node(1));
    EXPECT_FALSE(asking_);
  }
  EXPECT_EQ(&router().node_of(slot_of_a_ + 1), &node(1));
}

TEST_F(ACluster, GoesInNoCircles) {
  connect();
  int to = 1;
  for (const Remedy last : {Remedy::kWait, Remedy::kWait}) {
    for (int i = 0; i < 4; ++i, to = 1 - to) {
      from_ = 1 - to;
      EXPECT_EQ(remedy_of(moved(slot_of_a_, to)), Remedy::kAskAgain);
    }
    from_ = 1 - to;
    EXPECT_EQ(remedy_of(moved(slot_of_a_, to)), last);
    EXPECT_FALSE(news_.has_value());  // whatever else is in the slot stays where it is
    EXPECT_EQ(&router().node_of(slot_of_a_), &node(from_));
    now_ += kSecond + 1;
  }
}

TEST_F(ACluster, AsksWhereASlotIsOnItsWayToOnlyOnce) {
  connect();
  EXPECT_EQ(remedy_of(ask(slot_of_a_, 1)), Remedy::kAskAgain);
  EXPECT_FALSE(news_.has_value());
  EXPECT_EQ(meanwhile_, &node(1));
  EXPECT_TRUE(asking_);
  EXPECT_EQ(&router().node_of(slot_of_a_), &node(0));
  EXPECT_FALSE(node(1).asking());
  EXPECT_EQ(remedy_of(ask(slot_of_a_, 1), true), Remedy::kWait);
  EXPECT_EQ(meanwhile_, &node(0));
}

TEST_F(ACluster, WaitsWhereItCannotFollow) {
  connect();
  const std::string slot = std::to_string(slot_of_a_);
  for (const std::string& error : std::vector<std::string>{
           "MOVED", "MOVED " + slot, "MOVED " + slot + " ", "MOVED x 127.0.0.1:7001",
           "MOVED 16384 127.0.0.1:7001", moved(slot_of_a_, 0), ask(slot_of_a_, 0)}) {
    EXPECT_EQ(remedy_of(error), Remedy::kWait) << error;
    EXPECT_EQ(meanwhile_, &node(0)) << error;
  }
  node(1).on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
  EXPECT_EQ(remedy_of(ask(slot_of_a_, 1)), Remedy::kWait);
  EXPECT_EQ(meanwhile_, &node(0));
  EXPECT_EQ(remedy_of("NOSCRIPT No matching script"), Remedy::kAskAgain);
}

// What goes there waits for the connection; but not after ASK.
TEST_F(ACluster, KnowsTheServersThatItIsSentTo) {
  connect();
  const std::string slot = std::to_string(slot_of_a_);
  EXPECT_EQ(remedy_of("ASK " + slot + " 127.0.0.1:7002"), Remedy::kWait);
  EXPECT_EQ(meanwhile_, &node(0));
  EXPECT_EQ(remedy_of("MOVED " + slot + " 127.0.0.1:7003"), Remedy::kAskAgain);
  ASSERT_EQ(dialled_.size(), 2U);
  EXPECT_EQ(dialled_[1]->endpoint().port, 7003);
  EXPECT_EQ(meanwhile_->link(), dialled_[1]);
  EXPECT_EQ(core_.next_deadline(), 0);
  core_.on_timer(now_);
  EXPECT_TRUE(dialled_[0]->opened && dialled_[1]->opened);
}

// Whoever holds it is told nothing: the other server has it.
TEST_F(ACluster, RenewsAndReleasesWhereASlotHasMovedTo) {
  connect();
  acquire(1, {"a"});
  moved_ = true;
  now_ += config_.watchdog_lease / 3;
  core_.on_timer(now_);
  serve();
  EXPECT_EQ(refusals_.size(), 2U);  // the renewal, and what watches the record
  EXPECT_FALSE(node(0).asking() || node(1).asking());
  acquire(2, {"a"});
  ASSERT_EQ(events_.events.size(), 1U);
  ASSERT_TRUE(core_.engine().release(3, events_.events[0].hold, now_).ok());
  serve();
  ASSERT_EQ(events_.events.size(), 3U);
  for (const Event& event : events_.events) {
    EXPECT_TRUE(event.status.ok()) << event.kind << event.status.message;
  }
  EXPECT_EQ(refusals_.size(), 2U);
}

// Rule 30.
TEST_F(ACluster, HasNamesThatAreNotTouchedByAServerThatIsGone) {
  connect();
  acquire(1, {"a"});
  acquire(2, {"b"});
  node(0).on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
  const std::int64_t b = events_.events.at(1).hold;
  acquire(3, {"b"});
  acquire(4, {"a"});
  ASSERT_TRUE(core_.engine().release(5, b, now_).ok());
  serve();
  ASSERT_EQ(events_.events.size(), 4U);
  EXPECT_EQ(events_.events[2].tag, 5);
  EXPECT_EQ(events_.events[3].tag, 3);
  EXPECT_TRUE(events_.events[3].status.ok());
  EXPECT_EQ(refusals_, std::vector<std::string>());
}

}  // namespace
}  // namespace belay
