// Semaphores: limits, permits, whose turn it is, and what becomes of permits that are not released.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

// Of the semaphore "s".
#define PERMITS(...) .name = "s", .primitive = BELAY_SEMAPHORE, __VA_ARGS__
#define TRY(client, count, of) ACQUIRE((client), 0, PERMITS(.permits = (count), .limit = (of)))
#define SUBMIT_PERMITS(client, tag, count, of) \
  SUBMIT((client), (tag), -1, PERMITS(.permits = (count), .limit = (of)))

static int64_t take_permits_soon(belay_client* client, int64_t tag, int64_t permits) {
  belay_event* event = GRANT_SOON(client, tag);
  CHECK_INT(permits, belay_event_int(event, BELAY_FIELD_PERMITS));
  return event_end(event);
}

// ---- Limits

static void test_limit(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  belay_event* why = NULL;
  belay_request* request = belay_request_new(BELAY_SEMAPHORE);  // by default 1 permit of any limit
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "s", -1));
  REFUSED(BELAY_NOT_FOUND, belay_acquire(clients[0], request, 0, 0, &why));
  CHECK_TEXT("'s'", belay_event_message(why));
  belay_event_free(why);
  REFUSED(BELAY_NOT_FOUND, belay_acquire(clients[0], request, 0, -1, NULL));
  CHECK_INT(0, waiters_of(clients[0], "s"));
  const int64_t hold = GRANTED(TRY(clients[0], 1, 3));
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[1], 1, 4));
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[0], 1, 2));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 1, 8));
  belay_event* event = EVENT(clients[1], BELAY_EVENT_ACQUIRED, 1, BELAY_LIMIT_DIFFERS);
  CHECK_TEXT("the limit of 's' is 3", belay_event_message(event));
  belay_event_free(event);
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[1], 4, 0));
  const int64_t second = GRANTED(belay_acquire(clients[1], request, 0, 0, &why));
  CHECK_INT(1, belay_event_int(why, BELAY_FIELD_PERMITS));
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], second));
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[1], 1, 4));  // it is remembered
  GRANTED(TRY(clients[1], 3, 0));
  belay_request_free(request);
  free_clients(clients, 2);
}

// What is free of "s" and out of how many.
static void check_free(belay_client* client, int64_t available, int64_t limit) {
  belay_event* event = NULL;
  CHECK_INT(available, belay_semaphore_available(client, "s", -1, &event));
  CHECK_INT(BELAY_EVENT_SEMAPHORE_AVAILABLE, belay_event_kind(event));
  CHECK_INT(available, belay_event_int(event, BELAY_FIELD_AVAILABLE));
  CHECK_INT(limit, belay_event_int(event, BELAY_FIELD_LIMIT));
  belay_event_free(event);
}

static void test_set_limit(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  belay_event* event = NULL;
  REFUSED(BELAY_NOT_FOUND, belay_semaphore_available(clients[0], "s", -1, &event));
  CHECK_TEXT("'s'", belay_event_message(event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(clients[0], "s", -1, 2, NULL));
  check_free(clients[1], 2, 2);
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[1], 1, 3));
  const int64_t hold = GRANTED(TRY(clients[0], 2, 2));
  check_free(clients[1], 0, 2);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 2, 0));
  EVENTUALLY(waiters_of(clients[0], "s") == 1);

  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(clients[0], "s", -1, 5, &event));
  CHECK_INT(BELAY_EVENT_SEMAPHORE_LIMIT_SET, belay_event_kind(event));
  CHECK_INT(5, belay_event_int(event, BELAY_FIELD_LIMIT));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_AVAILABLE));
  belay_event_free(event);
  const int64_t other = take_permits_soon(clients[1], 1, 2);
  check_free(clients[1], 1, 5);

  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(clients[1], "s", -1, 1, NULL));
  check_free(clients[0], 0, 1);
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  check_free(clients[0], 0, 1);
  REFUSED(BELAY_BUSY, TRY(clients[0], 1, 0));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], other));
  check_free(clients[0], 1, 1);
  GRANTED(TRY(clients[0], 1, 1));
  free_clients(clients, 2);
}

