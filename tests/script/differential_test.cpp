// The same random calls on the simulated server and on a real one must have the same replies,
// messages and contents, byte for byte: so the simulation cannot drift. The scripts run as they
// are, but take the time from two keys. One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/contract.h"
#include "base/packing.h"
#include "base/random.h"
#include "script/backend.h"
#include "script/latch_fixture.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr int kSequences = 24;
constexpr int kCalls = 600;
constexpr int kCallsBetweenComparisons = 20;
constexpr char kGrantMessage = 1;
constexpr char kNextMessage = 2;
constexpr std::size_t kHeaderSize = 107;
constexpr std::size_t kClaimAt = 3;
constexpr std::size_t kClaimSize = 30;
// Keys expire by the real time of a real server: long after the test.
constexpr std::int64_t kShortest = 100 * kSecond;
const std::vector<std::string> kLocks{"lock1", "lock2", "lock3"};
const std::vector<std::string> kClock{"clock:s", "clock:us"};

using Argv = std::vector<std::string>;

// The script with the time taken from its last two keys, if it asks for the time. Without them, as
// after FLUSHALL, it is 1970.
std::string body_with_clock(const Script& script) {
  const std::string_view time = "redis.call('TIME')";
  const std::string_view keys =
      "(function(t) return { t[1] or 0, t[2] or 0 } end)(redis.call('MGET', KEYS[#KEYS - 1], "
      "KEYS[#KEYS]))";
  std::string body(script.body);
  for (auto at = body.find(time); at != std::string::npos; at = body.find(time, at)) {
    body.replace(at, time.size(), keys);
  }
  return body;
}

// The script without its usual cases, which are for marks of four bytes.
std::string body_without_usual_cases(std::string body) {
  const std::string_view usual = "#mark == 4";
  const auto at = body.find(usual);
  return at == std::string::npos ? body : body.replace(at, usual.size(), "#mark == 0");
}

std::string text_of(const Argv& argv) {
  std::string text;
  for (const std::string& arg : argv) {
    text += printable(arg.substr(0, 200)) + " ";
  }
  return text;
}

// What a sequence must come to now and then, or it compares nothing worth it.
const char* const kOutcomes[] = {"acquire 1",
                                 "acquire 2",
                                 "acquire 3",
                                 "acquire 4",
                                 "acquire 5",
                                 "acquire 8",
                                 "acquire 9",
                                 "leave 1",
                                 "leave 2",
                                 "release 1",
                                 "release 5",
                                 "renew 1",
                                 "renew 2",
                                 "renew 3",
                                 "inspect",
                                 "break",
                                 "break 4",
                                 "limit 1",
                                 "limit 4",
                                 "limit 8",

                                 "guard",
                                 "guard 4",
                                 "guard -OOM",
                                 "guard -WRONGTYPE",
                                 "latch_set 1",
                                 "latch_set 2",
                                 "latch_set 4",
                                 "latch_set -BELAYTYPE",
                                 "latch_down 1",
                                 "latch_down 2",
                                 "latch_down 4",
                                 "latch_await 2",
                                 "latch_await 3",
                                 "latch_await 7",
                                 "latch_await 8",
                                 "latch_leave 2",
                                 "message 6",
                                 "acquire -OOM",
                                 "acquire -BELAYTYPE",
                                 "leave -BELAYVERSION",
                                 "leave -BELAYTYPE",
                                 "release -BELAYTYPE",
                                 "break -BELAYTYPE",
                                 "message 1",
                                 "message 2",
                                 "message 3",
                                 "message 4"};

// Makes random commands about a few locks and clients.
class Caller {
 public:
  explicit Caller(std::uint64_t seed) : random_(seed) {}

  void set_sha1(const Script& script, const std::string& sha1) {
    sha1s_[std::string(script.name)] = sha1;
  }

