// A hostile server against the real node, engine and primitives: whatever it sends, in answer or
// out of the blue, while acquires, renewals, releases and questions are pending and time goes by.
// Each submission has exactly one event, no hold is believed that the server has not granted, what
// is not the protocol costs the connection, every message can be read, and memory is bounded.
#include <sanitizer/allocator_interface.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/core.h"
#include "dialect/fenced_write.h"
#include "dialect/keys.h"
#include "dialect/limit.h"
#include "dialect/native.h"
#include "dialect/queries.h"
#include "fuzz/hostile_server.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "fuzz/witness.h"

namespace belay::fuzz {
namespace {

constexpr Micros kLongestLease = 3600 * kSecond;
constexpr Micros kRounding = kMillisecond;
constexpr Micros kCloseBound = 2 * kSecond;
constexpr int kMostSteps = 400;
constexpr std::string_view kPassword = "SECRET-password";
constexpr std::size_t kMostMemory = 8U << 20U;  // beyond what a session begins with
constexpr std::size_t kRead = 64U << 10U;       // as much as is read from a socket at a time
const std::vector<std::string> kNames{"a", "x{a}", "b"};

class FakeLink final : public Link {
 public:
  void open() override { state = State::kOpening; }

  void send(std::string_view bytes) override {
    if (state == State::kOpen) {
      witness->on_sent(bytes);
    }
  }

  void close() override {
    state = State::kClosed;
    witness->on_cut();
  }

  enum class State { kClosed, kOpening, kOpen };
  State state = State::kClosed;
  Witness* witness = nullptr;
};

class Session final : public EngineEvents {
 public:
  explicit Session(Input& input);

  void run();
  // With a server in its right mind: what everything else builds on.
  void run_sanely();

 private:
  void on_event(Event event) override;
  void on_acquired(const Event& event);
  void step();
  void submit();
  void acquire();
  void want_otherwise(AcquireRequest* request);
  void want_several(AcquireRequest* request);
  std::unique_ptr<Query> some_query(const std::string& name);
  void ask_about(std::int64_t tag, std::int64_t hold);
  void accepted(std::int64_t tag, const Status& status, const std::string& name);
  void deliver_or_shift(const std::string& bytes);
  void answer();
  void answer_truly();
  void come_up();
  void change_link();
  void let_time_pass();
  void fire();
  void deliver(std::string bytes);
  void feed(std::string_view bytes);
  void check_memory();
  void check_holds();
  void finish();

  [[nodiscard]] Micros next_deadline() const { return core_.next_deadline(); }

