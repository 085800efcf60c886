// Our own dialect: what each kind of name is on the server, for one client, as
// lib/scripts/README.md has it. Stateless but for who that is; usable from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/latch.h"
#include "dialect/lock.h"
#include "engine/dialect.h"

namespace belay {

class NativeDialect final : public Dialect {
 public:
  NativeDialect(const Identity& identity, Micros request_timeout)
      : me(identity),
        lock(Kind::kLock, identity),
        semaphore(Kind::kSemaphore, identity),
        latch(identity, request_timeout) {}

  [[nodiscard]] const Primitive& of(Kind kind) const override;

  [[nodiscard]] Resource resource(std::string_view name) const override {
    return resource_of(me, name);
  }

  [[nodiscard]] Inbox inbox() const override { return me.inbox(); }

  [[nodiscard]] Command renew_all(const std::vector<RenewPart>& parts, std::int64_t highest_fence,
                                  ServerTime not_after) const override;
  [[nodiscard]] Command inspect(const Resource& resource) const override;
  [[nodiscard]] Command break_name(const Resource& resource, std::int64_t fence,
                                   std::int64_t highest_fence, ServerTime not_after) const override;
  [[nodiscard]] std::optional<RenewAnswers> read_renew(Reply reply) const override;
  [[nodiscard]] std::optional<Inspection> read_inspect(Reply reply) const override;
  [[nodiscard]] std::optional<Inspection> read_force(Reply reply) const override;
  [[nodiscard]] std::optional<ServerTime> read_late(Reply reply) const override;
  [[nodiscard]] std::optional<Message> read_message(std::string_view payload) const override;
  [[nodiscard]] std::string scan_pattern() const override;
  [[nodiscard]] std::optional<std::string> name_of_key(std::string_view key) const override;
  [[nodiscard]] Command acquire_all(const std::vector<AcquirePart>& parts) const override;
  [[nodiscard]] Command leave_all(const std::vector<LeavePart>& parts) const override;
  [[nodiscard]] std::optional<std::vector<AcquireAnswer>> read_acquire_all(
      Reply reply, std::size_t count) const override;
  [[nodiscard]] std::optional<std::vector<LeaveAnswer>> read_leave_all(
      Reply reply, std::size_t count) const override;

  const Identity me;
  const LockOrSemaphore lock;
  const LockOrSemaphore semaphore;
  const LatchPrimitive latch;
};

}  // namespace belay