  Argv next() {
    const auto kind = random_.between(0, 164);
    if (kind < 38) {
      return acquire();
    }
    if (kind < 59) {
      return leave();
    }
    if (kind < 65) {
      return call(
          "limit",
          {Packer().number(random_.between(0, 5)).number(highest()).number(not_after()).take(),
           kInbox},
          {random_.between(0, 3) == 0 ? lock() : kLocks[2]});
    }
    if (kind < 78) {
      return renew();
    }
    if (kind < 83) {
      return call("inspect", {std::to_string(random_.between(0, 4))}, {lock_or_latch()});
    }
    if (kind < 87) {
      const std::string name = lock_or_latch();
      const auto fence = random_.between(0, 1) == 0 ? 0 : fences_[name];
      return call(
          "break",
          {Packer().number(fence).number(highest()).number(not_after()).take(), kInbox, "x"},
          {name});
    }
    if (kind < 100) {
      return fault();
    }
    if (kind < 115) {
      return release();
    }
    return kind < 125 ? guard() : latch();
  }

  // Steps now and then, mostly a little, sometimes past every lease, sometimes back.
  std::vector<Argv> tick() {
    const auto kind = random_.between(0, 29);
    now_us_ += kind == 0   ? random_.between(kShortest / 2, 3 * kShortest)
               : kind == 1 ? -random_.between(0, kShortest)
                           : random_.between(0, 1000);
    return {{"SET", kClock[0], std::to_string(now_us_ / kSecond)},
            {"SET", kClock[1], std::to_string(now_us_ % kSecond)}};
  }

  // A client to listen or to stop listening; "" mostly.
  std::string client_to_toggle() { return random_.between(0, 11) == 0 ? random_client() : ""; }

 private:
  // Exclusive; shared; a semaphore: mostly.
  std::string lock() { return kLocks[static_cast<std::size_t>(random_.between(0, 2))]; }

  int kind_of(const std::string& lock) {
    const bool usual = random_.between(0, 19) != 0;
    return (lock == kLocks[2]) == usual ? kSemaphore : kLock;
  }

  std::string group_of(const std::string& lock) {
    static const Argv groups{"", "r", "r", "r", "i1", std::string("i\0", 2)};
    return lock == kLocks[0] ? "" : groups[static_cast<std::size_t>(random_.between(0, 5))];
  }

  std::int64_t delay() { return random_.between(0, 2) == 0 ? duration() : 0; }

  std::string random_client() {
    return std::string(1, static_cast<char>('A' + random_.between(0, 5)));
  }

  // Mostly the client's latest epoch, or the next one.
  std::int64_t epoch(const std::string& client) {
    std::int64_t& latest = epochs_[client];
    const auto kind = random_.between(0, 9);
    if (kind == 0 || latest == 0) {
      return ++latest;
    }
    return kind == 1 ? std::max<std::int64_t>(latest - 1, 1) : latest;
  }

  std::int64_t duration() { return kShortest * random_.between(1, 3) + random_.between(0, 1); }

  std::int64_t highest() { return random_.between(0, 19) == 0 ? now_us_ + 1000 : 0; }

  // Often in the range of a grant; no draw of its own, which would move all that follow.
  std::int64_t given() {
    const std::int64_t ago = now_us_ / 7 % 20;
    return ago < 10 ? now_us_ - ago : 0;
  }

  // Past now and then.
  std::int64_t not_after() { return random_.between(0, 29) == 0 ? now_us_ - 1 : kNever; }

  std::string claim_and(const std::string& client, const std::vector<std::int64_t>& numbers) {
    Packer packer;
    packer.bytes(claim(client, epoch(client)));
    for (const std::int64_t number : numbers) {
      packer.number(number);
    }
    return packer.take();
  }

  Argv call(const std::string& verb, const Argv& args, const Argv& locks) {
    Argv argv{"EVALSHA", sha1s_[verb], std::to_string(locks.size() * 4 + 2)};
    for (const std::string& one : locks) {
      const Argv keys = keys_of(one);
      argv.insert(argv.end(), keys.begin(), keys.end());
    }
    argv.insert(argv.end(), kClock.begin(), kClock.end());
    argv.insert(argv.end(), args.begin(), args.end());
    argv.emplace_back("mark");
    return argv;
  }

  Argv acquire() {
    AcquireCall request;
    request.client = random_client();
    request.epoch = epoch(request.client);
    request.lease = duration();
    request.not_after = not_after();
    request.grant = duration();
    request.ticket = random_.between(0, 9) == 0 ? now_us_ - 500 : 0;
    request.highest = highest();
    request.queue = random_.between(0, 4) != 0;
    request.local_waiters = static_cast<int>(random_.between(0, 3));
    request.info = "info of " + request.client;
    const std::string name = lock();
    request.kind = kind_of(name);
    request.delay = delay();
    if (request.kind == kSemaphore) {
      request.permits = random_.between(request.queue ? 1 : 0, 4);
      request.limit = random_.between(0, 2) == 0 ? 0 : random_.between(3, 5) == 3 ? 3 : 4;
    } else {
      request.group = group_of(name);
    }
    return call("acquire", {request.packed()}, {name});
  }

