// A server that the scripts run on: the simulated one, Redis, its oldest version or Valkey. One
// thread.
#include "script/backend.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "sim/server.h"
#include "support/redis.h"
#include "support/server_process.h"

namespace belay::test {
namespace {

// Its time goes on by a little with each command.
class SimBackend final : public Backend {
 public:
  SimBackend() {
    server_.set_clock([this] { return now_us_ += 10; });
    commands_ = server_.connect([](std::string_view) {});
    listener_ = server_.connect([this](std::string_view bytes) { pushed_.append(bytes); });
  }

  Reply execute(const std::vector<std::string>& argv) override { return run(commands_, argv); }

  Reply execute_as_listener(const std::vector<std::string>& argv) override {
    return run(listener_, argv);
  }

  std::vector<Reply> take_pushes() override {
    return parse_replies(std::exchange(pushed_, std::string()));
  }

  sim::Digits number_digits() override { return digits_; }

  void set_number_digits(sim::Digits digits) override {
    digits_ = digits;
    server_.set_number_digits(digits);
  }

 private:
  Reply run(int connection, const std::vector<std::string>& argv) {
    const std::vector<Reply> replies = parse_replies(server_.execute(connection, argv));
    return replies.size() == 1 ? replies[0] : Reply();
  }

  sim::Server server_;
  sim::Digits digits_ = sim::Digits::kSeventeen;
  std::int64_t now_us_ = 1'700'000'000'000'000;
  int commands_ = 0;
  int listener_ = 0;
  std::string pushed_;
};

class RealBackend final : public Backend {
 public:
  explicit RealBackend(const std::string& program)
      : server_(program), commands_(server_.connect()), listener_(server_.connect()) {}

  Reply execute(const std::vector<std::string>& argv) override { return commands_.command(argv); }

  Reply execute_as_listener(const std::vector<std::string>& argv) override {
    return listener_.command(argv);
  }

  std::vector<Reply> take_pushes() override { return listener_.take_pushes(); }

  sim::Digits number_digits() override {
    const std::vector<Reply> hello = commands_.command({"HELLO", "3"}).elements;
    const bool is_redis_before_7_2 = hello.size() > 3 && hello[1].text == "redis" &&
                                     std::strtod(hello[3].text.c_str(), nullptr) < 7.2;
    return is_redis_before_7_2 ? sim::Digits::kSeventeen : sim::Digits::kShortest;
  }

 private:
  ServerProcess server_;
  Redis commands_;
  Redis listener_;
};

// One line for a value; the pairs of a hash, which have no order, are sorted.
std::string sorted_text(const Reply& value) {
  if (value.kind != Reply::Kind::kMap) {
    return value.canonical();
  }
  std::set<std::string> pairs;
  for (std::size_t i = 0; i + 1 < value.elements.size(); i += 2) {
    pairs.insert(value.elements[i].canonical() + ": " + value.elements[i + 1].canonical() + "; ");
  }
  std::string text;
  for (const std::string& pair : pairs) {
    text += pair;
  }
  return text;
}

std::vector<std::string> reader_of(const std::string& key, const std::string& type) {
  if (type == "zset") {
    return {"ZRANGE", key, "0", "-1", "WITHSCORES"};
  }
  return {type == "hash" ? "HGETALL" : type == "list" ? "LLEN" : "GET", key};
}

// The environment may name another version.
std::string program(const char* variable, const char* usual) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? given : usual;
}

}  // namespace

Backend& Backend::get(Kind kind) {
  if (kind == Kind::kSim) {
    static SimBackend sim;
    return sim;
  }
  if (kind == Kind::kRedis) {
    static RealBackend redis(program_of(kind));
    return redis;
  }
  if (kind == Kind::kOldestRedis) {
    static RealBackend oldest(program_of(kind));
    return oldest;
  }
  static RealBackend valkey(program_of(kind));
  return valkey;
}

void Backend::reset() {
  execute({"CONFIG", "SET", "maxmemory", "0"});
  execute({"FLUSHALL"});
  while (!channels_.empty()) {
    stop_listening(std::string(*channels_.begin()));
  }
  take_pushes();
}

void Backend::listen(const std::string& channel) {
  channels_.insert(channel);
  execute_as_listener({"SUBSCRIBE", channel});
}

void Backend::stop_listening(const std::string& channel) {
  channels_.erase(channel);
  execute_as_listener({"UNSUBSCRIBE", channel});
}

std::vector<Message> Backend::take_messages() {
  std::vector<Message> messages;
  for (const Reply& push : take_pushes()) {
    if (push.elements.size() == 3 && push.elements[0].text.ends_with("message")) {
      messages.push_back({push.elements[1].text, push.elements[2].text});
    }
  }
  return messages;
}

const std::vector<Backend::Kind>& real_backends() {
  static const std::vector<Backend::Kind> kinds{
      Backend::Kind::kRedis,
      Backend::Kind::kValkey,
#ifdef __x86_64__
      Backend::Kind::kOldestRedis,
#endif
  };
  return kinds;
}

std::vector<Backend::Kind> all_backends() {
  std::vector<Backend::Kind> kinds = real_backends();
  kinds.push_back(Backend::Kind::kSim);
  return kinds;
}

std::string name_of(Backend::Kind kind) {
  constexpr const char* kNames[] = {"sim", "redis", "redis_6_2", "valkey"};
  return kNames[static_cast<int>(kind)];
}

std::string program_of(Backend::Kind kind) {
  if (kind == Backend::Kind::kOldestRedis) {
    return "redis-server-6.2";
  }
  return kind == Backend::Kind::kRedis ? program("BELAY_TEST_REDIS", "redis-server")
                                       : program("BELAY_TEST_VALKEY", "valkey-server");
}

std::string contents_of(Backend& backend) {
  std::set<std::string> keys;
  for (const Reply& key : backend.execute({"KEYS", "*"}).elements) {
    keys.insert(key.text);
  }
  std::string text;
  for (const std::string& key : keys) {
    const Reply value = backend.execute(reader_of(key, backend.execute({"TYPE", key}).text));
    text += printable(key) + " = " + sorted_text(value) + "\n";
  }
  return text;
}

}  // namespace belay::test
