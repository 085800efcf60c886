#include "trio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

// A sentinel writes to its file.
static void launch_sentinel(Trio* trio, int at, const char* password) {
  const Server* const master = trio->hosts.all[0];
  char path[256];
  snprintf(path, sizeof path, "%s/sentinel%d.conf", master->directory, at);
  FILE* const file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file,
          "sentinel monitor mymaster 127.0.0.1 %d 2\n"
          "sentinel down-after-milliseconds mymaster 2000\n"
          "sentinel failover-timeout mymaster 6000\n",
          master->port);
  if (password != NULL) {
    fprintf(file, "requirepass %s\nsentinel sentinel-pass %s\n", password, password);
  }
  CHECK(fclose(file) == 0);
  server_launch_with(&trio->sentinels[at],
                     (const char* const[]){master->program, path, "--sentinel", NULL});
}

// What it says of the master: `field` and its value stand one a line.
static int number_of(const Server* sentinel, const char* field) {
  const char* const found =
      strstr(server_ask(sentinel, "SENTINEL", "MASTER", "mymaster", NULL), field);
  return found == NULL ? -1 : atoi(found + strlen(field));
}

static void name_url(Trio* trio) {
  snprintf(trio->url, sizeof trio->url,
           "redis-sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/mymaster",
           trio->sentinels[0].port, trio->sentinels[1].port, trio->sentinels[2].port);
}

void trio_launch(Trio* trio, Server* server, const char* password) {
  hosts_launch(&trio->hosts, server);
  for (int i = 0; i < kSentinels; ++i) {
    launch_sentinel(trio, i, password);
  }
  for (int i = 0; password == NULL && i < kSentinels; ++i) {
    EVENTUALLY(number_of(&trio->sentinels[i], "num-slaves\n") == kHosts - 1);
    EVENTUALLY(number_of(&trio->sentinels[i], "num-other-sentinels\n") == kSentinels - 1);
  }
  name_url(trio);
}

void trio_end(Trio* trio) {
  for (int i = 0; i < kSentinels; ++i) {
    launch_end(&trio->sentinels[i].launch);
  }
  hosts_end(&trio->hosts);
}

Server* trio_master(Trio* trio, int sentinel) {
  const char* const reply = server_ask(&trio->sentinels[sentinel], "SENTINEL",
                                       "GET-MASTER-ADDR-BY-NAME", "mymaster", NULL);
  const char* const port = strchr(reply, '\n');
  for (int i = 0; port != NULL && i < kHosts; ++i) {
    if (atoi(port) == trio->hosts.all[i]->port) {
      return trio->hosts.all[i];
    }
  }
  FAIL("the sentinel names none of the hosts: %s", reply);
}

void trio_await_other(Trio* trio, const Server* host) {
  for (int i = 0; i < kSentinels; ++i) {
    EVENTUALLY(trio_master(trio, i) != host);
  }
}

// It is refused while the sentinels know no replica that has answered lately.
void trio_fail_over(Trio* trio) {
  const Server* const before = trio_master(trio, 0);
  EVENTUALLY(
      strcmp(server_ask(&trio->sentinels[0], "SENTINEL", "FAILOVER", "mymaster", NULL), "OK") == 0);
  trio_await_other(trio, before);
}
