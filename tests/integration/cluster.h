// Three masters of a cluster, which a test is given instead of one server where BELAY_TEST_CLUSTER
// is set: it is the first of them. Its URL names that one alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "server.h"

enum { kMasters = 3, kSlots = 16384, kSlotsEach = kSlots / kMasters + 1 };

void cluster_launch(Server* server, const char* program);
Server* cluster_master(int at);
// Adds a master without slots, the last one, and gives its place among them.
int cluster_add_master(void);
// Takes the last one out again, which has no slots by now, and stops it.
void cluster_remove_master(void);
// Starts a replica of a master, as up to date as that.
void cluster_add_replica(int master, Server* replica);
// Waits until all of them are up and know where each slot is.
void cluster_await(void);

typedef char Name[64];

// Makes a name that a master has, `text` and a number.
void name_at(int master, const char* text, Name name);
// Makes another name in the slot of a name, which has no braces.
void name_beside(const char* name, Name other);
// How many scripts a master has run since the last time that it was asked.
int64_t scripts_run_at(int master);

// A slot on its way from one master to another.
typedef struct Move {
  const char* name;  // that of the slot
  int from;
  int to;
} Move;

// Begins; what is in the slot stays where it is.
void move_begin(const Move* move);
// Takes along the record of its name alone: its queue and its members stay where they are.
void move_record(const Move* move);
// Takes along whatever is in the slot, and does not end.
void move_keys(const Move* move);
// Moves the slot as a whole. False: the server cannot do that.
bool move_whole(const Move* move);
// Takes along what is left, and ends.
void move_end(const Move* move);
