// Connections that are cut at a chosen moment of a command, by a proxy: before it, in the middle of
// it, after it (its reply is lost), or with its bytes arriving late. Each command comes to the same
// end as without a cut.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

enum { kCutCount = sizeof kCuts / sizeof kCuts[0], kRounds = 5 };

static void check_no_loss(belay_client* client) {
  for (belay_event* event; (event = belay_next(client, 0)) != NULL; belay_event_free(event)) {
    CHECK(belay_event_kind(event) != BELAY_EVENT_LOST);
  }
}

// The fault happened once more than before.
static void expect_fault(const Proxy* proxy, int64_t before) {
  CHECK_INT(before + 1, proxy->state->faults);
}

// The record is gone, not merely lapsed, and nobody waits: nothing was counted twice.
static void check_free(const Server* server) {
  EVENTUALLY(strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:w:{a}", "belay:m:{a}",
                                    "belay:e:{a}", NULL)) == 0);
}

static belay_client* long_lived(const char* url, const char* user) {
  return CLIENT(.url = url, .user = user, .password = user == NULL ? NULL : "s3cret",
                .watchdog_lease_ms = kLongLeaseMs);
}

static void check_cut_tries(Server* server, const char* user) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, user);
  int64_t fence = 0;
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    expect_fault(&proxy, faults);
    CHECK(belay_hold_fence(client, hold, 0) > fence);
    fence = belay_hold_fence(client, hold, 0);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    check_free(server);
  }
  belay_client_free(client);
}

static void test_cut_tries(Server* server) {
  check_cut_tries(server, NULL);
}

static void test_cut_releases(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    expect_fault(&proxy, faults);
    check_free(server);
  }
  belay_client_free(client);
}

// The release's repetition must not take the lock from whom the first one gave it to.
static void test_cut_handoffs(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  belay_client* waiter = long_lived(server->url, NULL);
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(waiter, "a") == 1);
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK_STATUS(BELAY_OK, belay_verify(waiter, next, NULL));
    REFUSED(BELAY_BUSY, belay_lock(client, "a", -1, 0, NULL));
    give_back(waiter, next);
    check_free(server);
  }
  belay_client_free(client);
  belay_client_free(waiter);
}

// Whoever was cut off while it enqueued keeps the place that it got, before those who came later.
static void test_cut_waits(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* holder = long_lived(server->url, NULL);
  belay_client* client = long_lived(proxy.url, NULL);
  belay_client* later = long_lived(server->url, NULL);
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(holder, "a") == 1);
    CHECK_STATUS(BELAY_OK, SUBMIT(later, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(holder, "a") == 2);
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));  // it is connected again
    CHECK_INT(2, waiters_of(holder, "a"));
    CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
    const int64_t first = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK(belay_next(later, 0) == NULL);
    give_back(client, first);
    const int64_t second = TAKE(later, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    give_back(later, second);
    check_free(server);
  }
  belay_client_free(holder);
  belay_client_free(client);
  belay_client_free(later);
}

static void test_cut_renewals(Server* server) {
  const int64_t lease = scaled(600);
  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = lease);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  for (int i = 0; i < kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i]);
    EVENTUALLY(proxy.state->faults == faults + 1);
    STAYS(lease, belay_hold_state(client, hold) != BELAY_HOLD_LOST);
  }
  check_no_loss(client);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_cut_extensions_and_queries(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = 60000));
  for (int i = 0; i < kCutCount; ++i) {
    proxy_break_next(&proxy, kCuts[i]);
    CHECK_STATUS(BELAY_OK, belay_extend(client, hold, (i + 2) * 60000, NULL));
    CHECK(belay_hold_remaining_ms(client, hold) > (i + 1) * 60000);
    proxy_break_next(&proxy, kCuts[i]);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    proxy_break_next(&proxy, kCuts[i]);
    CHECK(is_held(client, "a"));
  }
  CHECK_INT(3 * kCutCount, proxy.state->faults);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// A break of one fence may be repeated; of whoever holds it, it must not hit the next holder.
