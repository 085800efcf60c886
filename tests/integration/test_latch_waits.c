// Awaiting countdown latches: whom they let pass, when, and what else ends the wait.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

#define LATCH .name = "a", .primitive = BELAY_LATCH
#define AWAIT(client, wait_ms) ACQUIRE((client), (wait_ms), LATCH)
#define SUBMIT_AWAIT(client, tag, wait_ms) SUBMIT((client), (tag), (wait_ms), LATCH)

static int64_t set(belay_client* client, int64_t count) {
  const int64_t generation = belay_latch_set(client, "a", -1, count, 0, NULL);
  CHECK(generation > 0);
  return generation;
}

static void count_down(belay_client* client) {
  CHECK(belay_latch_count_down(client, "a", -1, 1, NULL) >= 0);
}

// Takes the event of a tag that was let pass by this generation.
static void take_passed(belay_client* client, int64_t tag, int64_t generation) {
  belay_event* event = EVENT(client, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
  CHECK_INT(0, belay_event_hold(event));
  CHECK_INT(0, belay_event_fence(event, 0));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  belay_event_free(event);
}

// The same where that must be soon: no poll has brought it.
static void take_passed_soon(belay_client* client, int64_t tag, int64_t generation) {
  const int64_t start = now_ms();
  take_passed(client, tag, generation);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
}

static void test_passes(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  const int64_t generation = set(one, 2);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(one, 1, -1));
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(two, 2, -1));
  EVENTUALLY(waiters_of(one, "a") == 2);
  count_down(one);
  CHECK(belay_next(one, 0) == NULL);
  count_down(two);
  take_passed_soon(one, 1, generation);
  take_passed_soon(two, 2, generation);
  CHECK_INT(generation, AWAIT(one, -1));
  CHECK_INT(generation, AWAIT(two, 0));
  CHECK_INT(0, waiters_of(one, "a"));
  belay_client_free(one);
  belay_client_free(two);
}

static void test_try_and_timeout(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  set(client, 1);
  REFUSED(BELAY_BUSY, AWAIT(client, 0));
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(client, 1, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  REFUSED(BELAY_BUSY, AWAIT(client, 0));
  belay_event* why = NULL;
  belay_request* request = REQUEST(LATCH);
  REFUSED(BELAY_TIMEOUT, belay_acquire(client, request, 0, 50, &why));
  CHECK_INT(0, belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS));
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  EVENTUALLY(waiters_of(client, "a") == 0);
  CHECK_INT(1, belay_latch_count(client, "a", -1, NULL));
  belay_request_free(request);
  belay_client_free(client);
}

// Nobody tells when it ends: the waiters look.
static void test_time_to_live(Server* server) {
  belay_client* clients[2];
  for (int i = 0; i < 2; ++i) {
    clients[i] = CLIENT(.url = server->url);
  }
  const int64_t start = now_ms();
  CHECK(belay_latch_set(clients[0], "a", -1, 1, 600, NULL) > 0);
  for (int i = 0; i < 2; ++i) {
    CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(clients[i], 1, -1));
  }
  for (int i = 0; i < 2; ++i) {
    TAKE(clients[i], BELAY_EVENT_ACQUIRED, 1, BELAY_NOT_FOUND);
  }
  CHECK(now_ms() - start >= 600);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  EVENTUALLY(waiters_of(clients[0], "a") == 0);
  for (int i = 0; i < 2; ++i) {
    belay_client_free(clients[i]);
  }
}

static void test_break(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  const int64_t generation = set(one, 3);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(one, 1, -1));
  EVENTUALLY(waiters_of(two, "a") == 1);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(two, "a", -1, &event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  CHECK_INT(3, belay_event_int(event, BELAY_FIELD_COUNT));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_TOTAL));
  CHECK_INT(BELAY_ROLE_WAITER, belay_event_member_int(event, 0, BELAY_MEMBER_ROLE));
  CHECK_INT(0, belay_event_member_int(event, 0, BELAY_MEMBER_PERMITS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_list(two, "*", -1, 10, &event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_TOTAL));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_break(two, "a", -1, generation + 1, &event));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_GENERATION));
  belay_event_free(event);
  CHECK_INT(3, belay_latch_count(two, "a", -1, NULL));
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_break(two, "a", -1, 0, &event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  belay_event_free(event);
  TAKE(one, BELAY_EVENT_ACQUIRED, 1, BELAY_NOT_FOUND);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  REFUSED(BELAY_NOT_FOUND, belay_latch_count(two, "a", -1, NULL));
  belay_client_free(one);
  belay_client_free(two);
}

