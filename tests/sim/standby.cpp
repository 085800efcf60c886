#include "sim/standby.h"

#include <string>

namespace belay::sim {

std::size_t Standby::another_master(std::size_t than) const {
  std::size_t next = (than + 1) % world_.hosts();
  return next == host_ ? (next + 1) % world_.hosts() : next;
}

void Standby::take_over(bool loses) {
  Random& random = world_.random();
  const std::size_t from = another_master(random.next() % world_.hosts());
  const Fate fate = loses ? (world_.chance(50) ? Fate::kDies : Fate::kStays) : Fate::kYields;
  const Micros lag = world_.span(kMillisecond, 100 * kMillisecond);
  take_over(from, fate, lag, world_.span(kMillisecond, 1500 * kMillisecond));
}

void Standby::take_over(std::size_t from, Fate fate, Micros lag, Micros between) {
  const bool both_run = !world_.server_stopped(from) && !world_.server_stopped(host_);
  if (under_way_ || world_.places().takes_part_in_moves(from) ||
      (fate == Fate::kYields && !both_run)) {
    return;
  }
  world_.server(host_).copy_data(world_.server(from));
  if (fate == Fate::kYields) {
    promote(from, fate, 0);
    return;
  }
  under_way_ = true;
  world_.places().hold_moves(true);
  world_.at(world_.now() + lag, [this, from, fate, between] {
    if (fate == Fate::kStays) {
      promote(from, fate, between);
      return;
    }
    world_.trace("host " + std::to_string(from) + " dies");
    world_.go_down(from);
    world_.at(world_.now() + between,
              [this, from, fate] { promote(from, fate, world_.span(1, kSecond)); });
  });
}

void Standby::promote(std::size_t from, Fate fate, Micros between) {
  world_.trace("host " + std::to_string(host_) + " takes the place of host " +
               std::to_string(from));
  world_.server(host_).promote();
  world_.places().replace(from, host_);
  host_ = from;
  if (fate == Fate::kYields) {
    demote(from);
    return;
  }
  world_.lose_data(from);
  world_.at(world_.now() + between, [this, from] {
    world_.end_fences(from);
    demote(from);
  });
}

void Standby::demote(std::size_t host) {
  world_.trace("host " + std::to_string(host) + " is a replica");
  world_.places().tell();
  world_.server(host).demote();
  world_.server(host).give_away();
  world_.come_back(host);
  world_.places().hold_moves(false);
  under_way_ = false;
}

}  // namespace belay::sim
