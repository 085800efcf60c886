#include "core/core.h"

#include <algorithm>
#include <numeric>

namespace belay {

namespace {

std::deque<Node> nodes_behind(const std::vector<Links>& servers, const Config& config,
                              const std::string& inbox, Log& log, Random& random) {
  std::deque<Node> nodes;
  for (const Links& links : servers) {
    nodes.emplace_back(config, inbox, random.next(), links, log);
  }
  return nodes;
}

}  // namespace

Core::Core(const Config& config, const Dialect& dialect, Topology topology,
           const std::vector<Links>& servers, Log& log, EngineEvents& events,
           std::atomic<std::int64_t>& last_hold, Random& random)
    : nodes_(nodes_behind(servers, config, dialect.inbox(), log, random)),
      router_(std::move(topology), nodes_),
      engine_(config, dialect, router_, events, last_hold, random.next()) {}

void Core::start(NodeEvents& listener, Micros now) {
  for (Node& node : nodes_) {
    node.start(listener, now);
  }
}

void Core::stop() {
  for (Node& node : nodes_) {
    node.stop();
  }
}

void Core::on_timer(Micros now) {
  for (Node& node : nodes_) {
    node.on_timer(now);
  }
  engine_.on_timer(now);
}

Micros Core::next_deadline() const {
  Micros next = engine_.next_deadline();
  for (const Node& node : nodes_) {
    next = std::min(next, node.next_deadline());
  }
  return next;
}

Node& Core::node(const Link& link) {
  return *std::find_if(nodes_.begin(), nodes_.end(),
                       [&link](const Node& node) { return node.has(link); });
}

std::size_t Core::dropped_messages() const {
  return std::accumulate(nodes_.begin(), nodes_.end(), std::size_t{0},
                         [](std::size_t sum, const Node& node) { return sum + node.dropped(); });
}

}  // namespace belay
