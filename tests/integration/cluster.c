#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kIdSize = 40, kMovedAtOnce = 100 };

static Server others[kMasters];
static Server* first;
static int masters = kMasters;
static char ids[kMasters + 1][kIdSize + 1];

Server* cluster_master(int at) {
  return at == 0 ? first : &others[at - 1];
}

typedef char Number[24];

static const char* number(int64_t value, char* text) {
  snprintf(text, sizeof(Number), "%lld", (long long)value);
  return text;
}

static void launch_node(Server* node, const char* program) {
  server_launch_with(
      node, (const char* const[]){program, "--cluster-enabled", "yes", "--cluster-node-timeout",
                                  "2000", "--cluster-require-full-coverage", "no",
                                  "--repl-diskless-sync-delay", "0", NULL});
}

static void launch_master(int at, const char* program) {
  Server* const master = cluster_master(at);
  launch_node(master, program);
  Number epoch;
  Number low;
  Number high;
  const int last = (at + 1) * kSlotsEach < kSlots ? (at + 1) * kSlotsEach - 1 : kSlots - 1;
  memcpy(ids[at], server_ask(master, "CLUSTER", "MYID", NULL), kIdSize);
  server_tell(master, "CLUSTER", "SET-CONFIG-EPOCH", number(at + 1, epoch), NULL);
  // Redis 6.2 has no ADDSLOTSRANGE.
  server_tell(master, "EVAL",
              "for slot = ARGV[1], ARGV[2] do redis.call('CLUSTER', 'ADDSLOTS', slot) end "
              "return redis.status_reply('OK')",
              "0", number(at * kSlotsEach, low), number(last, high), NULL);
}

static bool says(const Server* node, const char* word, const char* topic, const char* part) {
  return strstr(server_ask(node, word, topic, NULL), part) != NULL;
}

void cluster_await(void) {
  for (int i = 0; i < kMasters; ++i) {
    EVENTUALLY(says(cluster_master(i), "CLUSTER", "INFO",
                    "cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                    "cluster_slots_ok:16384"));
  }
}

static void meet_first(const Server* node) {
  Number port;
  server_tell(first, "CLUSTER", "MEET", "127.0.0.1", number(node->port, port), NULL);
}

void cluster_launch(Server* server, const char* program) {
  first = server;
  for (int i = 0; i < kMasters; ++i) {
    launch_master(i, program);
  }
  for (int i = 1; i < kMasters; ++i) {
    meet_first(cluster_master(i));
  }
  cluster_await();
  snprintf(first->url, sizeof first->url, "redis-cluster://127.0.0.1:%d", first->port);
}

// Whether it has shaken hands with that one.
static bool knows_master(const Server* node, int master) {
  const char* const found = strstr(server_ask(node, "CLUSTER", "NODES", NULL), ids[master]);
  const char* const role = found == NULL ? NULL : strstr(found, " master ");
  return role != NULL && role < strchr(found, '\n');
}

int cluster_add_master(void) {
  const int at = masters++;
  Server* const added = cluster_master(at);
  launch_node(added, first->program);
  memcpy(ids[at], server_ask(added, "CLUSTER", "MYID", NULL), kIdSize);
  meet_first(added);
  for (int i = 0; i < at; ++i) {
    EVENTUALLY(knows_master(cluster_master(i), at));
  }
  EVENTUALLY(says(added, "CLUSTER", "INFO", "cluster_state:ok"));
  return at;
}

void cluster_remove_master(void) {
  --masters;
  server_kill(cluster_master(masters));
  for (int i = 0; i < masters; ++i) {
    server_tell(cluster_master(i), "CLUSTER", "FORGET", ids[masters], NULL);
  }
}

void cluster_add_replica(int master, Server* replica) {
  launch_node(replica, first->program);
  meet_first(replica);
  EVENTUALLY(strcmp(server_ask(replica, "CLUSTER", "REPLICATE", ids[master], NULL), "OK") == 0);
  EVENTUALLY(says(replica, "INFO", "replication", "master_link_status:up"));
  EVENTUALLY(says(replica, "CLUSTER", "INFO", "cluster_state:ok"));
  char address[32];
  snprintf(address, sizeof address, "127.0.0.1:%d@", replica->port);
  for (int i = 0; i < kMasters; ++i) {  // who does not know it has no vote for it
    EVENTUALLY(strstr(server_ask(cluster_master(i), "CLUSTER", "REPLICAS", ids[master], NULL),
                      address) != NULL);
  }
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
  const char* const reply =
      server_ask(cluster_master(master), "CLUSTER", "SETSLOT", slot, state, ids[other], NULL);
  // Whose last slot has gone has heard of that by itself, and is a replica by now.
  if (strstr(reply, "only with masters") == NULL) {
    CHECK_TEXT("OK", reply);
  }
}

static long epoch_at(int master) {
  static const char kField[] = "cluster_current_epoch:";
  const char* const info = server_ask(cluster_master(master), "CLUSTER", "INFO", NULL);
  const char* const field = strstr(info, kField);
  CHECK(field != NULL);
  return atol(field + strlen(kField));
}

void move_begin(const Move* move) {
  // Whoever takes a slot without knowing of the latest move may be taken for behind the times by
  // who gives it, and then neither has it.
  for (int i = 1; i < masters; ++i) {
    EVENTUALLY(epoch_at(i) == epoch_at(0));
  }
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

bool move_whole(const Move* move) {
  Number slot;
  number(slot_of(move->name), slot);
  const char* const reply = server_ask(cluster_master(move->from), "CLUSTER", "MIGRATESLOTS",
                                       "SLOTSRANGE", slot, slot, "NODE", ids[move->to], NULL);
  if (strcasestr(reply, "unknown subcommand") != NULL) {
    return false;
  }
  CHECK_TEXT("OK", reply);
  EVENTUALLY(says(cluster_master(move->from), "CLUSTER", "GETSLOTMIGRATIONS", "success"));
  return true;
}

void move_keys(const Move* move) {
  Number slot;
  number(slot_of(move->name), slot);
  while (move_some(move, slot)) {
  }
}

void move_end(const Move* move) {
  move_keys(move);
  Number slot;
  number(slot_of(move->name), slot);
  set_slot(move->to, slot, "NODE", move->to);
  set_slot(move->from, slot, "NODE", move->to);
  for (int i = 0; i < masters; ++i) {
    if (i != move->to && i != move->from) {
      set_slot(i, slot, "NODE", move->to);
    }
  }
}
