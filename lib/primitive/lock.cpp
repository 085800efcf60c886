#include "primitive/lock.h"

#include <algorithm>
#include <charconv>

#include "base/config.h"
#include "base/packing.h"
#include "primitive/keys.h"
#include "primitive/mac.h"
#include "route/slot.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

constexpr std::size_t kClientSize = 22;
constexpr std::size_t kClaimSize = 30;
constexpr char kRecord = 'r';
constexpr char kQueue = 'q';
constexpr char kWaiters = 'w';
constexpr char kEnds = 'e';
// How the generation of a latch ended.
constexpr std::uint8_t kOpened = 1;
constexpr std::uint8_t kGone = 2;
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
std::optional<Member> read_holder(std::string_view record, Micros server_time) {
  Unpacker fields(record);
  Member member;
  member.role = BELAY_ROLE_HOLDER;
  fields.bytes(3);  // version, type, somebody waits
  member.client = one_line(std::string(fields.bytes(kClientSize)));
  const std::int64_t epoch = fields.number();
  member.fence = fields.number();
  const Micros since = fields.number();
  fields.number();  // end of the fence range
  const Micros expires = fields.number();
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

// A third of a reply each: who, a number, the entry.
Member read_waiter(Reply who, Reply ticket, Reply entry, Micros server_time) {
  Member member;
  member.role = BELAY_ROLE_WAITER;
  member.client = one_line(std::string(who.text().substr(0, kClientSize)));
  member.since_ms = to_ms(server_time - count_of(ticket).value_or(server_time));
  Unpacker fields(entry.text());
  fields.bytes(24);                                             // epoch, grant lease, lock-delay
  member.permits = std::max<std::int64_t>(0, fields.number());  // below 0: of a latch
  fields.number();                                              // limit
  const std::string_view group = fields.bytes(fields.u16());
  member.shared = group == kReaders;
  if (fields.complete()) {
    read_info(fields.rest(), &member);
  }
  return member;
}

// Whether a record says that readers hold it.
bool is_read(std::string_view record) {
  Unpacker fields(record);
  fields.bytes(3);  // version, type, somebody waits
  const bool joint = fields.bytes(kClaimSize) == std::string(kClaimSize, '\0');
  fields.bytes(90);  // fence and on, how many members, limit
  return fields.complete() && joint && fields.rest() == kReaders;
}

Member read_member(Reply who, Reply entry, Micros server_time) {
  Member member;
  member.role = BELAY_ROLE_HOLDER;
  member.client = one_line(std::string(who.text().substr(0, kClientSize)));
  Unpacker fields(entry.text());
  fields.number();  // epoch
  member.fence = fields.number();
  member.since_ms = to_ms(server_time - fields.number());
  member.lease_ms = to_ms(std::max<Micros>(0, fields.number() - server_time));
  fields.number();  // lock-delay
  member.permits = fields.number();
  member.holds = fields.u16();
  member.local_waiters = fields.u16();
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
  const Micros expires = fields.number();
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
  fields.bytes(24);  // epoch, grant lease, lock-delay
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
  inspection.server_time = time.number();
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

std::string packed_acquire(const Identity& me, Kind kind, const AcquireArgs& args) {
  Packer packed;
  packed.bytes(me.client)
      .number(args.epoch)
      .number(args.lease)
      .number(args.not_after)
      .number(args.grant_lease);
  packed.number(args.ticket)
      .number(args.highest_fence)
      .u8(args.queue ? 1 : 0)
      .u16(args.local_waiters);
  packed.u8(static_cast<std::uint8_t>(kind))
      .number(args.want.lock_delay)
      .number(args.want.permits)
      .number(args.want.limit)
      .bytes(secret_of(me, args.epoch));
  return packed.take();
}

}  // namespace

// Takes the MAC out of a message of which `fields` is the rest. False: it is another's.
bool take_mac(const Identity& me, std::int64_t epoch, std::string_view message, Unpacker* fields) {
  const std::size_t before = message.size() - fields->rest().size();
  const std::string_view mac = fields->bytes(kMacSize);
  std::string covered(message.substr(0, before));
  return fields->complete() && mac == mac_of(me, epoch, covered.append(fields->rest()));
}

bool is_fence_range(std::int64_t fence, std::int64_t last) {
  return fence >= 1 && fence <= last && last <= kMaxFence;
}

std::string packed_leave(const Identity& me, const LeaveArgs& args) {
  Packer packed;
  const std::uint64_t flags = (args.lost ? 1U : 0U) | (args.parting ? 2U : 0U);
  packed.bytes(me.client).number(args.epoch).number(args.highest_fence).u8(flags);
  return packed.take();
}

std::optional<LeaveAnswer> read_left(Unpacker& fields) {
  LeaveAnswer answer;
  const std::uint8_t code = fields.u8();
  answer.code = static_cast<LeaveCode>(code);
  answer.server_time = fields.number();
  answer.handed = fields.number();
  if (!fields.complete() || answer.handed > kMaxHanded || code < 1 || code > 5 || code == 4) {
    return std::nullopt;
  }
  return answer;
}

std::vector<std::string_view> views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

Resource resource_of(std::string_view prefix, std::string_view name) {
  Resource resource;
  resource.name = name;
  std::vector<std::string>& keys = resource.keys;
  keys.reserve(5);
  keys.push_back(key_of(prefix, kRecord, name));
  resource.slot = slot_of(keys.front());
  keys.push_back(fence_key_of(prefix, resource.slot));
  for (const char kind : {kQueue, kWaiters, kEnds}) {  // which differ in the letter alone
    keys.push_back(keys.front());
    keys.back()[prefix.size()] = kind;
  }
  return resource;
}

Command HeldPrimitive::acquire(const Resource& resource, const AcquireArgs& args) const {
  return {0,
          &scripts::kAcquire,
          views(resource.keys),
          {packed_acquire(me_, kind_, args), me_.inbox_prefix(), me_.info, args.want.group}};
}

Command HeldPrimitive::leave(const Resource& resource, const LeaveArgs& args) const {
  if (args.plain && kind_ == Kind::kLock) {
    return {0,
            &scripts::kRelease,
            {resource.keys[kRecordKey]},
            {Packer().bytes(me_.client).number(args.epoch).take()}};
  }
  return {0,
          &scripts::kLeave,
          views(resource.keys),
          {std::string(1, static_cast<char>(kind_)) + packed_leave(me_, args), me_.inbox_prefix()}};
}

Command HeldPrimitive::renew(std::int64_t highest_fence, Micros not_after) const {
  return {0,
          &scripts::kRenew,
          {},
          {me_.inbox_prefix(), Packer().number(highest_fence).number(not_after).take()}};
}

void HeldPrimitive::add_renewal(const Resource& resource, const RenewArgs& args,
                                Command* command) const {
  Packer packed;
  packed.bytes(me_.client).number(args.epoch).number(args.lease).number(args.fence);
  packed.u16(static_cast<std::uint64_t>(args.reserve)).u16(args.holds).u16(args.local_waiters);
  packed.u8(static_cast<std::uint8_t>(args.kind));
  if (!args.group.empty()) {
    packed.number(args.fence_of_group).bytes(args.group);
  }
  command->keys.insert(command->keys.end(), resource.keys.begin(), resource.keys.end());
  command->args.push_back(packed.take());
}

Command HeldPrimitive::inspect(const Resource& resource) const {
  return {0, &scripts::kInspect, views(resource.keys), {std::to_string(kInspected)}};
}

Command HeldPrimitive::force(const Resource& resource, std::int64_t fence,
                             std::int64_t highest_fence, Micros not_after) const {
  Packer packed;
  packed.number(fence).number(highest_fence).number(not_after);
  return {0, &scripts::kBreak, views(resource.keys), {packed.take(), me_.inbox_prefix(), me_.info}};
}

Command HeldPrimitive::limit(const Resource& resource, std::int64_t limit,
                             std::int64_t highest_fence, Micros not_after) const {
  Packer packed;
  packed.number(limit).number(highest_fence).number(not_after);
  return {0, &scripts::kLimit, views(resource.keys), {packed.take(), me_.inbox_prefix()}};
}

std::optional<AcquireAnswer> HeldPrimitive::read_acquire(Reply reply) const {
  Unpacker fields(reply.text());
  AcquireAnswer answer;
  bool sound = true;
  const std::uint8_t code = fields.u8();
  answer.code = static_cast<AcquireCode>(code);
  answer.server_time = fields.number();
  if (answer.code == AcquireCode::kGranted) {
    answer.fence = fields.number();
    answer.last_fence = fields.number();
    answer.others_wait = fields.u8() != 0;
    answer.permits = fields.number();
    sound = is_fence_range(answer.fence, answer.last_fence);
  } else if (answer.code == AcquireCode::kQueued) {
    answer.position = fields.number();
    answer.remaining = fields.number();
    answer.ticket = fields.number();
    answer.highest_fence = fields.number();
    answer.handed = fields.number();
    sound = answer.highest_fence <= kMaxFence && answer.handed <= kMaxHanded;
  } else if (answer.code == AcquireCode::kBusy) {
    answer.remaining = fields.number();
  } else if (answer.code == AcquireCode::kLimit) {
    answer.limit = fields.number();
  }
  const bool known = code >= 1 && code <= 9 && answer.code != AcquireCode::kPassed;
  if (!fields.complete() || !sound || !known) {
    return std::nullopt;
  }
  return answer;
}

std::optional<LeaveAnswer> HeldPrimitive::read_leave(Reply reply) const {
  Unpacker fields(reply.text());
  return read_left(fields);
}

std::optional<RenewAnswers> HeldPrimitive::read_renew(Reply reply) const {
  Unpacker fields(reply.text());
  RenewAnswers answers;
  answers.server_time = fields.number();
  while (fields.complete() && !fields.rest().empty()) {
    RenewAnswer answer;
    const std::uint8_t code = fields.u8();
    answer.code = static_cast<RenewCode>(code);
    answer.last_fence = fields.number();
    answer.others_wait = fields.u8() != 0;
    if (code < 1 || code > 3 || answer.last_fence > kMaxFence) {
      return std::nullopt;
    }
    answers.claims.push_back(answer);
  }
  if (!fields.complete()) {
    return std::nullopt;
  }
  return answers;
}

std::optional<Inspection> HeldPrimitive::read_inspect(Reply reply) const {
  std::optional<Inspection> inspection = read_inspection(reply);
  if (!inspection || reply.size() < 5 || !count_of(reply.at(3)) || !count_of(reply.at(4))) {
    return std::nullopt;
  }
  const auto waiting = static_cast<std::size_t>(*count_of(reply.at(4)));
  const std::size_t members_at = 5 + 3 * std::min(waiting, reply.size());
  inspection->total += *count_of(reply.at(2)) + *count_of(reply.at(3));
  for (std::size_t i = members_at; i + 2 < reply.size(); i += 3) {
    inspection->members.push_back(
        read_member(reply.at(i), reply.at(i + 2), inspection->server_time));
    inspection->members.back().shared = is_read(reply.at(1).text());
  }
  read_use(reply.at(1).text(), &*inspection);
  inspection->used = used_of(*inspection, *count_of(reply.at(3)));
  if (inspection->primitive == 0 && members_at > 7 && reply.size() > 7) {
    inspection->primitive = awaited(reply.at(7));
  }
  for (std::size_t i = 5; i + 2 < reply.size() && i < members_at; i += 3) {
    inspection->members.push_back(
        read_waiter(reply.at(i), reply.at(i + 1), reply.at(i + 2), inspection->server_time));
  }
  return inspection;
}

std::optional<Inspection> HeldPrimitive::read_force(Reply reply) const {
  std::optional<Inspection> inspection = read_inspection(reply);
  if (!inspection) {
    return std::nullopt;
  }
  inspection->again = reply.at(2).integer() != 0;
  inspection->serve_only = reply.at(2).integer() == 1;
  for (std::size_t i = 3; i + 2 < reply.size(); i += 3) {
    inspection->members.push_back(
        read_member(reply.at(i), reply.at(i + 2), inspection->server_time));
    inspection->members.back().shared = is_read(reply.at(1).text());
    ++inspection->total;
  }
  return inspection;
}

std::optional<Micros> HeldPrimitive::read_late(Reply reply) const {
  Unpacker fields(reply.text());
  const bool late = fields.u8() == static_cast<std::uint8_t>(AcquireCode::kLate);
  const Micros server_time = fields.number();
  return late && fields.complete() && fields.rest().empty() ? std::optional(server_time)
                                                            : std::nullopt;
}

std::optional<Message> HeldPrimitive::read_message(std::string_view payload) const {
  Unpacker fields(payload);
  Message message;
  bool sound = true;
  const std::uint8_t kind = fields.u8();
  message.kind = static_cast<MessageKind>(kind);
  const std::uint8_t of = fields.u8();
  message.of = static_cast<Kind>(of);
  message.epoch = fields.number();
  message.server_time = fields.number();
  std::string_view key;
  if (message.kind == MessageKind::kGrant) {
    message.fence = fields.number();
    message.last_fence = fields.number();
    message.grant_lease = fields.number();
    message.others_wait = fields.u8() != 0;
    sound = is_fence_range(message.fence, message.last_fence) && message.grant_lease <= kMaxGrant &&
            message.of != Kind::kLatch && take_mac(me_, message.epoch, payload, &fields);
  } else if (message.kind == MessageKind::kNext) {
    message.look_in = fields.number();
    sound = message.look_in >= 0;
  } else if (message.kind == MessageKind::kPassed) {
    message.generation = fields.number();
    const std::uint8_t how = fields.u8();
    message.opened = how == kOpened;
    // Where the latch is gone, so may be what its generation was.
    sound = message.of == Kind::kLatch && message.generation <= kMaxFence &&
            ((how == kOpened && message.generation > 0) || how == kGone) &&
            take_mac(me_, message.epoch, payload, &fields);
  } else if (message.kind == MessageKind::kBroken) {
    key = fields.bytes(fields.u16());
    message.by = fields.rest();
  }
  if (message.kind != MessageKind::kBroken) {
    key = fields.rest();
  }
  const std::optional<std::string> name = name_of_key(key);
  sound = sound && name && name->size() <= kMaxNameSize;
  if (!fields.complete() || !sound || kind < 1 || kind > 6 || of < 1 || of > 3) {
    return std::nullopt;
  }
  message.name = *name;
  return message;
}

std::string HeldPrimitive::scan_pattern() const {
  std::string pattern;
  for (const char byte : me_.prefix) {
    if (std::string_view("*?[]\\^-").find(byte) != std::string_view::npos) {
      pattern.push_back('\\');
    }
    pattern.push_back(byte);
  }
  pattern.push_back(kRecord);
  return pattern + "[:=]*";
}

std::optional<std::string> HeldPrimitive::name_of_key(std::string_view key) const {
  return name_of(me_.prefix, kRecord, key);
}

}  // namespace belay
