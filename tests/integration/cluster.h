// Three masters of a cluster, which every test of the driver `cluster` is given instead of one
// server: it is the first of them. A client of that server's URL is told of the nodes of the
// cluster and of their slots, which no URL can say yet.
#pragma once

#include <stdint.h>

#include "server.h"

enum { kMasters = 3, kSlots = 16384, kSlotsEach = kSlots / kMasters + 1 };

// Of how many masters clients are told from now on; kMasters at the beginning. They believe that
// the last of these has all slots of the others.
extern int named_masters;

Server* cluster_master(int at);
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
// Takes along what is left, and ends.
void move_end(const Move* move);
