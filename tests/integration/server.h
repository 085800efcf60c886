// Servers that a test starts itself, by ../support/launch_server.py. And a connection of our own to
// them, to say what no client of the library would say.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/launch.h"

typedef struct Server {
  Launch launch;
  const char* program;        // redis-server or valkey-server
  const char* options[8];     // further ones of its next start, until NULL
  volatile int64_t* ahead_s;  // of its own clock (step_clock.c); NULL: the machine's
  const char* directory;      // its own; a test may put files there
  char url[256];
  char unix_url[128];
  uint16_t port;
  uint16_t tls_port;  // where BELAY_TEST_TLS is set: its url is that port's
} Server;

// Starts a server and waits until it answers.
void server_launch(Server* server, const char* program);
// The same with options: the program and these, until NULL.
void server_launch_with(Server* server, const char* const* words);
// "host:port", as clients know it that its url leads there.
const char* server_address(const Server* server);
// Ends it as a crash would.
void server_kill(Server* server);
// Starts it again, empty, where it was, and waits until it answers.
void server_start(Server* server);
// Stops and continues it as a whole.
void server_pause(Server* server);
void server_continue(Server* server);

// Launches the server anew, elsewhere, with a wall clock of its own. Then *server->ahead_s may be
// set at any moment to how many seconds that is ahead of the machine's.
void server_relaunch_with_clock(Server* server);

// Sends one command (words until NULL) and gives its reply: integers and strings as text, the
// elements of an array one a line, an error with its leading '-'. Asks where MOVED says. Fails the
// test where none comes.
const char* server_ask(const Server* server, const char* word, ...) __attribute__((sentinel));
// The same as a user whose password is s3cret.
const char* server_ask_as(const Server* server, const char* user, const char* word, ...)
    __attribute__((sentinel));
// The same for a reply that is to be OK.
void server_tell(const Server* server, const char* word, ...) __attribute__((sentinel));
// Cuts every connection that clients have.
void server_cut_clients(const Server* server);
// A Redis 6.2, without functions and shard channels.
bool server_is_before_7(const Server* server);
// How many connections the library has there.
int server_connections(const Server* server);
// How many scripts it has run since CONFIG RESETSTAT.
int64_t server_scripts_run(const Server* server);

// A free port of 127.0.0.1, below the range from which the system takes its own: a client that
// tries to reach one of those may by chance connect to itself.
uint16_t free_port(void);
// A socket that listens there.
int listen_on(uint16_t port);
// A connection to there; -1 if nobody listens.
int dial_port(uint16_t port);

// A server that answers every connection's first bytes with `answer` and closes; "" never answers.
// Returns its URL.
const char* fake_server(const char* answer);
