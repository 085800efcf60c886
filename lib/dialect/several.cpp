// Several locks by one command: by a short script where that will do.
#include <algorithm>

#include "base/packing.h"
#include "dialect/native.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

Command take(const Identity& me, const std::vector<AcquirePart>& parts) {
  Command command{0, &scripts::kTake, {}, {me.info}};
  command.keys.reserve(parts.size() * 4);
  for (const std::size_t key : {kRecordKey, kQueueKey, kMembersKey, kFenceKey}) {
    for (const AcquirePart& part : parts) {
      command.keys.push_back(part.resource->keys[key]);
    }
  }
  std::int64_t highest = 0;
  for (const AcquirePart& part : parts) {
    highest = std::max(highest, part.args.highest_fence);
  }
  const AcquireArgs& common = parts.front().args;
  Packer packed;
  packed.bytes(me.client).time(common.not_after).number(common.lease);
  packed.number(common.want.lock_delay).number(highest);
  for (const AcquirePart& part : parts) {
    packed.number(part.args.epoch);
  }
  command.args.push_back(packed.take());
  return command;
}

Command acquire_any(const Identity& me, const std::vector<AcquirePart>& parts) {
  Command command{
      0, &scripts::kMany, {}, {me.inbox().prefix_in(parts.front().resource->slot), me.info}};
  Packer packed;
  packed.bytes(me.client).time(parts.front().args.not_after).number(parts.front().args.lease);
  std::vector<std::string> groups;
  command.keys.reserve(parts.size() * parts.front().resource->keys.size());
  bool alone = true;
  for (const AcquirePart& part : parts) {
    add_views(*part.resource, &command.keys);
    packed.number(part.args.epoch)
        .number(part.args.highest_fence)
        .number(part.args.want.lock_delay)
        .u16(part.args.local_waiters);
    groups.push_back(part.args.want.group);
    alone = alone && part.args.want.group.empty();
  }
  command.args.push_back(packed.take());
  if (!alone) {
    command.args.insert(command.args.end(), groups.begin(), groups.end());
  }
  return command;
}

Command release(const Identity& me, const std::vector<LeavePart>& parts) {
  Command command{0, &scripts::kRelease, {}, {}};
  Packer packed;
  packed.bytes(me.client);
  command.keys.reserve(parts.size());
  for (const LeavePart& part : parts) {
    command.keys.push_back(part.resource->keys[kRecordKey]);
    packed.number(part.args.epoch);
  }
  command.args.push_back(packed.take());
  return command;
}

Command leave_any(const Identity& me, const std::vector<LeavePart>& parts) {
  Command command{0, &scripts::kLeave, {}, {}};
  std::string packed(1, static_cast<char>(Kind::kLock));
  command.keys.reserve(parts.size() * parts.front().resource->keys.size());
  for (const LeavePart& part : parts) {
    add_views(*part.resource, &command.keys);
    packed += packed_leave(me, part.args);
  }
  command.args = {std::move(packed), me.inbox().prefix_in(parts.front().resource->slot)};
  return command;
}

}  // namespace

Command NativeDialect::acquire_all(const std::vector<AcquirePart>& parts) const {
  const Micros delay = parts.front().args.want.lock_delay;
  const bool uncontended =
      std::all_of(parts.begin(), parts.end(), [delay](const AcquirePart& part) {
        const AcquireArgs& args = part.args;
        return args.first && args.local_waiters == 0 && !args.want.shared() &&
               args.want.lock_delay == delay;
      });
  return uncontended ? take(me, parts) : acquire_any(me, parts);
}

Command NativeDialect::leave_all(const std::vector<LeavePart>& parts) const {
  const bool uncontended = std::all_of(parts.begin(), parts.end(), [](const LeavePart& part) {
    return part.args.uncontended && !part.args.joint;
  });
  return uncontended ? release(me, parts) : leave_any(me, parts);
}

std::optional<std::vector<AcquireAnswer>> NativeDialect::read_acquire_all(Reply reply,
                                                                          std::size_t count) const {
  Unpacker fields(reply.text());
  AcquireAnswer same;
  const std::uint8_t code = fields.u8();
  same.code = static_cast<AcquireCode>(code);
  same.server_time = fields.time();
  if (same.code == AcquireCode::kBusy) {
    same.remaining = fields.number();  // of the first name that cannot be had
  }
  const bool granted = same.code == AcquireCode::kGranted;
  std::vector<AcquireAnswer> answers(count, same);
  for (std::size_t i = 0; granted && i < count; ++i) {
    answers[i].fence = fields.number();
    answers[i].last_fence = fields.number();
    answers[i].others_wait = fields.u8() != 0;
    answers[i].permits = 1;
    if (!is_fence_range(answers[i].fence, answers[i].last_fence)) {
      return std::nullopt;
    }
  }
  const bool known = granted || (code >= 3 && code <= 6);
  if (!fields.complete() || !fields.rest().empty() || !known) {
    return std::nullopt;
  }
  return answers;
}

std::optional<std::vector<LeaveAnswer>> NativeDialect::read_leave_all(Reply reply,
                                                                      std::size_t count) const {
  Unpacker fields(reply.text());
  std::vector<LeaveAnswer> answers;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<LeaveAnswer> answer = read_left(fields);
    if (!answer) {
      return std::nullopt;
    }
    answers.push_back(*answer);
  }
  return fields.rest().empty() ? std::optional(std::move(answers)) : std::nullopt;
}

}  // namespace belay
