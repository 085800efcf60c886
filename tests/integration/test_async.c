// Submissions and events: exactly one event for each that was accepted, none for a refused one.
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

static const int64_t kLargestTag = ((int64_t)1 << 53) - 1;

static bool is_readable(belay_client* client) {
  struct pollfd fd = {.fd = (int)belay_client_fd(client), .events = POLLIN};
  return poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0;
}

static void test_every_kind(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, kLargestTag, 0, .name = "a", .lease_ms = 60000));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, kLargestTag, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_submit_verify(client, 2, hold));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_VERIFIED, 2, BELAY_OK));
  CHECK_STATUS(BELAY_OK, belay_submit_extend(client, 3, hold, 90000));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_EXTENDED, 3, BELAY_OK));
  CHECK(belay_hold_remaining_ms(client, hold) > 60000);
  CHECK_STATUS(BELAY_OK, belay_submit_inspect(client, 4, "a", 1));
  belay_event* event = EVENT(client, BELAY_EVENT_INSPECTED, 4, BELAY_OK);
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_submit_list(client, 5, "*", -1, 10));
  event = EVENT(client, BELAY_EVENT_LISTED, 5, BELAY_OK);
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 6));
  TAKE(client, BELAY_EVENT_PINGED, 6, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_submit_release(client, 7, hold));
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_RELEASED, 7, BELAY_OK));
  CHECK_STATUS(BELAY_OK, belay_submit_break(client, 8, "a", -1, 0));
  event = EVENT(client, BELAY_EVENT_BROKEN, 8, BELAY_OK);
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_MEMBERS));
  belay_event_free(event);
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(client);
}

static void test_outcomes_of_an_acquire(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  CHECK_INT(0, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_BUSY));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 2, 30, .name = "a"));
  CHECK_INT(0, TAKE(client, BELAY_EVENT_ACQUIRED, 2, BELAY_TIMEOUT));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 3, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 3));
  CHECK_INT(0, TAKE(client, BELAY_EVENT_ACQUIRED, 3, BELAY_CANCELLED));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 4, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  CHECK_INT(0, TAKE(client, BELAY_EVENT_ACQUIRED, 4, BELAY_CLOSED));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  belay_client_free(holder);
  belay_client_free(client);
}

static void test_refused_submissions(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = REQUEST(.name = "a");
  belay_request* nameless = belay_request_new(BELAY_LOCK);
  const int64_t bad_tags[] = {0, -1, kLargestTag + 1, INT64_MIN, INT64_MAX};
  for (int i = 0; i < 5; ++i) {
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_submit_acquire(client, bad_tags[i], request, 0, 0));
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_submit_ping(client, bad_tags[i]));
    CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, bad_tags[i]));
  }
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  TOLD(client, wrong, "wait_ms was -2", belay_submit_acquire(client, 1, request, 0, -2));
  TOLD(client, wrong, "owner was -1", belay_submit_acquire(client, 1, request, -1, 0));
  TOLD(client, wrong, "9007199254740992",
       belay_submit_acquire(client, 1, request, kLargestTag + 1, 0));
  TOLD(client, wrong, "no name", belay_submit_acquire(client, 1, nameless, 0, 0));
  TOLD(client, BELAY_UNKNOWN_HOLD, "hold 5", belay_submit_release(client, 1, 5));
  TOLD(client, BELAY_UNKNOWN_HOLD, "", belay_submit_verify(client, 1, 5));
  TOLD(client, BELAY_UNKNOWN_HOLD, "", belay_submit_extend(client, 1, 5, 1000));
  CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  CHECK(belay_next(client, 0) == NULL);
  belay_request_free(request);
  belay_request_free(nameless);
  belay_client_free(client);
}

// A pump that goes on calling learns at once that nothing will come, and why.
static void test_next_misused_ends(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  event_end(EVENT(NULL, BELAY_EVENT_END, 0, BELAY_INVALID_ARGUMENT));
  belay_event* end = belay_next(client, -2);
  CHECK_INT(BELAY_EVENT_END, belay_event_kind(end));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_event_status(end));
  CHECK_TEXT("timeout_ms was -2", belay_event_message(end));
  belay_event_free(end);
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_tag_in_use(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(other, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_TAG_IN_USE, SUBMIT(client, 1, -1, .name = "b"));
  CHECK_STATUS(BELAY_TAG_IN_USE, belay_submit_ping(client, 1));
  CHECK_STATUS(BELAY_OK, belay_release(other, hold));
  const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_submit_release(client, 1, next));
  TAKE(client, BELAY_EVENT_RELEASED, 1, BELAY_OK);
  belay_client_free(client);
  belay_client_free(other);
}