  Argv leave() {
    const std::string name = lock();
    if (random_.between(0, 1) == 0 && !holders_[name].empty()) {  // by who holds it alone
      const std::int64_t given = fences_[name] + random_.between(0, 2);
      return call(
          "leave",
          {"\1" + holders_[name] + Packer().number(highest()).u8(0).number(given).take(), kInbox},
          {name});
    }
    const std::string packed =
        std::string(1, static_cast<char>(kind_of(name))) + claim_and(random_client(), {highest()}) +
        std::string(1, random_.between(0, 3) == 0 ? '\1' : '\0') + Packer().number(given()).take();
    return call("leave", {packed, kInbox}, {name});
  }

  Argv release() {
    const std::string name = lock();
    const bool by_holder = random_.between(0, 1) == 0 && !holders_[name].empty();
    const std::string claim = by_holder ? holders_[name] : claim_and(random_client(), {});
    // Now and then of what is no string.
    const std::string key = keys_of(name)[random_.between(0, 5) == 0 ? 2 : 0];
    return {"EVALSHA", sha1s_["release"], "1", key, claim, "mark"};
  }

  Argv renew() {
    Argv args{kInbox, Packer().number(highest()).number(not_after()).take()};
    Argv locks;
    for (auto claims = random_.between(1, 3); claims > 0; --claims) {
      RenewCall request;
      request.client = random_client();
      request.epoch = epoch(request.client);
      request.lease = random_.between(0, 3) == 0 ? 0 : duration();
      const std::string name = lock();
      request.fence = fences_[name];
      request.kind = kind_of(name);
      request.group = random_.between(0, 3) == 0 ? group_of(name) : "";
      request.more = random_.between(0, 1) == 0 ? 0 : 8;
      request.holds = static_cast<int>(random_.between(1, 3));
      locks.push_back(name);
      args.push_back(request.packed());
    }
    return call("renew", args, locks);
  }

  // On two keys, one of which others spoil.
  Argv guard() {
    const std::string key = "data" + std::to_string(random_.between(1, 2));
    const Argv keys{key, "belay:f:{" + lock() + "}"};
    static const std::vector<Argv> writes{{"SET", "x"}, {"SET", "x", "NX"}, {"HSET", "f", "v"},
                                          {"DEL"},      {"RPUSH", "x"},     {"GET"}};
    const auto which = static_cast<std::size_t>(random_.between(0, 5));
    Argv argv{"EVALSHA", sha1s_["guard"], "4", keys[0], keys[1]};
    argv.insert(argv.end(), kClock.begin(), kClock.end());
    argv.push_back(
        Packer().number(now_us_ + random_.between(-100, 100)).number(not_after()).take());
    argv.insert(argv.end(), writes[which].begin(), writes[which].end());
    argv.emplace_back("mark");
    return argv;
  }

  static std::string latch_name(std::int64_t number) { return "latch" + std::to_string(number); }

  std::string lock_or_latch() {
    return random_.between(0, 9) == 0 ? latch_name(random_.between(1, 2)) : lock();
  }

