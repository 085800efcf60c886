// Masters of a cluster: every primitive on each, names of several together, slots that move and
// that stay on their way, masters that are killed or that nobody has named.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "support.h"

enum { kShortLeaseMs = 1500, kMuchLongerMs = 3 * kShortLeaseMs, kRounds = 20 };

// ---- Every primitive

static void check_lock(belay_client* one, belay_client* two, const char* name) {
  const int64_t hold = GRANTED(belay_lock(one, name, -1, -1, NULL));
  const int64_t fence = belay_hold_fence(one, hold, 0);
  REFUSED(BELAY_BUSY, belay_lock(two, name, -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 1, -1, .name = name));
  EVENTUALLY(waiters_of(one, name) == 1);
  CHECK_STATUS(BELAY_OK, belay_release(one, hold));
  const int64_t next = take_soon(two, 1);
  const int64_t later = belay_hold_fence(two, next, 0);
  CHECK(later > fence);
  CHECK_STATUS(BELAY_OK, belay_verify(two, next, NULL));
  const char* const words[] = {"SET", "value"};
  CHECK_STATUS(BELAY_OK, belay_fenced_write(two, name, -1, later, 2, words, NULL, NULL));
  CHECK_STATUS(BELAY_STALE_FENCE, belay_fenced_write(one, name, -1, fence, 2, words, NULL, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(one, name, -1, 0, NULL));
  TAKE(two, BELAY_EVENT_LOST, 0, BELAY_LOST);
}

// An owner writes, reads meanwhile, and ends either; then others read.
static void check_readers(belay_client* one, belay_client* two, const char* name) {
  const int64_t writing = GRANTED(ACQUIRE(one, -1, .name = name, .owner = 1));
  const int64_t reading = GRANTED(ACQUIRE(one, -1, .name = name, .owner = 1, .shared = true));
  REFUSED(BELAY_BUSY, ACQUIRE(two, 0, .name = name, .shared = true));
  CHECK_STATUS(BELAY_OK, belay_release(one, reading));
  CHECK_STATUS(BELAY_OK, belay_release(one, writing));
  const int64_t first = GRANTED(ACQUIRE(one, -1, .name = name, .shared = true));
  const int64_t second = GRANTED(ACQUIRE(two, -1, .name = name, .shared = true));
  REFUSED(BELAY_BUSY, belay_lock(two, name, -1, 0, NULL));
  CHECK_INT(2, holders_of(one, name));
  CHECK_STATUS(BELAY_OK, belay_release(one, first));
  CHECK_STATUS(BELAY_OK, belay_release(two, second));
  const int64_t alone = GRANTED(belay_lock(two, name, -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_downgrade(two, alone, NULL));
  GRANTED(ACQUIRE(one, 0, .name = name, .shared = true));
}

static void check_semaphore(belay_client* one, belay_client* two, const char* name) {
  const int64_t hold = GRANTED(
      ACQUIRE(one, -1, .name = name, .primitive = BELAY_SEMAPHORE, .permits = 2, .limit = 3));
  CHECK_STATUS(BELAY_OK,
               SUBMIT(two, 2, -1, .name = name, .primitive = BELAY_SEMAPHORE, .permits = 2));
  EVENTUALLY(waiters_of(one, name) == 1);
  CHECK_INT(1, belay_semaphore_available(two, name, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(one, hold));
  take_soon(two, 2);
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(one, name, -1, 4, NULL));
  CHECK_INT(2, belay_semaphore_available(one, name, -1, NULL));
}

static void check_latch(belay_client* one, belay_client* two, const char* name) {
  CHECK(belay_latch_set(one, name, -1, 2, 0, NULL) > 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 3, -1, .name = name, .primitive = BELAY_LATCH));
  EVENTUALLY(waiters_of(one, name) == 1);
  CHECK_INT(1, belay_latch_count_down(one, name, -1, 1, NULL));
  CHECK_INT(0, belay_latch_count_down(two, name, -1, 1, NULL));
  belay_event_free(GRANT_SOON(two, 3));
}

// Under a prefix of the application's.
static void test_primitives(Server* server) {
  belay_client* clients[2];
  for (int i = 0; i < 2; ++i) {
    clients[i] = CLIENT(.url = server->url, .prefix = "shop 1:");
  }
  for (int i = 0; i < kMasters; ++i) {
    Name name;
    name_at(i, "lock", name);
    check_lock(clients[0], clients[1], name);
    name_at(i, "shelf", name);
    check_readers(clients[0], clients[1], name);
    name_at(i, "semaphore", name);
    check_semaphore(clients[0], clients[1], name);
    name_at(i, "latch", name);
    check_latch(clients[0], clients[1], name);
    CHECK(scripts_run_at(i) > 10);
  }
  free_clients(clients, 2);
}

// ---- Several names

static belay_request* request_for(const Name* names, bool backwards) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  for (int i = 0; i < kMasters; ++i) {
    const int at = backwards ? kMasters - 1 - i : i;
    CHECK_STATUS(BELAY_OK, belay_request_add_name(request, names[at], -1));
  }
  return request;
}

