// A worker of the chaos suite: takes locks over and over in every way that the API offers, writes
// through two fenced resources while it holds, and records whatever it calls, gets and is told.
// Several actors, threads with a connection each to the resources, share one client; one more
// thread takes the client's events. Ends in order on SIGTERM.
//
// chaos_worker KEY=VALUE... with url, port and prefix (of the counter's server), table, worker,
//   seed, names, actors, watchdog, and to see that the checks notice: liar (goes on with a hold
//   that it was told is lost), unfenced (the resources take any fence), apart (locks nobody else
//   out).
// chaos_worker dump=TABLE prints what a table took.
#include <belay/belay.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "resource.h"

enum { kMaxActors = 8, kMaxDepth = 3, kRequestTimeoutMs = 1000, kTagsPerActor = 1000000000 };

typedef struct {
  int number;  // also the owner of its nesting acquires
  uint64_t random;
  int64_t last_tag;
  Resources* resources;
  pthread_t thread;
  int64_t answered;  // guarded by `answers`: the tag that has been answered last
  int64_t answer;    // its hold, 0 where none was granted
} Actor;

typedef struct {
  const char* name;
  int64_t owner, lease_ms, wait_ms;
  int64_t cancel_ms;  // < 0: a blocking call; else submitted, and cancelled after that
} Ask;

static char** arguments;
static belay_client* client;
static Actor actors[kMaxActors + 1];  // actor 0 is the thread that takes events
static pthread_mutex_t answers = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answer_came = PTHREAD_COND_INITIALIZER;
static atomic_int stopping;  // set by the signal, read by every actor

static void stop(int signal_number) {
  (void)signal_number;
  stopping = 1;
}

static const char* argument(const char* key, const char* otherwise) {
  const size_t size = strlen(key);
  for (char** word = arguments; *word != NULL; ++word) {
    if (strncmp(*word, key, size) == 0 && (*word)[size] == '=') {
      return *word + size + 1;
    }
  }
  return otherwise;
}

static int number_of(const char* key) {
  return atoi(argument(key, "0"));
}

static void sleep_ms(int64_t ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int64_t below(Actor* actor, int64_t limit) {
  actor->random = actor->random * 6364136223846793005U + 1442695040888963407U;
  return (int64_t)((actor->random >> 33) % (uint64_t)limit);
}

// ---- Acquire

static void record_acquired(int actor, int64_t tag, int64_t status, const belay_event* event) {
  const int64_t hold = event == NULL ? 0 : belay_event_hold(event);
  const int64_t fence = hold > 0 ? belay_event_fence(event, 0) : 0;
  const int64_t in_doubt = event == NULL ? 0 : belay_event_in_doubt_ms(event);
  record(now_ns(), actor,
         "return acquire id=%" PRId64 " status=%s hold=%" PRId64 " fence=%" PRId64
         " in_doubt=%" PRId64 " said=%s",
         tag, belay_status_name((int32_t)status), hold, fence, in_doubt,
         event == NULL ? "" : belay_event_message(event));
}

static int64_t await_answer(Actor* actor, int64_t tag) {
  pthread_mutex_lock(&answers);
  while (actor->answered != tag) {
    pthread_cond_wait(&answer_came, &answers);
  }
  const int64_t hold = actor->answer;
  pthread_mutex_unlock(&answers);
  return hold;
}

static int64_t submit(Actor* actor, int64_t tag, belay_request* request, const Ask* ask) {
  const int32_t status = belay_submit_acquire(client, tag, request, ask->wait_ms);
  if (status != BELAY_OK) {
    record_acquired(actor->number, tag, status, NULL);
    return 0;
  }
  sleep_ms(ask->cancel_ms);
  const int32_t cancelled = belay_cancel(client, tag);
  record(now_ns(), actor->number, "cancel acquire id=%" PRId64 " status=%s", tag,
         belay_status_name(cancelled));
  return await_answer(actor, tag);
}

// Returns a hold, or 0.
static int64_t acquire(Actor* actor, const Ask* ask) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, ask->name, -1);
  belay_request_set_owner(request, ask->owner);
  belay_request_set_lease_ms(request, ask->lease_ms);
  belay_request_set_notify(request, 1);
  const int64_t tag = (int64_t)actor->number * kTagsPerActor + ++actor->last_tag;
  record(now_ns(), actor->number,
         "call acquire id=%" PRId64 " name=%s owner=%" PRId64 " lease=%" PRId64 " wait=%" PRId64
         " cancel=%" PRId64,
         tag, ask->name, ask->owner, ask->lease_ms, ask->wait_ms, ask->cancel_ms);
  int64_t hold = 0;
  if (ask->cancel_ms >= 0) {
    hold = submit(actor, tag, request, ask);
  } else {
    belay_event* why = NULL;
    hold = belay_acquire(client, request, ask->wait_ms, &why);
    record_acquired(actor->number, tag, hold > 0 ? BELAY_OK : -hold, why);
    belay_event_free(why);
  }
  belay_request_free(request);
  return hold > 0 ? hold : 0;
}