  // Now and then one whose name is a lock's.
  Argv latch() {
    const std::string name =
        random_.between(0, 19) == 0 ? lock() : latch_name(random_.between(1, 2));
    const std::string client = random_client();
    const auto kind = random_.between(0, 9);
    Argv args;
    if (kind < 2) {
      const SetCall request{.client = client,
                            .number = random_.between(1, 8),
                            .count = random_.between(1, 3),
                            .life = random_.between(0, 1) * duration(),
                            .highest = highest(),
                            .not_after = not_after()};
      args = {request.packed(), kInbox, "info of " + client};
    } else if (kind < 5) {
      args = {DownCall{.client = client,
                       .number = random_.between(1, 60),
                       .by = random_.between(1, 2),
                       .not_after = not_after(),
                       .since = now_us_ - random_.between(0, 3) * duration()}
                  .packed(),
              kInbox};
    } else if (kind == 5) {
      args = {claim(client, epoch(client))};
    } else {
      const AwaitCall request{.client = client,
                              .epoch = epoch(client),
                              .generation = random_.between(0, 2) == 0 ? now_us_ : 0,
                              .queue = random_.between(0, 3) != 0};
      args = {request.packed(), "info of " + client};
    }
    const LatchKeys keys(keys_of(name));
    const Argv& its = kind < 2 ? keys.set : kind == 5 ? keys.leave : keys.other;
    Argv argv{"EVALSHA",
              sha1s_[kind < 2    ? "latch_set"
                     : kind < 5  ? "latch_down"
                     : kind == 5 ? "latch_leave"
                                 : "latch_await"],
              std::to_string(its.size() + 2)};
    argv.insert(argv.end(), its.begin(), its.end());
    argv.insert(argv.end(), kClock.begin(), kClock.end());
    argv.insert(argv.end(), args.begin(), args.end());
    argv.emplace_back("mark");
    return argv;
  }

  // What may happen to a server, or be done by others.
  Argv fault() {
    const Argv keys = keys_of(lock());
    switch (random_.between(0, 40)) {
      case 0:
        return {"FLUSHALL"};
      case 1:
        return {"SETRANGE", keys[0], "0", "\x03"};
      case 2:
        return {"SET", keys[0], "no lock"};
      case 3:
        return {"RPUSH", keys[0], "no lock"};
      case 4:
        return {"HSET", keys[2], "no", "queue"};
      case 5:
        return {"SET", keys[3], "no waiters"};
      case 10:
        return {"ZADD", keys[3], "1", "nobody"};
      case 6:
        return {"CONFIG", "SET", "maxmemory", "1"};
      case 7:
      case 8:
      case 9:
        return {"CONFIG", "SET", "maxmemory", "0"};
      default:
        return {"DEL", keys[static_cast<std::size_t>(random_.between(0, 3))]};
    }
  }

 public:
  // The fence that renewals tell: of the record that was seen last.
  void saw_record(const std::string& lock, const std::string& bytes) {
    if (bytes.size() >= kHeaderSize && bytes[0] == contract::kVersion &&
        bytes[1] != contract::kLatch) {
      const Record record = unpack_record(bytes);
      fences_[lock] = record.fence;
      holders_[lock] = record.joint ? "" : bytes.substr(kClaimAt, kClaimSize);
    }
  }

 private:
  Random random_;
  std::map<std::string, std::string> sha1s_;
  std::map<std::string, std::int64_t> epochs_;
  std::int64_t now_us_ = 1'700'000'000'000'000;
  std::map<std::string, std::int64_t> fences_;  // by lock
  std::map<std::string, std::string> holders_;
};

class Differential : public testing::TestWithParam<Backend::Kind> {
 protected:
  void SetUp() override {
    sim_.reset();
    real_.reset();
  }

  void TearDown() override { SetUp(); }

  void load_scripts(Caller& caller, bool usual_cases) {
    for (const Script* const script :
         {&scripts::kAcquire, &scripts::kLeave, &scripts::kRelease, &scripts::kRenew,
          &scripts::kInspect, &scripts::kBreak, &scripts::kLimit, &scripts::kGuard,
          &scripts::kLatchSet, &scripts::kLatchDown, &scripts::kLatchAwait,
          &scripts::kLatchLeave}) {
      const std::string body = body_with_clock(*script);
      const std::string sha1 = sim_.execute({"SCRIPT", "LOAD", body}).text;
      rest_[sha1] =
          real_.execute({"SCRIPT", "LOAD", usual_cases ? body : body_without_usual_cases(body)})
              .text;
      caller.set_sha1(*script, sha1);
      verbs_[sha1] = script->name;
    }
  }

  void toggle(const std::string& client) {
    const std::string channel = kInbox + client_id(client);
    bool& listens = listening_[channel];
    listens = !listens;
    for (Backend* const backend : {&sim_, &real_}) {
      if (listens) {
        backend->listen(channel);
      } else {
        backend->stop_listening(channel);
      }
    }
  }

  void both(const Argv& argv) {
    sim_.execute(argv);
    real_.execute(argv);
  }

