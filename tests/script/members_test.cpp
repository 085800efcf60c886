// Those who hold something together, in the usual cases: renewed by their members' key alone, and
// left by little more; on every server. One thread.
#include <cmath>
#include <functional>

#include "base/packing.h"
#include "script/joint_fixture.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr std::size_t kSeatSize = 66;  // without the info text

class Members : public JointTest {
 protected:
  struct Row {
    std::string key;
    std::string seat;
    std::int64_t lease = 2 * kLease;
    int kind = kLock;
  };

  static std::string packed(const std::vector<Row>& rows, std::int64_t not_after = kNever) {
    std::string all = Packer().number(not_after).take();
    for (const Row& row : rows) {
      all += row.seat + Packer().number(row.lease).u8(static_cast<std::uint64_t>(row.kind)).take();
    }
    return all;
  }

  Reply run_keep(const std::vector<Row>& rows, const std::string& request) {
    Names keys;
    for (const Row& row : rows) {
      keys.push_back(row.key);
    }
    return run(scripts::kKeepMembers, keys, {request, "info"});
  }

  // Whether each is kept.
  std::vector<bool> keep(const std::vector<Row>& rows) {
    const Reply reply = run_keep(rows, packed(rows));
    std::vector<bool> kept;
    Unpacker in(reply.text);
    EXPECT_GT(in.number(), 0);
    for (const Row& row : rows) {
      const std::uint8_t code = in.u8();
      const std::int64_t fence = Unpacker(std::string_view(row.seat).substr(30)).number();
      EXPECT_EQ(in.number(), code == 1 ? fence : 0);
      EXPECT_EQ(in.u8(), 0);
      EXPECT_TRUE(code == 1 || code == 5) << reply.canonical();
      kept.push_back(code == 1);
    }
    EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
    return kept;
  }

  // A's seat at the name in use: of a reader, or of a claim.
  Row row_of(int kind = kLock) {
    const std::string who = kind == kLock ? client_id("A") : claim("A", 1);
    return {members_key(), seat_of(who).substr(0, kSeatSize), 2 * kLease, kind};
  }

  Row reader(const std::string& name) {
    use_lock(name);
    share("A");
    return row_of();
  }

  Row holder_of_permits(const std::string& name) {
    use_lock(name);
    permits("A", 2, 3);
    return row_of(kSemaphore);
  }

  std::string release(const Row& row) {
    const Reply reply = run(scripts::kReleaseMembers, {record_key(), row.key}, {row.seat, "info"});
    EXPECT_EQ(reply.text.size(), 17U) << reply.canonical();
    return reply.text.at(0) == 1 ? "ok" : reply.text.at(0) == 5 ? "not plain" : reply.canonical();
  }

  // Expects that what `make` does to a reader at "b" and to permits there keeps it from being
  // renewed and, if `leaves`, from being left, and not others beside it.
  void expect_not_plain(const std::function<void(const std::string& who)>& make,
                        bool leaves = true) {
    for (const int kind : {kLock, kSemaphore}) {
      command({"FLUSHALL"});
      const Row other = reader("a");
      const Row row = kind == kLock ? reader("b") : holder_of_permits("b");
      make(kind == kLock ? client_id("A") : claim("A", 1));
      const std::string before = command({"DUMP", members_key()}).text;
      EXPECT_EQ(keep({row, other}), (std::vector<bool>{false, true}));
      if (leaves) {
        EXPECT_EQ(release(row), "not plain");
      }
      EXPECT_EQ(command({"DUMP", members_key()}).text, before);
    }
  }
};

