// A master, two replicas, and three sentinels that watch it as "mymaster" and take two seconds to
// notice its death. A test starts them beside its server, which is the master at the beginning.
#pragma once

#include "hosts.h"

enum { kSentinels = 3 };

typedef struct Trio {
  Hosts hosts;
  Server sentinels[kSentinels];
  char url[256];  // redis-sentinel://...
} Trio;

// Starts them and waits until all know each other. `password`: of the sentinels; NULL: none.
void trio_launch(Trio* trio, Server* server, const char* password);
void trio_end(Trio* trio);

// The host that a sentinel takes for the master.
Server* trio_master(Trio* trio, int sentinel);
// Has the sentinels make another host the master, and waits until all of them know.
void trio_fail_over(Trio* trio);
// Waits until all sentinels name another master than that host.
void trio_await_other(Trio* trio, const Server* host);
