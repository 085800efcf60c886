// The one place where this program sleeps.
#ifndef BELAY_TOOLS_POLL_H
#define BELAY_TOOLS_POLL_H

#include <cstdint>

// Wait until the client has an event, a signal has arrived or `timeout_ms` (-1: none) has passed.
void poll_for(int client_fd, int signal_fd, std::int64_t timeout_ms);
// Milliseconds that never go backwards, for deadlines of this program's own.
std::int64_t now_ms();

#endif
