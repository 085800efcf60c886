// The latch's commands, and what is read out of replies and messages about it.
#include "dialect/latch.h"

#include <gtest/gtest.h>

#include "base/config.h"
#include "base/packing.h"
#include "dialect/mac.h"
#include "dialect/native.h"
#include "route/slot.h"
#include "scripts/scripts.h"
#include "unit/with_reply.h"

namespace belay {
namespace {

const std::string kClient = "ABCDEFGHIJKLMNOPQRSTUV";
constexpr Micros kRequestTimeout = 5 * kSecond;

LatchPrimitive latch() {
  return LatchPrimitive({kClient, "belay:", "17 web-7 billing desk"}, kRequestTimeout);
}

const Identity kMe{kClient, "belay:", "17 web-7 billing desk", "my secret"};

NativeDialect native() {
  return NativeDialect(kMe, kSecond);
}

// What a script has packed, of our epoch 5 and about "a", with its MAC.
std::string signed_by_script(Packer& packed) {
  const std::string head = packed.take();
  const std::string key = "belay:r:{a}";
  return head + mac_of(kMe, 5, head + key) + key;
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::vector<std::string> keys_of(const Command& command) {
  return {command.keys.begin(), command.keys.end()};
}

std::optional<AcquireAnswer> read_acquire(const std::string& text) {
  std::optional<AcquireAnswer> answer;
  with_reply(bulk(text), [&](Reply reply) { answer = latch().read_acquire(reply); });
  return answer;
}

// What a query makes of a reply: "unsound", "again", or the event's status, generation and count.
std::string outcome(Query& query, std::uint64_t code, std::int64_t generation, std::int64_t count) {
  Event event;
  Query::Progress progress = Query::Progress::kUnsound;
  with_reply(bulk(Packer().u8(code).number(1000).number(generation).number(count).take()),
             [&](Reply reply) { progress = query.read(reply, &event); });
  if (progress == Query::Progress::kUnsound) {
    return "unsound";
  }
  if (progress == Query::Progress::kAgain) {
    return "again";
  }
  return std::string(belay_status_name(event.status.code)) + " " +
         std::to_string(event.generation) + " " + std::to_string(event.count);
}

TEST(Latch, HasFourKeysInOneSlot) {
  for (const char* name : {"a", "user{42}:cart", "}"}) {
    const Resource resource = latch().resource(name);
    ASSERT_EQ(resource.keys.size(), 4U);
    for (const std::string& key : resource.keys) {
      EXPECT_EQ(slot_of(key), resource.slot) << key;
    }
  }
}

TEST(Latch, SaysOfARequestWhoseItIsAndWhichItIs) {
  const Resource resource = latch().resource("a");
  const Command down = latch().count_down(resource, {7}, 2, {77}, {55});
  EXPECT_EQ(down.script, &scripts::kLatchDown);
  EXPECT_EQ(keys_of(down), (std::vector<std::string>{"belay:r:{a}", "belay:w:{a}"}));
  const std::string request = Packer().bytes(kClient).number(7).take();
  EXPECT_EQ(down.args.at(0),
            request + Packer().number(2).number(60 * kSecond).number(77).number(55).take());
  EXPECT_EQ(down.args.at(1), "belay:in:");
  const Command set = latch().set(resource, {7}, 3, kSecond, 99, {77});
  EXPECT_EQ(keys_of(set),
            (std::vector<std::string>{"belay:r:{a}", resource.keys.at(1), "belay:w:{a}"}));
  EXPECT_EQ(
      set.args.at(0),
      request +
          Packer().number(3).number(kSecond).number(99).number(60 * kSecond).number(77).take());
  EXPECT_EQ(set.args.at(2), "17 web-7 billing desk");
}

// Else a first call that arrives behind a repeated one would count again.
TEST(Latch, SaysInEachCallSinceWhenARequestMayHaveBeenSent) {
  const LatchPrimitive primitive = latch();
  const std::unique_ptr<Query> query = latch_count_down_query(primitive, "a", {7}, 2);
  const std::string first = Packer().number(100 * kSecond - kRequestTimeout).take();
  EXPECT_TRUE(query->command(0, {100 * kSecond}).args.at(0).ends_with(first));
  EXPECT_TRUE(query->command(0, {102 * kSecond}).args.at(0).ends_with(first));
}

TEST(Latch, LeavesByItsQueueAlone) {
  LeaveArgs args;
  args.epoch = 5;
  const Resource resource = latch().resource("a");
  const Command leave = latch().leave(resource, args);
  EXPECT_EQ(leave.script, &scripts::kLatchLeave);
  EXPECT_EQ(keys_of(leave), std::vector<std::string>{"belay:w:{a}"});
}

TEST(Latch, AsksToPassWithItsClaim) {
  AcquireArgs args;
  args.epoch = 5;
  args.generation = 6;
  args.not_after = {7};
  args.ticket = 8;
  args.queue = true;
  const Resource resource = latch().resource("a");
  const Command await = latch().acquire(resource, args);
  EXPECT_EQ(await.script, &scripts::kLatchAwait);
  EXPECT_EQ(keys_of(await), (std::vector<std::string>{"belay:r:{a}", "belay:w:{a}"}));
  EXPECT_EQ(await.args.at(0), Packer()
                                  .bytes(kClient)
                                  .number(5)
                                  .number(6)
                                  .number(7)
                                  .number(8)
                                  .u8(1)
                                  .bytes(secret_of({kClient, "belay:", ""}, 5))
                                  .take());
}

TEST(Latch, ReadsWhatAWaiterIsTold) {
  const std::optional<AcquireAnswer> queued = read_acquire(
      Packer().u8(2).number(1000).number(3).number(50).number(900).number(77).number(4).take());
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->code, AcquireCode::kQueued);
  EXPECT_EQ(queued->server_time.since_1970, 1000);
  EXPECT_EQ(queued->position, 3);
  EXPECT_EQ(queued->look_in, 50);
  EXPECT_EQ(queued->ticket, 900);
  EXPECT_EQ(queued->generation, 77);
  EXPECT_EQ(queued->count, 4);
  const std::optional<AcquireAnswer> passed =
      read_acquire(Packer().u8(7).number(1000).number(77).take());
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->code, AcquireCode::kPassed);
  EXPECT_EQ(passed->generation, 77);
}

TEST(Latch, ReadsNoReplyThatTheScriptDoesNotGive) {
  for (const std::uint64_t code : {0, 1, 6, 9, 255}) {
    EXPECT_FALSE(read_acquire(Packer().u8(code).number(1000).take())) << code;
  }
  EXPECT_FALSE(read_acquire(Packer().u8(7).number(1000).take()));
  EXPECT_FALSE(read_acquire(Packer().u8(7).number(1000).number(-1).take()));
  EXPECT_FALSE(read_acquire(Packer().u8(7).number(1000).number(0).take()));
  EXPECT_FALSE(read_acquire(Packer().u8(3).number(1000).number(50).number(0).number(4).take()));
  EXPECT_FALSE(read_acquire(Packer().u8(3).number(1000).number(0).number(7).number(-1).take()));
  EXPECT_FALSE(read_acquire(""));
}

TEST(Latch, ThatStandsForEverIsNotLookedAtAtOnce) {
  EXPECT_EQ(
      read_acquire(
          Packer().u8(2).number(1000).number(3).number(0).number(900).number(77).number(4).take())
          ->look_in,
      kNever);
}

TEST(Latch, LeavesWithItsClaim) {
  const Resource resource = latch().resource("a");
  const Command leave = latch().leave(resource, {5, 99, true});
  EXPECT_EQ(leave.script, &scripts::kLatchLeave);
  EXPECT_EQ(leave.args, std::vector<std::string>{Packer().bytes(kClient).number(5).take()});
  const auto read = [](const std::string& text) {
    bool fine = false;
    with_reply(bulk(text), [&](Reply reply) { fine = latch().read_leave(reply).has_value(); });
    return fine;
  };
  EXPECT_TRUE(read(Packer().u8(2).number(1000).take()));
  EXPECT_FALSE(read(Packer().u8(1).number(1000).take()));
  EXPECT_FALSE(read(Packer().u8(2).take()));
}

TEST(Latch, IsGrantedNothingByAMessage) {
  const auto read = [](std::uint64_t of) {
    Packer packed;
    packed.u8(1).u8(of).number(5).number(1000).number(77).number(85).number(100'000).u8(1);
    return native().read_message(signed_by_script(packed));
  };
  EXPECT_TRUE(read(1));
  EXPECT_FALSE(read(3));
}

std::string passed(std::uint64_t of, std::uint64_t how, std::int64_t generation) {
  Packer packed;
  packed.u8(6).u8(of).number(5).number(1000).number(generation).u8(how);
  return signed_by_script(packed);
}

TEST(Latch, ReadsThatAGenerationHasEnded) {
  const std::string payload = passed(3, 1, 77);
  const std::optional<Message> message = native().read_message(payload);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, MessageKind::kPassed);
  EXPECT_EQ(message->of, Kind::kLatch);
  EXPECT_EQ(message->epoch, 5);
  EXPECT_EQ(message->server_time.since_1970, 1000);
  EXPECT_EQ(message->generation, 77);
  EXPECT_TRUE(message->opened);
  EXPECT_EQ(message->name, "a");
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(native().read_message(payload.substr(0, size))) << size;
  }
  const auto read = [](std::uint64_t of, std::uint64_t how, std::int64_t generation = 77) {
    return native().read_message(passed(of, how, generation));
  };
  EXPECT_FALSE(read(3, 2)->opened);
  EXPECT_FALSE(read(3, 0));
  EXPECT_FALSE(read(3, 3));
  EXPECT_FALSE(read(1, 1));
  EXPECT_FALSE(read(3, 1, 0));
  EXPECT_TRUE(read(3, 2, 0));
}

