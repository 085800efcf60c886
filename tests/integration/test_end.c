// The end of a client: what holds, calls and loops learn of it. And how many events may wait.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kPumps = 4, kNames = 3 };

static void check_lost(belay_event* event, int64_t hold) {
  CHECK_INT(hold, belay_event_hold(event));
  CHECK_INT(BELAY_REASON_CLOSED, belay_event_int(event, BELAY_FIELD_REASON));
  CHECK_TEXT("shut down", belay_event_message(event));
  belay_event_free(event);
}

static void test_holds_are_lost_first(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t told = GRANTED(ACQUIRE(client, 0, .name = "a", .notify = 1));
  const int64_t untold = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  const int64_t dropped = GRANTED(belay_lock(client, "c", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  CHECK_STATUS(BELAY_CLOSED, belay_submit_release(client, 1, dropped));
  CHECK_STATUS(BELAY_LOST, belay_release_nowait(client, dropped));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, told));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, untold));
  CHECK_INT(0, belay_hold_remaining_ms(client, told));
  CHECK(belay_hold_fence(client, told, 0) > 0);
  check_lost(EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST), told);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK(!is_held(other, "a") && !is_held(other, "b"));
  CHECK_STATUS(BELAY_LOST, belay_release(client, told));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, told));
  belay_event* event = belay_release_within(client, 1, untold, 0);
  CHECK_STATUS(BELAY_LOST, belay_event_status(event));
  check_lost(event, untold);
  CHECK_STATUS(BELAY_CLOSED, belay_submit_release(client, 1, untold));
  CHECK_STATUS(BELAY_CLOSED, belay_verify(client, untold, NULL));
  CHECK_STATUS(BELAY_CLOSED, belay_extend(client, untold, 1000, NULL));
  CHECK_STATUS(BELAY_CLOSED, belay_downgrade(client, untold, NULL));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_several_names_are_lost_as_one(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  belay_request* request = belay_request_new(BELAY_LOCK);
  const char* const names[kNames] = {"a", "b", "c"};
  for (int i = 0; i < kNames; ++i) {
    CHECK_STATUS(BELAY_OK, belay_request_add_name(request, names[i], -1));
  }
  CHECK_STATUS(BELAY_OK, belay_request_set_notify(request, 1));
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  check_lost(EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST), hold);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  for (int i = 0; i < kNames; ++i) {
    CHECK(!is_held(other, names[i]));
  }
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  belay_request_free(request);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_an_abandoned_hold_is_unknown(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .notify = 1));
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, hold));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(client, hold));
  belay_client_free(client);
}

static void* pump(void* client) {
  belay_event* event = belay_next(client, -1);
  CHECK_INT(BELAY_EVENT_END, belay_event_kind(event));
  CHECK_STATUS(BELAY_CLOSED, belay_event_status(event));
  belay_event_free(event);
  return NULL;
}

static void check_every_pump_ends(belay_client* client, void (*end)(belay_client*)) {
  pthread_t pumps[kPumps];
  for (int i = 0; i < kPumps; ++i) {
    CHECK(pthread_create(&pumps[i], NULL, pump, client) == 0);
  }
  end(client);
  for (int i = 0; i < kPumps; ++i) {
    CHECK(pthread_join(pumps[i], NULL) == 0);
  }
}

static void shut_down(belay_client* client) {
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
}

static void test_every_pump_ends(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  check_every_pump_ends(client, shut_down);
  for (int i = 0; i < 3; ++i) {  // and so does every later call
    TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  }
  belay_client_free(client);
}

static void test_undelivered_count_against_the_limit(Server* server) {
  enum { kLimit = 10 };

  belay_client* client = CLIENT(.url = server->url, .max_pending = kLimit);
  int64_t tag = 0;
  while (belay_submit_ping(client, tag + 1) == BELAY_OK) {
    ++tag;
    CHECK(tag <= kLimit);
  }
  CHECK_INT(kLimit, tag);
  // Also when all have been answered, and those that were wrong.
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, belay_submit_ping(client, 100));
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  TAKE(client, BELAY_EVENT_PINGED, 2, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_submit_extend(client, 11, 5, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 12));
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, belay_submit_ping(client, 13));
  for (int taken = 0; taken < kLimit; ++taken) {
    belay_event* event = belay_next(client, -1);
    CHECK(event != NULL);
    belay_event_free(event);
  }
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
}

static void* wait_for_a(void* client) {
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "a", -1, -1, NULL))));
  return NULL;
}

