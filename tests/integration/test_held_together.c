// Holds that several have of one name, as readers or by an identity: who excludes whom, what keeps
// them, what ends them.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

// The ways to hold the name "a" together.
static const RequestSetup kWays[] = {{.name = "a", .shared = true},
                                     {.name = "a", .identity = "order 42"}};

enum { kWayCount = sizeof kWays / sizeof kWays[0] };

static RequestSetup way_with_lease(int way, int64_t lease_ms) {
  RequestSetup setup = kWays[way];
  setup.lease_ms = lease_ms;
  setup.notify = 1;
  return setup;
}

static int64_t try_way(belay_client* client, int way) {
  const RequestSetup setup = way_with_lease(way, 0);
  return acquire_as(client, 0, &setup);
}

static void submit_writer(belay_client* client) {
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
}

// Two clients that hold it in one way, each with a lease, and one that does not.
typedef struct Trio {
  belay_client* one;
  belay_client* two;
  belay_client* other;
  int64_t holds[2];
  int64_t fence;
} Trio;

static Trio trio_of(const char* url, const char* other_url, int way, int64_t lease_ms) {
  Trio trio = {.one = CLIENT(.url = url, .watchdog_lease_ms = lease_ms),
               .two = CLIENT(.url = other_url, .watchdog_lease_ms = lease_ms),
               .other = CLIENT(.url = other_url)};
  trio.holds[0] = GRANTED(try_way(trio.one, way));
  trio.holds[1] = GRANTED(try_way(trio.two, way));
  trio.fence = belay_hold_fence(trio.one, trio.holds[0], 0);
  CHECK_INT(trio.fence, belay_hold_fence(trio.two, trio.holds[1], 0));
  return trio;
}

static void trio_free(const Trio* trio) {
  belay_client_free(trio->one);
  belay_client_free(trio->two);
  belay_client_free(trio->other);
}

// A hold of a later tenure.
static void check_next_tenure(const Trio* trio, int64_t hold) {
  CHECK(belay_hold_fence(trio->other, hold, 0) > trio->fence);
  CHECK_STATUS(BELAY_OK, belay_verify(trio->other, hold, NULL));
}

static void check_both_lost(const Trio* trio) {
  CHECK_INT(trio->holds[0], TAKE(trio->one, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_INT(trio->holds[1], TAKE(trio->two, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_INT(trio->fence, belay_hold_fence(trio->one, trio->holds[0], 0));
  CHECK_STATUS(BELAY_LOST, belay_release(trio->one, trio->holds[0]));
  CHECK_STATUS(BELAY_LOST, belay_release(trio->two, trio->holds[1]));
}

// ---- Who excludes whom

static void test_who_excludes_whom(Server* server) {
  static const RequestSetup kWanted[] = {{.name = "a"},
                                         {.name = "a", .shared = true},
                                         {.name = "a", .identity = "x"},
                                         {.name = "a", .identity = "xy"}};
  belay_client* clients[2] = {CLIENT(.url = server->url), CLIENT(.url = server->url)};
  for (int held = 0; held < 4; ++held) {
    const int64_t hold = GRANTED(acquire_as(clients[0], 0, &kWanted[held]));
    for (int wanted = 0; wanted < 4; ++wanted) {
      for (int i = 0; i < 2; ++i) {
        const int64_t other = acquire_as(clients[i], 0, &kWanted[wanted]);
        if (held == 0 || held != wanted) {
          CHECK_INT(BELAY_BUSY, -other);
          REFUSED(BELAY_TIMEOUT, acquire_as(clients[i], 20, &kWanted[wanted]));
        } else {
          CHECK_INT(belay_hold_fence(clients[0], hold, 0), belay_hold_fence(clients[i], other, 0));
          CHECK_STATUS(BELAY_OK, belay_release(clients[i], other));
        }
      }
    }
    CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  }
  belay_client_free(clients[0]);
  belay_client_free(clients[1]);
}

static void test_identities(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_identity(request, "", 0));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_identity(request, NULL, 1));
  belay_request_free(request);
  char bytes[257] = "";
  request = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_identity(request, bytes, 257));
  belay_request_free(request);
  request = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(BELAY_OK, belay_request_add_shared_name(request, "a", -1));
  CHECK_STATUS(BELAY_OK, belay_request_set_identity(request, "x", -1));
  CHECK_WHY(BELAY_INVALID_ARGUMENT, "identity", belay_acquire(client, request, 0, 0, &why));
  belay_request_free(request);
  // Any bytes, all of which count.
  int64_t holds[2];
  for (int i = 0; i < 2; ++i) {
    request = belay_request_new(BELAY_LOCK);
    CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "a", -1));
    CHECK_STATUS(BELAY_OK, belay_request_set_identity(request, bytes, 256));
    holds[i] = GRANTED(belay_acquire(client, request, 0, 0, NULL));
    belay_request_free(request);
  }
  bytes[255] = 1;
  request = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "a", -1));
  CHECK_STATUS(BELAY_OK, belay_request_set_identity(request, bytes, 256));
  REFUSED(BELAY_BUSY, belay_acquire(client, request, 0, 0, NULL));
  belay_request_free(request);
  CHECK_STATUS(BELAY_OK, belay_release(client, holds[0]));
  CHECK_STATUS(BELAY_OK, belay_release(client, holds[1]));
  belay_client_free(client);
}

