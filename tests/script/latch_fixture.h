// What the tests of the latch's verbs share: calls with packed arguments, and their replies
// unpacked. One thread; GoogleTest makes one per test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "script/lock_fixture.h"

namespace belay::test {

inline constexpr std::int64_t kRemember = 60 * kSecond;

struct SetCall {
  std::string client;
  std::int64_t number = 1;  // of the request
  std::int64_t count = 1;
  std::int64_t life = 0;
  std::int64_t highest = 0;
  std::int64_t not_after = kNever;
  std::int64_t remember = kRemember;

  [[nodiscard]] std::string packed() const;
};

struct AwaitCall {
  std::string client;
  std::int64_t epoch = 1;
  std::int64_t generation = 0;
  std::int64_t not_after = kNever;
  std::int64_t ticket = 0;
  bool queue = true;
  std::string secret = kSecret;

  [[nodiscard]] std::string packed() const;
};

struct DownCall {
  std::string client;
  std::int64_t number = 1;  // of the request
  std::int64_t by = 1;
  std::int64_t not_after = kNever;
  std::int64_t remember = kRemember;
  std::int64_t since = 1;

  [[nodiscard]] std::string packed() const;
};

// The keys that a latch's verbs have of those of a name.
struct LatchKeys {
  explicit LatchKeys(const std::vector<std::string>& keys)
      : set{keys[0], keys[1], keys[2]}, other{keys[0], keys[2]}, leave{keys[2]} {}

  std::vector<std::string> set;
  std::vector<std::string> other;  // of count down and await
  std::vector<std::string> leave;
};

// `code` is set, in use, counted, more, missing, queued, busy, late, stale, passed, or the code of
// an error.
struct LatchReply {
  std::string code;
  std::int64_t ts = 0;
  std::int64_t position = 0;
  std::int64_t remaining = 0;
  std::int64_t ticket = 0;
  std::int64_t generation = 0;
  std::int64_t count = 0;
};

class LatchTest : public LockTest {
 protected:
  LatchReply set_with(const SetCall& call);
  // A request of its own each time.
  LatchReply set(std::int64_t count);
  LatchReply count_down_with(const DownCall& call);

  LatchReply count_down(const std::string& client, std::int64_t number, std::int64_t by = 1) {
    return count_down_with({.client = client, .number = number, .by = by});
  }

  // A request of its own each time.
  LatchReply count_down(std::int64_t by = 1) { return count_down("C", ++last_number_, by); }

  LatchReply await_with(const AwaitCall& call);
  LatchReply await(const std::string& client, std::int64_t epoch = 1);
  // A try, as the library asks for the count.
  LatchReply look();

  // Lets the latch's time to live end a moment ago.
  void lapse_latch();

  // The number of requests that the record remembers.
  std::int64_t remembered();

  const LatchKeys& latch_keys() const { return keys_; }

 private:
  const LatchKeys keys_ = LatchKeys(keys_of("orders"));
  std::int64_t last_number_ = 0;
};

}  // namespace belay::test