// ---- While it is held

// Records for how long the hold is vouched for, counted from before the question. False: it is
// lost.
static bool sample(Actor* actor, int64_t hold) {
  const int64_t at = now_ns();
  const int64_t remaining = belay_hold_remaining_ms(client, hold);
  const int32_t state = belay_hold_state(client, hold);
  record(at, actor->number, "sample hold id=%" PRId64 " remaining=%" PRId64 " state=%d", hold,
         remaining, state);
  return state != BELAY_HOLD_LOST;
}

static void write_once(Actor* actor, const char* name, int64_t hold) {
  static const char* const kOutcomes[] = {"accepted", "refused", "unknown"};
  const bool redis = below(actor, 3) != 0;
  char id[64];
  snprintf(id, sizeof id, "%d.%d.%" PRId64, number_of("worker"), actor->number, ++actor->last_tag);
  const Write write = {name, belay_hold_fence(client, hold, 0), id, number_of("unfenced") == 0};
  record(now_ns(), actor->number, "call write id=%s to=%s name=%s hold=%" PRId64 " fence=%" PRId64,
         id, redis ? "redis" : "sqlite", name, hold, write.fence);
  const Outcome outcome =
      redis ? write_redis(actor->resources, &write) : write_sqlite(actor->resources, &write);
  record(now_ns(), actor->number, "return write id=%s outcome=%s", id, kOutcomes[outcome]);
}

static void release(Actor* actor, int64_t hold) {
  record(now_ns(), actor->number, "call release id=%" PRId64, hold);
  belay_event* why = NULL;
  const int32_t status = belay_release_why(client, hold, &why);
  record(now_ns(), actor->number,
         "return release id=%" PRId64 " status=%s in_doubt=%" PRId64 " said=%s", hold,
         belay_status_name(status), why == NULL ? 0 : belay_event_in_doubt_ms(why),
         why == NULL ? "" : belay_event_message(why));
  belay_event_free(why);
}

static void work(Actor* actor, const Ask* ask, int64_t hold, int depth) {
  bool held = sample(actor, hold);
  for (int64_t round = below(actor, 4); round > 0 && held; --round) {
    write_once(actor, ask->name, hold);
    sleep_ms(below(actor, 12));
    held = sample(actor, hold);
  }
  if (ask->owner != 0 && depth < kMaxDepth && below(actor, 3) == 0) {
    Ask nested = *ask;
    nested.cancel_ms = -1;
    const int64_t inner = acquire(actor, &nested);
    if (inner > 0) {
      work(actor, &nested, inner, depth + 1);
    }
  }
  const bool liar = number_of("liar") != 0;
  if (liar || below(actor, 25) == 0) {  // long enough to outlast a fixed lease, or to be renewed
    sleep_ms(300 + below(actor, 1500));
    held = sample(actor, hold);
  }
  if (held || liar) {  // a liar goes on with a hold that it was told is lost
    write_once(actor, ask->name, hold);
  }
  sample(actor, hold);
  release(actor, hold);
  if (below(actor, 8) == 0) {
    release(actor, hold);
  }
}

// ---- Threads

