// Several names at once when something goes wrong: cuts in both stages, a server that stops, what
// stands at one of the names; and what they cost when nothing does.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000, kRounds = 5, kNames = 16 };

static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

enum { kCutCount = sizeof kCuts / sizeof kCuts[0] };

// A request for "a", "b" and "c".
static belay_request* request_for_abc(void) {
  belay_request* request = REQUEST(.name = "a");
  CHECK_INT(BELAY_OK, belay_request_add_name(request, "b", 1));
  CHECK_INT(BELAY_OK, belay_request_add_name(request, "c", 1));
  return request;
}

static int64_t acquire_abc(belay_client* client, int64_t wait_ms, belay_event** why) {
  belay_request* request = request_for_abc();
  const int64_t hold = belay_acquire(client, request, 0, wait_ms, why);
  belay_request_free(request);
  return hold;
}

static void submit_abc(belay_client* client, int64_t tag) {
  belay_request* request = request_for_abc();
  CHECK_INT(BELAY_OK, belay_submit_acquire(client, tag, request, 0, -1));
  belay_request_free(request);
}

// The records are gone, not merely lapsed, and nobody waits.
static void check_all_free(const Server* server) {
  EVENTUALLY(strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:r:{b}", "belay:r:{c}",
                                    "belay:q:{a}", "belay:q:{b}", "belay:q:{c}", NULL)) == 0);
}

static void test_exchanges(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(acquire_abc(client, 0, NULL))));
  belay_request* request = REQUEST(.name = "{one}slot");
  for (int i = 1; i < kNames; ++i) {
    char name[16];
    snprintf(name, sizeof name, "{one}slot%d", i);
    CHECK_INT(BELAY_OK, belay_request_add_name(request, name, -1));
  }
  int64_t before = server_scripts_run(server);
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, -1, NULL));
  CHECK_INT(before + 1, server_scripts_run(server));
  belay_request_free(request);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(before + 2, server_scripts_run(server));
  GRANTED(belay_lock(other, "b", -1, 0, NULL));
  before = server_scripts_run(server);
  REFUSED(BELAY_BUSY, acquire_abc(client, 0, NULL));
  CHECK_INT(before + 1, server_scripts_run(server));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_cut_tries_and_releases(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = kLongLeaseMs);
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    const int64_t hold = GRANTED(acquire_abc(client, 0, NULL));
    CHECK_INT(faults + 1, proxy.state->faults);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    CHECK_INT(faults + 2, proxy.state->faults);
    check_all_free(server);
  }
  belay_client_free(client);
}

// Cut off where it asks for the first of the names one by one, and where it asks for the last.
static void test_cut_waits(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = kLongLeaseMs);
  for (int i = 0; i < kRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    const int64_t a = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
    const int64_t b = GRANTED(belay_lock(holder, "b", -1, 0, NULL));
    submit_abc(client, 1);
    EVENTUALLY(waiters_of(holder, "a") == 1);
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    give_back(holder, a);
    EVENTUALLY(waiters_of(holder, "b") == 1);
    CHECK_INT(faults + 1, proxy.state->faults);
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    give_back(holder, b);
    const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK_INT(faults + 2, proxy.state->faults);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    REFUSED(BELAY_BUSY, belay_lock(holder, "c", -1, 0, NULL));
    give_back(client, hold);
    check_all_free(server);
  }
  belay_client_free(client);
  belay_client_free(holder);
}

