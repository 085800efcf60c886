// Countdown latches: set, count down, count.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

static void test_count_down(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  belay_event* event = NULL;
  const int64_t generation = belay_latch_set(one, "a", -1, 3, 0, &event);
  CHECK(generation > 0);
  CHECK_INT(BELAY_EVENT_LATCH_SET, belay_event_kind(event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  CHECK_INT(3, belay_event_int(event, BELAY_FIELD_COUNT));
  belay_event_free(event);
  CHECK_INT(3, belay_latch_count(two, "a", -1, NULL));
  CHECK_INT(2, belay_latch_count_down(two, "a", -1, 1, &event));
  CHECK_INT(BELAY_EVENT_LATCH_COUNTED_DOWN, belay_event_kind(event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  CHECK_INT(0, belay_event_int(event, 99));
  belay_event_free(event);
  CHECK_INT(0, belay_latch_count_down(one, "a", 1, 5, NULL));
  CHECK_INT(0, belay_latch_count(two, "a", -1, &event));
  CHECK_INT(BELAY_EVENT_LATCH_COUNT, belay_event_kind(event));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  belay_event_free(event);
  CHECK_INT(0, belay_latch_count_down(one, "a", -1, 1, NULL));
  CHECK(belay_latch_set(two, "a", -1, 1, 0, NULL) > generation);
  CHECK_INT(1, belay_latch_count(one, "a", -1, NULL));
  belay_client_free(one);
  belay_client_free(two);
}

static void test_in_use(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t generation = belay_latch_set(client, "a", -1, 3, 0, NULL);
  CHECK_INT(2, belay_latch_count_down(client, "a", -1, 1, NULL));
  belay_event* event = NULL;
  REFUSED(BELAY_IN_USE, belay_latch_set(client, "a", -1, 9, 0, &event));
  CHECK_INT(BELAY_CLASS_REFUSED, belay_status_class(belay_event_status(event)));
  CHECK_INT(2, belay_event_int(event, BELAY_FIELD_COUNT));
  CHECK_INT(generation, belay_event_int(event, BELAY_FIELD_GENERATION));
  CHECK_TEXT("'a'", belay_event_message(event));
  belay_event_free(event);
  CHECK_INT(2, belay_latch_count(client, "a", -1, NULL));
  belay_client_free(client);
}

static void test_not_found(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  REFUSED(BELAY_NOT_FOUND, belay_latch_count_down(client, "a", -1, 1, &event));
  CHECK_INT(BELAY_CLASS_REFUSED, belay_status_class(belay_event_status(event)));
  CHECK_TEXT("'a'", belay_event_message(event));
  belay_event_free(event);
  REFUSED(BELAY_NOT_FOUND, belay_latch_count(client, "a", -1, NULL));
  belay_request* request = REQUEST(.name = "a", .primitive = BELAY_LATCH);
  CHECK_WHY(BELAY_NOT_FOUND, "'a'", belay_acquire(client, request, 0, -1, &why));
  REFUSED(BELAY_NOT_FOUND, belay_acquire(client, request, 0, 0, NULL));
  CHECK_INT(0, waiters_of(client, "a"));
  belay_request_free(request);
  CHECK(belay_latch_set(client, "a", -1, 1, 100, NULL) > 0);
  EVENTUALLY(belay_latch_count(client, "a", -1, NULL) == -BELAY_NOT_FOUND);
  CHECK(belay_latch_set(client, "a", -1, 2, 60000, NULL) > 0);
  CHECK_INT(2, belay_latch_count(client, "a", -1, NULL));
  belay_client_free(client);
}

static void test_other_kinds(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_event* event = NULL;
  REFUSED(BELAY_WRONG_TYPE, belay_latch_set(client, "a", -1, 1, 0, &event));
  CHECK_TEXT("holds a lock, not a latch", belay_event_message(event));
  belay_event_free(event);
  REFUSED(BELAY_WRONG_TYPE, belay_latch_count_down(client, "a", -1, 1, NULL));
  REFUSED(BELAY_WRONG_TYPE, belay_latch_count(client, "a", -1, NULL));
  belay_request* latch = REQUEST(.name = "a", .primitive = BELAY_LATCH);
  CHECK_WHY(BELAY_WRONG_TYPE, "holds a lock, not a latch",
            belay_acquire(client, latch, 0, -1, &why));
  belay_request_free(latch);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK(belay_latch_set(client, "b", -1, 1, 0, NULL) > 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "b", .primitive = BELAY_LATCH));
  EVENTUALLY(waiters_of(client, "b") == 1);
  for (int64_t wait_ms = -1; wait_ms <= 0; ++wait_ms) {
    CHECK_WHY(BELAY_WRONG_TYPE, "holds a latch, not a lock",
              belay_lock(client, "b", -1, wait_ms, &why));
  }
  CHECK_INT(1, belay_latch_count(client, "b", -1, NULL));
  belay_client_free(client);
}

static void test_async(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_submit_latch_set(client, 1, "a", -1, 2, 0));
  CHECK_STATUS(BELAY_OK, belay_submit_latch_count_down(client, 2, "a", -1, 1));
  CHECK_STATUS(BELAY_OK, belay_submit_latch_count(client, 3, "a", -1));
  CHECK_STATUS(BELAY_OK, belay_submit_latch_count(client, 4, "b", -1));
  TAKE(client, BELAY_EVENT_LATCH_SET, 1, BELAY_OK);
  TAKE(client, BELAY_EVENT_LATCH_COUNTED_DOWN, 2, BELAY_OK);
  belay_event* event = EVENT(client, BELAY_EVENT_LATCH_COUNT, 3, BELAY_OK);
  CHECK_INT(1, belay_event_int(event, BELAY_FIELD_COUNT));
  belay_event_free(event);
  TAKE(client, BELAY_EVENT_LATCH_COUNT, 4, BELAY_NOT_FOUND);
  belay_client_free(client);
}

static void test_misuse(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  REFUSED(wrong, belay_latch_set(NULL, "a", -1, 1, 0, NULL));
  REFUSED(wrong, belay_latch_set(client, "", -1, 1, 0, NULL));
  CHECK_WHY(wrong, "count", belay_latch_set(client, "a", -1, 0, 0, &why));
  REFUSED(wrong, belay_latch_set(client, "a", -1, 1000000001, 0, NULL));
  CHECK_WHY(wrong, "ttl_ms", belay_latch_set(client, "a", -1, 1, 99, &why));
  REFUSED(wrong, belay_latch_set(client, "a", -1, 1, -1, NULL));
  REFUSED(wrong, belay_latch_count_down(client, NULL, -1, 1, NULL));
  REFUSED(wrong, belay_latch_count_down(client, "a", -1, 0, NULL));
  REFUSED(wrong, belay_latch_count_down(client, "a", -1, -1, NULL));
  REFUSED(wrong, belay_latch_count(client, "a", 0, NULL));
  TOLD(client, wrong, "", belay_submit_latch_set(client, 1, "a", -1, 1, 2592000001));
  CHECK_STATUS(wrong, belay_submit_latch_set(client, 0, "a", -1, 1, 0));
  TOLD(client, wrong, "", belay_submit_latch_count_down(client, 1, "a", -1, 0));
  TOLD(client, wrong, "", belay_submit_latch_count(client, 1, NULL, -1));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_TEXT("0", server_ask(server, "DBSIZE", NULL));
  CHECK_INT(0, belay_event_int(NULL, BELAY_FIELD_COUNT));
  CHECK(belay_latch_set(client, "a", -1, 1000000000, 2592000000, NULL) > 0);
  CHECK_INT(1, belay_latch_count_down(client, "a", -1, 999999999, NULL));
  belay_client_free(client);
}

// However often a connection is cut, each request counts once, and none is in doubt.
static void test_cuts(Server* server) {
  static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

  enum { kRounds = 4 };

  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url);
  int64_t generation = 0;
  for (int i = 0; i < 3 * kRounds; ++i) {
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
    proxy_break_next(&proxy, kCuts[i % 3]);
    const int64_t next = belay_latch_set(client, "a", -1, 2, 0, NULL);
    CHECK(next > generation);
    generation = next;
    proxy_break_next(&proxy, kCuts[i % 3]);
    CHECK_INT(1, belay_latch_count_down(client, "a", -1, 1, NULL));
    proxy_break_next(&proxy, kCuts[i % 3]);
    CHECK_INT(1, belay_latch_count(client, "a", -1, NULL));
    proxy_break_next(&proxy, kCuts[i % 3]);
    CHECK_INT(0, belay_latch_count_down(client, "a", -1, 1, NULL));
  }
  CHECK_INT(4 * 3 * kRounds, proxy.state->faults);
  belay_client_free(client);
}

enum { kWorkers = 4, kEach = 50 };

static void count_down_alone(Server* server, const Line* parent, int64_t number) {
  belay_client* client = CLIENT(.url = server->url);
  hear(parent);
  for (int i = 0; i < kEach; ++i) {
    CHECK(belay_latch_count_down(client, "a", -1, 1, NULL) >= 0);
  }
  say(parent, number);
  belay_client_free(client);
}

static void test_processes(Server* server) {
  Child children[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    children[i] = child_start(server, count_down_alone, i);
  }
  belay_client* client = CLIENT(.url = server->url);
  CHECK(belay_latch_set(client, "a", -1, kWorkers * kEach + 1, 0, NULL) > 0);
  for (int i = 0; i < kWorkers; ++i) {
    say(&children[i].line, 0);
  }
  for (int i = 0; i < kWorkers; ++i) {
    CHECK_INT(i, hear(&children[i].line));
    child_end(&children[i]);
  }
  CHECK_INT(1, belay_latch_count(client, "a", -1, NULL));
  belay_client_free(client);
}

static void test_rights(Server* server) {
  server_tell(server, "ACL", "SETUSER", "latch", "reset", "on", ">s3cret", "~belay:*",
              "resetchannels", "&belay:*", "+subscribe", "+publish", "+time", "+eval", "+evalsha",
              "+get", "+set", "+setrange", "+del", "+exists", "+pexpire", "+pttl", "+zadd", "+zrem",
              "+zrange", "+zrevrange", "+zcount", "+zscore", "+zcard", "+zremrangebyrank",
              "+getrange", "+strlen", "+hget", "+hmget", "+hlen", "+hset", "+hdel", NULL);
  belay_client* client = CLIENT(.url = server->url, .user = "latch", .password = "s3cret");
  CHECK(belay_latch_set(client, "a", -1, 1, 60000, NULL) > 0);
  CHECK_INT(1, belay_latch_count(client, "a", -1, NULL));
  CHECK_INT(0, belay_latch_count_down(client, "a", -1, 1, NULL));
  CHECK(belay_latch_set(client, "a", -1, 1, 0, NULL) > 0);
  server_tell(server, "ACL", "SETUSER", "latch", "-strlen", NULL);
  REFUSED(BELAY_NOT_PERMITTED, belay_latch_count_down(client, "a", -1, 1, NULL));
  CHECK_INT(1, belay_latch_count(client, "a", -1, NULL));
  belay_client_free(client);
}

const Test latch_tests[] = {
    {"A latch counts down to 0, and may be set again", test_count_down},
    {"A latch that is running answers IN_USE when it is set", test_in_use},
    {"A latch that is not there answers NOT_FOUND, also after its time to live, and to a waiter",
     test_not_found},
    {"The name of another thing answers WRONG_TYPE and says what it is", test_other_kinds},
    {"Submitted calls about latches have their events", test_async},
    {"Calls about latches that cannot be meant are INVALID_ARGUMENT", test_misuse},
    {"Calls about latches that are cut off take place once", test_cuts},
    {"Four processes count a latch down by as much as they say", test_processes},
    {"A user with the rights that the documentation names has latches", test_rights},
    {NULL, NULL},
};
