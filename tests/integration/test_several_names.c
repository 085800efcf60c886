// Several names at once: all or none, held as one, from any number of callers in any order; what
// they cost, and what becomes of them when something goes wrong.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kShortLeaseMs = 1000, kLongLeaseMs = 3600 * 1000 };

enum { kNames = 256, kNamesOfASlot = 16, kCallers = 4, kRounds = 25, kCutRounds = 5 };

static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

enum { kCutCount = sizeof kCuts / sizeof kCuts[0] };

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

// Of a fixed lease: the names that are not entered again last as long as the one that is.
static void test_owner_re_enters_one(Server* server) {
  const int64_t lease = scaled(1000);
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  belay_request* both = REQUEST(.name = "a", .lease_ms = lease);
  CHECK_STATUS(BELAY_OK, belay_request_add_name(both, "b", -1));
  const int64_t outer = GRANTED(belay_acquire(client, both, 7, 0, NULL));
  const int64_t inner =
      GRANTED(ACQUIRE(client, 0, .name = "b", .owner = 7, .lease_ms = 100 * lease));
  CHECK_STATUS(BELAY_OK, belay_release(client, inner));
  STAYS(2 * lease, belay_hold_state(client, outer) == BELAY_HOLD_HELD);
  REFUSED(BELAY_BUSY, belay_lock(other, "a", -1, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(other, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, outer));
  belay_request_free(both);
  belay_client_free(client);
  belay_client_free(other);
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

static void test_exchanges(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(acquire_all(client, "abc", 0))));
  belay_request* request = REQUEST(.name = "{one}slot");
  for (int i = 1; i < kNamesOfASlot; ++i) {
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
  REFUSED(BELAY_BUSY, acquire_all(client, "abc", 0));
  CHECK_INT(before + 1, server_scripts_run(server));
  belay_client_free(client);
  belay_client_free(other);
}

// ---- When something goes wrong

// The records are gone, not merely lapsed, and nobody waits.
static void check_all_free(const Server* server) {
  EVENTUALLY(strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:r:{b}", "belay:r:{c}",
                                    "belay:w:{a}", "belay:w:{b}", "belay:w:{c}", NULL)) == 0);
}

static void test_cut_tries_and_releases(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = kLongLeaseMs);
  for (int i = 0; i < kCutRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    const int64_t hold = GRANTED(acquire_all(client, "abc", 0));
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
  for (int i = 0; i < kCutRounds * kCutCount; ++i) {
    const int64_t faults = proxy.state->faults;
    const int64_t a = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
    const int64_t b = GRANTED(belay_lock(holder, "b", -1, 0, NULL));
    submit_all(client, 1, "abc");
    EVENTUALLY(waiters_of(holder, "a") == 1);
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    give_back(holder, a);
    EVENTUALLY(waiters_of(holder, "b") == 1);
    CHECK_INT(faults + 1, proxy.state->faults);
    proxy_break_next(&proxy, kCuts[i % kCutCount]);
    give_back(holder, b);
    const int64_t hold = acquired(client, 1);
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
  belay_request* request = request_for("abc");
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
  belay_request* request = request_for("abc");
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
  submit_all(client, 1, "abc");
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
  GRANTED(acquire_all(client, "abc", 0));
  submit_all(waiter, 1, "abc");
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
  submit_all(client, 1, "abc");
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
  belay_request* request = request_for("abc");
  for (int64_t wait_ms = -1; wait_ms <= 0; ++wait_ms) {
    belay_event* why = NULL;
    REFUSED(BELAY_WRONG_TYPE, belay_acquire(client, request, 0, wait_ms, &why));
    CHECK_TEXT("belay:r:{b}", belay_event_message(why));
    CHECK_TEXT(what, belay_event_message(why));
    belay_event_free(why);
    CHECK_TEXT("0", server_ask(server, "EXISTS", "belay:r:{a}", "belay:r:{c}", NULL));
  }
  belay_request_free(request);
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

const Test several_names_tests[] = {
    {"Several names are acquired all or none, and held as one", test_all_or_none},
    {"Who waits for several names takes them in the order of their bytes", test_waits},
    {"A cancelled wait for several names gives back what it had", test_cancel},
    {"When one of several names is lost, all are, once", test_lost_once},
    {"The watchdog keeps all names of a hold; a fixed lease ends all",
     test_watchdog_and_fixed_lease},
    {"A request has up to 256 names", test_256_names},
    {"A name that is added twice, or a second one of a semaphore, is refused", test_misuse},
    {"An owner re-enters several names", test_owner_re_enters},
    {"Several names of a fixed lease last as long as the one that their owner enters again",
     test_owner_re_enters_one},
    {"Callers who name the same in opposite orders are all served", test_opposite_orders},
    {"Who is killed half-way leaves nothing", test_killed_half_way},
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
