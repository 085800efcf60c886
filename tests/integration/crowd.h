// A place with room for so much, shared by competing processes: readers and a writer who fills it,
// or the permits of a semaphore. Who the machine forgot for longer than its lease may be there
// beside later ones, as no lock can prevent: then it has lost its hold. Everything else is a
// violation.
#pragma once

#include <belay/belay.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { kCrowdPlaces = 64, kMaxVisits = 8192, kMaxOverfull = 64 };

typedef struct Crowd {
  int64_t room;
  _Atomic(int64_t) visits;
  _Atomic(int64_t) most;                  // that was in use at once
  _Atomic(int64_t) inside[kCrowdPlaces];  // visit, times 2^16, and how much room it takes
  _Atomic(bool) lost[kMaxVisits];         // by visit
  _Atomic(int64_t) overfull;
  int64_t together[kMaxOverfull][kCrowdPlaces];  // the visits of each time when it was overfull
} Crowd;

// In shared memory.
Crowd* crowd_new(int64_t room);
// Goes in with the hold at a place of one's own, out again, and releases it.
void crowd_pass(Crowd* crowd, int place, int64_t units, belay_client* client, int64_t hold);
// At the end: it was never overfull by those who had a right to be there.
void crowd_check(const Crowd* crowd);
