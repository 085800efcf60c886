// A stream of replies in which one is too many, or missing, at every place: nobody may believe what
// was said to another command. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/packing.h"
#include "dialect/queries.h"
#include "unit/greeted.h"

namespace belay {
namespace {

// What comes at a place of the stream, instead of nothing or of the reply that belongs there.
const std::vector<std::string> kStrays{"-ERR unknown command 'belay'\r\n",
                                       "+OK\r\n",
                                       ":1\r\n",
                                       "_\r\n",
                                       "*0\r\n",
                                       "*2\r\n:1\r\n:1\r\n",
                                       "$4\r\nmark\r\n"};

class Session : public Greeted {
 public:
  void TestBody() override {}

  using Greeted::answer;

  // Asks for what others have and for what is free, in turn.
  void ask() {
    for (const char* name : {"a", "b", "c", "d"}) {
      AcquireRequest request;
      request.primitive = &lock_;
      request.name = name;
      names_[++tag_] = name;
      EXPECT_TRUE(engine_.acquire(tag_, request, 0, now_).ok());
    }
    EXPECT_TRUE(engine_.query(++tag_, ping_query(), now_).ok());
    EXPECT_TRUE(engine_.query(++tag_, inspect_query(dialect_, "a"), now_).ok());
    node_.watch(0, {"key"}, now_);
    node_.refresh_clock(now_);
  }

  // The server's replies: `a` is free, under fence 1000, and `c`, under 3000.
  std::vector<std::string> replies() {
    const auto free = [](std::int64_t fence) {
      return bulk(Packer()
                      .u8(1)
                      .number(kServerTime)
                      .number(fence)
                      .number(fence + 8)
                      .u8(0)
                      .number(1)
                      .take());
    };
    const std::string busy = bulk(Packer().u8(3).number(kServerTime).number(kSecond).take());
    std::vector<std::string> all{free(1000), busy, free(3000), busy, "+PONG\r\n"};
    all.push_back("*5\r\n" + bulk(Packer().number(kServerTime).take()) + bulk("") +
                  ":0\r\n:0\r\n:0\r\n");
    all.insert(all.end(), {"+OK\r\n", ":1\r\n", "*2\r\n$3\r\n100\r\n$1\r\n0\r\n"});
    for (std::string& one : all) {
      one = link_.marks.marked(one);
    }
    return all;
  }

  static std::vector<std::string> greeting(const std::string& inbox) {
    return {"%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n",
            ":5\r\n",
            ">3\r\n$9\r\nsubscribe\r\n" + bulk(inbox) + ":1\r\n",
            "+OK\r\n",
            bulk("run_id:r\r\n"),
            bulk(""),
            "*2\r\n$3\r\n100\r\n$1\r\n0\r\n"};
  }

  void connect_anew() {
    node_.on_link_closed(Status(BELAY_UNAVAILABLE, "cut"), now_);
    now_ += 3 * kSecond;
    node_.on_timer(now_);
    node_.on_link_open(now_);
  }

  void feed(const std::vector<std::string>& stream) {
    for (const std::string& one : stream) {
      node_.on_link_bytes(one, now_);
    }
  }

  void let_time_out() {
    now_ += config_.request_timeout;
    node_.on_timer(now_);
  }

  bool is_up() const { return node_.up(); }

  // Of what was granted, only what the server has granted.
  void check_grants(const std::string& where) const {
    const std::map<std::string, std::int64_t> free{{"a", 1000}, {"c", 3000}};
    for (const Event& event : events_.events) {
      if (event.kind == BELAY_EVENT_ACQUIRED && event.status.ok()) {
        const auto found = free.find(names_.at(event.tag));
        EXPECT_TRUE(found != free.end() && found->second == event.fence) << where;
      }
    }
  }

  std::size_t grants() const {
    std::size_t count = 0;
    for (const Event& event : events_.events) {
      count += event.kind == BELAY_EVENT_ACQUIRED && event.status.ok() ? 1 : 0;
    }
    return count;
  }

  std::string inbox() const { return me_.inbox().channel(0); }

 private:
  static constexpr Micros kServerTime = 100 * kSecond;

  std::int64_t tag_ = 0;
  std::map<std::int64_t, std::string> names_;
};

// Every stream with one reply too many, one missing, or another in its place.
std::vector<std::vector<std::string>> shifted(const std::vector<std::string>& stream,
                                              std::size_t at) {
  std::vector<std::vector<std::string>> all;
  for (const std::string& stray : kStrays) {
    all.push_back(stream);
    all.back().insert(all.back().begin() + static_cast<std::ptrdiff_t>(at), stray);
  }
  all.push_back(stream);
  all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(at));
  return all;
}

TEST(Shift, OfNoReplyIsNone) {
  Session session;
  session.ask();
  session.feed(session.replies());
  EXPECT_EQ(session.grants(), 2U);
  EXPECT_TRUE(session.is_up());
  session.connect_anew();
  session.feed(Session::greeting(session.inbox()));
  session.answer(":1\r\n");
  EXPECT_TRUE(session.is_up());
}

TEST(Shift, OfRepliesToCommandsIsNeverBelieved) {
  constexpr std::size_t kReplies = 9;
  for (std::size_t at = 0; at < kReplies; ++at) {
    for (std::size_t which = 0; which <= kStrays.size(); ++which) {
      Session session;
      session.ask();
      const std::vector<std::string> stream = session.replies();
      ASSERT_EQ(stream.size(), kReplies);
      session.feed(shifted(stream, at)[which]);
      session.let_time_out();
      const std::string where = "place " + std::to_string(at) + ", stray " + std::to_string(which);
      session.check_grants(where);
      EXPECT_FALSE(session.is_up()) << where;
    }
  }
}

TEST(Shift, OfRepliesToAGreetingIsNeverBelieved) {
  constexpr std::size_t kReplies = 7;
  for (std::size_t at = 0; at < kReplies; ++at) {
    for (std::size_t which = 0; which <= kStrays.size(); ++which) {
      Session session;
      session.connect_anew();
      const std::vector<std::string> stream = Session::greeting(session.inbox());
      ASSERT_EQ(stream.size(), kReplies);
      session.feed(shifted(stream, at)[which]);
      session.let_time_out();
      EXPECT_FALSE(session.is_up()) << "place " << at << ", stray " << which;
    }
  }
}

}  // namespace
}  // namespace belay
