// What a neighbour publishes makes nobody believe anything.
#include <stdlib.h>
#include <string.h>

#include "neighbour.h"
#include "support.h"

enum { kEpochs = 4, kAWhileMs = 700 };

static bool has_no_event(belay_client* client) {
  belay_event* event = belay_next(client, 0);
  belay_event_free(event);
  return event == NULL;
}

// Long enough for whatever comes of it, forged again and again.
static void forge_for_a_while(Neighbour* neighbour, const char* name) {
  const int64_t enough_at = now_ms() + kAWhileMs;
  while (now_ms() < enough_at) {
    neighbour_forge_everything(neighbour, name, kEpochs);
  }
}

// A client with some epochs behind it, and what it may be told of them heard by the neighbour.
static belay_client* experienced(const Server* server, Neighbour* neighbour) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  neighbour_listen(neighbour);
  const int64_t first = GRANTED(belay_lock(other, "earlier", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "earlier"));
  EVENTUALLY(waiters_of(other, "earlier") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(other, first));
  give_back(client, TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  belay_client_free(other);
  neighbour_listen(neighbour);
  CHECK(neighbour->heard_count > 0);
  return client;
}

static void test_no_false_hold(Server* server) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* waiter = experienced(server, &neighbour);
  const int64_t held = GRANTED(ACQUIRE(holder, 0, .name = "a", .notify = 1));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 7, -1, .name = "a", .notify = 1));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  forge_for_a_while(&neighbour, "a");
  CHECK(has_no_event(waiter));
  CHECK(has_no_event(holder));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder, held));
  CHECK_INT(1, waiters_of(holder, "a"));
  const int64_t fence = belay_hold_fence(holder, held, 0);
  CHECK_STATUS(BELAY_OK, belay_release(holder, held));
  const int64_t next = TAKE(waiter, BELAY_EVENT_ACQUIRED, 7, BELAY_OK);
  CHECK(belay_hold_fence(waiter, next, 0) > fence);
  forge_for_a_while(&neighbour, "a");
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(waiter, next));
  give_back(waiter, next);
  belay_client_free(waiter);
  belay_client_free(holder);
  neighbour_go(&neighbour);
}

// Neither in the library nor on the server.
static void test_no_false_loss(Server* server) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  belay_client* holder = experienced(server, &neighbour);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t alone = GRANTED(ACQUIRE(holder, 0, .name = "a", .notify = 1));
  const int64_t read = GRANTED(ACQUIRE(holder, 0, .name = "b", .shared = true, .notify = 1));
  const int64_t permit = GRANTED(ACQUIRE(holder, 0, .name = "c", .primitive = BELAY_SEMAPHORE,
                                         .permits = 2, .limit = 2, .notify = 1));
  for (const char* name = "abc"; *name != '\0'; ++name) {
    forge_for_a_while(&neighbour, (char[]){*name, '\0'});
  }
  CHECK(has_no_event(holder));
  const int64_t holds[] = {alone, read, permit};
  for (int i = 0; i < 3; ++i) {
    CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder, holds[i]));
    CHECK_STATUS(BELAY_OK, belay_verify(holder, holds[i], NULL));
  }
  REFUSED(BELAY_BUSY, ACQUIRE(other, 0, .name = "a"));
  REFUSED(BELAY_BUSY, ACQUIRE(other, 0, .name = "b"));
  REFUSED(BELAY_BUSY,
          ACQUIRE(other, 0, .name = "c", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 2));
  for (int i = 0; i < 3; ++i) {
    CHECK_STATUS(BELAY_OK, belay_release(holder, holds[i]));
  }
  belay_client_free(other);
  belay_client_free(holder);
  neighbour_go(&neighbour);
}

static void test_real_break(Server* server) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url, .label = "operator");
  GRANTED(ACQUIRE(holder, 0, .name = "a", .notify = 1));
  forge_for_a_while(&neighbour, "a");
  CHECK_STATUS(BELAY_OK, belay_break(other, "a", -1, 0, NULL));
  belay_event* lost = EVENT(holder, BELAY_EVENT_LOST, 0, BELAY_LOST);
  CHECK_TEXT("broken by", belay_event_message(lost));
  CHECK_TEXT("operator", belay_event_message(lost));
  belay_event_free(lost);
  belay_client_free(other);
  belay_client_free(holder);
  neighbour_go(&neighbour);
}

static void test_no_false_pass(Server* server) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  belay_client* setter = CLIENT(.url = server->url);
  belay_client* waiter = experienced(server, &neighbour);
  const int64_t generation = belay_latch_set(setter, "start", -1, 1, 0, NULL);
  CHECK(generation > 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 7, -1, .name = "start", .primitive = BELAY_LATCH));
  EVENTUALLY(waiters_of(setter, "start") == 1);
  for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    const char* mac = "0123456789abcdef0123456789abcdef01234567";
    neighbour_forge(&neighbour, &(Forgery){6, 3, epoch, generation, mac, "start"});
    neighbour_forge(&neighbour, &(Forgery){6, 3, epoch, generation, NULL, "start"});
  }
  forge_for_a_while(&neighbour, "start");
  CHECK(has_no_event(waiter));
  CHECK_INT(1, belay_latch_count(setter, "start", -1, NULL));
  CHECK_INT(1, waiters_of(setter, "start"));
  CHECK_INT(0, belay_latch_count_down(setter, "start", -1, 1, NULL));
  TAKE(waiter, BELAY_EVENT_ACQUIRED, 7, BELAY_OK);
  belay_client_free(waiter);
  belay_client_free(setter);
  neighbour_go(&neighbour);
}

// A message about one name with the epoch of another, later one.
static void test_places_in_queues_stand(Server* server) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t a = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  const int64_t b = GRANTED(belay_lock(holder, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 2, -1, .name = "b"));
  EVENTUALLY(waiters_of(holder, "a") == 1 && waiters_of(holder, "b") == 1);
  for (int i = 0; i < 20; ++i) {
    neighbour_forge_everything(&neighbour, "a", kEpochs);
    CHECK_INT(1, waiters_of(holder, "a"));
    CHECK_INT(1, waiters_of(holder, "b"));
  }
  CHECK_STATUS(BELAY_OK, belay_release(holder, a));
  give_back(waiter, TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  CHECK_STATUS(BELAY_OK, belay_release(holder, b));
  give_back(waiter, TAKE(waiter, BELAY_EVENT_ACQUIRED, 2, BELAY_OK));
  belay_client_free(waiter);
  belay_client_free(holder);
  neighbour_go(&neighbour);
}

const Test forged_tests[] = {
    {"A forged grant makes no waiter believe", test_no_false_hold},
    {"Nothing forged loses a hold or frees its record", test_no_false_loss},
    {"A break is told of all the same", test_real_break},
    {"A forged message lets nobody pass a latch", test_no_false_pass},
    {"Nothing forged takes a waiter out of its queue", test_places_in_queues_stand},
    {NULL, NULL}};
