// Hears of a node, and counts.
#pragma once

#include <cstdint>
#include <string_view>

#include "route/node_events.h"

namespace belay {

class Counted final : public NodeEvents {
 public:
  void on_node_up(Node&, Micros) override { ++up; }

  void on_node_down(Node&, Micros) override { ++down; }

  void on_node_refused(Node&, Micros) override { ++refused; }

  void on_node_reply(Node&, std::uint64_t, Reply, Micros, Micros) override {}

  void on_node_message(Node&, std::string_view, Micros) override {}

  void on_node_flushed(Node&, Micros) override {}

  void on_node_changed(Node&, std::string_view, Micros) override {}

  void on_node_left(Node&, std::uint16_t, Micros) override {}

  void on_node_clock(Node&, Micros) override {}

  void on_node_slots(Node&, const std::vector<SlotRange>&, Micros) override {}

  int up = 0;
  int down = 0;
  int refused = 0;
};

}  // namespace belay
