// Several names at once where each slot has to be asked apart, as in a cluster; and where one
// command does for all. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/packing.h"
#include "primitive/many.h"
#include "unit/greeted.h"

namespace belay {
namespace {

class Set : public Greeted {
 protected:
  Set() { router_.apart = true; }

  // To many: all of its names, with fences from this one on.
  void grant(std::int64_t fence, int names = 1) {
    Packer packed;
    packed.u8(1).number(100 * kSecond);
    for (int i = 0; i < names; ++i) {
      packed.number(fence + i * 10).number(fence + i * 10 + 8).u8(0);
    }
    answer(bulk(packed.take()));
  }

  void refuse() { answer(bulk(Packer().u8(3).number(100 * kSecond).number(kSecond).take())); }

  // To acquire.
  void grant_one(std::int64_t fence) {
    answer(bulk(Packer()
                    .u8(1)
                    .number(100 * kSecond)
                    .number(fence)
                    .number(fence + 8)
                    .u8(0)
                    .number(1)
                    .take()));
  }

  void acquire(const std::vector<std::string>& names, Micros wait) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.many = &many_;
    for (const std::string& name : names) {
      request.names.emplace_back(name, Want());
    }
    ASSERT_TRUE(engine_.acquire(1, request, wait, now_).ok());
  }

  // The calls since the last time, each as the names that it is about.
  std::vector<std::string> asked() {
    std::vector<std::string> calls;
    for (const std::string& script : link_.sent) {
      if (script.find("EVAL") == std::string::npos) {
        continue;
      }
      std::string names;
      for (const char name : {'a', 'b', 'c'}) {
        const bool about = script.find(std::string("belay:r:{") + name + "}") != std::string::npos;
        names += about ? std::string(1, name) : std::string();
      }
      calls.push_back(names);
    }
    link_.sent.clear();
    return calls;
  }

  // How many keys the only call since the last time has.
  std::size_t keys_asked_for() {
    EXPECT_EQ(link_.sent.size(), 1U);
    const std::string& call = link_.sent.at(0);
    std::size_t keys = 0;
    for (std::size_t at = call.find("\nbelay:"); at != std::string::npos;
         at = call.find("\nbelay:", at + 1)) {
      keys += call.compare(at, 10, "\nbelay:in:") == 0 ? 0 : 1;
    }
    link_.sent.clear();
    return keys;
  }

  using Calls = std::vector<std::string>;

  const ManyLocks many_{me_};
};

TEST_F(Set, OfOneGroupCostsOneExchange) {
  router_.apart = false;
  acquire({"c", "a", "b"}, kNever);
  EXPECT_EQ(asked(), Calls{"abc"});
  grant(50, 3);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_OK);
  EXPECT_EQ(engine_.look(events_.events[0].hold, now_).fences, events_.events[0].fences);
  EXPECT_EQ(asked(), Calls{});
}

TEST_F(Set, OfSeveralGroupsIsTriedInParallel) {
  acquire({"a", "b", "c"}, kNever);
  EXPECT_EQ(asked().size(), 3U);
  grant(50);
  grant(60);
  EXPECT_TRUE(events_.events.empty());
  grant(70);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].fences.size(), 3U);
}

TEST_F(Set, ThatEndsWhenItIsToAskAgainLeavesThatToWhoComesNext) {
  acquire({"a", "b"}, 51 * kMillisecond);
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  ASSERT_TRUE(engine_.acquire(2, request, kNever, now_).ok());
  EXPECT_EQ(asked().size(), 2U);
  answer("-NOREPLICAS Not enough good replicas to write.\r\n");
  answer("-NOREPLICAS Not enough good replicas to write.\r\n");
  now_ += config_.request_timeout;  // the time to ask again has come, and then the end
  engine_.on_timer(now_);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 1);
  EXPECT_EQ(asked(), (Calls{"b", "a"}));  // b is left
  answer(bulk(Packer().u8(2).number(105 * kSecond).number(0).take()));
  grant_one(50);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].tag, 2);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
}

TEST_F(Set, GoesBackWhereAGroupIsBusyAndIsTakenInOrder) {
  acquire({"b", "a"}, kNever);
  const Calls tried = asked();
  ASSERT_EQ(tried.size(), 2U);
  grant(50);
  refuse();
  // What the first group gave is left before anything is asked for again.
  EXPECT_EQ(asked(), (Calls{tried[0], "a"}));
  answer(bulk(Packer().u8(1).number(100 * kSecond).number(0).take()));
  grant_one(60);
  EXPECT_EQ(asked(), Calls{"b"});
  EXPECT_TRUE(events_.events.empty());
  grant_one(70);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].fences, (std::vector<std::int64_t>{70, 60}));
}