static void test_identities_in_turn(Server* server) {
  enum { kWaiters = 4 };

  static const char* const kIdentities[kWaiters] = {"x", "x", "y", "x"};
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* clients[kWaiters];
  const int64_t hold = GRANTED(ACQUIRE(holder, 0, .name = "a"));
  for (int i = 0; i < kWaiters; ++i) {
    clients[i] = CLIENT(.url = server->url);
    CHECK_STATUS(BELAY_OK, SUBMIT(clients[i], 1, -1, .name = "a", .identity = kIdentities[i]));
    EVENTUALLY(waiters_of(holder, "a") == i + 1);
  }
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t first = take_soon(clients[0], 1);
  const int64_t second = take_soon(clients[1], 1);
  const int64_t fence = belay_hold_fence(clients[0], first, 0);
  CHECK_INT(fence, belay_hold_fence(clients[1], second, 0));
  CHECK(belay_next(clients[3], 0) == NULL);  // not past the other identity
  give_back(clients[0], first);
  CHECK(belay_next(clients[2], 0) == NULL);
  give_back(clients[1], second);
  const int64_t third = take_soon(clients[2], 1);
  CHECK(belay_hold_fence(clients[2], third, 0) > fence);
  CHECK(belay_next(clients[3], 0) == NULL);
  give_back(clients[2], third);
  take_soon(clients[3], 1);
  for (int i = 0; i < kWaiters; ++i) {
    belay_client_free(clients[i]);
  }
  belay_client_free(holder);
}

// An owner who holds it alone may let in others of an identity by leaving it to that.
static void test_identity_of_an_owner(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  const int64_t alone = GRANTED(ACQUIRE(one, 0, .name = "a", .owner = 5));
  const int64_t member = GRANTED(ACQUIRE(one, 0, .name = "a", .owner = 5, .identity = "x"));
  REFUSED(BELAY_BUSY, ACQUIRE(two, 0, .name = "a", .identity = "x"));
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 1, -1, .name = "a", .identity = "x"));
  CHECK_STATUS(BELAY_OK, belay_release(one, alone));
  const int64_t other = take_soon(two, 1);
  CHECK_INT(belay_hold_fence(one, member, 0), belay_hold_fence(two, other, 0));
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(one, -1, .name = "a", .owner = 5));
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(one, -1, .name = "a", .owner = 5, .identity = "y"));
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(one, -1, .name = "a", .owner = 5, .shared = true));
  CHECK_STATUS(BELAY_OK, belay_verify(one, member, NULL));
  belay_client_free(one);
  belay_client_free(two);
}

