// Readers and writers of one name: who is in together, who waits for whom, and what becomes of the
// holds of readers.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"
#include "proxy.h"
#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

#define READ(client, wait_ms) ACQUIRE((client), (wait_ms), .name = "a", .shared = true)
#define WRITE(client, wait_ms) ACQUIRE((client), (wait_ms), .name = "a")
#define SUBMIT_READ(client, tag) SUBMIT((client), (tag), -1, .name = "a", .shared = true)
#define SUBMIT_WRITE(client, tag) SUBMIT((client), (tag), -1, .name = "a")

static int64_t take_fence_soon(belay_client* client, int64_t* fence) {
  belay_event* event = GRANT_SOON(client, 1);
  *fence = belay_event_fence(event, 0);
  CHECK(*fence > 0);
  return event_end(event);
}

// ---- Who is in together

static void test_together(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t first = GRANTED(READ(clients[0], 0));
  const int64_t second = GRANTED(READ(clients[0], 0));
  const int64_t third = GRANTED(READ(clients[1], 0));
  const int64_t fence = belay_hold_fence(clients[0], first, 0);
  CHECK_INT(fence, belay_hold_fence(clients[0], second, 0));
  CHECK_INT(fence, belay_hold_fence(clients[1], third, 0));
  CHECK_INT(2, holders_of(clients[2], "a"));
  for (int i = 0; i < 3; ++i) {
    REFUSED(BELAY_BUSY, WRITE(clients[i], 0));
    REFUSED(BELAY_TIMEOUT, WRITE(clients[i], 30));
  }
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], first));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], third));
  REFUSED(BELAY_BUSY, WRITE(clients[2], 0));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], second));
  const int64_t writer = GRANTED(WRITE(clients[2], 0));
  CHECK(belay_hold_fence(clients[2], writer, 0) > fence);
  for (int i = 0; i < 3; ++i) {
    REFUSED(BELAY_BUSY, READ(clients[i], 0));
    REFUSED(BELAY_TIMEOUT, READ(clients[i], 30));
  }
  EVENTUALLY(waiters_of(clients[2], "a") == 0);
  CHECK_STATUS(BELAY_OK, belay_release(clients[2], writer));
  free_clients(clients, 3);
}

static void test_tries_together(Server* server) {
  enum { kTries = 20 };

  belay_client* client = CLIENT(.url = server->url);
  for (int64_t tag = 1; tag <= kTries; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, 0, .name = "a", .shared = true));
  }
  for (int64_t tag = 1; tag <= kTries; ++tag) {
    TAKE(client, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
  }
  belay_client_free(client);
}

static void test_tries_against_a_writer(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t writer = GRANTED(WRITE(clients[0], 0));
  for (int64_t tag = 1; tag <= 5; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(clients[1], tag, tag == 3 ? -1 : 0, .name = "a", .shared = true));
  }
  for (int64_t tag = 1; tag <= 5; ++tag) {
    if (tag != 3) {
      TAKE(clients[1], BELAY_EVENT_ACQUIRED, tag, BELAY_BUSY);
    }
  }
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], writer));
  TAKE(clients[1], BELAY_EVENT_ACQUIRED, 3, BELAY_OK);
  free_clients(clients, 2);
}

// Also late in the lease of the first: the second brings a lease of its own.
static void test_join_late(Server* server) {
  const int64_t lease = scaled(1500);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t first = GRANTED(ACQUIRE(client, 0, .name = "a", .shared = true, .lease_ms = lease));
  EVENTUALLY(belay_hold_remaining_ms(client, first) < 40);
  const int64_t second =
      GRANTED(ACQUIRE(client, 0, .name = "a", .shared = true, .lease_ms = lease));
  CHECK(belay_hold_remaining_ms(client, second) > lease / 2);
  EVENTUALLY(belay_hold_state(client, first) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_OK, belay_verify(client, second, NULL));
  belay_client_free(client);
}

static void test_readers_seen(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t hold = GRANTED(READ(clients[0], 0));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[2], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 2);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(clients[0], "a", -1, &event));
  CHECK_INT(3, belay_event_int(event, BELAY_FIELD_MEMBERS));
  const int64_t shared[] = {1, 0, 1};
  for (int32_t i = 0; i < 3; ++i) {
    CHECK_INT(i == 0 ? BELAY_ROLE_HOLDER : BELAY_ROLE_WAITER,
              belay_event_member_int(event, i, BELAY_MEMBER_ROLE));
    CHECK_INT(shared[i], belay_event_member_int(event, i, BELAY_MEMBER_SHARED));
  }
  CHECK_INT(belay_hold_fence(clients[0], hold, 0),
            belay_event_member_int(event, 0, BELAY_MEMBER_FENCE));
  belay_event_free(event);
  free_clients(clients, 3);
}

