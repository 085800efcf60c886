// Looking at locks and taking them by force: verify, inspect, break, list, ping; and which names
// are which lock.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static const char* text_of(const belay_event* event, int32_t index, int32_t field) {
  return belay_event_member_text(event, index, field, NULL);
}

static int64_t number_of(const belay_event* event, int32_t index, int32_t field) {
  return belay_event_member_int(event, index, field);
}

// ---- Verify

static void test_verify(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, &event));
  CHECK_INT(hold, belay_event_hold(event));
  CHECK_INT(belay_hold_fence(client, hold, 0), belay_event_fence(event, 0));
  CHECK(belay_event_int(event, BELAY_FIELD_REMAINING_MS) > 0);
  belay_event_free(event);
  server_ask(server, "DEL", "belay:r:{a}", NULL);
  CHECK_STATUS(BELAY_LOST, belay_verify(client, hold, &event));
  CHECK_TEXT("'a'", belay_event_message(event));
  belay_event_free(event);
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  belay_client_free(client);
}

// ---- Inspect

static void test_inspect_nobody(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  CHECK_INT(BELAY_EVENT_INSPECTED, belay_event_kind(event));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_TOTAL));
  CHECK_INT(0, number_of(event, 0, BELAY_MEMBER_PID));
  CHECK_INT(0, (int64_t)strlen(text_of(event, 0, BELAY_MEMBER_LABEL)));
  belay_event_free(event);
  belay_client_free(client);
}

static void wait_with_label(Server* server, const Line* parent, int64_t number) {
  char label[16];
  snprintf(label, sizeof label, "waiter %d", (int)number);
  hear(parent);
  belay_client* client = CLIENT(.url = server->url, .label = label);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  hear(parent);
  belay_client_free(client);
}

static void test_inspect(Server* server) {
  enum { kWaiters = 3 };

  const int64_t lease = 50000;
  Child children[kWaiters];
  for (int i = 0; i < kWaiters; ++i) {
    children[i] = child_start(server, wait_with_label, i);
  }
  belay_client* client =
      CLIENT(.url = server->url, .label = "the holder", .watchdog_lease_ms = lease);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  for (int i = 0; i < kWaiters; ++i) {
    say(&children[i].line, 0);
    EVENTUALLY(waiters_of(client, "a") == i + 1);
  }
  char host[128] = "";
  gethostname(host, sizeof host - 1);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  CHECK_INT(1 + kWaiters, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_INT(1 + kWaiters, belay_event_int(event, BELAY_FIELD_TOTAL));
  CHECK_INT(BELAY_ROLE_HOLDER, number_of(event, 0, BELAY_MEMBER_ROLE));
  CHECK_TEXT("the holder", text_of(event, 0, BELAY_MEMBER_LABEL));
  CHECK_INT(getpid(), number_of(event, 0, BELAY_MEMBER_PID));
  CHECK_INT(belay_hold_fence(client, hold, 0), number_of(event, 0, BELAY_MEMBER_FENCE));
  CHECK(number_of(event, 0, BELAY_MEMBER_LEASE_MS) > 0);
  CHECK(number_of(event, 0, BELAY_MEMBER_LEASE_MS) <= lease);
  CHECK(number_of(event, 0, BELAY_MEMBER_SINCE_MS) >= 0);
  CHECK_INT(1, number_of(event, 0, BELAY_MEMBER_HOLDS));
  for (int i = 0; i < kWaiters; ++i) {
    char label[16];
    snprintf(label, sizeof label, "waiter %d", i);
    CHECK_INT(BELAY_ROLE_WAITER, number_of(event, i + 1, BELAY_MEMBER_ROLE));
    CHECK_TEXT(label, text_of(event, i + 1, BELAY_MEMBER_LABEL));
    CHECK_TEXT(host, text_of(event, i + 1, BELAY_MEMBER_HOST));
    CHECK_INT(children[i].pid, number_of(event, i + 1, BELAY_MEMBER_PID));
    CHECK(strlen(text_of(event, i + 1, BELAY_MEMBER_CLIENT)) > 0);
    CHECK_INT(0, number_of(event, i + 1, BELAY_MEMBER_FENCE));
  }
  belay_event_free(event);
  for (int i = 0; i < kWaiters; ++i) {
    say(&children[i].line, 0);
    child_end(&children[i]);
  }
  belay_client_free(client);
}

static bool tells_of(belay_client* client, const char* name, int64_t holds, int64_t waiters) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, name, -1, &event));
  const bool told = number_of(event, 0, BELAY_MEMBER_HOLDS) == holds &&
                    number_of(event, 0, BELAY_MEMBER_LOCAL_WAITERS) == waiters;
  belay_event_free(event);
  return told;
}

