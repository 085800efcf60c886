#include "dialect/latch.h"

#include <algorithm>
#include <utility>

#include "base/config.h"
#include "base/packing.h"
#include "dialect/mac.h"
#include "scripts/scripts.h"

namespace belay {

namespace {

// What set and count down answer; the numbers mean different things to each.
struct LatchAnswer {
  std::uint8_t code = 0;
  std::int64_t generation = 0;
  std::int64_t count = 0;
};

bool is_generation(std::int64_t number) {
  return number >= 0 && number <= kMaxFence;
}

bool is_count(std::int64_t number) {
  return number >= 0 && number <= kMaxId;
}

std::optional<LatchAnswer> read_answer(Reply reply) {
  Unpacker fields(reply.text());
  LatchAnswer answer;
  answer.code = fields.u8();
  fields.number();  // server time
  answer.generation = fields.number();
  answer.count = fields.number();
  const bool sound = is_generation(answer.generation) && is_count(answer.count);
  return fields.complete() && sound ? std::optional(answer) : std::nullopt;
}

class LatchQuery : public Query {
 public:
  LatchQuery(const LatchPrimitive& latch, std::string_view name)
      : latch_(latch), resource_(latch.resource(name)) {}

  [[nodiscard]] std::uint16_t slot() const final { return resource_.slot; }

 protected:
  [[nodiscard]] const LatchPrimitive& latch() const { return latch_; }

  [[nodiscard]] const Resource& resource() const { return resource_; }

  static void tell(std::int64_t generation, std::int64_t count, Event* event) {
    event->generation = generation;
    event->count = count;
  }

  Progress missing(Event* event) const {
    event->status = latch_.missing(resource_.name);
    return Progress::kDone;
  }

 private:
  const LatchPrimitive& latch_;
  const Resource resource_;
};

class SetQuery final : public LatchQuery {
 public:
  SetQuery(const LatchPrimitive& latch, std::string_view name, RequestNumber request,
           std::int64_t count, Micros life)
      : LatchQuery(latch, name), request_(request), count_(count), life_(life) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_LATCH_SET; }

  [[nodiscard]] Effect effect() const override { return Effect::kIdempotent; }

  [[nodiscard]] Command command(std::int64_t highest_fence, ServerTime not_after) override {
    return latch().set(resource(), request_, count_, life_, highest_fence, not_after);
  }

  Progress read(Reply reply, Event* event) override {
    enum : std::uint8_t { kSet = 1, kInUse = 2, kMore = 3, kMissing = 8 };

    const std::optional<LatchAnswer> answer = read_answer(reply);
    if (!answer) {
      return Progress::kUnsound;
    }
    if (answer->code == kMore) {
      return Progress::kAgain;
    }
    if (answer->code == kMissing) {
      return missing(event);
    }
    if ((answer->code != kSet && answer->code != kInUse) || answer->generation == 0) {
      return Progress::kUnsound;
    }
    tell(answer->generation, answer->count, event);
    if (answer->code == kInUse) {
      event->status = Status(BELAY_IN_USE, "latch '" + resource().name + "' is running, at " +
                                               std::to_string(answer->count));
    }
    return Progress::kDone;
  }

 private:
  const RequestNumber request_;
  const std::int64_t count_;
  const Micros life_;
};

class CountDownQuery final : public LatchQuery {
 public:
  CountDownQuery(const LatchPrimitive& latch, std::string_view name, RequestNumber request,
                 std::int64_t by)
      : LatchQuery(latch, name), request_(request), by_(by) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_LATCH_COUNTED_DOWN; }

  [[nodiscard]] Effect effect() const override { return Effect::kIdempotent; }

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime not_after) override {
    since_ = since_.any() ? since_ : latch().first_sent(not_after);
    return latch().count_down(resource(), request_, by_, not_after, since_);
  }

  Progress read(Reply reply, Event* event) override {
    enum : std::uint8_t { kCounted = 1, kMissing = 2, kMore = 3 };

    const std::optional<LatchAnswer> answer = read_answer(reply);
    if (!answer || answer->code < kCounted || answer->code > kMore) {
      return Progress::kUnsound;
    }
    if (answer->code == kMore) {
      return Progress::kAgain;
    }
    if (answer->code == kMissing) {
      return missing(event);
    }
    tell(answer->generation, answer->count, event);
    return Progress::kDone;
  }

 private:
  const RequestNumber request_;
  const std::int64_t by_;
  ServerTime since_;
};

// A try to pass, by a claim of which nothing is remembered. Generation 0 is the current one.
class TryQuery : public LatchQuery {
 public:
  TryQuery(const LatchPrimitive& latch, std::string_view name, std::int64_t generation)
      : LatchQuery(latch, name), generation_(generation) {}

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime not_after) final {
    AcquireArgs args;
    args.generation = generation_;
    args.not_after = not_after;
    return latch().acquire(resource(), args);
  }

  Progress read(Reply reply, Event* event) final {
    const std::optional<AcquireAnswer> answer = latch().read_acquire(reply);
    if (answer && answer->code == AcquireCode::kMissing) {
      return generation_ == 0 ? missing(event) : missing_generation(event);
    }
    if (!answer || (answer->code != AcquireCode::kBusy && answer->code != AcquireCode::kPassed)) {
      return Progress::kUnsound;
    }
    tell(answer->generation, answer->count, event);
    return answer->code == AcquireCode::kBusy ? while_it_runs() : Progress::kDone;
  }

 private:
  [[nodiscard]] virtual Progress while_it_runs() const = 0;

  Progress missing_generation(Event* event) const {
    event->status =
        Status(BELAY_NOT_FOUND, "the latch '" + resource().name + "' does not have generation " +
                                    std::to_string(generation_) +
                                    ", or does not remember whether it opened");
    return Progress::kDone;
  }

  const std::int64_t generation_;
};

