// Which server answers for a slot. The seam at which other topologies will come in. Used inside the
// client's monitor.
#pragma once

#include <cstdint>

#include "route/node.h"

namespace belay {

class Router {
 public:
  Router() = default;
  virtual ~Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  virtual Node& node_of(std::uint16_t slot) = 0;
  // Slots of one group are on one server, and may be named by one script.
  virtual std::uint16_t group_of(std::uint16_t slot) = 0;
};

// One server for everything.
class SingleRouter final : public Router {
 public:
  explicit SingleRouter(Node& node) : node_(node) {}

  Node& node_of(std::uint16_t /*slot*/) override { return node_; }

  std::uint16_t group_of(std::uint16_t /*slot*/) override { return 0; }

 private:
  Node& node_;
};

}  // namespace belay