  // The verb and the code of its reply (of a renewal, that of its first claim).
  std::string outcome(const Argv& argv, const Reply& reply) const {
    const auto verb = argv.size() > 1 ? verbs_.find(argv[1]) : verbs_.end();
    const std::string name = verb == verbs_.end() ? argv[0] : verb->second;
    if (reply.is_error()) {
      return name + " -" + reply.error_code();
    }
    const std::size_t at = name == "renew" ? sizeof(double) : 0;
    return reply.text.size() <= at ? name : name + " " + std::to_string(int{reply.text[at]});
  }

  // Nobody knows the order of messages to different clients; and whoever is granted something need
  // not know that it is next.
  static std::vector<Message> by_channel(std::vector<Message> messages) {
    std::stable_sort(messages.begin(), messages.end(),
                     [](const Message& a, const Message& b) { return a.channel < b.channel; });
    std::vector<Message> last;
    for (Message& message : messages) {
      const bool moot = !last.empty() && last.back().channel == message.channel &&
                        message.payload[0] == kGrantMessage &&
                        last.back().payload[0] == kNextMessage;
      if (moot) {
        last.pop_back();
      }
      last.push_back(std::move(message));
    }
    return last;
  }

  // Whether both answer the same.
  bool agree_on(const Argv& argv) {
    Argv on_real = argv;
    if (argv.size() > 1 && rest_.contains(argv[1])) {
      on_real[1] = rest_[argv[1]];
    }
    const Reply reply = sim_.execute(argv);
    EXPECT_EQ(reply.canonical(), real_.execute(on_real).canonical()) << text_of(argv);
    ++outcomes_[outcome(argv, reply)];
    const std::vector<Message> here = by_channel(sim_.take_messages());
    const std::vector<Message> there = by_channel(real_.take_messages());
    EXPECT_TRUE(here == there) << "messages after " << text_of(argv);
    for (const Message& message : here) {
      ++outcomes_["message " + std::to_string(int{message.payload[0]})];
    }
    return !HasFailure();
  }

  bool agree_on_contents() {
    EXPECT_EQ(contents_of(sim_), contents_of(real_));
    return !HasFailure();
  }

  void run_sequence(std::uint64_t seed, bool usual_cases) {
    SetUp();
    listening_.clear();
    Caller caller(seed);
    load_scripts(caller, usual_cases);
    for (int i = 0; i < kCalls; ++i) {
      for (const Argv& tick : caller.tick()) {
        both(tick);
      }
      const std::string client = caller.client_to_toggle();
      if (!client.empty()) {
        toggle(client);
      }
      const bool compare = i % kCallsBetweenComparisons == 0;
      if (!agree_on(caller.next()) || (compare && !agree_on_contents())) {
        ADD_FAILURE() << "seed " << seed << ", call " << i;
        return;
      }
      for (const std::string& lock : kLocks) {
        caller.saw_record(lock, sim_.execute({"GET", keys_of(lock)[0]}).text);
      }
    }
  }

  Backend& sim_ = Backend::get(Backend::Kind::kSim);
  Backend& real_ = Backend::get(GetParam());
  std::map<std::string, bool> listening_;
  std::map<std::string, std::string> verbs_;  // by SHA1
  std::map<std::string, std::string> rest_;   // SHA1 of what the real server runs for it
  std::map<std::string, int> outcomes_;
};

TEST_P(Differential, SimulatedAndRealServerAgreeOnEveryReply) {
  for (int seed = 1; seed <= kSequences && !HasFailure(); ++seed) {
    run_sequence(static_cast<std::uint64_t>(seed), true);
  }
  for (const char* const outcome : kOutcomes) {
    EXPECT_GE(outcomes_[outcome], kSequences / 4) << outcome;
  }
}

INSTANTIATE_TEST_SUITE_P(With, Differential, testing::ValuesIn(real_backends()),
                         [](const auto& tested) { return name_of(tested.param); });

class UsualCases : public Differential {};

// What a script does in its usual cases, the rest of it does, too: only the cost differs.
TEST_P(UsualCases, AndTheRestAgreeOnEveryReply) {
  for (int seed = 1; seed <= kSequences && !HasFailure(); ++seed) {
    run_sequence(static_cast<std::uint64_t>(1000 + seed), false);
  }
}

INSTANTIATE_TEST_SUITE_P(With, UsualCases, testing::Values(Backend::Kind::kRedis),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace belay::test
