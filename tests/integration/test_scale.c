// Very many holds of one client, and what may strike all of them at once. Bounds of time mean
// "hung"; tests/bench measures. BELAY_TEST_HOLDS=100000 takes as many.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

enum { kFewHolds = 20000, kFlights = 1000, kLeaseMs = 60000, kLongestCallMs = 2000 };

typedef struct Caller {
  belay_client* client;
  int64_t hold;
  pthread_t thread;
  _Atomic(bool) ended;
  int64_t longest_ms;  // of a call that asks the server for nothing
} Caller;

typedef struct Holder {
  belay_client* client;
  int64_t* holds;
  int count;
  Caller caller;
} Holder;

static void* call_over_and_over(void* argument) {
  Caller* caller = argument;
  while (!atomic_load(&caller->ended)) {
    const int64_t start = now_ms();
    belay_hold_state(caller->client, caller->hold);
    const int64_t took = now_ms() - start;
    caller->longest_ms = took > caller->longest_ms ? took : caller->longest_ms;
    nap();
  }
  return NULL;
}

// Until each hold is vouched for by an answer to what was asked from `since_ms` on.
static void await_checks(const Holder* holder, int64_t since_ms) {
  const int64_t vouched = kLeaseMs - kLeaseMs / 100 - 15;
  for (int i = 0; i < holder->count; ++i) {
    EVENTUALLY(belay_hold_remaining_ms(holder->client, holder->holds[i]) >=
               vouched - (now_ms() - since_ms));
    CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder->client, holder->holds[i]));
  }
}

static Holder take_very_many(const Server* server) {
  const char* wanted = getenv("BELAY_TEST_HOLDS");
  Holder holder = {.count = wanted != NULL ? atoi(wanted) : kFewHolds};
  holder.client =
      CLIENT(.url = server->url, .watchdog_lease_ms = kLeaseMs, .max_pending = 2 * kFlights);
  holder.holds = calloc((size_t)holder.count, sizeof *holder.holds);
  int asked = 0;
  for (int had = 0; had < holder.count; ++had) {
    for (; asked < holder.count && asked - had < kFlights; ++asked) {
      char name[32];
      snprintf(name, sizeof name, "n%d", asked);
      CHECK_STATUS(BELAY_OK, SUBMIT(holder.client, asked + 1, -1, .name = name, .notify = 1));
    }
    belay_event* event = belay_next(holder.client, scaled(kLimitMs));
    CHECK(event != NULL);
    CHECK_STATUS(BELAY_OK, belay_event_status(event));
    holder.holds[had] = belay_event_hold(event);
    belay_event_free(event);
  }
  await_checks(&holder, now_ms());  // by its first renewal, from which on it is watched
  return holder;
}

static void begin_calls(Holder* holder) {
  holder->caller.client = holder->client;
  holder->caller.hold = holder->holds[0];
  CHECK(pthread_create(&holder->caller.thread, NULL, call_over_and_over, &holder->caller) == 0);
}

// Nothing was told of but what was awaited, and no call has waited for all of that.
static void end(Holder* holder) {
  atomic_store(&holder->caller.ended, true);
  pthread_join(holder->caller.thread, NULL);
  CHECK(holder->caller.longest_ms < scaled(kLongestCallMs));
  CHECK(belay_next(holder->client, 0) == NULL);
  belay_client_free(holder->client);
  free(holder->holds);
}

static void await_losses(const Holder* holder) {
  for (int i = 0; i < holder->count; ++i) {
    TAKE(holder->client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  }
}

static void test_flush(Server* server) {
  Holder holder = take_very_many(server);
  begin_calls(&holder);
  server_tell(server, "FLUSHALL", NULL);
  await_losses(&holder);
  end(&holder);
}

static void test_deletion(Server* server) {
  Holder holder = take_very_many(server);
  begin_calls(&holder);
  server_ask(server, "EVAL",
             "local cursor = '0' "
             "repeat "
             "  local found = redis.call('SCAN', cursor, 'MATCH', 'belay:r:*', 'COUNT', 1000) "
             "  cursor = found[1] "
             "  for _, key in ipairs(found[2]) do redis.call('DEL', key) end "
             "until cursor == '0'",
             "0", NULL);
  await_losses(&holder);
  end(&holder);
}

static void test_restart_without_data(Server* server) {
  Holder holder = take_very_many(server);
  begin_calls(&holder);
  server_kill(server);
  server_start(server);
  await_losses(&holder);
  end(&holder);
}

static void test_restart_with_data(Server* server) {
  Holder holder = take_very_many(server);
  begin_calls(&holder);
  server_tell(server, "SAVE", NULL);
  const int64_t fault = now_ms();
  server_kill(server);
  server_start(server);
  await_checks(&holder, fault);
  end(&holder);
}

static void test_cut(Server* server) {
  Holder holder = take_very_many(server);
  begin_calls(&holder);
  const int64_t fault = now_ms();
  server_cut_clients(server);
  await_checks(&holder, fault);
  end(&holder);
}

const Test scale_tests[] = {
    {"FLUSHALL loses very many holds in no time that means hung", test_flush},
    {"Very many records that are deleted are LOST in no time that means hung", test_deletion},
    {"A restart without data loses very many holds in no time that means hung",
     test_restart_without_data},
    {"A restart with data loses none of very many holds", test_restart_with_data},
    {"A cut loses none of very many holds", test_cut},
    {NULL, NULL}};