static void name_each(Name* names) {
  for (int i = 0; i < kMasters; ++i) {
    name_at(i, "stock", names[i]);
  }
}

// Holds all of them, again and again: nobody else meanwhile.
static void body_of_holder(Server* server, const Line* parent, int64_t backwards) {
  Name names[kMasters];
  name_each(names);
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = request_for((const Name*)names, backwards != 0);
  for (int i = 0; i < kRounds; ++i) {
    const int64_t hold = GRANTED(belay_acquire(client, request, 0, -1, NULL));
    say(parent, 1);
    CHECK_INT(1, hear(parent));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  belay_request_free(request);
  belay_client_free(client);
}

// A line also ends when a child has no rounds left.
static bool says(const Child* child, int rounds_left) {
  return rounds_left > 0 && !is_silent(&child->line);
}

static void test_several_names(Server* server) {
  const Child children[2] = {child_start(server, body_of_holder, 0),
                             child_start(server, body_of_holder, 1)};
  int left[2] = {kRounds, kRounds};
  while (left[0] + left[1] > 0) {
    int who = 0;
    EVENTUALLY(says(&children[who = 0], left[0]) || says(&children[who = 1], left[1]));
    CHECK_INT(1, hear(&children[who].line));
    STAYS(5, !says(&children[1 - who], left[1 - who]));
    say(&children[who].line, 1);
    --left[who];
  }
  child_end(&children[0]);
  child_end(&children[1]);
}

// Whoever has the identity re-enters, in any process; whoever has not waits for all of them.
static void test_identity(Server* server) {
  Name names[kMasters];
  name_each(names);
  belay_client* clients[3];
  make_clients(server, clients, 3);
  belay_request* forwards = request_for((const Name*)names, false);
  belay_request* backwards = request_for((const Name*)names, true);
  belay_request* other = request_for((const Name*)names, false);
  CHECK_STATUS(BELAY_OK, belay_request_set_identity(forwards, "job 17", -1));
  CHECK_STATUS(BELAY_OK, belay_request_set_identity(backwards, "job 17", -1));
  const int64_t first = GRANTED(belay_acquire(clients[0], forwards, 0, 0, NULL));
  const int64_t second = GRANTED(belay_acquire(clients[1], backwards, 0, 0, NULL));
  REFUSED(BELAY_BUSY, belay_acquire(clients[2], other, 0, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_submit_acquire(clients[2], 1, other, 0, -1));
  EVENTUALLY(waiters_of(clients[0], names[0]) + waiters_of(clients[0], names[1]) +
                 waiters_of(clients[0], names[2]) ==
             1);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], first));
  for (int i = 0; i < kMasters; ++i) {
    CHECK_INT(1, holders_of(clients[0], names[i]));
  }
  CHECK_STATUS(BELAY_OK, belay_verify(clients[1], second, NULL));
  STAYS(100, next_but_of_holds(clients[2], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], second));
  take_soon(clients[2], 1);
  belay_request_free(forwards);
  belay_request_free(backwards);
  belay_request_free(other);
  free_clients(clients, 3);
}

