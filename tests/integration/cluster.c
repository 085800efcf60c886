#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kIdSize = 40, kMovedAtOnce = 100 };

int named_masters = kMasters;

static Server others[kMasters - 1];
static Server* first;
static char ids[kMasters][kIdSize + 1];

Server* cluster_master(int at) {
  return at == 0 ? first : &others[at - 1];
}

typedef char Number[24];

static const char* number(int64_t value, char* text) {
  snprintf(text, sizeof(Number), "%lld", (long long)value);
  return text;
}

static void launch_master(int at, const char* program) {
  server_launch_with(
      cluster_master(at),
      (const char* const[]){program, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
                            "--cluster-require-full-coverage", "no", NULL});
  Server* const master = cluster_master(at);
  Number epoch;
  Number low;
  Number high;
  const int last = (at + 1) * kSlotsEach < kSlots ? (at + 1) * kSlotsEach - 1 : kSlots - 1;
  memcpy(ids[at], server_ask(master, "CLUSTER", "MYID", NULL), kIdSize);
  server_tell(master, "CLUSTER", "SET-CONFIG-EPOCH", number(at + 1, epoch), NULL);
  server_tell(master, "CLUSTER", "ADDSLOTSRANGE", number(at * kSlotsEach, low), number(last, high),
              NULL);
}

void cluster_await(void) {
  for (int i = 0; i < kMasters; ++i) {
    EVENTUALLY(strstr(server_ask(cluster_master(i), "CLUSTER", "INFO", NULL),
                      "cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                      "cluster_slots_ok:16384") != NULL);
  }
}

// What the driver and the tests call server_launch.
void __wrap_server_launch(Server* server, const char* program);

void __wrap_server_launch(Server* server, const char* program) {
  first = server;
  for (int i = 0; i < kMasters; ++i) {
    launch_master(i, program);
  }
  for (int i = 1; i < kMasters; ++i) {
    Number port;
    server_tell(first, "CLUSTER", "MEET", "127.0.0.1", number(cluster_master(i)->port, port), NULL);
  }
  cluster_await();
}

// ---- Names

static void record_of(const char* name, char* key, size_t size) {
  snprintf(key, size, strchr(name, '{') == NULL ? "belay:r:{%s}" : "belay:r=%s", name);
}

static int slot_of(const char* name) {
  char key[128];
  record_of(name, key, sizeof key);
  return atoi(server_ask(first, "CLUSTER", "KEYSLOT", key, NULL));
}

void name_at(int master, const char* text, Name name) {
  int i = 0;
  do {
    snprintf(name, sizeof(Name), "%s %d", text, ++i);
  } while (slot_of(name) / kSlotsEach != master);
}

void name_beside(const char* name, Name other) {
  CHECK(snprintf(other, sizeof(Name), "{%s} too", name) < (int)sizeof(Name));
}

int64_t scripts_run_at(int master) {
  const int64_t count = server_scripts_run(cluster_master(master));
  server_tell(cluster_master(master), "CONFIG", "RESETSTAT", NULL);
  return count;
}

// ---- Slots that move

static void set_slot(int master, const char* slot, const char* state, int other) {
  server_tell(cluster_master(master), "CLUSTER", "SETSLOT", slot, state, ids[other], NULL);
}

void move_begin(const Move* move) {
  Number slot;
  number(slot_of(move->name), slot);
  set_slot(move->to, slot, "IMPORTING", move->from);
  set_slot(move->from, slot, "MIGRATING", move->to);
}

static void move_key(const Move* move, const char* key) {
  Number port;
  number(cluster_master(move->to)->port, port);
  server_tell(cluster_master(move->from), "MIGRATE", "127.0.0.1", port, key, "0", "5000", NULL);
}

void move_record(const Move* move) {
  char key[128];
  record_of(move->name, key, sizeof key);
  move_key(move, key);
}

// False if there is none left.
static bool move_some(const Move* move, const char* slot) {
  Number most;
  const char* const reply = server_ask(cluster_master(move->from), "CLUSTER", "GETKEYSINSLOT", slot,
                                       number(kMovedAtOnce, most), NULL);
  char* const keys = strdup(reply);
  char* rest = keys;
  for (char* key; (key = strtok_r(rest, "\n", &rest)) != NULL;) {
    move_key(move, key);
  }
  const bool any = keys[0] != '\0';
  free(keys);
  return any;
}

void move_end(const Move* move) {
  Number slot;
  number(slot_of(move->name), slot);
  while (move_some(move, slot)) {
  }
  set_slot(move->to, slot, "NODE", move->to);
  set_slot(move->from, slot, "NODE", move->to);
  for (int i = 0; i < kMasters; ++i) {
    if (i != move->to && i != move->from) {
      set_slot(i, slot, "NODE", move->to);
    }
  }
}
