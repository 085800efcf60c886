// The metrics of a client: each number follows what the client did.
#include <stdio.h>
#include <string.h>

#include "support.h"

// -1: there is none of that name.
static int64_t value_in(const belay_event* event, const char* name) {
  const int64_t count = belay_event_int(event, BELAY_FIELD_MEMBERS);
  for (int32_t i = 0; i < count; ++i) {
    CHECK_INT(BELAY_ROLE_METRIC, belay_event_member_int(event, i, BELAY_MEMBER_ROLE));
    if (strcmp(name, belay_event_member_text(event, i, BELAY_MEMBER_NAME, NULL)) == 0) {
      return belay_event_member_int(event, i, BELAY_MEMBER_VALUE);
    }
  }
  return -1;
}

static int64_t metric(belay_client* client, const char* name) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_client_metrics(client, &event));
  CHECK_INT(BELAY_EVENT_METRICS, belay_event_kind(event));
  const int64_t value = value_in(event, name);
  belay_event_free(event);
  return value;
}

static void test_counters(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_INT(1, metric(client, "acquires"));
  CHECK_INT(1, metric(client, "grants"));
  CHECK_INT(1, metric(client, "wait_us_count"));
  CHECK_INT(1, metric(client, "connections"));
  CHECK_INT(0, metric(client, "releases"));
  CHECK(metric(client, "commands") >= 1);
  CHECK(metric(client, "round_trip_us_count") >= 1);

  REFUSED(BELAY_BUSY, belay_lock(other, "a", -1, 0, NULL));
  REFUSED(BELAY_TIMEOUT, belay_lock(other, "a", -1, 1, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_cancel(other, 1));
  TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK_INT(3, metric(other, "acquires"));
  CHECK_INT(0, metric(other, "grants"));
  CHECK_INT(1, metric(other, "busy"));
  CHECK_INT(1, metric(other, "timeouts"));
  CHECK_INT(1, metric(other, "cancelled"));

  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(1, metric(client, "releases"));
  CHECK_INT(1, metric(client, "hold_us_count"));
  CHECK(metric(client, "hold_us_sum") > 0);
  server_cut_clients(server);
  EVENTUALLY(metric(client, "connections") == 2);
  CHECK_INT(-1, metric(client, "speed"));
  belay_client_free(client);
  belay_client_free(other);
}

// The release of one client lets the other in, by a message; unless that is too old when it comes,
// as where the machine stood still. Then the waiter asks, and this was no handoff by message: 0.
static int64_t hand_over(belay_client* from, belay_client* to) {
  const int64_t before = metric(to, "handoffs_by_message");
  const int64_t hold = GRANTED(belay_lock(from, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(to, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(from, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(from, hold));
  belay_release(to, TAKE(to, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));  // it may be lost by now
  const int64_t counted = metric(to, "handoffs_by_message") - before;
  CHECK(counted == 0 || counted == 1);
  return counted;
}

static void test_handoffs_and_losses(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .owner = 1));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 2, -1, .name = "a", .owner = 2));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, 2, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  CHECK_INT(1, metric(client, "handoffs_local"));
  CHECK_INT(0, metric(client, "handoffs_by_message"));

  EVENTUALLY(hand_over(client, other) == 1);
  CHECK_INT(0, metric(other, "handoffs_local"));
  CHECK(metric(other, "messages") >= 1);
  CHECK_INT(0, metric(other, "messages_dropped"));
  const int64_t releases = metric(other, "releases");
  const int64_t lost = metric(other, "lost");
  CHECK_INT(metric(other, "grants"), releases + lost);

  GRANTED(belay_lock(other, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(other));
  CHECK_INT(lost + 1, metric(other, "lost"));
  CHECK_INT(releases, metric(other, "releases"));
  CHECK_INT(releases + lost + 1, metric(other, "hold_us_count"));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_other_ends(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(1500));
  server_tell(server, "SET", "belay:r:{f}", "text", NULL);
  REFUSED(BELAY_WRONG_TYPE, belay_lock(client, "f", -1, 0, NULL));
  CHECK_INT(1, metric(client, "failures"));
  CHECK_INT(1, metric(client, "acquires"));
  CHECK_INT(0, metric(client, "renewals"));
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  EVENTUALLY(metric(client, "renewals") >= 2);

  belay_request* request = REQUEST(.name = "b");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "c", -1));
  const int64_t several = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release_nowait(client, hold));
  CHECK_INT(1, metric(client, "releases"));
  CHECK_STATUS(BELAY_OK, belay_release_nowait(client, several));
  CHECK_INT(2, metric(client, "releases"));
  CHECK_INT(2, metric(client, "hold_us_count"));
  belay_request_free(request);
  belay_client_free(client);
}

