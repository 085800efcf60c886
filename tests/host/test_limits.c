// Hosts with little of everything: stack, address space, threads.
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hostile.h"
#include "interposed.h"
#include "tls.h"

enum { kSmallStack = 32 * 1024, kUnused = 0xA5, kLongLeaseMs = 3600 * 1000 };

// ---- Stacks

typedef struct Caller {
  const char* url;
  belay_client* client;
} Caller;

static void use_holds(belay_client* client) {
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t next = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
}

static void use_many(belay_client* client) {
  belay_request* request = REQUEST(.name = "n");
  for (int i = 0; i < 200; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    CHECK_STATUS(BELAY_OK, belay_request_add_name(request, name, -1));
  }
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, -1, NULL));
  belay_request_free(request);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
}

static void use_queries(belay_client* client) {
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10, &event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_break(client, "a", -1, 0, &event));
  belay_event_free(event);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);  // a message, and a question
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
}

// A client's whole life.
static void* live(void* argument) {
  const Caller* caller = argument;
  belay_client* client = CLIENT(.url = caller->url, .log_level = BELAY_LOG_DEBUG);
  use_holds(client);
  use_many(client);
  use_queries(client);
  belay_client_free(client);
  return NULL;
}

static void run_on_small_stack(Caller* caller) {
  unsigned char* stack =
      mmap(NULL, kSmallStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED);
  memset(stack, kUnused, kSmallStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstack(&attributes, stack, kSmallStack) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, live, caller) == 0);
  pthread_join(thread, NULL);
  int unused = 0;
  while (unused < kSmallStack && stack[unused] == kUnused) {
    ++unused;
  }
  printf("  a thread of %d bytes left %d unused\n", kSmallStack, unused);
  CHECK(unused >= kSmallStack / 4);
  munmap(stack, kSmallStack);
}

static void test_small_stacks(Server* server) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  const char* const urls[] = {server->url, server->unix_url, url};
  for (int i = 0; i < 3; ++i) {
    run_on_small_stack(&(Caller){.url = urls[i]});
  }
}

static void test_small_default_stack(Server* server) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 16 * 1024) == 0);
  CHECK(pthread_setattr_default_np(&attributes) == 0);
  const struct rlimit limit = {.rlim_cur = 16 * 1024, .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  live(&(Caller){.url = url});
}

// ---- Address space

static int64_t address_space(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static void test_little_address_space(Server* server) {
  enum { kEnough = 8 << 20 };

  const rlim_t most = (rlim_t)(address_space() + kEnough);
  const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  live(&(Caller){.url = server->url});
}

// No room for a thread's stack, but for all else.
static void test_no_room_for_a_thread(Server* server) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  const rlim_t most = (rlim_t)(address_space() + (1 << 19));
  const struct rlimit limit = {.rlim_cur = most, .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("no thread could be started", belay_options_error(options));
  belay_options_free(options);
  const struct rlimit more = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &more) == 0);
  live(&(Caller){.url = server->url});
}

// ---- Threads

static void test_no_threads(Server* server) {
  for (int i = 0; i < 100; ++i) {
    belay_options* options = belay_options_new();
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
    threads_fail = true;
    CHECK(belay_client_new(options) == NULL);
    threads_fail = false;
    CHECK_TEXT("no thread could be started", belay_options_error(options));
    belay_options_free(options);
  }
  live(&(Caller){.url = server->url});
}

static int count_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  }
  return count;
}

// The kernel counts a user's threads, but not those of root.
static void live_without_processes(Server* server, const Line* parent, int64_t user) {
  (void)parent;
  CHECK(geteuid() != 0 || setuid((uid_t)user) == 0);
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NPROC, &limit) == 0);
  const rlim_t usual = limit.rlim_cur;
  const int before = count_descriptors();
  limit.rlim_cur = 1;
  CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
  for (int i = 0; i < 100; ++i) {
    belay_options* options = belay_options_new();
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
    CHECK(belay_client_new(options) == NULL);
    CHECK_TEXT("no thread could be started", belay_options_error(options));
    belay_options_free(options);
  }
  CHECK(count_descriptors() <= before + 2);  // libuv keeps two for the process
  limit.rlim_cur = usual;
  CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
  live(&(Caller){.url = server->url});
}

static void test_no_more_processes(Server* server) {
  enum { kUserOfNobodyElse = 64321 };

  const Child child = child_start(server, live_without_processes, kUserOfNobodyElse);
  child_end(&child);
}

static void test_no_thread_to_resolve(Server* server) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  belay_client* client =
      CLIENT(.url = url, .request_timeout_ms = scaled(200), .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  threads_fail = true;
  server_cut_clients(server);
  belay_event* why = NULL;
  EVENTUALLY((belay_event_free(why), belay_verify(client, hold, &why)) == BELAY_UNAVAILABLE);
  CHECK_TEXT("no thread could be started", belay_event_message(why));
  belay_event_free(why);
  threads_fail = false;
  EVENTUALLY(belay_verify(client, hold, NULL) == BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// ---- Names

static const char* const impostors[] = {BELAY_IMPOSTOR, BELAY_NAMESAKE};

static void run_impostor(Server* server, const Line* parent, int64_t number) {
  (void)parent;
  execl(impostors[number], impostors[number], server->url, (char*)NULL);
  FAIL("%s cannot be run", impostors[number]);
}

static void test_impostor(Server* server) {
#ifdef BELAY_TLS
  tls_serve(server);
#endif
  const Child child = child_start(server, run_impostor, 0);
  child_end(&child);
}

static void test_namesake(Server* server) {
  const Child child = child_start(server, run_impostor, 1);
  child_end(&child);
}

const Test limit_tests[] = {
    {"Every call works on a thread with a stack of 32 KiB", test_small_stacks},
    {"The client's threads do not depend on the default size of stacks", test_small_default_stack},
    {"A client needs little address space", test_little_address_space},
    {"Without address space for a thread there is an error that says so",
     test_no_room_for_a_thread},
    {"Where no thread can be created there is an error that says so, and nothing is left",
     test_no_threads},
    {"A user who may have no more processes has an error that says so, and nothing is left",
     test_no_more_processes},
    {"Where no thread can be created to resolve the server's name, the client tries again",
     test_no_thread_to_resolve},
    {"A host may export functions of libuv's, hiredis's and OpenSSL's names", test_impostor},
    {"A host may export functions of all names of the library's own", test_namesake},
    {NULL, NULL}};
