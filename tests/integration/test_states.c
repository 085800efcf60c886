// States of a server in which it answers, but not as usual: loading, busy, full of clients, unable
// to write, paused, restarted from a snapshot, robbed of keys, or with foreign keys in our places.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

// A try of a client with little patience ends with this status and the server's own words.
static void check_words(const Server* server, belay_client* client, const char* name,
                        int32_t status, const char* words) {
  belay_event* why = NULL;
  REFUSED(status, belay_lock(client, name, -1, 0, &why));
  CHECK_TEXT(words, belay_event_message(why));
  CHECK_TEXT(server_address(server), belay_event_message(why));
  belay_event_free(why);
}

// ---- Restarts with data

static void restart_with_data(Server* server) {
  server_tell(server, "SAVE", NULL);
  server_kill(server);
  server_start(server);
}

static void test_restart_with_data(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* waiter = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  restart_with_data(server);
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK(belay_next(holder, 0) == NULL);
  CHECK(belay_next(waiter, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  belay_client_free(holder);
  belay_client_free(waiter);
}

// The snapshot is older than the hold: somebody else holds the lock in it.
static void test_restart_with_old_data(Server* server) {
  belay_client* early = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* late = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t first = GRANTED(ACQUIRE(early, 0, .name = "a", .lease_ms = kLongLeaseMs));
  server_tell(server, "SAVE", NULL);
  CHECK_STATUS(BELAY_OK, belay_release(early, first));
  belay_client_free(early);
  CHECK_STATUS(BELAY_OK, SUBMIT(late, 1, 0, .name = "a"));
  const int64_t hold = TAKE(late, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(late, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(late, 2, 0, .name = "b"));
  const int64_t other = TAKE(late, BELAY_EVENT_ACQUIRED, 2, BELAY_OK);
  server_kill(server);
  server_start(server);
  const int64_t lost =
      TAKE(late, BELAY_EVENT_LOST, 0, BELAY_LOST) + TAKE(late, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_INT(hold + other, lost);
  REFUSED(BELAY_BUSY, belay_lock(late, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(late, "a", -1, 0, NULL));
  const int64_t next = GRANTED(belay_lock(late, "a", -1, 0, NULL));
  CHECK(belay_hold_fence(late, next, 0) > fence);
  belay_client_free(late);
}

// ---- Keys that go

static void lose_by(Server* server, void (*rob)(const Server*)) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(900));
  belay_client* waiter = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  rob(server);
  CHECK_INT(hold, TAKE(holder, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_STATUS(BELAY_LOST, belay_release(holder, hold));
  const int64_t next = GRANTED(belay_lock(waiter, "a", -1, 0, NULL));
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  belay_client_free(holder);
  belay_client_free(waiter);
}

static void delete_record(const Server* server) {
  CHECK_TEXT("1", server_ask(server, "DEL", "belay:r:{a}", NULL));
}

static void test_deleted_record(Server* server) {
  lose_by(server, delete_record);
}

static void evict_all(const Server* server) {
  server_tell(server, "CONFIG", "SET", "maxmemory-policy", "allkeys-random", NULL);
  server_tell(server, "CONFIG", "SET", "maxmemory", "1", NULL);
  EVENTUALLY(strcmp("0", server_ask(server, "DBSIZE", NULL)) == 0);
  server_tell(server, "CONFIG", "SET", "maxmemory", "0", NULL);
}

static void test_eviction(Server* server) {
  lose_by(server, evict_all);
}

// ---- Servers that answer with errors for a while

// Loading takes some seconds, as each key is made to take a while; the server answers every 2 MB.
static void test_loading(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  server_ask(server, "EVAL", "for i = 1, 1000 do redis.call('SET', i, string.rep('x', 100000)) end",
             "0", NULL);
  server_tell(server, "CONFIG", "SET", "rdbcompression", "no", NULL);
  server_tell(server, "SAVE", NULL);
  server_kill(server);
  server->options[0] = "--key-load-delay";
  server->options[1] = "2500";
  server_start(server);
  CHECK_TEXT("-LOADING", server_ask(server, "GET", "1", NULL));
  belay_client* hasty = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  check_words(server, hasty, "b", BELAY_UNAVAILABLE, "LOADING");
  belay_client* patient = CLIENT(.url = server->url, .request_timeout_ms = scaled(kLimitMs));
  const int64_t next = GRANTED(belay_lock(patient, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(patient, next));
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  belay_client_free(holder);
  belay_client_free(hasty);
  belay_client_free(patient);
}

static void run_endless_script(Server* server, const Line* parent, int64_t number) {
  (void)parent;
  (void)number;
  CHECK_TEXT("-ERR", server_ask(server, "EVAL", "while true do end", "0", NULL));
}

static void test_busy(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(3000));
  belay_client* hasty = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  belay_client* patient = CLIENT(.url = server->url, .request_timeout_ms = scaled(kLimitMs));
  CHECK_STATUS(BELAY_OK, belay_client_ping(hasty, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_ping(patient, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_tell(server, "CONFIG", "SET", "lua-time-limit", "10", NULL);
  const Child child = child_start(server, run_endless_script, 0);
  EVENTUALLY(strncmp("-BUSY", server_ask(server, "GET", "x", NULL), 5) == 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(patient, 1, 0, .name = "b"));
  STAYS(scaled(1200), belay_hold_state(holder, hold) == BELAY_HOLD_HELD);
  check_words(server, hasty, "c", BELAY_UNAVAILABLE, "BUSY");
  CHECK(belay_next(patient, 0) == NULL);
  server_tell(server, "SCRIPT", "KILL", NULL);
  TAKE(patient, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  child_end(&child);
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  belay_client_free(holder);
  belay_client_free(hasty);
  belay_client_free(patient);
}

static void test_too_few_replicas(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  server_tell(server, "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
  check_words(server, client, "a", BELAY_UNAVAILABLE, "NOREPLICAS");
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK(belay_next(client, scaled(500)) == NULL);
  server_tell(server, "CONFIG", "SET", "min-replicas-to-write", "0", NULL);
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
}

// A server whose last snapshot failed takes no writes: a directory stands in the snapshot's place.
static void test_failed_snapshots(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  char path[96];
  snprintf(path, sizeof path, "%s/dump.rdb", server->directory);
  CHECK(mkdir(path, 0700) == 0);
  server_tell(server, "CONFIG", "SET", "save", "3600 1000000", NULL);
  server_ask(server, "BGSAVE", NULL);
  EVENTUALLY(strncmp("-MISCONF", server_ask(server, "SET", "x", "y", NULL), 8) == 0);
  check_words(server, client, "b", BELAY_SERVER_ERROR, "MISCONF");
  belay_event* risk = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_TEXT("MISCONF", belay_event_message(risk));
  CHECK_INT(hold, event_end(risk));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  server_tell(server, "CONFIG", "SET", "save", "", NULL);
  const int64_t next = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  belay_client_free(client);
}

static void test_too_many_clients(Server* server) {
  belay_client* first = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_client_ping(first, NULL));
  server_tell(server, "CONFIG", "SET", "maxclients", "1", NULL);
  belay_client* hasty = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  check_words(server, hasty, "a", BELAY_UNAVAILABLE, "max number of clients");
  belay_client_free(hasty);
  belay_client* patient = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(patient, 1, -1, .name = "a"));
  CHECK(belay_next(patient, scaled(300)) == NULL);
  belay_client_free(first);
  TAKE(patient, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(patient);
}

static void test_client_pause(Server* server) {
  const int64_t lease = scaled(600);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  char pause[16];
  snprintf(pause, sizeof pause, "%lld", (long long)(5 * lease));
  server_tell(server, "CLIENT", "PAUSE", pause, NULL);
  const int64_t start = now_ms();
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK(now_ms() - start < 4 * lease);  // while the server was still silent
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  const int64_t next = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

// ---- Foreign keys

// The values of the keys that we may touch, as one text.
static void dump(const Server* server, const char* fence_key, char* text, size_t size) {
  const char* const keys[] = {"belay:r:{a}", "belay:w:{a}", fence_key};
  text[0] = '\0';
  for (int i = 0; i < 3; ++i) {
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s %s\n", server_ask(server, "TYPE", keys[i], NULL),
             server_ask(server, "DUMP", keys[i], NULL));
  }
}

static void check_unchanged(const Server* server, const char* fence_key, const char* before) {
  char after[4096];
  dump(server, fence_key, after, sizeof after);
  if (strcmp(before, after) != 0) {
    FAIL("the keys were changed");
  }
}

// Puts a list in a key's place: an acquire is refused for it, and changes nothing.
static void check_foreign_key(Server* server, const char* key, const char* fence_key) {
  belay_client* client = CLIENT(.url = server->url);
  server_tell(server, "RENAME", key, "kept", NULL);
  server_ask(server, "RPUSH", key, "foreign", NULL);
  char before[4096];
  dump(server, fence_key, before, sizeof before);
  belay_event* why = NULL;
  REFUSED(BELAY_WRONG_TYPE, belay_lock(client, "a", -1, -1, &why));
  CHECK_TEXT(key, belay_event_message(why));
  belay_event_free(why);
  check_unchanged(server, fence_key, before);
  // A try of a lock that is held needs no queue.
  const int64_t answer = -belay_lock(client, "a", -1, 0, NULL);
  CHECK(answer == BELAY_WRONG_TYPE || answer == BELAY_BUSY);
  belay_client_free(client);
  check_unchanged(server, fence_key, before);
  server_tell(server, "RENAME", "kept", key, NULL);
}

enum { kKeySize = 64 };

static void find_key(Server* server, const char* pattern, char key[kKeySize]) {
  snprintf(key, kKeySize, "%s", server_ask(server, "KEYS", pattern, NULL));
}

static void test_foreign_keys(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  char fence_key[kKeySize];
  find_key(server, "belay:f:*", fence_key);
  check_foreign_key(server, "belay:r:{a}", fence_key);
  check_foreign_key(server, "belay:w:{a}", fence_key);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(waiter, next));
  check_foreign_key(server, fence_key, fence_key);
  GRANTED(belay_lock(waiter, "a", -1, 0, NULL));
  belay_client_free(holder);
  belay_client_free(waiter);
}

// Holds "a", which the waiter waits for; then somebody puts something else in the place of a key.
static int64_t hold_beside(Server* server, belay_client* holder, belay_client* waiter,
                           const char* pattern) {
  char key[kKeySize];
  server_tell(server, "FLUSHALL", NULL);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  find_key(server, pattern, key);
  server_ask(server, "DEL", key, NULL);
  server_ask(server, "RPUSH", key, "foreign", NULL);
  return hold;
}

// A release, too, is refused and changes nothing: the lock stays with its holder until the lease
// ends.
static void test_release_over_foreign_keys(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = hold_beside(server, holder, waiter, "belay:w:{a}");
  char fence_key[kKeySize];
  find_key(server, "belay:f:*", fence_key);
  char before[4096];
  dump(server, fence_key, before, sizeof before);
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_WRONG_TYPE, release_why(holder, hold, &why));
  CHECK_TEXT("belay:w:{a}", belay_event_message(why));
  belay_event_free(why);
  check_unchanged(server, fence_key, before);
  CHECK_STATUS(BELAY_OK, belay_cancel(waiter, 1));
  TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  belay_client_free(holder);
  belay_client_free(waiter);
}

// A handoff goes on in the range of the grant, and needs no other fence.
static void test_handoff_over_a_foreign_fence(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = hold_beside(server, holder, waiter, "belay:f:*");
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  char key[kKeySize];
  find_key(server, "belay:f:*", key);
  CHECK_TEXT("foreign", server_ask(server, "LINDEX", key, "0", NULL));
  belay_client_free(holder);
  belay_client_free(waiter);
}

static void test_node_of_a_cluster(Server* server) {
  Server node;
  server_launch_with(&node,
                     (const char* const[]){server->program, "--cluster-enabled", "yes", NULL});
  belay_client* client = CLIENT(.url = node.url);
  CHECK_WHY(BELAY_UNSUPPORTED_SERVER, "is a node of a cluster: its URL is redis-cluster://",
            belay_lock(client, "a", -1, 0, &why));
  belay_client_free(client);
  launch_end(&node.launch);
}

const Test state_tests[] = {
    {"A restart with data loses no hold and no place in the queue", test_restart_with_data},
    {"A restart with older data loses the holds that are not in them, and fences still rise",
     test_restart_with_old_data},
    {"A record that is deleted by hand is LOST at the next renewal", test_deleted_record},
    {"A record that is evicted is LOST at the next renewal", test_eviction},
    {"A server that loads its data is waited for", test_loading},
    {"A server that is busy with a script is waited for, and holds outlive it", test_busy},
    {"A server with too few replicas is waited for", test_too_few_replicas},
    {"A server whose snapshots fail refuses, and holds end with its words", test_failed_snapshots},
    {"A server with too many clients is waited for", test_too_many_clients},
    {"CLIENT PAUSE past the lease is told by AT_RISK, then LOST, before it ends",
     test_client_pause},
    {"A foreign key in any of our places answers WRONG_TYPE, and nothing is changed",
     test_foreign_keys},
    {"A release over a foreign key answers WRONG_TYPE, and nothing is changed",
     test_release_over_foreign_keys},
    {"A handoff beside a foreign key in the place of the fence needs none",
     test_handoff_over_a_foreign_fence},
    {"A node of a cluster is refused at once", test_node_of_a_cluster},
    {NULL, NULL}};
