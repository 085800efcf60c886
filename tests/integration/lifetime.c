// Nothing left behind: what must not grow over thousands of lives of clients, forks and loads of
// the library. Counts descriptors and threads of the host.
#include <dirent.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

typedef struct Footprint {
  int descriptors;
  int threads;
} Footprint;

static int count_entries(const char* path) {
  DIR* entries = opendir(path);
  CHECK(entries != NULL);
  int count = 0;
  while (readdir(entries) != NULL) {
    ++count;
  }
  closedir(entries);
  return count;
}

static Footprint footprint(void) {
  return (Footprint){.descriptors = count_entries("/proc/self/fd"),
                     .threads = count_entries("/proc/self/task")};
}

// A thread may be listed for a moment longer than its client lives, also in what was expected.
static void check_footprint(Footprint expected) {
  EVENTUALLY(footprint().threads <= expected.threads);
  CHECK_INT(expected.descriptors, footprint().descriptors);
}

static int64_t resident_kb(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

// ---- Lives of clients

// With a hold that is released, one that is not, a wait and its event.
static void live(const char* url) {
  belay_client* client = CLIENT(.url = url);
  CHECK(belay_client_fd(client) >= 0);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 2, -1, .name = "a"));
  belay_client_free(client);
}

static void test_ten_thousand_lives(Server* server) {
  enum { kLives = 10000, kWarmUp = 1000, kMostGrowthKb = 2048 };

  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  const char* const urls[] = {server->url, server->unix_url, url};
  live(server->url);
  const Footprint first = footprint();
  int64_t memory = 0;
  for (int i = 1; i < kLives; ++i) {
    live(urls[i % 3]);
    if (i == kWarmUp) {
      memory = resident_kb();
    }
  }
  check_footprint(first);
  const int64_t growth = resident_kb() - memory;
  printf("  %d lives: memory grew by %lld KiB\n", kLives, (long long)growth);
  CHECK(growth < kMostGrowthKb);
}

// ---- Forks

static belay_client* inherited;

static _Atomic(bool) stop_work;

static void* work(void* client) {
  while (!stop_work) {
    CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "b", -1, -1, NULL))));
  }
  return NULL;
}

// Each second frees what it inherited; each third has a client of its own.
static void use_in_child(Server* server, const Line* parent, int64_t number) {
  (void)parent;
  REFUSED(BELAY_FORKED, belay_lock(inherited, "a", -1, 0, NULL));
  if (number % 2 == 0) {
    belay_client_free(inherited);
  }
  if (number % 3 == 0) {
    belay_client* client = CLIENT(.url = server->url);
    REFUSED(BELAY_BUSY, belay_lock(client, "a", -1, 0, NULL));
    belay_client_free(client);
  }
}

static void test_thousand_forks(Server* server) {
  enum { kForks = 1000 };

  inherited = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(inherited, "a", -1, 0, NULL));
  pthread_t worker;
  stop_work = false;
  pthread_create(&worker, NULL, work, inherited);
  const Footprint before = footprint();
  for (int64_t i = 0; i < kForks; ++i) {
    const Child child = child_start(server, use_in_child, i);
    child_end(&child);
  }
  check_footprint(before);
  stop_work = true;
  pthread_join(worker, NULL);
  CHECK_STATUS(BELAY_OK, belay_verify(inherited, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(inherited, hold));
  belay_client_free(inherited);
}

// ---- Loads of the library

static void load_and_unload(Server* server, const Line* parent, int64_t number) {
  (void)parent;
  (void)number;
  execl(BELAY_DLOPEN_PROGRAM, BELAY_DLOPEN_PROGRAM, BELAY_LIBRARY, server->url, "1000",
        (char*)NULL);
  FAIL("%s cannot be run", BELAY_DLOPEN_PROGRAM);
}

static void test_thousand_loads(Server* server) {
  const Child child = child_start(server, load_and_unload, 0);
  child_end(&child);
}

static const Test lifetime_tests[] = {
    {"Ten thousand lives of a client leave no thread, no descriptor and no memory",
     test_ten_thousand_lives},
    {"A thousand forks leave the parent's client as it was", test_thousand_forks},
    {"A thousand loads of the library leave nothing, while another client works",
     test_thousand_loads},
    {NULL, NULL}};

const Test* const test_tables[] = {lifetime_tests, NULL};
const bool sees_every_number = false;
