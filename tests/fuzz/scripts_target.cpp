// The scripts as they are, in a real Lua, called with any arguments on any contents of their keys:
// they answer, or refuse in words of their own and change nothing. A Lua error would leave half of
// the work done. One server serves all inputs, emptied before each.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/config.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "net/resp.h"
#include "scripts/scripts.h"
#include "sim/server.h"

namespace belay::fuzz {
namespace {

using Argv = std::vector<std::string>;

constexpr int kMostSteps = 60;

std::string packed(double number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  return {bytes, sizeof bytes};
}

std::string packed16(unsigned number) {
  return {static_cast<char>(number & 0xFFU), static_cast<char>(number >> 8U & 0xFFU)};
}

std::string client_of(std::size_t number) {
  std::string id = "client-" + std::to_string(number);
  id.resize(22, '.');
  return id;
}

std::vector<std::string> keys_of(const std::string& name) {
  return {"belay:r:{" + name + "}", "belay:f:{1}", "belay:w:{" + name + "}",
          "belay:m:{" + name + "}"};
}

// What an answer was: the code of an error, or "" and the bytes of a reply.
struct Answer {
  std::string error;
  std::string text;
  std::vector<std::string> parts;
};

Answer read_answer(const std::string& bytes) {
  Answer answer;
  int replies = 0;
  ReplyReader reader;
  const std::string wrong = reader.feed(bytes, [&](Reply reply) {
    ++replies;
    answer.text = reply.text();
    if (reply.is_error()) {
      answer.error = reply.text();
    }
    for (std::size_t i = 0; i < reply.size(); ++i) {
      answer.parts.emplace_back(reply.at(i).text());
    }
    return true;
  });
  require(wrong.empty() && replies == 1, "a script has one answer", bytes);
  return answer;
}

class Calls {
 public:
  Calls(sim::Server& server, Input& input);

  ~Calls() { end(); }

  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void run();

 private:
  void end();

  std::string execute(const Argv& argv) { return server_.execute(connection_, argv); }

  std::string contents();
  double number(double sound);

  std::string client() { return client_of(input_.below(4)); }

  std::string claim() {
    return client() + packed(lies() ? input_.real() : static_cast<double>(input_.below(3)));
  }

  bool lies() { return input_.below(16) == 15; }

  const std::string& some_key();

  // 1 or 2: a lock, a semaphore.
  char kind() { return static_cast<char>(lies() ? input_.byte() : 1 + input_.below(2)); }

  std::string group() { return lies() ? std::string(input_.bytes()) : input_.flag() ? "r" : ""; }

  void put_record();
  void put_latch();
  void put_member();
  void put_waiter();
  void put_foreign();
  void listen();
  Argv arguments_of(const Script& script, std::size_t* resources);
  std::string acquisition(char asked);
  Argv acquisition_of_many(std::size_t* resources);
  Argv renewals(std::size_t* resources);
  Argv arguments_of_latch(const Script& script);
  void call();
  void check(const Script& script, const Answer& answer);

