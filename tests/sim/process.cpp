#include "sim/process.h"

#include <algorithm>
#include <cstdlib>

namespace belay::sim {

namespace {

constexpr Micros kRememberRequests = 60 * kSecond;
constexpr std::string_view kIdPrefix = "sim-process-";

Identity identity_of(int number) {
  const std::string id = client_of(number);
  return {id, "belay:", std::to_string(100 + number) + " simhost process", "secret of " + id};
}

Config config_of(Micros watchdog_lease, Micros request_timeout) {
  Config config;
  config.watchdog_lease = watchdog_lease;
  config.request_timeout = request_timeout;
  return config;
}

// One server, of which each slot is asked for apart, as in a cluster.
class SlotRouter final : public Router {
 public:
  explicit SlotRouter(Node& node) : node_(node) {}

  Node& node_of(std::uint16_t /*slot*/) override { return node_; }

  std::uint16_t group_of(std::uint16_t slot) override { return slot; }

 private:
  Node& node_;
};

std::unique_ptr<Router> router_to(Node& node, bool slots_apart) {
  if (slots_apart) {
    return std::make_unique<SlotRouter>(node);
  }
  return std::make_unique<SingleRouter>(node);
}

}  // namespace

std::string client_of(int number) {
  std::string id = std::string(kIdPrefix) + std::to_string(number);
  id.resize(22, '.');
  return id;
}

int process_of(std::string_view client) {
  return std::atoi(std::string(client.substr(kIdPrefix.size())).c_str());
}

Process::Process(World& world, int number, Observer observer, Micros watchdog_lease,
                 Micros request_timeout, bool slots_apart)
    : world_(world),
      number_(number),
      observer_(std::move(observer)),
      offset_(world.random().between(5 * kSecond, 15 * kSecond)),
      drift_ppm_(world.some_drift()),
      config_(config_of(watchdog_lease, request_timeout)),
      identity_(identity_of(number)),
      lock_(Kind::kLock, identity_),
      semaphore_(Kind::kSemaphore, identity_),
      latch_(identity_, kRememberRequests),
      many_(identity_),
      link_(std::make_unique<SimLink>(world, number)) {
  link_->handlers.opened = [this](int id) {
    deliver([this, id] {
      if (link_->connection() == id) {
        step([this](Micros now) { node_->on_link_open(now); });
      }
    });
  };
  link_->handlers.bytes = [this](int id, std::string arrived) {
    deliver([this, id, bytes = std::move(arrived)] {
      if (link_->connection() == id) {
        step([this, &bytes](Micros now) { node_->on_link_bytes(bytes, now); });
      }
    });
  };
  link_->handlers.closed = [this](int id) {
    deliver([this, id] {
      if (link_->connection() == id) {
        step([this](Micros now) {
          node_->on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now);
        });
      }
    });
  };
  node_ = std::make_unique<Node>(config_, identity_.inbox(), world.random().next(), *link_, log_);
  router_ = router_to(*node_, slots_apart);
  engine_ = std::make_unique<Engine>(config_, lock_,
                                     std::vector<const Primitive*>{&lock_, &semaphore_, &latch_},
                                     *router_, *this, last_hold_, world.random().next());
  able_since_ = world_.now();
  node_->start(*engine_, clock());
  arm();
}

Micros Process::clock_at(Micros true_time) const {
  return true_time + true_time * drift_ppm_ / 1'000'000 + offset_;
}

// The first moment at which the local clock shows `local`.
Micros Process::true_time_of(Micros local) const {
  if (local == kNever) {
    return kNever;
  }
  Micros time = local - offset_ - (local - offset_) * drift_ppm_ / 1'000'000;
  while (clock_at(time) >= local) {
    --time;
  }
  while (clock_at(time) < local) {
    ++time;
  }
  return time;
}

void Process::on_event(Event event) {
  observer_.on_event(*this, event);
}

template <class Action>
void Process::deliver(Action action) {
  if (!alive_) {
    return;
  }
  if (paused_) {
    missed_.emplace_back(std::move(action));
  } else {
    action();
  }
}

// One entry of the monitor and what follows it.
template <class Action>
void Process::step(const Action& action) {
  action(clock() - world_.clock_slip());
  link_->flush();
  observer_.after_step(*this);
  arm();
}

void Process::call(const std::function<void(Engine&, Micros now)>& action) {
  if (alive_ && !paused_) {
    step([this, &action](Micros now) { action(*engine_, now); });
  }
}

std::optional<Engine::HoldView> Process::look(std::int64_t hold) {
  const Engine::HoldView view = engine_->look(hold, clock());
  link_->flush();  // whatever was due by now has been sent
  return view;
}

void Process::arm() {
  const Micros next = std::min(engine_->next_deadline(), node_->next_deadline());
  if (next == armed_) {
    return;
  }
  armed_ = next;
  const std::uint64_t timer = ++timer_;
  if (next == kNever) {
    return;
  }
  world_.at(true_time_of(std::max(next, clock())), [this, timer] {
    if (alive_ && !paused_ && timer == timer_) {
      armed_ = kNever;
      step([this](Micros now) {
        node_->on_timer(now);
        engine_->on_timer(now);
      });
    }
  });
}

void Process::pause(Micros duration) {
  longest_pause_ = std::max(longest_pause_, duration);
  if (!alive_ || paused_) {
    return;
  }
  world_.trace("process " + std::to_string(number_) + " pauses for " +
               std::to_string(duration / 1000) + " ms");
  paused_ = true;
  world_.at(world_.now() + duration, [this] { resume(); });
}

void Process::resume() {
  if (!alive_) {
    return;
  }
  world_.trace("process " + std::to_string(number_) + " goes on");
  paused_ = false;
  able_since_ = world_.now();
  armed_ = kNever;
  const auto fire = [this] {
    step([this](Micros now) {
      node_->on_timer(now);
      engine_->on_timer(now);
    });
  };
  if (world_.chance(30)) {
    fire();
  }
  std::deque<std::function<void()>> missed;
  missed.swap(missed_);
  for (const auto& action : missed) {
    action();
  }
  fire();
}

void Process::crash() {
  if (!alive_) {
    return;
  }
  world_.trace("process " + std::to_string(number_) + " is killed");
  alive_ = false;
  missed_.clear();
  link_->close();
}

void Process::cut(bool ghosts, bool told) {
  if (link_->connected()) {
    world_.cut(link_->connection(), ghosts, told);
  }
}

}  // namespace belay::sim
