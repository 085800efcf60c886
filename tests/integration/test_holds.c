// What a hold is: owners and nesting, releases, leases and their ends.
#include <stddef.h>
#include <string.h>

#include "support.h"

// ---- Owners

static void test_owner_zero(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 0));
  REFUSED(BELAY_BUSY, ACQUIRE(client, 0, .name = "a", .owner = 0));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_reentry(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  const int64_t inner = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  CHECK(inner != outer);
  CHECK_INT(belay_hold_fence(client, outer, 0), belay_hold_fence(client, inner, 0));
  REFUSED(BELAY_BUSY, ACQUIRE(client, 0, .name = "a", .owner = 8));
  REFUSED(BELAY_BUSY, ACQUIRE(other, 0, .name = "a", .owner = 7));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, inner));
  REFUSED(BELAY_BUSY, ACQUIRE(other, 0, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  const int64_t next = GRANTED(ACQUIRE(other, 0, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_reentry_past_a_queue(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  const int64_t inner = GRANTED(ACQUIRE(client, -1, .name = "a", .owner = 7));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  CHECK(belay_next(other, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  const int64_t next = TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_largest_owner(Server* server) {
  const int64_t largest = ((int64_t)1 << 53) - 1;
  belay_client* client = CLIENT(.url = server->url);
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = largest));
  const int64_t inner = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = largest));
  REFUSED(BELAY_BUSY, ACQUIRE(client, 0, .name = "a", .owner = largest - 1));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  belay_client_free(client);
}

// ---- Releases

// Whether or not the news comes first: the server did not have it.
static void test_release_of_what_was_broken(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  for (int i = 0; i < 100; ++i) {
    const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a"));
    CHECK_STATUS(BELAY_OK, belay_break(other, "a", -1, 0, NULL));
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_LOST, release_why(client, hold, &event));
    CHECK_INT(BELAY_REASON_BROKEN, belay_event_int(event, BELAY_FIELD_REASON));
    belay_event_free(event);
  }
  belay_client_free(client);
  belay_client_free(other);
}

static void test_double_release(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t first = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, first));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, first));
  const int64_t second = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, first));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, second));
  CHECK_STATUS(BELAY_OK, belay_verify(client, second, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, second));
  belay_client_free(client);
}

static void test_double_release_of_a_nested_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  const int64_t inner = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, inner));
  CHECK_STATUS(BELAY_OK, belay_verify(client, outer, NULL));
  CHECK(is_held(client, "a"));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  belay_client_free(client);
}

static void test_released_hold_is_unknown(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_state(client, hold));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_remaining_ms(client, hold));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_fence(client, hold, 0));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_hold_abandon(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_extend(client, hold, 1000, NULL));
  belay_client_free(client);
}

static void test_release_at_the_pending_limit(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .max_pending = 1);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t wanted = GRANTED(belay_lock(other, "b", -1, 0, NULL));
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "b"));
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, SUBMIT(client, 2, -1, .name = "c"));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_release(other, wanted));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_abandon(Server* server) {
  const int64_t lease = scaled(500);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, hold));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  const int64_t next = GRANTED(belay_lock(other, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
  belay_client_free(other);
}

// ---- Leases

static void test_fixed_lease_ends(Server* server) {
  const int64_t lease = scaled(300);
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = lease));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  const int64_t remaining = belay_hold_remaining_ms(client, hold);
  CHECK(remaining > 0 && remaining < lease);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(0, belay_hold_remaining_ms(client, hold));
  CHECK_INT(fence, belay_hold_fence(client, hold, 0));
  const int64_t next = GRANTED(belay_lock(other, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_LOST, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_LOST, belay_extend(client, hold, 1000, NULL));
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_LOST, release_why(client, hold, &why));
  CHECK(strlen(belay_event_message(why)) > 0);
  belay_event_free(why);
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(other, next, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_lost_event_comes_once(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a", .lease_ms = scaled(200)));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_event* lost = EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_INT(hold, belay_event_hold(lost));
  CHECK_INT(0, belay_event_int(lost, BELAY_FIELD_REMAINING_MS));
  CHECK_TEXT("'a'", belay_event_message(lost));
  belay_event_free(lost);
  CHECK(belay_next(client, scaled(300)) == NULL);
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

static void test_notify(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t silent = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = scaled(200)));
  const int64_t told =
      GRANTED(ACQUIRE(client, 0, .name = "b", .lease_ms = scaled(300), .notify = 1));
  CHECK_INT(told, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, silent));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

