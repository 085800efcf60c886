// What the driver gives a test as its server.
#pragma once

#include "server.h"

// Starts one that stands alone; or, where BELAY_TEST_SENTINELS is set, the master of two replicas,
// whose URL is that of three sentinels, and only a test has these make another host the master; or,
// where BELAY_TEST_CLUSTER is set, the first master of a cluster.
void deploy(Server* server, const char* program);