// ---- Cancel

static void test_cancel(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  CHECK_INT(0, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED));
  CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, 1));
  EVENTUALLY(waiters_of(holder, "a") == 0);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  CHECK(!is_held(holder, "a"));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(holder);
  belay_client_free(client);
}

static void check_cancelled(belay_client* client, const char* message) {
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  belay_event* event = EVENT(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK_TEXT(message, belay_event_message(event));
  CHECK(message[0] != 0 || belay_event_message(event)[0] == 0);
  belay_event_free(event);
}

static void test_cancel_says_what_was_in_the_way(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));  // has read the answer before this one
  check_cancelled(client, "");
  server_pause(server);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "b"));
  check_cancelled(client, "no answer yet");
  server_continue(server);
  belay_client_free(holder);
  belay_client_free(client);
  client = CLIENT(.url = "unix:///no-such-socket", .request_timeout_ms = 100);
  REFUSED(BELAY_UNAVAILABLE, belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  check_cancelled(client, "no such file or directory");
  belay_client_free(client);
}

static void test_cancel_of_one_of_several(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int64_t tag = 1; tag <= 3; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a"));
  }
  EVENTUALLY(waiters_of(holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t second = TAKE(client, BELAY_EVENT_ACQUIRED, 2, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 3));
  TAKE(client, BELAY_EVENT_ACQUIRED, 3, BELAY_CANCELLED);
  CHECK_STATUS(BELAY_OK, belay_release(client, second));
  CHECK(!is_held(holder, "a"));
  belay_client_free(holder);
  belay_client_free(client);
}

static void* wait_for_a(void* client) {
  static int64_t hold;
  hold = belay_lock(client, "a", -1, -1, NULL);
  return &hold;
}

// Blocking calls, and the names of an acquire of several, have tags that nobody may give: they
// cancel nothing.
static void test_cancel_of_what_is_no_tag(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, -1, NULL));
  pthread_t waiter;
  CHECK_INT(0, pthread_create(&waiter, NULL, wait_for_a, client));
  const char* const names[] = {"b", "a"};
  belay_request* several = belay_request_new(BELAY_LOCK);
  for (int i = 0; i < 2; ++i) {
    CHECK_STATUS(BELAY_OK, belay_request_add_name(several, names[i], -1));
  }
  EVENTUALLY(waiters_of(holder, "a") == 1);  // who comes first has it first
  CHECK_STATUS(BELAY_OK, belay_submit_acquire(client, 1, several, 0, -1));
  for (int64_t i = 1; i <= 1000; ++i) {
    CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, -i));
    CHECK_STATUS(BELAY_UNKNOWN_TAG, belay_cancel(client, kLargestTag + i));
  }
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  void* got = NULL;
  CHECK_INT(0, pthread_join(waiter, &got));
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(*(int64_t*)got)));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_request_free(several);
  belay_client_free(client);
  belay_client_free(holder);
}

