// The engine and its node against a server that wishes them ill, where only a bound helps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/packing.h"
#include "engine/engine.h"
#include "primitive/keys.h"
#include "primitive/lock.h"

namespace belay {
namespace {

class CountingLink final : public Link {
 public:
  void open() override {}

  void send(std::string_view bytes) override { commands += bytes.starts_with('*') ? 1 : 0; }

  void close() override { ++closed; }

  int commands = 0;
  int closed = 0;
};

class Events final : public EngineEvents {
 public:
  void on_event(Event event) override { events.push_back(std::move(event)); }

  std::vector<Event> events;
};

class HostileServer : public testing::Test {
 protected:
  HostileServer() {
    node_.start(engine_, now_);
    node_.on_timer(now_);
    node_.on_link_open(now_);
    answer("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:5\r\n");
    answer(">3\r\n$9\r\nsubscribe\r\n" + bulk(me_.inbox()) + ":1\r\n");
    answer("+OK\r\n" + bulk("run_id:r\r\n") + bulk("") + "*2\r\n$3\r\n100\r\n$1\r\n0\r\n");
  }

  static std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  void answer(const std::string& bytes) { node_.on_link_bytes(bytes, now_); }

  void acquire(const std::string& name) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = name;
    ASSERT_TRUE(engine_.acquire(++tag_, request, kNever, now_).ok());
  }

  // That somebody waits for `name`, to that claim of ours.
  void tell(const std::string& name, std::int64_t epoch) {
    const std::string payload = Packer()
                                    .u8(3)
                                    .u8(1)
                                    .number(epoch)
                                    .number(100 * kSecond)
                                    .bytes(key_of("belay:", 'r', name))
                                    .take();
    answer(">3\r\n$7\r\nmessage\r\n" + bulk(me_.inbox()) + bulk(payload));
  }

  Micros now_ = kSecond;
  Config config_;
  const Identity me_{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label"};
  const HeldPrimitive lock_{Kind::kLock, me_};
  CountingLink link_;
  Events events_;
  Node node_{config_, me_.inbox(), 1, link_};
  SingleRouter router_{node_};
  Engine engine_{config_, lock_, {&lock_}, router_, events_, 2};
  std::int64_t tag_ = 0;
};

TEST_F(HostileServer, MakesUsLeaveNoClaimThatWeNeverMade) {
  ASSERT_TRUE(node_.up());
  acquire("a");
  const int before = link_.commands;
  tell("b", 2);
  tell("b", 0);
  tell("b", -1);
  EXPECT_EQ(link_.commands, before);
  tell("b", 1);
  EXPECT_EQ(link_.commands, before + 1);
}

// Each would be remembered until it is answered.
TEST_F(HostileServer, MakesUsRememberNoMoreDeadClaimsThanWeMust) {
  acquire("a");
  const int before = link_.commands;
  for (int i = 0; i < 50'000; ++i) {
    tell("name " + std::to_string(i), 1);
  }
  EXPECT_GE(link_.commands, before + 1000);
  EXPECT_LE(link_.commands, before + 10'000);
  EXPECT_TRUE(node_.up());
}

}  // namespace
}  // namespace belay