static void test_set_limit_async(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_submit_semaphore_available(client, 1, "s", -1));
  CHECK_STATUS(BELAY_OK, belay_submit_semaphore_set_limit(client, 2, "s", -1, 4));
  CHECK_STATUS(BELAY_OK, belay_submit_semaphore_available(client, 3, "s", -1));
  TAKE(client, BELAY_EVENT_SEMAPHORE_AVAILABLE, 1, BELAY_NOT_FOUND);
  TAKE(client, BELAY_EVENT_SEMAPHORE_LIMIT_SET, 2, BELAY_OK);
  belay_event* event = EVENT(client, BELAY_EVENT_SEMAPHORE_AVAILABLE, 3, BELAY_OK);
  CHECK_INT(4, belay_event_int(event, BELAY_FIELD_AVAILABLE));
  belay_event_free(event);
  belay_client_free(client);
}

static void test_set_limit_misuse(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  CHECK_WHY(wrong, "limit was 0", belay_semaphore_set_limit(client, "s", -1, 0, &why));
  CHECK_STATUS(wrong, belay_semaphore_set_limit(client, "s", -1, -1, NULL));
  CHECK_STATUS(wrong, belay_semaphore_set_limit(client, "s", -1, INT64_C(1) << 31, NULL));
  CHECK_STATUS(wrong, belay_semaphore_set_limit(client, "", -1, 1, NULL));
  CHECK_STATUS(wrong, belay_semaphore_set_limit(NULL, "s", -1, 1, NULL));
  REFUSED(wrong, belay_semaphore_available(client, NULL, -1, NULL));
  TOLD(client, wrong, "", belay_submit_semaphore_set_limit(client, 1, "s", -1, 0));
  CHECK_STATUS(wrong, belay_submit_semaphore_available(client, 0, "s", -1));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_TEXT("0", server_ask(server, "DBSIZE", NULL));
  GRANTED(belay_lock(client, "s", -1, 0, NULL));
  CHECK_WHY(BELAY_WRONG_TYPE, "holds a lock, not a semaphore",
            belay_semaphore_set_limit(client, "s", -1, 1, &why));
  REFUSED(BELAY_WRONG_TYPE, belay_semaphore_available(client, "s", -1, NULL));
  belay_client_free(client);
}

static void test_arguments(Server* server) {
  belay_request* lock = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_permits(lock, 1, 1));
  belay_request_free(lock);
  const int64_t bad[][2] = {{-1, 0}, {1, -1}, {5, 3}, {INT64_C(1) << 31, 0}, {1, INT64_C(1) << 31}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    belay_request* request = belay_request_new(BELAY_SEMAPHORE);
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_permits(request, bad[i][0], bad[i][1]));
    belay_request_free(request);
  }
  belay_request* request = belay_request_new(BELAY_SEMAPHORE);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_add_shared_name(request, "s", -1));
  belay_request_free(request);
  request = belay_request_new(BELAY_SEMAPHORE);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_identity(request, "x", -1));
  belay_request_free(request);
  belay_client* client = CLIENT(.url = server->url);
  REFUSED(BELAY_INVALID_ARGUMENT, ACQUIRE(client, 10, PERMITS(.permits = 0, .limit = 3)));
  REFUSED(BELAY_INVALID_ARGUMENT, ACQUIRE(client, -1, PERMITS(.permits = 0, .limit = 3)));
  TOLD(client, BELAY_INVALID_ARGUMENT, "permits was 0", SUBMIT_PERMITS(client, 1, 0, 3));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

