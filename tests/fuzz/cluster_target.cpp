// Hostile nodes of a cluster against a whole client without its sockets: they answer what they are
// asked, mostly with errors, and send us to nowhere, in circles, and to very many others. The
// client goes only to what is an address, connects to few nodes, and sends within bounds. It says
// what it met in readable words, without a password; and whoever asked is answered once.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/authority.h"
#include "base/packing.h"
#include "core/core.h"
#include "dialect/native.h"
#include "dialect/queries.h"
#include "fuzz/input.h"
#include "fuzz/links.h"
#include "fuzz/require.h"
#include "sim/resp.h"

namespace belay::fuzz {
namespace {

constexpr int kMostSteps = 300;
constexpr std::size_t kMostSent = std::size_t{1} << 20U;  // in one step: scripts are long

class Session final : public EngineEvents {
 public:
  explicit Session(Input& input) : input_(input) { core_.start(now_); }

  void run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      act();
      check();
    }
    core_.engine().shutdown(now_);
    now_ += 3 * kSecond;
    fire();
    require(has_ended_, "the client ends");
    for (const auto& [tag, answers] : answers_) {
      require(answers == 1, "every submission is answered", std::to_string(tag));
    }
    core_.stop();
  }

 private:
  static Config config() {
    Config config;
    config.credentials.password = Secret(kPassword);
    config.address_map = "10.0.0.1:6379=outside:7001";
    return config;
  }

  void on_event(Event event) override {
    check_words(event.status.message);
    has_ended_ = has_ended_ || event.kind == BELAY_EVENT_END;
    if (event.tag > 0) {
      require(++answers_[event.tag] == 1, "a submission is answered once");
    }
  }

  std::shared_ptr<Link> dial(const Endpoint& endpoint) {
    require(is_host(endpoint.host) && endpoint.port > 0, "it goes to an address",
            endpoint.display());
    return links_.add(endpoint);
  }

  void act() {
    const std::size_t what = input_.below(12);
    if (what == 11) {
      submit();
    } else if (what == 10) {
      now_ += input_.any_of<Micros>({kMillisecond, 200 * kMillisecond, 2 * kSecond, 70 * kSecond});
    } else if (FakeLink* const link = some_link(); link != nullptr) {
      disturb(*link, what == 9);
    }
    fire();
  }

  // Mostly one at which something is to be done.
  FakeLink* some_link() {
    const auto alive = links_.alive();
    std::vector<FakeLink*> some;
    const bool any = input_.below(16) == 15;
    for (const auto& link : alive) {
      if (any || link->state == FakeLink::State::kOpening || !link->sent.empty()) {
        some.push_back(link.get());
      }
    }
    return some.empty() ? nullptr : some[input_.below(some.size())];
  }

  void submit() {
    const std::string name = "name " + std::to_string(input_.below(8));
    Engine& engine = core_.engine();
    const std::int64_t tag = ++last_tag_;
    if (input_.flag()) {
      AcquireRequest request;
      request.primitive = &dialect_.lock;
      request.name = name;
      request.names.emplace_back(name, request.want);
      if (input_.flag()) {
        request.names.emplace_back(name + " too", request.want);
      }
      request.lease = input_.any_of<Micros>({0, kSecond, 600 * kSecond});
      require(engine.acquire(tag, request, input_.any_of<Micros>({0, kSecond, kNever}), now_).ok(),
              "an acquire is accepted");
    } else {
      require(engine.query(tag, inspect_query(dialect_, name), now_).ok(),
              "a question is accepted");
    }
    answers_.try_emplace(tag, 0);
  }

