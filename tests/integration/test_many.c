// Several names at once: all or none, held as one, from any number of callers in any order.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kShortLeaseMs = 1000, kNames = 256, kCallers = 4, kRounds = 25 };

// A request for the names given, each of one letter; those in capitals to read.
static belay_request* request_for(const char* names) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  for (const char* name = names; *name != '\0'; ++name) {
    const bool shared = *name >= 'A' && *name <= 'Z';
    const char letter = (char)(shared ? *name + ('a' - 'A') : *name);
    CHECK_INT(BELAY_OK, shared ? belay_request_add_shared_name(request, &letter, 1)
                               : belay_request_add_name(request, &letter, 1));
  }
  return request;
}

static int64_t acquire_all(belay_client* client, const char* names, int64_t wait_ms) {
  belay_request* request = request_for(names);
  const int64_t hold = belay_acquire(client, request, 0, wait_ms, NULL);
  belay_request_free(request);
  return hold;
}

static void submit_all(belay_client* client, int64_t tag, const char* names) {
  belay_request* request = request_for(names);
  CHECK_INT(BELAY_OK, belay_submit_acquire(client, tag, request, 0, -1));
  belay_request_free(request);
}

static void test_all_or_none(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t b = GRANTED(belay_lock(other, "b", -1, 0, NULL));
  CHECK_INT(-BELAY_BUSY, acquire_all(client, "abc", 0));
  CHECK_INT(-BELAY_TIMEOUT, acquire_all(client, "abc", 50));
  EVENTUALLY(!is_held(other, "a") && !is_held(other, "c") && waiters_of(other, "b") == 0);
  CHECK_STATUS(BELAY_OK, belay_release(other, b));
  const int64_t hold = GRANTED(acquire_all(client, "abC", 0));
  CHECK(is_held(other, "a") && is_held(other, "b") && holders_of(other, "c") == 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(belay_hold_fence(client, hold, i) > 0);
  }
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_hold_fence(client, hold, 3));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  CHECK(belay_hold_remaining_ms(client, hold) > 0);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_downgrade(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  CHECK(!is_held(other, "a") && !is_held(other, "b") && !is_held(other, "c"));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_waits(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t b = GRANTED(belay_lock(other, "b", -1, 0, NULL));
  submit_all(client, 1, "cba");
  EVENTUALLY(waiters_of(other, "b") == 1);
  CHECK(is_held(other, "a") && !is_held(other, "c"));  // in the order of the names
  CHECK_STATUS(BELAY_OK, belay_release(other, b));
  belay_event* event = EVENT(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t hold = belay_event_hold(event);
  for (int i = 0; i < 3; ++i) {
    CHECK_INT(belay_hold_fence(client, hold, i), belay_event_fence(event, i));
  }
  CHECK_INT(0, belay_event_fence(event, 3));
  belay_event_free(event);
  belay_client_free(client);
  EVENTUALLY(!is_held(other, "a") && !is_held(other, "b") && !is_held(other, "c"));
  belay_client_free(other);
}

static void test_cancel(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  GRANTED(belay_lock(other, "b", -1, 0, NULL));
  submit_all(client, 1, "ab");
  EVENTUALLY(waiters_of(other, "b") == 1);
  CHECK_INT(BELAY_OK, belay_cancel(client, 1));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  EVENTUALLY(waiters_of(other, "b") == 0 && !is_held(other, "a"));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_lost_once(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  submit_all(client, 1, "abc");
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_break(other, "b", -1, 0, NULL));
  belay_event* event = EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_INT(hold, belay_event_hold(event));
  CHECK(strstr(belay_event_message(event), "'b'") != NULL);
  belay_event_free(event);
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  EVENTUALLY(!is_held(other, "a") && !is_held(other, "c"));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK(belay_next(client, 100) == NULL);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_watchdog_and_fixed_lease(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kShortLeaseMs);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t kept = GRANTED(acquire_all(client, "ab", 0));
  belay_request* request = request_for("cd");
  CHECK_INT(BELAY_OK, belay_request_set_lease_ms(request, kShortLeaseMs));
  const int64_t fixed = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_extend(client, fixed, 2 * kShortLeaseMs, NULL));
  CHECK(belay_hold_remaining_ms(client, fixed) > kShortLeaseMs);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_extend(client, kept, kShortLeaseMs, NULL));
  EVENTUALLY(belay_hold_state(client, fixed) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, kept));
  CHECK(is_held(other, "a") && is_held(other, "b"));
  CHECK_INT(BELAY_OK, belay_hold_abandon(client, kept));
  EVENTUALLY(!is_held(other, "a") && !is_held(other, "b"));
  belay_request_free(request);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_256_names(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = belay_request_new(BELAY_LOCK);
  char name[16];
  for (int i = 0; i < kNames; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    CHECK_INT(BELAY_OK, belay_request_add_name(request, name, -1));
  }
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK(belay_hold_fence(client, hold, kNames - 1) > 0);
  CHECK(is_held(client, "n255"));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK(!is_held(client, "n0") && !is_held(client, "n255"));
  belay_request_free(request);
  request = belay_request_new(BELAY_LOCK);
  for (int i = 0; i < kNames; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    CHECK_INT(BELAY_OK, belay_request_add_name(request, name, -1));
  }
  CHECK_INT(BELAY_INVALID_ARGUMENT, belay_request_add_name(request, "one more", -1));
  CHECK(strstr(belay_request_error(request), "one more") != NULL);
  belay_request_free(request);
  belay_client_free(client);
}

