#include "client/metric_members.h"

#include <utility>

namespace belay {

namespace {

// Each bucket has those below it, too, as Prometheus wants it.
void add_histogram(const std::string& name, const Histogram& histogram,
                   std::vector<Member>* members) {
  add_metric(name + "_count", histogram.count, members);
  add_metric(name + "_sum", histogram.sum, members);
  std::int64_t up_to = 0;
  for (std::size_t i = 0; i + 1 < Histogram::kBuckets; ++i) {
    up_to += histogram.buckets[i];
    add_metric(name + "_le_" + std::to_string(std::uint64_t{1} << i), up_to, members);
  }
}

}  // namespace

void add_metric(const std::string& name, std::int64_t value, std::vector<Member>* members) {
  Member member;
  member.role = BELAY_ROLE_METRIC;
  member.name = name;
  member.value = value;
  members->push_back(std::move(member));
}

void add_metrics(const Metrics& metrics, std::vector<Member>* members) {
  const std::int64_t acquires =
      metrics.grants + metrics.busy + metrics.timeouts + metrics.cancelled + metrics.failures;
  add_metric("acquires", acquires, members);
  add_metric("grants", metrics.grants, members);
  add_metric("busy", metrics.busy, members);
  add_metric("timeouts", metrics.timeouts, members);
  add_metric("cancelled", metrics.cancelled, members);
  add_metric("failures", metrics.failures, members);
  add_metric("releases", metrics.releases, members);
  add_metric("lost", metrics.lost, members);
  add_metric("renewals", metrics.renewals, members);
  add_metric("handoffs_local", metrics.handoffs_local, members);
  add_metric("handoffs_by_message", metrics.handoffs_by_message, members);
  add_metric("connections", metrics.connections, members);
  add_metric("messages", metrics.messages, members);
  add_histogram("wait_us", metrics.wait, members);
  add_histogram("hold_us", metrics.hold, members);
  add_histogram("round_trip_us", metrics.round_trip, members);
}

}  // namespace belay
