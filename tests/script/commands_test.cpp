// The simulated server beside a real Redis: plain commands, what scripts see of them, how values of
// Lua become replies, and the struct library. Replies must be the same, byte for byte. One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "script/backend.h"

namespace belay::test {
namespace {

using Argv = std::vector<std::string>;

constexpr int kRandomCommands = 20000;
constexpr int kCommandsBetweenComparisons = 100;

class Commands : public testing::Test {
 protected:
  explicit Commands(Backend& real = Backend::get(Backend::Kind::kRedis)) : redis_(real) {}

  void SetUp() override {
    sim_.set_number_digits(redis_.number_digits());
    sim_.reset();
    redis_.reset();
  }

  void TearDown() override { SetUp(); }

  bool agree_on(const Argv& argv) {
    const std::string here = sim_.execute(argv).canonical();
    std::string text;
    for (const std::string& arg : argv) {
      text += printable(arg) + " ";
    }
    EXPECT_EQ(here, redis_.execute(argv).canonical()) << text;
    return !HasFailure();
  }

  // A script, with k1 and k2 declared and one argument.
  bool agree_on_script(const std::string& body, const std::string& arg = "") {
    return agree_on({"EVAL", body, "2", "k1", "k2", arg});
  }

  Backend& sim_ = Backend::get(Backend::Kind::kSim);
  Backend& redis_;
};

// Makes random commands on four keys, many of them wrong.
class Caller {
 public:
  explicit Caller(std::uint64_t seed) : random_(seed) {}

  Argv next() {
    static const std::vector<Argv> shapes{
        {"GET", "key"},
        {"SET", "key", "word"},
        {"SET", "key", "word", "PX", "long"},
        {"SET", "key", "word", "flag"},
        {"SET", "key", "word", "PX", "no time"},
        {"MGET", "key", "key"},
        {"MSET", "key", "word", "key", "word"},
        {"MSET", "key", "word", "key"},
        {"DEL", "key", "key"},
        {"EXISTS", "key", "key"},
        {"SETRANGE", "key", "number", "word"},
        {"GETRANGE", "key", "number", "number"},
        {"STRLEN", "key"},
        {"PEXPIRE", "key", "long"},
        {"PEXPIRE", "key", "minus"},
        {"TYPE", "key"},
        {"HGET", "key", "word"},
        {"HSET", "key", "word", "word"},
        {"HSET", "key", "word", "word", "word"},
        {"HSET", "key", "word", "word", "word", "word"},
        {"HDEL", "key", "word", "word"},
        {"HLEN", "key"},
        {"ZADD", "key", "number", "word"},
        {"ZADD", "key", "number", "word", "number", "word"},
        {"ZADD", "key", "number", "word", "number"},
        {"ZREM", "key", "word", "word"},
        {"ZRANGE", "key", "number", "number"},
        {"ZRANGE", "key", "0", "-1", "WITHSCORES"},
        {"ZREVRANGE", "key", "number", "number", "WITHSCORES"},
        {"ZPOPMIN", "key"},
        {"ZPOPMIN", "key", "2"},
        {"ZSCORE", "key", "word"},
        {"ZCARD", "key"},
        {"RPUSH", "key", "word", "word"},
        {"LLEN", "key"},
        {"get", "key", "word"},
        {"ZRANGE", "key", "0", "-1", "word"},
        {"ZRANGE", "key", "bound", "bound", "BYSCORE"},
        {"ZRANGE", "key", "bound", "bound", "BYSCORE", "LIMIT", "number", "number"},
        {"ZRANGE", "key", "bound", "bound", "LIMIT", "0", "2", "byscore", "WITHSCORES"},
        {"ZRANGE", "key", "0", "-1", "LIMIT", "0", "2"},
        {"ZRANGE", "key", "0", "-1", "BYSCORE", "LIMIT", "0"},
        {"ZREVRANGE", "key", "0", "-1", "BYSCORE"},
    };
    Argv argv = shapes[pick(shapes.size())];
    for (std::string& arg : argv) {
      arg = filled(arg);
    }
    return argv;
  }