static void test_wrong_type(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  belay_event* why = NULL;
  const int64_t permit = GRANTED(TRY(clients[0], 1, 3));
  REFUSED(BELAY_WRONG_TYPE, belay_lock(clients[1], "s", -1, 0, &why));
  CHECK_TEXT("holds a semaphore, not a lock", belay_event_message(why));
  belay_event_free(why);
  REFUSED(BELAY_WRONG_TYPE, belay_lock(clients[0], "s", -1, -1, NULL));
  REFUSED(BELAY_WRONG_TYPE, ACQUIRE(clients[1], -1, .name = "s", .shared = true));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], permit, NULL));
  CHECK_INT(0, waiters_of(clients[0], "s"));
  for (int shared = 0; shared < 2; ++shared) {
    const int64_t hold = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = shared == 1));
    belay_request* request =
        REQUEST(.name = "a", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 3);
    REFUSED(BELAY_WRONG_TYPE, belay_acquire(clients[1], request, 0, -1, &why));
    CHECK_TEXT("holds a lock, not a semaphore", belay_event_message(why));
    belay_event_free(why);
    REFUSED(BELAY_WRONG_TYPE, belay_acquire(clients[0], request, 0, 0, NULL));
    belay_request_free(request);
    CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  }
  free_clients(clients, 2);
}

// ---- Permits

static void test_permits(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t one = GRANTED(TRY(clients[0], 1, 3));
  const int64_t two = GRANTED(TRY(clients[1], 2, 3));
  CHECK(belay_hold_fence(clients[1], two, 0) > belay_hold_fence(clients[0], one, 0));
  for (int i = 0; i < 2; ++i) {
    REFUSED(BELAY_BUSY, TRY(clients[i], 1, 3));
    REFUSED(BELAY_TIMEOUT, ACQUIRE(clients[i], 30, PERMITS(.permits = 1, .limit = 3)));
  }
  EVENTUALLY(waiters_of(clients[0], "s") == 0);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], one));
  REFUSED(BELAY_BUSY, TRY(clients[0], 2, 3));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[0], 1, 2, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  CHECK(belay_next(clients[0], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], two));
  const int64_t next = take_permits_soon(clients[0], 1, 2);
  REFUSED(BELAY_BUSY, TRY(clients[1], 2, 3));
  GRANTED(TRY(clients[1], 1, 3));
  give_back(clients[0], next);
  free_clients(clients, 2);
}

static void test_drain(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t two = GRANTED(TRY(clients[0], 2, 5));
  CHECK_STATUS(BELAY_OK, SUBMIT(clients[1], 1, 0, PERMITS(.permits = 0, .limit = 5)));
  const int64_t rest = take_permits_soon(clients[1], 1, 3);
  REFUSED(BELAY_BUSY, TRY(clients[1], 0, 5));
  REFUSED(BELAY_BUSY, TRY(clients[0], 1, 5));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], two));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], rest));
  CHECK_STATUS(BELAY_OK, SUBMIT(clients[1], 1, 0, PERMITS(.permits = 0)));
  take_permits_soon(clients[1], 1, 5);
  free_clients(clients, 2);
}

// Each with a fence and an end of its own; more than one renewal carries.
static void test_many_of_one_client(Server* server) {
  enum { kMany = 150, kLease = 900 };

  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(kLease));
  int64_t holds[kMany];
  int64_t fence = 0;
  for (int i = 0; i < kMany; ++i) {
    holds[i] = GRANTED(ACQUIRE(client, 0, PERMITS(.permits = 1, .limit = kMany, .notify = 1)));
    CHECK(belay_hold_fence(client, holds[i], 0) > fence);
    fence = belay_hold_fence(client, holds[i], 0);
  }
  CHECK_INT(kMany, holders_of(client, "s"));
  REFUSED(BELAY_BUSY, ACQUIRE(client, 0, PERMITS(.permits = 1, .limit = kMany)));
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  STAYS(scaled(kLease) * 3, belay_hold_state(client, holds[kMany - 1]) != BELAY_HOLD_LOST);
  const int64_t scripts = server_scripts_run(server);
  printf("  %d permits were renewed by %lld scripts\n", kMany, (long long)scripts);
  CHECK(scripts < 3 * kMany);
  for (int i = 0; i < kMany; ++i) {
    CHECK(belay_hold_state(client, holds[i]) != BELAY_HOLD_LOST);
    const int at = (i * 7) % kMany;
    CHECK_STATUS(BELAY_OK, belay_release(client, holds[at]));
    CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, holds[at]));
    CHECK_INT(kMany - i - 1, holders_of(client, "s"));
  }
  belay_client_free(client);
}