// Neither do they count, nor does what counts refuse them.
static void test_blocking_calls_have_no_limit(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url, .max_pending = 2);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  pthread_t threads[kPumps];
  for (int i = 0; i < kPumps; ++i) {
    CHECK(pthread_create(&threads[i], NULL, wait_for_a, client) == 0);
  }
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 2));
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, belay_submit_ping(client, 3));
  const int64_t own = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_verify(client, own, NULL));
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "b", -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_OK, belay_downgrade(client, own, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  for (int i = 0; i < kPumps; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 3));
  belay_client_free(client);
  belay_client_free(holder);
}

static void test_a_tag_is_free_with_its_event(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < 2; ++i) {  // a wrong one ends at once
    CHECK_STATUS(BELAY_OK, belay_submit_extend(client, 1, 0, 1));
    CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, 1));
  }
  TAKE(client, BELAY_EVENT_EXTENDED, 1, BELAY_INVALID_ARGUMENT);
  TAKE(client, BELAY_EVENT_EXTENDED, 1, BELAY_INVALID_ARGUMENT);
  belay_client_free(client);
}

// Whatever bytes a name has.
static void test_messages_are_text(Server* server) {
  const struct {
    const char* name;
    int64_t size;
    const char* shown;
  } names[] = {{"a\xff\xfe"
                "b",
                -1, "'a\\xff\\xfeb'"},
               {"caf\xc3\xa9 \xf0\x9f\x94\x92", -1, "'caf\xc3\xa9 \xf0\x9f\x94\x92'"},
               {"cut \xf0\x9f\x94", -1, "'cut \\xf0\\x9f\\x94'"},
               {"\xed\xa0\x80", -1, "'\\xed\\xa0\\x80'"},
               {"\xc0\x80", -1, "'\\xc0\\x80'"},
               {"a\0b", 3, "'a\\x00b'"}};

  belay_client* client = CLIENT(.url = server->url);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const int64_t hold =
        GRANTED(ACQUIRE(client, 0, .name = names[i].name, .name_size = names[i].size, .notify = 1));
    CHECK_STATUS(BELAY_OK, belay_break(client, names[i].name, names[i].size, 0, NULL));
    belay_event* event = EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
    CHECK_TEXT(names[i].shown, belay_event_message(event));
    belay_event_free(event);
    CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  }
  belay_client_free(client);
}

static int64_t reason_of(belay_client* client, int64_t hold) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_LOST, belay_verify(client, hold, &event));
  const int64_t reason = belay_event_int(event, BELAY_FIELD_REASON);
  belay_event_free(event);
  event = EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_INT(reason, belay_event_int(event, BELAY_FIELD_REASON));
  belay_event_free(event);
  return reason;
}

static void test_reasons(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(3000));
  belay_client* other = CLIENT(.url = server->url);
  int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = scaled(300), .notify = 1));
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_REASON_LEASE_ENDED, reason_of(client, hold));
  hold = GRANTED(ACQUIRE(client, 0, .name = "b", .notify = 1));
  CHECK_STATUS(BELAY_OK, belay_break(other, "b", -1, 0, NULL));
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_REASON_BROKEN, reason_of(client, hold));
  hold = GRANTED(ACQUIRE(client, 0, .name = "c", .notify = 1));
  CHECK_TEXT("OK", server_ask(server, "FLUSHALL", NULL));
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_REASON_GONE, reason_of(client, hold));
  hold = GRANTED(ACQUIRE(client, 0, .name = "d", .max_hold_ms = scaled(300), .notify = 1));
  belay_event* risk = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_INT(BELAY_REASON_MAX_HOLD, belay_event_int(risk, BELAY_FIELD_REASON));
  belay_event_free(risk);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_REASON_MAX_HOLD, reason_of(client, hold));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_not_renewed(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(1000));
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .notify = 1));
  server_pause(server);
  belay_event* event = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_INT(BELAY_REASON_NOT_RENEWED, belay_event_int(event, BELAY_FIELD_REASON));
  belay_event_free(event);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(BELAY_REASON_NOT_RENEWED, reason_of(client, hold));
  server_continue(server);
  belay_client_free(client);
}

