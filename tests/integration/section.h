// A section that one holder at a time may be in, shared by competing processes. A process that the
// machine forgot for longer than its lease may come in late, as no lock can prevent: then it has
// lost its hold, knows it, and its fence is the lower one. Everything else is a violation.
#pragma once

#include <belay/belay.h>
#include <stdatomic.h>
#include <stdint.h>

enum { kMaxLate = 256 };

typedef struct Fences {
  _Atomic(int) count;
  _Atomic(int64_t) fences[kMaxLate];
} Fences;

typedef struct Section {
  _Atomic(int64_t) inside;   // the fence of whoever is inside; 0: nobody
  _Atomic(int64_t) highest;  // of those who were
  _Atomic(int64_t) rounds;
  Fences late;  // of those who met a later holder
  Fences lost;  // of those whose hold had ended when they left
} Section;

// In shared memory.
Section* section_new(void);
// Goes through with the hold, and releases it.
void section_pass(Section* section, belay_client* client, int64_t hold);
// At the end: nobody was in it who should not have been.
void section_check(const Section* section);