// ---- Processes

static int64_t let_in(const Child* child) {
  say(&child->line, 0);
  return hear(&child->line);
}

// The names of an order, which its workers hold together, wherever they run.
static belay_request* order_of(const char* identity) {
  belay_request* request = REQUEST(.name = "order 17", .identity = identity);
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "stock 4", -1));
  return request;
}

// Enters as another worker of the same order, and as its own worker once more.
static void join_order(Server* server, const Line* parent, int64_t lease_ms) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease_ms);
  belay_request* request = order_of("order 17");
  hear(parent);
  const int64_t outer = GRANTED(belay_acquire(client, request, 7, 0, NULL));
  const int64_t inner = GRANTED(belay_acquire(client, request, 7, 0, NULL));
  say(parent, belay_hold_fence(client, outer, 0));
  say(parent, belay_hold_fence(client, inner, 1));
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  CHECK_STATUS(BELAY_OK, belay_verify(client, inner, NULL));
  say(parent, 0);
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  belay_request_free(request);
  belay_client_free(client);
}

static void test_order_of_several_names(Server* server) {
  const Child child = child_start(server, join_order, kLongLeaseMs);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* other = CLIENT(.url = server->url);
  belay_request* request = order_of("order 17");
  belay_request* another = order_of("order 18");
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK_INT(belay_hold_fence(client, hold, 0), let_in(&child));
  CHECK_INT(belay_hold_fence(client, hold, 1), hear(&child.line));
  REFUSED(BELAY_BUSY, belay_acquire(other, another, 0, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(other, "stock 4", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_submit_acquire(other, 1, another, 0, -1));
  EVENTUALLY(waiters_of(client, "order 17") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  say(&child.line, 0);
  hear(&child.line);
  CHECK(belay_next(other, 0) == NULL);  // the other process is in it still, once
  say(&child.line, 0);
  child_end(&child);
  give_back(other, acquired(other, 1));
  belay_request_free(request);
  belay_request_free(another);
  belay_client_free(client);
  belay_client_free(other);
}

// Which way a child holds it.
static int child_way;

static void hold_in_child(Server* server, const Line* parent, int64_t lease_ms) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease_ms);
  hear(parent);
  const int64_t hold = GRANTED(acquire_as(client, -1, &kWays[child_way]));
  say(parent, belay_hold_fence(client, hold, 0));
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_processes(Server* server) {
  Child children[kWayCount][2];
  for (child_way = 0; child_way < kWayCount; ++child_way) {
    for (int i = 0; i < 2; ++i) {
      children[child_way][i] = child_start(server, hold_in_child, kLongLeaseMs);
    }
  }
  belay_client* client = CLIENT(.url = server->url);
  int64_t last_fence = 0;
  for (int way = 0; way < kWayCount; ++way) {
    const int64_t fence = let_in(&children[way][0]);
    CHECK(fence > last_fence);
    CHECK_INT(fence, let_in(&children[way][1]));
    submit_writer(client);
    for (int i = 0; i < 2; ++i) {
      CHECK(belay_next(client, 0) == NULL);
      say(&children[way][i].line, 0);
      child_end(&children[way][i]);
    }
    const int64_t hold = take_soon(client, 1);
    last_fence = belay_hold_fence(client, hold, 0);
    CHECK(last_fence > fence);
    give_back(client, hold);
  }
  belay_client_free(client);
}

// Whether the others leave at once, or later: a dead member is waited for no longer and no less.
static void test_killed_members(Server* server) {
  const int64_t lease = scaled(800);

  enum { kPairs = 2 * kWayCount };

  Child dying[kPairs];
  Child staying[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    child_way = i % kWayCount;
    dying[i] = child_start(server, hold_in_child, lease);
    staying[i] = child_start(server, hold_in_child, kLongLeaseMs);
  }
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < kPairs; ++i) {
    const bool leaves_at_once = i < kWayCount;
    CHECK_INT(let_in(&dying[i]), let_in(&staying[i]));
    submit_writer(client);
    const int64_t start = now_ms();
    child_kill(&dying[i]);
    if (!leaves_at_once) {
      EVENTUALLY(holders_of(client, "a") == 1 || now_ms() - start > lease);
      CHECK(belay_next(client, 0) == NULL);
    }
    say(&staying[i].line, 0);
    child_end(&staying[i]);
    CHECK(!leaves_at_once || waiters_of(client, "a") == 1 || now_ms() - start > lease / 2);
    give_back(client, take_soon(client, 1));
    CHECK(now_ms() - start < lease + scaled(2000));
  }
  belay_client_free(client);
}

// ---- What keeps them

static void test_watchdog(Server* server) {
  const int64_t lease = scaled(600);
  for (int way = 0; way < kWayCount; ++way) {
    const Trio trio = trio_of(server->url, server->url, way, lease);
    submit_writer(trio.other);
    STAYS(3 * lease, belay_next(trio.other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_verify(trio.one, trio.holds[0], NULL));
    CHECK_STATUS(BELAY_OK, belay_release(trio.one, trio.holds[0]));
    STAYS(lease, belay_next(trio.other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_release(trio.two, trio.holds[1]));
    const int64_t next = take_soon(trio.other, 1);
    check_next_tenure(&trio, next);
    give_back(trio.other, next);
    trio_free(&trio);
  }
}

static void test_cut_connections(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    const Trio trio = trio_of(server->url, server->url, way, kLongLeaseMs);
    submit_writer(trio.other);
    for (int i = 0; i < 3; ++i) {
      server_cut_clients(server);
      CHECK_STATUS(BELAY_OK, belay_verify(trio.one, trio.holds[0], NULL));
      CHECK_STATUS(BELAY_OK, belay_verify(trio.two, trio.holds[1], NULL));
      CHECK_INT(2, holders_of(trio.other, "a"));
      EVENTUALLY(waiters_of(trio.other, "a") == 1);
    }
    CHECK_STATUS(BELAY_OK, belay_release(trio.one, trio.holds[0]));
    CHECK(belay_next(trio.other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_release(trio.two, trio.holds[1]));
    const int64_t next = take_soon(trio.other, 1);
    check_next_tenure(&trio, next);
    give_back(trio.other, next);
    trio_free(&trio);
  }
}

// Holds of one client end one by one, each with its own lease.
static void test_extend_abandon_max_hold(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
    belay_client* other = CLIENT(.url = server->url);
    const RequestSetup fixed = way_with_lease(way, scaled(700));
    RequestSetup limited = way_with_lease(way, 0);
    limited.max_hold_ms = scaled(300);
    const int64_t brief = GRANTED(acquire_as(client, 0, &fixed));
    const int64_t extended = GRANTED(acquire_as(client, 0, &fixed));
    const int64_t forgotten = GRANTED(acquire_as(client, 0, &fixed));
    const int64_t kept = GRANTED(try_way(client, way));
    CHECK_STATUS(BELAY_OK, belay_extend(client, extended, 60000, NULL));
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_extend(client, kept, 60000, NULL));
    CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, forgotten));
    CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_verify(client, forgotten, NULL));
    const int64_t start = now_ms();
    const int64_t ending = GRANTED(acquire_as(client, 0, &limited));
    CHECK_INT(ending, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
    CHECK(now_ms() - start >= scaled(300));
    for (int i = 0; i < 2; ++i) {
      const int64_t lost = TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
      CHECK(lost == brief || lost == ending);
    }
    CHECK_STATUS(BELAY_OK, belay_verify(client, kept, NULL));
    CHECK(belay_hold_remaining_ms(client, extended) > 30000);
    submit_writer(other);
    CHECK_STATUS(BELAY_OK, belay_release(client, extended));
    STAYS(scaled(700), belay_next(other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_release(client, kept));
    give_back(other, take_soon(other, 1));
    belay_client_free(client);
    belay_client_free(other);
  }
}