// ---- Whose turn it is

static void test_fifo(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t reader = GRANTED(READ(clients[0], 0));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[2], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 2);
  REFUSED(BELAY_BUSY, READ(clients[2], 0));
  CHECK(belay_next(clients[1], 0) == NULL && belay_next(clients[2], 0) == NULL);
  const int64_t fence = belay_hold_fence(clients[0], reader, 0);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], reader));
  int64_t second_fence = 0;
  const int64_t writer = take_fence_soon(clients[1], &second_fence);
  CHECK(second_fence > fence);
  CHECK_STATUS(BELAY_OK, belay_verify(clients[1], writer, NULL));
  CHECK(belay_next(clients[2], 0) == NULL);
  give_back(clients[1], writer);
  int64_t third_fence = 0;
  take_fence_soon(clients[2], &third_fence);
  CHECK(third_fence > second_fence);
  free_clients(clients, 3);
}

static void test_fifo_in_a_client(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t reader = GRANTED(READ(client, 0));
  for (int64_t tag = 1; tag <= 6; ++tag) {  // two writers, then two readers, a writer, a reader
    const bool writes = tag <= 2 || tag == 5;
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a", .shared = !writes));
  }
  REFUSED(BELAY_BUSY, READ(client, 0));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, reader));
  for (int64_t tag = 1; tag <= 2; ++tag) {
    const int64_t writer = TAKE(client, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
    CHECK(belay_next(client, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_release(client, writer));
  }
  const int64_t third = TAKE(client, BELAY_EVENT_ACQUIRED, 3, BELAY_OK);
  const int64_t fourth = TAKE(client, BELAY_EVENT_ACQUIRED, 4, BELAY_OK);
  CHECK_INT(belay_hold_fence(client, third, 0), belay_hold_fence(client, fourth, 0));
  CHECK_STATUS(BELAY_OK, belay_release(client, third));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, fourth));
  const int64_t fifth = TAKE(client, BELAY_EVENT_ACQUIRED, 5, BELAY_OK);
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, fifth));
  TAKE(client, BELAY_EVENT_ACQUIRED, 6, BELAY_OK);
  belay_client_free(client);
}

// Of so many that one script does not grant them all; then a writer, and a reader behind it.
// With so many threads, some may take up their grants too late: then nothing is shown, and false
// is returned.
static bool let_in_adjacent_readers(Server* server) {
  enum { kReaders = 70, kClients = kReaders + 3 };

  belay_client* clients[kClients];
  make_clients(server, clients, kClients);
  belay_client* holder = clients[kReaders];
  belay_client* writer = clients[kReaders + 1];
  belay_client* last = clients[kReaders + 2];
  const int64_t hold = GRANTED(WRITE(holder, 0));
  for (int i = 0; i < kReaders; ++i) {
    CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[i], 1));
  }
  EVENTUALLY(waiters_of(holder, "a") == kReaders);
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(writer, 1));
  EVENTUALLY(waiters_of(holder, "a") == kReaders + 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(last, 1));
  EVENTUALLY(waiters_of(holder, "a") == kReaders + 2);
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  int64_t holds[kReaders];
  int64_t fence = 0;
  bool in_time = true;
  for (int i = 0; i < kReaders && in_time; ++i) {
    belay_event* event = belay_next(clients[i], scaled(kLessThanAPollMs));
    fence = i == 0 ? belay_event_fence(event, 0) : fence;
    in_time = belay_event_fence(event, 0) == fence && fence > 0;
    holds[i] = belay_event_hold(event);
    belay_event_free(event);
  }
  for (int i = 0; i < kReaders && in_time; ++i) {
    in_time = belay_verify(clients[i], holds[i], NULL) == BELAY_OK;
  }
  for (int i = 0; i < kReaders && in_time; ++i) {
    CHECK(belay_next(writer, 0) == NULL);
    CHECK(belay_next(last, 0) == NULL);
    CHECK_STATUS(BELAY_OK, belay_release(clients[i], holds[i]));
  }
  if (in_time) {
    const int64_t written = TAKE(writer, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    CHECK(belay_next(last, 0) == NULL);
    give_back(writer, written);
    TAKE(last, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  }
  free_clients(clients, kClients);
  return in_time;
}

static void test_adjacent_readers(Server* server) {
  for (int attempt = 0; !let_in_adjacent_readers(server); ++attempt) {
    CHECK(attempt < 30);
  }
}

// More than one call of the script lets in.
static void test_break_for_many_readers(Server* server) {
  enum { kReaders = 70, kClients = kReaders + 1 };

  belay_client* clients[kClients];
  make_clients(server, clients, kClients);
  belay_client* writer = clients[kReaders];
  const int64_t hold = GRANTED(WRITE(writer, 0));
  for (int i = 0; i < kReaders; ++i) {
    CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[i], 1));
  }
  EVENTUALLY(waiters_of(writer, "a") == kReaders);
  belay_event* broken = NULL;
  CHECK_STATUS(BELAY_OK, belay_break(writer, "a", -1, 0, &broken));
  CHECK_INT(1, belay_event_int(broken, BELAY_FIELD_TOTAL));
  belay_event_free(broken);
  int64_t fence = 0;
  for (int i = 0; i < kReaders; ++i) {
    CHECK(take_fence_soon(clients[i], &fence) > 0);
  }
  CHECK_STATUS(BELAY_LOST, belay_release(writer, hold));
  free_clients(clients, kClients);
}

