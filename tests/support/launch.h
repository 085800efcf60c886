// A server that launch_server.py starts, for tests in C and C++: it ends with the process that
// launched it, however that ends. Used by one thread at a time.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Launch {
  pid_t launcher;
  int commands;
  int answers;
  pid_t pid;  // of the server; 0: it is not running
  int port;
  char directory[96];  // its own; a test may put files there
  char socket[112];
} Launch;

// Starts a server and waits until it answers. `words`: the program and its further options, until
// NULL. False: it did not start, and why stands on stderr.
bool launch_start(Launch* launch, const char* const* words);
// Sends a command, words until NULL, and waits until it is done: see launch_server.py.
bool launch_tell(Launch* launch, const char* const* words);
#define LAUNCH_TELL(launch, ...) launch_tell((launch), (const char* const[]){__VA_ARGS__, NULL})
// Ends the server and removes its directory.
void launch_end(Launch* launch);

#ifdef __cplusplus
}
#endif