  Input& input_;
  Config config_;
  const Identity identity_{"fuzzed-client---------", "belay:", "1 host label", "its secret"};
  const NativeDialect dialect_{identity_, config_.request_timeout};
  bool apart_ = false;  // each slot is asked for apart, as in a cluster
  FakeLink link_;
  Log log_{BELAY_LOG_NONE, [] {}};
  std::atomic<std::int64_t> last_hold_{0};
  Random random_{1};
  Core core_{config_,
             dialect_,
             Topology{{{link_.endpoint()}},
                      [this](std::uint16_t slot) {
                        return apart_ ? Place{0, slot} : Place();
                      }},
             [this](const Endpoint& /*endpoint*/) {
               return std::shared_ptr<Link>(std::shared_ptr<void>(), &link_);
             },
             log_,
             *this,
             last_hold_,
             random_};
  Engine& engine_ = core_.engine();
  Node& node_ = *core_.node(link_);
  Witness witness_{engine_, identity_};
  HostileServer server_;
  ReplyReader reader_;  // of the same bytes as the node's
  Micros now_ = 10 * kSecond;
  Micros ahead_ = 0;  // of the server's clock
  std::int64_t last_tag_ = 0;
  std::map<std::int64_t, std::vector<std::string>> pending_;  // names by tag
  std::vector<std::int64_t> holds_;
  std::set<std::int64_t> lost_;
  Status last_;  // of a submission
  std::vector<std::string> records_;
  bool shut_down_ = false;
  bool true_so_far_ = false;  // what the connection has brought
  const std::size_t memory_ = __sanitizer_get_current_allocated_bytes();
};

Session::Session(Input& input) : input_(input), server_(input, identity_) {
  config_.max_pending = 50;
  config_.credentials.password = Secret(kPassword);
  config_.watchdog_lease = input.any_of<Micros>({30 * kSecond, kSecond, 100 * kMillisecond});
  ahead_ = input.any_of<Micros>({1'700'000'000 * kSecond, 0, -5 * kSecond});
  link_.witness = &witness_;
  for (const std::string& name : kNames) {
    records_.push_back(key_of(identity_.prefix, 'r', name));
  }
  records_.insert(records_.end(), {"belay:r:{never asked for}", "belay:w:{a}", "", "other"});
  core_.start(witness_, now_);
}

// ---- What the engine says

void Session::on_event(Event event) {
  require_readable(event.status.message);
  require(event.status.message.find(kPassword) == std::string::npos, "a message hides the password",
          event.status.message);
  require(event.status.ok() || belay_status_class(event.status.code) != BELAY_CLASS_REFUSED ||
              !event.status.message.empty(),
          "a refusal is explained");
  if (event.kind == BELAY_EVENT_END) {
    require(!shut_down_, "SHUTDOWN comes once");
    shut_down_ = true;
  } else if (event.kind == BELAY_EVENT_LOST) {
    require(lost_.insert(event.hold).second, "a hold is lost once");
  } else if (event.tag != 0) {
    require(pending_.contains(event.tag), "a submission has one event");
    if (event.kind == BELAY_EVENT_ACQUIRED && event.status.ok()) {
      on_acquired(event);
    }
    pending_.erase(event.tag);
    last_ = event.status;
  }
}

void Session::on_acquired(const Event& event) {
  if (event.hold == 0) {
    require(event.generation > 0, "who passes a latch knows which");
    return;
  }
  const std::vector<std::string>& names = pending_.at(event.tag);
  const std::vector<std::int64_t> fences =
      names.size() > 1 ? event.fences : std::vector<std::int64_t>{event.fence};
  require(fences.size() == names.size() && fences.front() == event.fence, "a fence for each name");
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(fences[i] >= 1 && fences[i] <= kMaxFence, "a fence stays within its range");
    require(witness_.granted(key_of(identity_.prefix, 'r', names[i]), fences[i]),
            "the server has granted what is believed", names[i]);
  }
  require(event.remaining > 0, "a hold begins before its end");
  holds_.push_back(event.hold);
}

void Session::check_memory() {
  const std::size_t used = __sanitizer_get_current_allocated_bytes();
  require(used <= memory_ + kMostMemory, "whatever is sent costs little memory",
          std::to_string(used - memory_));
}

void Session::check_holds() {
  for (const std::int64_t hold : holds_) {
    const Engine::HoldView view = engine_.look(hold, now_);
    if (view.state == BELAY_HOLD_HELD || view.state == BELAY_HOLD_AT_RISK) {
      require(view.remaining > 0, "a hold is not believed beyond its end");
      require(view.remaining <= kLongestLease + kRounding, "nor for longer than anybody asked for",
              std::to_string(view.remaining));
    }
  }
}

// ---- What the application does

void Session::accepted(std::int64_t tag, const Status& status, const std::string& name) {
  require_readable(status.message);
  if (!status.ok()) {
    require(pending_.erase(tag) == 1, "a refused submission has no event", name);
  }
}

void Session::acquire() {
  const std::int64_t tag = ++last_tag_;
  AcquireRequest request;
  request.primitive = &dialect_.lock;
  request.name = kNames[input_.below(kNames.size())];
  request.owner = static_cast<std::int64_t>(input_.below(3));
  request.lease = input_.any_of<Micros>({0, 0, 100 * kMillisecond, 10 * kSecond, kLongestLease});
  request.max_hold = input_.any_of<Micros>({0, 0, kSecond});
  request.notify = true;
  want_otherwise(&request);
  const Micros wait = input_.any_of<Micros>({kNever, 0, kSecond, 20 * kSecond});
  pending_[tag] = {request.name};
  for (std::size_t i = 1; i < request.names.size(); ++i) {
    pending_[tag].push_back(request.names[i].first);
  }
  accepted(tag, engine_.acquire(tag, request, wait, now_), request.name);
}

// Of another kind than the exclusive lock.
void Session::want_otherwise(AcquireRequest* request) {
  switch (input_.below(8)) {
    case 1:
      request->want.group = kReaders;
      break;
    case 2:
      request->want.group = std::string(1, kIdentityGroup) + "job";
      break;
    case 3:
      request->primitive = &dialect_.semaphore;
      request->want.limit = 3;
      request->want.permits = input_.any_of<std::int64_t>({1, 2, 0});
      break;
    case 4:
      request->primitive = &dialect_.latch;
      break;
    case 5:
      request->want.lock_delay = kSecond;
      break;
    case 6:
      want_several(request);
      break;
    default:
      break;
  }
}

// In any order, some of them to read.
void Session::want_several(AcquireRequest* request) {
  const std::size_t first = input_.below(kNames.size());
  const std::size_t count = 2 + input_.below(kNames.size() - 1);
  Want want;
  want.lock_delay = input_.any_of<Micros>({0, kSecond});
  for (std::size_t i = 0; i < count; ++i) {
    want.group = input_.flag() ? kReaders : "";
    request->names.emplace_back(kNames[(first + i) % kNames.size()], want);
  }
  request->name = request->names.front().first;
  apart_ = input_.flag();
}

void Session::ask_about(std::int64_t tag, std::int64_t hold) {
  Status status;
  switch (input_.below(5)) {
    case 0:
    case 1:
      status = engine_.release(tag, hold, now_);
      break;
    case 2:
      status = engine_.verify(tag, hold, now_);
      break;
    case 3:
      status = engine_.downgrade(tag, hold, kReaders, now_);
      break;
    default:
      status = engine_.extend(tag, hold, 10 * kSecond, now_);
      break;
  }
  accepted(tag, status, "");
}

void Session::submit() {
  const std::int64_t tag = ++last_tag_;
  const std::string& name = kNames[input_.below(kNames.size())];
  pending_[tag] = {name};
  const std::int64_t hold = holds_.empty() ? 1 : holds_[input_.below(holds_.size())];
  switch (input_.below(8)) {
    case 0:
    case 1:
      ask_about(tag, hold);
      break;
    case 6:
      pending_.erase(tag);
      static_cast<void>(engine_.cancel(last_tag_ - input_.byte(), now_));
      break;
    case 7:
      pending_.erase(tag);
      static_cast<void>(input_.below(8) == 0 ? engine_.shutdown(now_)
                                             : engine_.abandon(hold, now_));
      break;
    default:
      accepted(tag, engine_.query(tag, some_query(name), now_), name);
      break;
  }
}

std::unique_ptr<Query> Session::some_query(const std::string& name) {
  switch (input_.below(10)) {
    case 0:
    case 1:
      return inspect_query(dialect_, name);
    case 2:
    case 3:
      return break_query(dialect_, name, input_.any_of<std::int64_t>({0, 1}));
    case 4:
      return list_query(dialect_, input_.any_of<const char*>({"*", "[", "a"}), 2);
    case 5:
      return input_.flag() ? available_query(dialect_.semaphore, name)
                           : limit_query(dialect_.semaphore, name, 5);
    case 6:
      return latch_set_query(dialect_.latch, name, {last_tag_}, 2,
                             input_.any_of<Micros>({0, kSecond}));
    case 7:
      return latch_count_down_query(dialect_.latch, name, {last_tag_}, 1);
    case 8:
      return input_.flag() ? latch_count_query(dialect_.latch, name)
                           : fenced_write_query(identity_.prefix, {name, 1, {"SET", "x"}});
    default:
      return ping_query();
  }
}

// ---- What the server does

void Session::feed(std::string_view bytes) {
  if (link_.state != FakeLink::State::kOpen) {
    return;
  }
  const std::string wrong = reader_.feed(bytes, [](Reply) { return true; });
  node_.on_link_bytes(bytes, now_);
  require(wrong.empty() || link_.state == FakeLink::State::kClosed,
          "what is not the protocol costs the connection", wrong);
}

// Whole, in two parts, or cut off.
void Session::deliver(std::string bytes) {
  true_so_far_ = false;
  witness_.shift = 0;
  const std::size_t manner = input_.below(8);
  const std::size_t part =
      manner < 6 ? bytes.size() : std::min<std::size_t>(bytes.size(), input_.byte());
  for (std::size_t at = 0; at < part; at += kRead) {
    feed(std::string_view(bytes).substr(at, std::min(kRead, part - at)));
  }
  if (manner == 6) {
    feed(std::string_view(bytes).substr(part));
  }
}

// Whatever comes from nowhere; if that is nothing, one reply too many, as where somebody else wrote
// to our socket, or one that is missing. Only what is known to be whole can be counted.
void Session::deliver_or_shift(const std::string& bytes) {
  if (!bytes.empty()) {
    deliver(bytes);
    return;
  }
  if (link_.state != FakeLink::State::kOpen || !true_so_far_) {
    return;
  }
  if (witness_.asked.empty() || input_.flag()) {
    ++witness_.shift;
    feed(server_.stray());
  } else {
    --witness_.shift;
    witness_.asked.pop_front();
  }
}

void Session::answer() {
  if (witness_.asked.empty()) {
    deliver("+OK\r\n");
    return;
  }
  const HostileServer::Argv command = witness_.asked.front();
  witness_.asked.pop_front();
  deliver(server_.answer(command));
}

void Session::answer_truly() {
  for (int i = 0; i < 30 && !witness_.asked.empty(); ++i) {
    const HostileServer::Argv command = witness_.asked.front();
    witness_.asked.pop_front();
    feed(server_.truth(command));
  }
}

void Session::come_up() {
  for (int i = 0; i < 4 && !node_.up(); ++i) {
    if (link_.state == FakeLink::State::kClosed) {
      now_ = std::max(now_, std::min(node_.next_deadline(), now_ + 3 * kSecond));
      fire();
    }
    if (link_.state == FakeLink::State::kOpening) {
      link_.state = FakeLink::State::kOpen;
      true_so_far_ = true;
      reader_.reset();
      node_.on_link_open(now_);
    }
    answer_truly();
  }
}

void Session::change_link() {
  if (link_.state == FakeLink::State::kOpening && input_.flag()) {
    link_.state = FakeLink::State::kOpen;
    true_so_far_ = true;
    reader_.reset();
    node_.on_link_open(now_);
  } else if (link_.state != FakeLink::State::kClosed) {
    node_.on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now_);
  }
}

// ---- Time

void Session::fire() {
  for (int i = 0; next_deadline() <= now_; ++i) {
    require(i < 100, "timers come to an end");
    core_.on_timer(now_);
  }
}

void Session::let_time_pass() {
  const std::size_t choice = input_.below(8);
  if (choice == 0 && next_deadline() < kNever) {
    now_ = std::max(now_, next_deadline());
  } else if (choice == 7) {
    ahead_ += input_.any_of<Micros>({kSecond, -kSecond, 3600 * kSecond, -3600 * kSecond});
  } else {
    now_ += input_.any_of<Micros>({kMillisecond, 20 * kMillisecond, 100 * kMillisecond, kSecond,
                                   6 * kSecond, 31 * kSecond, 3600 * kSecond});
  }
  // A process that was stopped does not always see its timers first.
  if (choice != 6) {
    fire();
  }
}

// ---- A session

void Session::step() {
  server_.set_time(now_ + ahead_);
  switch (input_.below(12)) {
    case 0:
    case 1:
      acquire();
      break;
    case 2:
      submit();
      break;
    case 3:
      come_up();
      break;
    case 4:
    case 5:
      answer();
      break;
    case 6:
      answer_truly();
      break;
    case 7:
      deliver(server_.push(records_));
      break;
    case 8:
      deliver_or_shift(std::string(input_.bytes()));
      break;
    case 9:
    case 10:
      let_time_pass();
      break;
    default:
      change_link();
      break;
  }
  check_holds();
  check_memory();
}

void Session::run() {
  for (int i = 0; i < kMostSteps && !input_.empty(); ++i) {
    step();
  }
  finish();
}

void Session::run_sanely() {
  server_.set_time(now_ + ahead_);
  come_up();
  acquire();
  answer_truly();
  require(pending_.empty() && last_.ok(), "what is granted is ours", last_.message);
  submit();
  answer_truly();
  require(pending_.empty() && last_.ok(), "what is asked is answered", last_.message);
  for (const std::int64_t hold : holds_) {
    require(engine_.look(hold, now_).state == BELAY_HOLD_HELD, "what is held stays so");
    pending_[++last_tag_];
    accepted(last_tag_, engine_.release(last_tag_, hold, now_), "");
    answer_truly();
    require(pending_.empty() && last_.ok(), "what is released is left", last_.message);
  }
  finish();
}

// Whatever the server did, shutting down takes no longer than it may.
void Session::finish() {
  static_cast<void>(engine_.shutdown(now_));
  const Micros end = now_ + kCloseBound;
  while (now_ < end && !shut_down_) {
    now_ = std::clamp(next_deadline(), now_ + 1, end);
    fire();
  }
  require(shut_down_, "shutting down comes to its end in time");
  require(pending_.empty(), "every submission has its event");
  core_.stop();
}

}  // namespace
}  // namespace belay::fuzz

// The truth has to be understood, or lies would not be told from it: each kind of request is
// granted, and each kind of question answered.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  constexpr std::uint8_t kKinds = 7;
  constexpr std::uint8_t kQueries = 10;
  // Choices behind the kind and before the query: a latch leaves no hold to be chosen, permits are
  // to be numbered, and of two names is said which, how, and what came of each.
  constexpr std::array<std::size_t, kKinds> kChoices{5, 5, 5, 6, 3, 5, 12};
  for (std::uint8_t kind = 0; kind < kKinds; ++kind) {
    for (std::uint8_t query = 0; query < kQueries; ++query) {
      std::vector<std::uint8_t> bytes{0, 0, 0, 0, 0, 0, kind};
      bytes.insert(bytes.end(), kChoices[kind], 0);
      bytes.insert(bytes.end(), {2, query});
      belay::fuzz::Input input(bytes.data(), bytes.size());
      std::make_unique<belay::fuzz::Session>(input)->run_sanely();
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::fuzz::Input input(data, size);
  auto session = std::make_unique<belay::fuzz::Session>(input);
  session->run();
  return 0;
}
