#include "sim/process.h"

#include <algorithm>
#include <cstdlib>

#include "dialect/keys.h"
#include "sim/replicas.h"

namespace belay::sim {

namespace {

constexpr std::string_view kIdPrefix = "sim-process-";

Config config_of(Micros watchdog_lease, Micros request_timeout) {
  Config config;
  config.watchdog_lease = watchdog_lease;
  config.request_timeout = request_timeout;
  return config;
}

// A master and its replicas, which are asked themselves or are watched by sentinels.
Topology replicated_topology(const World& world) {
  std::vector<Endpoint> members;
  std::vector<Endpoint> sentinels;
  for (std::size_t host = 0; host < world.hosts(); ++host) {
    (host < world.replication()->members ? members : sentinels).push_back(endpoint_of(host));
  }
  return sentinels.empty() ? on_one_server(members) : on_sentinels(sentinels, kMasterName);
}

// Servers of their own, which know slots by their number, or a cluster.
Topology topology_of(const World& world, bool slots_apart) {
  if (world.replication()) {
    Topology topology = replicated_topology(world);
    topology.place_of = [slots_apart](std::uint16_t slot) {
      return Place{0, slots_apart ? slot : std::uint16_t{0}};
    };
    return topology;
  }
  Topology topology;
  for (std::size_t host = 0; host < world.hosts(); ++host) {
    topology.servers.push_back({endpoint_of(host)});
  }
  topology.place_of = [&world, slots_apart](std::uint16_t slot) {
    const std::size_t host = world.home_of(slot);
    return Place{host, slots_apart ? slot : static_cast<std::uint16_t>(host)};
  };
  topology.deployment = world.is_a_cluster() ? Deployment::kCluster : Deployment::kSingle;
  return topology;
}

}  // namespace

std::string client_of(int number) {
  std::string id = std::string(kIdPrefix) + std::to_string(number);
  id.resize(22, '.');
  return id;
}

Identity identity_of(int number, bool in_cluster) {
  const std::string id = client_of(number);
  return {id, "belay:", std::to_string(100 + number) + " simhost process", "secret of " + id,
          in_cluster};
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
      dialect_(identity_of(number, world.is_a_cluster()), config_.request_timeout),
      core_(
          config_, dialect_, topology_of(world, slots_apart),
          [this](const Endpoint& endpoint) { return dial(endpoint); }, log_, *this, last_hold_,
          world.random()) {
  able_since_ = world_.now();
  core_.start(clock());
  arm();
}

// One for each host. A node that is let go of closes it, and the next one opens it again. Of a
// master that is still to be found there is but a name.
std::shared_ptr<Link> Process::dial(const Endpoint& endpoint) {
  for (std::size_t host = links_.size(); host < world_.hosts(); ++host) {
    listen_to(links_.emplace_back(world_, number_, host));
  }
  for (SimLink& link : links_) {
    if (link.endpoint().display() == endpoint.display()) {
      return {std::shared_ptr<void>(), &link};
    }
  }
  return std::make_shared<SimLink>(world_, number_, links_.size(), endpoint);
}

void Process::listen_to(SimLink& link) {
  link.handlers.opened = [this, &link](int id) {
    deliver([this, &link, id] {
      if (link.connection() == id) {
        step([&](Micros now) { core_.peer(link)->on_link_open(now); });
      }
    });
  };
  link.handlers.bytes = [this, &link](int id, std::string arrived, Micros sent, Micros written) {
    deliver([this, &link, id, sent, written, bytes = std::move(arrived)] {
      if (link.connection() == id) {
        world_.answered(number_, sent);
        overhear(link, bytes, written);
        // Whoever reads the clock has read the bytes before, wherever it waits then.
        const Micros earliest = clock_at(written);
        step([&](Micros now) { core_.peer(link)->on_link_bytes(bytes, std::max(now, earliest)); });
      }
    });
  };
  link.handlers.closed = [this, &link](int id) {
    deliver([this, &link, id] {
      if (link.connection() == id) {
        step([&](Micros now) {
          core_.peer(link)->on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now);
        });
      }
    });
  };
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

Status Process::submit(std::int64_t submission,
                       const std::function<Status(std::int64_t tag)>& action) {
  const std::int64_t tag = tags_.give(submission);
  Status status = action(tag);
  if (!status.ok()) {
    tags_.take_back(tag);
  }
  return status;
}

void Process::on_event(Event event) {
  event.tag = tags_.take_back(event.tag);
  observer_.on_event(*this, event);
}

// What is pushed to the engine. Messages only from the server of their name, once the connection is
// up: what somebody sends again by another one may overtake what its own server has said before.
void Process::overhear(const SimLink& link, std::string_view bytes, Micros written) {
  if (!observer_.on_message || !bytes.starts_with('>')) {
    return;
  }
  ReplyReader reader;
  static_cast<void>(reader.feed(bytes, [this, &link, written](Reply push) {
    if (push.at(0).text() == "invalidate") {
      const Reply keys = push.at(1);
      observer_.on_invalidated(*this, link.host, keys.is_null() ? "" : keys.at(0).text(), written);
    }
    if (push.at(0).text() != "message") {
      return true;
    }
    const auto message = dialect_.read_message(push.at(2).text());
    if (message && is_up(link) &&
        world_.host_of(key_of("belay:", 'r', message->name)) == link.host) {
      observer_.on_message(*this, *message);
    }
    return true;
  }));
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
  note_up();
  flush();
  observer_.after_step(*this);
  arm();
}

bool Process::is_up(const SimLink& link) {
  const Node* const node = core_.node(link);
  return node != nullptr && node->up() && node->link().get() == &link;
}

void Process::note_up() {
  up_since_.resize(links_.size(), kNever);
  for (std::size_t host = 0; world_.replication() && host < links_.size(); ++host) {
    Micros& since = up_since_[host];
    since = !is_up(links_[host]) ? kNever : since == kNever ? world_.now() : since;
  }
}

Micros Process::up_since() const {
  const std::size_t master = world_.replication()->master;
  return master < up_since_.size() ? up_since_[master] : kNever;
}

void Process::flush() {
  for (SimLink& link : links_) {
    link.flush();
  }
}

void Process::call(const std::function<void(Engine&, Micros now)>& action) {
  if (alive_ && !paused_) {
    step([this, &action](Micros now) { action(core_.engine(), now); });
  }
}

std::optional<Engine::HoldView> Process::look(std::int64_t hold) {
  const Engine::HoldView view = core_.engine().look(hold, clock());
  flush();  // whatever was due by now has been sent
  return view;
}

void Process::arm() {
  const Micros next = core_.next_deadline();
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
      step([this](Micros now) { core_.on_timer(now); });
    }
  });
}

void Process::pause(Micros duration) {
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
  const auto fire = [this] { step([this](Micros now) { core_.on_timer(now); }); };
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
  for (SimLink& link : links_) {
    link.close();
  }
}

void Process::cut(bool ghosts, bool told) {
  const std::size_t host = world_.some_host();
  if (!links_.empty() && links_[host].connected()) {
    world_.cut(links_[host].connection(), ghosts, told);
  }
}

}  // namespace belay::sim