static void test_seen(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t two = GRANTED(TRY(clients[0], 2, 3));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 3, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(clients[0], "s", -1, &event));
  CHECK_INT(2, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_INT(2, belay_event_member_int(event, 0, BELAY_MEMBER_PERMITS));
  CHECK_INT(belay_hold_fence(clients[0], two, 0),
            belay_event_member_int(event, 0, BELAY_MEMBER_FENCE));
  CHECK(belay_event_member_int(event, 0, BELAY_MEMBER_LEASE_MS) > 0);
  CHECK_INT(3, belay_event_member_int(event, 1, BELAY_MEMBER_PERMITS));
  CHECK_INT(BELAY_ROLE_WAITER, belay_event_member_int(event, 1, BELAY_MEMBER_ROLE));
  belay_event_free(event);
  free_clients(clients, 2);
}

// ---- Whose turn it is

// A large request is not passed over by small ones, be they of its own client or another.
static void test_fifo(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  int64_t holds[3];
  for (int i = 0; i < 3; ++i) {
    holds[i] = GRANTED(TRY(clients[0], 1, 3));
  }
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 3, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[2], 2, 1, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 2);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 3, 1, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 3);
  for (int i = 0; i < 2; ++i) {
    CHECK_STATUS(BELAY_OK, belay_release(clients[0], holds[i]));
    REFUSED(BELAY_BUSY, TRY(clients[0], 1, 3));
    CHECK_INT(3, waiters_of(clients[0], "s"));
    CHECK(belay_next(clients[1], 0) == NULL && belay_next(clients[2], 0) == NULL);
  }
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], holds[2]));
  const int64_t large = take_permits_soon(clients[1], 1, 3);
  CHECK(belay_next(clients[1], 0) == NULL && belay_next(clients[2], 0) == NULL);
  give_back(clients[1], large);
  take_permits_soon(clients[2], 2, 1);
  take_permits_soon(clients[1], 3, 1);
  free_clients(clients, 3);
}

static void test_large_request_gives_up(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  GRANTED(TRY(clients[0], 1, 3));
  for (int ends_how = 0; ends_how < 2; ++ends_how) {
    CHECK_STATUS(BELAY_OK, SUBMIT(clients[1], 7, ends_how == 0 ? -1 : scaled(200),
                                  PERMITS(.permits = 3, .limit = 3)));
    EVENTUALLY(waiters_of(clients[0], "s") == 1);
    for (int i = 1; i <= 2; ++i) {
      CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[i], i, 1, 3));
    }
    if (ends_how == 0) {
      EVENTUALLY(waiters_of(clients[0], "s") == 3);
      CHECK(belay_next(clients[1], 0) == NULL && belay_next(clients[2], 0) == NULL);
      CHECK_STATUS(BELAY_OK, belay_cancel(clients[1], 7));
    }
    TAKE(clients[1], BELAY_EVENT_ACQUIRED, 7, ends_how == 0 ? BELAY_CANCELLED : BELAY_TIMEOUT);
    for (int i = 1; i <= 2; ++i) {
      give_back(clients[i], take_permits_soon(clients[i], i, 1));
    }
  }
  free_clients(clients, 3);
}

// ---- Competition

static Crowd* crowd;

enum { kProcesses = 4, kThreads = 4, kTurns = 50, kLimit = 4 };

typedef struct Visitor {
  const Server* server;
  int place;
} Visitor;