TEST_P(Members, AreRenewed) {
  const std::vector<Row> rows{reader("a"), holder_of_permits("b")};
  const std::int64_t before = now();
  EXPECT_EQ(keep(rows), (std::vector<bool>{true, true}));
  EXPECT_GE(member(claim("A", 1))->expires, before + 2 * kLease);
  EXPECT_EQ(member(claim("A", 1))->permits, 2);
  EXPECT_EQ(renew_permits("A", member(claim("A", 1))->fence).code, "ok");  // it is found
  use_lock("a");
  EXPECT_GE(member(client_id("A"))->expires, before + 2 * kLease);
  EXPECT_EQ(record()->used, 1);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(Members, AreRenewedBesideOthers) {
  use_lock("a");
  share("B");
  share("A");
  const Row row = row_of();
  share("C");
  EXPECT_EQ(members(), (Names{"B", "A", "C"}));
  EXPECT_EQ(keep({row}), std::vector<bool>{true});
  EXPECT_EQ(members(), (Names{"B", "C", "A"}));
}

TEST_P(Members, KeepTheirLockDelay) {
  use_lock("a");
  acquire_with({.client = "A", .delay = 5 * kSecond, .group = "r"});
  EXPECT_EQ(keep({row_of()}), std::vector<bool>{true});
  const Member one = member(client_id("A")).value();
  EXPECT_EQ(one.ends, one.expires + 5 * kSecond);
  EXPECT_GT(one.expires, now() + kLease);
}

TEST_P(Members, AreNeverShortened) {
  Row row = reader("a");
  const std::string before = contents();
  for (const std::int64_t lease : {std::int64_t{0}, kSecond}) {
    row.lease = lease;
    EXPECT_EQ(keep({row}), std::vector<bool>{true});
    EXPECT_EQ(contents(), before);
  }
}

// Their record is not looked at: whoever takes the name after it was deleted clears them first.
TEST_P(Members, AreRenewedUntilSomebodyTakesTheNameThatLostItsRecord) {
  const std::vector<std::function<void()>> takers{[this] { acquire("B"); }, [this] { share("B"); },
                                                  [this] { permits("B", 1, 3); },
                                                  [this] { ASSERT_EQ(set_limit(3).code, "ok"); }};
  for (const auto& take : takers) {
    command({"FLUSHALL"});
    const Row row = reader("a");
    command({"DEL", record_key()});
    EXPECT_EQ(keep({row}), std::vector<bool>{true});
    take();
    EXPECT_EQ(keep({row}), std::vector<bool>{false});
    EXPECT_EQ(release(row), "not plain");
  }
}

TEST_P(Members, AreClearedByWhoeverIsServedAfterTheLossOfTheRecord) {
  listen({"W", "V"});
  for (const bool by_a_leave : {true, false}) {
    command({"FLUSHALL"});
    const Row row = reader("a");
    acquire("W");
    acquire("V");
    command({"DEL", record_key()});
    if (by_a_leave) {
      leave("V");
    } else {
      try_acquire("B");
    }
    EXPECT_EQ(record()->client, "W");
    EXPECT_EQ(keep({row}), std::vector<bool>{false});
    EXPECT_EQ(command({"EXISTS", members_key()}).integer, 0);
  }
}

TEST_P(Members, WhoHaveLostItAreNotRenewed) {
  expect_not_plain([this](const std::string& /*who*/) { command({"DEL", members_key()}); });
  expect_not_plain([this](const std::string& who) { lapse_member(who); }, false);
  expect_not_plain([this](const std::string& who) {  // another tenure of the same claim
    command({"DEL", record_key(), members_key()});
    who.size() == client_id("A").size() ? share("A") : permits("A", 2, 3);
  });
  expect_not_plain([this](const std::string& /*who*/) { break_lock(0); });
  expect_not_plain([this](const std::string& /*who*/) {
    command({"DEL", members_key()});
    command({"RPUSH", members_key(), "foreign"});
  });
}

TEST_P(Members, WhoWereLostAreNeitherRenewedNorLeftSo) {
  for (const int kind : {kLock, kSemaphore}) {
    command({"FLUSHALL"});
    use_lock("a");
    acquire_with({.client = "A",
                  .kind = kind,
                  .delay = kLease,
                  .limit = kind == kLock ? 0 : 3,
                  .group = kind == kLock ? "r" : ""});
    const Row row = row_of(kind);
    leave_with({.client = "A", .kind = kind, .lost = true});
    const std::string before = contents();
    EXPECT_EQ(keep({row}), std::vector<bool>{false});
    EXPECT_EQ(keep({row_of(kind)}), std::vector<bool>{false});
    EXPECT_EQ(release(row), "not plain");
    EXPECT_EQ(contents(), before);
  }
}

TEST_P(Members, OfOtherClientsAreLeftAlone) {
  Row row = reader("a");
  share("B");
  const std::string before = contents();
  row.seat.replace(0, 22, client_id("C"));
  EXPECT_EQ(keep({row}), std::vector<bool>{false});
  EXPECT_EQ(release(row), "not plain");
  EXPECT_EQ(contents(), before);
}

TEST_P(Members, ChangeNothingWhenTheirRenewalComesLate) {
  const Row row = reader("a");
  const std::string before = contents();
  EXPECT_TRUE(is_late(run_keep({row}, packed({row}, now() - 1))));
  EXPECT_EQ(contents(), before);
}

// The full renewal goes on there: PEXPIRE is allowed, and what follows it.
TEST_P(Members, AreRenewedInFullWhereMemoryIsFull) {
  const Row row = reader("a");
  command({"CONFIG", "SET", "maxmemory", "1"});
  const std::vector<bool> kept = keep({row});
  const Renewed renewed = renew_share("A", member(client_id("A"))->fence, 2 * kLease);
  const std::string left = release(row);
  command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(kept, std::vector<bool>{false});
  EXPECT_EQ(renewed.code, "ok");
  EXPECT_EQ(left, "ok");
}

TEST_P(Members, AreLeft) {
  const Row row = reader("a");
  share("B");
  EXPECT_EQ(release(row), "ok");
  EXPECT_EQ(members(), Names{"B"});
  EXPECT_EQ(record()->used, 1);
  EXPECT_EQ(release(row), "not plain");
  EXPECT_EQ(leave("A"), "not ours");
  EXPECT_EQ(leave("B"), "ok");
  EXPECT_FALSE(record());
}

TEST_P(Members, LeaveNothingBehind) {
  EXPECT_EQ(release(reader("a")), "ok");
  EXPECT_FALSE(record());
  EXPECT_EQ(leftovers(), 0);
  EXPECT_EQ(release(holder_of_permits("b")), "ok");
  EXPECT_EQ(record()->used, 0);
  EXPECT_EQ(record()->limit, 3);
  EXPECT_EQ(leftovers(), 0);
  EXPECT_EQ(permits("B", 3).code, "granted");
}

TEST_P(Members, AreLeftInFullWhereSomebodyWaits) {
  listen({"W"});
  const Row row = reader("a");
  acquire("W");
  const std::string before = contents();
  EXPECT_EQ(release(row), "not plain");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(leave("A"), "ok");
  EXPECT_EQ(record()->client, "W");
}

// A flag that is set while nobody waits costs a call, and the next one in full puts it right.
TEST_P(Members, AreLeftSoAgainOnceNobodyWaits) {
  listen({"W"});
  for (const bool by_the_waiter : {true, false}) {
    command({"FLUSHALL"});
    const Acquired a = acquire_with({.client = "A", .group = "r"});
    acquire("W");
    if (by_the_waiter) {
      leave("W");
    } else {
      command({"DEL", queue_key()});
      EXPECT_EQ(record()->waits, 1);
      EXPECT_EQ(renew_share("A", a.fence).waits, 0);
    }
    EXPECT_EQ(record()->waits, 0);
    EXPECT_EQ(release(row_of()), "ok");
  }
}

TEST_P(Members, OfALockThatSomebodyHasAloneAreNone) {
  use_lock("a");
  acquire("A");
  const std::string seat = claim("A", 1) + std::string(kSeatSize - 30, '\1');
  EXPECT_EQ(release({members_key(), seat}), "not plain");
  EXPECT_EQ(keep({{members_key(), seat}}), std::vector<bool>{false});
}

TEST_P(Members, RefuseCallsThatNoClientMakes) {
  const Row row = reader("a");
  const std::string before = contents();
  const auto refused = [&](const Script& script, const Names& keys, const Names& args) {
    EXPECT_EQ(run(script, keys, args).error_code(), "BELAYARGS") << script.name;
  };
  refused(scripts::kKeepMembers, {}, {packed({}), "info"});
  refused(scripts::kKeepMembers, {row.key}, {packed({row})});
  refused(scripts::kKeepMembers, {row.key}, {packed({row}) + "x", "info"});
  refused(scripts::kKeepMembers, {row.key, row.key}, {packed({row}), "info"});
  refused(scripts::kReleaseMembers, {row.key}, {row.seat, "info"});
  refused(scripts::kReleaseMembers, {record_key(), row.key}, {row.seat});
  refused(scripts::kReleaseMembers, {record_key(), row.key}, {row.seat + "x", "info"});
  refused(scripts::kReleaseMembers, {record_key(), row.key},
          {std::string(kSeatSize, '\0'), "info"});
  for (const std::int64_t lease : {std::int64_t{-1}, std::int64_t{1} << 53}) {
    Row other = row;
    other.lease = lease;
    EXPECT_EQ(keep({other}), std::vector<bool>{false});
  }
  EXPECT_EQ(contents(), before);
}

// Otherwise those that have died would stay for as long as others come and go.
TEST_P(Members, ThatHaveDiedAreDroppedWhenTheNameIsProlonged) {
  use_lock("a");
  share("A");
  share("B");
  lapse_member(client_id("B"));
  share("C");
  EXPECT_EQ(record()->used, 3);  // there is room beside it
  command({"SETRANGE", record_key(), "123", packed_double(static_cast<double>(now() + kLease))});
  share("D");
  EXPECT_EQ(members(), (Names{"A", "C", "D"}));
  EXPECT_EQ(record()->used, 3);
  EXPECT_GT(record()->stands, now() + 500 * kSecond);
}

// Whatever somebody deletes by hand, and whoever comes next.
TEST_P(Members, StandForATimeOnly) {
  const std::vector<std::function<void()>> ways{
      [this] { share("B"); },
      [this] { permits("B", 1, 3); },
      [this] { permits("B", 3, 3); },
      [this] {
        set_limit(3);
        permits("B", 1);
      },
      [this] {
        listen({"W"});
        share("B");
        acquire("W");
        leave("W");
      },
      [this] {
        const Acquired held = acquire("B");
        if (held.code == "granted") {
          renew({.client = "B", .fence = held.fence, .group = "r"});
        }
      }};
  for (const int kind : {kLock, kSemaphore}) {
    for (const Names& lost : {Names{}, Names{record_key()}, Names{members_key()}}) {
      for (const auto& way : ways) {
        command({"FLUSHALL"});
        use_lock("orders");
        kind == kLock ? share("A") : permits("A", 2, 3);
        for (const std::string& key : lost) {
          command({"DEL", key});
        }
        way();
        for (const std::string& key : {record_key(), members_key()}) {
          EXPECT_NE(pttl(key), -1) << key << " " << kind << " " << lost.size();
        }
      }
    }
  }
}

ON_ALL_BACKENDS(Members);

}  // namespace
}  // namespace belay::test