// ---- Slots that move

// A name of the first master that somebody holds and somebody waits for.
typedef struct Wanted {
  Name name;
  Move move;
  belay_client* holder;
  belay_client* waiter;
  int64_t hold;
} Wanted;

static void make_wanted_as(Server* server, Wanted* wanted, RequestSetup first,
                           RequestSetup second) {
  name_at(0, "wanted", wanted->name);
  first.name = second.name = wanted->name;
  wanted->move = (Move){wanted->name, 0, 1};
  wanted->holder = CLIENT(.url = server->url, .watchdog_lease_ms = kShortLeaseMs,
                          .request_timeout_ms = kLimitMs);  // longer than any failover
  wanted->waiter = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, submit_as(wanted->holder, 1, -1, &first));
  wanted->hold = TAKE(wanted->holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, submit_as(wanted->waiter, 1, -1, &second));
  EVENTUALLY(waiters_of(wanted->holder, wanted->name) == 1);
}

static void make_wanted(Server* server, Wanted* wanted) {
  make_wanted_as(server, wanted, (RequestSetup){0}, (RequestSetup){0});
}

// It has been the holder's for all that time, and is the waiter's next, with a later fence.
static void hand_on(Wanted* wanted) {
  const int64_t fence = belay_hold_fence(wanted->holder, wanted->hold, 0);
  CHECK(next_but_of_holds(wanted->waiter, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(wanted->holder, wanted->hold));
  const int64_t next = take_soon(wanted->waiter, 1);
  CHECK(belay_hold_fence(wanted->waiter, next, 0) > fence);
  give_back(wanted->waiter, next);
  belay_client_free(wanted->holder);
  belay_client_free(wanted->waiter);
}

static bool is_kept(const Wanted* wanted) {
  return belay_hold_state(wanted->holder, wanted->hold) == BELAY_HOLD_HELD;
}

static void test_moved(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  move_begin(&wanted.move);
  move_end(&wanted.move);
  STAYS(kMuchLongerMs, is_kept(&wanted));
  scripts_run_at(0);
  CHECK_STATUS(BELAY_OK, belay_verify(wanted.holder, wanted.hold, NULL));
  CHECK_INT(0, scripts_run_at(0));  // it is known where the slot is
  hand_on(&wanted);
}

// Whoever waits has no connection to the master that has the slot by now.
static void test_moved_waiters(Server* server) {
  const RequestSetup alone = {0};
  const RequestSetup shared = {.shared = true};
  const RequestSetup permit = {.primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 1};
  const RequestSetup ways[][2] = {
      {alone, alone}, {shared, alone}, {alone, shared}, {permit, permit}};
  for (size_t i = 0; i < 2 * sizeof ways / sizeof ways[0]; ++i) {
    Wanted wanted;
    make_wanted_as(server, &wanted, ways[i / 2][0], ways[i / 2][1]);
    move_begin(&wanted.move);
    move_end(&wanted.move);
    STAYS(i % 2 == 0 ? 0 : kShortLeaseMs / 2, is_kept(&wanted));
    hand_on(&wanted);
    move_begin(&(Move){wanted.name, 1, 0});
    move_end(&(Move){wanted.name, 1, 0});
  }
}

// How many inboxes are read there.
static int inboxes_at(int master) {
  const Server* const server = cluster_master(master);
  const char* const channels = server_is_before_7(server) ? "CHANNELS" : "SHARDCHANNELS";
  int count = 0;
  for (const char* found = server_ask(server, "PUBSUB", channels, "belay:in:*", NULL);
       (found = strstr(found, "belay:in:{")) != NULL; ++found) {
    ++count;
  }
  return count;
}

// The first master has an inbox of everybody whom it has greeted. Without shard channels a waiter
// learns at its next poll that its slot has moved.
static void test_inboxes(Server* server) {
  Name name;
  name_at(1, "wanted", name);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, name, -1, -1, NULL));
  CHECK_INT(1, inboxes_at(1));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = name));
  EVENTUALLY(waiters_of(holder, name) == 1);
  CHECK_INT(2, inboxes_at(1));
  CHECK_INT(0, inboxes_at(2));
  move_begin(&(Move){name, 1, 2});
  CHECK_INT(2, inboxes_at(1));
  move_end(&(Move){name, 1, 2});
  const bool is_told = !server_is_before_7(server);
  EVENTUALLY(belay_verify(holder, hold, NULL) == BELAY_OK && inboxes_at(2) == (is_told ? 2 : 1));
  CHECK_INT(is_told ? 0 : 2, inboxes_at(1));
  scripts_run_at(2);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  take_soon(waiter, 1);
  if (is_told) {
    CHECK_INT(1, scripts_run_at(2));  // the waiter believes what it is told
  }
  belay_client_free(holder);
  belay_client_free(waiter);
  EVENTUALLY(inboxes_at(2) == 0);
}

