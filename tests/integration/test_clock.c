// A server whose wall clock is stepped by an hour, forth and back, while locks are held and waited
// for. What is assumed of its clock is said in docs/guarantees.md: a step ahead may end a lease
// early, and then the fence protects; nothing else follows from steps.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

enum { kHour = 3600, kLongLeaseMs = 3600 * 1000 };

static int64_t server_seconds(const Server* server) {
  return strtoll(server_ask(server, "TIME", NULL), NULL, 10);
}

// The server's clock is this many seconds ahead from now on.
static void step_to(Server* server, int64_t seconds) {
  const int64_t before = server_seconds(server);
  *server->ahead_s = seconds;
  CHECK(llabs(server_seconds(server) - before) > kHour / 2);
}

// A lock goes from one client to the other and back, by messages.
static int64_t pass_around(belay_client* one, belay_client* two, int64_t fence) {
  belay_client* const clients[] = {one, two};
  int64_t hold = GRANTED(belay_lock(one, "passed", -1, -1, NULL));
  for (int i = 0; i < 4; ++i) {
    belay_client* from = clients[i % 2];
    belay_client* to = clients[(i + 1) % 2];
    CHECK(belay_hold_fence(from, hold, 0) > fence);
    fence = belay_hold_fence(from, hold, 0);
    CHECK_STATUS(BELAY_OK, SUBMIT(to, 1, -1, .name = "passed"));
    EVENTUALLY(waiters_of(from, "passed") == 1);
    give_back(from, hold);
    hold = TAKE(to, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  }
  CHECK(belay_hold_fence(one, hold, 0) > fence);
  fence = belay_hold_fence(one, hold, 0);
  give_back(one, hold);
  return fence;
}

// Within a connection's life the clock bound is wrong by an hour after each step.
static void test_steps_between_holds(Server* server) {
  server_relaunch_with_clock(server);
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  const int64_t start = now_ms();
  int64_t fence = pass_around(one, two, 0);
  const int64_t offsets[] = {kHour, 0, -kHour, 0, kHour, -kHour};
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; ++i) {
    step_to(server, offsets[i]);
    fence = pass_around(one, two, fence);
  }
  // No grant waits for a lease or a fallback poll to end.
  CHECK(now_ms() - start < scaled(kLimitMs));
  belay_client_free(one);
  belay_client_free(two);
}

// A step back prolongs the record, and ends no hold: neither one that the watchdog renews nor one
// of a fixed lease. The waiter gets it by a message.
static void test_step_back_while_held(Server* server) {
  server_relaunch_with_clock(server);
  const int64_t lease = scaled(600);
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  belay_client* waiter = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  step_to(server, -kHour);
  STAYS(3 * lease, belay_hold_state(holder, hold) == BELAY_HOLD_HELD);
  CHECK(belay_next(waiter, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  give_back(waiter, next);
  CHECK(belay_next(holder, 0) == NULL);
  belay_client_free(holder);
  belay_client_free(waiter);
}

// The local deadline of a fixed lease knows nothing of the server's clock.
static void test_fixed_lease_over_a_step_back(Server* server) {
  server_relaunch_with_clock(server);
  const int64_t lease = scaled(1000);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a", .lease_ms = lease));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  step_to(server, -kHour);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK(now_ms() - start < lease + scaled(2000));
  // The server keeps the record for an hour; the client has left it.
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  const int64_t next = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  belay_client_free(client);
}

// A step ahead ends the lease on the server. The holder learns it at its next renewal; what it did
// meanwhile has the lower fence; it frees and renews nothing of its successor's.
static void test_step_ahead_while_held(Server* server) {
  server_relaunch_with_clock(server);
  const int64_t lease = scaled(1500);
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  belay_client* waiter = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  CHECK_STATUS(BELAY_OK, SUBMIT(holder, 1, 0, .name = "a"));
  const int64_t hold = TAKE(holder, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t fence = belay_hold_fence(holder, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  step_to(server, kHour);
  CHECK_INT(hold, TAKE(holder, BELAY_EVENT_LOST, 0, BELAY_LOST));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  CHECK_STATUS(BELAY_LOST, belay_release(holder, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(waiter, next, NULL));
  // Whatever comes after a step back: its fence is higher still.
  step_to(server, 0);
  CHECK_STATUS(BELAY_OK, belay_release(waiter, next));
  const int64_t last = GRANTED(belay_lock(holder, "a", -1, -1, NULL));
  CHECK(belay_hold_fence(holder, last, 0) > belay_hold_fence(waiter, next, 0));
  CHECK(belay_hold_fence(holder, last, 0) > fence);
  belay_client_free(holder);
  belay_client_free(waiter);
}

// What was on its way when the clock stepped comes too late for its not-after, and is asked again.
static void test_changes_over_a_step_ahead(Server* server) {
  server_relaunch_with_clock(server);
  belay_client* client = CLIENT(.url = server->url);
  const char* const words[] = {"INCR"};
  CHECK(belay_latch_set(client, "latch", -1, 9, 0, NULL) > 0);
  for (int64_t i = 1; i <= 3; ++i) {
    step_to(server, (2 * i - 1) * kHour);
    CHECK_INT(9 - i, belay_latch_count_down(client, "latch", -1, 1, NULL));
    step_to(server, 2 * i * kHour);
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_OK, belay_fenced_write(client, "order", -1, 7, 1, words, NULL, &event));
    CHECK_INT(i, strtoll(belay_event_text(event, NULL), NULL, 10));
    belay_event_free(event);
  }
  belay_client_free(client);
}

// With the data lost and the clock gone back, the fences that clients have seen still count.
static void test_step_back_with_lost_data(Server* server) {
  server_relaunch_with_clock(server);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t first = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t fence = belay_hold_fence(client, first, 0);
  CHECK_STATUS(BELAY_OK, belay_release(client, first));
  step_to(server, -kHour);
  server_tell(server, "FLUSHALL", NULL);
  const int64_t next = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(belay_hold_fence(client, next, 0) > fence);
  belay_client_free(client);
}

const Test clock_tests[] = {
    {"Steps of the server's clock by an hour delay no grant, and fences rise",
     test_steps_between_holds},
    {"A step of the server's clock back ends no hold", test_step_back_while_held},
    {"A fixed lease ends in time although the server's clock steps back",
     test_fixed_lease_over_a_step_back},
    {"A step of the server's clock ahead is told by LOST, and the next fence is higher",
     test_step_ahead_while_held},
    {"A step of the server's clock ahead keeps no change from taking place",
     test_changes_over_a_step_ahead},
    {"Fences rise through lost data and a clock gone back for clients that saw them",
     test_step_back_with_lost_data},
    {NULL, NULL}};
