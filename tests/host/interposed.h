// System calls that the tests put themselves in front of: a program's own functions come before the
// system's, also for the library. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Threads cannot be created, as where a limit is reached.
extern _Atomic(bool) threads_fail;
// The kernel is one that wipes no page in a child.
extern _Atomic(bool) wiping_fails;

// The address (127.0.0.0/8) that a name resolves to before those that it has; 0: none.
extern _Atomic(uint32_t) first_address;

// Steps the wall clock.
void step_wall_clock(int64_t seconds);
// Moves the clock that counts suspend ahead, as a suspend does. Timers that were set by it fire if
// they are due, or later still.
void suspend_for(int64_t ms, bool timers_fire);
