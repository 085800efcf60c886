#include "primitive/many.h"

#include <algorithm>

#include "base/packing.h"
#include "scripts/scripts.h"

namespace belay {

Command ManyLocks::acquire(const std::vector<ManyPart>& parts) const {
  const Micros delay = parts.front().args.want.lock_delay;
  const bool plain = std::all_of(parts.begin(), parts.end(), [delay](const ManyPart& part) {
    const AcquireArgs& args = part.args;
    return args.first && args.local_waiters == 0 && !args.want.shared() &&
           args.want.lock_delay == delay;
  });
  return plain ? take(parts) : acquire_any(parts);
}

Command ManyLocks::take(const std::vector<ManyPart>& parts) const {
  Command command{0, &scripts::kTake, {}, {me_.info}};
  command.keys.reserve(parts.size() * 3);
  for (const std::size_t key : {kRecordKey, kQueueKey, kFenceKey}) {
    for (const ManyPart& part : parts) {
      command.keys.push_back(part.resource->keys[key]);
    }
  }
  std::int64_t highest = 0;
  for (const ManyPart& part : parts) {
    highest = std::max(highest, part.args.highest_fence);
  }
  const AcquireArgs& common = parts.front().args;
  Packer packed;
  packed.bytes(me_.client).number(common.not_after).number(common.lease);
  packed.number(common.want.lock_delay).number(highest);
  for (const ManyPart& part : parts) {
    packed.number(part.args.epoch);
  }
  command.args.push_back(packed.take());
  return command;
}

Command ManyLocks::acquire_any(const std::vector<ManyPart>& parts) const {
  Command command{0, &scripts::kMany, {}, {me_.inbox_prefix(), me_.info}};
  Packer packed;
  packed.bytes(me_.client).number(parts.front().args.not_after).number(parts.front().args.lease);
  std::vector<std::string> groups;
  command.keys.reserve(parts.size() * parts.front().resource->keys.size());
  bool alone = true;
  for (const ManyPart& part : parts) {
    const std::vector<std::string>& keys = part.resource->keys;
    command.keys.insert(command.keys.end(), keys.begin(), keys.end());
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

Command ManyLocks::leave(const std::vector<ManyLeft>& parts) const {
  const bool plain =
      std::all_of(parts.begin(), parts.end(), [](const ManyLeft& part) { return part.args.plain; });
  return plain ? release(parts) : leave_any(parts);
}

Command ManyLocks::release(const std::vector<ManyLeft>& parts) const {
  Command command{0, &scripts::kRelease, {}, {}};
  Packer packed;
  packed.bytes(me_.client);
  command.keys.reserve(parts.size());
  for (const ManyLeft& part : parts) {
    command.keys.push_back(part.resource->keys[kRecordKey]);
    packed.number(part.args.epoch);
  }
  command.args.push_back(packed.take());
  return command;
}

Command ManyLocks::leave_any(const std::vector<ManyLeft>& parts) const {
  Command command{0, &scripts::kLeave, {}, {}};
  std::string packed(1, static_cast<char>(Kind::kLock));
  command.keys.reserve(parts.size() * parts.front().resource->keys.size());
  for (const ManyLeft& part : parts) {
    const std::vector<std::string>& keys = part.resource->keys;
    command.keys.insert(command.keys.end(), keys.begin(), keys.end());
    packed += packed_leave(me_, part.args);
  }
  command.args = {std::move(packed), me_.inbox_prefix()};
  return command;
}

std::optional<std::vector<LeaveAnswer>> ManyLocks::read_leave(Reply reply,
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

std::optional<std::vector<AcquireAnswer>> ManyLocks::read(Reply reply, std::size_t count) const {
  Unpacker fields(reply.text());
  AcquireAnswer same;
  const std::uint8_t code = fields.u8();
  same.code = static_cast<AcquireCode>(code);
  same.server_time = fields.number();
  if (same.code == AcquireCode::kBusy) {
    same.remaining = fields.number();
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

}  // namespace belay
