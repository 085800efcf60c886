// Whose turn it is: one at a time, in order, between threads and between processes.
#include <pthread.h>
#include <stddef.h>

#include "section.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

// What competing processes share. Only whoever holds the lock touches it, so it needs no atomics:
// that is what is tested.
typedef struct Arena {
  volatile int64_t rounds;
  volatile int64_t last_fence;
  volatile int64_t order[64];
} Arena;

static Arena* arena;

static void test_basic(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "orders:42", -1, 5000, NULL));
  CHECK(belay_hold_fence(client, hold, 0) > 0);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  CHECK(belay_hold_remaining_ms(client, hold) > 0);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK(!is_held(client, "orders:42"));
  belay_client_free(client);
}

static void test_request_is_reusable(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = REQUEST(.name = "orders:42");
  int64_t last_hold = 0;
  int64_t last_fence = 0;
  for (int i = 0; i < 20; ++i) {
    belay_event* event = NULL;
    const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, &event));
    CHECK_INT(hold, belay_event_hold(event));
    CHECK(hold > last_hold);
    CHECK(belay_event_fence(event, 0) > last_fence);
    CHECK_INT(belay_event_fence(event, 0), belay_hold_fence(client, hold, 0));
    last_hold = hold;
    last_fence = belay_event_fence(event, 0);
    belay_event_free(event);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  belay_request_free(request);
  belay_client_free(client);
}