static void* take_turns(void* argument) {
  const Visitor* visitor = argument;
  belay_client* client = CLIENT(.url = visitor->server->url);
  for (int i = 0; i < kTurns; ++i) {
    const int64_t permits = 1 + (i + visitor->place) % 3;
    const int64_t hold = GRANTED(ACQUIRE(client, -1, PERMITS(.permits = permits, .limit = kLimit)));
    crowd_pass(crowd, visitor->place, permits, client, hold);
  }
  belay_client_free(client);
  return NULL;
}

static void compete(Server* server, const Line* parent, int64_t number) {
  hear(parent);
  Visitor visitors[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    visitors[i] = (Visitor){.server = server, .place = (int)number * kThreads + i};
    CHECK(pthread_create(&threads[i], NULL, take_turns, &visitors[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
  }
}

static void test_competition(Server* server) {
  crowd = crowd_new(kLimit);
  Child children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = child_start(server, compete, i);
  }
  for (int i = 0; i < kProcesses; ++i) {
    say(&children[i].line, 0);
  }
  for (int i = 0; i < kProcesses; ++i) {
    child_end(&children[i]);
  }
  CHECK_INT(kProcesses * kThreads * kTurns, crowd->visits);
  CHECK(crowd->most > 1);
  crowd_check(crowd);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(TRY(client, kLimit, kLimit));  // none is missing
  belay_client_free(client);
}

// ---- Permits that are not released

static void hold_in_child(Server* server, const Line* parent, int64_t lease_ms) {
  hear(parent);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease_ms);
  GRANTED(ACQUIRE(client, -1, PERMITS(.permits = 2, .limit = 3)));
  say(parent, 0);
  hear(parent);
}

static void test_killed_holder(Server* server) {
  const int64_t lease = scaled(600);
  const Child child = child_start(server, hold_in_child, lease);
  say(&child.line, 0);
  hear(&child.line);
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t one = GRANTED(TRY(clients[0], 1, 3));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 2, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  // The watchdog of the living keeps it.
  STAYS(lease * 2, belay_next(clients[1], 0) == NULL);
  const int64_t start = now_ms();
  child_kill(&child);
  take_permits_soon(clients[1], 1, 2);
  CHECK(now_ms() - start < lease + scaled(2000));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], one, NULL));
  free_clients(clients, 2);
}

static void test_stopped_waiter(Server* server) {
  const Child child = child_start(server, hold_in_child, kLongLeaseMs);
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(TRY(clients[0], 2, 3));
  say(&child.line, 0);
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 3, 3));
  EVENTUALLY(waiters_of(clients[0], "s") == 2);
  child_pause(&child);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  give_back(clients[1], take_permits_soon(clients[1], 1, 3));
  child_continue(&child);
  hear(&child.line);
  child_kill(&child);
  free_clients(clients, 2);
}

static void ask_for_four(Server* server, const Line* parent, int64_t number) {
  (void)number;
  hear(parent);
  belay_client* client = CLIENT(.url = server->url);
  REFUSED(BELAY_LIMIT_DIFFERS, ACQUIRE(client, -1, PERMITS(.permits = 4)));
  belay_client_free(client);
}

// Stopped, it does not learn that it asks for more than there will be.
static void test_stopped_waiter_for_too_much(Server* server) {
  const Child child = child_start(server, ask_for_four, 0);
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(TRY(clients[0], 3, 4));
  say(&child.line, 0);
  EVENTUALLY(waiters_of(clients[0], "s") == 1);
  child_pause(&child);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 1, 0));
  EVENTUALLY(waiters_of(clients[0], "s") == 2);
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(clients[0], "s", -1, 2, NULL));
  CHECK_INT(1, waiters_of(clients[0], "s"));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  give_back(clients[1], take_permits_soon(clients[1], 1, 1));
  child_continue(&child);
  child_end(&child);
  free_clients(clients, 2);
}

