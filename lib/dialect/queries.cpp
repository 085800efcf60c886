#include "dialect/queries.h"

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/contract.h"
#include "base/glob.h"

namespace belay {

namespace {

constexpr const char* kScanCount = "1000";
constexpr std::int64_t kNoFence = contract::kLargest;  // none gets so far

void add(Inspection inspection, Event* event) {
  event->member_total += inspection.total;
  event->generation = std::max(event->generation, inspection.generation);
  event->count = std::max(event->count, inspection.count);
  event->primitive = inspection.primitive;
  event->limit = inspection.limit;
  event->available = std::max<std::int64_t>(0, inspection.limit - inspection.used);
  std::move(inspection.members.begin(), inspection.members.end(),
            std::back_inserter(event->members));
}

class InspectQuery final : public Query {
 public:
  InspectQuery(const Dialect& dialect, std::string_view name)
      : dialect_(dialect), resource_(dialect.resource(name)) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_INSPECTED; }

  [[nodiscard]] std::uint16_t slot() const override { return resource_.slot; }

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime /*not_after*/) override {
    return dialect_.inspect(resource_);
  }

  void on_answered_by(const std::string& server, bool of_cluster, Event* event) const override {
    event->text = server;
    event->slot = of_cluster ? resource_.slot : -1;
  }

  Progress read(Reply reply, Event* event) override {
    std::optional<Inspection> inspection = dialect_.read_inspect(reply);
    if (!inspection) {
      return Progress::kUnsound;
    }
    add(std::move(*inspection), event);
    return Progress::kDone;
  }

 private:
  const Dialect& dialect_;
  const Resource resource_;
};

class BreakQuery final : public Query {
 public:
  BreakQuery(const Dialect& dialect, std::string_view name, std::int64_t fence)
      : dialect_(dialect), resource_(dialect.resource(name)), fence_(fence) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_BROKEN; }

  // A break of whoever holds it must not hit a second holder.
  [[nodiscard]] Effect effect() const override {
    return fence_ == 0 ? Effect::kOnce : Effect::kIdempotent;
  }

  [[nodiscard]] std::uint16_t slot() const override { return resource_.slot; }

  [[nodiscard]] Command command(std::int64_t highest_fence, ServerTime not_after) override {
    return dialect_.break_name(resource_, fence_, highest_fence, not_after);
  }

  Progress read(Reply reply, Event* event) override {
    std::optional<Inspection> inspection = dialect_.read_force(reply);
    if (!inspection) {
      return Progress::kUnsound;
    }
    const bool again = inspection->again;
    if (inspection->serve_only) {  // that needs nobody to be parted from it
      fence_ = kNoFence;
    }
    add(std::move(*inspection), event);
    return again ? Progress::kAgain : Progress::kDone;
  }

 private:
  const Dialect& dialect_;
  const Resource resource_;
  std::int64_t fence_;
};

class EverywhereQuery : public Query {
 public:
  explicit EverywhereQuery(Reach reach) : reach_(reach) {}

  [[nodiscard]] Reach reach() const final { return reach_; }

  [[nodiscard]] std::uint16_t slot() const final { return slots_[at_]; }

  void on_servers(const std::vector<std::uint16_t>& slots) final { slots_ = slots; }

 protected:
  // To the next one; false: there is none.
  bool go_on() {
    const bool any = at_ + 1 < slots_.size();
    at_ += any ? 1 : 0;
    return any;
  }

 private:
  const Reach reach_;
  std::vector<std::uint16_t> slots_{0};
  std::size_t at_ = 0;
};

class ListQuery final : public EverywhereQuery {
 public:
  ListQuery(const Dialect& dialect, std::string_view pattern, std::int64_t limit)
      : EverywhereQuery(Reach::kAll),
        dialect_(dialect),
        pattern_(pattern),
        limit_(static_cast<std::size_t>(limit)) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_LISTED; }

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime /*not_after*/) override {
    Command command;
    command.args = {"SCAN", cursor_, "MATCH", dialect_.scan_pattern(), "COUNT", kScanCount};
    return command;
  }

  Progress read(Reply reply, Event* event) override {
    if (reply.size() != 2) {
      return Progress::kUnsound;
    }
    const Reply keys = reply.at(1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::optional<std::string> name = dialect_.name_of_key(keys.at(i).text());
      if (name && glob_match(pattern_, *name)) {
        found_.insert(*name);
      }
    }
    cursor_ = reply.at(0).text();
    if (found_.size() <= limit_ && (cursor_ != "0" || go_on())) {
      return Progress::kNext;
    }
    finish(event);
    return Progress::kDone;
  }

 private:
  void finish(Event* event) const {
    event->member_total = static_cast<std::int64_t>(found_.size());
    for (const std::string& name : found_) {
      if (event->members.size() == limit_) {
        return;
      }
      Member member;
      member.role = BELAY_ROLE_NAME;
      member.name = name;
      event->members.push_back(std::move(member));
    }
  }

  const Dialect& dialect_;
  const std::string pattern_;
  const std::size_t limit_;
  std::string cursor_ = "0";
  std::set<std::string> found_;  // SCAN may name a key twice
};

class PingQuery final : public EverywhereQuery {
 public:
  PingQuery() : EverywhereQuery(Reach::kThoseInUse) {}

  [[nodiscard]] std::int32_t event_kind() const override { return BELAY_EVENT_PINGED; }

  [[nodiscard]] Command command(std::int64_t /*highest_fence*/, ServerTime /*not_after*/) override {
    Command command;
    command.args = {"PING"};
    return command;
  }

  Progress read(Reply /*reply*/, Event* /*event*/) override {
    return go_on() ? Progress::kNext : Progress::kDone;
  }
};

}  // namespace

std::unique_ptr<Query> inspect_query(const Dialect& dialect, std::string_view name) {
  return std::make_unique<InspectQuery>(dialect, name);
}

std::unique_ptr<Query> break_query(const Dialect& dialect, std::string_view name,
                                   std::int64_t fence) {
  return std::make_unique<BreakQuery>(dialect, name, fence);
}

std::unique_ptr<Query> list_query(const Dialect& dialect, std::string_view pattern,
                                  std::int64_t limit) {
  return std::make_unique<ListQuery>(dialect, pattern, limit);
}

std::unique_ptr<Query> ping_query() {
  return std::make_unique<PingQuery>();
}

}  // namespace belay