static void test_extend(Server* server) {
  const int64_t lease = scaled(400);
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = lease));
  const int64_t end = now_ms() + 4 * lease;
  while (now_ms() < end) {
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_OK, belay_extend(client, hold, lease, &event));
    CHECK_INT(hold, belay_event_hold(event));
    CHECK(belay_event_int(event, BELAY_FIELD_REMAINING_MS) > 0 &&
          belay_event_int(event, BELAY_FIELD_REMAINING_MS) <= lease);
    belay_event_free(event);
    REFUSED(BELAY_BUSY, belay_lock(other, "a", -1, 0, NULL));
    nap();
  }
  CHECK_STATUS(BELAY_OK, belay_extend(client, hold, 3600000, NULL));
  CHECK(belay_hold_remaining_ms(client, hold) > 3500000);
  CHECK_STATUS(BELAY_OK, belay_extend(client, hold, 100, NULL));
  CHECK(belay_hold_remaining_ms(client, hold) > 3400000);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t next = GRANTED(belay_lock(other, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(other, next));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_extend_of_a_watchdog_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_extend(client, hold, 1000, &why));
  CHECK_TEXT("watchdog", belay_event_message(why));
  belay_event_free(why);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  belay_client_free(client);
}

static void test_watchdog(Server* server) {
  const int64_t lease = scaled(300);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  STAYS(6 * lease, belay_hold_state(client, hold) == BELAY_HOLD_HELD &&
                       belay_hold_remaining_ms(client, hold) > 0 &&
                       belay_lock(other, "a", -1, 0, NULL) == -BELAY_BUSY);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_watchdog_keeps_many(Server* server) {
  enum { kHolds = 500 };

  const int64_t lease = scaled(900);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  for (int64_t tag = 1; tag <= kHolds; ++tag) {
    CHECK_STATUS(BELAY_OK,
                 SUBMIT(client, tag, 0, .name = (const char*)&tag, .name_size = sizeof tag));
  }
  int64_t holds[kHolds + 1] = {0};
  for (int64_t i = 1; i <= kHolds; ++i) {
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK_STATUS(BELAY_OK, belay_event_status(event));
    holds[belay_event_tag(event)] = belay_event_hold(event);
    belay_event_free(event);
  }
  STAYS(3 * lease, belay_next(client, 0) == NULL);
  for (int64_t i = 1; i <= kHolds; ++i) {
    CHECK_STATUS(BELAY_OK, belay_release(client, holds[i]));
  }
  belay_client_free(client);
}

static void expect_end_by_max_hold(belay_client* client, int64_t hold) {
  belay_event* risk = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_INT(hold, belay_event_hold(risk));
  CHECK_TEXT("max-hold", belay_event_message(risk));
  CHECK(belay_event_int(risk, BELAY_FIELD_REMAINING_MS) > 0);
  belay_event_free(risk);
  CHECK_INT(BELAY_HOLD_AT_RISK, belay_hold_state(client, hold));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK(belay_next(client, 0) == NULL);
}

static void test_max_hold(Server* server) {
  const int64_t lease = scaled(600);
  belay_client* client =
      CLIENT(.url = server->url, .watchdog_lease_ms = lease, .max_hold_ms = scaled(1000));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  expect_end_by_max_hold(client, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  const int64_t next = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  belay_client_free(client);
}

static void test_max_hold_of_a_request(Server* server) {
  const int64_t lease = scaled(600);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  const int64_t kept = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a", .max_hold_ms = scaled(800)));
  expect_end_by_max_hold(client, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, kept));
  belay_client_free(client);
}

static void test_waiter_after_a_fixed_lease(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = scaled(400)));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  const int64_t next = GRANTED(belay_lock(other, "a", -1, -1, NULL));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  CHECK(belay_hold_fence(other, next, 0) > fence);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_nested_fixed_lease(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  const int64_t inner =
      GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7, .lease_ms = scaled(200)));
  EVENTUALLY(belay_hold_state(client, inner) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, outer));
  CHECK_STATUS(BELAY_LOST, belay_release(client, inner));
  CHECK_STATUS(BELAY_OK, belay_verify(client, outer, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  belay_client_free(client);
}

// Whoever enters again has what was had before for as long.
static void test_reentry_refreshes(Server* server) {
  const int64_t lease = scaled(2000);
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const RequestSetup fixed = {.name = "a", .owner = 7, .lease_ms = lease};
  const int64_t outer = GRANTED(acquire_as(client, 0, &fixed));
  const int64_t start = now_ms();
  while (now_ms() - start < lease * 3 / 2) {
    const int64_t inner = GRANTED(acquire_as(client, 0, &fixed));
    CHECK_STATUS(BELAY_OK, belay_release(client, inner));
    nap();
    REFUSED(BELAY_BUSY, belay_lock(other, "a", -1, 0, NULL));
  }
  CHECK_STATUS(BELAY_OK, belay_verify(client, outer, NULL));
  CHECK(belay_hold_remaining_ms(client, outer) <= lease);
  // Also where the inner one is released before the server has heard of it.
  const int64_t inner = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7, .lease_ms = 2 * lease));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  EVENTUALLY(belay_hold_remaining_ms(client, outer) > lease);
  // Without another it ends, and the lock with it.
  EVENTUALLY(belay_hold_state(client, outer) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_LOST, belay_release(client, outer));
  give_back(other, GRANTED(belay_lock(other, "a", -1, -1, NULL)));
  belay_client_free(client);
  belay_client_free(other);
}