static Ask draw(Actor* actor) {
  static const char* const kNames[] = {"a", "b", "c"};
  static const int64_t kLeases[] = {0, 0, 0, 300, 800, 1500};
  Ask ask = {kNames[below(actor, number_of("names"))], 0, 0, 0, -1};
  ask.owner = below(actor, 2) == 0 ? 0 : actor->number;
  ask.lease_ms = kLeases[below(actor, 6)];
  switch (below(actor, 6)) {
    case 0:
      break;  // a try
    case 1:
      ask.wait_ms = -1;
      ask.cancel_ms = below(actor, 60);
      break;
    case 2:
    case 3:
      ask.wait_ms = 50 + below(actor, 800);
      break;
    default:
      ask.wait_ms = -1;
  }
  return ask;
}

static void* act(void* pointer) {
  Actor* actor = pointer;
  actor->resources =
      resources_open(number_of("port"), argument("prefix", ""), argument("table", ""));
  while (!stopping) {
    const Ask ask = draw(actor);
    const int64_t hold = acquire(actor, &ask);
    if (hold > 0) {
      work(actor, &ask, hold, 1);
    }
    sleep_ms(below(actor, 15));
  }
  resources_close(actor->resources);
  return NULL;
}

static void answer(const belay_event* event) {
  const int64_t tag = belay_event_tag(event);
  Actor* actor = &actors[tag / kTagsPerActor];
  record_acquired(actor->number, tag, belay_event_status(event), event);
  pthread_mutex_lock(&answers);
  actor->answered = tag;
  actor->answer = belay_event_status(event) == BELAY_OK ? belay_event_hold(event) : 0;
  pthread_cond_broadcast(&answer_came);
  pthread_mutex_unlock(&answers);
}

static void* take_events(void* nothing) {
  (void)nothing;
  for (;;) {
    belay_event* event = belay_next(client, -1);
    if (event == NULL) {
      return NULL;
    }
    static const char* const kNews[] = {"LOST", "AT_RISK", "RECOVERED"};
    const int32_t kind = belay_event_kind(event);
    if (kind == BELAY_EVENT_ACQUIRED) {
      answer(event);
    } else if (kind >= BELAY_EVENT_LOST && kind <= BELAY_EVENT_RECOVERED) {
      record(now_ns(), 0, "told hold id=%" PRId64 " news=%s remaining=%" PRId64 " said=%s",
             belay_event_hold(event), kNews[kind - BELAY_EVENT_LOST],
             belay_event_remaining_ms(event), belay_event_message(event));
    } else {
      record(now_ns(), 0, "told client id=0 news=%d", kind);
    }
    belay_event_free(event);
  }
}

static void connect_client(void) {
  belay_options* options = belay_options_new();
  belay_options_set_url(options, argument("url", ""));
  belay_options_set_watchdog_lease_ms(options, number_of("watchdog"));
  belay_options_set_request_timeout_ms(options, kRequestTimeoutMs);
  if (number_of("apart") != 0) {
    belay_options_set_prefix(options, argument("worker", ""));
  }
  client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "no client: %s\n", belay_options_error(options));
    exit(1);
  }
  belay_options_free(options);
}

int main(int argc, char** argv) {
  arguments = argv + 1;
  if (argc == 2 && argument("dump", NULL) != NULL) {
    return print_table(argument("dump", NULL));
  }
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  connect_client();
  pthread_create(&actors[0].thread, NULL, take_events, NULL);
  const int count = number_of("actors");
  for (int i = 1; i <= count && i <= kMaxActors; ++i) {
    actors[i].number = i;
    actors[i].random = (uint64_t)number_of("seed") * 7919U + (uint64_t)i;
    pthread_create(&actors[i].thread, NULL, act, &actors[i]);
  }
  for (int i = 1; i <= count && i <= kMaxActors; ++i) {
    pthread_join(actors[i].thread, NULL);
  }
  belay_client_shutdown(client);
  pthread_join(actors[0].thread, NULL);
  belay_client_free(client);
  record(now_ns(), 0, "ended worker id=0");
  return 0;
}