static void test_moves_for_long(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  move_begin(&wanted.move);
  STAYS(kMuchLongerMs, is_kept(&wanted));
  move_record(&wanted.move);
  STAYS(kMuchLongerMs, is_kept(&wanted));
  move_end(&wanted.move);
  hand_on(&wanted);
}

// What takes several keys waits for the slot, also where all that were there are still there, or
// are at the other master already: a script may delete one of them.
static void test_moves_half(Server* server) {
  const RequestSetup alone = {0};
  const RequestSetup shared = {.shared = true};
  const RequestSetup permit = {.primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 1};
  const RequestSetup ways[][2] = {{shared, alone}, {alone, alone}, {permit, permit}};
  for (size_t i = 0; i < 2 * sizeof ways / sizeof ways[0]; ++i) {
    Wanted wanted;
    make_wanted_as(server, &wanted, ways[i / 2][0], ways[i / 2][1]);
    move_begin(&wanted.move);
    if (i % 2 == 1) {
      move_keys(&wanted.move);
    }
    CHECK_STATUS(BELAY_OK, belay_submit_release(wanted.holder, 2, wanted.hold));
    STAYS(100, belay_next(wanted.holder, 0) == NULL);
    CHECK(next_but_of_holds(wanted.waiter, 0) == NULL);
    move_end(&wanted.move);
    TAKE(wanted.holder, BELAY_EVENT_RELEASED, 2, BELAY_OK);
    give_back(wanted.waiter, take_soon(wanted.waiter, 1));
    free_clients((belay_client*[]){wanted.holder, wanted.waiter}, 2);
    move_begin(&(Move){wanted.name, 1, 0});
    move_end(&(Move){wanted.name, 1, 0});
  }
}

// By Valkey 9, without a moment at which only some of its keys are there.
static void test_moves_whole(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  if (move_whole(&wanted.move)) {
    STAYS(kShortLeaseMs, is_kept(&wanted));
    EVENTUALLY(inboxes_at(1) == 2);
  }
  hand_on(&wanted);
}

// A master that joins the cluster takes over a slot, and leaves it to another one.
static void test_masters_come_and_go(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  const int added = cluster_add_master();
  const Move moves[] = {{wanted.name, 0, added}, {wanted.name, added, 1}};
  move_begin(&moves[0]);
  move_end(&moves[0]);
  STAYS(kShortLeaseMs, is_kept(&wanted));
  CHECK_INT(1, waiters_of(wanted.waiter, wanted.name));
  CHECK(scripts_run_at(added) > 0);
  move_begin(&moves[1]);
  move_end(&moves[1]);
  cluster_remove_master();
  STAYS(kShortLeaseMs, is_kept(&wanted));
  CHECK_STATUS(BELAY_OK, belay_client_ping(wanted.holder, NULL));
  hand_on(&wanted);
}