  // The same as a script sees it.
  Argv next_in_script() {
    Argv argv{"EVAL", "return redis.call(unpack(ARGV))", "4", "k1", "k2", "k3", "k4"};
    const Argv command = next();
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
  }

  bool in_script() { return pick(2) == 0; }

 private:
  std::size_t pick(std::size_t size) {
    return static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(size) - 1));
  }

  std::string filled(const std::string& arg) {
    static const Argv numbers{"0", "1", "2",   "-1", "-2",  "3",    "10", "0.5", "1700000000000001",
                              "x", "",  "007", "+1", "1e3", "-inf", "nan"};
    static const Argv bounds{"-inf", "+inf", "inf", "(0", "0",   "(1", "1",   "(2",
                             "2",    "10",   "(",   "",   "nan", "x",  "((1", "(1700000000000001"};
    static const Argv words{"", "a", "b", "c", std::string("a\0b", 3), "WITHSCORES", "\r\n"};
    static const Argv keys{"k1", "k2", "k3", "k4"};
    static const Argv flags{"NX", "XX", "nx", "PX", "YY"};
    static const Argv no_times{"0", "-1", "x", "", "1e3"};
    if (arg == "no time") {
      return no_times[pick(no_times.size())];
    }
    if (arg == "key") {
      return keys[pick(keys.size())];
    }
    if (arg == "number") {
      return numbers[pick(numbers.size())];
    }
    if (arg == "bound") {
      return bounds[pick(bounds.size())];
    }
    if (arg == "word") {
      return words[pick(words.size())];
    }
    if (arg == "flag") {
      return flags[pick(flags.size())];
    }
    return arg == "long" ? "1000000" : arg == "minus" ? "-1" : arg;
  }

  Random random_;
};

TEST_F(Commands, AnswerAsRedisWhateverTheArguments) {
  Caller caller(1);
  for (int i = 0; i < kRandomCommands; ++i) {
    ASSERT_TRUE(agree_on(caller.in_script() ? caller.next_in_script() : caller.next())) << i;
    if (i % kCommandsBetweenComparisons == 0) {
      ASSERT_EQ(contents_of(sim_), contents_of(redis_)) << i;
      ASSERT_TRUE(agree_on({"DBSIZE"}));
    }
  }
}

TEST_F(Commands, MatchKeysAsRedis) {
  for (const char* const key : {"", "a", "ab", "abc", "a*c", "[a]", "b-d", "\\", "a\\b"}) {
    agree_on({"SET", key, ""});
  }
  for (const char* const pattern : {"*", "a*", "?", "a?c", "*c", "[ab]*", "[^a]*", "[a-c]", "\\*",
                                    "a\\*c", "[", "a**c", "\\\\", "[\\]]", "*b*", "[b-a]"}) {
    Argv found;
    for (Backend* const backend : {&sim_, &redis_}) {
      const std::string before = contents_of(*backend);
      std::string keys;
      std::vector<std::string> sorted;
      for (const Reply& key : backend->execute({"KEYS", pattern}).elements) {
        sorted.push_back(key.text);
      }
      std::sort(sorted.begin(), sorted.end());
      for (const std::string& key : sorted) {
        keys += printable(key);
      }
      found.push_back(keys);
    }
    EXPECT_EQ(found[0], found[1]) << pattern;
  }
}

TEST_F(Commands, ScanEveryKeyOnce) {
  for (int i = 0; i < 100; ++i) {
    sim_.execute({"SET", "key" + std::to_string(i), ""});
  }
  sim_.execute({"SET", "other", ""});
  std::set<std::string> found;
  std::string cursor = "0";
  do {
    const Reply reply = sim_.execute({"SCAN", cursor, "MATCH", "key*", "COUNT", "7"});
    cursor = reply.elements[0].text;
    for (const Reply& key : reply.elements[1].elements) {
      EXPECT_TRUE(found.insert(key.text).second);
    }
  } while (cursor != "0");
  EXPECT_EQ(found.size(), 100U);
}