TEST_F(Set, ThatIsOnlyTriedIsBusyWithoutAnotherQuestion) {
  router_.apart = false;
  acquire({"a", "b"}, 0);
  asked();
  refuse();
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_BUSY);
  EXPECT_EQ(asked(), Calls{});
  EXPECT_TRUE(engine_.idle());
}

TEST_F(Set, IsLeftByOneCommandAndReleasedOnce) {
  router_.apart = false;
  acquire({"a", "b"}, kNever);
  grant(50, 2);
  asked();
  ASSERT_TRUE(engine_.release(2, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(asked(), Calls{"ab"});
  const std::string left = Packer().u8(1).number(100 * kSecond).number(0).take();
  EXPECT_EQ(events_.events.size(), 1U);
  answer(bulk(left + left));
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
  EXPECT_TRUE(engine_.idle());
}

// Where one is not plainly free or held, the same is asked of all in full, once.
TEST_F(Set, IsAskedForInFullWhereOneIsNotPlain) {
  router_.apart = false;
  acquire({"a", "b"}, kNever);
  EXPECT_EQ(keys_asked_for(), 6U);
  answer(bulk(Packer().u8(6).number(100 * kSecond).take()));
  EXPECT_EQ(keys_asked_for(), 10U);
  grant(50, 2);
  ASSERT_TRUE(engine_.release(2, events_.events.at(0).hold, now_).ok());
  EXPECT_EQ(keys_asked_for(), 2U);
  const std::string not_plain = Packer().u8(5).number(100 * kSecond).number(0).take();
  answer(bulk(not_plain + not_plain));
  EXPECT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(keys_asked_for(), 10U);
  const std::string left = Packer().u8(1).number(100 * kSecond).number(0).take();
  answer(bulk(left + left));
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
  EXPECT_TRUE(engine_.idle());
}

// A server that calls nothing plain is not asked for ever.
TEST_F(Set, IsNotLeftWithoutEnd) {
  router_.apart = false;
  acquire({"a", "b"}, kNever);
  grant(50, 2);
  ASSERT_TRUE(engine_.release(2, events_.events.at(0).hold, now_).ok());
  const std::string not_plain = Packer().u8(5).number(100 * kSecond).number(0).take();
  answer(bulk(not_plain + not_plain));
  asked();
  answer(bulk(not_plain + not_plain));
  EXPECT_EQ(asked(), Calls{});
}

TEST_F(Set, IsLeftSlotBySlot) {
  acquire({"a", "b"}, kNever);
  grant(50);
  grant(60);
  asked();
  ASSERT_TRUE(engine_.release(2, events_.events.at(0).hold, now_).ok());
  const Calls left = asked();
  EXPECT_EQ(left.size(), 2U);
  EXPECT_EQ(left.at(0).size() + left.at(1).size(), 2U);
}

// One bad key does not keep the others.
TEST_F(Set, IsLeftNameByNameWhereOneCommandFails) {
  router_.apart = false;
  acquire({"a", "b"}, kNever);
  grant(50, 2);
  ASSERT_TRUE(engine_.release(2, events_.events.at(0).hold, now_).ok());
  asked();
  answer("-WRONGTYPE 'b' is none of ours\r\n");
  EXPECT_EQ(asked(), (Calls{"a", "b"}));
  answer(bulk(Packer().u8(1).number(100 * kSecond).number(0).take()));
  EXPECT_EQ(events_.events.size(), 1U);
  answer("-WRONGTYPE 'b' is none of ours\r\n");
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(events_.events[1].status.code, BELAY_WRONG_TYPE);
}

TEST_F(Set, IsAnsweredByNothingThatTheScriptDoesNotGive) {
  const auto reads = [this](const std::string& packed, std::size_t count) {
    bool read = false;
    ReplyReader reader;
    EXPECT_EQ(reader.feed(bulk(packed),
                          [&](Reply reply) {
                            read = many_.read(reply, count).has_value();
                            return true;
                          }),
              "");
    return read;
  };
  const std::string granted = Packer().u8(1).number(1000).number(5).number(13).u8(0).take();
  EXPECT_TRUE(reads(granted, 1));
  EXPECT_FALSE(reads(granted, 2));
  EXPECT_FALSE(reads(granted + "x", 1));
  EXPECT_FALSE(reads(granted.substr(1), 1));
  EXPECT_FALSE(reads(Packer().u8(1).number(1000).number(5).number(4).u8(0).take(), 1));
  EXPECT_TRUE(reads(Packer().u8(6).number(1000).take(), 1));
  EXPECT_FALSE(reads(Packer().u8(2).number(1000).take(), 1));
  EXPECT_FALSE(reads(Packer().u8(7).number(1000).take(), 1));
}

}  // namespace
}  // namespace belay
