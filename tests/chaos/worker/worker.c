// A worker of the chaos suite: takes locks and permits over and over in every way that the API
// offers, writes through two fenced resources while it holds a lock, sets, counts down and awaits a
// latch, and records whatever it calls, gets and is told.
// Several actors, threads with a connection each to the resources, share one client; one more
// thread takes the client's events. Ends in order on SIGTERM.
//
// chaos_worker KEY=VALUE... with url, port and prefix (of the counter's server), table, worker,
//   seed, names, sets (1: also several at once), actors, watchdog, modes (1: also as readers and
//   identities), delay (lock-delay), permits (of a semaphore; 0: none), limits (1: and changes
//   their number), latch (1: also a latch), ttl (1: some with a time to live), and to see that the
//   checks notice: liar (goes on with a hold that it was told is lost), unfenced (the resources
//   take any fence), apart (locks nobody else out), reading (reads where it says that it writes),
//   twice (counts down twice and says once), silent (downgrades, and changes limits, without a
//   word), careless (does without the lock-delay and the time to live that it tells).
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

enum {
  kAsItIsSet = -1,  // a semaphore's limit
  kMaxActors = 8,
  kMaxDepth = 3,
  kMaxNames = 3,
  kRequestTimeoutMs = 1000,
  kTagsPerActor = 1000000000,
  kWholeCount = 1000000000,  // opens any latch
  kLookAgainMs = 200
};

static const char kLatch[] = "l";
static const char kSemaphore[] = "s";
static const char kReaders[] = "r";

typedef struct {
  int number;  // also the owner of its nesting acquires
  uint64_t random;
  int64_t last_tag;
  Resources* resources;
  pthread_t thread;
  int64_t answered;    // guarded by `answers`: the tag that has been answered last
  int64_t answer;      // its hold, 0 where none was granted
  int64_t awaiting;    // guarded by `answers`: the tag by which it awaits the latch; 0: it does not
  int64_t generation;  // guarded by `answers`: of the latch, that it was told last
} Actor;