// ---- Nobody starves

// The client that reads goes on letting readers in beside each other for a moment, until it hears
// of the writer.
static void test_writer_beside_local_readers(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  for (int round = 0; round < 5; ++round) {
    int64_t last = GRANTED(READ(clients[0], -1));
    CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
    EVENTUALLY(waiters_of(clients[1], "a") == 1);
    const int64_t give_up_at = now_ms() + scaled(kLessThanAPollMs);
    int64_t next = 0;
    while ((next = READ(clients[0], 0)) > 0) {  // there is always one
      CHECK(now_ms() < give_up_at);
      CHECK_STATUS(BELAY_OK, belay_release(clients[0], last));
      last = next;
    }
    CHECK_INT(BELAY_BUSY, -next);
    CHECK_STATUS(BELAY_OK, belay_release(clients[0], last));
    give_back(clients[1], take_soon(clients[1], 1));
  }
  free_clients(clients, 2);
}

static void test_reader_among_writers(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  int64_t hold = GRANTED(WRITE(clients[0], 0));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[2], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 2);
  give_back(clients[0], hold);
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[0], 1));
  hold = take_soon(clients[1], 1);
  EVENTUALLY(waiters_of(clients[1], "a") == 2);
  give_back(clients[1], hold);
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  hold = take_soon(clients[2], 1);
  CHECK(belay_next(clients[0], 0) == NULL);
  give_back(clients[2], hold);
  give_back(clients[0], take_soon(clients[0], 1));
  free_clients(clients, 3);
}

static Crowd* crowd;

enum { kRoom = 1000 };  // a writer fills it

typedef struct Visitor {
  belay_client* client;
  int place;
  int rounds;  // 0: until told to stop
  _Atomic(bool) stop;
} Visitor;

static void* keep_reading(void* argument) {
  Visitor* visitor = argument;
  while (!visitor->stop) {
    crowd_pass(crowd, visitor->place, 1, visitor->client, GRANTED(READ(visitor->client, -1)));
  }
  return NULL;
}

// Four readers who overlap all the time, in two clients; the writer is in a third one or in theirs.
static void test_writer_among_readers(Server* server) {
  enum { kReaders = 4 };

  crowd = crowd_new(kRoom);
  belay_client* clients[3];
  make_clients(server, clients, 3);
  Visitor visitors[kReaders];
  pthread_t threads[kReaders];
  for (int i = 0; i < kReaders; ++i) {
    visitors[i] = (Visitor){.client = clients[i % 2], .place = i};
    CHECK(pthread_create(&threads[i], NULL, keep_reading, &visitors[i]) == 0);
  }
  for (int round = 0; round < 20; ++round) {
    belay_client* writer = clients[round % 3];
    const int64_t start = now_ms();
    crowd_pass(crowd, kReaders, kRoom, writer, GRANTED(WRITE(writer, -1)));
    CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  }
  for (int i = 0; i < kReaders; ++i) {
    visitors[i].stop = true;
  }
  for (int i = 0; i < kReaders; ++i) {
    pthread_join(threads[i], NULL);
  }
  crowd_check(crowd);
  free_clients(clients, 3);
}