// Whatever the moment at which a cancel arrives, the lock is free in the end.
static void test_cancel_races_with_the_grant(Server* server) {
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  for (int round = 0; round < 200; ++round) {
    const int64_t hold = GRANTED(belay_lock(holder, "a", -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
    if (round % 2 == 0) {
      EVENTUALLY(waiters_of(holder, "a") == 1);
    }
    CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
    for (volatile int spin = 0; spin < round * 500; ++spin) {
    }
    const int32_t answer = belay_cancel(client, 1);
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK_INT(1, belay_event_tag(event));
    if (belay_event_status(event) == BELAY_OK) {
      CHECK_STATUS(BELAY_UNKNOWN_TAG, answer);
      CHECK_STATUS(BELAY_OK, belay_release(client, belay_event_hold(event)));
    } else {
      CHECK_STATUS(BELAY_OK, answer);
      CHECK_STATUS(BELAY_CANCELLED, belay_event_status(event));
      CHECK_INT(0, belay_event_hold(event));
    }
    belay_event_free(event);
    CHECK(belay_next(client, 0) == NULL);
  }
  belay_client_free(holder);
  belay_client_free(client);
}

static void test_cancel_of_a_release(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_pause(server);
  CHECK_STATUS(BELAY_OK, belay_submit_release(client, 1, hold));
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  belay_event* event = EVENT(client, BELAY_EVENT_RELEASED, 1, BELAY_CANCELLED);
  CHECK(belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS) > kLongLeaseMs / 2);
  belay_event_free(event);
  server_continue(server);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK(!is_held(client, "a"));
  belay_client_free(client);
}

static void test_cancel_of_queries(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_pause(server);
  CHECK_STATUS(BELAY_OK, belay_submit_verify(client, 1, hold));
  CHECK_STATUS(BELAY_OK, belay_submit_inspect(client, 2, "a", -1));
  CHECK_STATUS(BELAY_OK, belay_submit_list(client, 3, "*", -1, 10));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 4));
  const int32_t kinds[] = {BELAY_EVENT_VERIFIED, BELAY_EVENT_INSPECTED, BELAY_EVENT_LISTED,
                           BELAY_EVENT_PINGED};
  for (int64_t tag = 1; tag <= 4; ++tag) {
    CHECK_STATUS(BELAY_OK, belay_cancel(client, tag));
    TAKE(client, kinds[tag - 1], tag, BELAY_CANCELLED);
  }
  server_continue(server);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// ---- Many

enum { kMany = 10000 };

static void test_ten_thousand(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* requests[100];
  for (int i = 0; i < 100; ++i) {
    const char name[] = {'n', (char)i};
    requests[i] = REQUEST(.name = name, .name_size = sizeof name);
  }
  for (int64_t tag = 1; tag <= kMany; ++tag) {
    CHECK_STATUS(BELAY_OK, belay_submit_acquire(client, tag, requests[tag % 100], 0, -1));
  }
  // Each grant is released by a submission of its own: twice as many events.
  unsigned char* seen = calloc(2 * kMany + 1, 1);
  for (int i = 0; i < 2 * kMany; ++i) {
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK(event != NULL);
    const int64_t tag = belay_event_tag(event);
    CHECK_STATUS(BELAY_OK, belay_event_status(event));
    CHECK_INT(0, seen[tag]++);
    CHECK_INT(tag <= kMany ? BELAY_EVENT_ACQUIRED : BELAY_EVENT_RELEASED, belay_event_kind(event));
    if (tag <= kMany) {
      CHECK_STATUS(BELAY_OK, belay_submit_release(client, kMany + tag, belay_event_hold(event)));
    }
    belay_event_free(event);
  }
  CHECK(belay_next(client, 0) == NULL);
  free(seen);
  for (int i = 0; i < 100; ++i) {
    belay_request_free(requests[i]);
  }
  belay_client_free(client);
}

static void test_ten_thousand_cancelled(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  belay_request* request = REQUEST(.name = "a");
  for (int64_t tag = 1; tag <= kMany; ++tag) {
    CHECK_STATUS(BELAY_OK, belay_submit_acquire(client, tag, request, 0, -1));
  }
  for (int64_t tag = kMany; tag >= 1; --tag) {
    CHECK_STATUS(BELAY_OK, belay_cancel(client, tag));
  }
  for (int64_t tag = kMany; tag >= 1; --tag) {
    TAKE(client, BELAY_EVENT_ACQUIRED, tag, BELAY_CANCELLED);
  }
  CHECK(belay_next(client, 0) == NULL);
  EVENTUALLY(waiters_of(holder, "a") == 0);
  belay_request_free(request);
  belay_client_free(holder);
  belay_client_free(client);
}

