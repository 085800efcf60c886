// Keep: what is plainly held is renewed by its record alone; on every server. One thread.
#include <cmath>
#include <functional>

#include "base/packing.h"
#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

class Keep : public JointTest {
 protected:
  struct Row {
    std::string name;
    std::int64_t fence = 0;
    std::int64_t lease = 2 * kLease;
    std::string client = "A";
    std::int64_t epoch = 1;
  };

  static std::string packed(const std::vector<Row>& rows, std::int64_t not_after = kNever) {
    Packer packed;
    packed.number(not_after);
    for (const Row& row : rows) {
      packed.bytes(claim(row.client, row.epoch)).number(row.fence).number(row.lease);
      packed.u16(3).u16(1000);
    }
    return packed.take();
  }

  Reply run_keep(const std::vector<Row>& rows, const std::string& request) {
    std::vector<std::string> keys;
    for (const Row& row : rows) {
      keys.push_back(keys_of(row.name)[0]);
    }
    return run(scripts::kKeep, keys, {request});
  }

  // A code for each claim, of what is kept with the end of its range: "ok", "waited for", "-".
  Names keep(const std::vector<Row>& rows) {
    const Reply reply = run_keep(rows, packed(rows));
    Names codes;
    Unpacker in(reply.text);
    EXPECT_GT(in.number(), 0);
    for (const Row& row : rows) {
      const std::uint8_t code = in.u8();
      const std::int64_t last = in.number();
      const std::uint8_t waits = in.u8();
      EXPECT_EQ(last, code == 1 ? row.fence + kFenceRange : 0);
      EXPECT_TRUE(code == 1 || (code == 5 && waits == 0)) << reply.canonical();
      codes.emplace_back(code == 5 ? "-" : waits == 1 ? "waited for" : "ok");
    }
    EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
    return codes;
  }

  // A takes it.
  Row taken(const std::string& name) {
    use_lock(name);
    return {name, acquire("A").fence};
  }

  // Expects that what `make` does to "b" keeps it from being renewed so, and not "a" beside it.
  void expect_not_plain(const std::function<void()>& make) {
    command({"FLUSHALL"});
    const Row other = taken("a");
    const Row row = taken("b");
    make();
    const std::string before = command({"DUMP", record_key()}).text;
    const std::int64_t stood = pttl(record_key());
    EXPECT_EQ(keep({row, other}), (Names{"-", "ok"}));
    EXPECT_EQ(command({"DUMP", record_key()}).text, before);
    EXPECT_LE(pttl(record_key()), stood);
  }
};

TEST_P(Keep, ExtendsAllItsClaims) {
  const std::vector<Row> rows{taken("a"), taken("b")};
  const std::int64_t before = now();
  EXPECT_EQ(keep(rows), (Names{"ok", "ok"}));
  for (const Row& row : rows) {
    use_lock(row.name);
    const Record stands = record().value();
    EXPECT_GE(stands.expires, before + 2 * kLease);
    EXPECT_EQ(stands.holds, 3);
    EXPECT_EQ(stands.local_waiters, 1000);
    EXPECT_EQ(stands.fence, row.fence);
    EXPECT_EQ(stands.last, row.fence + kFenceRange);
    EXPECT_EQ(stands.client, "A");
    EXPECT_EQ(stands.info, "info");
    EXPECT_GT(pttl(record_key()), 2 * kLease / 1000);
    EXPECT_EQ(leave("A"), "ok");
  }
}

TEST_P(Keep, KeepsTheLockDelay) {
  use_lock("a");
  const Row row{"a", acquire_with({.client = "A", .delay = 5 * kSecond}).fence};
  EXPECT_EQ(keep({row}), Names{"ok"});
  EXPECT_EQ(record()->delay, 5 * kSecond);
  EXPECT_GT(pttl(record_key()), (2 * kLease + 5 * kSecond) / 1000);
}

TEST_P(Keep, NeverShortensALease) {
  Row row = taken("a");
  const std::int64_t until = record()->expires;
  row.lease = kSecond;
  EXPECT_EQ(keep({row}), Names{"ok"});
  EXPECT_EQ(record()->expires, until);
  EXPECT_GT(pttl(record_key()), kLease / 1000);
}