// ---- Processes

static void* read_and_write(void* argument) {
  const Visitor* visitor = argument;
  for (int i = 0; i < visitor->rounds; ++i) {
    const bool writes = (i + visitor->place) % 5 == 0;
    const int64_t hold = GRANTED(writes ? WRITE(visitor->client, -1) : READ(visitor->client, -1));
    crowd_pass(crowd, visitor->place, writes ? kRoom : 1, visitor->client, hold);
  }
  return NULL;
}

enum { kProcesses = 4, kThreads = 4, kRoundsAThread = 50 };

static void compete(Server* server, const Line* parent, int64_t number) {
  hear(parent);
  belay_client* client = CLIENT(.url = server->url);
  Visitor visitors[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    visitors[i] =
        (Visitor){.client = client, .place = (int)number * kThreads + i, .rounds = kRoundsAThread};
    CHECK(pthread_create(&threads[i], NULL, read_and_write, &visitors[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
  }
  belay_client_free(client);
}

static void test_exclusion(Server* server) {
  crowd = crowd_new(kRoom);
  Child children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = child_start(server, compete, i);
  }
  for (int i = 0; i < kProcesses; ++i) {
    say(&children[i].line, 0);
  }
  for (int i = 0; i < kProcesses; ++i) {
    child_end(&children[i]);
  }
  CHECK_INT(kProcesses * kThreads * kRoundsAThread, crowd->visits);
  crowd_check(crowd);
}

static void read_in_child(Server* server, const Line* parent, int64_t lease_ms) {
  hear(parent);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease_ms);
  const int64_t hold = GRANTED(READ(client, -1));
  say(parent, belay_hold_fence(client, hold, 0));
  hear(parent);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_reader_stopped_while_it_waits(Server* server) {
  const Child child = child_start(server, read_in_child, kLongLeaseMs);
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t hold = GRANTED(WRITE(clients[0], 0));
  say(&child.line, 0);
  EVENTUALLY(waiters_of(clients[0], "a") == 1);
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[1], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 2);
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[2], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 3);
  child_pause(&child);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  give_back(clients[1], take_soon(clients[1], 1));
  give_back(clients[2], take_soon(clients[2], 1));
  child_continue(&child);  // its grant has lapsed: it asks again
  hear(&child.line);
  say(&child.line, 0);
  child_end(&child);
  free_clients(clients, 3);
}

// ---- What the server sees

// False where this machine was too slow for a grant lease, so that a hold is LOST.
static bool let_in_a_thousand_readers(Server* server) {
  enum { kClients = 10, kReaders = 100, kCommandsAClient = 8 };

  belay_client* clients[kClients + 1];
  make_clients(server, clients, kClients + 1);
  belay_client* holder = clients[kClients];
  const int64_t writer = GRANTED(WRITE(holder, 0));
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  for (int i = 0; i < kClients; ++i) {
    for (int64_t tag = 1; tag <= kReaders; ++tag) {
      CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[i], tag));
    }
  }
  while (server_scripts_run(server) < kClients) {
    nap();
  }
  CHECK_STATUS(BELAY_OK, belay_release(holder, writer));
  int64_t holds[kClients][kReaders];
  int64_t fence = 0;
  bool same_fence = true;
  bool in_time = true;
  for (int i = 0; i < kClients; ++i) {
    for (int64_t tag = 1; tag <= kReaders; ++tag) {
      belay_event* event = EVENT(clients[i], BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
      same_fence = same_fence && (fence == 0 || fence == belay_event_fence(event, 0));
      fence = belay_event_fence(event, 0);
      holds[i][tag - 1] = event_end(event);
    }
  }
  // A seat, and who sits there.
  const int64_t entries = strtoll(server_ask(server, "ZCARD", "belay:m:{a}", NULL), NULL, 10);
  for (int i = 0; i < kClients; ++i) {
    for (int j = 0; j < kReaders; ++j) {
      const int32_t status = belay_release(clients[i], holds[i][j]);
      CHECK(status == BELAY_OK || status == BELAY_LOST);
      in_time = in_time && status == BELAY_OK;
    }
  }
  if (in_time) {
    CHECK(same_fence);
    CHECK_INT(2 * kClients, entries);
    const int64_t scripts = server_scripts_run(server);
    printf("  1000 readers in 10 clients took %lld scripts\n", (long long)scripts);
    CHECK(scripts <= kClients * kCommandsAClient);
    GRANTED(WRITE(holder, 0));
  }
  free_clients(clients, kClients + 1);
  return in_time;
}