static void test_pending_limit(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url, .max_pending = 3);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int64_t tag = 1; tag <= 3; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a"));
  }
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, SUBMIT(client, 4, -1, .name = "a"));
  belay_request* request = REQUEST(.name = "b");
  belay_event* why = belay_acquire_within(client, 4, request, 0, 0, 0);
  CHECK_STATUS(BELAY_TOO_MANY_PENDING, belay_event_status(why));
  CHECK_TEXT("3", belay_event_message(why));
  belay_event_free(why);
  belay_request_free(request);
  const int64_t own = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, own));
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 2));
  TAKE(client, BELAY_EVENT_ACQUIRED, 2, BELAY_CANCELLED);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 4, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t tags[] = {1, 3, 4};
  for (int i = 0; i < 3; ++i) {
    const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, tags[i], BELAY_OK);
    CHECK_STATUS(BELAY_OK, belay_release(client, next));
  }
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(holder);
  belay_client_free(client);
}

// ---- The descriptor

static void test_fd(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK(!is_readable(client));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  EVENTUALLY(is_readable(client));
  STAYS(10, is_readable(client));
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  CHECK(!is_readable(client));
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(!is_readable(client));
  for (int64_t tag = 1; tag <= 3; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, 0, .name = "a"));
  }
  for (int64_t tag = 1; tag <= 3; ++tag) {
    EVENTUALLY(is_readable(client));
    TAKE(client, BELAY_EVENT_ACQUIRED, tag, BELAY_BUSY);
  }
  CHECK(!is_readable(client));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  EVENTUALLY(is_readable(client));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK(is_readable(client));  // so that every loop learns of it
  belay_client_free(client);
}

static void test_fd_asked_late(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 2));
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK(is_readable(client));
  CHECK_INT(belay_client_fd(client), belay_client_fd(client));
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  CHECK(is_readable(client));
  TAKE(client, BELAY_EVENT_PINGED, 2, BELAY_OK);
  CHECK(!is_readable(client));
  belay_client_free(client);
}

static void test_fd_wakes_poll(Server* server) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  struct pollfd fd = {.fd = (int)belay_client_fd(client), .events = POLLIN};
  for (int64_t tag = 1; tag <= 200; ++tag) {
    const int64_t hold = GRANTED(belay_lock(holder, "a", -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a"));
    CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
    CHECK_INT(1, poll(&fd, 1, (int)scaled(kLimitMs)));
    belay_event* event = belay_next(client, 0);
    CHECK(event != NULL);
    CHECK_STATUS(BELAY_OK, belay_release(client, event_end(event)));
  }
  belay_client_free(holder);
  belay_client_free(client);
}

// ---- Waiting for events

static void test_next_in_time(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK(belay_next(client, 0) == NULL);
  const int64_t start = now_ms();
  CHECK(belay_next(client, 50) == NULL);
  CHECK(now_ms() - start >= 50);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  belay_event* event = belay_next(client, INT64_MAX);
  CHECK_INT(1, belay_event_tag(event));
  belay_event_free(event);
  belay_client_free(client);
}

typedef struct Taker {
  belay_client* client;
  _Atomic(int64_t) taken;
  pthread_t thread;
} Taker;

static void* take_all(void* argument) {
  Taker* taker = argument;
  for (bool ended = false; !ended;) {
    belay_event* event = belay_next(taker->client, -1);
    ended = belay_event_kind(event) == BELAY_EVENT_END;
    if (belay_event_kind(event) == BELAY_EVENT_ACQUIRED) {
      CHECK_STATUS(BELAY_OK, belay_event_status(event));
      CHECK_STATUS(BELAY_OK, belay_submit_release(taker->client, kMany + belay_event_tag(event),
                                                  belay_event_hold(event)));
    }
    if (belay_event_kind(event) == BELAY_EVENT_RELEASED) {
      __atomic_add_fetch(&taker->taken, 1, __ATOMIC_RELAXED);
    }
    belay_event_free(event);
  }
  return NULL;
}

static void* submit_some(void* argument) {
  Taker* from = argument;
  for (int64_t i = 0; i < 500; ++i) {
    const int64_t tag = from->taken * 500 + i + 1;
    CHECK_STATUS(BELAY_OK, SUBMIT(from->client, tag, -1, .name = (i % 3) ? "a" : "b"));
  }
  return NULL;
}

static int64_t taken_by(Taker* takers, int count) {
  int64_t taken = 0;
  for (int i = 0; i < count; ++i) {
    taken += __atomic_load_n(&takers[i].taken, __ATOMIC_RELAXED);
  }
  return taken;
}

static void test_threads_submit_and_take(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  Taker takers[4];
  Taker submitters[4];
  for (int i = 0; i < 4; ++i) {
    takers[i] = (Taker){.client = client};
    submitters[i] = (Taker){.client = client, .taken = i};
    pthread_create(&takers[i].thread, NULL, take_all, &takers[i]);
    pthread_create(&submitters[i].thread, NULL, submit_some, &submitters[i]);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(submitters[i].thread, NULL);
  }
  EVENTUALLY(taken_by(takers, 4) == 2000);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  for (int i = 0; i < 4; ++i) {
    pthread_join(takers[i].thread, NULL);
  }
  belay_client_free(client);
}

// ---- The end of a client

static void test_shutdown(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(other, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CLOSED);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_CLOSED, belay_client_shutdown(client));
  CHECK_STATUS(BELAY_CLOSED, SUBMIT(client, 2, 0, .name = "b"));
  CHECK_STATUS(BELAY_CLOSED, belay_submit_ping(client, 2));
  CHECK_STATUS(BELAY_CLOSED, belay_client_ping(client, NULL));
  REFUSED(BELAY_CLOSED, belay_lock(client, "b", -1, 0, NULL));
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(client, hold));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  belay_client_free(client);
  belay_client_free(other);
}