class CountQuery final : public TryQuery {
 public:
  CountQuery(const LatchPrimitive& latch, std::string_view name) : TryQuery(latch, name, 0) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_LATCH_COUNT; }

 private:
  [[nodiscard]] Progress while_it_runs() const override { return Progress::kDone; }
};

class GenerationQuery final : public TryQuery {
 public:
  using TryQuery::TryQuery;

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_ACQUIRED; }

 private:
  [[nodiscard]] Progress while_it_runs() const override { return Progress::kWait; }
};

}  // namespace

Status LatchPrimitive::busy(std::string_view name) const {
  return {BELAY_BUSY, "the latch '" + std::string(name) + "' has not opened"};
}

Status LatchPrimitive::missing(std::string_view name) const {
  return {BELAY_NOT_FOUND, "there is no latch '" + std::string(name) + "'"};
}

std::unique_ptr<Query> LatchPrimitive::generation_query(std::string_view name,
                                                        std::int64_t generation) const {
  return std::make_unique<GenerationQuery>(*this, name, generation);
}

Command LatchPrimitive::acquire(const Resource& resource, const AcquireArgs& args) const {
  Packer packed;
  packed.bytes(me_.client).number(args.epoch).number(args.generation).time(args.not_after);
  packed.number(args.ticket).u8(args.queue ? 1 : 0).bytes(secret_of(me_, args.epoch));
  return {0,
          &scripts::kLatchAwait,
          views(resource, {kRecordKey, kQueueKey}),
          {packed.take(), me_.info}};
}

Command LatchPrimitive::leave(const Resource& resource, const LeaveArgs& args) const {
  Packer packed;
  packed.bytes(me_.client).number(args.epoch);
  return {0, &scripts::kLatchLeave, {resource.keys[kQueueKey]}, {packed.take()}};
}

Command LatchPrimitive::set(const Resource& resource, RequestNumber request, std::int64_t count,
                            Micros life, std::int64_t highest_fence, ServerTime not_after) const {
  Packer packed;
  packed.bytes(me_.client).number(request.number).number(count).number(life);
  packed.number(highest_fence).number(remember()).time(not_after);
  return {0,
          &scripts::kLatchSet,
          views(resource, {kRecordKey, kFenceKey, kQueueKey}),
          {packed.take(), me_.inbox().prefix_in(resource.slot), me_.info}};
}

Command LatchPrimitive::count_down(const Resource& resource, RequestNumber request, std::int64_t by,
                                   ServerTime not_after, ServerTime since) const {
  Packer packed;
  packed.bytes(me_.client)
      .number(request.number)
      .number(by)
      .number(remember())
      .time(not_after)
      .time(since);
  return {0,
          &scripts::kLatchDown,
          views(resource, {kRecordKey, kQueueKey}),
          {packed.take(), me_.inbox().prefix_in(resource.slot)}};
}

ServerTime LatchPrimitive::first_sent(ServerTime not_after) const {
  return {std::max<Micros>(1, not_after.since_1970 - request_timeout_)};
}

Micros LatchPrimitive::remember() const {
  return std::max(60 * kSecond, 2 * request_timeout_);
}

std::optional<AcquireAnswer> LatchPrimitive::read_acquire(Reply reply) const {
  Unpacker fields(reply.text());
  AcquireAnswer answer;
  answer.code = static_cast<AcquireCode>(fields.u8());
  answer.server_time = fields.time();
  bool sound = true;
  switch (answer.code) {
    case AcquireCode::kQueued:
      answer.position = fields.number();
      answer.look_in = fields.number();
      answer.ticket = fields.number();
      answer.generation = fields.number();
      answer.count = fields.number();
      sound = answer.position >= 0 && answer.ticket > 0 && answer.generation > 0;
      break;
    case AcquireCode::kBusy:
      answer.look_in = fields.number();
      answer.generation = fields.number();
      answer.count = fields.number();
      sound = answer.generation > 0;
      break;
    case AcquireCode::kPassed:
      answer.generation = fields.number();
      sound = answer.generation > 0;
      break;
    default:
      sound = answer.code == AcquireCode::kLate || answer.code == AcquireCode::kStale ||
              answer.code == AcquireCode::kMissing;
      break;
  }
  sound =
      sound && is_generation(answer.generation) && is_count(answer.count) && answer.look_in >= 0;
  if (answer.look_in == 0) {
    answer.look_in = kNever;  // it stands for ever
  }
  return sound && fields.complete() ? std::optional(answer) : std::nullopt;
}

std::optional<LeaveAnswer> LatchPrimitive::read_leave(Reply reply) const {
  Unpacker fields(reply.text());
  LeaveAnswer answer;
  answer.code = static_cast<LeaveCode>(fields.u8());
  answer.server_time = fields.time();
  return fields.complete() && answer.code == LeaveCode::kNotOurs ? std::optional(answer)
                                                                 : std::nullopt;
}

std::unique_ptr<Query> latch_set_query(const LatchPrimitive& latch, std::string_view name,
                                       RequestNumber request, std::int64_t count, Micros life) {
  return std::make_unique<SetQuery>(latch, name, request, count, life);
}

std::unique_ptr<Query> latch_count_down_query(const LatchPrimitive& latch, std::string_view name,
                                              RequestNumber request, std::int64_t by) {
  return std::make_unique<CountDownQuery>(latch, name, request, by);
}

std::unique_ptr<Query> latch_count_query(const LatchPrimitive& latch, std::string_view name) {
  return std::make_unique<CountQuery>(latch, name);
}

}  // namespace belay