static void test_thousand_readers(Server* server) {
  for (int attempt = 0; !let_in_a_thousand_readers(server); ++attempt) {
    CHECK(attempt < 30);
  }
}

// ---- One owner, both ways

static void test_upgrade(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = true, .owner = 5));
  belay_event* why = NULL;
  belay_request* request = REQUEST(.name = "a");
  REFUSED(BELAY_WOULD_DEADLOCK, belay_acquire(clients[0], request, 5, -1, &why));
  CHECK_TEXT("owner 5", belay_event_message(why));
  CHECK_TEXT("'a'", belay_event_message(why));
  CHECK_INT(0, belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS));
  belay_event_free(why);
  belay_request_free(request);
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  CHECK_STATUS(BELAY_OK, SUBMIT(clients[0], 1, 50, .name = "a", .owner = 5, .identity = "x"));
  TAKE(clients[0], BELAY_EVENT_ACQUIRED, 1, BELAY_WOULD_DEADLOCK);
  REFUSED(BELAY_BUSY, ACQUIRE(clients[0], 0, .name = "a", .owner = 6));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
  CHECK_INT(0, waiters_of(clients[0], "a"));
  const int64_t again = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = true, .owner = 5));
  const int64_t other = GRANTED(READ(clients[1], 0));
  CHECK_STATUS(BELAY_OK, belay_release(clients[1], other));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], again));
  GRANTED(ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  free_clients(clients, 2);
}

// A waiting writer does not keep the owner of a reader from reading once more: it would wait for
// ever.
static void test_reader_reads_again(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = true, .owner = 5));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[1], "a") == 1);
  const int64_t again = GRANTED(ACQUIRE(clients[0], -1, .name = "a", .shared = true, .owner = 5));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], again, NULL));
  CHECK(belay_next(clients[1], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], again));
  take_soon(clients[1], 1);
  free_clients(clients, 2);
}

// Writer and reader of other clients behind whoever holds the name, in this order or the other.
static void queue_up(belay_client** clients, bool writer_first) {
  for (int i = 1; i <= 2; ++i) {
    CHECK_STATUS(BELAY_OK,
                 SUBMIT(clients[i], 1, -1, .name = "a", .shared = (i == 2) == writer_first));
    EVENTUALLY(waiters_of(clients[0], "a") == i);
  }
}

static void test_writer_reads(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t writer = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  const int64_t fence = belay_hold_fence(clients[0], writer, 0);
  const int64_t reader = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = true, .owner = 5));
  CHECK_INT(fence, belay_hold_fence(clients[0], reader, 0));
  REFUSED(BELAY_BUSY, READ(clients[0], 0));
  REFUSED(BELAY_BUSY, READ(clients[1], 0));
  queue_up(clients, false);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], writer));
  int64_t other_fence = 0;
  const int64_t other = take_fence_soon(clients[1], &other_fence);
  CHECK_INT(fence, other_fence);
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], reader, NULL));
  REFUSED(BELAY_WOULD_DEADLOCK, ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], reader));
  CHECK(belay_next(clients[2], 0) == NULL);
  give_back(clients[1], other);
  take_fence_soon(clients[2], &other_fence);
  CHECK(other_fence > fence);
  free_clients(clients, 3);
}

