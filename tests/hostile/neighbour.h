// A neighbour on the same server: a user with every right on channels and none on keys. It learns
// everybody's inbox, overhears what is sent there, and publishes what it likes.
#pragma once

#include <stdint.h>

#include "server.h"

struct redisContext;

enum { kMostHeard = 64, kLongestHeard = 512 };

typedef struct Heard {
  char channel[96];
  char payload[kLongestHeard];
  int64_t size;
} Heard;

typedef struct Neighbour {
  struct redisContext* speaks;
  struct redisContext* listens;
  Heard heard[kMostHeard];
  int heard_count;
} Neighbour;

// A message to be made, as lib/scripts/README.md has it.
typedef struct Forgery {
  int kind;
  int of;  // the kind of the name
  int64_t epoch;
  int64_t number;   // of a grant, the fence; of next, when to look; of passed, the generation
  const char* mac;  // 40 characters; NULL: none
  const char* name;
} Forgery;

// Makes the user, and its connections.
void neighbour_come(Neighbour* neighbour, const Server* server);
void neighbour_go(Neighbour* neighbour);
// Hears what has been sent since, the latest of it.
void neighbour_listen(Neighbour* neighbour);
// Publishes `size` bytes to every inbox.
void neighbour_publish(Neighbour* neighbour, const char* payload, int64_t size);
// The same, of a message of that kind.
void neighbour_forge(Neighbour* neighbour, const Forgery* forgery);
// Every kind of message about `name` and each epoch up to `epochs`, as every kind of name, and what
// was heard, to whom it was sent and to all the others.
void neighbour_forge_everything(Neighbour* neighbour, const char* name, int64_t epochs);