  sim::Server& server_;
  Input& input_;
  const int connection_;
  std::vector<std::string> keys_ = keys_of("a");
  std::vector<std::string> others_ = keys_of("b");
  std::set<int> listeners_;
  Micros now_ = 1'700'000'000 * kSecond;
  int messages_ = 0;
};

Calls::Calls(sim::Server& server, Input& input)
    : server_(server), input_(input), connection_(server.connect([](std::string_view) {})) {
  server_.set_time(now_);
  execute({"FLUSHALL"});
}

void Calls::end() {
  for (const int listener : listeners_) {
    server_.disconnect(listener);
  }
  server_.disconnect(connection_);
}

double Calls::number(double sound) {
  return lies() ? input_.real() : sound;
}

const std::string& Calls::some_key() {
  const std::vector<std::string>& keys = input_.below(4) == 0 ? others_ : keys_;
  return keys[input_.below(keys.size())];
}

// ---- What stands on the server before

void Calls::put_record() {
  const auto ts = static_cast<double>(now_);
  std::string record(1, static_cast<char>(lies() ? input_.byte() : contract::kVersion));
  const bool joint = input_.flag();
  const char kind_of_record = joint ? kind() : '\1';
  record.push_back(kind_of_record);
  record.push_back(static_cast<char>(lies() ? input_.byte() : input_.below(2)));
  record += (joint ? std::string(30, '\0') : claim()) + packed(number(ts)) + packed(number(ts)) +
            packed(number(ts + 8));
  record += packed(number(ts + 1e6 * (static_cast<double>(input_.below(64)) - 5)));
  record += packed16(1) + packed16(2);
  record += input_.flag() ? std::string(30, '\0') : claim();
  record += packed(number(input_.flag() ? 1e7 : 0));
  if (joint) {
    const double limit = kind_of_record == 2 ? 3 : 0;
    record += packed(number(static_cast<double>(input_.below(4)))) + packed(number(limit)) +
              packed(number(static_cast<double>(now_) + 1e9));
    record += kind_of_record == 2 ? "" : group();
  } else {
    record += "17 host label";
  }
  if (lies()) {
    record.resize(std::min<std::size_t>(record.size(), input_.byte()));
  }
  execute({"SET", keys_[0], record});
}

void Calls::put_latch() {
  const auto ts = static_cast<double>(now_);
  const double until = input_.flag() ? 0 : ts + 1e6 * (static_cast<double>(input_.below(64)) - 5);
  std::string record = std::string("\2\3\0", 3) +
                       packed(number(static_cast<double>(input_.below(4)))) + packed(number(ts)) +
                       packed(number(6e7)) +
                       packed(number(static_cast<double>(input_.below(300)))) + packed(number(ts)) +
                       packed(number(ts)) + packed(number(until)) + packed16(13) + "17 host label";
  for (std::size_t i = input_.below(4); i > 0; --i) {
    const double forgotten = ts + 1e6 * (static_cast<double>(input_.below(64)) - 5);
    record.append(claim()).append(packed(number(forgotten)));
  }
  if (lies()) {
    record.resize(std::min<std::size_t>(record.size(), input_.byte()));
  }
  execute({"SET", keys_[0], record});
}

// One of those who hold it together: a seat, and who sits there.
void Calls::put_member() {
  const auto ts = static_cast<double>(now_);
  const std::int64_t until = now_ + 1'000'000 * (static_cast<std::int64_t>(input_.below(64)) - 5);
  const std::string its = claim();
  const std::string seat = its + packed(number(ts)) + packed(number(ts)) + packed(number(0)) +
                           packed(number(1)) + packed16(1) + packed16(2) + "17 host label";
  execute({"ZADD", keys_[3], std::to_string(until), lies() ? std::string(input_.bytes()) : seat});
  if (!lies()) {
    execute({"ZADD", keys_[3], std::to_string(-until), input_.flag() ? its : its.substr(0, 22)});
  }
}

void Calls::put_waiter() {
  const std::string epoch = packed(static_cast<double>(input_.below(3)));
  const bool wants_permits = input_.flag();
  const std::string claim = client() + epoch;
  const std::string who = lies()          ? std::string(input_.bytes())
                          : wants_permits ? claim
                                          : claim.substr(0, 22);
  const double head = static_cast<double>(now_) - 2;
  const std::string place = packed(number(head + static_cast<double>(input_.below(4))));
  const std::string entry = (lies() ? std::string(input_.bytes()) : claim) + packed(number(2e5)) +
                            packed(number(input_.flag() ? 1e7 : 0)) +
                            packed(number(static_cast<double>(input_.below(4)))) +
                            packed(number(wants_permits ? 3 : 0)) + packed(number(head)) +
                            packed16(lies() ? input_.byte() : 1) +
                            packed(number(static_cast<double>(now_))) + std::string(20, 's') +
                            (input_.flag() ? "r" : "") + "17 host label";
  if (!lies()) {
    execute({"HSET", keys_[2], "",
             packed(number(head)) + packed(number(head + 4)) + packed(number(head + 1e8))});
  }
  execute({"HSET", keys_[2], place, lies() ? std::string(input_.bytes()) : entry});
  if (!lies()) {
    execute({"HSET", keys_[2], who, place});
  }
}

void Calls::put_foreign() {
  const std::string& key = some_key();
  execute({"DEL", key});
  switch (input_.below(5)) {
    case 0:
      execute({"SET", key, std::string(input_.bytes())});
      break;
    case 1:
      execute({"RPUSH", key, "x"});
      break;
    case 2:
      execute({"HSET", key, std::string(input_.bytes()), std::string(input_.bytes())});
      break;
    case 3:
      execute({"ZADD", key, std::to_string(input_.real()), std::string(input_.bytes())});
      break;
    default:
      execute({"SET", keys_[1], packed(input_.real())});
      break;
  }
}

void Calls::listen() {
  const int listener = server_.connect([this](std::string_view) { ++messages_; });
  listeners_.insert(listener);
  server_.execute(listener, Argv{"SUBSCRIBE", "belay:in:" + client()});
}

// ---- Calls

// Acquire's packed argument, for a lock or a semaphore.
std::string Calls::acquisition(char asked) {
  const auto ts = static_cast<double>(now_);
  const std::string inbox = "belay:in:";
  const std::string sharers = asked == 2 ? "" : group();
  return std::string(1, static_cast<char>(contract::kVersion)) + asked + '\0' + claim() +
         packed(number(3e7)) + packed(number(ts + 5e6)) + packed(number(2e5)) +
         packed(number(input_.flag() ? ts : 0)) + packed(number(ts)) +
         std::string(1, static_cast<char>(input_.below(3))) + packed16(input_.byte()) +
         packed(number(input_.flag() ? 1e7 : 0)) +
         packed(number(asked == 2 ? static_cast<double>(input_.below(4)) : 1)) +
         packed(number(asked == 2 && input_.flag() ? 3 : 0)) +
         packed16(static_cast<std::uint8_t>(sharers.size())) +
         packed16(static_cast<std::uint8_t>(inbox.size())) + std::string(20, 's') + sharers +
         inbox + "17 host label";
}

Argv Calls::acquisition_of_many(std::size_t* resources) {
  const auto ts = static_cast<double>(now_);
  std::string request = client() + packed(number(ts + 5e6)) + packed(number(3e7));
  Argv groups;
  *resources = 1 + input_.below(3);
  for (std::size_t i = 0; i < *resources; ++i) {
    request += packed(number(static_cast<double>(1 + input_.below(3)))) + packed(number(ts)) +
               packed(number(input_.flag() ? 1e7 : 0)) + packed16(input_.byte());
    groups.push_back(group());
  }
  Argv args{"belay:in:", "17 host label", request};
  if (input_.flag()) {
    args.insert(args.end(), groups.begin(), groups.end());
  }
  return args;
}

Argv Calls::arguments_of(const Script& script, std::size_t* resources) {
  const auto ts = static_cast<double>(now_);
  const std::string inbox = "belay:in:";
  if (&script == &scripts::kAcquire) {
    return {acquisition(kind())};
  }
  if (&script == &scripts::kMany) {
    return acquisition_of_many(resources);
  }
  if (&script == &scripts::kLeave) {
    std::string packed_all(1, kind());
    *resources = 1 + input_.below(3);
    for (std::size_t i = 0; i < *resources; ++i) {
      packed_all +=
          claim() + packed(number(ts)) + static_cast<char>(input_.below(2)) + packed(number(ts));
    }
    return {packed_all, inbox};
  }
  if (&script == &scripts::kRelease) {
    return {claim()};
  }
  if (&script == &scripts::kKeep) {
    return {packed(number(ts + 5e6)) + claim() + packed(number(ts)) + packed(number(3e7)) +
            packed16(1) + packed16(2)};
  }
  if (&script == &scripts::kKeepMembers || &script == &scripts::kReleaseMembers) {
    const std::string seat = claim() + packed(number(ts)) + packed(number(ts)) + packed(number(0)) +
                             packed(number(1)) + packed16(1) + packed16(2);
    return {&script == &scripts::kReleaseMembers
                ? seat
                : packed(number(ts + 5e6)) + seat + packed(number(3e7)) + kind(),
            "17 host label"};
  }
  if (&script == &scripts::kTake) {
    return {"17 host label", claim().substr(0, 22) + packed(number(ts + 5e6)) +
                                 packed(number(3e7)) + packed(number(input_.flag() ? 1e7 : 0)) +
                                 packed(number(ts)) +
                                 packed(number(static_cast<double>(1 + input_.below(3))))};
  }
  if (&script == &scripts::kInspect) {
    return {lies() ? std::string(input_.bytes()) : std::to_string(input_.integer())};
  }
  if (&script == &scripts::kBreak) {
    return {packed(number(input_.flag() ? ts : 0)) + packed(number(ts)) + packed(number(ts + 5e6)),
            inbox, "18 host breaker"};
  }
  if (&script == &scripts::kLimit) {
    return {packed(number(static_cast<double>(input_.below(5)))) + packed(number(ts)) +
                packed(number(ts + 5e6)),
            inbox};
  }
  if (&script == &scripts::kRenew) {
    return renewals(resources);
  }
  return arguments_of_latch(script);
}

Argv Calls::renewals(std::size_t* resources) {
  const auto ts = static_cast<double>(now_);
  Argv args{"belay:in:", packed(number(ts)) + packed(number(ts + 5e6))};
  *resources = 1 + input_.below(3);
  for (std::size_t i = 0; i < *resources; ++i) {
    args.push_back(claim() + packed(number(3e7)) + packed(number(ts)) + packed16(input_.byte()) +
                   packed16(1) + packed16(2) + kind() +
                   (input_.flag() ? packed(number(ts)) + group() : ""));
  }
  return args;
}

Argv Calls::arguments_of_latch(const Script& script) {
  const auto ts = static_cast<double>(now_);
  if (&script == &scripts::kLatchAwait) {
    return {claim() + packed(number(input_.flag() ? ts : 0)) + packed(number(ts + 5e6)) +
                packed(number(input_.flag() ? ts : 0)) +
                std::string(1, static_cast<char>(input_.below(3))) + std::string(20, 's'),
            "17 host label"};
  }
  if (&script == &scripts::kLatchLeave) {
    return {claim()};
  }
  const std::string request_and_number = claim() + packed(number(1 + input_.below(3)));
  if (&script == &scripts::kLatchDown) {
    return {request_and_number + packed(number(6e7)) + packed(number(ts + 5e6)) +
                packed(number(input_.flag() ? ts - 1e6 : ts)),
            "belay:in:"};
  }
  return {request_and_number + packed(number(input_.flag() ? 1e6 : 0)) + packed(number(ts)) +
              packed(number(6e7)) + packed(number(ts + 5e6)),
          "belay:in:", "17 host label"};
}

// Well-formed in most cases: a key or an argument less or more, or cut off, else.
void Calls::call() {
  const Script& script = *input_.any_of<const Script*>(
      {&scripts::kAcquire, &scripts::kLeave, &scripts::kRenew, &scripts::kInspect, &scripts::kBreak,
       &scripts::kLimit, &scripts::kMany, &scripts::kLatchAwait, &scripts::kLatchLeave,
       &scripts::kLatchDown, &scripts::kLatchSet, &scripts::kRelease, &scripts::kTake,
       &scripts::kKeep, &scripts::kKeepMembers, &scripts::kReleaseMembers});
  std::size_t resources = 1;
  Argv args = arguments_of(script, &resources);
  Argv keys;
  for (std::size_t i = 0; i < resources; ++i) {
    const std::vector<std::string>& more = i == 1 ? others_ : keys_;
    keys.insert(keys.end(), more.begin(), more.end());
  }
  if (&script == &scripts::kRelease || &script == &scripts::kKeep) {
    keys.resize(1);
  }
  if (&script == &scripts::kKeepMembers) {
    keys = {keys_[3]};
  }
  if (&script == &scripts::kLatchSet) {
    keys.resize(3);
  }
  if (&script == &scripts::kLatchDown || &script == &scripts::kLatchAwait) {
    keys = {keys_[0], keys_[2]};
  }
  if (&script == &scripts::kLatchLeave) {
    keys = {keys_[2]};
  }
  if (&script == &scripts::kReleaseMembers) {
    keys = {keys_[0], keys_[3]};
  }
  if (&script == &scripts::kTake) {
    keys = {keys_[0], keys_[2], keys_[3], keys_[1]};
  }
  if (lies()) {
    keys.resize(input_.below(12), "belay:r:{c}");
  }
  if (lies()) {
    args.resize(input_.below(6), std::string(input_.bytes()));
  }
  if (lies() && !args.empty()) {
    args[input_.below(args.size())] = std::string(input_.bytes());
  }
  Argv argv{"EVAL", std::string(script.body), std::to_string(keys.size())};
  argv.insert(argv.end(), keys.begin(), keys.end());
  argv.insert(argv.end(), args.begin(), args.end());
  argv.emplace_back("mark");
  const std::string before = contents();
  messages_ = 0;
  const Answer answer = read_answer(execute(argv));
  // To whoever is granted it (of several together: each of the waiters, of which there are fewer
  // than steps), to whoever is next, to the holder and to who handed it on; each may have several
  // ears.
  const auto most =
      (4 + kMostSteps) * static_cast<int>(resources) * static_cast<int>(listeners_.size());
  require(messages_ <= most, "a call sends few messages");
  if (answer.error.starts_with("BELAY")) {
    require(contents() == before, "a refused call changes nothing",
            std::string(script.name) + ": " + answer.error);
  }
  check(script, answer);
}

void Calls::check(const Script& script, const Answer& answer) {
  if (!answer.error.empty()) {
    const std::string code = answer.error.substr(0, answer.error.find(' '));
    require(code.starts_with("BELAY") || code == "WRONGTYPE", "a call is refused in clean words",
            std::string(script.name) + ": " + answer.error);
  } else if (&script == &scripts::kAcquire && answer.text.size() > 24 && answer.text[0] == 1) {
    double fence = 0;
    std::memcpy(&fence, answer.text.data() + 9, sizeof fence);
    require(fence >= 0 && fence <= static_cast<double>(kMaxFence), "a fence is within its range");
  }
}

std::string Calls::contents() {
  std::string all;
  for (const auto* keys : {&keys_, &others_}) {
    for (const std::string& key : *keys) {
      all += execute({"TYPE", key}) + execute({"GET", key}) +
             execute({"ZRANGE", key, "0", "-1", "WITHSCORES"}) + execute({"HGETALL", key});
    }
  }
  return all;
}

void Calls::run() {
  for (int i = 0; i < kMostSteps && !input_.empty(); ++i) {
    switch (input_.below(10)) {
      case 0:
        if (input_.below(4) == 3) {
          put_latch();
        } else {
          put_record();
        }
        break;
      case 1:
        put_waiter();
        break;
      case 2:
        put_foreign();
        break;
      case 3:
        listen();
        break;
      case 4:
        now_ +=
            input_.any_of<Micros>({kMillisecond, kSecond, 40 * kSecond, 200 * kSecond, -kSecond});
        server_.set_time(now_);
        break;
      case 5:
        put_member();
        break;
      default:
        call();
        break;
    }
  }
}

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& server = *new belay::sim::Server();  // as the fuzzer itself: to the end
  belay::fuzz::Input input(data, size);
  belay::fuzz::Calls calls(server, input);
  calls.run();
  return 0;
}
