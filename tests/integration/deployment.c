#include "deployment.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "trio.h"

// A test that stops its server for a while, or kills it and starts it again, speaks to that one
// afterwards.
static void make_patient(const Server* sentinel) {
  server_tell(sentinel, "SENTINEL", "SET", "mymaster", "down-after-milliseconds", "3600000", NULL);
}

void deploy(Server* server, const char* program) {
  static Trio trio;
  if (getenv("BELAY_TEST_CLUSTER") != NULL) {
    cluster_launch(server, program);
    return;
  }
  server_launch(server, program);
  if (getenv("BELAY_TEST_SENTINELS") == NULL) {
    return;
  }
  trio_launch(&trio, server, NULL);
  server_tell(server, "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
  for (int i = 0; i < kSentinels; ++i) {
    make_patient(&trio.sentinels[i]);
  }
  snprintf(server->url, sizeof server->url, "%s", trio.url);
}
