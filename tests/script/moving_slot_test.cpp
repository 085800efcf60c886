// A slot of a cluster moves from one server to another: what is plainly held is renewed, verified
// and released by the record alone, on whichever of the two has it. One thread.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/packing.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"
#include "support/server_process.h"

namespace belay::test {
namespace {

const std::string kMark = "mark";
const std::string kOk = std::string(1, '\1');

struct Call {
  const Script& script;
  std::vector<std::string> keys;
  std::vector<std::string> args;
};

using Runner = std::function<Reply(const Call&)>;

Reply run(Redis& server, const Call& call) {
  std::vector<std::string> argv{"EVAL", std::string(call.script.body),
                                std::to_string(call.keys.size())};
  argv.insert(argv.end(), call.keys.begin(), call.keys.end());
  argv.insert(argv.end(), call.args.begin(), call.args.end());
  argv.push_back(kMark);
  return server.command(argv);
}

// One master of a cluster.
class Master {
 public:
  explicit Master(const std::string& program)
      : process_(program, {"--cluster-enabled", "yes"}), redis_(process_.connect()) {}

  Redis& redis() { return redis_; }

  [[nodiscard]] std::string port() const { return std::to_string(process_.port()); }

  std::string ask(const std::vector<std::string>& argv) { return redis_.command(argv).text; }

  std::string id() { return ask({"CLUSTER", "MYID"}); }

  void wait_until_told(const std::string& command, const std::string& words) {
    const auto hung = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (ask({"CLUSTER", command}).find(words) == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), hung)
          << "CLUSTER " << command << " lacks " << words;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  ServerProcess process_;
  Redis redis_;
};

// Two of them, all slots at the first. As it takes seconds to come up, all tests share it, and each
// moves a slot of its own.
struct Cluster {
  explicit Cluster(const std::string& program) : source(program), target(program) {
    source.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    source.ask({"CLUSTER", "MEET", "127.0.0.1", target.port()});
    for (Master* const master : {&source, &target}) {
      master->wait_until_told("NODES", source.id());
      master->wait_until_told("NODES", target.id());
      master->wait_until_told("INFO", "cluster_slots_assigned:16384");
      master->wait_until_told("INFO", "cluster_state:ok");
    }
  }

  static Cluster& get(Backend::Kind kind) {
    static std::map<Backend::Kind, Cluster> clusters;
    return clusters.try_emplace(kind, program_of(kind)).first->second;
  }

  Master source;
  Master target;
};

class MovingSlot : public testing::TestWithParam<Backend::Kind> {
 protected:
  void begin_move() {
    EXPECT_EQ(target_.ask({"CLUSTER", "SETSLOT", slot_, "IMPORTING", source_.id()}), "OK");
    EXPECT_EQ(source_.ask({"CLUSTER", "SETSLOT", slot_, "MIGRATING", target_.id()}), "OK");
  }

  void move_record() { move_key(keys_[0]); }

  void move_key(const std::string& key) {
    EXPECT_EQ(source_.ask({"MIGRATE", "127.0.0.1", target_.port(), key, "0", "60000"}), "OK");
  }

  // The client "A" takes the lock; what it was told is its fence.
  std::int64_t take() {
    const Reply reply = run(source_.redis(), {scripts::kAcquire, keys_, {a_.packed()}});
    EXPECT_TRUE(reply.text.starts_with(kOk)) << reply.canonical();
    return Unpacker(std::string_view(reply.text).substr(9)).number();
  }

  [[nodiscard]] Call keep(std::int64_t fence, std::int64_t lease) const {
    const std::string request = Packer()
                                    .number(kNever)
                                    .bytes(claim("A", 1))
                                    .number(fence)
                                    .number(lease)
                                    .u16(1)
                                    .u16(0)
                                    .take();
    return {scripts::kKeep, {keys_[0]}, {request}};
  }

  [[nodiscard]] Call release() const { return {scripts::kRelease, {keys_[0]}, {claim("A", 1)}}; }

  // Renewed, verified, then released: each tells that it is well.
  void expect_kept_and_released(const Runner& run_at, std::int64_t fence) const {
    EXPECT_EQ(kept(run_at(keep(fence, 2 * kLease))), "ok");
    EXPECT_EQ(kept(run_at(keep(fence, 0))), "ok");
    const Reply left = run_at(release());
    EXPECT_TRUE(left.text.starts_with(kOk)) << left.canonical();
  }

  // What a reply says of the one claim that is to be kept.
  static std::string kept(const Reply& reply) {
    Unpacker in(reply.text);
    in.number();
    const std::uint8_t code = in.u8();
    in.number();
    const std::uint8_t waits = in.u8();
    if (reply.is_error() || code != 1) {
      return reply.canonical();
    }
    return waits == 1 ? "ok, somebody waits" : "ok";
  }

