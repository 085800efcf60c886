// Connections to a server that have ended: what was sent on them may still arrive, until a new one
// has killed them (rule 13 of lib/README.md). Values; owned by a node.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace belay {

// A run of a server, as far as it is known, and where it was.
struct ServerRun {
  std::string run_id;
  std::string where;

  // Where the servers do not tell their runs, an endpoint is taken for a server.
  [[nodiscard]] bool may_be(const ServerRun& other) const;
};

class OldConnections {
 public:
  void add(const ServerRun& server, std::int64_t id);

  [[nodiscard]] bool empty() const { return old_.empty(); }

  // What is to be killed on that server: only on the very run are the ids ours.
  [[nodiscard]] std::vector<std::int64_t> of(const ServerRun& server) const;

  // Whether there were any of what may be that server.
  bool forget(const ServerRun& server);

 private:
  struct OldConnection {
    ServerRun server;
    std::int64_t id = 0;
  };

  std::deque<OldConnection> old_;
};

}  // namespace belay