// An inner hold that the watchdog renews keeps it, too: until that is released, and its latest
// lease has ended.
static void test_reentry_under_the_watchdog(Server* server) {
  const int64_t lease = scaled(1000);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = 2 * lease);
  const int64_t outer = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7, .lease_ms = lease));
  const int64_t inner = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  STAYS(3 * lease, belay_hold_state(client, outer) == BELAY_HOLD_HELD);
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, outer));
  EVENTUALLY(belay_hold_state(client, outer) == BELAY_HOLD_LOST);
  belay_client_free(client);
}

static void test_fence_index(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, &event));
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_hold_fence(client, hold, 1));
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_hold_fence(client, hold, -1));
  CHECK_INT(0, belay_event_fence(event, 1));
  CHECK_INT(0, belay_event_fence(event, -1));
  belay_event_free(event);
  belay_client_free(client);
}

const Test hold_tests[] = {
    {"Owner 0 excludes itself", test_owner_zero},
    {"An owner re-enters with a new hold and the same fence, and its last release frees",
     test_reentry},
    {"An owner re-enters although others wait", test_reentry_past_a_queue},
    {"The largest owner is told from its neighbour", test_largest_owner},
    {"A release of what was broken is LOST, though the news may come later",
     test_release_of_what_was_broken},
    {"A second release is UNKNOWN_HOLD and frees nobody's hold", test_double_release},
    {"A second release of a nested hold does not free the outer one",
     test_double_release_of_a_nested_hold},
    {"A released hold is unknown to every call", test_released_hold_is_unknown},
    {"A release is accepted at the limit of pending submissions",
     test_release_at_the_pending_limit},
    {"An abandoned hold is forgotten, and others get the lock when its lease ends", test_abandon},
    {"A fixed lease ends by itself, and whoever held it is told LOST by every call",
     test_fixed_lease_ends},
    {"A LOST event comes exactly once", test_lost_event_comes_once},
    {"A blocking acquire has events of its hold where it asked for them", test_notify},
    {"An extension prolongs a fixed lease and never shortens it", test_extend},
    {"An extension of a watchdog hold is refused", test_extend_of_a_watchdog_hold},
    {"The watchdog keeps a short lease alive for several leases", test_watchdog},
    {"The watchdog keeps five hundred holds alive", test_watchdog_keeps_many},
    {"Max-hold of the client ends a hold with AT_RISK and then LOST", test_max_hold},
    {"Max-hold of a request ends its holds alone", test_max_hold_of_a_request},
    {"A waiter gets the lock when a fixed lease ends", test_waiter_after_a_fixed_lease},
    {"A nested fixed lease ends without its outer hold", test_nested_fixed_lease},
    {"A fixed lease lasts as long as what its owner has entered again", test_reentry_refreshes},
    {"A fixed lease lasts while the watchdog renews its owner's newer hold",
     test_reentry_under_the_watchdog},
    {"A hold of one name has one fence", test_fence_index},
    {NULL, NULL}};
