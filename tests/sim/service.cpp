#include "sim/service.h"

#include <algorithm>

namespace belay::sim {

namespace {

constexpr Micros kFallback = 5 * kSecond * 13 / 10;  // a poll, its jitter and the way
constexpr Micros kReconnect = 3 * kSecond;           // pauses before trying again, and the greeting
constexpr Micros kSlack = 30 * kMillisecond;
constexpr Micros kLookers = 16 * 10 * kMillisecond;  // told to look after each other

}  // namespace

// And the way there and back for connecting, the greeting, older connections and the ask.
Micros Service::reconnect() const {
  return kReconnect + 8 * figures_.longest_delay;
}

Micros Service::allowance(const std::string& name, Micros since) const {
  const Micros lease = std::max(100 * kMillisecond, 8 * figures_.longest_delay + 60 * kMillisecond);
  const Micros grant = lease * 102 / 100 + 10 * kMillisecond + 2 * figures_.longest_delay;
  Micros sum = 0;
  int stopped = 0;
  const Micros echo = figures_.lease + figures_.timeout + reconnect();
  for (const Disturbance& disturbance : disturbances_) {
    const bool concerned = disturbance.name.empty() || disturbance.name == name;
    if (disturbance.until + echo < since || !concerned) {
      continue;
    }
    stopped += disturbance.stopped;
    sum += disturbance.stopped * grant + disturbance.lock_delay;
    sum += disturbance.held_lock ? figures_.lease * 102 / 100 + 100 * kMillisecond : 0;
    sum += disturbance.cut ? figures_.timeout + reconnect() : 0;
  }
  const Micros lost_message = world_.lost_message_at();
  const bool next_in_line_stopped =
      !figures_.rows && (stopped > 1 || (stopped > 0 && ended_until_ + echo >= since));
  sum += figures_.rows && stopped > 0 ? kLookers : 0;
  if (next_in_line_stopped || (lost_message > 0 && lost_message + figures_.lease >= since)) {
    sum += kFallback + grant;
  }
  return sum;
}

void Service::look(const std::string& name, Micros waiting_since, Micros held_until) {
  State& state = states_[name];
  if (state.waiting_since != kNever) {
    const Micros idle = world_.now() - std::max(state.held_until, state.waiting_since);
    const auto in_vain =
        std::count_if(given_up_[name].begin(), given_up_[name].end(),
                      [this, idle](Micros at) { return at >= world_.now() - idle; });
    const Micros calm = kSlack + (8 + 3 * in_vain) * figures_.longest_delay;
    if (idle > calm && idle > calm + allowance(name, world_.now() - idle)) {
      world_.violation("P3: nobody got '" + name + "' for " + std::to_string(idle / 1000) + " ms");
    }
    const Micros waited = world_.now() - state.waiting_since;
    if (waited > figures_.turn && waited > figures_.turn + allowance(name, state.waiting_since)) {
      world_.violation("P4: a waiter for '" + name + "' was passed over for " +
                       std::to_string(waited / 1000) + " ms");
    }
  }
  state.waiting_since = waiting_since;
  state.held_until = std::max(std::min(state.held_until, world_.now()), held_until);
}

void Service::lost(const std::string& name, const std::string& what, Micros granted_at) {
  if (allowance(name, granted_at) == 0) {
    world_.violation("P1: lost without a cause: " + what);
  }
}

}  // namespace belay::sim