static void test_foreign_messages(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  char channel[128];
  snprintf(channel, sizeof channel, "%s", server_ask(server, "PUBSUB", "CHANNELS", NULL));
  channel[strcspn(channel, "\n")] = '\0';
  CHECK_TEXT("1", server_ask(server, "PUBLISH", channel, "nonsense", NULL));
  EVENTUALLY(metric(client, "messages_dropped") == 1);
  CHECK_INT(1, metric(client, "messages"));
  belay_client_free(client);
}

// Each bucket of a histogram has at least what the smaller ones have, and the last one all.
static void test_histograms(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < 20; ++i) {
    CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "a", -1, 0, NULL))));
  }
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_client_metrics(client, &event));
  const char* const names[] = {"wait_us", "hold_us", "round_trip_us"};
  for (int i = 0; i < 3; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s_count", names[i]);
    const int64_t count = value_in(event, name);
    CHECK(count >= 20);
    snprintf(name, sizeof name, "%s_sum", names[i]);
    CHECK(value_in(event, name) >= count);
    int64_t before = 0;
    for (int64_t limit = 1; limit <= INT64_C(1) << 31; limit *= 2) {
      snprintf(name, sizeof name, "%s_le_%lld", names[i], (long long)limit);
      const int64_t up_to = value_in(event, name);
      CHECK(up_to >= before && up_to <= count);
      before = up_to;
    }
    CHECK_INT(count, before);
  }
  belay_event_free(event);
  belay_client_free(client);
}

static void test_live_objects(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_INT(1, metric(client, "process_clients"));
  CHECK_INT(0, metric(client, "process_requests"));
  CHECK_INT(0, metric(client, "process_events"));
  belay_request* request = REQUEST(.name = "a");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "b", -1));
  belay_event* event = NULL;
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, &event));
  GRANTED(belay_lock(client, "c", -1, 0, NULL));
  CHECK_INT(2, metric(client, "holds"));
  CHECK_INT(3, metric(client, "names"));
  CHECK_INT(1, metric(client, "process_requests"));
  CHECK_INT(1, metric(client, "process_events"));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "c"));
  CHECK_INT(1, metric(client, "pendings"));
  CHECK_INT(0, metric(client, "undelivered_events"));
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  CHECK_INT(0, metric(client, "pendings"));
  CHECK_INT(1, metric(client, "undelivered_events"));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK_INT(1, metric(client, "holds"));
  CHECK_INT(1, metric(client, "releases"));
  CHECK_INT(2, metric(client, "grants"));
  belay_event_free(event);
  belay_request_free(request);
  CHECK_INT(0, metric(client, "process_requests"));
  CHECK_INT(0, metric(client, "process_events"));
  CHECK_STATUS(BELAY_OK, belay_client_metrics(client, NULL));
  belay_client_free(client);
}

const Test metric_tests[] = {
    {"Metrics count acquires, releases and connections", test_counters},
    {"Metrics count handoffs and losses", test_handoffs_and_losses},
    {"Metrics count renewals, failures and releases without waiting", test_other_ends},
    {"Metrics count messages about nothing that was asked for", test_foreign_messages},
    {"Metrics have histograms", test_histograms},
    {"Metrics tell how many objects there are", test_live_objects},
    {NULL, NULL},
};