static void test_cut_breaks(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* breaker = CLIENT(.url = proxy.url, .request_timeout_ms = scaled(400));
  belay_client* holder = long_lived(server->url, NULL);
  belay_client* waiter = long_lived(server->url, NULL);
  for (int i = 0; i < 2 * kCutCount; ++i) {
    const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(waiter, "a") == 1);
    const bool by_fence = i % 2 == 0;
    proxy_break_next(&proxy, kCuts[i / 2]);
    const int32_t status =
        belay_break(breaker, "a", -1, by_fence ? belay_hold_fence(holder, hold, 0) : 0, NULL);
    CHECK(status == BELAY_OK || (!by_fence && status == BELAY_UNAVAILABLE));
    if (status == BELAY_OK || kCuts[i / 2] == kCutAfter) {
      EVENTUALLY(belay_hold_state(holder, hold) == BELAY_HOLD_LOST);
    }
    const int32_t released = belay_release(holder, hold);
    CHECK(released == BELAY_OK || released == BELAY_LOST);
    const int64_t next = acquired(waiter, 1);
    CHECK_STATUS(BELAY_OK, belay_client_ping(breaker, NULL));
    CHECK_STATUS(BELAY_OK, belay_verify(waiter, next, NULL));
    give_back(waiter, next);
  }
  CHECK_INT(2 * kCutCount, proxy.state->faults);
  belay_client_free(breaker);
  belay_client_free(holder);
  belay_client_free(waiter);
}

// ---- Names that several hold

typedef struct Way {
  RequestSetup wanted;
  RequestSetup excluding;  // what cannot be had beside it
} Way;

static const Way kWays[] = {
    {{.name = "a", .shared = true}, {.name = "a"}},
    {{.name = "a", .identity = "x"}, {.name = "a"}},
    {{.name = "s", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 3},
     {.name = "s", .primitive = BELAY_SEMAPHORE, .permits = 3, .limit = 3}}};

enum { kWayCount = sizeof kWays / sizeof kWays[0] };

// A member comes and goes beside another one, through each cut.
static void test_cut_members(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  belay_client* member = long_lived(server->url, NULL);
  belay_client* other = long_lived(server->url, NULL);
  for (int i = 0; i < kWayCount * kCutCount; ++i) {
    const Way* way = &kWays[i / kCutCount];
    const int cut = kCuts[i % kCutCount];
    const int64_t beside = GRANTED(acquire_as(member, 0, &way->wanted));
    int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, cut);
    const int64_t hold = GRANTED(acquire_as(client, 0, &way->wanted));
    expect_fault(&proxy, faults++);
    CHECK_INT(2, holders_of(other, way->wanted.name));
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    CHECK_STATUS(BELAY_OK, submit_as(other, 1, -1, &way->excluding));
    EVENTUALLY(waiters_of(other, way->wanted.name) == 1);
    proxy_break_next(&proxy, cut);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    expect_fault(&proxy, faults++);
    EVENTUALLY(holders_of(other, way->wanted.name) == 1);
    CHECK(belay_next(other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_verify(member, beside, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(member, beside));
    give_back(other, TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
    check_free(server);
    CHECK_INT(0, holders_of(other, way->wanted.name));
    CHECK_INT(0, waiters_of(other, way->wanted.name));
  }
  belay_client_free(client);
  belay_client_free(member);
  belay_client_free(other);
}

// A waiter is in the queue once after each cut.
static void test_cut_waiting_members(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* holder = long_lived(server->url, NULL);
  belay_client* client = long_lived(proxy.url, NULL);
  belay_client* later = long_lived(server->url, NULL);
  for (int i = 0; i < kWayCount * kCutCount; ++i) {
    const Way* way = &kWays[i / kCutCount];
    const char* name = way->wanted.name;
    const int64_t hold = GRANTED(acquire_as(holder, 0, &way->excluding));
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    CHECK_STATUS(BELAY_OK, submit_as(client, 1, -1, &way->wanted));
    EVENTUALLY(waiters_of(holder, name) == 1);
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));  // it is connected again
    CHECK_STATUS(BELAY_OK, submit_as(later, 1, -1, &way->excluding));
    EVENTUALLY(waiters_of(holder, name) == 2);
    expect_fault(&proxy, faults);
    CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
    const int64_t first = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK(belay_next(later, 0) == NULL);
    give_back(client, first);
    give_back(later, TAKE(later, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
    EVENTUALLY(holders_of(holder, name) == 0);
    check_free(server);
  }
  belay_client_free(holder);
  belay_client_free(client);
  belay_client_free(later);
}

static void test_cut_renewals_of_members(Server* server) {
  const int64_t lease = scaled(1200);
  const Proxy proxy = proxy_start(server);
  for (int i = 0; i < kWayCount; ++i) {
    belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = lease);
    CHECK_STATUS(BELAY_OK, submit_as(client, 1, 0, &kWays[i].wanted));
    const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    for (int cut = 0; cut < kCutCount; ++cut) {
      const int64_t faults = proxy.state->faults;
      proxy_break_next(&proxy, kCuts[cut]);
      EVENTUALLY(proxy.state->faults == faults + 1);
      STAYS(lease, belay_hold_state(client, hold) != BELAY_HOLD_LOST);
    }
    check_no_loss(client);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    belay_client_free(client);
  }
}

// Whatever is lost, the hold is shared in the end.
static void test_cut_downgrades(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  belay_client* other = long_lived(server->url, NULL);
  for (int i = 0; i < kCutCount; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i]);
    CHECK_STATUS(BELAY_OK, belay_downgrade(client, hold, NULL));
    expect_fault(&proxy, faults);
    const int64_t reader = GRANTED(acquire_as(other, 0, &kWays[0].wanted));
    CHECK_INT(belay_hold_fence(client, hold, 0), belay_hold_fence(other, reader, 0));
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    CHECK_STATUS(BELAY_OK, belay_release(other, reader));
    check_free(server);
  }
  belay_client_free(client);
  belay_client_free(other);
}

