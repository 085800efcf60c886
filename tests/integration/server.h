// Servers that a test starts itself: Redis or Valkey on a free port of 127.0.0.1 and a unix socket,
// without persistence, ended when the test's process ends. And a connection of our own to them, to
// say what no client of the library would say.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Server {
  const char* program;     // redis-server or valkey-server
  const char* options[8];  // further ones, until NULL
  char directory[64];
  volatile int64_t* ahead_s;  // of its own clock (step_clock.c); NULL: the machine's
  char url[64];
  char unix_url[128];
  uint16_t port;
  pid_t pid;  // 0: not running
} Server;

// Gives the server a port and a directory; it does not run yet.
void server_prepare(Server* server, const char* program, const char* directory);
// Starts it, empty, where it was, and waits until it answers.
void server_start(Server* server);
// Ends it as a crash would.
void server_kill(Server* server);
// Stops and continues it as a whole.
void server_pause(Server* server);
void server_continue(Server* server);

// Gives the server a wall clock of its own, from its next start on. Then *server->ahead_s may be
// set at any moment to how many seconds that is ahead of the machine's.
void server_prepare_clock(Server* server);

// Sends one command (words until NULL) and gives its reply: integers and strings as text, the
// elements of an array one a line, an error with its leading '-'. Fails the test where none comes.
const char* server_ask(const Server* server, const char* word, ...) __attribute__((sentinel));
// The same as a user whose password is s3cret.
const char* server_ask_as(const Server* server, const char* user, const char* word, ...)
    __attribute__((sentinel));
// The same for a reply that is to be OK.
void server_tell(const Server* server, const char* word, ...) __attribute__((sentinel));
// Cuts every connection that clients have.
void server_cut_clients(const Server* server);
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