static void test_writer_stops_reading(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t writer = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  const int64_t reader = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .shared = true, .owner = 5));
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[1], 1));
  EVENTUALLY(waiters_of(clients[0], "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], reader));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], writer, NULL));
  CHECK(belay_next(clients[1], 0) == NULL);
  GRANTED(ACQUIRE(clients[0], 0, .name = "a", .owner = 5));
  free_clients(clients, 2);
}

// The writer ends without a release; the same owner reads on, and others may read with it.
static void check_readers_join(Server* server, const RequestSetup* writes, bool abandoned) {
  enum { kLeaseMs = 2000 };

  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(kLeaseMs));
  belay_client* other = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t start = now_ms();
  const int64_t writer = GRANTED(acquire_as(client, 0, writes));
  const int64_t fence = belay_hold_fence(client, writer, 0);
  const int64_t reader =
      GRANTED(ACQUIRE(client, 0, .name = "a", .shared = true, .owner = writes->owner));
  if (abandoned) {
    CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, writer));
  }
  const int64_t joined = GRANTED(ACQUIRE(other, -1, .name = "a", .shared = true));
  CHECK(now_ms() - start >= writes->lock_delay_ms + writes->max_hold_ms / 2);
  CHECK_STATUS(BELAY_OK, belay_verify(client, reader, NULL));
  CHECK_STATUS(abandoned ? BELAY_UNKNOWN_HOLD : BELAY_LOST, belay_release(client, writer));
  // What comes late of the writer is told apart from those who read now.
  CHECK(belay_hold_fence(other, joined, 0) > fence);
  CHECK_INT(fence, belay_hold_fence(client, reader, 0));
  CHECK_STATUS(BELAY_OK, belay_release(client, reader));
  CHECK_STATUS(BELAY_OK, belay_release(other, joined));
  belay_client_free(client);
  belay_client_free(other);
}

static void test_lost_writer_reads(Server* server) {
  const int64_t limit_ms = scaled(500);
  check_readers_join(server, &(RequestSetup){.name = "a", .owner = 5, .max_hold_ms = limit_ms},
                     false);
  check_readers_join(
      server,
      &(RequestSetup){.name = "a", .owner = 5, .max_hold_ms = limit_ms, .lock_delay_ms = 1500},
      false);
  check_readers_join(server, &(RequestSetup){.name = "a", .owner = 5}, true);
}

// ---- Downgrade

static void test_downgrade(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t hold = GRANTED(WRITE(clients[0], 0));
  const int64_t fence = belay_hold_fence(clients[0], hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(clients[0], 9, -1, .name = "a", .shared = true));
  queue_up(clients, false);
  CHECK(belay_next(clients[0], 0) == NULL);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_downgrade(clients[0], hold, &event));
  CHECK_INT(BELAY_EVENT_DOWNGRADED, belay_event_kind(event));
  CHECK_INT(hold, belay_event_hold(event));
  CHECK_INT(fence, belay_event_fence(event, 0));
  belay_event_free(event);
  int64_t other_fence = 0;
  const int64_t other = take_fence_soon(clients[1], &other_fence);
  CHECK_INT(fence, other_fence);
  CHECK_INT(fence, belay_hold_fence(clients[0], hold, 0));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
  CHECK(belay_next(clients[2], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  give_back(clients[1], other);
  take_fence_soon(clients[2], &other_fence);
  CHECK(other_fence > fence);
  free_clients(clients, 3);
}

static void test_downgrade_behind_a_writer(Server* server) {
  belay_client* clients[3];
  make_clients(server, clients, 3);
  const int64_t hold = GRANTED(WRITE(clients[0], 0));
  queue_up(clients, true);
  CHECK_STATUS(BELAY_OK, belay_submit_downgrade(clients[0], 7, hold));
  CHECK_INT(hold, TAKE(clients[0], BELAY_EVENT_DOWNGRADED, 7, BELAY_OK));
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
  REFUSED(BELAY_BUSY, READ(clients[0], 0));
  CHECK(belay_next(clients[1], 0) == NULL && belay_next(clients[2], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(clients[0], hold));
  give_back(clients[1], take_soon(clients[1], 1));
  take_soon(clients[2], 1);
  free_clients(clients, 3);
}

static void test_downgrade_lets_local_readers_in(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(WRITE(client, 0));
  for (int64_t tag = 1; tag <= 4; ++tag) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, tag, -1, .name = "a", .shared = tag != 3));
  }
  CHECK_STATUS(BELAY_OK, belay_downgrade(client, hold, NULL));
  for (int64_t tag = 1; tag <= 2; ++tag) {
    const int64_t reader = TAKE(client, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
    CHECK_INT(belay_hold_fence(client, hold, 0), belay_hold_fence(client, reader, 0));
    CHECK_STATUS(BELAY_OK, belay_release(client, reader));
  }
  CHECK(belay_next(client, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t writer = TAKE(client, BELAY_EVENT_ACQUIRED, 3, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, writer));
  TAKE(client, BELAY_EVENT_ACQUIRED, 4, BELAY_OK);
  belay_client_free(client);
}

static void test_downgrade_refused(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t reader = GRANTED(READ(client, 0));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_downgrade(client, reader, NULL));
  const int64_t permit = GRANTED(
      ACQUIRE(client, 0, .name = "s", .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 1));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_downgrade(client, permit, NULL));
  const int64_t once = GRANTED(ACQUIRE(client, 0, .name = "b", .owner = 5));
  const int64_t twice = GRANTED(ACQUIRE(client, 0, .name = "b", .owner = 5));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_downgrade(client, once, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, twice));
  CHECK_STATUS(BELAY_OK, belay_downgrade(client, once, NULL));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_downgrade(client, once, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, once));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_downgrade(client, once, NULL));
  const int64_t lost = GRANTED(ACQUIRE(client, 0, .name = "c", .lease_ms = 100));
  EVENTUALLY(belay_hold_state(client, lost) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_LOST, belay_downgrade(client, lost, NULL));
  belay_client_free(client);
}

