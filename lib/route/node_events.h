// What a node tells of its server, inside the client's monitor.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/resp.h"
#include "route/slot_map.h"

namespace belay {

class Node;

class NodeEvents {
 public:
  NodeEvents() = default;
  virtual ~NodeEvents() = default;
  NodeEvents(const NodeEvents&) = delete;
  NodeEvents& operator=(const NodeEvents&) = delete;

  // Commands may be sent from now on. Whatever was sent before and not answered may have happened,
  // there or on the server that was ours then.
  virtual void on_node_up(Node& node, Micros now) = 0;
  virtual void on_node_down(Node& node, Micros now) = 0;
  // The server will not have us; it is asked again.
  virtual void on_node_refused(Node& node, Micros now) = 0;
  virtual void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent,
                             Micros now) = 0;
  // A message came to our inbox.
  virtual void on_node_message(Node& node, std::string_view payload, Micros now) = 0;
  // The server's data was wiped.
  virtual void on_node_flushed(Node& node, Micros now) = 0;
  // Somebody else wrote or deleted a watched key, or the server did. It is watched no more.
  virtual void on_node_changed(Node& node, std::string_view key, Micros now) = 0;
  // A node of a cluster has said who has which slots, maybe before it is up.
  virtual void on_node_slots(Node& node, const std::vector<SlotRange>& map, Micros now) = 0;
  // A slot is not on it any more.
  virtual void on_node_left(Node& node, std::uint16_t slot, Micros now) = 0;
  // A clock sample that was asked for has come.
  virtual void on_node_clock(Node& node, Micros now) = 0;
};

}  // namespace belay
