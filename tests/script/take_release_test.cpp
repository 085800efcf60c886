// Take and release: what is plainly free, and what is plainly held; on every server. One thread.
#include <cmath>
#include <functional>

#include "base/packing.h"
#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr int kMostNames = 256;

class Plain : public JointTest {
 protected:
  struct TakeCall {
    std::string client = "A";
    std::int64_t epoch = 1;  // of the first name; each has one more than the one before
    std::int64_t not_after = kNever;
    std::int64_t lease = kLease;
    std::int64_t delay = 0;
    std::int64_t highest = 0;

    [[nodiscard]] std::string packed(std::size_t names) const {
      Packer packed;
      packed.bytes(client_id(client)).number(not_after).number(lease).number(delay);
      packed.number(highest);
      for (std::size_t i = 0; i < names; ++i) {
        packed.number(epoch + static_cast<std::int64_t>(i));
      }
      return packed.take();
    }
  };

  // Records, queues, members, fences.
  static std::vector<std::string> keys_to_take(const Names& names) {
    std::vector<std::string> keys;
    for (const std::size_t which : {0U, 2U, 3U, 1U}) {
      for (const std::string& name : names) {
        keys.push_back(keys_of(name)[which]);
      }
    }
    return keys;
  }

  std::string take_as(const TakeCall& call, const Names& names) {
    reply_ = run(scripts::kTake, keys_to_take(names), {"info", call.packed(names.size())});
    return code_of(reply_, {"?", "granted", "?", "busy", "late", "?", "more"});
  }

  std::string take(const std::string& client, const Names& names, std::int64_t epoch = 1) {
    return take_as({.client = client, .epoch = epoch}, names);
  }

  // `epoch` as in TakeCall.
  std::string release(const std::string& client, const Names& names, std::int64_t epoch = 1) {
    std::vector<std::string> keys;
    Packer packed;
    packed.bytes(client_id(client));
    for (const std::string& name : names) {
      keys.push_back(keys_of(name)[0]);
      packed.number(epoch++);
    }
    reply_ = run(scripts::kRelease, keys, {packed.take()});
    if (!reply_.is_error()) {
      EXPECT_EQ(reply_.text.size(), 17 * names.size()) << reply_.canonical();
      for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(reply_.text[17 * i], reply_.text[0]);
      }
    }
    return code_of(reply_, {"?", "ok", "?", "?", "?", "not plain"});
  }

  std::string holder(const std::string& name) {
    use_lock(name);
    const std::optional<Record> stands = record();
    return stands ? stands->client : "";
  }

  // Expects what `make` brings about at "b" to keep A from "a" and "b", which do not change.
  void expect_not_free(const std::function<void()>& make, const std::string& code = "more") {
    command({"FLUSHALL"});
    use_lock("b");
    make();
    const std::string before = contents();
    EXPECT_EQ(take("A", {"a", "b"}), code);
    EXPECT_EQ(take("A", {"b", "a"}), code);
    EXPECT_EQ(take("A", {"b"}), code);
    EXPECT_EQ(contents(), before);
  }

  // The same of leaving "a" and "b", which A has taken.
  void expect_not_plain(const std::function<void()>& make) {
    command({"FLUSHALL"});
    take("A", {"b", "a"});
    use_lock("b");
    make();
    const std::string before = contents();
    EXPECT_EQ(release("A", {"b", "a"}), "not plain");
    EXPECT_EQ(release("A", {"b"}), "not plain");
    EXPECT_EQ(contents(), before);
  }

  Reply reply_;  // the latest

 private:
  static std::string code_of(const Reply& reply, const Names& codes) {
    return reply.is_error() ? reply.error_code()
                            : codes.at(static_cast<std::size_t>(reply.text.at(0)));
  }
};

// ---- Take

