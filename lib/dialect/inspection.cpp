// What inspect and break say of a name: its record, who holds it, who waits for it.
#include <algorithm>
#include <charconv>

#include "base/config.h"
#include "base/contract.h"
#include "base/log.h"
#include "base/packing.h"
#include "dialect/native.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

constexpr std::size_t kClientSize = contract::kClientSize;
constexpr std::size_t kClaimSize = contract::kClaimSize;
constexpr int kInspected = 1000;  // waiters, and as many members

// Other clients wrote it: people get text.
void read_info(std::string_view info, Member* member) {
  const std::size_t first = info.find(' ');
  const std::size_t second = info.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return;
  }
  std::from_chars(info.data(), info.data() + first, member->pid);  // 0 where it is no number
  member->host = one_line(std::string(info.substr(first + 1, second - first - 1)));
  member->label = one_line(std::string(info.substr(second + 1)));
}

// The holder that a record names; none where it has lapsed or cannot be read.
std::optional<Member> read_holder(std::string_view record, ServerTime server_time) {
  Unpacker fields(record);
  Member member;
  member.role = BELAY_ROLE_HOLDER;
  fields.bytes(3);  // version, type, somebody waits
  member.client = one_line(std::string(fields.bytes(kClientSize)));
  const std::int64_t epoch = fields.number();
  member.fence = fields.number();
  const ServerTime since = fields.time();
  fields.number();  // end of the fence range
  const ServerTime expires = fields.time();
  member.holds = fields.u16();
  member.local_waiters = fields.u16();
  fields.bytes(kClaimSize);                                         // who handed it on
  fields.number();                                                  // lock-delay
  if (!fields.complete() || epoch == 0 || expires < server_time) {  // no epoch: several hold it
    return std::nullopt;
  }
  member.since_ms = to_ms(server_time - since);
  member.lease_ms = to_ms(expires - server_time);
  read_info(fields.rest(), &member);
  return member;
}

// A whole number that a script can have meant; none otherwise.
std::optional<std::int64_t> count_of(Reply reply) {
  const std::int64_t count = reply.integer();
  return count >= 0 && count <= kMaxId ? std::optional(count) : std::nullopt;
}

Member read_waiter(Reply entry, ServerTime server_time) {
  Member member;
  member.role = BELAY_ROLE_WAITER;
  Unpacker fields(entry.text());
  member.client = one_line(std::string(fields.bytes(kClientSize)));
  fields.bytes(24);                                             // epoch, grant lease, lock-delay
  member.permits = std::max<std::int64_t>(0, fields.number());  // below 0: of a latch
  fields.number();                                              // limit
  const ServerTime since = fields.time();
  const std::string_view group = fields.bytes(fields.u16());
  member.shared = group == kReaders;
  if (fields.complete()) {
    member.since_ms = to_ms(server_time - since);
    read_info(fields.rest(), &member);
  }
  return member;
}

// Whether a record says that readers hold it.
bool is_read(std::string_view record) {
  Unpacker fields(record);
  fields.bytes(3);  // version, type, somebody waits
  const bool joint = fields.bytes(kClaimSize) == std::string(kClaimSize, '\0');
  fields.bytes(contract::kHeaderSize - contract::kFenceOffset + contract::kJointSize);
  return fields.complete() && joint && fields.rest() == kReaders;
}

// `end`: of its lease, with its lock-delay. Who is lost has the seat since never.
Member read_member(Reply end, Reply seat, ServerTime server_time) {
  Member member;
  member.role = BELAY_ROLE_HOLDER;
  Unpacker fields(seat.text());
  member.client = one_line(std::string(fields.bytes(kClientSize)));
  fields.number();  // epoch
  member.fence = fields.number();
  const ServerTime since = fields.time();
  const Micros delay = fields.number();
  member.permits = fields.number();
  member.holds = fields.u16();
  member.local_waiters = fields.u16();
  Micros until = 0;
  std::from_chars(end.text().data(), end.text().data() + end.text().size(), until);
  const Micros left = ServerTime{std::clamp<Micros>(until, 0, kMaxId)} - server_time - delay;
  member.since_ms = since.any() ? to_ms(server_time - since) : 0;
  member.lease_ms = since.any() ? to_ms(std::max<Micros>(0, left)) : 0;
  if (fields.complete()) {
    read_info(fields.rest(), &member);
  }
  return member;
}

bool is_latch(std::string_view record) {
  return record.size() > 1 && record[1] == static_cast<char>(Kind::kLatch);
}

bool read_latch(std::string_view record, Inspection* inspection) {
  Unpacker fields(record);
  fields.bytes(3);  // version, kind, 0
  inspection->count = fields.number();
  fields.bytes(24);  // of its requests
  inspection->generation = fields.number();
  return fields.complete() && inspection->count >= 0 && inspection->generation >= 0;
}