TEST_P(Keep, OnlyLooksWithoutALease) {
  Row row = taken("a");
  const std::string before = contents();
  row.lease = 0;
  EXPECT_EQ(keep({row}), Names{"ok"});
  EXPECT_EQ(contents(), before);
}

// Else the holder would need another round trip just when somebody comes.
TEST_P(Keep, SaysThatSomebodyWaits) {
  listen({"B"});
  const Row row = taken("a");
  acquire("B");
  told();
  const std::int64_t before = now();
  EXPECT_EQ(keep({row}), Names{"waited for"});
  EXPECT_GE(record()->expires, before + 2 * kLease);
  EXPECT_EQ(record()->waits, 1);
  EXPECT_EQ(queue(), Names{"B"});
  EXPECT_TRUE(told().empty());
}

TEST_P(Keep, LeavesAloneWhatIsNotOurs) {
  expect_not_plain([this] { command({"DEL", record_key()}); });
  expect_not_plain([this] { lapse(); });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    acquire("B");
  });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    acquire("A", 2);
  });
  expect_not_plain([this] {  // another tenure of the same claim
    command({"DEL", record_key()});
    acquire("A");
  });
}

TEST_P(Keep, LeavesAloneWhatIsNotSimple) {
  expect_not_plain([this] {  // who handed it on looks after it
    constexpr std::size_t kFromOffset = 69;
    command({"SETRANGE", record_key(), std::to_string(kFromOffset), claim("B", 5)});
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
  expect_not_plain([this] { command({"SET", record_key(), "no lock"}); });
  expect_not_plain([this] {
    command({"DEL", record_key()});
    command({"RPUSH", record_key(), "no lock"});
  });
}

TEST_P(Keep, LeavesAloneWhatHasNumbersThatCannotBe) {
  for (const double number : {std::nan(""), HUGE_VAL, 1e16, -1.0}) {
    for (const int offset : {49, 57, 99}) {  // the range, the lease, the lock-delay
      expect_not_plain([this, number, offset] {
        command({"SETRANGE", record_key(), std::to_string(offset), packed_double(number)});
      });
    }
  }
  for (const std::int64_t lease : {std::int64_t{-1}, std::int64_t{1} << 53}) {
    Row row = taken("a");
    row.lease = lease;
    const std::string before = contents();
    EXPECT_EQ(keep({row}), Names{"-"});
    EXPECT_EQ(contents(), before);
    leave("A");
  }
}

TEST_P(Keep, ChangesNothingWhenItComesLate) {
  const Row row = taken("a");
  const std::string before = contents();
  const Reply reply = run_keep({row}, packed({row}, now() - 1));
  EXPECT_EQ(reply.text.at(0), 4);
  EXPECT_GT(Unpacker(std::string_view(reply.text).substr(1)).number(), 0);
  EXPECT_EQ(reply.text.size(), 9U);
  EXPECT_EQ(contents(), before);
}

TEST_P(Keep, IsDoneWhereMemoryIsFull) {
  const Row row = taken("a");
  command({"CONFIG", "SET", "maxmemory", "1"});
  const Names codes = keep({row});
  command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(codes, Names{"ok"});
}

TEST_P(Keep, RefusesCallsThatNoClientMakes) {
  const Row row = taken("a");
  const std::string before = contents();
  const auto kept = [&](const std::vector<std::string>& keys,
                        const std::vector<std::string>& args) {
    return run(scripts::kKeep, keys, args).error_code();
  };
  EXPECT_EQ(kept({}, {packed({})}), "BELAYARGS");
  EXPECT_EQ(kept({record_key()}, {}), "BELAYARGS");
  EXPECT_EQ(kept({record_key()}, {packed({row}), "x"}), "BELAYARGS");
  EXPECT_EQ(kept({record_key()}, {packed({row}) + "x"}), "BELAYARGS");
  EXPECT_EQ(kept({record_key(), record_key()}, {packed({row})}), "BELAYARGS");
  EXPECT_EQ(contents(), before);
  share("A");  // whose record has zeros for a claim
  EXPECT_EQ(run(scripts::kKeep, {record_key()},
                {Packer().number(kNever).bytes(std::string(50, '\0')).take()})
                .text.substr(8, 1),
            "\5");
}

ON_ALL_BACKENDS(Keep);

}  // namespace
}  // namespace belay::test
