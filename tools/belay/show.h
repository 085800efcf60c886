// belay inspect, ls and break: who holds what and who waits, in words or as JSON, one object a
// line.
#ifndef BELAY_TOOLS_SHOW_H
#define BELAY_TOOLS_SHOW_H

#include <cstdint>
#include <string>

#include "server.h"

struct ShowOptions {
  ServerOptions server;
  std::string name;            // ls: the pattern
  std::int64_t fence = 0;      // break: only a holder with this fence; 0: whoever holds it
  std::int64_t limit = 10000;  // ls: names at most
  bool json = false;
};

// Each returns the program's exit code.
int inspect(const ShowOptions& options);
int list(const ShowOptions& options);
int break_lock(const ShowOptions& options);

#endif