TEST_P(Plain, TakesAllThatAreFree) {
  ASSERT_EQ(take_as({.client = "A", .epoch = 3, .delay = 5 * kSecond}, {"a", "b"}), "granted");
  Unpacker in(reply_.text);
  in.u8();
  const std::int64_t ts = in.number();
  for (const char* const name : {"a", "b"}) {
    use_lock(name);
    const std::int64_t epoch = name[0] == 'a' ? 3 : 4;
    const Record stands = record().value();
    EXPECT_EQ(stands.client, "A");
    EXPECT_EQ(stands.epoch, epoch);
    EXPECT_EQ(stands.fence, in.number());
    EXPECT_EQ(stands.fence, ts);
    EXPECT_EQ(stands.last, in.number());
    EXPECT_EQ(stands.last, stands.fence + kFenceRange);
    EXPECT_EQ(stands.waits, 0);
    EXPECT_EQ(in.u8(), 0);
    EXPECT_EQ(stands.expires, ts + kLease);
    EXPECT_EQ(stands.delay, 5 * kSecond);
    EXPECT_EQ(stands.holds, 1);
    EXPECT_EQ(stands.local_waiters, 0);
    EXPECT_EQ(stands.from, "");
    EXPECT_EQ(stands.info, "info");
    EXPECT_EQ(stored_fence(), stands.last);
    EXPECT_EQ(renew({.client = "A", .epoch = epoch, .fence = stands.fence}).code, "ok");
    EXPECT_EQ(leave("A", epoch), "ok");
  }
  EXPECT_TRUE(in.complete() && in.rest().empty());
}

TEST_P(Plain, IsTakenAfterItWasUsed) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(take("A", {"a", "b"}), "granted");
    const std::int64_t fence = Unpacker(std::string_view(reply_.text).substr(9)).number();
    EXPECT_EQ(release("A", {"a", "b"}), "ok");
    while (now() <= fence + kFenceRange) {  // the fences that the grant has reserved
    }
  }
}

TEST_P(Plain, TakesNoneWhereOneIsNotFree) {
  expect_not_free([this] { acquire("A"); });
  expect_not_free([this] {
    acquire("B");
    lapse();
  });
  expect_not_free([this] { share("B"); });
  expect_not_free([this] { permits("B", 1, 3); });
  expect_not_free([this] { command({"SET", record_key(), "no lock"}); });
  expect_not_free([this] { command({"RPUSH", record_key(), "no lock"}); });
}

TEST_P(Plain, TakesNoneOfWhatAnotherHas) {
  expect_not_free([this] { acquire("B"); }, "busy");
  Unpacker in(std::string_view(reply_.text).substr(1));
  const std::int64_t ts = in.number();
  EXPECT_EQ(in.number(), record()->expires - ts);
  EXPECT_TRUE(in.complete() && in.rest().empty());
  expect_not_free([this] { acquire_with({.client = "B", .delay = 5 * kSecond}); }, "busy");
  EXPECT_GT(Unpacker(std::string_view(reply_.text).substr(9)).number(), kLease);
  use_lock("a");
  command({"SET", record_key(), "no lock"});
  EXPECT_EQ(take("A", {"b", "a"}), "more");
}

TEST_P(Plain, TakesNoneWhereSomebodyWaits) {
  expect_not_free([this] {
    acquire("B");
    acquire("C");
    command({"DEL", record_key()});
  });
}

TEST_P(Plain, TakesNoneWhereAFenceIsNotBehindTheClock) {
  for (const double fence : {static_cast<double>(now() + 60 * kSecond), 0.5, -1.0, std::nan("")}) {
    expect_not_free([this, fence] { command({"SET", fence_key(), packed_double(fence)}); });
  }
  expect_not_free([this] { command({"SET", fence_key(), "seven b"}); });
  expect_not_free([this] { command({"RPUSH", fence_key(), "no fence"}); });
  command({"FLUSHALL"});
  EXPECT_EQ(take_as({.highest = now() + 60 * kSecond}, {"a", "b"}), "more");
  EXPECT_EQ(contents(), "");
}

TEST_P(Plain, HasDistinctFencesInOneSlot) {
  std::vector<std::string> keys = keys_to_take({"a", "b", "c"});
  for (const std::size_t fence : {9U, 10U, 11U}) {
    keys[fence] = "belay:f:{0}";
  }
  const Reply reply = run(scripts::kTake, keys, {"info", TakeCall().packed(3)});
  ASSERT_EQ(reply.text.at(0), 1);
  Unpacker in(std::string_view(reply.text).substr(9));
  std::int64_t last = 0;
  for (const char* const name : {"a", "b", "c"}) {
    use_lock(name);
    EXPECT_GT(in.number(), last);
    last = in.number();
    EXPECT_EQ(record()->last, last);
    in.u8();
  }
  EXPECT_EQ(Unpacker(command({"GET", "belay:f:{0}"}).text).number(), last);
}

TEST_P(Plain, TakesNothingTooLate) {
  EXPECT_EQ(take_as({.not_after = now() - 1}, {"a"}), "late");
  EXPECT_EQ(contents(), "");
}

