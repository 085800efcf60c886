// What changes something on the server and is no acquire, where the server stands still while it is
// on its way: when its doubt has ended, it has taken place or never will.
#include <stddef.h>
#include <string.h>

#include "support.h"

enum { kLongLeaseMs = 3600 * 1000, kChanges = 6 };

// A running latch, a semaphore's limit, a held lock and a key under a fence. The server knows by
// now every script that changes them: what the client submits next is short, so that the server
// reads all of it at once.
static void prepare(Server* server, belay_client* client) {
  belay_client* holder = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(holder, 0, .name = "lock", .lease_ms = kLongLeaseMs));
  CHECK_STATUS(BELAY_OK, belay_hold_abandon(holder, hold));
  belay_client_free(holder);
  CHECK(belay_latch_set(client, "latch", -1, 2, 0, NULL) > 0);
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(client, "semaphore", -1, 2, NULL));
  const char* const words[] = {"SET", "first"};
  CHECK_STATUS(BELAY_OK, belay_fenced_write(client, "order", -1, 7, 2, words, NULL, NULL));
  CHECK(belay_latch_set(client, "spare", -1, 2, 0, NULL) > 0);
  CHECK_INT(1, belay_latch_count_down(client, "spare", -1, 1, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(client, "spare", -1, 0, NULL));
}

static void submit_changes(belay_client* client) {
  const char* const words[] = {"SET", "second"};
  CHECK_STATUS(BELAY_OK, belay_submit_latch_count_down(client, 1, "latch", -1, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_latch_set(client, 2, "other", -1, 1, 0));
  CHECK_STATUS(BELAY_OK, belay_submit_semaphore_set_limit(client, 3, "semaphore", -1, 5));
  CHECK_STATUS(BELAY_OK, belay_submit_break(client, 4, "lock", -1, 0));
  CHECK_STATUS(BELAY_OK, belay_submit_break(client, 5, "latch", -1, 0));
  CHECK_STATUS(BELAY_OK, belay_submit_fenced_write(client, 6, "order", -1, 8, 2, words, NULL));
}

static int64_t limit_of(belay_client* client, const char* semaphore) {
  belay_event* event = NULL;
  CHECK(belay_semaphore_available(client, semaphore, -1, &event) >= 0);
  const int64_t limit = belay_event_int(event, BELAY_FIELD_LIMIT);
  belay_event_free(event);
  return limit;
}

static void test_stopped_server(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = scaled(300));
  prepare(server, client);
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  server_pause(server);
  submit_changes(client);
  int64_t over_at = 0;
  for (int i = 0; i < kChanges; ++i) {
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK_STATUS(BELAY_UNAVAILABLE, belay_event_status(event));
    CHECK(belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS) > 0);
    const int64_t over = now_ms() + belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS);
    over_at = over > over_at ? over : over_at;
    belay_event_free(event);
  }
  while (now_ms() <= over_at) {
    nap();
  }
  server_continue(server);
  EVENTUALLY(server_scripts_run(server) == kChanges);  // they have arrived
  belay_client* witness = CLIENT(.url = server->url);
  CHECK_INT(2, belay_latch_count(witness, "latch", -1, NULL));
  REFUSED(BELAY_NOT_FOUND, belay_latch_count(witness, "other", -1, NULL));
  CHECK_INT(2, limit_of(witness, "semaphore"));
  CHECK(is_held(witness, "lock"));
  CHECK_TEXT("first", server_ask(server, "GET", "order", NULL));
  belay_client_free(client);
  belay_client_free(witness);
}

// Not so long: it is answered, and nothing is in doubt.
static void test_server_stopped_for_a_while(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  prepare(server, client);
  server_pause(server);
  submit_changes(client);
  CHECK(belay_next(client, scaled(100)) == NULL);
  server_continue(server);
  for (int i = 0; i < kChanges; ++i) {
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK_STATUS(BELAY_OK, belay_event_status(event));
    belay_event_free(event);
  }
  CHECK_INT(5, limit_of(client, "semaphore"));
  CHECK(!is_held(client, "lock"));
  REFUSED(BELAY_NOT_FOUND, belay_latch_count(client, "latch", -1, NULL));
  CHECK_INT(1, belay_latch_count(client, "other", -1, NULL));
  CHECK_TEXT("second", server_ask(server, "GET", "order", NULL));
  belay_client_free(client);
}

const Test late_tests[] = {
    {"What a server that stood still gets to when its doubt has ended does not take place",
     test_stopped_server},
    {"What a server that stands still for a while gets to in time takes place",
     test_server_stopped_for_a_while},
    {NULL, NULL},
};