static void test_lock_delay(Server* server) {
  const int64_t delay = scaled(1000);
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  belay_request* request = request_for_abc();
  CHECK_INT(BELAY_OK, belay_request_set_lock_delay_ms(request, delay));
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  belay_request_free(request);
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_break(other, "b", -1, 0, NULL));
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  GRANTED(belay_lock(other, "a", -1, -1, NULL));
  GRANTED(belay_lock(other, "c", -1, -1, NULL));
  CHECK(now_ms() - start >= delay);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_max_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  belay_request* request = request_for_abc();
  CHECK_INT(BELAY_OK, belay_request_set_max_hold_ms(request, scaled(300)));
  CHECK_INT(BELAY_OK, belay_request_set_notify(request, 1));
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  belay_request_free(request);
  belay_event* risk = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_INT(hold, belay_event_hold(risk));
  CHECK_TEXT("max-hold", belay_event_message(risk));
  belay_event_free(risk);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK(belay_next(client, 100) == NULL);
  check_all_free(server);
  belay_client_free(client);
}

static void test_stopped_server(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(3000));
  submit_abc(client, 1);
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_pause(server);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
  CHECK_INT(BELAY_HOLD_AT_RISK, belay_hold_state(client, hold));
  server_continue(server);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_RECOVERED, 0, BELAY_OK));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  CHECK(belay_next(client, 100) == NULL);
  server_pause(server);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  server_continue(server);
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK(belay_next(client, 100) == NULL);
  check_all_free(server);
  belay_client_free(client);
}

static void test_shutdown(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* waiter = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* holder = CLIENT(.url = server->url);
  GRANTED(acquire_abc(client, 0, NULL));
  submit_abc(waiter, 1);
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(waiter));
  TAKE(waiter, BELAY_EVENT_LOST, 0, BELAY_LOST);
  TAKE(waiter, BELAY_EVENT_END, 0, BELAY_CLOSED);
  check_all_free(server);
  belay_client_free(client);
  belay_client_free(waiter);
  client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t b = GRANTED(belay_lock(holder, "b", -1, 0, NULL));
  submit_abc(client, 1);
  EVENTUALLY(waiters_of(holder, "b") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CLOSED);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK_INT(0, waiters_of(holder, "b"));
  CHECK(!is_held(holder, "a"));
  CHECK_STATUS(BELAY_OK, belay_release(holder, b));
  check_all_free(server);
  belay_client_free(client);
  belay_client_free(holder);
}

// What stands at "b" is named, and nothing is taken, at once or waiting.
static void check_names_b(Server* server, belay_client* client, const char* what) {
  for (int64_t wait_ms = -1; wait_ms <= 0; ++wait_ms) {
    belay_event* why = NULL;
    REFUSED(BELAY_WRONG_TYPE, acquire_abc(client, wait_ms, &why));
    CHECK_TEXT("belay:r:{b}", belay_event_message(why));
    CHECK_TEXT(what, belay_event_message(why));
    belay_event_free(why);
    CHECK_TEXT("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:r:{c}", NULL));
  }
}

static void test_foreign_key(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  server_tell(server, "SET", "belay:r:{b}", "what somebody else put there", NULL);
  check_names_b(server, client, "does not hold a lock");
  CHECK_TEXT("somebody else", server_ask(server, "GET", "belay:r:{b}", NULL));
  server_ask(server, "DEL", "belay:r:{b}", NULL);
  GRANTED(ACQUIRE(other, 0, .name = "b", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 2));
  check_names_b(server, client, "holds a semaphore, not a lock");
  CHECK_INT(1, holders_of(other, "b"));
  belay_client_free(client);
  belay_client_free(other);
}

const Test many_fault_tests[] = {
    {"Sixteen names of one slot cost one exchange, their release another, and a refused try one",
     test_exchanges},
    {"Tries for several names and their releases come to their end when they are cut off",
     test_cut_tries_and_releases},
    {"A wait for several names goes on when it is cut off at any of them", test_cut_waits},
    {"The lock-delay of a lost hold of several names is that of each", test_lock_delay},
    {"Max-hold ends a hold of several names with one AT_RISK and one LOST", test_max_hold},
    {"A server that stops is told by one AT_RISK of several names", test_stopped_server},
    {"A shutdown gives back several names, and those of a wait", test_shutdown},
    {"What is no lock at one of several names is named, and none is taken", test_foreign_key},
    {NULL, NULL}};