TEST_P(Plain, TakesUpTo256) {
  Names names;
  for (int i = 0; i < kMostNames; ++i) {
    names.push_back("name" + std::to_string(i));
  }
  ASSERT_EQ(take("A", names), "granted");
  EXPECT_EQ(holder("name255"), "A");
  EXPECT_EQ(release("A", names), "ok");
  EXPECT_EQ(holder("name0") + holder("name255"), "");
  names.emplace_back("name256");
  EXPECT_EQ(take("A", names), "BELAYARGS");
  EXPECT_EQ(release("A", names), "BELAYARGS");
}

// ---- Release

TEST_P(Plain, IsLeft) {
  acquire("A", 7);
  EXPECT_EQ(release("A", {"orders"}, 7), "ok");
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_EQ(release("A", {"orders"}, 7), "not plain");
}

TEST_P(Plain, IsNotLeftByOthers) {
  expect_not_plain([this] { command({"DEL", record_key()}); });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    acquire("B");
  });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    acquire("A", 2);
  });
}

TEST_P(Plain, IsNotLeftWhereItIsNotSimple) {
  expect_not_plain([this] { acquire("B"); });  // somebody waits
  expect_not_plain([this] {                    // who handed it on looks after it
    listen({"A"});
    command({"DEL", record_key()});
    acquire("B", 5);
    acquire("A", 1);
    leave("B", 5);
    ASSERT_EQ(record()->client, "A");
    ASSERT_EQ(record()->from, "B");
  });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    share("A");
  });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    permits("A", 1, 3);
  });
  expect_not_plain([this] { command({"SETRANGE", record_key(), "0", "\x03"}); });
  expect_not_plain([this] {
    command({"SET", record_key(), command({"GET", record_key()}).text.substr(0, 106)});
  });
}

TEST_P(Plain, IsNotLeftWhereTheKeyHoldsSomethingElse) {
  command({"RPUSH", keys_of("b")[0], "x"});
  EXPECT_EQ(release("A", {"b"}), "BELAYTYPE");
  take("A", {"a"});
  EXPECT_EQ(release("A", {"a", "b"}), "not plain");
  EXPECT_EQ(holder("a"), "A");
}

// ---- Both

TEST_P(Plain, RefusesCallsThatNoClientMakes) {
  const std::vector<std::string> taking = keys_to_take({"a"});
  const std::string packed = TakeCall().packed(1);
  const auto took = [&](const std::vector<std::string>& keys,
                        const std::vector<std::string>& args) {
    return run(scripts::kTake, keys, args).error_code();
  };
  EXPECT_EQ(took(taking, {"info"}), "BELAYARGS");
  EXPECT_EQ(took(taking, {"info", packed, "x"}), "BELAYARGS");
  EXPECT_EQ(took(taking, {"info", packed.substr(1)}), "BELAYARGS");
  EXPECT_EQ(took(taking, {"info", TakeCall().packed(2)}), "BELAYARGS");
  EXPECT_EQ(took({}, {"info", TakeCall().packed(0)}), "BELAYARGS");
  EXPECT_EQ(took({taking[0], taking[1]}, {"info", packed}), "BELAYARGS");
  EXPECT_EQ(took(taking, {"info", std::string(1, '\0') + packed.substr(1)}), "BELAYARGS");
  for (const TakeCall& call : {TakeCall{.not_after = -1}, TakeCall{.lease = -1},
                               TakeCall{.delay = std::int64_t{1} << 53}, TakeCall{.highest = -1}}) {
    EXPECT_EQ(took(taking, {"info", call.packed(1)}), "BELAYARGS");
  }
  const std::vector<std::string> record{keys_of("a")[0]};
  const auto left = [&](const std::vector<std::string>& keys,
                        const std::vector<std::string>& args) {
    return run(scripts::kRelease, keys, args).error_code();
  };
  share("A");  // whose record has zeros for a claim
  const std::string before = contents();
  EXPECT_EQ(left({record_key()}, {std::string(30, '\0')}), "BELAYARGS");
  EXPECT_EQ(left(record, {}), "BELAYARGS");
  EXPECT_EQ(left(record, {claim("A", 1) + "x"}), "BELAYARGS");
  EXPECT_EQ(left(record, {claim("A", 1), "x"}), "BELAYARGS");
  EXPECT_EQ(left({}, {client_id("A")}), "BELAYARGS");
  EXPECT_EQ(contents(), before);
}

ON_ALL_BACKENDS(Plain);

}  // namespace
}  // namespace belay::test
