#include "dialect/native.h"

#include <algorithm>

#include "base/config.h"
#include "base/packing.h"
#include "dialect/keys.h"
#include "dialect/mac.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

// Takes the MAC out of a message of which `fields` is the rest. False: it is another's.
bool take_mac(const Identity& me, std::int64_t epoch, std::string_view message, Unpacker* fields) {
  const std::size_t before = message.size() - fields->rest().size();
  const std::string_view mac = fields->bytes(kMacSize);
  std::string covered(message.substr(0, before));
  return fields->complete() && mac == mac_of(me, epoch, covered.append(fields->rest()));
}

Command renew_any(const Identity& me, const std::vector<RenewPart>& parts,
                  std::int64_t highest_fence, ServerTime not_after) {
  Command command{0,
                  &scripts::kRenew,
                  {},
                  {me.inbox().prefix_in(parts.front().resource->slot),
                   Packer().number(highest_fence).time(not_after).take()}};
  for (const auto& [resource, args] : parts) {
    Packer packed;
    packed.bytes(me.client).number(args.epoch).number(args.lease).number(args.fence);
    packed.u16(static_cast<std::uint64_t>(args.reserve)).u16(args.holds).u16(args.local_waiters);
    packed.u8(static_cast<std::uint8_t>(args.kind));
    if (!args.group.empty()) {
      packed.number(args.fence_of_group).bytes(args.group);
    }
    add_views(*resource, &command.keys);
    command.args.push_back(packed.take());
  }
  return command;
}

// Of what is held alone and, as far as is known, waited for by nobody.
Command keep(const Identity& me, const std::vector<RenewPart>& parts, ServerTime not_after) {
  Command command{0, &scripts::kKeep, {}, {}};
  Packer packed;
  packed.time(not_after);
  for (const auto& [resource, args] : parts) {
    packed.bytes(me.client).number(args.epoch).number(args.fence).number(args.lease);
    packed.u16(args.holds).u16(args.local_waiters);
    command.keys.push_back(resource->keys[kRecordKey]);
  }
  command.args.push_back(packed.take());
  return command;
}

Command keep_members(const Identity& me, const std::vector<RenewPart>& parts,
                     ServerTime not_after) {
  Command command{0, &scripts::kKeepMembers, {}, {}};
  std::string packed = Packer().time(not_after).take();
  for (const auto& [resource, args] : parts) {
    packed += packed_seat(me, args.epoch, args.fence, args.seat);
    packed += Packer().number(args.lease).u8(static_cast<std::uint8_t>(args.kind)).take();
    command.keys.push_back(resource->keys[kMembersKey]);
  }
  command.args = {std::move(packed), me.info};
  return command;
}

}  // namespace

const Primitive& NativeDialect::of(Kind kind) const {
  switch (kind) {
    case Kind::kSemaphore:
      return semaphore;
    case Kind::kLatch:
      return latch;
    default:
      return lock;
  }
}

Command NativeDialect::renew_all(const std::vector<RenewPart>& parts, std::int64_t highest_fence,
                                 ServerTime not_after) const {
  const bool joint = parts.front().args.joint;
  const bool by_one_key = std::all_of(parts.begin(), parts.end(), [joint](const RenewPart& part) {
    return part.args.by_one_key && part.args.joint == joint;
  });
  if (by_one_key && joint) {
    return keep_members(me, parts, not_after);
  }
  return by_one_key ? keep(me, parts, not_after) : renew_any(me, parts, highest_fence, not_after);
}

std::optional<RenewAnswers> NativeDialect::read_renew(Reply reply) const {
  Unpacker fields(reply.text());
  RenewAnswers answers;
  answers.server_time = fields.time();
  while (fields.complete() && !fields.rest().empty()) {
    RenewAnswer answer;
    const std::uint8_t code = fields.u8();
    answer.code = static_cast<RenewCode>(code);
    answer.last_fence = fields.number();
    answer.others_wait = fields.u8() != 0;
    const bool known = (code >= 1 && code <= 3) || answer.code == RenewCode::kContended;
    if (!known || answer.last_fence > kMaxFence) {
      return std::nullopt;
    }
    answers.claims.push_back(answer);
  }
  if (!fields.complete()) {
    return std::nullopt;
  }
  return answers;
}

std::optional<ServerTime> NativeDialect::read_late(Reply reply) const {
  Unpacker fields(reply.text());
  const bool late = fields.u8() == static_cast<std::uint8_t>(AcquireCode::kLate);
  const ServerTime server_time = fields.time();
  return late && fields.complete() && fields.rest().empty() ? std::optional(server_time)
                                                            : std::nullopt;
}

std::optional<Message> NativeDialect::read_message(std::string_view payload) const {
  Unpacker fields(payload);
  Message message;
  bool sound = true;
  const std::uint8_t kind = fields.u8();
  message.kind = static_cast<MessageKind>(kind);
  const std::uint8_t of = fields.u8();
  message.of = static_cast<Kind>(of);
  message.epoch = fields.number();
  message.server_time = fields.time();
  std::string_view key;
  if (message.kind == MessageKind::kGrant) {
    message.fence = fields.number();
    message.last_fence = fields.number();
    message.grant_lease = fields.number();
    message.others_wait = fields.u8() != 0;
    sound = is_fence_range(message.fence, message.last_fence) && message.grant_lease <= kMaxGrant &&
            message.of != Kind::kLatch && take_mac(me, message.epoch, payload, &fields);
  } else if (message.kind == MessageKind::kNext) {
    message.look_in = fields.number();
    sound = message.look_in >= 0;
  } else if (message.kind == MessageKind::kPassed) {
    message.generation = fields.number();
    const std::uint8_t how = fields.u8();
    message.opened = how == contract::kOpened;
    // Where the latch is gone, so may be what its generation was.
    sound = message.of == Kind::kLatch && message.generation <= kMaxFence &&
            ((how == contract::kOpened && message.generation > 0) || how == contract::kGone) &&
            take_mac(me, message.epoch, payload, &fields);
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

std::string NativeDialect::scan_pattern() const {
  std::string pattern;
  for (const char byte : me.prefix) {
    if (std::string_view("*?[]\\^-").find(byte) != std::string_view::npos) {
      pattern.push_back('\\');
    }
    pattern.push_back(byte);
  }
  pattern.push_back(kRecord);
  return pattern + "[:=]*";
}

std::optional<std::string> NativeDialect::name_of_key(std::string_view key) const {
  return name_of(me.prefix, kRecord, key);
}

}  // namespace belay
