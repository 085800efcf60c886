// What the tests of the lock's verbs share: calls with packed arguments, and what stands on the
// server and in the inboxes afterwards, unpacked. One thread; GoogleTest makes one per test.
#include "script/lock_fixture.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/contract.h"
#include "base/packing.h"
#include "scripts/scripts.h"

namespace belay::test {
namespace {

constexpr std::string_view kMark = "mark";
constexpr std::size_t kClientSize = 22;
constexpr int kExpiresOffset = 57;

// Every reply but an error repeats the mark of its call.
void take_mark(const Script& script, Reply* reply) {
  if (reply->kind == Reply::Kind::kArray) {
    ASSERT_FALSE(reply->elements.empty()) << script.name;
    EXPECT_EQ(reply->elements.back().text, kMark) << script.name;
    reply->elements.pop_back();
  } else if (!reply->is_error()) {
    ASSERT_TRUE(reply->text.ends_with(kMark)) << script.name;
    reply->text.resize(reply->text.size() - kMark.size());
  }
}

std::string packed(std::int64_t number) {
  return Packer().number(number).take();
}

std::int64_t unpacked(std::string_view bytes) {
  return Unpacker(bytes).number();
}

// The name of `code`, counted from 1, or of the error that came instead.
std::string code_name(const Reply& reply, std::initializer_list<const char*> names) {
  if (reply.kind != Reply::Kind::kString || reply.text.empty()) {
    return reply.kind == Reply::Kind::kError ? reply.error_code() : reply.canonical();
  }
  const auto code = static_cast<unsigned char>(reply.text[0]);
  return code >= 1 && code <= names.size() ? names.begin()[code - 1] : "unknown code";
}

// Who is lost sits there since never.
Member unpack_member(const std::string& end, const std::string& seat) {
  Member member;
  member.ends = std::stoll(end);
  Unpacker in(seat);
  member.client = client_of(std::string(in.bytes(kClientSize)));
  member.epoch = in.number();
  member.fence = in.number();
  member.since = in.number();
  member.delay = in.number();
  member.expires = member.since == 0 ? 0 : member.ends - member.delay;
  member.permits = in.number();
  member.holds = in.u16();
  member.local_waiters = in.u16();
  EXPECT_TRUE(in.complete()) << printable(seat);
  member.info = in.rest();
  return member;
}

}  // namespace

std::vector<std::string> keys_of(const std::string& name) {
  const std::string tag = ":{" + name + "}";
  return {"belay:r" + tag, "belay:f" + tag, "belay:w" + tag, "belay:m" + tag};
}

std::string packed_double(double number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string client_id(const std::string& client) {
  return client + std::string(kClientSize - client.size(), '-');
}

std::string client_of(const std::string& id) {
  return id.substr(0, id.find('-'));
}

std::string claim(const std::string& client, std::int64_t epoch) {
  return Packer().bytes(client_id(client)).number(epoch).take();
}

std::string AcquireCall::packed() const {
  return Packer()
      .u8(contract::kVersion)
      .u8(static_cast<std::uint64_t>(kind))
      .u8(0)
      .bytes(claim(client, epoch))
      .number(lease)
      .number(not_after)
      .number(grant)
      .number(ticket)
      .number(highest)
      .u8(queue ? 1 : 0)
      .u16(static_cast<std::uint64_t>(local_waiters))
      .number(delay)
      .number(permits)
      .number(limit)
      .u16(group.size())
      .u16(kInbox.size())
      .bytes(secret)
      .bytes(group)
      .bytes(kInbox)
      .bytes(info)
      .take();
}

std::string RenewCall::packed() const {
  const std::int64_t shared_under = fence_of_group == 0 ? fence : fence_of_group;
  return Packer()
      .bytes(claim(client, epoch))
      .number(lease)
      .number(fence)
      .u16(static_cast<std::uint64_t>(more))
      .u16(static_cast<std::uint64_t>(holds))
      .u16(static_cast<std::uint64_t>(local_waiters))
      .u8(static_cast<std::uint64_t>(kind))
      .bytes(group.empty() ? "" : Packer().number(shared_under).take() + group)
      .take();
}

bool is_late(const Reply& reply) {
  return reply.text.size() == 9 && reply.text[0] == 4 &&
         Unpacker(std::string_view(reply.text).substr(1)).number() > 0;
}

Record unpack_record(std::string_view bytes) {
  Unpacker in(bytes);
  Record record;
  record.version = in.u8();
  record.type = in.u8();
  record.waits = in.u8();
  const std::string holder(in.bytes(kClientSize));
  record.joint = holder == std::string(kClientSize, '\0');
  record.client = record.joint ? "" : client_of(holder);
  record.epoch = in.number();
  record.fence = in.number();
  record.since = in.number();
  record.last = in.number();
  record.expires = in.number();
  record.holds = in.u16();
  record.local_waiters = in.u16();
  const std::string from(in.bytes(kClientSize));
  record.from = from[0] == '\0' ? "" : client_of(from);
  in.number();
  record.delay = in.number();
  if (record.joint) {
    record.used = in.number();
    record.limit = in.number();
    record.stands = in.number();
    record.group = in.rest();
  } else {
    record.info = in.rest();
  }
  EXPECT_TRUE(in.complete()) << printable(bytes);
  return record;
}

Told unpack_message(const Message& message) {
  constexpr const char* kKinds[] = {"?", "grant", "next", "waits", "broken", "settled", "passed"};
  Unpacker in(message.payload);
  Told told;
  told.client = client_of(message.channel.substr(kInbox.size()));
  const unsigned kind = in.u8();
  told.kind = kind < std::size(kKinds) ? kKinds[kind] : "?";
  told.type = static_cast<int>(in.u8());
  told.epoch = in.number();
  told.ts = in.number();
  if (told.kind == "grant") {
    told.fence = in.number();
    told.last = in.number();
    told.grant = in.number();
    told.waits = in.u8();
    told.mac = in.bytes(40);
  } else if (told.kind == "next") {
    told.wait = in.number();
  } else if (told.kind == "passed") {
    told.generation = in.number();
    told.how = in.u8();
    told.mac = in.bytes(40);
  }
  told.key = told.kind == "broken" ? in.bytes(in.u16()) : in.rest();
  told.info = told.kind == "broken" ? in.rest() : std::string_view();
  EXPECT_TRUE(in.complete()) << printable(message.payload);
  return told;
}

void LockTest::SetUp() {
  backend_ = &Backend::get(GetParam());
  backend_->reset();
}

Reply LockTest::run(const Script& script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& args) {
  std::vector<std::string> argv{"EVALSHA", std::string(script.sha1), std::to_string(keys.size())};
  argv.insert(argv.end(), keys.begin(), keys.end());
  argv.insert(argv.end(), args.begin(), args.end());
  argv.emplace_back(kMark);
  Reply reply = command(argv);
  if (reply.error_code() == "NOSCRIPT") {
    command({"SCRIPT", "LOAD", std::string(script.body)});
    reply = command(argv);
  }
  take_mark(script, &reply);
  EXPECT_EQ(reply.canonical().find(kSecret), std::string::npos) << script.name;
  return reply;
}

Acquired LockTest::acquire_with(const AcquireCall& call) {
  const Reply reply = run(scripts::kAcquire, keys_, {call.packed()});
  Acquired result;
  result.code = code_name(
      reply, {"granted", "queued", "busy", "late", "stale", "more", "unknown", "missing", "limit"});
  if (reply.is_error()) {
    return result;
  }
  Unpacker in(reply.text);
  in.u8();
  result.ts = in.number();
  if (result.code == "granted") {
    result.fence = in.number();
    result.last = in.number();
    result.waits = in.u8();
    result.permits = in.number();
  } else if (result.code == "queued") {
    result.position = in.number();
    result.remaining = in.number();
    result.ticket = in.number();
    result.stored = in.number();
    result.handed = in.number();
  } else if (result.code == "busy") {
    result.remaining = in.number();
  } else if (result.code == "limit") {
    result.limit = in.number();
  }
  EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
  return result;
}

Acquired LockTest::acquire(const std::string& client, std::int64_t epoch) {
  return acquire_with({.client = client, .epoch = epoch});
}

Acquired LockTest::try_acquire(const std::string& client, std::int64_t epoch) {
  return acquire_with({.client = client, .epoch = epoch, .queue = false});
}

std::string LockTest::leave(const std::string& client, std::int64_t epoch, std::int64_t highest) {
  return leave_with({.client = client, .epoch = epoch, .highest = highest});
}

std::string LockTest::leave_with(const LeaveCall& call) {
  const std::string packed = Packer()
                                 .u8(static_cast<std::uint64_t>(call.kind))
                                 .bytes(claim(call.client, call.epoch))
                                 .number(call.highest)
                                 .u8((call.lost ? 1U : 0U) | (call.parting ? 2U : 0U))
                                 .number(call.given)
                                 .take();
  const Reply reply = run(scripts::kLeave, keys_, {packed, kInbox});
  if (!reply.is_error()) {
    EXPECT_EQ(reply.text.size(), 17U) << reply.canonical();
    handed_ = unpacked(reply.text.substr(9));
  }
  return code_name(reply, {"ok", "not ours", "more"});
}

Renewed LockTest::renew(const RenewCall& call) {
  const Reply reply =
      run(scripts::kRenew, keys_,
          {kInbox, Packer().number(0).number(call.not_after).take(), call.packed()});
  if (reply.is_error()) {
    return {.code = reply.error_code()};
  }
  if (is_late(reply)) {
    return {.code = "late"};
  }
  constexpr const char* kCodes[] = {"?", "ok", "not ours", "unreadable"};
  Unpacker in(reply.text);
  in.number();
  Renewed result;
  result.code = kCodes[in.u8() & 3U];
  result.last = in.number();
  result.waits = in.u8();
  EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
  return result;
}

Broken LockTest::break_lock(std::int64_t fence, const std::string& info, std::int64_t not_after) {
  const Reply reply =
      run(scripts::kBreak, keys_,
          {Packer().number(fence).number(0).number(not_after).take(), kInbox, info});
  if (is_late(reply)) {
    return {.code = "late"};
  }
  if (reply.is_error() || reply.elements.size() < 3 || reply.elements.size() % 2 == 0) {
    return {.code = reply.is_error() ? reply.error_code() : reply.canonical()};
  }
  Broken result;
  result.code = "ok";
  if (!reply.elements[1].text.empty()) {
    result.parted = unpack_record(reply.elements[1].text);
  }
  result.more = reply.elements[2].integer == 1;
  result.more_part = reply.elements[2].integer == 2;
  for (std::size_t i = 3; i + 1 < reply.elements.size(); i += 2) {
    result.members.push_back(unpack_member(reply.elements[i].text, reply.elements[i + 1].text));
  }
  return result;
}

Inspected LockTest::inspect(int most) {
  const Reply reply = run(scripts::kInspect, keys_, {std::to_string(most)});
  if (reply.is_error() || reply.elements.size() < 5) {
    return {.code = reply.is_error() ? reply.error_code() : reply.canonical()};
  }
  Inspected result;
  result.code = "ok";
  result.ts = unpacked(reply.elements[0].text);
  if (!reply.elements[1].text.empty()) {
    result.holder = unpack_record(reply.elements[1].text);
  }
  result.count = reply.elements[2].integer;
  result.member_count = reply.elements[3].integer;
  const std::size_t members_at = 5 + 2 * static_cast<std::size_t>(reply.elements[4].integer);
  for (std::size_t i = members_at; i + 1 < reply.elements.size(); i += 2) {
    result.members.push_back(unpack_member(reply.elements[i].text, reply.elements[i + 1].text));
  }
  for (std::size_t i = 5; i < members_at; i += 2) {
    Inspected::Waiter waiter;
    waiter.ticket = static_cast<std::int64_t>(std::stod(reply.elements[i].text));
    Unpacker in(reply.elements[i + 1].text);
    waiter.client = client_of(std::string(in.bytes(kClientSize)));
    waiter.epoch = in.number();
    waiter.grant = in.number();
    waiter.delay = in.number();
    waiter.permits = in.number();
    waiter.limit = in.number();
    waiter.since = in.number();
    waiter.group = in.bytes(in.u16());
    waiter.info = in.rest();
    result.waiters.push_back(waiter);
  }
  return result;
}

Limited LockTest::set_limit(std::int64_t limit, std::int64_t not_after) {
  const Reply reply = run(scripts::kLimit, keys_,
                          {Packer().number(limit).number(0).number(not_after).take(), kInbox});
  Limited result;
  result.code = code_name(reply, {"ok", "", "", "late", "", "more", "", "missing"});
  if (result.code == "ok" || result.code == "more") {
    Unpacker in(std::string_view(reply.text).substr(9));
    result.limit = in.number();
    result.used = in.number();
    EXPECT_TRUE(in.complete() && in.rest().empty()) << reply.canonical();
  }
  return result;
}

void LockTest::listen(const std::vector<std::string>& clients) {
  for (const std::string& client : clients) {
    backend_->listen(kInbox + client_id(client));
  }
}

void LockTest::stop_listening(const std::string& client) {
  backend_->stop_listening(kInbox + client_id(client));
}

std::vector<Told> LockTest::told() const {
  std::vector<Told> all;
  for (const Message& message : backend_->take_messages()) {
    EXPECT_EQ(message.payload.find(kSecret), std::string::npos);
    all.push_back(unpack_message(message));
  }
  return all;
}

std::vector<std::string> LockTest::told_briefly() const {
  std::vector<std::string> all;
  for (const Told& one : told()) {
    all.push_back(one.client + " " + one.kind + " " + std::to_string(one.epoch));
  }
  return all;
}

std::int64_t LockTest::now() {
  const Reply time = command({"TIME"});
  return std::stoll(time.elements[0].text) * kSecond + std::stoll(time.elements[1].text);
}

std::optional<Record> LockTest::record() {
  const Reply reply = command({"GET", record_key()});
  return reply.kind == Reply::Kind::kString ? std::optional(unpack_record(reply.text))
                                            : std::nullopt;
}

std::int64_t LockTest::stored_fence() {
  return unpacked(command({"GET", fence_key()}).text);
}

void LockTest::store_fence(std::int64_t fence) {
  command({"SET", fence_key(), packed(fence)});
}

std::vector<std::string> LockTest::queue() {
  const std::vector<Reply> fields = command({"HGETALL", queue_key()}).elements;
  std::map<std::int64_t, std::string> places;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text.size() == sizeof(double)) {
      places[unpacked(fields[i].text)] = client_of(fields[i + 1].text.substr(0, kClientSize));
    }
  }
  std::vector<std::string> clients;
  for (const auto& [place, client] : places) {
    clients.push_back(client);
  }
  return clients;
}

