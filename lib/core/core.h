// A client without its threads and sockets: router, nodes and engine, wired together. Sans-IO: what
// the links bring and the time come in; bytes for the links, events and the next deadline go out.
// The client runs it, and simulations, fuzzers and tests do alike. Used inside the client's
// monitor; owned by the client.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/config.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "net/link.h"
#include "route/router.h"

namespace belay {

class Core {
 public:
  // All but `random` outlives it.
  Core(const Config& config, const Dialect& dialect, Topology topology, Dial dial, Log& log,
       EngineEvents& events, std::atomic<std::int64_t>& last_hold, Random& random);

  // What the nodes say goes to the engine, or by way of who listens in between.
  void start(Micros now) { router_.start(engine_, now); }

  void start(NodeEvents& listener, Micros now) { router_.start(listener, now); }

  void stop() { router_.stop(); }

  void on_timer(Micros now);
  [[nodiscard]] Micros next_deadline() const;

  // Whoever hears of what happens to a link; null: it was let go of.
  Peer* peer(const Link& link) { return router_.peer_at(link); }

  // Of the server behind a link.
  Node* node(const Link& link) { return router_.node_at(link); }

  Engine& engine() { return engine_; }

  Router& router() { return router_; }

 private:
  Router router_;
  Engine engine_;
};

}  // namespace belay
