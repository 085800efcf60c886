// belay latch set, down, wait and show: a count that others wait for to come to nothing.
#ifndef BELAY_TOOLS_LATCH_H
#define BELAY_TOOLS_LATCH_H

#include <cstdint>
#include <string>

#include "server.h"

struct LatchOptions {
  ServerOptions server;
  std::string verb;  // set, down, wait or show
  std::string name;
  std::int64_t count = 1;     // set: from where; down: by how much
  std::int64_t ttl_ms = 0;    // set: 0: none
  std::int64_t wait_ms = -1;  // wait: -1: without limit; 0: one look
  bool json = false;          // down, show
};

// Returns the program's exit code.
int latch(const LatchOptions& options);

#endif