// ---- Bytes of a connection that is gone

// An acquire whose bytes arrive when its client has long released the lock takes nothing: its
// connection has been killed on the server.
static void test_ghost(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url, NULL);
  for (int64_t i = 1; i <= 5; ++i) {
    proxy_break_next(&proxy, kGhost);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK_INT(i, proxy.state->faults);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    EVENTUALLY(proxy.state->ghosts_killed == i);
  }
  proxy.state->let_ghosts_speak = true;
  STAYS(100, proxy.state->ghosts_heard == 0);
  check_free(server);
  belay_client_free(client);
}

// ---- Users without the rights that make outages shorter

// Redis 6.2 cannot take away a part of a command: what a client needs of CLIENT is given instead.
static void make_user(const Server* server, const char* lacking) {
  const char* const parts[] = {"+client|id", "+client|kill", "+client|tracking", "+client|caching"};
  server_tell(server, "ACL", "SETUSER", "less", "reset", "on", ">s3cret", "~belay:*",
              "resetchannels", "&belay:*", "+@all", "-client", NULL);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    if (strcmp(parts[i], lacking) != 0) {
      server_tell(server, "ACL", "SETUSER", "less", parts[i], NULL);
    }
  }
}

static void test_cuts_without_kill(Server* server) {
  make_user(server, "+client|kill");
  check_cut_tries(server, "less");
}