typedef struct {
  const char* names[kMaxNames];
  int count;
  const char* group;  // of a lock: "" alone, kReaders, else an identity
  // Of a semaphore. 0 permits: all that are free. Limit 0: it is a lock; else the limit, or
  // kAsItIsSet.
  int64_t permits, limit;
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
  char fences[64] = "0";
  for (int i = 0, size = 0; i < kMaxNames && hold > 0; ++i) {
    const int64_t fence = belay_event_fence(event, i);
    if (fence > 0) {
      size += snprintf(fences + size, sizeof fences - (size_t)size, "%s%" PRId64, i == 0 ? "" : ",",
                       fence);
    }
  }
  const int64_t permits = hold > 0 ? belay_event_int(event, BELAY_FIELD_PERMITS) : 0;
  const int64_t in_doubt = event == NULL ? 0 : belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS);
  record(now_ns(), actor,
         "return acquire id=%" PRId64 " status=%s hold=%" PRId64 " fence=%s permits=%" PRId64
         " in_doubt=%" PRId64 " said=%s",
         tag, belay_status_name((int32_t)status), hold, fences, permits, in_doubt,
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
  const int32_t status = belay_submit_acquire(client, tag, request, ask->owner, ask->wait_ms);
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

// Waits for the event itself while its patience lasts, then for the thread that takes events.
static int64_t acquire_within(Actor* actor, int64_t tag, belay_request* request, const Ask* ask) {
  static const int64_t kPatiences[] = {-1, 0, 10, 100};
  belay_event* event = belay_acquire_within(client, tag, request, ask->owner, ask->wait_ms,
                                            kPatiences[below(actor, 4)]);
  if (event == NULL) {
    return await_answer(actor, tag);
  }
  const int32_t status = belay_event_status(event);
  const int64_t hold = status == BELAY_OK ? belay_event_hold(event) : 0;
  record_acquired(actor->number, tag, status, event);
  belay_event_free(event);
  return hold;
}

static int64_t new_tag(Actor* actor) {
  return (int64_t)actor->number * kTagsPerActor + ++actor->last_tag;
}

static belay_request* request_of(const Ask* ask) {
  belay_request* request = belay_request_new(ask->limit != 0 ? BELAY_SEMAPHORE : BELAY_LOCK);
  for (int i = 0; i < ask->count; ++i) {
    if (strcmp(ask->group, kReaders) == 0 || number_of("reading") != 0) {
      belay_request_add_shared_name(request, ask->names[i], -1);
    } else {
      belay_request_add_name(request, ask->names[i], -1);
    }
  }
  if (ask->limit != 0) {
    belay_request_set_permits(request, ask->permits, ask->limit > 0 ? ask->limit : 0);
  } else if (strcmp(ask->group, kReaders) != 0 && ask->group[0] != '\0') {
    belay_request_set_identity(request, ask->group, -1);
  }
  belay_request_set_lease_ms(request, ask->lease_ms);
  belay_request_set_lock_delay_ms(request, number_of("careless") != 0 ? 0 : number_of("delay"));
  belay_request_set_notify(request, 1);
  return request;
}

// Returns a hold, or 0.
static int64_t acquire(Actor* actor, const Ask* ask) {
  belay_request* request = request_of(ask);
  const int64_t tag = new_tag(actor);
  record(now_ns(), actor->number,
         "call acquire id=%" PRId64 " name=%s%s%s%s%s group=%s permits=%" PRId64 " limit=%" PRId64
         " owner=%" PRId64 " lease=%" PRId64 " delay=%d wait=%" PRId64 " cancel=%" PRId64,
         tag, ask->names[0], ask->count > 1 ? "," : "", ask->count > 1 ? ask->names[1] : "",
         ask->count > 2 ? "," : "", ask->count > 2 ? ask->names[2] : "", ask->group, ask->permits,
         ask->limit, ask->owner, ask->lease_ms, number_of("delay"), ask->wait_ms, ask->cancel_ms);
  int64_t hold = 0;
  if (ask->cancel_ms >= 0) {
    hold = submit(actor, tag, request, ask);
  } else if (below(actor, 2) == 0) {
    hold = acquire_within(actor, tag, request, ask);
  } else {
    belay_event* why = NULL;
    hold = belay_acquire(client, request, ask->owner, ask->wait_ms, &why);
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
  const int state = (int)belay_hold_state(client, hold);
  record(at, actor->number, "sample hold id=%" PRId64 " remaining=%" PRId64 " state=%d", hold,
         remaining, state);
  return state != BELAY_HOLD_LOST;
}

// Permits guard no resource: their fences do not exclude.
static void write_once(Actor* actor, const Ask* ask, int64_t hold) {
  if (ask->limit != 0) {
    return;
  }
  static const char* const kOutcomes[] = {"accepted", "refused", "unknown"};
  const bool redis = below(actor, 3) != 0;
  char id[64];
  snprintf(id, sizeof id, "%d.%d.%" PRId64, number_of("worker"), actor->number, ++actor->last_tag);
  const int at = (int)below(actor, ask->count);
  const Write write = {ask->names[at], belay_hold_fence(client, hold, at), id,
                       number_of("unfenced") == 0};
  record(now_ns(), actor->number, "call write id=%s to=%s name=%s hold=%" PRId64 " fence=%" PRId64,
         id, redis ? "redis" : "sqlite", write.name, hold, write.fence);
  const Outcome outcome =
      redis ? write_redis(actor->resources, &write) : write_sqlite(actor->resources, &write);
  record(now_ns(), actor->number, "return write id=%s outcome=%s", id, kOutcomes[outcome]);
}

// A quarter does not wait for the server.
static void release(Actor* actor, int64_t hold) {
  const bool nowait = below(actor, 4) == 0;
  record(now_ns(), actor->number, "call release id=%" PRId64 " nowait=%d", hold, nowait);
  if (nowait) {
    const int32_t told = belay_release_nowait(client, hold);
    record(now_ns(), actor->number, "return release id=%" PRId64 " status=%s", hold,
           belay_status_name(told));
    return;
  }
  belay_event* why = belay_release_within(client, new_tag(actor), hold, -1);
  const int32_t status = belay_event_status(why);
  record(now_ns(), actor->number,
         "return release id=%" PRId64 " status=%s in_doubt=%" PRId64 " said=%s", hold,
         belay_status_name(status), belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS),
         belay_event_message(why));
  belay_event_free(why);
}

// Lets readers in beside it.
static void downgrade(Actor* actor, int64_t hold) {
  const bool says = number_of("silent") == 0;
  if (says) {
    record(now_ns(), actor->number, "call downgrade id=%" PRId64, hold);
  }
  belay_event* why = NULL;
  const int32_t status = belay_downgrade(client, hold, &why);
  if (says) {
    record(now_ns(), actor->number,
           "return downgrade id=%" PRId64 " status=%s in_doubt=%" PRId64 " said=%s", hold,
           belay_status_name(status),
           why == NULL ? 0 : belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS),
           why == NULL ? "" : belay_event_message(why));
  }
  belay_event_free(why);
}

