#include "sim/replicas.h"

#include <algorithm>
#include <string>

namespace belay::sim {

Replicas::Replicas(World& world) : world_(world), seen_(world.hosts() - first_sentinel()) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    world_.server(first_sentinel() + i).become_a_sentinel([this, i] {
      const Endpoint master = endpoint_of(seen_[i].master);
      return MasterSeen{kMasterName, master.host, master.port, seen_[i].epoch};
    });
  }
}

void Replicas::fail_over() {
  Random& random = world_.random();
  const std::size_t members = world_.replication()->members;
  Failover how;
  how.to = (world_.replication()->master +
            static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(members) - 1))) %
           members;
  how.lag = world_.span(kMillisecond, 100 * kMillisecond);
  how.fate = static_cast<Fate>(random.between(0, 2));
  how.between = world_.chance(50) ? 0 : world_.span(kMillisecond, 1500 * kMillisecond);
  how.slowest = world_.span(kMillisecond, kSecond);
  how.cut_off = world_.chance(30) ? std::optional(some_sentinel()) : std::nullopt;
  fail_over(how);
}

void Replicas::fail_over(const Failover& how) {
  if (under_way_) {
    return;
  }
  under_way_ = true;
  const std::size_t from = world_.replication()->master;
  world_.server(how.to).copy_data(world_.server(from));
  world_.at(world_.now() + how.lag, [this, how, from] {
    if (how.fate != Fate::kDies) {
      promote(how, from);
      return;
    }
    world_.trace("host " + std::to_string(from) + " dies");
    world_.go_down(from);
    world_.at(world_.now() + how.between, [this, how, from] { promote(how, from); });
  });
}

void Replicas::promote(const Failover& how, std::size_t from) {
  Replication& replication = *world_.replication();
  world_.trace("host " + std::to_string(how.to) + " is the master, without the latest writes");
  world_.server(how.to).promote();
  world_.lose_data(from);
  replication.master = how.to;
  replication.divided = how.fate != Fate::kDies;
  now_ = {how.to, now_.epoch + 1};
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (how.cut_off == i) {
      continue;
    }
    const Micros knows_at = world_.now() + world_.span(100, std::max<Micros>(101, how.slowest));
    world_.at(knows_at, [this, i, seen = now_] { tell(i, seen); });
  }
  const Micros goes_on = how.fate == Fate::kDies ? world_.span(1, kSecond) : how.between;
  world_.at(world_.now() + goes_on, [this, from, fate = how.fate] { demote(from, fate); });
}

void Replicas::demote(std::size_t host, Fate fate) {
  world_.trace("host " + std::to_string(host) + " is a replica");
  world_.end_fences(host);
  world_.server(host).demote();
  world_.come_back(host);
  if (fate == Fate::kCutsAll) {
    world_.cut_everybody(host);
  }
  world_.replication()->divided = false;
  under_way_ = false;
}

// Sentinels believe whoever knows of a later failover.
void Replicas::tell(std::size_t sentinel, Seen seen) {
  if (seen.epoch <= seen_[sentinel].epoch) {
    return;
  }
  const std::size_t host = first_sentinel() + sentinel;
  const auto address = [](std::size_t of) {
    return " " + endpoint_of(of).host + " " + std::to_string(endpoint_of(of).port);
  };
  world_.trace("sentinel " + std::to_string(sentinel) + " names host " +
               std::to_string(seen.master));
  if (!world_.server_stopped(host)) {
    world_.server(host).hear("+switch-master",
                             kMasterName + address(seen_[sentinel].master) + address(seen.master));
  }
  seen_[sentinel] = seen;
}

std::size_t Replicas::some_sentinel() {
  return seen_.empty() ? 0 : static_cast<std::size_t>(world_.random().next() % seen_.size());
}

void Replicas::lie() {
  const auto host = static_cast<std::size_t>(world_.random().next() % world_.hosts());
  lie(some_sentinel(), host, world_.random().between(-1, 2), world_.span(kMillisecond, kSecond));
}

void Replicas::lie(std::size_t sentinel, std::size_t host, std::int64_t later, Micros duration) {
  if (seen_.empty()) {
    return;
  }
  const Seen lie{host, now_.epoch + later};
  world_.trace("sentinel " + std::to_string(sentinel) + " says that host " +
               std::to_string(lie.master) + " is the master since " + std::to_string(lie.epoch));
  seen_[sentinel] = lie;
  world_.at(world_.now() + duration, [this, sentinel] {
    world_.trace("sentinel " + std::to_string(sentinel) + " says what is true");
    seen_[sentinel] = now_;
  });
}

}  // namespace belay::sim
