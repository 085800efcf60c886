// A process that runs only where a processor has nothing else to do. The scheduler hardly lets one
// wait that mostly sleeps, but lets wait who has work: what this one misses shows how long.
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct Idler {
  pid_t pid;
  int64_t* awake_at;
} Idler;

Idler idler_start(void);
void idler_end(Idler* idler);
// In ms, by now_ms().
int64_t idler_awake_at(const Idler* idler);