static void work(Actor* actor, const Ask* ask, int64_t hold, int depth);

// Enters again, also to read what it writes. True: has left by now, and only read since.
static bool nest(Actor* actor, const Ask* ask, int64_t hold, int depth) {
  Ask nested = *ask;
  nested.cancel_ms = -1;
  const bool reads = number_of("modes") != 0 && ask->group[0] == '\0' && below(actor, 2) == 0;
  if (reads) {
    nested.group = kReaders;
  }
  const int64_t inner = acquire(actor, &nested);
  if (inner <= 0) {
    return false;
  }
  const bool reads_on = reads && below(actor, 2) == 0;
  if (reads_on) {
    release(actor, hold);
  }
  work(actor, &nested, inner, depth + 1);
  return reads_on;
}

static void work(Actor* actor, const Ask* ask, int64_t hold, int depth) {
  bool held = sample(actor, hold);
  for (int64_t round = below(actor, 4); round > 0 && held; --round) {
    write_once(actor, ask, hold);
    sleep_ms(below(actor, 12));
    held = sample(actor, hold);
  }
  if (ask->owner != 0 && depth < kMaxDepth && below(actor, 3) == 0 &&
      nest(actor, ask, hold, depth)) {
    return;
  }
  const bool writes = ask->group[0] == '\0' && ask->limit == 0;
  if (number_of("modes") != 0 && writes && ask->count == 1 && depth == 1 && held &&
      below(actor, 4) == 0) {
    downgrade(actor, hold);
    held = sample(actor, hold);
  }
  const bool liar = number_of("liar") != 0;
  if (liar || below(actor, 25) == 0) {  // long enough to outlast a fixed lease, or to be renewed
    sleep_ms(300 + below(actor, 1500));
    held = sample(actor, hold);
  }
  if (held || liar) {  // a liar goes on with a hold that it was told is lost
    write_once(actor, ask, hold);
  }
  sample(actor, hold);
  release(actor, hold);
  if (below(actor, 8) == 0) {
    release(actor, hold);
  }
}

// ---- The latch

static void record_told(Actor* actor, const char* what, int64_t tag, int64_t status,
                        const belay_event* event) {
  const int64_t generation = event == NULL ? 0 : belay_event_int(event, BELAY_FIELD_GENERATION);
  if (generation != 0) {
    actor->generation = generation;
  }
  record(now_ns(), actor->number,
         "return %s id=%" PRId64 " status=%s generation=%" PRId64 " left=%" PRId64
         " in_doubt=%" PRId64 " said=%s",
         what, tag, belay_status_name((int32_t)status), generation,
         event == NULL ? 0 : belay_event_int(event, BELAY_FIELD_COUNT),
         event == NULL ? 0 : belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS),
         event == NULL ? "" : belay_event_message(event));
}

static int64_t call_latch(const char* what, int64_t n, int64_t ttl_ms, belay_event** why) {
  if (strcmp(what, "set") == 0) {
    return belay_latch_set(client, kLatch, -1, n, number_of("careless") != 0 ? 0 : ttl_ms, why);
  }
  if (strcmp(what, "count") == 0) {
    return belay_latch_count(client, kLatch, -1, why);
  }
  if (number_of("twice") != 0) {
    belay_latch_count_down(client, kLatch, -1, n, NULL);
  }
  return belay_latch_count_down(client, kLatch, -1, n, why);
}

