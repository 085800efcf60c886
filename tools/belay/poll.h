// The one place where this program sleeps.
#ifndef BELAY_TOOLS_POLL_H
#define BELAY_TOOLS_POLL_H

#include <cstdint>
#include <initializer_list>

// Wait until one of the descriptors (-1: none) is readable or `timeout_ms` (-1: none) has passed.
void poll_for(std::initializer_list<int> fds, std::int64_t timeout_ms);
// Milliseconds that never go backwards, for deadlines of this program's own.
std::int64_t now_ms();

#endif
