// Passes bytes between clients and a port, whatever they mean, as a process of its own: one by one,
// or cut after so many. Ends with the test's process. Best started before the test's first client.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RelayState {
  _Atomic(bool) one_by_one;
  // Of what the port sends on a connection; then it is cut. -1: never.
  _Atomic(int64_t) cut_after;
  _Atomic(int64_t) cuts;
} RelayState;

typedef struct Relay {
  RelayState* state;
  uint16_t port;  // of its own
} Relay;

Relay relay_start(uint16_t port);