static void test_numbers_at_once(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 7, 0, .name = "a"));
  belay_event* event = EVENT(client, BELAY_EVENT_ACQUIRED, 7, BELAY_OK);
  int64_t values[64];
  memset(values, 0x5A, sizeof values);
  const int32_t known = belay_event_read(event, values, 63);
  CHECK(known > BELAY_FIELD_TOTAL);
  for (int32_t field = 0; field < 63; ++field) {
    CHECK_INT(belay_event_int(event, field), values[field]);
  }
  CHECK_INT(belay_event_fence(event, 0), values[BELAY_FIELD_FENCE]);
  CHECK_INT(1, values[BELAY_FIELD_PERMITS]);
  CHECK_INT(INT64_C(0x5A5A5A5A5A5A5A5A), values[63]);
  CHECK_INT(known, belay_event_read(event, NULL, 10));
  CHECK_INT(known, belay_event_read(event, values, -1));
  CHECK_INT(known, belay_event_read(NULL, values, 3));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, (int32_t)values[BELAY_FIELD_STATUS]);
  belay_event_free(event);
  belay_client_free(client);
}

static void test_holds_of_an_owner(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_INT(0, belay_owner_holds(client, 7, "a", -1));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_owner_hold(client, 7, "a", -1, 0));
  const int64_t first = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  const int64_t second = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 7));
  CHECK_INT(2, belay_owner_holds(client, 7, "a", -1));
  CHECK_INT(first, belay_owner_hold(client, 7, "a", -1, 0));
  CHECK_INT(second, belay_owner_hold(client, 7, "a", -1, 1));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_owner_hold(client, 7, "a", -1, 2));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_owner_hold(client, 7, "a", -1, -1));
  CHECK_INT(0, belay_owner_holds(client, 8, "a", -1));
  CHECK_INT(0, belay_owner_holds(client, 7, "b", -1));
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_owner_holds(client, -1, "a", -1));
  CHECK_INT(-BELAY_INVALID_ARGUMENT, belay_owner_holds(client, 7, "", -1));
  CHECK_STATUS(BELAY_OK, belay_release(client, first));
  CHECK_INT(second, belay_owner_hold(client, 7, "a", -1, 0));
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, NULL));
  EVENTUALLY(belay_owner_holds(client, 7, "a", -1) == 0);
  belay_client_free(client);
}

static void test_holds_of_an_owner_of_several(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = REQUEST(.name = "a");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "b", -1));
  const int64_t hold = GRANTED(belay_acquire(client, request, 7, 0, NULL));
  CHECK_INT(hold, belay_owner_hold(client, 7, "a", -1, 0));
  CHECK_INT(hold, belay_owner_hold(client, 7, "b", -1, 0));
  CHECK_INT(1, belay_owner_holds(client, 7, "b", -1));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(0, belay_owner_holds(client, 7, "b", -1));
  belay_request_free(request);
  belay_client_free(client);
}

static void test_own_id(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_INT(22, strlen(belay_client_id(client)));
  CHECK_INT(0, strlen(belay_client_id(NULL)));
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  CHECK_TEXT(belay_client_id(client), belay_event_member_text(event, 0, BELAY_MEMBER_CLIENT, NULL));
  belay_event_free(event);
  belay_client_free(client);
}

// What is set stands, whatever the environment says.
static void test_environment_is_a_default(Server* server) {
  CHECK(setenv("BELAY_URL", "http://nowhere", 1) == 0 && setenv("BELAY_LOG", "loud", 1) == 0);
  belay_options* options = belay_options_new();
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("BELAY_URL", belay_options_error(options));
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("BELAY_LOG was 'loud'", belay_options_error(options));
  CHECK_STATUS(BELAY_OK, belay_options_set_log_level(options, BELAY_LOG_NONE));
  CHECK_INT(0, strlen(belay_options_error(options)));
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
  belay_options_free(options);
}

const Test end_tests[] = {
    {"A shutdown declares every hold lost before it releases it", test_holds_are_lost_first},
    {"A shutdown declares several names lost as one", test_several_names_are_lost_as_one},
    {"A shutdown tells nothing of what was abandoned", test_an_abandoned_hold_is_unknown},
    {"Every loop over events learns of the end, again and again", test_every_pump_ends},
    {"Events that nobody has taken count against the limit of submissions",
     test_undelivered_count_against_the_limit},
    {"Blocking calls have no limit but their threads", test_blocking_calls_have_no_limit},
    {"A tag is free once its event waits to be taken", test_a_tag_is_free_with_its_event},
    {"Messages are UTF-8, whatever bytes a name has", test_messages_are_text},
    {"A loss says why, as a number", test_reasons},
    {"A loss for want of renewals says so, as a number", test_not_renewed},
    {"All numbers of an event are read at once", test_numbers_at_once},
    {"An owner's holds of a name can be asked for", test_holds_of_an_owner},
    {"An owner's hold of several names is one of each", test_holds_of_an_owner_of_several},
    {"A client knows the id that others see", test_own_id},
    {"A bad environment harms nobody who sets the options", test_environment_is_a_default},
    {NULL, NULL}};
