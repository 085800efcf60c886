#include "dialect/lock.h"

#include <algorithm>

#include "base/config.h"
#include "base/contract.h"
#include "base/packing.h"
#include "dialect/keys.h"
#include "dialect/mac.h"
#include "route/slot.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

constexpr char kQueue = 'w';
constexpr char kMembers = 'm';

std::string packed_acquire(const Identity& me, Kind kind, const std::string& inbox,
                           const AcquireArgs& args) {
  Packer packed;
  packed.reserve(contract::kRequestSize + args.want.group.size() + inbox.size() + me.info.size());
  packed.u8(contract::kVersion).u8(static_cast<std::uint8_t>(kind)).u8(0);
  packed.bytes(me.client)
      .number(args.epoch)
      .number(args.lease)
      .time(args.not_after)
      .number(args.grant_lease);
  packed.number(args.ticket)
      .number(args.highest_fence)
      .u8(args.queue ? 1 : 0)
      .u16(args.local_waiters);
  packed.number(args.want.lock_delay)
      .number(args.want.permits)
      .number(args.want.limit)
      .u16(args.want.group.size())
      .u16(inbox.size())
      .bytes(secret_of(me, args.epoch));
  packed.bytes(args.want.group).bytes(inbox).bytes(me.info);
  return packed.take();
}

}  // namespace

bool is_fence_range(std::int64_t fence, std::int64_t last) {
  return fence >= 1 && fence <= last && last <= kMaxFence;
}

std::string packed_leave(const Identity& me, const LeaveArgs& args) {
  Packer packed;
  const std::uint64_t flags = (args.lost ? 1U : 0U) | (args.parting ? 2U : 0U);
  packed.bytes(me.client)
      .number(args.epoch)
      .number(args.highest_fence)
      .u8(flags)
      .number(args.given);
  return packed.take();
}

std::string packed_seat(const Identity& me, std::int64_t epoch, std::int64_t fence,
                        const Seat& seat) {
  Packer packed;
  packed.bytes(me.client).number(epoch).number(fence).time(seat.since).number(seat.lock_delay);
  packed.number(seat.permits).u16(seat.holds).u16(seat.local_waiters);
  return packed.take();
}

std::optional<LeaveAnswer> read_left(Unpacker& fields) {
  LeaveAnswer answer;
  const std::uint8_t code = fields.u8();
  answer.code = static_cast<LeaveCode>(code);
  answer.server_time = fields.time();
  answer.handed = fields.number();
  if (!fields.complete() || answer.handed > kMaxHanded || code < 1 || code > 5 || code == 4) {
    return std::nullopt;
  }
  return answer;
}

std::vector<std::string_view> views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

std::vector<std::string_view> views(const Resource& resource,
                                    std::initializer_list<std::size_t> which) {
  std::vector<std::string_view> some;
  some.reserve(which.size() + 1);
  for (const std::size_t key : which) {
    some.emplace_back(resource.keys[key]);
  }
  some.insert(some.end(), resource.keys.begin() + kKeysOfName, resource.keys.end());
  return some;
}

void add_views(const Resource& resource, std::vector<std::string_view>* keys) {
  keys->resize(keys->size() / kKeysOfName * kKeysOfName);
  keys->insert(keys->end(), resource.keys.begin(), resource.keys.end());
}

Resource resource_of(const Identity& me, std::string_view name) {
  Resource resource;
  resource.name = name;
  std::vector<std::string>& keys = resource.keys;
  keys.reserve(kKeysOfName + (me.in_cluster ? 1 : 0));
  keys.push_back(key_of(me.prefix, kRecord, name));
  resource.slot = slot_of(keys.front());
  keys.push_back(fence_key_of(me.prefix, resource.slot));
  for (const char kind : {kQueue, kMembers}) {  // which differ in the letter alone
    keys.push_back(keys.front());
    keys.back()[me.prefix.size()] = kind;
  }
  if (me.in_cluster) {
    keys.push_back(absent_key_of(me.prefix, resource.slot));
  }
  return resource;
}

Status LockOrSemaphore::busy(std::string_view name) const {
  const std::string quoted = "'" + std::string(name) + "'";
  return {BELAY_BUSY, kind_ == Kind::kSemaphore
                          ? "too few permits of " + quoted + " are free, or others wait"
                          : quoted +
                                " is held by another owner, others wait for it, or its "
                                "lock-delay has not passed"};
}

Status LockOrSemaphore::missing(std::string_view name) const {
  return {BELAY_NOT_FOUND, "the limit of '" + std::string(name) + "' is not set"};
}

Command LockOrSemaphore::acquire(const Resource& resource, const AcquireArgs& args) const {
  return {0,
          &scripts::kAcquire,
          views(resource.keys),
          {packed_acquire(me_, kind_, me_.inbox().prefix_in(resource.slot), args)}};
}

Command LockOrSemaphore::leave(const Resource& resource, const LeaveArgs& args) const {
  if (args.uncontended && args.joint) {
    return {0,
            &scripts::kReleaseMembers,
            {resource.keys[kRecordKey], resource.keys[kMembersKey]},
            {packed_seat(me_, args.epoch, args.fence, args.seat), me_.info}};
  }
  if (args.uncontended) {
    return {0,
            &scripts::kRelease,
            {resource.keys[kRecordKey]},
            {Packer().bytes(me_.client).number(args.epoch).take()}};
  }
  return {0,
          &scripts::kLeave,
          views(resource.keys),
          {std::string(1, static_cast<char>(kind_)) + packed_leave(me_, args),
           me_.inbox().prefix_in(resource.slot)}};
}

Command LockOrSemaphore::limit(const Resource& resource, std::int64_t limit,
                               std::int64_t highest_fence, ServerTime not_after) const {
  Packer packed;
  packed.number(limit).number(highest_fence).time(not_after);
  return {0,
          &scripts::kLimit,
          views(resource.keys),
          {packed.take(), me_.inbox().prefix_in(resource.slot)}};
}

std::optional<AcquireAnswer> LockOrSemaphore::read_acquire(Reply reply) const {
  Unpacker fields(reply.text());
  AcquireAnswer answer;
  bool sound = true;
  const std::uint8_t code = fields.u8();
  answer.code = static_cast<AcquireCode>(code);
  answer.server_time = fields.time();
  if (answer.code == AcquireCode::kGranted) {
    answer.fence = fields.number();
    answer.last_fence = fields.number();
    answer.others_wait = fields.u8() != 0;
    answer.permits = fields.number();
    sound = is_fence_range(answer.fence, answer.last_fence);
  } else if (answer.code == AcquireCode::kQueued) {
    answer.position = fields.number();
    answer.remaining = fields.number();
    answer.look_in = answer.position == 0 ? answer.remaining : kNever;
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

std::optional<LeaveAnswer> LockOrSemaphore::read_leave(Reply reply) const {
  Unpacker fields(reply.text());
  return read_left(fields);
}

}  // namespace belay
