#include "measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace belay::bench {

namespace {

constexpr double kWarmUp = 0.3;  // of a slice

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t cpu_ns_of(const Side& side) {
  std::int64_t sum = side.processes.empty() ? process_cpu_ns() : 0;
  for (const pid_t process : side.processes) {
    sum += process_cpu_ns(process);
  }
  return sum;
}

void measure(const Plan& plan, const Side& side, Measured* measured) {
  const std::int64_t server_cpu = plan.server.cpu_ns();
  const std::int64_t client_cpu = cpu_ns_of(side);
  const Slice slice = side.run(plan.slice_s);
  measured->client_cpu_ns += cpu_ns_of(side) - client_cpu;
  measured->server_cpu_ns += plan.server.cpu_ns() - server_cpu;
  measured->count += slice.count;
  measured->rates.push_back(static_cast<double>(slice.count) / slice.seconds);
  measured->p50s_us.push_back(percentile(slice.latencies_us, 0.5));
  measured->latencies_us.insert(measured->latencies_us.end(), slice.latencies_us.begin(),
                                slice.latencies_us.end());
}

}  // namespace

std::int64_t now_ns() {
  return read_clock(CLOCK_MONOTONIC);
}

std::int64_t process_cpu_ns(pid_t process) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (process != 0) {
    clock_getcpuclockid(process, &clock);
  }
  return read_clock(clock);
}

std::vector<Measured> compare(const Plan& plan, const std::vector<Side>& sides) {
  std::vector<const Side*> order;
  for (const Side& side : sides) {
    if (plan.only.empty() || plan.only == side.name) {
      order.push_back(&side);
    }
  }
  std::vector<Measured> measured(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    measured[i].name = order[i]->name;
    order[i]->run(plan.slice_s * kWarmUp);
  }
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t place = round % 2 == 0 ? i : order.size() - 1 - i;
      measure(plan, *order[place], &measured[place]);
    }
  }
  return measured;
}

const Measured* find(const std::vector<Measured>& measured, const std::string& name) {
  const auto found =
      std::find_if(measured.begin(), measured.end(),
                   [&name](const Measured& candidate) { return candidate.name == name; });
  return found == measured.end() ? nullptr : &*found;
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) {
    return NAN;
  }
  const double exact = static_cast<double>(values.size() - 1) * part;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(exact);
  std::nth_element(values.begin(), place, values.end());
  if (place + 1 == values.end()) {
    return *place;
  }
  const double next = *std::min_element(place + 1, values.end());
  return *place + (next - *place) * (exact - std::floor(exact));
}

Ratio ratio(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (std::isfinite(ours[i] / theirs[i])) {
      ratios.push_back(ours[i] / theirs[i]);
    }
  }
  if (ratios.empty()) {
    return {};
  }
  return {true, percentile(ratios, 0.5), percentile(ratios, 0.25), percentile(ratios, 0.75)};
}

Ratio latency_ratio(const std::vector<Measured>& measured, const std::string& ours,
                    const std::string& theirs) {
  const Measured* first = find(measured, ours);
  const Measured* second = find(measured, theirs);
  return first == nullptr || second == nullptr ? Ratio() : ratio(first->p50s_us, second->p50s_us);
}

Ratio rate_ratio(const std::vector<Measured>& measured, const std::string& ours,
                 const std::string& theirs) {
  const Measured* first = find(measured, ours);
  const Measured* second = find(measured, theirs);
  return first == nullptr || second == nullptr ? Ratio() : ratio(first->rates, second->rates);
}

}  // namespace belay::bench