TEST(Latch, PassesNobodyByAMessageOfAnyByteAnother) {
  const std::string payload = passed(3, 1, 77);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::string forged = payload;
    forged[i] = static_cast<char>(forged[i] ^ 1);
    const std::optional<Message> message = native().read_message(forged);
    EXPECT_FALSE(message && message->kind == MessageKind::kPassed) << i;
  }
}

TEST(LatchSet, TellsWhatCameOfIt) {
  const LatchPrimitive primitive = latch();
  const std::unique_ptr<Query> query = latch_set_query(primitive, "a", {1}, 3, 0);
  EXPECT_EQ(query->effect(), Query::Effect::kIdempotent);
  EXPECT_EQ(outcome(*query, 1, 77, 3), "OK 77 3");
  EXPECT_EQ(outcome(*query, 2, 77, 2), "IN_USE 77 2");
  EXPECT_EQ(outcome(*query, 3, 0, 0), "again");
  EXPECT_EQ(outcome(*query, 8, 0, 0), "NOT_FOUND 0 0");
  EXPECT_EQ(outcome(*query, 1, 0, 3), "unsound");
  EXPECT_EQ(outcome(*query, 4, 77, 3), "unsound");
  EXPECT_EQ(outcome(*query, 5, 77, 3), "unsound");
  EXPECT_EQ(outcome(*query, 1, 77, -3), "unsound");
}