// What a name is in use for, by its record.
void read_use(std::string_view record, Inspection* inspection) {
  if (is_latch(record)) {
    inspection->primitive = BELAY_LATCH;
    return;
  }
  Unpacker fields(record);
  fields.bytes(1);  // version
  const std::uint8_t kind = fields.u8();
  fields.bytes(1);  // somebody waits
  const bool joint = fields.bytes(kClaimSize) == std::string(kClaimSize, '\0');
  fields.bytes(24);  // fence, since, end of the fence range
  const ServerTime expires = fields.time();
  fields.bytes(4 + kClaimSize);  // holds, local waiters, who handed it on
  const Micros delay = fields.number();
  if (kind == BELAY_SEMAPHORE) {
    inspection->used = fields.number();
    inspection->limit = std::clamp<std::int64_t>(fields.number(), 0, kMaxId);
  }
  // Nobody gets a lock before its lock-delay has passed either.
  const bool kept = kind == BELAY_SEMAPHORE || inspection->total > 0 ||
                    (!joint && expires + delay >= inspection->server_time);
  if (fields.complete() && kept && (kind == BELAY_LOCK || kind == BELAY_SEMAPHORE)) {
    inspection->primitive = kind;
  }
}

// What a name without a record is in use for: as its first waiter says.
std::int32_t awaited(Reply entry) {
  Unpacker fields(entry.text());
  fields.bytes(46);  // claim, grant lease, lock-delay
  const std::int64_t permits = fields.number();
  const std::int64_t limit = fields.number();
  return permits < 0 ? BELAY_LATCH : limit > 0 ? BELAY_SEMAPHORE : BELAY_LOCK;
}

// How many permits are in use: the record counts also those that have ended and that nobody has
// swept yet.
std::int64_t used_of(const Inspection& inspection, std::int64_t holders) {
  if (inspection.limit < 1 || static_cast<std::int64_t>(inspection.members.size()) < holders) {
    return inspection.used;
  }
  std::int64_t used = 0;
  for (const Member& member : inspection.members) {
    used += std::clamp<std::int64_t>(member.permits, 1, inspection.limit);
  }
  return std::min(inspection.used, used);
}

// What replies of inspect and break begin with: server time, a record.
std::optional<Inspection> read_inspection(Reply reply) {
  if (reply.size() < 3 || !count_of(reply.at(2))) {
    return std::nullopt;
  }
  Inspection inspection;
  Unpacker time(reply.at(0).text());
  inspection.server_time = time.time();
  if (is_latch(reply.at(1).text())) {
    return read_latch(reply.at(1).text(), &inspection) && time.complete()
               ? std::optional(std::move(inspection))
               : std::nullopt;
  }
  if (auto holder = read_holder(reply.at(1).text(), inspection.server_time)) {
    inspection.members.push_back(std::move(*holder));
    inspection.total = 1;
  }
  return time.complete() ? std::optional(std::move(inspection)) : std::nullopt;
}

}  // namespace

Command NativeDialect::inspect(const Resource& resource) const {
  return {0, &scripts::kInspect, views(resource.keys), {std::to_string(kInspected)}};
}

Command NativeDialect::break_name(const Resource& resource, std::int64_t fence,
                                  std::int64_t highest_fence, ServerTime not_after) const {
  Packer packed;
  packed.number(fence).number(highest_fence).time(not_after);
  return {0,
          &scripts::kBreak,
          views(resource.keys),
          {packed.take(), me.inbox().prefix_in(resource.slot), me.info}};
}

std::optional<Inspection> NativeDialect::read_inspect(Reply reply) const {
  std::optional<Inspection> inspection = read_inspection(reply);
  if (!inspection || reply.size() < 5 || !count_of(reply.at(3)) || !count_of(reply.at(4))) {
    return std::nullopt;
  }
  const auto waiting = static_cast<std::size_t>(*count_of(reply.at(4)));
  const std::size_t members_at = 5 + 2 * std::min(waiting, reply.size());
  inspection->total += *count_of(reply.at(2)) + *count_of(reply.at(3));
  for (std::size_t i = members_at; i + 1 < reply.size(); i += 2) {
    inspection->members.push_back(
        read_member(reply.at(i), reply.at(i + 1), inspection->server_time));
    inspection->members.back().shared = is_read(reply.at(1).text());
  }
  read_use(reply.at(1).text(), &*inspection);
  inspection->used = used_of(*inspection, *count_of(reply.at(3)));
  if (inspection->primitive == 0 && waiting > 0 && reply.size() > 6) {
    inspection->primitive = awaited(reply.at(6));
  }
  for (std::size_t i = 6; i < reply.size() && i < members_at; i += 2) {
    inspection->members.push_back(read_waiter(reply.at(i), inspection->server_time));
  }
  return inspection;
}

std::optional<Inspection> NativeDialect::read_force(Reply reply) const {
  std::optional<Inspection> inspection = read_inspection(reply);
  if (!inspection) {
    return std::nullopt;
  }
  inspection->again = reply.at(2).integer() != 0;
  inspection->serve_only = reply.at(2).integer() == 1;
  for (std::size_t i = 3; i + 1 < reply.size(); i += 2) {
    inspection->members.push_back(
        read_member(reply.at(i), reply.at(i + 1), inspection->server_time));
    inspection->members.back().shared = is_read(reply.at(1).text());
    ++inspection->total;
  }
  return inspection;
}

}  // namespace belay
