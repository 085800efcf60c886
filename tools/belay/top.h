// belay top: who holds what and who waits, again and again: a screen on a terminal, else a block of
// lines or a JSON object each time.
#ifndef BELAY_TOOLS_TOP_H
#define BELAY_TOOLS_TOP_H

#include <cstdint>
#include <string>

#include "server.h"
#include "survey.h"

struct TopOptions {
  ServerOptions server;
  std::string pattern = "*";
  std::int64_t interval_ms = 2000;
  std::int64_t limit = 200;  // names inspected at each look
  std::int64_t count = 0;    // looks; 0: no end
  Order order = Order::kWaiters;
  bool json = false;
};

// Returns the program's exit code.
int top(const TopOptions& options);

#endif