static void test_inspect_local(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(3000));
  const RequestSetup again = {.name = "a", .owner = 7};
  GRANTED(acquire_as(client, 0, &again));
  GRANTED(acquire_as(client, 0, &again));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(tells_of(client, "a", 2, 1));  // by the next renewal
  belay_client_free(client);
}

static void test_inspect_ids(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  GRANTED(belay_lock(one, "a", -1, 0, NULL));
  GRANTED(belay_lock(one, "b", -1, 0, NULL));
  GRANTED(belay_lock(two, "c", -1, 0, NULL));
  char ids[3][64];
  const char* const names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) {
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_OK, belay_inspect(two, names[i], -1, &event));
    snprintf(ids[i], sizeof ids[i], "%s", text_of(event, 0, BELAY_MEMBER_CLIENT));
    belay_event_free(event);
  }
  CHECK(strcmp(ids[0], ids[1]) == 0);
  CHECK(strcmp(ids[0], ids[2]) != 0);
  belay_client_free(one);
  belay_client_free(two);
}

// What inspect says that a name is in use for, in one number; a semaphore's limit and free permits.
static int64_t use_of(belay_client* client, const char* name) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, name, -1, &event));
  const int64_t use = belay_event_int(event, BELAY_FIELD_PRIMITIVE) * 100 +
                      belay_event_int(event, BELAY_FIELD_LIMIT) * 10 +
                      belay_event_int(event, BELAY_FIELD_AVAILABLE);
  belay_event_free(event);
  return use;
}

static void test_inspect_kinds(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_INT(0, use_of(client, "a"));
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_INT(BELAY_LOCK * 100, use_of(client, "a"));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(0, use_of(client, "a"));
  const int64_t reader = GRANTED(ACQUIRE(client, 0, .name = "r", .shared = true));
  CHECK_INT(BELAY_LOCK * 100, use_of(client, "r"));
  CHECK_STATUS(BELAY_OK, belay_release(client, reader));
  CHECK_INT(0, use_of(client, "r"));
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(client, "s", -1, 5, NULL));
  CHECK_INT(BELAY_SEMAPHORE * 100 + 55, use_of(client, "s"));
  GRANTED(ACQUIRE(client, 0, .name = "s", .primitive = BELAY_SEMAPHORE, .permits = 2));
  CHECK_INT(BELAY_SEMAPHORE * 100 + 53, use_of(client, "s"));
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(client, "s", -1, 1, NULL));
  CHECK_INT(BELAY_SEMAPHORE * 100 + 10, use_of(client, "s"));
  CHECK_INT(1, belay_latch_set(client, "l", -1, 1, 0, NULL) > 0);
  CHECK_INT(BELAY_LATCH * 100, use_of(client, "l"));
  CHECK_INT(0, belay_latch_count_down(client, "l", -1, 1, NULL));
  CHECK_INT(BELAY_LATCH * 100, use_of(client, "l"));
  CHECK_STATUS(BELAY_OK, belay_break(client, "l", -1, 0, NULL));
  EVENTUALLY(use_of(client, "l") == 0);
  belay_client_free(client);
}

// Of what has ended on the server, and what nobody has removed there yet.
static void test_inspect_ended(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const RequestSetup permits = {.name = "s",
                                .primitive = BELAY_SEMAPHORE,
                                .permits = 2,
                                .limit = 3,
                                .lease_ms = scaled(1000)};
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, GRANTED(acquire_as(client, 0, &permits))));
  CHECK_INT(BELAY_SEMAPHORE * 100 + 31, use_of(other, "s"));
  EVENTUALLY(use_of(other, "s") == BELAY_SEMAPHORE * 100 + 33);
  const RequestSetup delayed = {.name = "a", .lease_ms = scaled(300), .lock_delay_ms = 60000};
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, GRANTED(acquire_as(client, 0, &delayed))));
  EVENTUALLY(holders_of(other, "a") == 0);
  CHECK_INT(BELAY_LOCK * 100, use_of(other, "a"));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  server_ask(server, "DEL", "belay:r:{a}", NULL);
  CHECK_INT(BELAY_LOCK * 100, use_of(client, "a"));
  belay_client_free(client);
  belay_client_free(other);
}

// ---- Break

