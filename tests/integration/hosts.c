#include "hosts.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

void host_follow(const Server* host, uint16_t port) {
  char text[16];
  snprintf(text, sizeof text, "%d", port);
  server_tell(host, "REPLICAOF", "127.0.0.1", text, NULL);
}

void host_await_link(const Server* replica) {
  EVENTUALLY(strstr(server_ask(replica, "INFO", "replication", NULL), "master_link_status:up") !=
             NULL);
}

void hosts_launch(Hosts* hosts, Server* server) {
  hosts->all[0] = server;
  for (int i = 0; i < kHosts - 1; ++i) {
    hosts->all[i + 1] = &hosts->replicas[i];
    server_launch(hosts->all[i + 1], server->program);
  }
  for (int i = 0; i < kHosts; ++i) {
    server_tell(hosts->all[i], "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL);
  }
  for (int i = 1; i < kHosts; ++i) {
    host_follow(hosts->all[i], server->port);
  }
  for (int i = 1; i < kHosts; ++i) {
    host_await_link(hosts->all[i]);
  }
}

void hosts_end(Hosts* hosts) {
  for (int i = 0; i < kHosts - 1; ++i) {
    launch_end(&hosts->replicas[i].launch);
  }
}

void host_await_copy(const Server* master, const Server* replica) {
  static int copies = 0;
  char marker[16];
  snprintf(marker, sizeof marker, "%d", ++copies);
  server_tell(master, "SET", "marker", marker, NULL);
  EVENTUALLY(strcmp(server_ask(replica, "GET", "marker", NULL), marker) == 0);
}