static void test_new_names_meanwhile(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  move_begin(&wanted.move);
  Name other;
  name_beside(wanted.name, other);
  belay_event* why = NULL;
  REFUSED(BELAY_UNAVAILABLE, belay_lock(wanted.holder, other, -1, 500, &why));
  CHECK_TEXT("its slot is moving to another server", belay_event_message(why));
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, SUBMIT(wanted.holder, 2, -1, .name = other));
  STAYS(300, next_but_of_holds(wanted.holder, 0) == NULL);
  move_end(&wanted.move);
  take_soon(wanted.holder, 2);
  hand_on(&wanted);
}

// ---- Masters

// Whose slots are nobody's for a while.
static void test_killed(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kShortLeaseMs);
  Name names[kMasters];
  int64_t holds[kMasters];
  name_each(names);
  for (int i = 0; i < kMasters; ++i) {
    holds[i] = GRANTED(belay_lock(client, names[i], -1, -1, NULL));
  }
  server_kill(cluster_master(2));
  EVENTUALLY(belay_hold_state(client, holds[2]) == BELAY_HOLD_LOST);
  REFUSED(BELAY_UNAVAILABLE, belay_lock(client, names[2], -1, 500, NULL));
  STAYS(kMuchLongerMs, belay_hold_state(client, holds[0]) == BELAY_HOLD_HELD &&
                           belay_hold_state(client, holds[1]) == BELAY_HOLD_HELD);
  CHECK_STATUS(BELAY_OK, belay_release(client, holds[0]));
  GRANTED(belay_lock(client, names[0], -1, 0, NULL));
  server_start(cluster_master(2));
  cluster_await();
  GRANTED(belay_lock(client, names[2], -1, -1, NULL));
  belay_client_free(client);
}

static bool is_master(const Server* server) {
  return strstr(server_ask(server, "INFO", "replication", NULL), "role:master") != NULL;
}

// The replica takes over with all that its master had.
static void test_failover(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  Server replica;
  cluster_add_replica(0, &replica);
  server_tell(&replica, "CLUSTER", "FAILOVER", NULL);
  EVENTUALLY(is_master(&replica));
  STAYS(kMuchLongerMs, is_kept(&wanted));
  hand_on(&wanted);
  server_tell(server, "CLUSTER", "FAILOVER", NULL);  // it is the replica by now
  EVENTUALLY(is_master(server));
  Name other;
  name_beside(wanted.name, other);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, other, -1, -1, NULL));
  belay_client_free(client);
  launch_end(&replica.launch);
}

// A lease outlives the failover, and whoever waits is served by the new master.
static void test_killed_with_replica(Server* server) {
  Wanted wanted;
  const RequestSetup fixed = {.lease_ms = 60000};
  make_wanted_as(server, &wanted, fixed, (RequestSetup){0});
  Server replica;
  cluster_add_replica(0, &replica);
  server_kill(server);
  EVENTUALLY(is_master(&replica));
  CHECK_STATUS(BELAY_OK, belay_verify(wanted.holder, wanted.hold, NULL));
  hand_on(&wanted);
  launch_end(&replica.launch);
}

// It keeps its connections and answers nothing. What was asked there is asked of the new master.
static void test_stopped_with_replica(Server* server) {
  Wanted wanted;
  const RequestSetup fixed = {.lease_ms = 60000};
  make_wanted_as(server, &wanted, fixed, (RequestSetup){0});
  Name other;
  name_beside(wanted.name, other);
  Server replica;
  cluster_add_replica(0, &replica);
  server_pause(server);
  CHECK_STATUS(BELAY_OK, belay_submit_verify(wanted.holder, 7, wanted.hold));
  CHECK_STATUS(BELAY_OK, belay_submit_inspect(wanted.holder, 8, wanted.name, -1));
  CHECK_STATUS(BELAY_OK, SUBMIT(wanted.holder, 9, -1, .name = other));
  for (int i = 0; i < 3; ++i) {
    belay_event* event = next_but_of_holds(wanted.holder, scaled(kLimitMs));
    CHECK(event != NULL);
    CHECK_STATUS(BELAY_OK, belay_event_status(event));
    belay_event_free(event);
  }
  CHECK(is_master(&replica));
  hand_on(&wanted);
  server_continue(server);
  launch_end(&replica.launch);
}

