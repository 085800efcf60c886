// An engine whose node a server has greeted, over a link that keeps what is sent; the server's
// replies are given by hand. For tests that need no world around them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "primitive/lock.h"
#include "unit/marks.h"

namespace belay {

class RecordingLink final : public Link {
 public:
  void open() override {}

  void send(std::string_view bytes) override {
    sent.emplace_back(bytes);
    marks.on_sent(bytes);
  }

  void close() override { marks.forget(); }

  std::vector<std::string> sent;  // a command each
  Marks marks;
};

class RecordedEvents final : public EngineEvents {
 public:
  void on_event(Event event) override { events.push_back(std::move(event)); }

  std::vector<Event> events;
};

// One node. Every slot is a group of its own, or all are one.
class OneNodeRouter final : public Router {
 public:
  explicit OneNodeRouter(Node& node) : node_(node) {}

  Node& node_of(std::uint16_t /*slot*/) override { return node_; }

  std::uint16_t group_of(std::uint16_t slot) override { return apart ? slot : 0; }

  bool apart = false;

 private:
  Node& node_;
};

class Greeted : public testing::Test {
 protected:
  Greeted() {
    node_.start(engine_, now_);
    greet("5");
    link_.sent.clear();
  }

  void greet(const std::string& connection) {
    node_.on_timer(now_);
    node_.on_link_open(now_);
    answer("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:" + connection + "\r\n");
    answer(">3\r\n$9\r\nsubscribe\r\n" + bulk(me_.inbox()) + ":1\r\n");
    answer("+OK\r\n" + bulk("run_id:r\r\n") + bulk("") + "*2\r\n$3\r\n100\r\n$1\r\n0\r\n");
  }

  static std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  // To the oldest commands in turn, or pushed.
  void answer(const std::string& bytes) { node_.on_link_bytes(link_.marks.marked(bytes), now_); }

  Micros now_ = kSecond;
  Config config_;
  const Identity me_{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label", "my secret"};
  const HeldPrimitive lock_{Kind::kLock, me_};
  RecordingLink link_;
  RecordedEvents events_;
  Log log_{BELAY_LOG_NONE, [] {}};
  Node node_{config_, me_.inbox(), 1, link_, log_};
  OneNodeRouter router_{node_};
  std::atomic<std::int64_t> last_hold_{0};
  Engine engine_{config_, lock_, {&lock_}, router_, events_, last_hold_, 2};
};

}  // namespace belay