// The renewal that is on its way does not say that the hold is shared from now on.
static void test_downgrade_during_a_renewal(Server* server) {
  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(WRITE(client, 0));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  proxy.state->delay_us = 300000;
  EVENTUALLY(server_scripts_run(server) == 1);  // the record is looked at once, to be watched
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_OK, belay_downgrade(client, hold, NULL));
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));
  belay_client* other = CLIENT(.url = server->url);
  const int64_t reader = GRANTED(READ(other, 0));
  CHECK_INT(fence, belay_hold_fence(other, reader, 0));
  belay_client_free(client);
  belay_client_free(other);
}

// The renewals go on asking for it: its doubt covers the lease that the server may keep.
static void test_downgrade_in_doubt(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = scaled(200));
  const int64_t hold = GRANTED(WRITE(client, 0));
  server_pause(server);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_UNAVAILABLE, belay_downgrade(client, hold, &event));
  CHECK(belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS) >= belay_hold_remaining_ms(client, hold));
  belay_event_free(event);
  server_continue(server);
  belay_client* other = CLIENT(.url = server->url);
  GRANTED(READ(other, scaled(20000)));
  belay_client_free(client);
  belay_client_free(other);
}

// A fixed lease stays what it is.
static void test_downgrade_of_a_fixed_lease(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(ACQUIRE(clients[0], 0, .name = "a", .lease_ms = scaled(500)));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[1], "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_downgrade(clients[0], hold, NULL));
  CHECK(belay_hold_remaining_ms(clients[0], hold) <= scaled(500));
  take_soon(clients[1], 1);
  CHECK_INT(BELAY_HOLD_LOST, belay_hold_state(clients[0], hold));
  free_clients(clients, 2);
}

// ---- Cancelled and tired waiters

static void test_cancelled_writer(Server* server) {
  belay_client* clients[4];
  make_clients(server, clients, 4);
  const int64_t hold = GRANTED(READ(clients[0], 0));
  for (int ends_how = 0; ends_how < 2; ++ends_how) {
    CHECK_STATUS(BELAY_OK, SUBMIT(clients[1], 7, ends_how == 0 ? -1 : scaled(200), .name = "a"));
    CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[1], 1));  // in its own client
    EVENTUALLY(waiters_of(clients[0], "a") == 1);
    CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[2], 1));
    EVENTUALLY(waiters_of(clients[0], "a") == 2);
    if (ends_how == 0) {
      CHECK(belay_next(clients[2], 0) == NULL);
      CHECK_STATUS(BELAY_OK, belay_cancel(clients[1], 7));
    }
    TAKE(clients[1], BELAY_EVENT_ACQUIRED, 7, ends_how == 0 ? BELAY_CANCELLED : BELAY_TIMEOUT);
    for (int i = 1; i <= 2; ++i) {
      int64_t fence = 0;
      const int64_t reader = take_fence_soon(clients[i], &fence);
      CHECK_INT(belay_hold_fence(clients[0], hold, 0), fence);
      give_back(clients[i], reader);
    }
  }
  CHECK_STATUS(BELAY_OK, belay_verify(clients[0], hold, NULL));
  free_clients(clients, 4);
}

