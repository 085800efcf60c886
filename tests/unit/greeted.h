// An engine whose node a server has greeted, over a link that keeps what is sent; the server's
// replies are given by hand. For tests that need no world around them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/core.h"
#include "dialect/native.h"
#include "unit/fake_link.h"
#include "unit/marks.h"
#include "unit/replies.h"

namespace belay {

class RecordingLink final : public Link {
 public:
  using Link::Link;

  void open() override { opened = true; }

  void send(std::string_view bytes) override {
    sent.emplace_back(bytes);
    marks.on_sent(bytes);
  }

  void close() override { marks.forget(); }

  bool opened = false;
  std::vector<std::string> sent;  // a command each
  Marks marks;
};

// A test keeps these links, and each leads where it says.
inline Dial dial_to(std::vector<Link*> links) {
  return [links = std::move(links)](const Endpoint& endpoint) -> std::shared_ptr<Link> {
    for (Link* const link : links) {
      if (link->endpoint().display() == endpoint.display()) {
        return borrowed(*link);
      }
    }
    return nullptr;
  };
}

class RecordedEvents final : public EngineEvents {
 public:
  void on_event(Event event) override { events.push_back(std::move(event)); }

  std::vector<Event> events;
};

// Somebody else than the engine hears of the node.
class GreetedNode : public testing::Test {
 protected:
  void start(NodeEvents& events) {
    core_.start(events, now_);
    greet("5");
    link_.sent.clear();
  }

  void greet(const std::string& connection) {
    node_.on_timer(now_);
    node_.on_link_open(now_);
    answer("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n:" + connection + "\r\n");
    answer(">3\r\n$9\r\nsubscribe\r\n" + bulk(me_.inbox().channel(0)) + ":1\r\n");
    answer("+OK\r\n" + bulk("run_id:r\r\n") + bulk("") + "*2\r\n$3\r\n100\r\n$1\r\n0\r\n");
  }

  // To the oldest commands in turn, or pushed.
  void answer(const std::string& bytes) { node_.on_link_bytes(link_.marks.marked(bytes), now_); }

  Micros now_ = kSecond;
  Config config_;
  const Identity me_{"ABCDEFGHIJKLMNOPQRSTUV", "belay:", "1 host label", "my secret"};
  const NativeDialect dialect_{me_, config_.request_timeout};
  const LockOrSemaphore& lock_ = dialect_.lock;
  bool apart_ = false;  // each slot is a group of its own
  RecordingLink link_;
  RecordedEvents events_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  Core core_{config_,
             dialect_,
             Topology{{{link_.endpoint()}},
                      [this](std::uint16_t slot) {
                        return apart_ ? Place{0, slot} : Place();
                      }},
             dial_to({&link_}),
             log_,
             events_,
             last_hold_,
             random_};
  Node& node_ = *core_.node(link_);
};

class Greeted : public GreetedNode {
 protected:
  Greeted() { start(engine_); }

  Engine& engine_ = core_.engine();
};

}  // namespace belay