static void test_abandoned(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    const int64_t lease = scaled(600);
    const Trio trio = trio_of(server->url, server->url, way, lease);
    CHECK_STATUS(BELAY_OK, belay_release(trio.two, trio.holds[1]));
    CHECK_STATUS(BELAY_OK, belay_hold_abandon(trio.one, trio.holds[0]));
    submit_writer(trio.other);
    const int64_t start = now_ms();
    give_back(trio.other, take_soon(trio.other, 1));
    CHECK(now_ms() - start < lease + scaled(2000));
    CHECK(belay_next(trio.one, 0) == NULL);
    trio_free(&trio);
  }
}

// ---- What ends them

// One falls silent: it ends, the other goes on.
static void test_silence(Server* server) {
  const Proxy proxy = proxy_start(server);
  for (int way = 0; way < kWayCount; ++way) {
    proxy.state->is_silent = false;
    const Trio trio = trio_of(proxy.url, server->url, way, scaled(600));
    submit_writer(trio.other);
    proxy.state->is_silent = true;
    CHECK_INT(trio.holds[0], TAKE(trio.one, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
    CHECK_INT(trio.holds[0], TAKE(trio.one, BELAY_EVENT_LOST, 0, BELAY_LOST));
    EVENTUALLY(holders_of(trio.other, "a") == 1);
    CHECK(belay_next(trio.other, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_verify(trio.two, trio.holds[1], NULL));
    CHECK_STATUS(BELAY_OK, belay_release(trio.two, trio.holds[1]));
    const int64_t next = take_soon(trio.other, 1);
    CHECK_STATUS(BELAY_LOST, belay_release(trio.one, trio.holds[0]));
    proxy.state->is_silent = false;
    CHECK_STATUS(BELAY_OK, belay_client_ping(trio.one, NULL));
    check_next_tenure(&trio, next);
    give_back(trio.other, next);
    trio_free(&trio);
  }
}

static void test_deleted(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    const Trio trio = trio_of(server->url, server->url, way, scaled(600));
    server_ask(server, "DEL", "belay:m:{a}", NULL);
    check_both_lost(&trio);
    const int64_t next = GRANTED(try_way(trio.other, way));
    check_next_tenure(&trio, next);
    CHECK_INT(1, holders_of(trio.other, "a"));
    trio_free(&trio);
  }
}

// The members' renewals do not look at it: they go on until somebody takes the name.
static void test_deleted_record(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    const Trio trio = trio_of(server->url, server->url, way, scaled(600));
    server_ask(server, "DEL", "belay:r:{a}", NULL);
    CHECK_STATUS(BELAY_OK, belay_verify(trio.one, trio.holds[0], NULL));
    const int64_t next = GRANTED(try_way(trio.other, way));
    check_both_lost(&trio);
    check_next_tenure(&trio, next);
    CHECK_INT(1, holders_of(trio.other, "a"));
    trio_free(&trio);
  }
}

static void server_wipe(const Server* server) {
  server_tell(server, "FLUSHALL", NULL);
}

static void test_wiped(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    const Trio trio = trio_of(server->url, server->url, way, kLongLeaseMs);
    const int64_t start = now_ms();
    server_wipe(server);
    check_both_lost(&trio);
    CHECK(now_ms() - start < scaled(kLessThanAPollMs));
    check_next_tenure(&trio, GRANTED(belay_lock(trio.other, "a", -1, 0, NULL)));
    trio_free(&trio);
    server_wipe(server);
  }
}