// Nothing is left on any of them: who holds is told so, and who waits is served.
static void test_all_restarted(Server* server) {
  Wanted wanted;
  make_wanted(server, &wanted);
  for (int i = 0; i < kMasters; ++i) {
    server_kill(cluster_master(i));
  }
  for (int i = 0; i < kMasters; ++i) {
    server_start(cluster_master(i));
  }
  cluster_await();
  EVENTUALLY(belay_hold_state(wanted.holder, wanted.hold) == BELAY_HOLD_LOST);
  give_back(wanted.waiter, take_soon(wanted.waiter, 1));
  belay_client_free(wanted.holder);
  belay_client_free(wanted.waiter);
}

static int connections_at(int master) {
  return server_connections(cluster_master(master));
}

static void test_connections(Server* server) {
  Name names[kMasters];
  name_each(names);
  belay_client* client = CLIENT(.url = server->url);
  EVENTUALLY(connections_at(0) == 0);  // it has shown the way
  GRANTED(belay_lock(client, names[1], -1, -1, NULL));
  CHECK_INT(1, connections_at(1));
  EVENTUALLY(connections_at(0) == 0);
  CHECK_INT(0, connections_at(2));
  GRANTED(belay_lock(client, names[2], -1, -1, NULL));
  CHECK_INT(1, connections_at(2));
  CHECK_INT(0, connections_at(0));
  GRANTED(belay_lock(client, names[0], -1, -1, NULL));
  for (int i = 0; i < kMasters; ++i) {
    CHECK_INT(1, connections_at(i));
  }
  belay_client_free(client);
  for (int i = 0; i < kMasters; ++i) {
    EVENTUALLY(connections_at(i) == 0);
  }
}