  // What touches more keys than the record of "A".
  [[nodiscard]] std::vector<Call> others(std::int64_t fence) const {
    const std::string to_leave =
        Packer().u8(kLock).bytes(claim("A", 1)).number(0).u8(0).number(fence).take();
    const std::string limits = Packer().number(0).number(kNever).take();
    const std::string to_break = Packer().number(0).take() + limits;
    const AcquireCall b{.client = "B"};
    const RenewCall renewal{.client = "A", .fence = fence};
    const std::string to_take = Packer()
                                    .bytes(client_id("B"))
                                    .number(kNever)
                                    .number(kLease)
                                    .number(0)
                                    .number(0)
                                    .number(1)
                                    .take();
    return {{scripts::kAcquire, keys_, {a_.packed()}},
            {scripts::kAcquire, keys_, {b.packed()}},
            {scripts::kTake, {keys_[0], keys_[2], keys_[3], keys_[1]}, {"info", to_take}},
            {scripts::kLeave, keys_, {to_leave, kInbox}},
            {scripts::kRenew, keys_, {kInbox, limits, renewal.packed()}},
            {scripts::kInspect, keys_, {"10"}},
            {scripts::kBreak, keys_, {to_break, kInbox, "info"}},
            {scripts::kLimit, keys_, {to_break, kInbox}}};
  }

  std::string dump(Master& master) {
    std::string all;
    for (const std::string& key : keys_) {
      master.ask({"ASKING"});
      all += printable(key) + " = " + master.redis().command({"DUMP", key}).canonical() + "\n";
    }
    return all;
  }

  void expect_told_to_try_again(const Runner& run_at, std::int64_t fence) {
    const std::string before = dump(source_) + dump(target_);
    for (const Call& other : others(fence)) {
      EXPECT_EQ(run_at(other).error_code(), "TRYAGAIN") << other.script.name;
    }
    EXPECT_EQ(dump(source_) + dump(target_), before);
  }

  Runner at_source() {
    return [this](const Call& call) { return run(source_.redis(), call); };
  }

  Runner at_target() {
    return [this](const Call& call) {
      target_.ask({"ASKING"});
      return run(target_.redis(), call);
    };
  }

  Master& source_ = Cluster::get(GetParam()).source;
  Master& target_ = Cluster::get(GetParam()).target;
  const AcquireCall a_{.client = "A"};
  const std::vector<std::string> keys_ =
      keys_of(testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string slot_ =
      std::to_string(source_.redis().command({"CLUSTER", "KEYSLOT", keys_[0]}).integer);
};

TEST_P(MovingSlot, IsKeptAndReleasedWhereTheRecordStillIs) {
  const std::int64_t fence = take();
  begin_move();
  expect_told_to_try_again(at_source(), fence);
  expect_kept_and_released(at_source(), fence);
}

TEST_P(MovingSlot, IsKeptAndReleasedWhereTheRecordIsByNow) {
  const std::int64_t fence = take();
  begin_move();
  move_record();
  EXPECT_EQ(at_source()(keep(fence, kLease)).error_code(), "ASK");
  EXPECT_EQ(at_source()(release()).error_code(), "ASK");
  expect_told_to_try_again(at_source(), fence);
  expect_told_to_try_again(at_target(), fence);
  expect_kept_and_released(at_target(), fence);
}

// Who waits has moved or not; the holder does not depend on it.
TEST_P(MovingSlot, IsKeptWhileSomebodyWaits) {
  const std::int64_t fence = take();
  run(source_.redis(), {scripts::kAcquire, keys_, {AcquireCall{.client = "B"}.packed()}});
  begin_move();
  EXPECT_EQ(kept(at_source()(keep(fence, kLease))), "ok, somebody waits");
  move_record();
  EXPECT_EQ(kept(at_target()(keep(fence, kLease))), "ok, somebody waits");
}

// A member is renewed by the members alone, whoever else has them and wherever the record is.
TEST_P(MovingSlot, RenewsMembersWhereverTheyAre) {
  AcquireCall share = a_;
  share.group = "r";
  const Reply granted = run(source_.redis(), {scripts::kAcquire, keys_, {share.packed()}});
  ASSERT_TRUE(granted.text.starts_with(kOk)) << granted.canonical();
  Unpacker in(std::string_view(granted.text).substr(1));
  const std::int64_t since = in.number();
  const std::string seat = Packer()
                               .bytes(claim("A", 1))
                               .number(in.number())
                               .number(since)
                               .number(0)
                               .number(1)
                               .u16(1)
                               .u16(0)
                               .take();
  const std::string row = Packer().number(2 * kLease).u8(kLock).take();
  const Call keep{
      scripts::kKeepMembers, {keys_[3]}, {Packer().number(kNever).take() + seat + row, share.info}};
  begin_move();
  EXPECT_EQ(kept(at_source()(keep)), "ok");
  move_record();
  EXPECT_EQ(kept(at_source()(keep)), "ok");
  const Call release{scripts::kReleaseMembers, {keys_[0], keys_[3]}, {seat, share.info}};
  EXPECT_EQ(at_source()(release).error_code(), "TRYAGAIN");
  move_key(keys_[3]);
  EXPECT_EQ(at_source()(keep).error_code(), "ASK");
  EXPECT_EQ(kept(at_target()(keep)), "ok");
  EXPECT_TRUE(at_target()(release).text.starts_with(kOk));
}

INSTANTIATE_TEST_SUITE_P(On, MovingSlot,
                         testing::Values(Backend::Kind::kRedis, Backend::Kind::kValkey),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace belay::test