static void check_broken(const Trio* trio, int64_t fence, int32_t parted) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(trio->other, "a", -1, fence, &event));
  CHECK_INT(parted, belay_event_int(event, BELAY_FIELD_MEMBERS));
  for (int32_t i = 0; i < parted; ++i) {
    CHECK_INT(BELAY_ROLE_HOLDER, belay_event_member_int(event, i, BELAY_MEMBER_ROLE));
    CHECK_INT(trio->fence, belay_event_member_int(event, i, BELAY_MEMBER_FENCE));
  }
  belay_event_free(event);
}

static void test_broken(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    for (int by_fence = 0; by_fence < 2; ++by_fence) {
      const Trio trio = trio_of(server->url, server->url, way, kLongLeaseMs);
      submit_writer(trio.other);
      check_broken(&trio, trio.fence - 1, 0);
      CHECK_STATUS(BELAY_OK, belay_verify(trio.one, trio.holds[0], NULL));
      check_broken(&trio, by_fence == 1 ? trio.fence : 0, 2);
      check_both_lost(&trio);
      const int64_t next = take_soon(trio.other, 1);
      check_broken(&trio, trio.fence, 0);
      check_next_tenure(&trio, next);
      give_back(trio.other, next);
      trio_free(&trio);
    }
  }
}