static void test_break(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .label = "old holder");
  belay_client* waiter = CLIENT(.url = server->url);
  belay_client* breaker = CLIENT(.url = server->url, .label = "operator");
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(breaker, "a") == 1);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(breaker, "a", -1, 0, &event));
  CHECK_INT(BELAY_EVENT_BROKEN, belay_event_kind(event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_TEXT("old holder", text_of(event, 0, BELAY_MEMBER_LABEL));
  CHECK_INT(belay_hold_fence(holder, hold, 0), number_of(event, 0, BELAY_MEMBER_FENCE));
  belay_event_free(event);
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_event* lost = EVENT(holder, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_INT(hold, belay_event_hold(lost));
  CHECK_TEXT("operator", belay_event_message(lost));
  belay_event_free(lost);
  CHECK_STATUS(BELAY_LOST, belay_release(holder, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(waiter, next, NULL));
  belay_client_free(holder);
  belay_client_free(waiter);
  belay_client_free(breaker);
}

static void test_break_with_a_fence(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* breaker = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(breaker, "a", -1, fence - 1, &event));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(breaker, "a", -1, fence, &event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  EVENTUALLY(belay_hold_state(holder, hold) == BELAY_HOLD_LOST);
  const int64_t next = GRANTED(belay_lock(breaker, "a", -1, 0, NULL));
  CHECK(belay_hold_fence(breaker, next, 0) > fence);
  belay_client_free(holder);
  belay_client_free(breaker);
}

static void test_break_nobody(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, &event));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_break_of_own_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, NULL));
  const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(client, next, NULL));
  belay_client_free(client);
}

// ---- Names

static void test_six_names(Server* server) {
  const char* const names[] = {"a", "{a}", "a}b", "}x", "{}x", "{x"};

  enum { kNames = 6 };

  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  int64_t holds[kNames];
  for (int i = 0; i < kNames; ++i) {
    holds[i] = GRANTED(belay_lock(client, names[i], -1, 0, NULL));
  }
  for (int i = 0; i < kNames; ++i) {
    REFUSED(BELAY_BUSY, belay_lock(other, names[i], -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, belay_verify(client, holds[i], NULL));
  }
  for (int i = 0; i < kNames; ++i) {
    CHECK_STATUS(BELAY_OK, belay_release(client, holds[i]));
    GRANTED(belay_lock(other, names[i], -1, 0, NULL));
  }
  belay_client_free(client);
  belay_client_free(other);
}

// Acquires in one client, is told BUSY in the other, sees it by inspect and finds it by list.
static void check_name(belay_client* client, belay_client* other, const char* name, int64_t size) {
  const int64_t hold = GRANTED(belay_lock(client, name, size, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(other, name, size, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(other, name, size, &event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_list(other, "*", -1, 10, &event));
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  int64_t found_size = 0;
  const char* found = belay_event_member_text(event, 0, BELAY_MEMBER_NAME, &found_size);
  CHECK_INT(size, found_size);
  CHECK(memcmp(found, name, (size_t)size) == 0 && found[size] == '\0');
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
}

static void test_names_of_any_bytes(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  for (int byte = 0; byte < 256; ++byte) {
    const char name[] = {'x', (char)byte, 'y'};
    check_name(client, other, name + 1, 1);
    check_name(client, other, name, 3);
  }
  check_name(client, other, "line\nbreak\r\n", 12);
  check_name(client, other, "nul\0inside", 10);
  check_name(client, other, "%25%7D", 6);
  check_name(client, other, "\xf0\x9f\x94\x92", 4);
  char longest[1024];
  memset(longest, '}', sizeof longest);
  check_name(client, other, longest, sizeof longest);
  memset(longest, 0xff, sizeof longest);
  check_name(client, other, longest, sizeof longest);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_nul_tells_names_apart(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "a", 1, 0, NULL));
  GRANTED(belay_lock(client, "a\0", 2, 0, NULL));
  GRANTED(belay_lock(client, "a\0b", 3, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(client, "a\0b", -1, 0, NULL));
  belay_client_free(client);
}

static void test_escaped_and_plain(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "}", -1, 0, NULL));
  GRANTED(belay_lock(client, "%7D", -1, 0, NULL));
  GRANTED(belay_lock(client, "%", -1, 0, NULL));
  GRANTED(belay_lock(client, "%25", -1, 0, NULL));
  GRANTED(belay_lock(client, "%257D", -1, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10, &event));
  CHECK_INT(5, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  belay_client_free(client);
}

// ---- List

static void check_list(belay_client* client, const char* pattern, const char* expected) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, pattern, -1, 100, &event));
  CHECK_INT(BELAY_EVENT_LISTED, belay_event_kind(event));
  char found[256] = "";
  for (int32_t i = 0; i < belay_event_int(event, BELAY_FIELD_MEMBERS); ++i) {
    CHECK_INT(BELAY_ROLE_NAME, number_of(event, i, BELAY_MEMBER_ROLE));
    strcat(strcat(found, i > 0 ? " " : ""), text_of(event, i, BELAY_MEMBER_NAME));
  }
  if (strcmp(found, expected) != 0) {
    FAIL("%s listed '%s', not '%s'", pattern, found, expected);
  }
  belay_event_free(event);
}