std::string LockTest::waiter(const std::string& who) {
  const std::string place = command({"HGET", queue_key(), who}).text;
  return command({"HGET", queue_key(), place}).text;
}

void LockTest::write_waiter(const std::string& who, const std::string& entry) {
  command({"HSET", queue_key(), command({"HGET", queue_key(), who}).text, entry});
}

void LockTest::drop_waiter(const std::string& who) {
  command({"HDEL", queue_key(), command({"HGET", queue_key(), who}).text, who});
}

void LockTest::lapse() {
  ASSERT_TRUE(record());
  command({"SETRANGE", record_key(), std::to_string(kExpiresOffset), packed(now() - 1)});
}

std::string LockTest::seat_of(const std::string& who) {
  const Reply seats = command({"ZRANGE", members_key(), "(0", "+inf", "BYSCORE"});
  const auto found = std::find_if(seats.elements.begin(), seats.elements.end(),
                                  [&who](const Reply& seat) { return seat.text.starts_with(who); });
  return found == seats.elements.end() ? "" : found->text;
}

void LockTest::end_member(const std::string& who, std::int64_t at) {
  const std::string seat = seat_of(who);
  ASSERT_FALSE(seat.empty());
  command({"ZADD", members_key(), std::to_string(at), seat, std::to_string(-at), who});
}

void LockTest::lapse_member(const std::string& who) {
  ASSERT_TRUE(member(who));
  end_member(who, now() - 1 + member(who)->delay);
}

std::optional<Member> LockTest::member(const std::string& who) {
  const std::string seat = seat_of(who);
  if (seat.empty()) {
    return std::nullopt;
  }
  return unpack_member(command({"ZSCORE", members_key(), seat}).text, seat);
}

void LockTest::queue_the_dead(int count) {
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(acquire("dead" + std::to_string(i)).code, "queued");
  }
}

}  // namespace belay::test
