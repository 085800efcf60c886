// What the tests of the latch's verbs share: calls with packed arguments, and their replies
// unpacked. One thread; GoogleTest makes one per test.
#include "script/latch_fixture.h"

#include <map>

#include "base/contract.h"
#include "base/packing.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

// A reply of set or count down.
LatchReply unpack_answer(const Reply& reply, const std::map<int, std::string>& codes) {
  LatchReply result;
  if (reply.is_error()) {
    result.code = reply.error_code();
    return result;
  }
  Unpacker in(reply.text);
  const auto code = codes.find(in.u8());
  result.code = code == codes.end() ? "unknown code" : code->second;
  result.ts = in.number();
  if (result.code != "late") {
    result.generation = in.number();
    result.count = in.number();
  }
  EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
  return result;
}

}  // namespace

std::string SetCall::packed() const {
  return Packer()
      .bytes(claim(client, number))
      .number(count)
      .number(life)
      .number(highest)
      .number(remember)
      .number(not_after)
      .take();
}

std::string AwaitCall::packed() const {
  return Packer()
      .bytes(claim(client, epoch))
      .number(generation)
      .number(not_after)
      .number(ticket)
      .u8(queue ? 1 : 0)
      .bytes(secret)
      .take();
}

std::string DownCall::packed() const {
  return Packer()
      .bytes(claim(client, number))
      .number(by)
      .number(remember)
      .number(not_after)
      .number(since)
      .take();
}

LatchReply LatchTest::set_with(const SetCall& call) {
  return unpack_answer(run(scripts::kLatchSet, keys_.set, {call.packed(), kInbox, "info"}),
                       {{1, "set"}, {2, "in use"}, {3, "more"}, {4, "late"}, {8, "missing"}});
}

LatchReply LatchTest::set(std::int64_t count) {
  return set_with({.client = "S", .number = ++last_number_, .count = count});
}

LatchReply LatchTest::count_down_with(const DownCall& call) {
  return unpack_answer(run(scripts::kLatchDown, keys_.other, {call.packed(), kInbox}),
                       {{1, "counted"}, {2, "missing"}, {3, "more"}, {4, "late"}});
}

LatchReply LatchTest::await_with(const AwaitCall& call) {
  const Reply reply = run(scripts::kLatchAwait, keys_.other, {call.packed(), "info"});
  LatchReply result;
  if (reply.is_error()) {
    result.code = reply.error_code();
    return result;
  }
  constexpr const char* kCodes[] = {"?",     "?", "queued", "busy",   "late",
                                    "stale", "?", "passed", "missing"};
  Unpacker in(reply.text);
  const unsigned code = in.u8();
  result.code = code < 9 ? kCodes[code] : "?";
  result.ts = in.number();
  if (result.code == "queued") {
    result.position = in.number();
    result.remaining = in.number();
    result.ticket = in.number();
    result.generation = in.number();
    result.count = in.number();
  } else if (result.code == "busy") {
    result.remaining = in.number();
    result.generation = in.number();
    result.count = in.number();
  } else if (result.code == "passed") {
    result.generation = in.number();
  }
  EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
  return result;
}

LatchReply LatchTest::await(const std::string& client, std::int64_t epoch) {
  return await_with({.client = client, .epoch = epoch});
}

LatchReply LatchTest::look() {
  return await_with({.client = "L", .epoch = 0, .queue = false});
}

void LatchTest::lapse_latch() {
  command({"SETRANGE", record_key(), std::to_string(contract::kLatchEndOffset),
           Packer().number(now() - 1).take()});
}

std::int64_t LatchTest::remembered() {
  const std::string record = command({"GET", record_key()}).text;
  Unpacker header(record);
  header.bytes(contract::kLatchSize - 2);
  const std::int64_t before = contract::kLatchSize + header.u16();
  return (static_cast<std::int64_t>(record.size()) - before) / contract::kLatchRequestSize;
}

}  // namespace belay::test
