#include "dialect/fenced_write.h"

#include <utility>

#include "base/config.h"
#include "base/packing.h"
#include "dialect/keys.h"
#include "route/slot.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

constexpr std::int64_t kWritten = 1;
constexpr std::int64_t kStale = 2;

class FencedWriteQuery final : public Query {
 public:
  FencedWriteQuery(std::string_view prefix, FencedWrite write)
      : guard_(guard_key_of(prefix, write.key)), write_(std::move(write)) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_WRITTEN; }

  // Many commands do more when they are done twice; and between the two, a newer fence may come.
  [[nodiscard]] Effect effect() const override { return Effect::kOnce; }

  [[nodiscard]] std::uint16_t slot() const override { return slot_of(write_.key); }

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime not_after) override {
    Command command{0, &scripts::kGuard, {write_.key, guard_}, {}};
    command.args.push_back(Packer().number(write_.fence).time(not_after).take());
    command.args.insert(command.args.end(), write_.command.begin(), write_.command.end());
    return command;
  }

  Progress read(Reply reply, Event* event) override {
    const std::int64_t code = reply.size() < 2 ? 0 : reply.at(0).integer();
    if (code != kWritten && code != kStale) {
      return Progress::kUnsound;
    }
    Unpacker newest(reply.at(1).text());
    event->fence = newest.number();
    if (!newest.complete() || event->fence < write_.fence || event->fence > kMaxFence) {
      return Progress::kUnsound;
    }
    if (code == kStale) {
      event->status = Status(BELAY_STALE_FENCE, "fence " + std::to_string(write_.fence) +
                                                    " came to '" + write_.key + "' after fence " +
                                                    std::to_string(event->fence));
    } else if (reply.size() > 2) {
      const Reply answer = reply.at(2);
      event->text = answer.is_integer() ? std::to_string(answer.integer()) : answer.text();
    }
    return Progress::kDone;
  }

 private:
  const std::string guard_;
  const FencedWrite write_;
};

}  // namespace

std::unique_ptr<Query> fenced_write_query(std::string_view prefix, FencedWrite write) {
  return std::make_unique<FencedWriteQuery>(prefix, std::move(write));
}

}  // namespace belay
