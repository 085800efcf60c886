// Loads the library, uses it and unloads it, again and again, while a client of the first load
// lives and works. The rounds may leave nothing behind. Links no library but the system's. usage:
// dlopen_loop LIBRARY URL ROUNDS
#include <belay/dl.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct belay_dl belay;  // the latest load
static belay_client* worker;   // the client that is not freed
static _Atomic(int) worker_failed;
static _Atomic(int) turns;

static belay_client* new_client(const char* url) {
  belay_options* options = belay.belay_options_new();
  belay_client* client = belay.belay_options_set_url(options, url) == BELAY_OK
                             ? belay.belay_client_new(options)
                             : NULL;
  belay.belay_options_free(options);
  return client;
}

static int take_turn(const struct belay_dl* functions, belay_client* client, const char* name) {
  const int64_t hold = functions->belay_lock(client, name, -1, -1, NULL);
  return client == NULL || hold <= 0 || functions->belay_release(client, hold) != BELAY_OK;
}

static void* work(void* argument) {
  const struct belay_dl functions = *(const struct belay_dl*)argument;
  while (!worker_failed) {
    worker_failed = take_turn(&functions, worker, "worker");
    ++turns;
  }
  return NULL;
}

static int load(const char* path) {
  const char* error = belay_dl_load(&belay, path);
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
  }
  return error != NULL;
}

static int live_once(const char* path, const char* url) {
  if (load(path) != 0) {
    return 1;
  }
  belay_client* client = new_client(url);
  const int failed = take_turn(&belay, client, "loaded");
  belay.belay_client_free(client);
  dlclose(belay.library);
  return failed;
}

static int start_worker(const char* path, const char* url) {
  static struct belay_dl functions;
  if (load(path) != 0) {
    return 1;
  }
  worker = new_client(url);
  functions = belay;
  pthread_t thread;
  const int failed = worker == NULL || pthread_create(&thread, NULL, work, &functions) != 0;
  dlclose(belay.library);
  while (!failed && !worker_failed && turns == 0) {  // its connection is one of the descriptors
    sched_yield();
  }
  return failed || worker_failed;
}

// ---- What is left

static int count_entries(const char* path) {
  DIR* entries = opendir(path);
  int count = 0;
  while (entries != NULL && readdir(entries) != NULL) {
    ++count;
  }
  closedir(entries);
  return count;
}

static int footprint(void) {
  return 1000 * count_entries("/proc/self/task") + count_entries("/proc/self/fd");
}

int main(int argc, char** argv) {
  const int rounds = argc == 4 ? atoi(argv[3]) : 0;
  if (rounds <= 0) {
    return 64;
  }
  if (start_worker(argv[1], argv[2]) != 0 || live_once(argv[1], argv[2]) != 0) {
    return 1;
  }
  const int before = footprint();
  for (int i = 0; i < rounds; ++i) {
    if (live_once(argv[1], argv[2]) != 0) {
      fprintf(stderr, "round %d failed\n", i);
      return 1;
    }
  }
  // The kernel lists a thread for a moment after it has been joined.
  for (int i = 0; footprint() > before; ++i) {
    if (i == 1000) {
      fprintf(stderr, "threads and descriptors were %d and became %d\n", before, footprint());
      return 1;
    }
    usleep(10000);
  }
  return worker_failed || turns == 0;
}
