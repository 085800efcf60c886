// Submitting and waiting in one call, beside loops over events.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

static belay_event* acquire_within(belay_client* client, int64_t tag, int64_t wait_ms,
                                   int64_t patience_ms, const char* name) {
  belay_request* request = REQUEST(.name = name);
  belay_event* event = belay_acquire_within(client, tag, request, 0, wait_ms, patience_ms);
  belay_request_free(request);
  return event;
}

static int64_t check_within(belay_event* event, int32_t kind, int64_t tag, int32_t status) {
  CHECK_INT(kind, belay_event_kind(event));
  CHECK_INT(tag, belay_event_tag(event));
  CHECK_STATUS(status, belay_event_status(event));
  return event_end(event);
}

static void test_in_time(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int64_t tag = 1; tag < 20; ++tag) {
    const int64_t hold =
        check_within(acquire_within(client, tag, -1, -1, "a"), BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
    CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
    check_within(belay_release_within(client, tag, hold, 60000), BELAY_EVENT_RELEASED, tag,
                 BELAY_OK);
  }
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

// Polls the client's descriptor and the far end of its wake-up socket; returns how many are
// readable within the time.
static int readable_of(belay_client* client, int far, int64_t ms) {
  struct pollfd both[] = {{.fd = (int)belay_client_fd(client), .events = POLLIN},
                          {.fd = far, .events = POLLIN}};
  poll(both, 2, (int)ms);
  return (both[0].revents != 0) + (both[1].revents != 0);
}

static void test_wakes_no_loop(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair[0]));
  for (int64_t tag = 1; tag <= 50; ++tag) {
    const int64_t hold =
        check_within(acquire_within(client, tag, -1, -1, "a"), BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
    check_within(acquire_within(client, tag, 1, -1, "a"), BELAY_EVENT_ACQUIRED, tag, BELAY_TIMEOUT);
    CHECK_INT(0, readable_of(client, pair[1], 0));
    check_within(belay_release_within(client, tag, hold, -1), BELAY_EVENT_RELEASED, tag, BELAY_OK);
    CHECK_INT(0, readable_of(client, pair[1], 0));
  }
  // What is queued wakes both.
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(acquire_within(client, 1, -1, 0, "a") == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  EVENTUALLY(readable_of(client, pair[1], 1) == 2);
  give_back(client, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  belay_client_free(client);
  CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

static void test_out_of_patience(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t held = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK(acquire_within(client, 1, -1, 0, "a") == NULL);
  CHECK(acquire_within(client, 2, -1, 30, "a") == NULL);
  check_within(acquire_within(client, 2, -1, 30, "a"), BELAY_EVENT_ACQUIRED, 2, BELAY_TAG_IN_USE);
  check_within(acquire_within(client, 3, 30, -1, "a"), BELAY_EVENT_ACQUIRED, 3, BELAY_TIMEOUT);
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK_STATUS(BELAY_OK, belay_release(holder, held));
  give_back(client, TAKE(client, BELAY_EVENT_ACQUIRED, 2, BELAY_OK));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(holder);
  belay_client_free(client);
}

static long sleeps_of_this_thread(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nvcsw;
}

static void test_no_patience(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const long before = sleeps_of_this_thread();
  for (int64_t tag = 1; tag <= 1000; ++tag) {
    CHECK(acquire_within(client, tag, -1, 0, "a") == NULL);
  }
  // Now and then the client's own thread is in the way.
  CHECK(sleeps_of_this_thread() - before < 500);
  belay_client_free(client);
}

static void test_refusals(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = belay_acquire_within(client, 1, NULL, 0, 0, 0);
  CHECK_TEXT("the request was NULL", belay_event_message(event));
  check_within(event, BELAY_EVENT_ACQUIRED, 1, BELAY_INVALID_ARGUMENT);
  event = acquire_within(client, 0, 0, 0, "a");
  CHECK_TEXT("tag was 0", belay_event_message(event));
  check_within(event, BELAY_EVENT_ACQUIRED, 0, BELAY_INVALID_ARGUMENT);
  event = acquire_within(client, 1, 0, -2, "a");
  CHECK_TEXT("patience_ms was -2", belay_event_message(event));
  check_within(event, BELAY_EVENT_ACQUIRED, 1, BELAY_INVALID_ARGUMENT);
  event = acquire_within(client, 1, -2, 0, "a");
  CHECK_TEXT("wait_ms was -2", belay_event_message(event));
  check_within(event, BELAY_EVENT_ACQUIRED, 1, BELAY_INVALID_ARGUMENT);
  check_within(belay_release_within(client, 1, 77, 0), BELAY_EVENT_RELEASED, 1, BELAY_UNKNOWN_HOLD);
  check_within(belay_release_within(NULL, 1, 77, 0), BELAY_EVENT_RELEASED, 1,
               BELAY_INVALID_ARGUMENT);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  check_within(acquire_within(client, 1, 0, 0, "a"), BELAY_EVENT_ACQUIRED, 1, BELAY_CLOSED);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  belay_client_free(client);
}

static void* cancel_soon(void* client) {
  EVENTUALLY(belay_cancel(client, 1) == BELAY_OK);
  return NULL;
}

static void test_cancelled_by_another_thread(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  pthread_t canceller;
  CHECK(pthread_create(&canceller, NULL, cancel_soon, client) == 0);
  check_within(acquire_within(client, 1, -1, -1, "a"), BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK(pthread_join(canceller, NULL) == 0);
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(holder);
  belay_client_free(client);
}

static void test_losses_are_queued(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold =
      check_within(acquire_within(client, 1, 0, -1, "a"), BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, NULL));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  check_within(belay_release_within(client, 1, hold, -1), BELAY_EVENT_RELEASED, 1, BELAY_LOST);
  belay_client_free(client);
}

// ---- Beside a loop

enum { kThreads = 4 };

typedef struct Crowd {
  belay_client* client;
  int64_t pairs;           // of each thread
  _Atomic(uint8_t)* seen;  // events of a tag
} Crowd;

typedef struct One {
  Crowd* crowd;
  int64_t number;
} One;

static void note(Crowd* crowd, const belay_event* event) {
  CHECK(belay_event_status(event) == BELAY_OK);
  atomic_fetch_add(&crowd->seen[belay_event_tag(event)], 1);
}

// Those that nobody had the patience for.
static void* run_loop(void* argument) {
  Crowd* crowd = argument;
  for (;;) {
    belay_event* event = belay_next(crowd->client, -1);
    if (belay_event_kind(event) == BELAY_EVENT_END) {
      belay_event_free(event);
      return NULL;
    }
    if (belay_event_tag(event) != 0) {
      note(crowd, event);
      if (belay_event_kind(event) == BELAY_EVENT_ACQUIRED) {
        const int64_t tag = belay_event_tag(event) + 1;
        CHECK_STATUS(BELAY_OK, belay_submit_release(crowd->client, tag, belay_event_hold(event)));
      }
    }
    belay_event_free(event);
  }
}

// Pairs of an acquire and a release with tags of their own. What runs out of patience is the
// loop's; half of the time that may be any moment.
static void* run_pairs(void* argument) {
  const One* one = argument;
  Crowd* crowd = one->crowd;
  char name[32];
  snprintf(name, sizeof name, "n%lld", (long long)one->number);
  belay_request* request = REQUEST(.name = name);
  for (int64_t i = 0; i < crowd->pairs; ++i) {
    const int64_t tag = 1 + 2 * (one->number * crowd->pairs + i);
    const int64_t patience_ms = i % 2 == 0 ? -1 : i % 3;
    belay_event* event = belay_acquire_within(crowd->client, tag, request, 0, -1, patience_ms);
    if (event == NULL) {
      continue;
    }
    note(crowd, event);
    const int64_t hold = event_end(event);
    event = belay_release_within(crowd->client, tag + 1, hold, patience_ms);
    if (event != NULL) {
      note(crowd, event);
      belay_event_free(event);
    }
  }
  belay_request_free(request);
  return NULL;
}

static void test_beside_a_loop(Server* server) {
  const char* const budget = getenv("BELAY_TEST_PAIRS");
  Crowd crowd = {CLIENT(.url = server->url), budget == NULL ? 5000 : atoll(budget) / kThreads,
                 NULL};
  const int64_t tags = 2 * kThreads * crowd.pairs;
  crowd.seen = calloc((size_t)tags + 1, sizeof *crowd.seen);
  pthread_t loop;
  pthread_t threads[kThreads];
  One ones[kThreads];
  CHECK(pthread_create(&loop, NULL, run_loop, &crowd) == 0);
  for (int i = 0; i < kThreads; ++i) {
    ones[i] = (One){&crowd, i};
    CHECK(pthread_create(&threads[i], NULL, run_pairs, &ones[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  for (int64_t tag = 1; tag <= tags; ++tag) {
    EVENTUALLY(crowd.seen[tag] != 0);
    CHECK_INT(1, crowd.seen[tag]);
  }
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(crowd.client));
  CHECK(pthread_join(loop, NULL) == 0);
  belay_client_free(crowd.client);
  free(crowd.seen);
}

const Test within_tests[] = {
    {"An event that comes in time is returned, and is not queued", test_in_time},
    {"A returned event wakes no loop over events", test_wakes_no_loop},
    {"What runs out of patience goes on, and its event is queued", test_out_of_patience},
    {"Without patience the caller does not sleep", test_no_patience},
    {"A refusal is an event that says so, never NULL", test_refusals},
    {"A cancel by another thread is returned", test_cancelled_by_another_thread},
    {"Losses are queued, as for every submission", test_losses_are_queued},
    {"Beside a loop over events each event comes once", test_beside_a_loop},
    {NULL, NULL}};
