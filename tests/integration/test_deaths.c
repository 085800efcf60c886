// Processes that die or fall silent while the lock is theirs, or is on its way to them: how soon
// the next one that answers has it.
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

static int64_t server_number(const Server* server, const char* command, const char* key) {
  return strtoll(server_ask(server, command, key, NULL), NULL, 10);
}

// ---- Holders

static void hold_in_child(Server* server, const Line* parent, int64_t lease_ms) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease_ms);
  GRANTED(belay_lock(client, "a", -1, -1, NULL));
  say(parent, 0);
  hear(parent);
}

static int64_t lease_left(belay_client* client) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  const int64_t left = belay_event_member_int(event, 0, BELAY_MEMBER_LEASE_MS);
  belay_event_free(event);
  return left;
}

// How long after the end of its lease the lock of a killed holder came to a waiter.
static int64_t takeover_delay(Server* server, const Child* child) {
  hear(&child->line);
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  child_kill(child);
  const int64_t start = now_ms();
  const int64_t left = lease_left(client);
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t delay = now_ms() - start - left;
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
  return delay;
}

// The bound is 100 ms; a busy machine may miss it now and then, a library that is late misses it
// each time.
static void test_killed_holder(Server* server) {
  enum { kRounds = 4 };

  Child children[kRounds];
  for (int i = 0; i < kRounds; ++i) {
    children[i] = child_start(server, hold_in_child, scaled(600));
    const int64_t delay = takeover_delay(server, &children[i]);
    printf("  taken over %lld ms after the end of the lease\n", (long long)delay);
    CHECK(delay < scaled(2000));
    if (delay <= 100) {
      return;
    }
  }
  FAIL("the takeover took more than 100 ms each time");
}

// ---- Waiters

enum { kWaitersAChild = 100, kWaitingChildren = 10, kWaiters = kWaitersAChild * kWaitingChildren };

static void wait_many(Server* server, const Line* parent, int64_t number) {
  (void)number;
  hear(parent);
  for (int i = 0; i < kWaitersAChild; ++i) {
    belay_client* client = CLIENT(.url = server->unix_url);
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  }
  hear(parent);
}

static void test_thousand_killed_waiters(Server* server) {
  Child children[kWaitingChildren];
  for (int i = 0; i < kWaitingChildren; ++i) {
    children[i] = child_start(server, wait_many, i);
  }
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* last = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int i = 0; i < kWaitingChildren; ++i) {
    say(&children[i].line, 0);
  }
  EVENTUALLY(server_number(server, "HLEN", "belay:w:{a}") == 1 + 2 * kWaiters);
  CHECK_STATUS(BELAY_OK, SUBMIT(last, 1, -1, .name = "a"));
  EVENTUALLY(server_number(server, "HLEN", "belay:w:{a}") == 3 + 2 * kWaiters);
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  for (int i = 0; i < kWaitingChildren; ++i) {
    kill(children[i].pid, SIGKILL);
  }
  for (int i = 0; i < kWaitingChildren; ++i) {
    child_kill(&children[i]);
  }
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  TAKE(last, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t scripts = server_scripts_run(server);
  printf("  1000 dead waiters were passed over in %lld ms by %lld scripts\n",
         (long long)(now_ms() - start), (long long)scripts);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  CHECK(scripts >= kWaiters / 64 && scripts <= 2 * kWaiters / 64 + 5);
  belay_client_free(holder);
  belay_client_free(last);
}