// A thread that makes one call without a limit.
typedef struct Sleeper {
  belay_client* client;
  int64_t answer;
  pthread_t thread;
  _Atomic(int) id;  // set right before the call
} Sleeper;

static void* lock_for_ever(void* argument) {
  Sleeper* sleeper = argument;
  sleeper->id = (int)syscall(SYS_gettid);
  sleeper->answer = belay_lock(sleeper->client, "a", -1, -1, NULL);
  return NULL;
}

static void* next_for_ever(void* argument) {
  Sleeper* sleeper = argument;
  sleeper->id = (int)syscall(SYS_gettid);
  belay_event* event = belay_next(sleeper->client, -1);
  CHECK_INT(BELAY_EVENT_END, belay_event_kind(event));
  CHECK_STATUS(BELAY_CLOSED, belay_event_status(event));
  belay_event_free(event);
  return NULL;
}

static bool is_asleep(const Sleeper* sleeper) {
  char path[64];
  char stat[512] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", sleeper->id);
  FILE* file = sleeper->id == 0 ? NULL : fopen(path, "r");
  if (file != NULL) {
    stat[fread(stat, 1, sizeof stat - 1, file)] = '\0';
    fclose(file);
  }
  const char* state = strrchr(stat, ')');
  return state != NULL && state[2] == 'S';
}

static void start_sleeper(Sleeper* sleeper, belay_client* client, void* (*body)(void*)) {
  *sleeper = (Sleeper){.client = client};
  pthread_create(&sleeper->thread, NULL, body, sleeper);
  EVENTUALLY(is_asleep(sleeper));
}

static void check_end_of_waits(Server* server, bool shuts_down) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  Sleeper waiters[4];
  Sleeper takers[2];
  for (int i = 0; i < 4; ++i) {
    start_sleeper(&waiters[i], client, lock_for_ever);
  }
  EVENTUALLY(waiters_of(holder, "a") == 1);
  if (shuts_down) {
    CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
    TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  } else {
    for (int i = 0; i < 2; ++i) {
      start_sleeper(&takers[i], client, next_for_ever);
    }
    belay_client_free(client);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(waiters[i].thread, NULL);
    REFUSED(BELAY_CLOSED, waiters[i].answer);
  }
  for (int i = 0; i < 2 && !shuts_down; ++i) {
    pthread_join(takers[i].thread, NULL);
  }
  EVENTUALLY(waiters_of(holder, "a") == 0);
  if (shuts_down) {
    belay_client_free(client);
  }
  belay_client_free(holder);
}

static void test_shutdown_ends_waits(Server* server) {
  check_end_of_waits(server, true);
}

static void test_free_ends_waits(Server* server) {
  check_end_of_waits(server, false);
}

static void test_free_releases(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* other = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  GRANTED(ACQUIRE(client, 0, .name = "b", .lease_ms = kLongLeaseMs));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "b"));
  EVENTUALLY(waiters_of(other, "b") == 1);
  belay_client_free(client);
  GRANTED(belay_lock(other, "a", -1, 0, NULL));
  TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(other);
}