static void test_try(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(holder, "a", -1, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(other, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = GRANTED(belay_lock(other, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  belay_client_free(holder);
  belay_client_free(other);
}

static void test_timeout(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  const int64_t start = now_ms();
  REFUSED(BELAY_TIMEOUT, belay_lock(other, "a", -1, 50, NULL));
  REFUSED(BELAY_TIMEOUT, belay_lock(holder, "a", -1, 50, NULL));
  CHECK(now_ms() - start >= 100);
  EVENTUALLY(waiters_of(holder, "a") == 0);
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  belay_client_free(holder);
  belay_client_free(other);
}

// ---- Threads

typedef struct Waiter {
  belay_client* client;
  _Atomic(int64_t) hold;
} Waiter;

static void* wait_for_a(void* argument) {
  Waiter* waiter = argument;
  waiter->hold = belay_lock(waiter->client, "a", -1, -1, NULL);
  return NULL;
}

static void hand_over_between_threads(belay_client* from, belay_client* to, bool same) {
  const int64_t hold = GRANTED(belay_lock(from, "a", -1, 0, NULL));
  Waiter waiter = {.client = to};
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_a, &waiter);
  if (!same) {
    EVENTUALLY(waiters_of(from, "a") == 1);
  }
  STAYS(20, waiter.hold == 0);
  const int64_t fence = belay_hold_fence(from, hold, 0);
  CHECK_STATUS(BELAY_OK, belay_release(from, hold));
  pthread_join(thread, NULL);
  GRANTED(waiter.hold);
  CHECK(belay_hold_fence(to, waiter.hold, 0) > fence);
  CHECK_STATUS(BELAY_OK, belay_release(to, waiter.hold));
}

static void test_threads_of_a_client(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  hand_over_between_threads(client, client, true);
  belay_client_free(client);
}

static void test_threads_of_two_clients(Server* server) {
  belay_client* one = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* two = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  hand_over_between_threads(one, two, false);
  belay_client_free(one);
  belay_client_free(two);
}

static void test_unix_socket(Server* server) {
  belay_client* one = CLIENT(.url = server->unix_url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* two = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  hand_over_between_threads(one, two, false);
  belay_client_free(one);
  belay_client_free(two);
}

static void test_many_local_waiters(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* crowd = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  belay_request* request = REQUEST(.name = "a");
  for (int64_t tag = 1; tag <= 1000; ++tag) {
    CHECK_STATUS(BELAY_OK, belay_submit_acquire(crowd, tag, request, 0, -1));
  }
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  int64_t fence = 0;
  for (int64_t tag = 1; tag <= 1000; ++tag) {
    belay_event* event = EVENT(crowd, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
    CHECK(belay_event_fence(event, 0) > fence);
    fence = belay_event_fence(event, 0);
    CHECK_STATUS(BELAY_OK, belay_release(crowd, event_end(event)));
  }
  belay_request_free(request);
  belay_client_free(holder);
  belay_client_free(crowd);
}

// ---- Processes

static void wait_in_child(Server* server, const Line* parent, int64_t number) {
  hear(parent);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  arena->order[arena->rounds++] = number;
  say(parent, belay_hold_fence(client, hold, 0));
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_handoff_between_processes(Server* server) {
  arena = shared_memory(sizeof *arena);
  const Child child = child_start(server, wait_in_child, 1);
  say(&child.line, 0);
  GRANTED(hear(&child.line));
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  REFUSED(BELAY_BUSY, belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK(belay_next(client, 0) == NULL);
  say(&child.line, 0);
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  child_end(&child);
  belay_client_free(client);
}

static void test_fifo_between_processes(Server* server) {
  enum { kChildren = 8 };

  arena = shared_memory(sizeof *arena);
  Child children[kChildren];
  for (int64_t i = 0; i < kChildren; ++i) {
    children[i] = child_start(server, wait_in_child, i);
  }
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  for (int64_t i = 0; i < kChildren; ++i) {
    say(&children[i].line, 0);
    EVENTUALLY(waiters_of(client, "a") == i + 1);
  }
  int64_t fence = belay_hold_fence(client, hold, 0);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  for (int i = 0; i < kChildren; ++i) {
    const int64_t next = hear(&children[i].line);
    CHECK(next > fence);
    fence = next;
    for (int later = i + 1; later < kChildren; ++later) {
      CHECK(is_silent(&children[later].line));
    }
    say(&children[i].line, 0);
    child_end(&children[i]);
    CHECK_INT(i, arena->order[i]);
  }
  belay_client_free(client);
}

// Takes part in the tries of the next test until told to stop: says the fence that it got.
static void try_all_the_time(Server* server, const Line* parent, int64_t number) {
  (void)number;
  belay_client* client = CLIENT(.url = server->url);
  say(parent, 0);
  while (is_silent(parent)) {
    const int64_t hold = belay_lock(client, "a", -1, 0, NULL);
    if (hold > 0) {
      arena->last_fence = belay_hold_fence(client, hold, 0);
      CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    } else {
      CHECK_INT(BELAY_BUSY, -hold);
    }
  }
  belay_client_free(client);
}

static void test_try_does_not_barge(Server* server) {
  arena = shared_memory(sizeof *arena);
  const Child child = child_start(server, try_all_the_time, 0);
  hear(&child.line);
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  for (int round = 0; round < 30; ++round) {
    const int64_t hold = GRANTED(belay_lock(one, "a", -1, -1, NULL));
    const int64_t before = arena->last_fence;
    CHECK_STATUS(BELAY_OK, SUBMIT(two, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(one, "a") == 1);
    CHECK_STATUS(BELAY_OK, belay_release(one, hold));
    const int64_t next = TAKE(two, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK_INT(before, arena->last_fence);
    CHECK_STATUS(BELAY_OK, belay_release(two, next));
  }
  say(&child.line, 0);
  child_end(&child);
  belay_client_free(one);
  belay_client_free(two);
}

// ---- Exclusion

static Section* section;

static void take_turns(belay_client* client, const char* name, int64_t rounds) {
  for (int64_t i = 0; i < rounds; ++i) {
    section_pass(section, client, GRANTED(belay_lock(client, name, -1, -1, NULL)));
  }
}

static void compete(Server* server, const Line* parent, int64_t rounds) {
  belay_client* client = CLIENT(.url = server->url);
  hear(parent);
  take_turns(client, "a", rounds);
  belay_client_free(client);
}

static void* compete_in_thread(void* client) {
  take_turns(client, "a", 50);
  return NULL;
}

static void compete_with_threads(Server* server, const Line* parent, int64_t threads) {
  belay_client* client = CLIENT(.url = server->url);
  pthread_t started[8];
  hear(parent);
  for (int64_t i = 0; i < threads; ++i) {
    pthread_create(&started[i], NULL, compete_in_thread, client);
  }
  for (int64_t i = 0; i < threads; ++i) {
    pthread_join(started[i], NULL);
  }
  belay_client_free(client);
}

static void run_competition(Server* server, ChildBody* body, int64_t argument) {
  enum { kProcesses = 4 };

  section = section_new();
  Child children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = child_start(server, body, argument);
  }
  for (int i = 0; i < kProcesses; ++i) {
    say(&children[i].line, 0);
  }
  for (int i = 0; i < kProcesses; ++i) {
    child_end(&children[i]);
  }
  section_check(section);
}

static void test_exclusion_between_processes(Server* server) {
  run_competition(server, compete, 250);
  CHECK_INT(4 * 250, section->rounds);
}

static void test_exclusion_between_threads_and_processes(Server* server) {
  run_competition(server, compete_with_threads, 4);
  CHECK_INT(4 * 4 * 50, section->rounds);
}

// What nobody got is named, and for how long it was waited for.
static void test_in_vain_says_why(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  const char* const held =
      "'a' is held by another owner, others wait for it, or its lock-delay has not passed";
  CHECK_WHY(BELAY_BUSY, held, belay_lock(client, "a", -1, 0, &why));
  CHECK_WHY(BELAY_BUSY, held, belay_lock(holder, "a", -1, 0, &why));
  CHECK_WHY(BELAY_TIMEOUT, "the wait of 30 ms for 'a' has ended",
            belay_lock(client, "a", -1, 30, &why));
  belay_request* several = REQUEST(.name = "b");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(several, "a", -1));
  CHECK_WHY(BELAY_BUSY, "one of the 2 names is held", belay_acquire(client, several, 0, 0, &why));
  CHECK_WHY(BELAY_TIMEOUT, "ms for 'a' has ended", belay_acquire(client, several, 0, 50, &why));
  belay_request_free(several);
  belay_request* permits = REQUEST(.name = "s", .primitive = BELAY_SEMAPHORE, .limit = 1);
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(client, "s", -1, 1, NULL));
  GRANTED(belay_acquire(client, permits, 0, 0, NULL));
  CHECK_WHY(BELAY_BUSY, "too few permits of 's'", belay_acquire(client, permits, 0, 0, &why));
  belay_request_free(permits);
  CHECK(belay_latch_set(client, "l", -1, 1, 0, NULL) > 0);
  belay_request* latch = REQUEST(.name = "l", .primitive = BELAY_LATCH);
  CHECK_WHY(BELAY_BUSY, "the latch 'l' has not opened", belay_acquire(client, latch, 0, 0, &why));
  CHECK_WHY(BELAY_TIMEOUT, "the wait of 20 ms for 'l'", belay_acquire(client, latch, 0, 20, &why));
  belay_request_free(latch);
  belay_client_free(client);
  belay_client_free(holder);
}

// Checks a failure's number, and frees its event.
static void check_remaining(belay_event* why, int64_t least, int64_t most) {
  const int64_t remaining = belay_event_int(why, BELAY_FIELD_REMAINING_MS);
  CHECK(remaining >= least && remaining <= most);
  belay_event_free(why);
}

static void test_in_vain_says_how_long(Server* server) {
  enum { kLeaseMs = 60000, kDelayMs = 30000, kSlowMs = 20000 };

  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(ACQUIRE(holder, 0, .name = "a", .lease_ms = kLeaseMs));
  GRANTED(ACQUIRE(holder, 0, .name = "b", .lease_ms = kLeaseMs, .lock_delay_ms = kDelayMs));
  GRANTED(ACQUIRE(holder, 0, .name = "s", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 1,
                  .lease_ms = kLeaseMs));
  belay_event* why = NULL;
  REFUSED(BELAY_BUSY, belay_lock(client, "a", -1, 0, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs);
  REFUSED(BELAY_BUSY, belay_lock(holder, "a", -1, 0, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs);
  REFUSED(BELAY_TIMEOUT, belay_lock(client, "a", -1, 300, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs - 299);
  REFUSED(BELAY_BUSY, belay_lock(client, "b", -1, 0, &why));  // its lock-delay follows
  check_remaining(why, kLeaseMs + kDelayMs - kSlowMs, kLeaseMs + kDelayMs);
  belay_request* permit = REQUEST(.name = "s", .primitive = BELAY_SEMAPHORE);
  REFUSED(BELAY_BUSY, belay_acquire(client, permit, 0, 0, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs);
  belay_request_free(permit);
  belay_request* several = REQUEST(.name = "free");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(several, "a", -1));
  REFUSED(BELAY_BUSY, belay_acquire(client, several, 0, 0, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs);
  REFUSED(BELAY_TIMEOUT, belay_acquire(client, several, 0, 300, &why));
  check_remaining(why, kLeaseMs - kSlowMs, kLeaseMs - 299);
  belay_request_free(several);
  belay_client_free(client);
  belay_client_free(holder);
}

const Test turn_tests[] = {
    {"A free lock is granted with a fence, and is free again after its release", test_basic},
    {"A request serves any number of acquires, each with a new hold and a greater fence",
     test_request_is_reusable},
    {"A try on a held lock answers BUSY, within a client and between clients", test_try},
    {"A wait that passes answers TIMEOUT and leaves no waiter on the server", test_timeout},
    {"A thread gets the lock when another thread of its client releases it",
     test_threads_of_a_client},
    {"A thread gets the lock when another client's thread releases it",
     test_threads_of_two_clients},
    {"Clients on the unix socket and on TCP exclude each other", test_unix_socket},
    {"A thousand local waiters are one waiter on the server, and each gets its turn in order",
     test_many_local_waiters},
    {"A release hands the lock to a waiting process long before the lease ends",
     test_handoff_between_processes},
    {"Waiting processes get the lock in the order in which they asked",
     test_fifo_between_processes},
    {"A try never gets in before a waiter", test_try_does_not_barge},
    {"Four processes never hold the lock together, and their fences only grow",
     test_exclusion_between_processes},
    {"Four processes of four threads never hold the lock together, and their fences only grow",
     test_exclusion_between_threads_and_processes},
    {"Who gets nothing is told what it was about", test_in_vain_says_why},
    {"What could not be had says how long it is taken", test_in_vain_says_how_long},
    {NULL, NULL}};
