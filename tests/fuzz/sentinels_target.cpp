// Hostile sentinels, and a hostile server where they lead, against the real router: whatever they
// send, in answer or out of the blue, while time goes by. The client goes only to what is an
// address, keeps few links, asks nobody without end, and tells what it met in readable words,
// without a password.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/authority.h"
#include "core/core.h"
#include "dialect/native.h"
#include "fuzz/input.h"
#include "fuzz/links.h"
#include "fuzz/require.h"

namespace belay::fuzz {
namespace {

constexpr int kMostSteps = 300;
constexpr std::size_t kMostLinks = 5;  // of three sentinels, to nowhere, and to the master

class Session final : public EngineEvents {
 public:
  explicit Session(Input& input) : input_(input) { core_.start(now_); }

  void run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      act();
      check();
    }
    core_.stop();
  }

 private:
  static Config config() {
    Config config;
    config.credentials.password = Secret(kPassword);
    config.sentinel_password = Secret(kPassword);
    config.address_map = "10.0.0.1:6379=outside:7001";
    return config;
  }

  void on_event(Event event) override { check_words(event.status.message); }

  void act() {
    const auto alive = links_.alive();
    FakeLink& link = *alive[input_.below(alive.size())];
    Peer* const peer = core_.peer(link);
    switch (input_.below(8)) {
      case 0:
        now_ +=
            input_.any_of<Micros>({kMillisecond, 200 * kMillisecond, 2 * kSecond, 60 * kSecond});
        fire();
        break;
      case 1:
        if (peer != nullptr && link.state != FakeLink::State::kClosed) {
          peer->on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now_);
        }
        break;
      default:
        if (peer != nullptr && link.state == FakeLink::State::kOpening) {
          link.state = FakeLink::State::kOpen;
          peer->on_link_open(now_);
        } else if (peer != nullptr && link.state == FakeLink::State::kOpen) {
          peer->on_link_bytes(words(), now_);
        }
    }
  }

  void fire() {
    for (int i = 0; core_.next_deadline() <= now_; ++i) {
      require(i < 100, "timers come to an end");
      core_.on_timer(now_);
    }
  }

  // Of a sentinel, of a server, or of nobody.
  std::string words() {
    switch (input_.below(10)) {
      case 0:
        return "%1\r\n" + bulk("mode") + bulk(input_.any_of({"sentinel", "standalone", "cluster"}));
      case 1:
        return ">3\r\n" + bulk("subscribe") +
               bulk(input_.any_of({"+promoted-slave", "+switch-master", "x"})) + ":1\r\n";
      case 2:
      case 3:
        return "*2\r\n" + bulk(host()) + bulk(input_.any_of({"6379", "7001", "0", "65536", ""})) +
               "%1\r\n" + bulk("config-epoch") +
               bulk(input_.any_of({"0", "1", "2", "9223372036854775807", "-1", "1e3"}));
      case 4:
        return ">3\r\n" + bulk("message") + bulk("+switch-master") + bulk(input_.bytes());
      case 5:
        return "-" +
               std::string(input_.any_of({"ERR No such master with that name", "NOAUTH no",
                                          "WRONGPASS SECRET-password", "IDONTKNOW"})) +
               "\r\n";
      case 6:
        return greeting();
      case 7:
        return bulk("role:master\r\nslave0:lag=" + std::string(input_.bytes()) + "\r\n");
      default:
        return std::string(input_.bytes());
    }
  }

  std::string host() {
    const std::string known = input_.any_of({"10.0.0.1", "10.0.0.2", "::1", "a b", "\x1b[1m", ""});
    return input_.flag() ? known : std::string(input_.bytes());
  }

  // What brings a node up.
  std::string greeting() {
    return "%2\r\n" + bulk("version") + bulk("7.0") + bulk("role") +
           bulk(input_.any_of({"master", "replica"})) + ":5\r\n>3\r\n" + bulk("subscribe") +
           bulk(dialect_.inbox().channel(0)) + ":1\r\n+OK\r\n" + bulk("run_id:x\r\n") + bulk("") +
           "*2\r\n" + bulk("100") + bulk("0");
  }

  void check() {
    const Node& node = core_.router().node_of(0);
    const Endpoint& goal = node.goal();
    require(!goal.path.empty() || (is_host(goal.host) && goal.port > 0), "it goes to an address",
            goal.display());
    check_words(node.trouble().message);
    require(links_.alive().size() <= kMostLinks, "it keeps few links");
    for (const auto& link : links_.alive()) {
      require(link->size < 64U << 10U, "it asks within bounds");
      link->size = 0;
    }
  }

  Input& input_;
  const Config config_ = config();
  const NativeDialect dialect_{{"fuzzed-client---------", "belay:", "1 host label", "its secret"},
                               config_.request_timeout};
  Micros now_ = 10 * kSecond;
  FakeLinks links_;
  Log log_{BELAY_LOG_NONE, [] {}, BELAY_LOG_DEBUG,
           [](std::int32_t /*level*/, const std::string& message) { check_words(message); }};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  Core core_{config_,
             dialect_,
             on_sentinels({Endpoint{"s1", 26379, "", false}, Endpoint{"s2", 26379, "", false},
                           Endpoint{"s3", 26379, "", false}},
                          "m"),
             [this](const Endpoint& endpoint) { return links_.add(endpoint); },
             log_,
             *this,
             last_hold_,
             random_};
};

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::fuzz::Input input(data, size);
  std::make_unique<belay::fuzz::Session>(input)->run();
  return 0;
}