static void test_cancelled_writer_in_the_reading_client(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(READ(client, 0));
  for (int ends_how = 0; ends_how < 2; ++ends_how) {
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 7, ends_how == 0 ? -1 : scaled(50), .name = "a"));
    CHECK_STATUS(BELAY_OK, SUBMIT_READ(client, 1));
    if (ends_how == 0) {
      CHECK(belay_next(client, 0) == NULL);
      CHECK_STATUS(BELAY_OK, belay_cancel(client, 7));
    }
    TAKE(client, BELAY_EVENT_ACQUIRED, 7, ends_how == 0 ? BELAY_CANCELLED : BELAY_TIMEOUT);
    const int64_t reader = take_soon(client, 1);
    CHECK_STATUS(BELAY_OK, belay_release(client, reader));
  }
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  belay_client_free(client);
}

enum { kNewsIsOldMs = 150 };  // that nobody waits: owners join by it for 100 ms

// The client that reads does not hear that the writer of another one has given up; it looks now and
// then.
static void test_cancelled_writer_of_another_client(Server* server) {
  belay_client* clients[2];
  make_clients(server, clients, 2);
  const int64_t hold = GRANTED(READ(clients[0], 0));
  CHECK_STATUS(BELAY_OK, SUBMIT_WRITE(clients[1], 1));
  EVENTUALLY(waiters_of(clients[1], "a") == 1);
  const int64_t start = now_ms();
  while (now_ms() - start < kNewsIsOldMs) {  // then who joins asks who waits
    nap();
  }
  CHECK_STATUS(BELAY_OK, SUBMIT_READ(clients[0], 1));
  CHECK(belay_next(clients[0], 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_cancel(clients[1], 1));
  TAKE(clients[1], BELAY_EVENT_ACQUIRED, 1, BELAY_CANCELLED);
  TAKE(clients[0], BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(clients[0], hold));
  free_clients(clients, 2);
}

const Test reader_writer_tests[] = {
    {"Readers hold a name together, in a client and between clients, and apart from writers",
     test_together},
    {"Tries to read that are made at once are all granted", test_tries_together},
    {"Tries to read beside a reader that waits for a writer answer BUSY",
     test_tries_against_a_writer},
    {"A reader joins late in the lease of another", test_join_late},
    {"Readers are told from writers by inspect, whether they hold or wait", test_readers_seen},
    {"A reader behind a waiting writer waits for it", test_fifo},
    {"Readers and writers of one client have their turns in order", test_fifo_in_a_client},
    {"Adjacent readers are granted together, under one fence, however many", test_adjacent_readers},
    {"A break lets in any number of readers", test_break_for_many_readers},
    {"A writer gets in though there is always a reader of one client",
     test_writer_beside_local_readers},
    {"A reader gets in though writers keep queueing", test_reader_among_writers},
    {"A writer gets in among readers of several clients who overlap all the time",
     test_writer_among_readers},
    {"Readers and writers of four processes are never in together", test_exclusion},
    {"A reader that is stopped while it waits keeps nobody waiting for long",
     test_reader_stopped_while_it_waits},
    {"A thousand readers in ten clients are ten to the server", test_thousand_readers},
    {"An upgrade is refused at once and leaves the shared hold alone", test_upgrade},
    {"An owner who reads reads again though a writer waits", test_reader_reads_again},
    {"A writer may read, and shares the name once it has stopped writing", test_writer_reads},
    {"Others may read with the owner of a writer that was lost or abandoned",
     test_lost_writer_reads},
    {"A writer who stops reading still writes alone", test_writer_stops_reading},
    {"A downgraded hold keeps its fence and lets in the readers next in line", test_downgrade},
    {"A downgrade lets no reader past a writer", test_downgrade_behind_a_writer},
    {"A downgrade lets in readers of its own client, up to the next writer",
     test_downgrade_lets_local_readers_in},
    {"Only a single exclusive hold of a lock is downgraded", test_downgrade_refused},
    {"A downgrade does not wait for the next but one renewal", test_downgrade_during_a_renewal},
    {"A downgrade in doubt goes on being asked for, and says so", test_downgrade_in_doubt},
    {"A downgraded fixed lease ends when it would have", test_downgrade_of_a_fixed_lease},
    {"When a waiting writer gives up, the readers behind it get in at once", test_cancelled_writer},
    {"When a waiting writer of the client that reads gives up, the readers behind it get in at "
     "once",
     test_cancelled_writer_in_the_reading_client},
    {"When a waiting writer of another client gives up, the readers of the client that reads get "
     "in",
     test_cancelled_writer_of_another_client},
    {NULL, NULL}};