static void test_not_named(Server* server) {
  Name names[kMasters];
  name_each(names);
  char url[128];
  snprintf(url, sizeof url, "redis-cluster://127.0.0.1:%d,127.0.0.1:%d", free_port(), server->port);
  belay_client* client = CLIENT(.url = url);
  for (int i = kMasters - 1; i >= 0; --i) {
    scripts_run_at(i);
    const int64_t hold = GRANTED(belay_lock(client, names[i], -1, -1, NULL));
    CHECK_INT(1, connections_at(i));
    CHECK_INT(1, scripts_run_at(i));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  belay_request* request = request_for((const Name*)names, true);
  const int64_t all = GRANTED(belay_acquire(client, request, 0, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, all));
  belay_request_free(request);
  belay_client_free(client);
}

// Every master is asked, also those that the client has not met.
static void test_everywhere(Server* server) {
  Name names[kMasters];
  name_each(names);
  belay_client* holder = CLIENT(.url = server->url);
  for (int i = 0; i < kMasters; ++i) {
    GRANTED(belay_lock(holder, names[i], -1, -1, NULL));
  }
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = 1000);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, "stock*", -1, 100, &event));
  CHECK_INT(kMasters, belay_event_int(event, BELAY_FIELD_TOTAL));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_list(client, "stock*", -1, 1, &event));
  CHECK(belay_event_int(event, BELAY_FIELD_TOTAL) > 1);
  belay_event_free(event);
  server_kill(cluster_master(2));
  CHECK_WHY(BELAY_UNAVAILABLE, server_address(cluster_master(2)), belay_client_ping(client, &why));
  belay_client_free(client);
  client = CLIENT(.url = server->url, .request_timeout_ms = 1000);
  REFUSED(BELAY_BUSY, belay_lock(client, names[1], -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK_INT(2, connections_at(1));
  EVENTUALLY(connections_at(0) == 1);
  CHECK_STATUS(BELAY_UNAVAILABLE, belay_list(client, "*", -1, 100, NULL));
  belay_client_free(client);
  belay_client_free(holder);
}

static void grant_rights(const char* right) {
  for (int i = 0; i < kMasters; ++i) {
    const Server* const master = cluster_master(i);
    server_tell(master, "ACL", "SETUSER", "app", "on", ">s3cret", "~belay:*", "resetchannels",
                "&belay:*", "+@scripting", "+@read", "+@write", "+@pubsub", "+@connection",
                "-@dangerous", "+time", "+asking",
                server_is_before_7(master) ? "+publish" : "-publish", right, NULL);
  }
}

static void test_rights(Server* server) {
  Name names[kMasters];
  name_each(names);
  char url[128];
  snprintf(url, sizeof url, "redis-cluster://app:s3cret@%s", server_address(server));
  grant_rights("-cluster");
  belay_client* client = CLIENT(.url = url);
  CHECK_WHY(BELAY_NOT_PERMITTED, "(CLUSTER SLOTS): NOPERM",
            belay_lock(client, names[0], -1, -1, &why));
  belay_client_free(client);
  grant_rights("+cluster|slots");
  client = CLIENT(.url = url);
  for (int i = 0; i < kMasters; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, names[i], -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  belay_client_free(client);
}

// Each is told the URL of what it is.
static void test_other_kinds(Server* server) {
  Server single;
  server_launch_with(&single, (const char* const[]){server->program, NULL});
  char url[128];
  snprintf(url, sizeof url, "redis-cluster://%s", server_address(&single));
  belay_client* client = CLIENT(.url = url);
  CHECK_WHY(BELAY_UNSUPPORTED_SERVER, "is no node of a cluster: its URL is redis://",
            belay_client_ping(client, &why));
  belay_client_free(client);
  launch_end(&single.launch);
  snprintf(url, sizeof url, "redis://%s", server_address(server));
  client = CLIENT(.url = url);
  CHECK_WHY(BELAY_UNSUPPORTED_SERVER, "is a node of a cluster: its URL is redis-cluster://",
            belay_client_ping(client, &why));
  belay_client_free(client);
}

const Test cluster_tests[] = {
    {"Every master of a cluster has every primitive", test_primitives},
    {"Names on all masters are held together, in any order", test_several_names},
    {"Names on all masters are re-entered under an identity", test_identity},
    {"A slot that has moved takes its holders and waiters along", test_moved},
    {"Whoever waits in a slot is served where it has moved", test_moved_waiters},
    {"Inboxes are read at the master of their slot, and go with it", test_inboxes},
    {"A slot on its way keeps its holders for longer than their leases", test_moves_for_long},
    {"A slot on its way ends no script half-way", test_moves_half},
    {"A slot that moves as a whole takes its holders and waiters along", test_moves_whole},
    {"Masters that join and leave a cluster have its slots meanwhile", test_masters_come_and_go},
    {"A slot on its way takes new names when it has arrived", test_new_names_meanwhile},
    {"A master that is killed touches its own names", test_killed},
    {"A replica that becomes the master goes on with holders and waiters", test_failover},
    {"A replica follows a master that is killed", test_killed_with_replica},
    {"A replica follows a master that stops, and is asked what that has not answered",
     test_stopped_with_replica},
    {"Masters that are all started anew have waiters served", test_all_restarted},
    {"Every master of a cluster is asked for its names and a sign of life", test_everywhere},
    {"The right to CLUSTER SLOTS is all that a cluster takes beyond the categories", test_rights},
    {"A URL that takes a server for a cluster, or the reverse, is told at once", test_other_kinds},
    {"Only masters that are needed are connected to", test_connections},
    {"A master that nobody has named is found", test_not_named},
    {NULL, NULL}};
