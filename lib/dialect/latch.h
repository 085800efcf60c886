// The countdown latch on the server: its keys, scripts, arguments and replies, as
// lib/scripts/README.md has them. Stateless but for who this client is; usable from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dialect/lock.h"
#include "engine/primitive.h"
#include "engine/query.h"

namespace belay {

// Names a request of this client, so that it counts once: no other has that number.
struct RequestNumber {
  std::int64_t number = 0;
};

class LatchPrimitive final : public Primitive {
 public:
  LatchPrimitive(Identity identity, Micros request_timeout)
      : me_(std::move(identity)), request_timeout_(request_timeout) {}

  [[nodiscard]] Kind kind() const override { return Kind::kLatch; }

  [[nodiscard]] bool claim_per_request() const override { return false; }

  [[nodiscard]] bool waits_only() const override { return true; }

  [[nodiscard]] Status busy(std::string_view name) const override;
  [[nodiscard]] Status missing(std::string_view name) const override;

  [[nodiscard]] Resource resource(std::string_view name) const override {
    return resource_of(me_, name);
  }

  [[nodiscard]] std::unique_ptr<Query> generation_query(std::string_view name,
                                                        std::int64_t generation) const override;
  [[nodiscard]] Command acquire(const Resource& resource, const AcquireArgs& args) const override;
  [[nodiscard]] Command leave(const Resource& resource, const LeaveArgs& args) const override;
  [[nodiscard]] std::optional<AcquireAnswer> read_acquire(Reply reply) const override;
  [[nodiscard]] std::optional<LeaveAnswer> read_leave(Reply reply) const override;

  [[nodiscard]] Command set(const Resource& resource, RequestNumber request, std::int64_t count,
                            Micros life, std::int64_t highest_fence, ServerTime not_after) const;
  // `since`: what first_sent() says of the first call of this request.
  [[nodiscard]] Command count_down(const Resource& resource, RequestNumber request, std::int64_t by,
                                   ServerTime not_after, ServerTime since) const;
  // About when a call is sent that is to do nothing beyond `not_after`.
  [[nodiscard]] ServerTime first_sent(ServerTime not_after) const;

 private:
  const Identity me_;
  // A request is repeated for that long, and its bytes may arrive late: the server remembers it for
  // longer.
  [[nodiscard]] Micros remember() const;

  const Micros request_timeout_;
};

// Begins a generation; IN_USE while one is running. `life`: 0 for ever.
std::unique_ptr<Query> latch_set_query(const LatchPrimitive& latch, std::string_view name,
                                       RequestNumber request, std::int64_t count, Micros life);

// Takes from the count; NOT_FOUND where there is no latch.
std::unique_ptr<Query> latch_count_down_query(const LatchPrimitive& latch, std::string_view name,
                                              RequestNumber request, std::int64_t by);

// Tells the count; NOT_FOUND where there is no latch.
std::unique_ptr<Query> latch_count_query(const LatchPrimitive& latch, std::string_view name);

}  // namespace belay