// The release is asked for, its answer is out: the client ends all the same, and the release has
// its event before the last one.
static void test_shutdown_with_a_release_in_flight(Server* server) {
  for (int i = 0; i < 50; ++i) {
    belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, belay_submit_release(client, 1, hold));
    CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
    if (i % 2 == 0) {
      TAKE(client, BELAY_EVENT_RELEASED, 1, BELAY_OK);
      TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
    }
    belay_client_free(client);
    CHECK_TEXT("0", server_ask(server, "EXISTS", "belay:r:{a}", NULL));
  }
}

static void* release_in_thread(void* argument) {
  Sleeper* sleeper = argument;
  sleeper->id = (int)syscall(SYS_gettid);
  sleeper->answer = belay_release(sleeper->client, sleeper->answer);
  return NULL;
}

// The server says nothing: a thread that releases, and whoever frees the client, still get away.
static void test_free_with_a_release_in_flight(Server* server) {
  belay_client* client =
      CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs, .request_timeout_ms = 3600000);
  Sleeper sleeper = {.client = client, .answer = GRANTED(belay_lock(client, "a", -1, 0, NULL))};
  const int64_t other = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  server_pause(server);
  CHECK_STATUS(BELAY_OK, belay_submit_release(client, 1, other));
  pthread_create(&sleeper.thread, NULL, release_in_thread, &sleeper);
  EVENTUALLY(is_asleep(&sleeper));
  const int64_t start = now_ms();
  belay_client_free(client);
  CHECK(now_ms() - start < 2000 + scaled(1000));
  pthread_join(sleeper.thread, NULL);
  CHECK_STATUS(BELAY_UNAVAILABLE, (int32_t)sleeper.answer);
  server_continue(server);
}

static void test_free_without_taking_events(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int64_t tag = 1; tag <= 100; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a"));
  }
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
  client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_client_free(client);
}

const Test async_tests[] = {
    {"Each kind of submission leads to its kind of event, with its tag", test_every_kind},
    {"A submitted acquire ends with BUSY, TIMEOUT, CANCELLED or CLOSED and no hold",
     test_outcomes_of_an_acquire},
    {"A refused submission leads to no event; a wrong one to one that says so",
     test_refused_submissions},
    {"A misused call for the next event returns the end", test_next_misused_ends},
    {"A tag is in use until its event", test_tag_in_use},
    {"A cancelled acquire leaves nothing on the server", test_cancel},
    {"A cancel says what was in the way, if it was the server",
     test_cancel_says_what_was_in_the_way},
    {"A cancel of one of several local waiters leaves the others in their order",
     test_cancel_of_one_of_several},
    {"What is no tag cancels nothing", test_cancel_of_what_is_no_tag},
    {"A cancel that meets the grant ends in a hold or in nothing",
     test_cancel_races_with_the_grant},
    {"A cancelled release is carried out all the same", test_cancel_of_a_release},
    {"A cancelled query ends at once", test_cancel_of_queries},
    {"Ten thousand submissions at once have one event each", test_ten_thousand},
    {"Ten thousand cancels leave nothing on the server", test_ten_thousand_cancelled},
    {"The limit of pending submissions refuses one more and nothing else", test_pending_limit},
    {"The descriptor polls readable exactly while an event is ready", test_fd},
    {"The descriptor may be asked for when events are already there", test_fd_asked_late},
    {"The descriptor wakes a poll for every event", test_fd_wakes_poll},
    {"The next event is waited for as long as was said", test_next_in_time},
    {"Threads may submit and take events at the same time", test_threads_submit_and_take},
    {"A shutdown ends waits, releases holds and says END last", test_shutdown},
    {"A shutdown ends the waits of threads with CLOSED", test_shutdown_ends_waits},
    {"A free ends the waits of threads with CLOSED, and those for events", test_free_ends_waits},
    {"A freed client's holds are free at once", test_free_releases},
    {"A shutdown carries out the releases that are in flight",
     test_shutdown_with_a_release_in_flight},
    {"A free does not wait for a release that is not answered", test_free_with_a_release_in_flight},
    {"A client may be freed with events and holds that nobody took",
     test_free_without_taking_events},
    {NULL, NULL}};
