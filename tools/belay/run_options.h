// What belay run was asked for, as its halves read it.
#ifndef BELAY_TOOLS_RUN_OPTIONS_H
#define BELAY_TOOLS_RUN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exit_codes.h"
#include "server.h"

struct RunOptions {
  ServerOptions server;
  std::vector<std::string> names;
  std::vector<std::string> command;
  bool shared = false;
  std::int64_t permits = 0;  // 0: a lock
  std::int64_t limit = 0;    // of permits, with which they go
  std::optional<std::string> identity;
  std::int64_t lock_delay_ms = 0;
  std::int64_t wait_ms = -1;  // -1: without limit; 0: one try
  std::int64_t kill_after_ms = 5000;
  int conflict_code = kExitConflict;
  bool verbose = false;
};

#endif
