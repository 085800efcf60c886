#include "primitive/many.h"

#include "base/packing.h"
#include "scripts/scripts.h"

namespace belay {

Command ManyLocks::acquire(const std::vector<ManyPart>& parts) const {
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
