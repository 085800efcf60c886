// Loads the library, uses it and unloads it, again and again, while a client of the first load
// lives and works. The rounds may leave nothing behind. Links no library but the system's. usage:
// dlopen_loop LIBRARY URL ROUNDS
#include <belay/belay.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Functions {
  belay_options* (*options_new)(void);
  void (*options_free)(belay_options*);
  int32_t (*options_set_url)(belay_options*, const char*);
  belay_client* (*client_new)(belay_options*);
  void (*client_free)(belay_client*);
  int64_t (*lock)(belay_client*, const char*, int64_t, int64_t, belay_event**);
  int32_t (*release)(belay_client*, int64_t);
} Functions;

static int missing;
static Functions belay;       // of the latest load
static belay_client* worker;  // the client that is not freed
static _Atomic(int) worker_failed;
static _Atomic(int) turns;

// POSIX gives a function as an object pointer; ISO C has no cast for that.
static void find(void* library, const char* name, void* function) {
  *(void**)function = dlsym(library, name);
  missing += *(void**)function == NULL;
}

static Functions find_all(void* library) {
  Functions found;
  find(library, "belay_options_new", &found.options_new);
  find(library, "belay_options_free", &found.options_free);
  find(library, "belay_options_set_url", &found.options_set_url);
  find(library, "belay_client_new", &found.client_new);
  find(library, "belay_client_free", &found.client_free);
  find(library, "belay_lock", &found.lock);
  find(library, "belay_release", &found.release);
  return found;
}

static belay_client* new_client(const char* url) {
  belay_options* options = belay.options_new();
  belay_client* client =
      belay.options_set_url(options, url) == BELAY_OK ? belay.client_new(options) : NULL;
  belay.options_free(options);
  return client;
}

static int take_turn(const Functions* functions, belay_client* client, const char* name) {
  const int64_t hold = functions->lock(client, name, -1, -1, NULL);
  return client == NULL || hold <= 0 || functions->release(client, hold) != BELAY_OK;
}

static void* work(void* argument) {
  const Functions functions = *(const Functions*)argument;
  while (!worker_failed) {
    worker_failed = take_turn(&functions, worker, "worker");
    ++turns;
  }
  return NULL;
}

static int load(const char* path, void** library) {
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  belay = find_all(*library);
  return missing;
}

static int live_once(const char* path, const char* url) {
  void* library = NULL;
  if (load(path, &library) != 0) {
    return 1;
  }
  belay_client* client = new_client(url);
  const int failed = take_turn(&belay, client, "loaded");
  belay.client_free(client);
  dlclose(library);
  return failed;
}

static int start_worker(const char* path, const char* url) {
  static Functions functions;
  void* library = NULL;
  if (load(path, &library) != 0) {
    return 1;
  }
  worker = new_client(url);
  functions = belay;
  pthread_t thread;
  const int failed = worker == NULL || pthread_create(&thread, NULL, work, &functions) != 0;
  dlclose(library);
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
