// Loads the library, uses it and unloads it, again and again; and unloads it once while a client
// lives. Links no library but the system's. usage: dlopen_loop LIBRARY URL
#include <belay/belay.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

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
static belay_client* kept;  // the client that is not freed

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

static int use(const Functions* belay, const char* url, int keep) {
  belay_options* options = belay->options_new();
  if (belay->options_set_url(options, url) != BELAY_OK) {
    return 1;
  }
  belay_client* client = belay->client_new(options);
  belay->options_free(options);
  const int64_t hold = belay->lock(client, "dlopen", -1, -1, NULL);
  if (hold <= 0 || belay->release(client, hold) != BELAY_OK) {
    return 1;
  }
  if (keep) {
    kept = client;
  } else {
    belay->client_free(client);
  }
  return 0;
}

int main(int argc, char** argv) {
  enum { kRounds = 20 };

  for (int i = 0; argc == 3 && i < kRounds; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const Functions belay = find_all(library);
    if (missing != 0 || use(&belay, argv[2], i == kRounds / 2) != 0) {
      fprintf(stderr, "round %d failed\n", i);
      return 1;
    }
    dlclose(library);
  }
  return argc == 3 && kept != NULL ? 0 : 64;
}