// An ended permit comes back; its late release gives back nobody else's.
static void test_fixed_lease(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t late =
      GRANTED(ACQUIRE(clients[0], 0, PERMITS(.permits = 1, .limit = 1, .lease_ms = scaled(300))));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 1, 1));
  EVENTUALLY(waiters_of(clients[1], "s") == 1);
  const int64_t next = take_permits_soon(clients[1], 1, 1);
  CHECK(belay_hold_fence(clients[1], next, 0) > belay_hold_fence(clients[0], late, 0));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(clients[0], late));
  CHECK_STATUS(BELAY_LOST, belay_release(clients[0], late));
  REFUSED(BELAY_BUSY, TRY(clients[0], 1, 1));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[1], next, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], next));
  GRANTED(TRY(clients[0], 1, 1));
  free_clients(clients, 2);
}

static void test_extend_and_abandon(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t fixed =
      GRANTED(ACQUIRE(clients[0], 0, PERMITS(.permits = 1, .limit = 2, .lease_ms = 60000)));
  const int64_t kept = GRANTED(TRY(clients[0], 1, 2));
  CHECK_STATUS(BELAY_OK, belay_extend(clients[0], fixed, 90000, NULL));
  CHECK(belay_hold_remaining_ms(clients[0], fixed) > 60000);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_extend(clients[0], kept, 90000, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], fixed));
  const int64_t lapses =
      GRANTED(ACQUIRE(clients[0], 0, PERMITS(.permits = 1, .limit = 2, .lease_ms = scaled(300))));
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(clients[0], lapses));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(clients[0], lapses));
  REFUSED(BELAY_BUSY, TRY(clients[0], 1, 2));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 1, 2));
  take_permits_soon(clients[1], 1, 1);
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], kept, NULL));
  free_clients(clients, 2);
}

static void test_max_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(400));
  CHECK_STATUS(BELAY_OK,
               SUBMIT(client, 1, 0, PERMITS(.permits = 1, .limit = 1, .max_hold_ms = scaled(600))));
  const int64_t hold = take_permits_soon(client, 1, 1);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  EVENTUALLY(TRY(client, 1, 1) > 0);
  belay_client_free(client);
}

static void test_break(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t mine = GRANTED(TRY(clients[0], 1, 3));
  const int64_t other = GRANTED(TRY(clients[0], 1, 3));
  const int64_t third = GRANTED(TRY(clients[1], 1, 3));
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[2], 1, 1, 3));
  EVENTUALLY(waiters_of(clients[2], "s") == 1);
  belay_event* event = NULL;
  const int64_t fence = belay_hold_fence(clients[0], mine, 0);
  CHECK_STATUS(BELAY_OK, belay_break(clients[1], "s", -1, fence, &event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_INT(fence, belay_event_member_int(event, 0, BELAY_MEMBER_FENCE));
  belay_event_free(event);
  take_permits_soon(clients[2], 1, 1);
  EVENTUALLY(belay_hold_state(clients[0], mine) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], other, NULL));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[1], third, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(clients[1], "s", -1, fence, &event));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_break(clients[1], "s", -1, 0, &event));
  CHECK_INT(3, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  EVENTUALLY(belay_hold_state(clients[0], other) == BELAY_HOLD_LOST);
  EVENTUALLY(belay_hold_state(clients[1], third) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_LOST, belay_release(clients[1], third));
  REFUSED(BELAY_LIMIT_DIFFERS, TRY(clients[0], 1, 2));  // the limit stands
  GRANTED(TRY(clients[0], 3, 3));
  free_clients(clients, 3);
}

static void test_wiped(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(client, 1, 2, 3));
  const int64_t hold = take_permits_soon(client, 1, 2);
  const int64_t fence = belay_hold_fence(client, hold, 0);
  server_tell(server, "FLUSHALL", NULL);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  REFUSED(BELAY_NOT_FOUND, TRY(client, 1, 0));
  const int64_t next = GRANTED(TRY(client, 4, 4));
  CHECK(belay_hold_fence(client, next, 0) > fence);
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(client, next, NULL));
  belay_client_free(client);
}

