// A master and two replicas. A test starts the replicas beside its server, which is the master at
// the beginning.
#pragma once

#include "server.h"

enum { kHosts = 3 };

typedef struct Hosts {
  Server* all[kHosts];  // the first is the test's server
  Server replicas[kHosts - 1];
} Hosts;

// Starts them and waits until they have a copy of the master.
void hosts_launch(Hosts* hosts, Server* server);
void hosts_end(Hosts* hosts);

// Makes a host a replica of what is at that port.
void host_follow(const Server* host, uint16_t port);
// Waits until a replica is connected to its master.
void host_await_link(const Server* replica);
// Waits until a replica has what its master has written so far.
void host_await_copy(const Server* master, const Server* replica);