static void test_misuse(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = request_for("ab");
  CHECK_INT(BELAY_INVALID_ARGUMENT, belay_request_add_shared_name(request, "b", 1));
  CHECK(strstr(belay_request_error(request), "'b' was added twice") != NULL);
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_acquire(client, request, 0, 0, NULL));
  belay_request_free(request);
  request = belay_request_new(BELAY_SEMAPHORE);
  CHECK_INT(BELAY_OK, belay_request_add_name(request, "a", 1));
  CHECK_INT(BELAY_INVALID_ARGUMENT, belay_request_add_name(request, "b", 1));
  belay_request_free(request);
  belay_client_free(client);
}

static void test_owner_re_enters(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = request_for("ab");
  const int64_t outer = GRANTED(belay_acquire(client, request, 7, 0, NULL));
  const int64_t inner = GRANTED(belay_acquire(client, request, 7, 0, NULL));
  CHECK_INT(belay_hold_fence(client, outer, 1), belay_hold_fence(client, inner, 1));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  CHECK(is_held(client, "a") && is_held(client, "b"));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  CHECK(!is_held(client, "a") && !is_held(client, "b"));
  belay_request_free(request);
  belay_client_free(client);
}

static void take_in_turns(Server* server, const Line* parent, int64_t argument) {
  static const char* const kOrders[kCallers] = {"abc", "cba", "bca", "cab"};
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < kRounds; ++i) {
    const int64_t hold = GRANTED(acquire_all(client, kOrders[argument], -1));
    give_back(client, hold);
  }
  belay_client_free(client);
  say(parent, 1);
}

static void test_opposite_orders(Server* server) {
  Child children[kCallers];
  for (int i = 0; i < kCallers; ++i) {
    children[i] = child_start(server, take_in_turns, i);
  }
  for (int i = 0; i < kCallers; ++i) {
    CHECK_INT(1, hear(&children[i].line));
    child_end(&children[i]);
  }
  belay_client* client = CLIENT(.url = server->url);
  CHECK(!is_held(client, "a") && !is_held(client, "b") && !is_held(client, "c"));
  belay_client_free(client);
}

static void wait_half_way(Server* server, const Line* parent, int64_t argument) {
  (void)argument;
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kShortLeaseMs);
  hear(parent);
  GRANTED(acquire_all(client, "ab", -1));
}

static void test_killed_half_way(Server* server) {
  const Child child = child_start(server, wait_half_way, 0);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t b = GRANTED(belay_lock(client, "b", -1, -1, NULL));
  say(&child.line, 1);
  EVENTUALLY(waiters_of(client, "b") == 1 && is_held(client, "a"));
  child_kill(&child);
  CHECK_STATUS(BELAY_OK, belay_release(client, b));
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(acquire_all(client, "ba", -1))));
  belay_client_free(client);
}

const Test many_tests[] = {
    {"Several names are acquired all or none, and held as one", test_all_or_none},
    {"Who waits for several names takes them in the order of their bytes", test_waits},
    {"A cancelled wait for several names gives back what it had", test_cancel},
    {"When one of several names is lost, all are, once", test_lost_once},
    {"The watchdog keeps all names of a hold; a fixed lease ends all",
     test_watchdog_and_fixed_lease},
    {"A request has up to 256 names", test_256_names},
    {"A name that is added twice, or a second one of a semaphore, is refused", test_misuse},
    {"An owner re-enters several names", test_owner_re_enters},
    {"Callers who name the same in opposite orders are all served", test_opposite_orders},
    {"Who is killed half-way leaves nothing", test_killed_half_way},
    {NULL, NULL}};
