#include "core/core.h"

#include <algorithm>
#include <utility>

namespace belay {

Core::Core(const Config& config, const Dialect& dialect, Topology topology, Dial dial, Log& log,
           EngineEvents& events, std::atomic<std::int64_t>& last_hold, Random& random)
    : router_(config, std::move(topology), std::move(dial), dialect.inbox(), random.next(), log),
      engine_(config, dialect, router_, events, last_hold, random.next()) {}

void Core::on_timer(Micros now) {
  router_.on_timer(now);
  engine_.on_timer(now);
  router_.close_idle([this](const Node& node) { return engine_.needs(node); }, now);
  router_.stop_listening([this] { return engine_.slots_in_use(); }, now);
}

Micros Core::next_deadline() const {
  return std::min(engine_.next_deadline(), router_.next_deadline());
}

}  // namespace belay