static void test_shutdown(Server* server) {
  for (int freed = 0; freed < 2; ++freed) {
    belay_client* clients[3];
    make_clients(server, clients, 3);
    GRANTED(TRY(clients[0], 1, 3));
    GRANTED(TRY(clients[0], 2, 3));
    CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[0], 7, 1, 3));
    EVENTUALLY(waiters_of(clients[1], "s") == 1);
    CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(clients[1], 1, 3, 3));
    EVENTUALLY(waiters_of(clients[1], "s") == 2);
    if (freed == 0) {
      CHECK_STATUS(BELAY_OK, belay_client_shutdown(clients[0]));
      TAKE(clients[0], BELAY_EVENT_ACQUIRED, 7, BELAY_CLOSED);
      TAKE(clients[0], BELAY_EVENT_END, 0, BELAY_CLOSED);
    }
    belay_client_free(clients[0]);
    give_back(clients[1], take_permits_soon(clients[1], 1, 3));
    CHECK_INT(0, holders_of(clients[1], "s"));
    free_clients(clients + 1, 2);
  }
}

// What is given up must not pile up on the connection: the renewal of what is held would stand
// behind it for longer than a lease.
static void test_given_up_at_once(Server* server) {
  enum { kStormMs = 3000, kLeaseMs = 1000 };

  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "held", -1, -1, NULL));
  const int64_t end = now_ms() + kStormMs;
  for (int64_t tag = 1; now_ms() < end; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT_PERMITS(client, tag, 1, 3));
    belay_cancel(client, tag);  // unless it was granted by then
    belay_event* event = next_but_of_holds(client, -1);
    CHECK_INT(tag, belay_event_tag(event));
    if (belay_event_status(event) == BELAY_OK) {
      belay_release_nowait(client, belay_event_hold(event));
    }
    belay_event_free(event);
  }
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  belay_client_free(client);
}

const Test semaphore_tests[] = {
    {"A semaphore's limit is agreed on at its first use", test_limit},
    {"A limit that is raised serves who waits, one that is lowered takes nothing back",
     test_set_limit},
    {"A limit is set, and asked for, in the order of submission", test_set_limit_async},
    {"A limit that cannot be is refused and changes nothing", test_set_limit_misuse},
    {"Permits are checked before they are asked for", test_arguments},
    {"A semaphore is no lock, and a lock no semaphore, and the error says so", test_wrong_type},
    {"As many permits are out as the limit says, and a release brings them back", test_permits},
    {"A try for all permits that are free gets them", test_drain},
    {"A client holds many permits at once, each a hold of its own, renewed in batches",
     test_many_of_one_client},
    {"Permits are shown by inspect", test_seen},
    {"A large request for permits is not starved by small ones", test_fifo},
    {"When a large request gives up, the small ones behind it are granted at once",
     test_large_request_gives_up},
    {"Sixteen clients of four processes never hold more permits than there are", test_competition},
    {"The permits of a killed holder come back when its lease ends", test_killed_holder},
    {"A waiter for permits that is stopped keeps nobody waiting for long", test_stopped_waiter},
    {"A waiter that asks for more permits than a lowered limit keeps nobody waiting while stopped",
     test_stopped_waiter_for_too_much},
    {"A permit whose lease ended comes back, and its late release gives back nobody else's",
     test_fixed_lease},
    {"Permits are extended and abandoned like other holds", test_extend_and_abandon},
    {"Permits are not renewed beyond max-hold", test_max_hold},
    {"A break parts one permit by its fence, or all", test_break},
    {"Permits of a server that is wiped are lost at once, and the limit is agreed on anew",
     test_wiped},
    {"A client that ends gives its permits back and leaves the queue", test_shutdown},
    {"Who gives up at once keeps no renewal waiting", test_given_up_at_once},
    {NULL, NULL}};