TEST_F(Commands, MakeRepliesOfLuaValuesAsRedis) {
  for (const char* const value : {"1",
                                  "1.9",
                                  "-1.9",
                                  "2^53",
                                  "true",
                                  "false",
                                  "nil",
                                  "'text'",
                                  "'a\\0b'",
                                  "{}",
                                  "{1, 2, nil, 3}",
                                  "{1, {2, {3}}, 'x', false, true}",
                                  "{err = 'MY problem'}",
                                  "{err = 'word'}",
                                  "{ok = 'fine'}",
                                  "{ok = 'two\\r\\nlines'}",
                                  "{err = 'TWO\\r\\nlines'}",
                                  "redis.error_reply('CODE text')",
                                  "redis.error_reply('word')",
                                  "redis.error_reply('-CODE text')",
                                  "redis.error_reply('-word')",
                                  "redis.error_reply('')",
                                  "redis.error_reply()",
                                  "redis.status_reply('fine')",
                                  "redis.status_reply(1, 2)",
                                  "redis.sha1hex('')",
                                  "redis.sha1hex('abc')",
                                  "redis.sha1hex(string.rep('x', 200))",
                                  "function() end"}) {
    agree_on_script(std::string("return ") + value);
  }
}

TEST_F(Commands, FailInScriptsAsInRedis) {
  agree_on({"RPUSH", "k2", "x"});
  for (const char* const body :
       {"error('boom')",
        "error({err = 'MY error'})",
        "error({err = 'word'})",
        "local x = nil; return x.y",
        "return redis.call('GET')",
        "return redis.call('NOSUCH')",
        "return redis.call()",
        "return redis.call('GET', {})",
        "return redis.call('GET', KEYS[2])",
        "return redis.pcall('GET', KEYS[2])",
        "return redis.pcall('GET', KEYS[2]).err",
        "return redis.pcall('GET')",
        "return redis.call('SUBSCRIBE', 'x')",
        "return undefined",
        "made = 1",
        "return {redis.pcall('GET', KEYS[2]), 1}",
        "\nreturn\n  redis.call('GET', KEYS[2])",
        "return struct.unpack('<d', 'short')",
        "return struct.pack('<B', 'x')",
        "local function f() "
        "return redis.call('GET', KEYS[2]) end\nlocal x = f()\nreturn x"}) {
    agree_on_script(body);
  }
}

TEST_F(Commands, FailToCompileAsInRedis) {
  agree_on_script("return (");
  agree_on_script("x = = 1");
  agree_on({"SCRIPT", "LOAD", "return ("});
}

TEST_F(Commands, CountKeysOfScriptsAsRedis) {
  agree_on({"EVAL", "return {#KEYS, #ARGV}", "1", "k1", "x"});
  agree_on({"EVAL", "return 1", "-1"});
  agree_on({"EVAL", "return 1", "2", "k1"});
  agree_on({"EVAL", "return 1", "x"});
  agree_on({"EVALSHA", std::string(40, '0'), "0"});
  agree_on({"EVALSHA", "short", "0"});
  agree_on({"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"});
  agree_on({"EVAL", "return 1", "0"});
  agree_on({"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"});
}

class Numbers : public Commands, public testing::WithParamInterface<Backend::Kind> {
 protected:
  Numbers() : Commands(Backend::get(GetParam())) {}
};

TEST_P(Numbers, OfLuaArePassedAlike) {
  for (const char* const number : {"1",
                                   "-1",
                                   "0",
                                   "1e15",
                                   "2^53",
                                   "2^53 + 2",
                                   "1e17",
                                   "0.1",
                                   "-0.5",
                                   "1/3",
                                   "1e300",
                                   "123456.789",
                                   "1700000000000001",
                                   "4e18 + 1024",
                                   "1e20",
                                   "2^70",
                                   "-2^70",
                                   "2^80",
                                   "1e-5",
                                   "-1e-5",
                                   "1e-7",
                                   "0.00012345",
                                   "-1.2345e-300",
                                   "1e-300",
                                   "5e-324"}) {
    agree_on_script(std::string("redis.call('SET', KEYS[1], ") + number +
                    ") return redis.call('GET', KEYS[1])");
  }
  agree_on_script(
      "redis.call('ZADD', KEYS[2], 1700000000000001, 'a', 0.1, 'b') "
      "return {redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'), "
      "redis.call('ZSCORE', KEYS[2], 'a')}");
  agree_on({"ZRANGE", "k2", "0", "-1", "WITHSCORES"});
}

