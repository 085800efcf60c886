// A worker's history: a line for whatever it calls, gets and is told, on the one clock of the host.
// A line is written at once, so that a process that is killed leaves all that it knew.
#ifndef CHAOS_HISTORY_H
#define CHAOS_HISTORY_H

#include <stdint.h>

int64_t now_ns(void);
// Writes `at actor what`. Any thread.
void record(int64_t at_ns, int actor, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