  void disturb(FakeLink& link, bool cuts) {
    Peer* const peer = core_.peer(link);
    if (peer == nullptr || link.state == FakeLink::State::kClosed) {
      return;
    }
    if (cuts) {
      peer->on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now_);
    } else if (link.state == FakeLink::State::kOpening) {
      link.state = FakeLink::State::kOpen;
      peer->on_link_open(now_);
    } else {
      std::string answers = input_.below(8) == 7 ? unasked() : "";
      std::string_view rest = link.sent;
      for (std::size_t most = 12 - input_.below(12); most > 0 && sim::next_command(rest, argv_);
           --most) {
        answers += answer();
      }
      link.sent.erase(0, link.sent.size() - rest.size());
      peer->on_link_bytes(answers, now_);
    }
  }

  void fire() {
    for (int i = 0; core_.next_deadline() <= now_; ++i) {
      require(i < 1000, "timers come to an end");
      core_.on_timer(now_);
    }
  }

  // To the command whose words are in argv_.
  std::string answer() {
    const std::string_view verb = argv_[0];
    if (input_.below(8) == 7) {
      return error();
    }
    if (verb == "HELLO") {
      return "%2\r\n" + bulk("version") + bulk(input_.any_of({"7.0.15", "6.2.14", "9"})) +
             bulk("mode") + bulk("cluster");
    }
    if (verb == "CLIENT" && (argv_[1] == "ID" || argv_[1] == "KILL")) {
      return ":" + std::to_string(input_.below(9)) + "\r\n";
    }
    if (verb.ends_with("SUBSCRIBE")) {
      return ">3\r\n" +
             bulk(verb.starts_with('S') && verb != "SUBSCRIBE"
                      ? (verb[1] == 'U' ? "sunsubscribe" : "ssubscribe")
                      : (verb[0] == 'U' ? "unsubscribe" : "subscribe")) +
             bulk(argv_[1]) + ":1\r\n";
    }
    if (verb == "INFO") {
      return bulk("run_id:" + std::to_string(input_.below(3)) + "\r\n");
    }
    if (verb == "CLUSTER") {
      return map();
    }
    if (verb == "TIME") {
      return "*2\r\n" + bulk(std::to_string(now_ / kSecond + 1000)) + bulk("0");
    }
    if (verb.starts_with("EVAL")) {
      return input_.below(3) == 2 ? error() : bulk(text() + std::string(argv_.back()));
    }
    return verb == "EXISTS" ? ":0\r\n" : "+OK\r\n";
  }

  // What a script may answer: granted, busy, or anything.
  std::string text() {
    const auto server_now = static_cast<double>(now_ + 1000 * kSecond);
    Packer packed;
    switch (input_.below(3)) {
      case 0:
        return packed.u8(1)
            .number(now_ + 1000 * kSecond)
            .number(7)
            .number(14)
            .u8(0)
            .number(1)
            .take();
      case 1:
        return packed.u8(3).number(static_cast<std::int64_t>(server_now)).number(kSecond).take();
      default:
        return std::string(input_.bytes());
    }
  }

  std::string error() {
    const std::string slot = input_.flag() && argv_.size() > 3
                                 ? std::to_string(dialect_.resource("name 1").slot)
                                 : std::string(input_.any_of({"0", "16383", "16384", "-1", "x"}));
    switch (input_.below(8)) {
      case 0:
      case 1:
      case 2:
        return "-MOVED " + slot + " " + address() + "\r\n";
      case 3:
      case 4:
        return "-ASK " + slot + " " + address() + "\r\n";
      case 5:
        return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
      case 6:
        return "-CLUSTERDOWN The cluster is down\r\n";
      default:
        return "-" +
               std::string(input_.any_of({"ERR unknown command 'SSUBSCRIBE'", "READONLY x",
                                          "NOPERM SECRET-password", "NOSCRIPT No", "X"})) +
               "\r\n";
    }
  }

  // That the client did not ask for.
  std::string unasked() {
    const Inbox inbox = dialect_.inbox();
    const std::uint16_t slot = dialect_.resource("name 1").slot;
    switch (input_.below(4)) {
      case 0:
        return ">3\r\n" + bulk("sunsubscribe") + bulk(inbox.channel(slot)) + ":0\r\n";
      case 1:
        return ">3\r\n" + bulk("smessage") + bulk(inbox.channel(slot)) + bulk(input_.bytes());
      case 2:
        return ">2\r\n" + bulk("invalidate") + "_\r\n";
      default:
        return std::string(input_.bytes());
    }
  }

  std::string address() {
    switch (input_.below(5)) {
      case 0:
        return "n" + std::to_string(input_.byte()) + ":7000";
      case 1:
        return input_.any_of({"10.0.0.1:6379", ":7001", "s1:6379", "s2:6379", "::1:7000"});
      case 2:
        return input_.any_of({"s1:0", "s1:65536", "s1", "", "a b:1", "\x1b[1m:1"});
      default:
        return "n" + std::to_string(input_.below(4)) + ":7000";
    }
  }

  // Whose the slots are: a few ranges, or each slot another's.
  std::string map() {
    if (input_.below(8) == 7) {
      std::string all = "*2000\r\n";
      for (int i = 0; i < 2000; ++i) {
        const std::string slot = ":" + std::to_string(i * 8) + "\r\n";
        all += "*3\r\n" + slot + slot + "*2\r\n" + bulk("m" + std::to_string(i)) + ":7000\r\n";
      }
      return all;
    }
    const std::size_t count = 1 + input_.below(3);
    std::string some = "*" + std::to_string(count) + "\r\n";
    for (std::size_t i = 0; i < count; ++i) {
      const std::string first = input_.any_of({"0", "5000", "16384", "-1"});
      const std::string last = input_.any_of({"16383", "5001", "0", "99999"});
      some += "*3\r\n:" + first + "\r\n:" + last + "\r\n*2\r\n" +
              (input_.below(6) == 5 ? "_\r\n" : bulk("n" + std::to_string(input_.below(4)))) +
              input_.any_of({":7000\r\n", ":7001\r\n", ":0\r\n", ":70000\r\n"});
    }
    return some;
  }

  void check() {
    for (const auto& link : links_.alive()) {
      require(link->size < kMostSent, "it sends within bounds");
      link->size = 0;
    }
    // One for each that somebody was sent to lately, and no more.
    require(links_.alive().size() <= kMostSteps, "it connects to few nodes");
  }

  Input& input_;
  const Config config_ = config();
  const NativeDialect dialect_{
      {"fuzzed-client---------", "belay:", "1 host label", "its secret", true},
      config_.request_timeout};
  Micros now_ = 10 * kSecond;
  FakeLinks links_;
  std::vector<std::string_view> argv_;
  std::map<std::int64_t, int> answers_;  // by tag
  std::int64_t last_tag_ = 0;
  bool has_ended_ = false;
  Log log_{BELAY_LOG_NONE, [] {}, BELAY_LOG_DEBUG,
           [](std::int32_t /*level*/, const std::string& message) { check_words(message); }};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  Core core_{config_,
             dialect_,
             on_a_cluster({Endpoint{"s1", 6379, "", false}, Endpoint{"s2", 6379, "", false}}),
             [this](const Endpoint& endpoint) { return dial(endpoint); },
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