INSTANTIATE_TEST_SUITE_P(Of, Numbers, testing::ValuesIn(real_backends()),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_F(Commands, PackAsRedis) {
  for (const char* const call : {"'<BbHh', 1, -1, 513, -2",
                                 "'>BbHhLl', 255, -128, 513, -2, 7, -7",
                                 "'<I3i3I8i1', 70000, -2, 2^40, -1",
                                 "'>I3i3I8i1', 70000, -2, 2^40, -1",
                                 "'<fd', 0.5, 1/3",
                                 "'>fd', 0.5, 1/3",
                                 "'=d', 1e300",
                                 "'c3', 'abcdef'",
                                 "'c3', 'ab'",
                                 "'c0', 'abc'",
                                 "'s', 'abc'",
                                 "'Bc0', 3, 'abc'",
                                 "'xBx', 1",
                                 "'! d', 1",
                                 "'<!4BI4', 1, 2",
                                 "'<!BdB', 1, 2, 3",
                                 "'<!2Bd', 1, 2",
                                 "'<!3B', 1",
                                 "'I33', 1",
                                 "'y', 1",
                                 "'B'",
                                 "'<B H', 1, 2",
                                 "'B', 256",
                                 "'B', -1",
                                 "'H', 65536.7",
                                 "''",
                                 "'iI', -1, 1",
                                 "'c', 'xyz'",
                                 "'<d', '12.5'"}) {
    agree_on_script(std::string("return struct.pack(") + call + ")");
  }
}

TEST_F(Commands, UnpackAsRedis) {
  for (const char* const call : {"'<BbHh', '\\1\\255\\1\\2\\254\\255'",
                                 "'>HhIi', '\\1\\2\\255\\254\\0\\0\\1\\0\\255\\255\\255\\255'",
                                 "'<i3I3', '\\254\\255\\255\\1\\0\\2'",
                                 "'<B', '\\1\\2\\3', 2",
                                 "'<B', '\\1', 2",
                                 "'<B', '\\1', 3",
                                 "'<B', '', 1",
                                 "'<B', '\\1', 0",
                                 "'c2', 'abc'",
                                 "'c2c', 'abc'",
                                 "'c4', 'abc'",
                                 "'s', 'ab\\0cd'",
                                 "'s', 'abcd'",
                                 "'Bc0', '\\3abcd'",
                                 "'Bc0', '\\5abcd'",
                                 "'c0', 'abc'",
                                 "'xB', '\\1\\2'",
                                 "'<!4BI4', '\\1\\0\\0\\0\\2\\0\\0\\0'",
                                 "'', 'abc'",
                                 "'<I8', '\\0\\0\\0\\0\\0\\0\\16\\0'",
                                 "'<l', '\\255\\255\\255\\255\\255\\255\\255\\255'",
                                 "'y', 'abc'",
                                 "'B c0', '\\2ab'"}) {
    agree_on_script(std::string("return {struct.unpack(") + call + ")}");
  }
  agree_on_script("return tostring(struct.unpack('<f', struct.pack('<f', 0.1)))");
  agree_on_script("return string.format('%.17g', struct.unpack('>d', struct.pack('>d', 1/3)))");
}

TEST_F(Commands, SizeFormatsAsRedis) {
  for (const char* const format :
       {"<BHIL", "!BdB", "c10", "s", "c0", "<I3i7fd", "", "x", "y", "!4Bd"}) {
    agree_on_script("return struct.size(ARGV[1])", format);
  }
}

}  // namespace
}  // namespace belay::test