static void test_list(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  check_list(client, "*", "");
  const char* const names[] = {"orders:1", "orders:2", "orders:30", "stock:1", "st*r"};
  for (int i = 0; i < 5; ++i) {
    GRANTED(belay_lock(client, names[i], -1, 0, NULL));
  }
  server_ask(server, "SET", "orders:99", "x", NULL);
  check_list(client, "*", "orders:1 orders:2 orders:30 st*r stock:1");
  check_list(client, "orders:*", "orders:1 orders:2 orders:30");
  check_list(client, "orders:?", "orders:1 orders:2");
  check_list(client, "orders:[2-9]*", "orders:2 orders:30");
  check_list(client, "st\\*r", "st*r");
  check_list(client, "stock:1", "stock:1");
  check_list(client, "none*", "");
  belay_client_free(client);
}

static void test_list_limit(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < 3000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    CHECK_STATUS(BELAY_OK, SUBMIT(client, i + 1, 0, .name = name));
  }
  for (int i = 0; i < 3000; ++i) {
    belay_event* granted = belay_next(client, scaled(kLimitMs));
    CHECK_STATUS(BELAY_OK, belay_event_status(granted));
    belay_event_free(granted);
  }
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, "n*", -1, 7, &event));
  CHECK_INT(7, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK(belay_event_int(event, BELAY_FIELD_TOTAL) > 7);
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_list(client, "n*", -1, 1000000, &event));
  CHECK_INT(3000, belay_event_int(event, BELAY_FIELD_MEMBERS));
  CHECK_INT(3000, belay_event_int(event, BELAY_FIELD_TOTAL));
  belay_event_free(event);
  belay_client_free(client);
}

// ---- Where a lock lives

static void test_prefixes_are_apart(Server* server) {
  belay_client* one = CLIENT(.url = server->url, .prefix = "one:");
  belay_client* two = CLIENT(.url = server->url, .prefix = "*wo?[:");
  GRANTED(belay_lock(one, "a", -1, 0, NULL));
  GRANTED(belay_lock(two, "a", -1, 0, NULL));
  GRANTED(belay_lock(two, "b", -1, 0, NULL));
  check_list(one, "*", "a");
  check_list(two, "*", "a b");
  belay_client_free(one);
  belay_client_free(two);
}

static void test_databases_are_apart(Server* server) {
  char url[300];
  char unix_url[160];
  snprintf(url, sizeof url, "%s/1", server->url);
  snprintf(unix_url, sizeof unix_url, "%s?db=1", server->unix_url);
  belay_client* zero = CLIENT(.url = server->url);
  belay_client* one = CLIENT(.url = url);
  belay_client* also_one = CLIENT(.url = unix_url);
  GRANTED(belay_lock(zero, "a", -1, 0, NULL));
  GRANTED(belay_lock(one, "a", -1, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(also_one, "a", -1, 0, NULL));
  check_list(also_one, "*", "a");
  belay_client_free(zero);
  belay_client_free(one);
  belay_client_free(also_one);
}

static void test_ping(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, &event));
  CHECK_INT(BELAY_EVENT_PINGED, belay_event_kind(event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
}

const Test query_tests[] = {
    {"Verify says OK while a hold is ours and LOST once its record is gone", test_verify},
    {"Inspect of a name that nobody uses lists nobody", test_inspect_nobody},
    {"Inspect lists the holder, then the waiters in order, and who they are", test_inspect},
    {"Inspect counts the holds and the waiters in the holder's client", test_inspect_local},
    {"Inspect tells clients apart by their ids", test_inspect_ids},
    {"Inspect tells lock, semaphore and latch apart, with limit and free permits",
     test_inspect_kinds},
    {"Inspect tells what a name is whose holders have ended", test_inspect_ended},
    {"Break gives the lock to the first waiter and tells the holder who did it", test_break},
    {"Break with a fence parts that holder only", test_break_with_a_fence},
    {"Break of a lock that nobody holds does nothing", test_break_nobody},
    {"Break of one's own hold loses it, and the next local owner gets the lock",
     test_break_of_own_hold},
    {"Six names that could be confused are six locks", test_six_names},
    {"Names are any bytes, and list gives them back", test_names_of_any_bytes},
    {"Names that differ beyond a NUL are different locks", test_nul_tells_names_apart},
    {"Names that look escaped are different locks", test_escaped_and_plain},
    {"List finds names by pattern", test_list},
    {"List cuts at its limit and says that there were more", test_list_limit},
    {"Clients with different prefixes do not see each other", test_prefixes_are_apart},
    {"Clients of different databases do not exclude each other", test_databases_are_apart},
    {"Ping says that the server answers", test_ping},
    {NULL, NULL}};
