// A proxy between the library and a server, as a process of its own, with the faults that a network
// has: distance, cuts at a chosen moment, silence, late bytes of connections that are gone, lost
// messages. Ends with the test's process. Best started before the test makes its first client.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server.h"

// What happens to the next script call that a client sends. It happens once.
enum {
  kNoFault,
  kCutBefore,  // the call never reaches the server
  kCutDuring,  // half of it does
  kCutAfter,   // all of it does, and its reply is lost
  // The client is cut off; the server hears of nothing until let_ghosts_speak, then gets the call.
  kGhost
};

typedef struct ProxyState {
  _Atomic(int64_t) delay_us;   // of each direction
  _Atomic(bool) drops_pushes;  // but not what confirms a subscription: that is a reply
  _Atomic(bool) is_silent;     // nothing gets through, and nothing is closed
  _Atomic(int) fault;
  _Atomic(bool) let_ghosts_speak;
  // What it has done.
  _Atomic(int64_t) faults;
  _Atomic(int64_t) pushes_dropped;
  _Atomic(int64_t) ghosts_killed;  // by the server, before they spoke
  _Atomic(int64_t) ghosts_heard;
} ProxyState;

typedef struct Proxy {
  ProxyState* state;
  pid_t pid;
  char url[64];
} Proxy;

// A proxy to this server, without faults as yet.
Proxy proxy_start(const Server* server);
// Arms a fault.
void proxy_break_next(const Proxy* proxy, int fault);
