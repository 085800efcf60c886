// Inspects many names at once: a bounded number is in flight, and answers come in any order.
#ifndef BELAY_TOOLS_LIST_H
#define BELAY_TOOLS_LIST_H

#include <belay/belay.h>

#include <string>
#include <vector>

#include "report.h"

struct InUse {
  std::vector<Entry> entries;  // by name; without those that nobody holds or waits for any more
  int exit_code = 0;
};

InUse inspect_all(belay_client* client, std::vector<std::string> names);

#endif