TEST(LatchCountDown, TellsWhatCameOfIt) {
  const LatchPrimitive primitive = latch();
  const std::unique_ptr<Query> query = latch_count_down_query(primitive, "a", {1}, 3);
  EXPECT_EQ(query->effect(), Query::Effect::kIdempotent);
  EXPECT_EQ(outcome(*query, 1, 77, 3), "OK 77 3");
  EXPECT_EQ(outcome(*query, 2, 0, 0), "NOT_FOUND 0 0");
  EXPECT_EQ(outcome(*query, 3, 77, 0), "again");
  EXPECT_EQ(outcome(*query, 4, 77, 0), "unsound");
}

TEST(LatchCount, TellsWhatItFinds) {
  const LatchPrimitive primitive = latch();
  const std::unique_ptr<Query> query = latch_count_query(primitive, "a");
  EXPECT_EQ(query->effect(), Query::Effect::kNone);
  const auto read = [&](const std::string& text) {
    Event event;
    Query::Progress progress = Query::Progress::kAgain;
    with_reply(bulk(text), [&](Reply reply) { progress = query->read(reply, &event); });
    return progress == Query::Progress::kDone ? event.status.code * 100 + event.count : -1;
  };
  EXPECT_EQ(read(Packer().u8(3).number(1000).number(0).number(77).number(4).take()), 4);
  EXPECT_EQ(read(Packer().u8(7).number(1000).number(77).take()), 0);
  EXPECT_EQ(read(Packer().u8(8).number(1000).take()), BELAY_NOT_FOUND * 100);
  EXPECT_EQ(read(Packer().u8(4).number(1000).take()), -1);
}

}  // namespace
}  // namespace belay
