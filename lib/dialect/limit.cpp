#include "dialect/limit.h"

#include <algorithm>

#include "base/config.h"
#include "base/packing.h"

namespace belay {

namespace {

class LimitQuery final : public Query {
 public:
  LimitQuery(const LockOrSemaphore& semaphore, std::string_view name, std::int64_t limit)
      : semaphore_(semaphore), resource_(semaphore.resource(name)), limit_(limit) {}

  [[nodiscard]] std::int32_t event_kind() const override {
    return sets() ? BELAY_EVENT_SEMAPHORE_LIMIT_SET : BELAY_EVENT_SEMAPHORE_AVAILABLE;
  }

  [[nodiscard]] Effect effect() const override {
    return sets() ? Effect::kOverwrites : Effect::kNone;
  }

  [[nodiscard]] std::uint16_t slot() const override { return resource_.slot; }

  [[nodiscard]] Command command(std::int64_t highest_fence, ServerTime not_after) override {
    return semaphore_.limit(resource_, limit_, highest_fence, not_after);
  }

  Progress read(Reply reply, Event* event) override {
    enum : std::uint8_t { kOk = 1, kMore = 6, kMissing = 8 };

    Unpacker fields(reply.text());
    const std::uint8_t code = fields.u8();
    fields.number();  // server time
    if (code == kMissing && fields.complete()) {
      event->status =
          Status(BELAY_NOT_FOUND, "semaphore '" + resource_.name + "' has no limit yet");
      return Progress::kDone;
    }
    event->limit = fields.number();
    const std::int64_t used = fields.number();
    const bool sound = (code == kOk || code == kMore) && fields.complete() && event->limit > 0 &&
                       event->limit <= kMaxId && used >= 0;
    if (!sound) {
      return Progress::kUnsound;
    }
    event->available = std::max<std::int64_t>(0, event->limit - used);
    return code == kMore ? Progress::kAgain : Progress::kDone;
  }

 private:
  [[nodiscard]] bool sets() const { return limit_ > 0; }

  const LockOrSemaphore& semaphore_;
  const Resource resource_;
  const std::int64_t limit_;  // 0: only asks
};

}  // namespace

std::unique_ptr<Query> limit_query(const LockOrSemaphore& semaphore, std::string_view name,
                                   std::int64_t limit) {
  return std::make_unique<LimitQuery>(semaphore, name, limit);
}

std::unique_ptr<Query> available_query(const LockOrSemaphore& semaphore, std::string_view name) {
  return std::make_unique<LimitQuery>(semaphore, name, 0);
}

}  // namespace belay