// More clients than one call of the script tells.
static void test_break_for_many(Server* server) {
  enum { kClients = 70 };

  belay_client* client = CLIENT(.url = server->url);
  belay_client* waiting[kClients];
  const int64_t generation = set(client, 1);
  for (int i = 0; i < kClients; ++i) {
    waiting[i] = CLIENT(.url = server->url);
    CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting[i], 1, -1));
  }
  EVENTUALLY(waiters_of(client, "a") == kClients);
  const int64_t start = now_ms();
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, &event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  belay_event_free(event);
  for (int i = 0; i < kClients; ++i) {
    TAKE(waiting[i], BELAY_EVENT_ACQUIRED, 1, BELAY_NOT_FOUND);
  }
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  for (int i = 0; i < kClients; ++i) {
    belay_client_free(waiting[i]);
  }
  belay_client_free(client);
}

static void test_arguments(Server* server) {
  (void)server;
  belay_request* request = belay_request_new(BELAY_LATCH);
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  CHECK_STATUS(wrong, belay_request_add_shared_name(request, "a", -1));
  CHECK_TEXT("not for this kind", belay_request_error(request));
  CHECK_STATUS(wrong, belay_request_set_identity(request, "x", -1));
  CHECK_STATUS(wrong, belay_request_set_permits(request, 1, 1));
  CHECK_STATUS(wrong, belay_request_set_lease_ms(request, 1000));
  CHECK_STATUS(wrong, belay_request_set_lock_delay_ms(request, 10));
  CHECK_STATUS(wrong, belay_request_set_max_hold_ms(request, 1000));
  belay_request_free(request);
  request = belay_request_new(BELAY_LATCH);
  CHECK_STATUS(wrong, belay_request_set_generation(request, -1));
  CHECK_TEXT("generation was -1", belay_request_error(request));
  CHECK_STATUS(wrong, belay_request_set_generation(request, (INT64_C(1) << 52) + 1));
  belay_request_free(request);
  request = belay_request_new(BELAY_LOCK);
  CHECK_STATUS(wrong, belay_request_set_generation(request, 1));
  belay_request_free(request);
  CHECK(belay_request_new(BELAY_LATCH + 1) == NULL);
}

// Who waits for what was opened passes, however soon the latch is set again; and who comes then
// waits for the next, although others of the same client are still to hear of the first.
static void test_generations(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* waiting = CLIENT(.url = proxy.url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t first = set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 1, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  proxy.state->drops_pushes = true;
  count_down(client);
  const int64_t second = set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 2, -1));
  take_passed_soon(waiting, 1, first);
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK(belay_next(waiting, 0) == NULL);
  proxy.state->drops_pushes = false;
  count_down(client);
  take_passed_soon(waiting, 2, second);
  CHECK(proxy.state->pushes_dropped > 0);
  belay_client_free(waiting);
  belay_client_free(client);
}

#define GIVEN(generation_) .name = "a", .primitive = BELAY_LATCH, .generation = (generation_)

// Beside others of the same client, who wait for the generation that runs.
static void test_given_generation(Server* server) {
  belay_client* waiting = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  REFUSED(BELAY_NOT_FOUND, ACQUIRE(waiting, -1, GIVEN(1)));
  const int64_t first = set(client, 1);
  REFUSED(BELAY_BUSY, ACQUIRE(waiting, 0, GIVEN(first)));
  REFUSED(BELAY_TIMEOUT, ACQUIRE(waiting, 50, GIVEN(first)));
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 1, -1));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 2, -1, GIVEN(first)));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 3, -1, GIVEN(first)));
  CHECK_STATUS(BELAY_OK, belay_client_ping(waiting, NULL));
  CHECK_INT(1, waiters_of(client, "a"));
  count_down(client);
  take_passed_soon(waiting, 1, first);
  take_passed_soon(waiting, 2, first);
  take_passed_soon(waiting, 3, first);
  const int64_t second = set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 4, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_INT(first, ACQUIRE(waiting, -1, GIVEN(first)));
  CHECK_INT(first, ACQUIRE(waiting, 0, GIVEN(first)));
  REFUSED(BELAY_NOT_FOUND, ACQUIRE(waiting, -1, GIVEN(second + 1)));
  belay_request* next = REQUEST(GIVEN(second + 1));
  CHECK_WHY(BELAY_NOT_FOUND, "'a' does not have generation ",
            belay_acquire(waiting, next, 0, -1, &why));
  belay_request_free(next);
  CHECK(belay_next(waiting, 0) == NULL);
  CHECK_INT(1, waiters_of(client, "a"));
  count_down(client);
  take_passed_soon(waiting, 4, second);
  belay_client_free(waiting);
  belay_client_free(client);
}

