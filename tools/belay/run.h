// belay run: hold a lock while a command runs.
#ifndef BELAY_TOOLS_RUN_H
#define BELAY_TOOLS_RUN_H

#include "run_options.h"

// Returns the program's exit code.
int run(const RunOptions& options);

#endif