// Without the right to kill, the acquire does arrive; what it took is given back, and others get
// the lock long before its lease ends.
static void test_ghost_without_kill(Server* server) {
  make_user(server, "+client|kill");
  const Proxy proxy = proxy_start(server);
  belay_client* client =
      CLIENT(.url = proxy.url, .user = "less", .password = "s3cret",
             .watchdog_lease_ms = kLongLeaseMs, .request_timeout_ms = scaled(2000));
  belay_client* other = CLIENT(.url = server->url);
  proxy_break_next(&proxy, kGhost);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_INT(1, proxy.state->faults);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  proxy.state->let_ghosts_speak = true;
  EVENTUALLY(proxy.state->ghosts_heard == 1);
  CHECK_INT(0, proxy.state->ghosts_killed);
  EVENTUALLY(is_held(other, "a"));
  // A wait would tell the client that its ghost holds the lock.
  int64_t next = 0;
  EVENTUALLY((next = belay_lock(other, "a", -1, 0, NULL)) > 0);
  CHECK_STATUS(BELAY_OK, belay_verify(other, next, NULL));
  give_back(other, next);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_wipe_without_tracking(Server* server) {
  make_user(server, "+client|tracking");
  belay_client* client = CLIENT(.url = server->url, .user = "less", .password = "s3cret",
                                .watchdog_lease_ms = scaled(900));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(client, hold, 0);
  server_tell(server, "FLUSHALL", NULL);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  const int64_t next = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(belay_hold_fence(client, next, 0) > fence);
  belay_client_free(client);
}

// ---- Who reads

typedef struct Comer {
  belay_client* client;
  const char* name;
  bool pauses;
  _Atomic(bool) is_over;
  _Atomic(int64_t) rounds;
  pthread_t thread;
} Comer;

// Reads its replies itself whenever it is alone.
static void* come_and_go(void* argument) {
  Comer* comer = argument;
  while (!comer->is_over) {
    const int64_t hold = GRANTED(belay_lock(comer->client, comer->name, -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(comer->client, hold));
    ++comer->rounds;
    if (comer->pauses) {
      nap();
    }
  }
  return NULL;
}

static void test_who_reads(Server* server) {
  belay_client* client = long_lived(server->url, NULL);
  Comer comers[] = {{.client = client, .name = "a"},
                    {.client = client, .name = "b", .pauses = true}};
  for (int i = 0; i < 2; ++i) {
    pthread_create(&comers[i].thread, NULL, come_and_go, &comers[i]);
  }
  for (int64_t tag = 1; tag <= 100; ++tag) {
    const int64_t first = comers[0].rounds;
    const int64_t second = comers[1].rounds;
    CHECK_STATUS(BELAY_OK, belay_submit_ping(client, tag));
    if (tag % 4 == 0) {
      server_cut_clients(server);
    }
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK(belay_event_tag(event) == tag);
    belay_event_free(event);
    EVENTUALLY(comers[0].rounds > first + 1 && comers[1].rounds > second + 1);
  }
  for (int i = 0; i < 2; ++i) {
    comers[i].is_over = true;
    pthread_join(comers[i].thread, NULL);
  }
  belay_client_free(client);
}

static void* ping_and_ping(void* client) {
  for (int i = 0; i < 2000; ++i) {
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  }
  return NULL;
}

// More of them than processors: some are kept from reading until the loop's thread has read what
// they wait for, and nothing else comes.
static void test_read_by_others(Server* server) {
  enum { kClients = 8 };

  belay_client* clients[kClients];
  pthread_t threads[kClients];
  for (int i = 0; i < kClients; ++i) {
    clients[i] = CLIENT(.url = server->url, .request_timeout_ms = 10 * scaled(kLimitMs));
    pthread_create(&threads[i], NULL, ping_and_ping, clients[i]);
  }
  for (int i = 0; i < kClients; ++i) {
    pthread_join(threads[i], NULL);
    belay_client_free(clients[i]);
  }
}

typedef struct Silencer {
  Server* server;
  belay_client* other;
} Silencer;

static void* silence_when_somebody_waits(void* argument) {
  const Silencer* silencer = argument;
  EVENTUALLY(waiters_of(silencer->other, "a") == 1);
  server_pause(silencer->server);
  return NULL;
}

// Whom a timer serves, not the server, need not wait for bytes that do not come.
static void test_silence(Server* server) {
  Silencer silencer = {.server = server, .other = long_lived(server->url, NULL)};
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = 10 * scaled(kLimitMs));
  GRANTED(belay_lock(silencer.other, "a", -1, 0, NULL));
  pthread_t thread;
  pthread_create(&thread, NULL, silence_when_somebody_waits, &silencer);
  const int64_t start = now_ms();
  REFUSED(BELAY_TIMEOUT, belay_lock(client, "a", -1, scaled(1000), NULL));
  CHECK(now_ms() - start < scaled(kLimitMs));
  pthread_join(thread, NULL);
  server_continue(server);
  belay_client_free(client);
  belay_client_free(silencer.other);
}

const Test cut_tests[] = {
    {"A try that is cut off before, in or after its call is granted once", test_cut_tries},
    {"A release that is cut off is carried out once", test_cut_releases},
    {"A release that is cut off takes the lock from no successor", test_cut_handoffs},
    {"A wait that is cut off keeps its place", test_cut_waits},
    {"A renewal that is cut off is repeated in time", test_cut_renewals},
    {"Extensions and queries that are cut off come to their end", test_cut_extensions_and_queries},
    {"A break that is cut off parts one holder at most from the lock", test_cut_breaks},
    {"Readers, members and permits that are cut off come and go once", test_cut_members},
    {"Readers, members and permits that are cut off while they wait have their turn",
     test_cut_waiting_members},
    {"Renewals of readers, members and permits that are cut off are repeated in time",
     test_cut_renewals_of_members},
    {"A downgrade that is cut off is carried out", test_cut_downgrades},
    {"An acquire whose bytes arrive late takes nothing", test_ghost},
    {"Cuts without the right to CLIENT KILL end as others do", test_cuts_without_kill},
    {"Threads that come and go, alone and together, are answered through every cut",
     test_who_reads},
    {"Whose reply the loop's thread has read need not wait for more", test_read_by_others},
    {"A wait that passes while the server is silent ends in time", test_silence},
    {"Without the right to CLIENT KILL, what a late acquire took is given back",
     test_ghost_without_kill},
    {"Without the right to CLIENT TRACKING, wiped data is noticed at the next renewal",
     test_wipe_without_tracking},
    {NULL, NULL}};