static void wait_in_child(Server* server, const Line* parent, int64_t number) {
  (void)number;
  hear(parent);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  say(parent, hold);
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void check_stopped_waiters(Server* server, bool ends) {
  enum { kStopped = 5 };

  Child children[kStopped];
  for (int i = 0; i < kStopped; ++i) {
    children[i] = child_start(server, wait_in_child, i);
  }
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* last = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int i = 0; i < kStopped; ++i) {
    say(&children[i].line, 0);
    EVENTUALLY(waiters_of(holder, "a") == i + 1);
  }
  CHECK_STATUS(BELAY_OK, SUBMIT(last, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == kStopped + 1);
  for (int i = 0; i < kStopped; ++i) {
    child_pause(&children[i]);
  }
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  if (ends) {
    belay_client_free(holder);
  }
  const int64_t next = TAKE(last, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  printf("  %d stopped waiters took %lld ms\n", kStopped, (long long)(now_ms() - start));
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  CHECK_STATUS(BELAY_OK, belay_release(last, next));
  // Each of them, continued, has its turn, whatever the order.
  struct pollfd lines[kStopped];
  for (int i = 0; i < kStopped; ++i) {
    child_continue(&children[i]);
    lines[i] = (struct pollfd){.fd = children[i].line.in, .events = POLLIN};
  }
  for (int served = 0; served < kStopped; ++served) {
    CHECK(poll(lines, kStopped, (int)scaled(kLimitMs)) > 0);
    int i = 0;
    while (lines[i].revents == 0) {
      ++i;
    }
    GRANTED(hear(&children[i].line));
    say(&children[i].line, 0);
    child_end(&children[i]);
    lines[i].fd = -1;
  }
  if (!ends) {
    belay_client_free(holder);
  }
  belay_client_free(last);
}

// Whoever hands the lock on looks after it.
static void test_stopped_waiters(Server* server) {
  check_stopped_waiters(server, false);
}

// Such as any program that releases and ends: those who wait are told to look.
static void test_stopped_waiters_of_who_ends(Server* server) {
  check_stopped_waiters(server, true);
}

// A connection that subscribes to all inboxes, as a monitor would: every message reaches somebody.
static int start_monitor(const Server* server) {
  static const char kWords[] = "PSUBSCRIBE belay:in:*\r\n";
  char answer[64];
  const int monitor = dial_port(server->port);
  CHECK(monitor >= 0);
  CHECK(write(monitor, kWords, sizeof(kWords) - 1) == (ssize_t)(sizeof(kWords) - 1));
  CHECK(read(monitor, answer, sizeof(answer)) > 0);
  return monitor;
}

static void test_killed_waiters_under_a_monitor(Server* server) {
  enum { kKilled = 5 };

  Child children[kKilled];
  for (int i = 0; i < kKilled; ++i) {
    children[i] = child_start(server, wait_in_child, i);
  }
  const int monitor = start_monitor(server);
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* last = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int i = 0; i < kKilled; ++i) {
    say(&children[i].line, 0);
    EVENTUALLY(waiters_of(holder, "a") == i + 1);
  }
  CHECK_STATUS(BELAY_OK, SUBMIT(last, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == kKilled + 1);
  for (int i = 0; i < kKilled; ++i) {
    child_kill(&children[i]);
  }
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = TAKE(last, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  printf("  %d dead waiters took %lld ms\n", kKilled, (long long)(now_ms() - start));
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  CHECK_INT(0, waiters_of(holder, "a"));  // each is granted the lock once
  CHECK_STATUS(BELAY_OK, belay_release(last, next));
  close(monitor);
  belay_client_free(holder);
  belay_client_free(last);
}

// A waiter at the head of the queue behind a proxy, then one that has no faults.
typedef struct Queue {
  belay_client* holder;
  belay_client* second;
  int64_t hold;
} Queue;

// The head is `head`, or else the child.
static Queue queue_up(Server* server, belay_client* head, const Child* child) {
  Queue queue = {.holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs),
                 .second = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs)};
  queue.hold = GRANTED(belay_lock(queue.holder, "a", -1, 0, NULL));
  if (head != NULL) {
    CHECK_STATUS(BELAY_OK, SUBMIT(head, 1, -1, .name = "a"));
  } else {
    say(&child->line, 0);
  }
  EVENTUALLY(waiters_of(queue.holder, "a") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT(queue.second, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(queue.holder, "a") == 2);
  return queue;
}

static void test_half_open_waiter(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* head = CLIENT(.url = proxy.url, .watchdog_lease_ms = kLongLeaseMs);
  const Queue queue = queue_up(server, head, NULL);
  proxy.state->is_silent = true;
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_release(queue.holder, queue.hold));
  const int64_t next = TAKE(queue.second, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  // Its grant comes when it has lapsed: it must not be believed.
  proxy.state->is_silent = false;
  STAYS(300, belay_next(head, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_verify(queue.second, next, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(queue.second, next));
  TAKE(head, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(head);
  belay_client_free(queue.holder);
  belay_client_free(queue.second);
}

static const char* child_url;

static void wait_far_away(Server* server, const Line* parent, int64_t number) {
  (void)server;
  (void)number;
  hear(parent);
  belay_client* client = CLIENT(.url = child_url);
  say(parent, belay_lock(client, "a", -1, -1, NULL));
}

static void test_waiter_killed_before_its_grant(Server* server) {
  const Proxy proxy = proxy_start(server);
  child_url = proxy.url;
  const Child child = child_start(server, wait_far_away, 0);
  const Queue queue = queue_up(server, NULL, &child);
  proxy.state->delay_us = 3600 * INT64_C(1000000);
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_release(queue.holder, queue.hold));
  // The server has given it the lock; the grant is on its way.
  CHECK(is_held(queue.holder, "a"));
  child_kill(&child);
  TAKE(queue.second, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  belay_client_free(queue.holder);
  belay_client_free(queue.second);
}

const Test death_tests[] = {
    {"A killed holder's lock is taken over within 100 ms of its lease's end", test_killed_holder},
    {"A thousand waiters killed at once are passed over by bounded scripts",
     test_thousand_killed_waiters},
    {"Stopped waiters cost a grant lease each", test_stopped_waiters},
    {"Stopped waiters cost a grant lease each, also when the client that released ends",
     test_stopped_waiters_of_who_ends},
    {"Dead waiters cost a grant lease each where a monitor makes them look alive",
     test_killed_waiters_under_a_monitor},
    {"A half-open waiter costs a grant lease, and its late grant is not believed",
     test_half_open_waiter},
    {"A waiter that is killed while its grant is on its way costs a grant lease",
     test_waiter_killed_before_its_grant},
    {NULL, NULL}};