// Sets the latch to `n`, counts it down by `n`, or asks for its count.
static int64_t ask_latch(Actor* actor, const char* what, int64_t n) {
  static const int64_t kLives[] = {0, 200, 600, 1200};
  const int64_t tag = new_tag(actor);
  const bool lives = number_of("ttl") != 0 && strcmp(what, "set") == 0;
  const int64_t ttl_ms = lives ? kLives[below(actor, 4)] : 0;
  record(now_ns(), actor->number, "call %s id=%" PRId64 " name=%s n=%" PRId64 " ttl=%" PRId64, what,
         tag, kLatch, n, ttl_ms);
  belay_event* why = NULL;
  const int64_t result = call_latch(what, n, ttl_ms, &why);
  pthread_mutex_lock(&answers);
  record_told(actor, what, tag, result < 0 ? -result : BELAY_OK, why);
  pthread_mutex_unlock(&answers);
  belay_event_free(why);
  return result;
}

static bool awaits(Actor* actor) {
  pthread_mutex_lock(&answers);
  const bool awaits = actor->awaiting != 0;
  pthread_mutex_unlock(&answers);
  return awaits;
}

static void stop_awaiting(Actor* actor, int32_t status, const belay_event* event) {
  pthread_mutex_lock(&answers);
  record_told(actor, "await", actor->awaiting, status, event);
  actor->awaiting = 0;
  pthread_cond_broadcast(&answer_came);
  pthread_mutex_unlock(&answers);
}

// Goes on with other work meanwhile. A third waits for the generation that the actor was told last.
static void await_latch(Actor* actor, int64_t wait_ms) {
  belay_request* request = belay_request_new(BELAY_LATCH);
  belay_request_add_name(request, kLatch, -1);
  const int64_t tag = new_tag(actor);
  pthread_mutex_lock(&answers);
  actor->awaiting = tag;
  const int64_t given = below(actor, 3) == 0 ? actor->generation : 0;
  pthread_mutex_unlock(&answers);
  belay_request_set_generation(request, given);
  record(now_ns(), actor->number,
         "call await id=%" PRId64 " name=%s wait=%" PRId64 " given=%" PRId64, tag, kLatch, wait_ms,
         given);
  const int32_t status = belay_submit_acquire(client, tag, request, 0, wait_ms);
  if (status != BELAY_OK) {
    stop_awaiting(actor, status, NULL);
  }
  belay_request_free(request);
}

static void use_latch(Actor* actor) {
  const int64_t count = below(actor, 2) == 0 ? 4 : 15;
  switch (below(actor, 8)) {
    case 0:
      ask_latch(actor, "set", count);
      break;
    case 1:
      ask_latch(actor, "count", 0);
      break;
    case 2:
    case 3:
      if (!awaits(actor)) {
        static const int64_t kWaits[] = {0, 300, -1, -1};
        await_latch(actor, kWaits[below(actor, 4)]);
      }
      break;
    default: {
      const int64_t left = ask_latch(actor, "down", 1 + below(actor, 2));
      if (left == 0 || left == -BELAY_NOT_FOUND) {
        ask_latch(actor, "set", count);
      }
    }
  }
}

// Everybody passes a latch that is open: who would not pass never ends. Not counted down again
// where it is open, as that would tell those who wait once more.
static void pass_latch(Actor* actor) {
  while (awaits(actor)) {
    if (ask_latch(actor, "count", 0) != 0) {
      ask_latch(actor, "down", kWholeCount);
    }
    for (int ms = 0; ms < kLookAgainMs && awaits(actor); ++ms) {
      sleep_ms(1);
    }
  }
}

// ---- The semaphore's limit