// What was broken is not known to have opened, and what opened before it not any more.
static void test_given_generation_is_broken(Server* server) {
  belay_client* waiting = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t first = set(client, 1);
  count_down(client);
  const int64_t second = set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 1, -1, GIVEN(second)));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, second, NULL));
  TAKE(waiting, BELAY_EVENT_ACQUIRED, 1, BELAY_NOT_FOUND);
  set(client, 1);
  REFUSED(BELAY_NOT_FOUND, ACQUIRE(waiting, -1, GIVEN(second)));
  REFUSED(BELAY_NOT_FOUND, ACQUIRE(waiting, -1, GIVEN(first)));
  belay_client_free(waiting);
  belay_client_free(client);
}

// While the server is asked about it: by then it has not been heard of.
static void test_given_generation_of_a_stopped_server(Server* server) {
  belay_client* waiting = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  belay_client* client = CLIENT(.url = server->url);
  const int64_t generation = set(client, 1);
  CHECK_STATUS(BELAY_OK, belay_client_ping(waiting, NULL));
  server_pause(server);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 1, -1, GIVEN(generation)));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 2, -1, GIVEN(generation)));
  REFUSED(BELAY_UNAVAILABLE, ACQUIRE(waiting, scaled(60000), GIVEN(generation)));
  CHECK_STATUS(BELAY_OK, belay_cancel(waiting, 2));
  TAKE(waiting, BELAY_EVENT_ACQUIRED, 2, BELAY_CANCELLED);
  server_continue(server);
  count_down(client);
  take_passed_soon(waiting, 1, generation);
  server_pause(server);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 3, -1, GIVEN(generation)));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(waiting));
  TAKE(waiting, BELAY_EVENT_ACQUIRED, 3, BELAY_CLOSED);
  TAKE(waiting, BELAY_EVENT_END, 0, BELAY_CLOSED);
  server_continue(server);
  belay_client_free(waiting);
  belay_client_free(client);
}

// A latch that was broken and set anew is another: the poll says so.
static void test_lost_messages(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* waiting = CLIENT(.url = proxy.url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t generation = set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 1, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  proxy.state->drops_pushes = true;
  count_down(client);
  take_passed(waiting, 1, generation);
  CHECK_INT(1, proxy.state->pushes_dropped);
  set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 2, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, NULL));
  set(client, 1);
  TAKE(waiting, BELAY_EVENT_ACQUIRED, 2, BELAY_NOT_FOUND);
  belay_client_free(waiting);
  belay_client_free(client);
}

// Cut off before, in and after the call; and while the latch opens.
static void check_cuts(Server* server, bool given) {
  static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

  enum { kRounds = 6 };

  const Proxy proxy = proxy_start(server);
  belay_client* waiting = CLIENT(.url = proxy.url);
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < kRounds; ++i) {
    const int64_t generation = set(client, 1);
    CHECK_STATUS(BELAY_OK, belay_client_ping(waiting, NULL));
    proxy_break_next(&proxy, kCuts[i % 3]);
    CHECK_STATUS(BELAY_OK, SUBMIT(waiting, 1, -1, GIVEN(given ? generation : 0)));
    EVENTUALLY(proxy.state->faults == i + 1 && waiters_of(client, "a") == 1);
    server_cut_clients(server);
    count_down(client);
    take_passed_soon(waiting, 1, generation);
  }
  belay_client_free(waiting);
  belay_client_free(client);
}

static void test_cuts(Server* server) {
  check_cuts(server, false);
}

static void test_cuts_of_given_generations(Server* server) {
  check_cuts(server, true);
}

static void test_shutdown(Server* server) {
  belay_client* waiting = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  set(client, 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, 1, -1));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(waiting));
  TAKE(waiting, BELAY_EVENT_ACQUIRED, 1, BELAY_CLOSED);
  TAKE(waiting, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK_INT(0, waiters_of(client, "a"));
  belay_client_free(waiting);
  belay_client_free(client);
}

// ---- Many

enum { kMany = 1000 };

