// Which host of a simulated cluster has which slot, and what each of them says of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "route/slot.h"
#include "sim/server.h"

namespace belay::sim {

class SlotPlaces {
 public:
  struct Move {
    std::size_t from;
    std::size_t to;
  };

  // The first hosts have a part of the slots each.
  explicit SlotPlaces(std::size_t masters);

  // The part that a slot belongs to, and so the host that has it at first.
  [[nodiscard]] std::size_t home_of(std::uint16_t slot) const { return slot / slots_each(); }

  [[nodiscard]] std::size_t owner_of(std::uint16_t slot) const;
  // Null: it goes nowhere.
  [[nodiscard]] const Move* move_of(std::uint16_t slot) const;
  // Whether it has ever been elsewhere, or is about to be.
  [[nodiscard]] bool has_moved(std::uint16_t slot) const;
  [[nodiscard]] bool takes_part_in_moves(std::size_t host) const;

  // As that host sees it.
  [[nodiscard]] SlotPlace at(std::uint16_t slot, std::size_t host) const;
  // `is_behind`: that host has missed what took place between others.
  [[nodiscard]] std::vector<SlotRun> map_at(std::size_t host, bool is_behind) const;

  // False: it is on its way, or there, or none may go now.
  bool begin_move(std::uint16_t slot, std::size_t to);
  Move end_move(std::uint16_t slot);

  void hold_moves(bool held) { are_held_ = held; }

  // A host has all slots that another one had, which does not know of it until it is told.
  // Then it follows that one.
  void replace(std::size_t host, std::size_t by);

  void tell() { is_told_ = true; }

  // The one that does not know; none: all do.
  [[nodiscard]] std::optional<std::size_t> unaware() const {
    return is_told_ ? std::nullopt : std::optional(replaced_);
  }

 private:
  struct Part {
    std::size_t host;
    std::size_t before;  // the latest replacement
  };

  [[nodiscard]] std::size_t slots_each() const { return kSlots / parts_.size() + 1; }

  // Whose part in the others' eyes it has in its own.
  [[nodiscard]] std::size_t seen_as(std::size_t host) const {
    return unaware() == host ? successor_ : host;
  }

  std::vector<Part> parts_;
  std::map<std::uint16_t, std::size_t> owners_;  // of slots that are not at home
  std::map<std::uint16_t, Move> moves_;
  bool are_held_ = false;
  // The latest replacement.
  std::size_t replaced_ = 0;
  std::size_t successor_ = 0;
  bool is_told_ = true;
};

}  // namespace belay::sim