static void test_client_ends(Server* server) {
  for (int way = 0; way < kWayCount; ++way) {
    for (int freed = 0; freed < 2; ++freed) {
      Trio trio = trio_of(server->url, server->url, way, kLongLeaseMs);
      GRANTED(try_way(trio.one, way));
      submit_writer(trio.other);
      CHECK_STATUS(BELAY_OK, SUBMIT(trio.one, 7, -1, .name = "a"));
      CHECK_STATUS(BELAY_OK, SUBMIT(trio.one, 8, -1, .name = "a", .shared = true));
      CHECK_STATUS(BELAY_OK, belay_release(trio.two, trio.holds[1]));
      if (freed == 0) {
        CHECK_STATUS(BELAY_OK, belay_client_shutdown(trio.one));
        TAKE(trio.one, BELAY_EVENT_ACQUIRED, 7, BELAY_CLOSED);
        TAKE(trio.one, BELAY_EVENT_ACQUIRED, 8, BELAY_CLOSED);
        TAKE(trio.one, BELAY_EVENT_LOST, 0, BELAY_LOST);
        TAKE(trio.one, BELAY_EVENT_LOST, 0, BELAY_LOST);
        TAKE(trio.one, BELAY_EVENT_END, 0, BELAY_CLOSED);
      }
      belay_client_free(trio.one);
      give_back(trio.other, take_soon(trio.other, 1));
      CHECK_INT(0, holders_of(trio.other, "a"));
      CHECK_INT(0, waiters_of(trio.other, "a"));
      trio.one = NULL;
      trio_free(&trio);
    }
  }
}

const Test held_together_tests[] = {
    {"Only readers, and only requests of one identity, hold a name together",
     test_who_excludes_whom},
    {"An identity is 1 to 256 bytes, all of which count", test_identities},
    {"Identities have their turns in order, those who are adjacent together",
     test_identities_in_turn},
    {"An owner may leave a name to an identity that it holds it by, too",
     test_identity_of_an_owner},
    {"Processes hold a name together until the last has left; each tenure has a fence",
     test_processes},
    {"Workers of one identity, in several processes, hold several names together and enter again",
     test_order_of_several_names},
    {"A killed member is waited for until its own lease ends", test_killed_members},
    {"The watchdog keeps each of those who hold a name together", test_watchdog},
    {"Holds that several have outlive their connections", test_cut_connections},
    {"Holds of one client that share a name have each their own end", test_extend_abandon_max_hold},
    {"An abandoned hold of those that several have lapses", test_abandoned},
    {"One of those who hold a name together falls silent: its hold ends, the others' do not",
     test_silence},
    {"When the members of a name are deleted, each loses it at its next renewal", test_deleted},
    {"When the record of a name that several hold is deleted, each loses it once it is taken",
     test_deleted_record},
    {"When the server is wiped, all who hold a name together lose it at once", test_wiped},
    {"A break parts all who hold a name together from it, and tells them", test_broken},
    {"A client that ends leaves what it holds together with others", test_client_ends},
    {NULL, NULL}};