static void test_thousand_waiters(Server* server) {
  belay_client* waiting = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t generation = set(client, 1);
  for (int i = 1; i <= kMany; ++i) {
    CHECK_STATUS(BELAY_OK, SUBMIT_AWAIT(waiting, i, -1));
  }
  CHECK_STATUS(BELAY_OK, belay_client_ping(waiting, NULL));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_ping(waiting, NULL));
  const int64_t before = server_scripts_run(server);
  count_down(client);
  for (int i = 1; i <= kMany; ++i) {
    take_passed_soon(waiting, i, generation);
  }
  const int64_t calls = server_scripts_run(server) - before;
  CHECK(calls < 100);
  belay_client_free(waiting);
  belay_client_free(client);
}

typedef struct Awaiter {
  pthread_t thread;
  belay_client* client;
  int64_t generation;
} Awaiter;

static void* await_in_thread(void* data) {
  Awaiter* awaiter = data;
  awaiter->generation = AWAIT(awaiter->client, -1);
  return NULL;
}

static void test_threads(Server* server) {
  enum { kThreads = 8 };

  belay_client* client = CLIENT(.url = server->url);
  for (int round = 0; round < 20; ++round) {
    const int64_t generation = set(client, 1);
    Awaiter awaiters[kThreads];
    for (int i = 0; i < kThreads; ++i) {
      awaiters[i].client = client;
      CHECK(pthread_create(&awaiters[i].thread, NULL, await_in_thread, &awaiters[i]) == 0);
    }
    count_down(client);
    for (int i = 0; i < kThreads; ++i) {
      CHECK(pthread_join(awaiters[i].thread, NULL) == 0);
      CHECK_INT(generation, awaiters[i].generation);
    }
  }
  belay_client_free(client);
}

static void await_in_child(Server* server, const Line* parent, int64_t rounds) {
  belay_client* client = CLIENT(.url = server->url);
  for (int64_t i = 0; i < rounds; ++i) {
    hear(parent);
    say(parent, AWAIT(client, -1));
  }
  belay_client_free(client);
}

// A waiter that is killed keeps nobody waiting.
static void test_processes(Server* server) {
  enum { kChildren = 4, kRounds = 5 };

  Child children[kChildren];
  for (int i = 0; i < kChildren; ++i) {
    children[i] = child_start(server, await_in_child, kRounds);
  }
  belay_client* client = CLIENT(.url = server->url);
  for (int round = 0; round < kRounds; ++round) {
    const int64_t generation = set(client, 1);
    for (int i = 0; i < kChildren; ++i) {
      say(&children[i].line, 0);
    }
    EVENTUALLY(waiters_of(client, "a") == kChildren);
    const bool last = round == kRounds - 1;
    for (int i = 0; last && i < kChildren / 2; ++i) {
      child_kill(&children[i]);
    }
    count_down(client);
    for (int i = last ? kChildren / 2 : 0; i < kChildren; ++i) {
      CHECK_INT(generation, hear(&children[i].line));
    }
  }
  for (int i = kChildren / 2; i < kChildren; ++i) {
    child_end(&children[i]);
  }
  CHECK_INT(0, waiters_of(client, "a"));
  belay_client_free(client);
}

const Test latch_wait_tests[] = {
    {"Who awaits a latch passes when it has counted down, and at once afterwards", test_passes},
    {"A try, a timeout and a cancel end a wait for a latch", test_try_and_timeout},
    {"Who awaits a latch hears when its time to live has ended", test_time_to_live},
    {"A latch is inspected, listed and broken", test_break},
    {"A break of a latch tells more waiters than one call does", test_break_for_many},
    {"A request for a latch takes nothing that is about holds", test_arguments},
    {"Each waiter passes by the generation that it came for", test_generations},
    {"A given generation passes while it is the latest that opened, and later",
     test_given_generation},
    {"A given generation that was broken is not found", test_given_generation_is_broken},
    {"A server that stands still keeps nobody from giving up on a given generation",
     test_given_generation_of_a_stopped_server},
    {"Cut connections keep nobody waiting for a given generation", test_cuts_of_given_generations},
    {"Where messages are lost, who awaits a latch passes by polling", test_lost_messages},
    {"Cut connections keep nobody waiting for a latch that opens", test_cuts},
    {"A shutdown ends a wait for a latch, on the server as well", test_shutdown},
    {"A thousand waiters of a client are one on the server", test_thousand_waiters},
    {"Threads that share a client pass together", test_threads},
    {"Processes pass together, also when others are killed", test_processes},
    {NULL, NULL},
};
