// Hosts whose wall clock is set, and laptops that are closed.
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "interposed.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

enum { kDaySeconds = 24 * 3600, kLeaseMs = 30000 };

static void test_wall_clock(Server* server) {
  static const int64_t kSteps[] = {kDaySeconds, -2 * kDaySeconds, 1, -1, 365LL * 50 * kDaySeconds};
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  for (size_t i = 0; i < sizeof kSteps / sizeof kSteps[0]; ++i) {
    step_wall_clock(kSteps[i]);
    const int64_t start = now_ms();
    REFUSED(BELAY_TIMEOUT, belay_lock(other, "a", -1, 200, NULL));
    CHECK(belay_next(other, 200) == NULL);
    CHECK(now_ms() - start >= 400 && now_ms() - start < scaled(kLimitMs));
    STAYS(scaled(700), belay_hold_state(client, hold) == BELAY_HOLD_HELD);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  }
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  CHECK(belay_next(client, 0) == NULL);
  belay_client_free(other);
  belay_client_free(client);
}

typedef struct Laptop {
  belay_client* client;
  int64_t hold;
} Laptop;

// A holder on a machine that was suspended, and whose calls may be faster than its timers.
static Laptop wake_up(Server* server, int64_t suspended_ms, bool timers_fire) {
  Laptop laptop = {.client = CLIENT(.url = server->url, .watchdog_lease_ms = kLeaseMs)};
  laptop.hold = GRANTED(ACQUIRE(laptop.client, -1, .name = "a", .notify = 1));
  suspend_for(suspended_ms, timers_fire);
  return laptop;
}

static void put_away(Laptop laptop) {
  belay_client_free(laptop.client);
}

static void test_call_after_suspend(Server* server) {
  for (int i = 0; i < 5; ++i) {
    const Laptop laptop = wake_up(server, kLeaseMs, false);
    if (i == 0) {
      CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(laptop.client, laptop.hold));
    } else if (i == 1) {
      CHECK_INT(0, belay_hold_remaining_ms(laptop.client, laptop.hold));
    } else if (i == 2) {
      CHECK_STATUS(BELAY_LOST, belay_verify(laptop.client, laptop.hold, NULL));
    } else if (i == 3) {
      CHECK_STATUS(BELAY_LOST, belay_release(laptop.client, laptop.hold));
    } else {
      CHECK_STATUS(BELAY_OK, belay_submit_verify(laptop.client, 1, laptop.hold));
      TAKE(laptop.client, BELAY_EVENT_LOST, 0, BELAY_LOST);
      TAKE(laptop.client, BELAY_EVENT_VERIFIED, 1, BELAY_LOST);
    }
    put_away(laptop);
  }
}

static void test_event_after_suspend(Server* server) {
  const Laptop laptop = wake_up(server, kLeaseMs, true);
  TAKE(laptop.client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK(belay_next(laptop.client, 0) == NULL);
  CHECK_STATUS(BELAY_LOST, belay_release(laptop.client, laptop.hold));
  const int64_t again = GRANTED(belay_lock(laptop.client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(laptop.client, again));
  put_away(laptop);
}

static void test_short_suspend(Server* server) {
  const Laptop laptop = wake_up(server, kLeaseMs / 2, true);
  EVENTUALLY(belay_hold_remaining_ms(laptop.client, laptop.hold) > kLeaseMs * 2 / 3);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(laptop.client, laptop.hold));
  CHECK(belay_next(laptop.client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(laptop.client, laptop.hold));
  put_away(laptop);
}

static void test_wait_over_suspend(Server* server) {
  const Laptop laptop = wake_up(server, 0, true);
  belay_client* other = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(other, "a") == 1);
  suspend_for(kLeaseMs / 3, true);
  CHECK_STATUS(BELAY_OK, belay_release(laptop.client, laptop.hold));
  TAKE(other, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(other);
  put_away(laptop);
}

// ---- Time namespaces: a container whose time since boot is not that of its host

enum { kBootOffset = 1000000, kNamespaceLeaseMs = 600 };

static void live_elsewhere_in_time(Server* server, const Line* parent, int64_t boot_before) {
  struct timespec boot;
  CHECK(clock_gettime(CLOCK_BOOTTIME, &boot) == 0);
  CHECK(boot.tv_sec >= boot_before + kBootOffset);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(kNamespaceLeaseMs));
  const int64_t start = now_ms();
  REFUSED(BELAY_TIMEOUT, belay_lock(client, "theirs", -1, 200, NULL));
  CHECK(now_ms() - start >= 200 && now_ms() - start < scaled(kLimitMs));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "theirs"));
  EVENTUALLY(waiters_of(client, "theirs") == 1);
  say(parent, 1);
  give_back(client, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  STAYS(scaled(2 * kNamespaceLeaseMs), belay_hold_state(client, hold) == BELAY_HOLD_HELD);
  CHECK(belay_hold_remaining_ms(client, hold) <= scaled(kNamespaceLeaseMs));
  say(parent, 2);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);  // at its deadline
  belay_client_free(client);
}

// A process that asks for a time namespace does not enter it, but its children do; and it can have
// no threads any more.
static void send_elsewhere_in_time(Server* server, const Line* parent, int64_t boot_before) {
  CHECK_INT(0, hear(parent));
  if (unshare(CLONE_NEWTIME) != 0) {
    say(parent, -1);
    return;
  }
  FILE* offsets = fopen("/proc/self/timens_offsets", "w");
  CHECK(offsets != NULL);
  CHECK(fprintf(offsets, "boottime %d 0\nmonotonic %d 0\n", kBootOffset, kBootOffset) > 0);
  CHECK(fclose(offsets) == 0);
  const Child child = child_start(server, live_elsewhere_in_time, boot_before);
  say(parent, hear(&child.line));
  say(parent, hear(&child.line));
  child_end(&child);
}

static void test_time_namespace(Server* server) {
  struct timespec boot;
  CHECK(clock_gettime(CLOCK_BOOTTIME, &boot) == 0);
  const Child child = child_start(server, send_elsewhere_in_time, boot.tv_sec);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "theirs", -1, 0, NULL));
  say(&child.line, 0);
  const int64_t said = hear(&child.line);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  if (said > 0) {
    CHECK_INT(2, hear(&child.line));
    server_kill(server);
  } else {
    printf("  left out: this user or kernel has no time namespaces\n");
  }
  child_end(&child);
  belay_client_free(client);
}

const Test host_clock_tests[] = {
    {"Steps of the wall clock change nothing", test_wall_clock},
    {"A client in a time namespace of its own keeps its times", test_time_namespace},
    {"After a suspend past the lease a holder's first call says LOST, before any timer has fired",
     test_call_after_suspend},
    {"After a suspend past the lease the first event is LOST", test_event_after_suspend},
    {"After a suspend within the lease the hold is renewed at once", test_short_suspend},
    {"A wait outlasts a suspend", test_wait_over_suspend},
    {NULL, NULL}};
