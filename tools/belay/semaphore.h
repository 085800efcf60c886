// belay semaphore set and show: how many permits there are, and how many are free.
#ifndef BELAY_TOOLS_SEMAPHORE_H
#define BELAY_TOOLS_SEMAPHORE_H

#include <cstdint>
#include <string>

#include "server.h"

struct SemaphoreOptions {
  ServerOptions server;
  std::string verb;  // set or show
  std::string name;
  std::int64_t limit = 0;  // set
  bool json = false;       // show
};

// Returns the program's exit code.
int semaphore(const SemaphoreOptions& options);

#endif
