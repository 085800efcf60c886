// Lock-delay: for how long nobody gets what was lost with its holder.
#include <stddef.h>

#include "support.h"

enum { kDelayMs = 1200 };

// How each request holds it, and who cannot have it beside.
static const RequestSetup kDelayed[] = {{.name = "a", .lock_delay_ms = kDelayMs},
                                        {.name = "a", .shared = true, .lock_delay_ms = kDelayMs},
                                        {.name = "a", .identity = "x", .lock_delay_ms = kDelayMs},
                                        {.name = "s",
                                         .primitive = BELAY_SEMAPHORE,
                                         .permits = 2,
                                         .limit = 3,
                                         .lock_delay_ms = kDelayMs}};
static const RequestSetup kExcluded[] = {
    {.name = "a"},
    {.name = "a"},
    {.name = "a", .shared = true},
    {.name = "s", .primitive = BELAY_SEMAPHORE, .permits = 2, .limit = 3}};

enum { kDelayedCount = sizeof kDelayed / sizeof kDelayed[0] };

static void test_delay_after_the_lease(Server* server) {
  enum { kLeaseMs = 400, kMarginMs = 14 };

  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  for (int i = 0; i < kDelayedCount; ++i) {
    RequestSetup setup = kDelayed[i];
    setup.lease_ms = kLeaseMs;
    const int64_t start = now_ms();
    const int64_t hold = GRANTED(acquire_as(client, 0, &setup));
    CHECK_STATUS(BELAY_OK, submit_as(other, 1, -1, &kExcluded[i]));
    EVENTUALLY(waiters_of(other, kDelayed[i].name) == 1);
    EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
    const int64_t lost = now_ms();
    REFUSED(BELAY_BUSY, acquire_as(client, 0, &kExcluded[i]));  // nor the loser
    CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
    const int64_t next = TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK(now_ms() - start >= kLeaseMs - kMarginMs + kDelayMs);
    CHECK(now_ms() - lost < kDelayMs + scaled(2000));
    give_back(other, next);
  }
  belay_client_free(client);
  belay_client_free(other);
}

static void hold_delayed(Server* server, const Line* parent, int64_t number) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(500));
  hear(parent);
  say(parent, GRANTED(acquire_as(client, -1, &kDelayed[number])));
  hear(parent);
}

static void test_delay_after_a_death(Server* server) {
  Child children[kDelayedCount];
  for (int i = 0; i < kDelayedCount; ++i) {
    children[i] = child_start(server, hold_delayed, i);
  }
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < kDelayedCount; ++i) {
    say(&children[i].line, 0);
    hear(&children[i].line);
    CHECK_STATUS(BELAY_OK, submit_as(client, 1, -1, &kExcluded[i]));
    EVENTUALLY(waiters_of(client, kDelayed[i].name) == 1);
    const int64_t start = now_ms();
    child_kill(&children[i]);
    const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK(now_ms() - start >= kDelayMs);
    CHECK(now_ms() - start < kDelayMs + scaled(500) + scaled(2000));
    give_back(client, next);
  }
  belay_client_free(client);
}

static void test_no_delay_after_a_release(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  for (int i = 0; i < kDelayedCount; ++i) {
    RequestSetup setup = kDelayed[i];
    setup.lock_delay_ms = 60000;
    const int64_t hold = GRANTED(acquire_as(client, 0, &setup));
    CHECK_STATUS(BELAY_OK, submit_as(other, 1, -1, &kExcluded[i]));
    EVENTUALLY(waiters_of(other, kDelayed[i].name) == 1);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    give_back(other, TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
    const int64_t again = GRANTED(acquire_as(client, 0, &setup));
    CHECK_STATUS(BELAY_OK, belay_release(client, again));
    const int64_t last = GRANTED(acquire_as(client, 0, &kExcluded[i]));
    CHECK_STATUS(BELAY_OK, belay_release(client, last));
  }
  belay_client_free(client);
  belay_client_free(other);
}

const Test lock_delay_tests[] = {
    {"Lock-delay follows the end of a lease", test_delay_after_the_lease},
    {"Lock-delay follows the lease of a killed holder", test_delay_after_a_death},
    {"Lock-delay does not follow a release", test_no_delay_after_a_release},
    {NULL, NULL}};
