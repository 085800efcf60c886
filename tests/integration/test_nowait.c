// Releases that do not wait for the server: they end the hold at once, reach the server in the end,
// and come before whatever the client acquires later.
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

static const int kFaults[] = {kNoFault, kCutBefore, kCutDuring, kCutAfter};

enum { kFaultCount = sizeof kFaults / sizeof kFaults[0], kRounds = 3 };

static belay_client* long_lived(const char* url) {
  return CLIENT(.url = url, .watchdog_lease_ms = kLongLeaseMs);
}

static void check_ended(belay_client* client, int64_t hold) {
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release_nowait(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  CHECK(belay_next(client, 0) == NULL);
}

static void test_ends_at_once(Server* server) {
  belay_client* client = long_lived(server->url);
  belay_client* other = long_lived(server->url);
  int64_t fence = 0;
  for (int i = 0; i < 20; ++i) {
    const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7, .notify = 1));
    CHECK(belay_hold_fence(client, hold, 0) > fence);
    fence = belay_hold_fence(client, hold, 0);
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
    CHECK_INT(0, belay_owner_holds(client, 7, "a", -1));
    check_ended(client, hold);
  }
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release_nowait(client, 0));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release_nowait(client, -1));
  GRANTED(belay_lock(other, "a", -1, -1, NULL));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_several_names(Server* server) {
  belay_client* client = long_lived(server->url);
  belay_client* other = long_lived(server->url);
  belay_request* request = REQUEST(.name = "a");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "b", -1));
  CHECK_STATUS(BELAY_OK, belay_request_add_shared_name(request, "c", -1));
  for (int i = 0; i < 5; ++i) {
    const int64_t hold = GRANTED(belay_acquire(client, request, 0, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
    check_ended(client, hold);
    const int64_t next = GRANTED(belay_acquire(other, request, 0, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release_nowait(other, next));
  }
  belay_request_free(request);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_permits_and_local_owners(Server* server) {
  belay_client* client = long_lived(server->url);
  belay_client* other = long_lived(server->url);
  int64_t hold = GRANTED(
      ACQUIRE(client, 0, .name = "s", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 1));
  CHECK_STATUS(BELAY_OK,
               SUBMIT(other, 1, -1, .name = "s", .primitive = BELAY_SEMAPHORE, .permits = 1));
  EVENTUALLY(waiters_of(other, "s") == 1);
  CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
  TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_lost(Server* server) {
  belay_client* client = long_lived(server->url);
  int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .notify = 1));
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, NULL));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_STATUS(BELAY_LOST, belay_release_nowait(client, hold));
  check_ended(client, hold);
  hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  CHECK_STATUS(BELAY_LOST, belay_release_nowait(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release_nowait(client, hold));
  belay_client_free(client);
}

// Whatever happens to the release on its way.
static void test_waiters_go_first(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url);
  belay_client* waiter = long_lived(server->url);
  for (int i = 0; i < kRounds * kFaultCount; ++i) {
    const int64_t held = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
    EVENTUALLY(waiters_of(waiter, "a") == 1);
    proxy_break_next(&proxy, kFaults[i % kFaultCount]);
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, held));
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
    const int64_t first = acquired(waiter, 1);
    EVENTUALLY(waiters_of(waiter, "a") == 1);
    CHECK(next_but_of_holds(client, 0) == NULL);
    give_back(waiter, first);
    give_back(client, acquired(client, 1));
  }
  CHECK_INT(kRounds * (kFaultCount - 1), proxy.state->faults);
  belay_client_free(client);
  belay_client_free(waiter);
}

// Neither the client nor anybody else asks for the name, which would free it, too.
static void test_sent_again(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url);
  for (int i = 0; i < kRounds * kFaultCount; ++i) {
    const int64_t held = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK_TEXT("1", server_ask(server, "EXISTS", "belay:r:{a}", NULL));
    proxy_break_next(&proxy, kFaults[i % kFaultCount]);
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, held));
    EVENTUALLY(strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", NULL)) == 0);
  }
  CHECK_INT(kRounds * (kFaultCount - 1), proxy.state->faults);
  belay_client_free(client);
}

static void test_own_acquires_follow(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = long_lived(proxy.url);
  int64_t fence = 0;
  for (int i = 0; i < kRounds * kFaultCount; ++i) {
    const int64_t held = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    proxy_break_next(&proxy, kFaults[i % kFaultCount]);
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, held));
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, i % 2 == 0 ? 0 : -1, NULL));
    CHECK(belay_hold_fence(client, hold, 0) > fence);
    fence = belay_hold_fence(client, hold, 0);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    EVENTUALLY(strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:w:{a}", "belay:m:{a}",
                                      "belay:e:{a}", NULL)) == 0);
  }
  CHECK_INT(kRounds * (kFaultCount - 1), proxy.state->faults);
  belay_client_free(client);
}

static void test_unreachable(Server* server) {
  belay_client* client = long_lived(server->url);
  belay_client* waiter = long_lived(server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(waiter, "a") == 1);
  server_pause(server);
  CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
  check_ended(client, hold);
  server_continue(server);
  TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
  belay_client_free(waiter);
}

// Also over a new connection. The lease would last for an hour.
static void test_free_sends_it(Server* server) {
  belay_client* other = long_lived(server->url);
  for (int i = 0; i < 10; ++i) {
    belay_client* client = long_lived(server->url);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    if (i % 2 == 1) {
      server_cut_clients(server);
    }
    CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
    belay_client_free(client);
    const int64_t next = GRANTED(belay_lock(other, "a", -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, belay_release_nowait(other, next));
  }
  belay_client_free(other);
}

const Test nowait_tests[] = {
    {"A release without waiting ends the hold at once", test_ends_at_once},
    {"Several names are released without waiting", test_several_names},
    {"Permits, and what local owners wait for, are released without waiting",
     test_permits_and_local_owners},
    {"A release without waiting says that the hold had been lost", test_lost},
    {"A waiting client goes before who released without waiting", test_waiters_go_first},
    {"A release without waiting that is cut off is sent again", test_sent_again},
    {"Who released without waiting may have the name again at once", test_own_acquires_follow},
    {"A release without waiting reaches a server that stood still", test_unreachable},
    {"A client that is freed sends its releases first", test_free_sends_it},
    {NULL, NULL}};