static void change_limit(Actor* actor, int64_t limit) {
  const int64_t tag = new_tag(actor);
  const bool says = number_of("silent") == 0;
  if (says) {
    record(now_ns(), actor->number, "call limit id=%" PRId64 " name=%s n=%" PRId64, tag, kSemaphore,
           limit);
  }
  belay_event* why = NULL;
  const int32_t status = belay_semaphore_set_limit(client, kSemaphore, -1, limit, &why);
  if (says) {
    record(now_ns(), actor->number,
           "return limit id=%" PRId64 " status=%s limit=%" PRId64 " in_doubt=%" PRId64 " said=%s",
           tag, belay_status_name(status),
           why == NULL ? 0 : belay_event_int(why, BELAY_FIELD_LIMIT),
           why == NULL ? 0 : belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS),
           why == NULL ? "" : belay_event_message(why));
  }
  belay_event_free(why);
}

// ---- Threads

static void draw_what(Actor* actor, Ask* ask) {
  static const char* const kNames[kMaxNames] = {"a", "b", "c"};
  static const char* const kGroups[] = {"", "", "", "", "r", "r", "r", "r", "ix", "iy"};
  const int names = number_of("names");
  const int64_t first = below(actor, names);
  ask->count =
      number_of("sets") != 0 && below(actor, 2) == 0 ? 2 + (int)below(actor, names - 1) : 1;
  const int64_t step = 1 + below(actor, 2);  // in either direction
  for (int i = 0; i < ask->count; ++i) {
    ask->names[i] = kNames[(first + i * step) % names];
  }
  ask->group = "";
  const int limit = number_of("permits");
  if (limit > 0 && below(actor, 3) == 0) {
    ask->names[0] = kSemaphore;
    ask->count = 1;
    ask->limit = number_of("limits") != 0 ? kAsItIsSet : limit;
    ask->permits = below(actor, limit + 1);
    return;
  }
  ask->owner = below(actor, 2) == 0 ? 0 : actor->number;
  if (number_of("modes") != 0) {
    ask->group = kGroups[below(actor, 10)];
  }
}

static Ask draw(Actor* actor) {
  static const int64_t kLeases[] = {0, 0, 0, 300, 800, 1500};
  Ask ask = {.cancel_ms = -1};
  draw_what(actor, &ask);
  if (ask.limit != 0 && ask.permits == 0) {
    return ask;  // all that are free: a try
  }
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
  const bool limits = number_of("limits") != 0;
  if (limits) {
    change_limit(actor, number_of("permits"));
  }
  while (!stopping) {
    if (limits && below(actor, 8) == 0) {
      change_limit(actor, 1 + below(actor, number_of("permits")));
    }
    if (number_of("latch") != 0 && below(actor, 3) == 0) {
      use_latch(actor);
    }
    const Ask ask = draw(actor);
    const int64_t hold = acquire(actor, &ask);
    if (hold > 0) {
      work(actor, &ask, hold, 1);
    }
    sleep_ms(below(actor, 15));
  }
  if (limits) {  // so that everybody gets the permits that they wait for
    change_limit(actor, number_of("permits"));
  }
  pass_latch(actor);
  resources_close(actor->resources);
  return NULL;
}

static void answer(const belay_event* event) {
  const int64_t tag = belay_event_tag(event);
  Actor* actor = &actors[tag / kTagsPerActor];
  pthread_mutex_lock(&answers);
  const bool of_latch = tag == actor->awaiting;
  pthread_mutex_unlock(&answers);
  if (of_latch) {
    stop_awaiting(actor, belay_event_status(event), event);
    return;
  }
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
    static const char* const kNews[] = {"LOST", "AT_RISK", "RECOVERED"};
    const int32_t kind = belay_event_kind(event);
    if (kind == BELAY_EVENT_ACQUIRED) {
      answer(event);
    } else if (kind >= BELAY_EVENT_LOST && kind <= BELAY_EVENT_RECOVERED) {
      record(now_ns(), 0, "told hold id=%" PRId64 " news=%s remaining=%" PRId64 " said=%s",
             belay_event_hold(event), kNews[kind - BELAY_EVENT_LOST],
             belay_event_int(event, BELAY_FIELD_REMAINING_MS), belay_event_message(event));
    } else {
      record(now_ns(), 0, "told client id=0 news=%d", kind);
    }
    belay_event_free(event);
    if (kind == BELAY_EVENT_END) {
      return NULL;
    }
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
