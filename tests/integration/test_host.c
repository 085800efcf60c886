// The library as a guest: fork, exit, signals, descriptors and threads of its host; dlopen.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { kLongLeaseMs = 3600 * 1000 };

// ---- fork

// Every call on a client of the parent's, in the child.
static void check_forked(belay_client* client, int64_t hold, belay_request* request) {
  belay_event* why = NULL;
  REFUSED(BELAY_FORKED, belay_lock(client, "b", -1, 0, &why));
  CHECK(strlen(belay_event_message(why)) > 0);
  belay_event_free(why);
  REFUSED(BELAY_FORKED, belay_acquire(client, request, 0, 0, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_release(client, hold));
  CHECK_STATUS(BELAY_FORKED, belay_release_nowait(client, hold));
  CHECK_STATUS(BELAY_FORKED, release_why(client, hold, &why));
  belay_event_free(why);
  CHECK_STATUS(BELAY_FORKED, belay_extend(client, hold, 1000, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_inspect(client, "a", -1, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_break(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_list(client, "*", -1, 10, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_submit_acquire(client, 1, request, 0, 0));
  CHECK_STATUS(BELAY_FORKED, belay_submit_release(client, 1, hold));
  CHECK_STATUS(BELAY_FORKED, belay_submit_extend(client, 1, hold, 1000));
  CHECK_STATUS(BELAY_FORKED, belay_submit_verify(client, 1, hold));
  CHECK_STATUS(BELAY_FORKED, belay_submit_inspect(client, 1, "a", -1));
  CHECK_STATUS(BELAY_FORKED, belay_submit_break(client, 1, "a", -1, 0));
  CHECK_STATUS(BELAY_FORKED, belay_submit_list(client, 1, "*", -1, 10));
  CHECK_STATUS(BELAY_FORKED, belay_submit_ping(client, 1));
  belay_words* words = belay_words_new();
  CHECK_STATUS(BELAY_OK, belay_words_add(words, "DEL", -1));
  CHECK_STATUS(BELAY_FORKED, belay_fenced_write_words(client, "k", -1, 1, words, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_submit_fenced_write_words(client, 1, "k", -1, 1, words));
  belay_words_free(words);
  CHECK_STATUS(BELAY_FORKED, belay_cancel(client, 1));
  CHECK_STATUS(BELAY_FORKED, belay_client_shutdown(client));
  CHECK_STATUS(BELAY_FORKED, belay_hold_abandon(client, hold));
  CHECK_INT(-BELAY_FORKED, belay_hold_state(client, hold));
  CHECK_INT(-BELAY_FORKED, belay_hold_remaining_ms(client, hold));
  CHECK_INT(-BELAY_FORKED, belay_hold_fence(client, hold, 0));
  CHECK_INT(-BELAY_FORKED, belay_client_fd(client));
  CHECK_STATUS(BELAY_FORKED, belay_client_set_wakeup(client, -1));
  CHECK_STATUS(BELAY_FORKED, belay_client_metrics(client, NULL));
  CHECK_INT(-BELAY_FORKED, belay_owner_holds(client, 0, "a", -1));
  for (int i = 0; i < 2; ++i) {
    TAKE(client, BELAY_EVENT_END, 0, BELAY_FORKED);
  }
}

static belay_client* inherited_client;
static int64_t inherited_hold;
static belay_request* inherited_request;

static void use_own_client(Server* server) {
#ifdef __SANITIZE_THREAD__  // it knows no threads of a child whose parent has some
  (void)server;
#else
  belay_client* client = CLIENT(.url = server->url);
  REFUSED(BELAY_BUSY, belay_lock(client, "a", -1, 0, NULL));
  const int64_t hold = GRANTED(belay_acquire(client, inherited_request, 0, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
#endif
}

static void use_inherited(Server* server, const Line* parent, int64_t free_first) {
  check_forked(inherited_client, inherited_hold, inherited_request);
  if (free_first) {
    belay_client_free(inherited_client);
  }
  use_own_client(server);
  if (!free_first) {
    check_forked(inherited_client, inherited_hold, inherited_request);
    belay_client_free(inherited_client);
  }
  say(parent, 0);
}

static void test_fork(Server* server) {
  const int64_t lease = scaled(600);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = lease);
  inherited_client = client;
  inherited_hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  inherited_request = REQUEST(.name = "b");
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  for (int64_t free_first = 0; free_first <= 1; ++free_first) {
    const Child child = child_start(server, use_inherited, free_first);
    hear(&child.line);
    child_end(&child);
    STAYS(2 * lease, belay_hold_state(client, inherited_hold) == BELAY_HOLD_HELD);
    CHECK_STATUS(BELAY_OK, belay_verify(client, inherited_hold, NULL));
  }
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(client, inherited_hold));
  belay_request_free(inherited_request);
  belay_client_free(client);
}

static void exit_without_a_word(Server* server, const Line* parent, int64_t number) {
  (void)server;
  (void)parent;
  (void)number;
}

static void test_exit_of_a_child(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  for (int i = 0; i < 10; ++i) {
    const Child child = child_start(server, exit_without_a_word, 0);
    child_end(&child);
  }
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_INT(1, server_connections(server));
  belay_client_free(client);
}

static _Atomic(bool) stop_hammering;

static void* hammer(void* client) {
  char name[] = "x";
  for (int i = 0; !stop_hammering; ++i) {
    name[0] = (char)('a' + i % 20);
    const int64_t hold = GRANTED(belay_lock(client, name, -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  return NULL;
}

static void use_and_free_inherited(Server* server, const Line* parent, int64_t number) {
  (void)server;
  (void)parent;
  (void)number;
  REFUSED(BELAY_FORKED, belay_lock(inherited_client, "a", -1, 0, NULL));
  TAKE(inherited_client, BELAY_EVENT_END, 0, BELAY_FORKED);
  belay_client_free(inherited_client);
}

// At whatever moment the fork comes, the child can use and free what it inherited.
static void test_fork_at_any_moment(Server* server) {
  inherited_client = CLIENT(.url = server->url);
  pthread_t threads[3];
  stop_hammering = false;
  for (int i = 0; i < 3; ++i) {
    pthread_create(&threads[i], NULL, hammer, inherited_client);
  }
  for (int i = 0; i < 100; ++i) {
    const Child child = child_start(server, use_and_free_inherited, 0);
    child_end(&child);
  }
  stop_hammering = true;
  for (int i = 0; i < 3; ++i) {
    pthread_join(threads[i], NULL);
  }
  belay_client_free(inherited_client);
}

// ---- exit

static void* lock_for_ever(void* client) {
  REFUSED(BELAY_CLOSED, belay_lock(client, "a", -1, -1, NULL));
  return NULL;
}

static void exit_with_a_live_client(Server* server, const Line* parent, int64_t number) {
  (void)number;
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(500));
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  pthread_t thread;
  pthread_create(&thread, NULL, lock_for_ever, client);
  say(parent, 0);
}

static void test_exit(Server* server) {
  for (int i = 0; i < 10; ++i) {
    const Child child = child_start(server, exit_with_a_live_client, 0);
    hear(&child.line);
    child_end(&child);
    belay_client* client = CLIENT(.url = server->url);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    belay_client_free(client);
  }
}

// ---- Several clients

static void test_clients_one_after_the_other(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  const int64_t first = GRANTED(belay_lock(one, "a", -1, 0, NULL));
  const int64_t second = GRANTED(belay_lock(two, "b", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_verify(one, first, NULL));
  belay_client_free(one);
  CHECK_STATUS(BELAY_OK, belay_verify(two, second, NULL));
  GRANTED(belay_lock(two, "a", -1, 0, NULL));
  belay_client_free(two);
  belay_client* three = CLIENT(.url = server->url);
  GRANTED(belay_lock(three, "a", -1, 0, NULL));
  belay_client_free(three);
}

// At whatever moment of its first milliseconds a client is freed.
static void test_short_lives(Server* server) {
  for (int i = 0; i < 1000; ++i) {
    belay_client* client = CLIENT(.url = (i % 2) ? server->url : server->unix_url);
    if (i % 3 == 0) {
      CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
    }
    for (volatile int spin = 0; spin < i * 200; ++spin) {
    }
    belay_client_free(client);
  }
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_client_free(client);
}

static int count_entries(const char* path) {
  DIR* entries = opendir(path);
  int count = 0;
  while (entries != NULL && readdir(entries) != NULL) {
    ++count;
  }
  closedir(entries);
  return count;
}

// One client's life, to the full.
static void live(const char* url) {
  belay_client* client = CLIENT(.url = url);
  CHECK(belay_client_fd(client) >= 0);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void* do_nothing(void* argument) {
  return argument;
}

static void test_nothing_is_left(Server* server) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  // A sanitizer makes a thread of its own with the first.
  pthread_t first;
  pthread_create(&first, NULL, do_nothing, NULL);
  pthread_join(first, NULL);
  const int tasks = count_entries("/proc/self/task");
  live(url);
  live(server->url);
  // A name may still be looked up by the resolver's thread for a moment.
  EVENTUALLY(count_entries("/proc/self/task") <= tasks);
  const int descriptors = count_entries("/proc/self/fd");
  for (int i = 0; i < 50; ++i) {
    live(url);
    live(server->url);
    live(server->unix_url);
  }
  EVENTUALLY(count_entries("/proc/self/task") <= tasks);
  CHECK_INT(descriptors, count_entries("/proc/self/fd"));
}

static void test_descriptors_are_closed_on_exec(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK(belay_client_fd(client) >= 0);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  char command[128];
  // The listing's own descriptor is one more than the standard ones.
  snprintf(command, sizeof command,
           "exec /bin/sh -c 'ls -l /proc/self/fd | grep -c -e socket -e anon'");
  FILE* listing = popen(command, "r");
  int count = -1;
  CHECK(listing != NULL && fscanf(listing, "%d", &count) == 1);
  pclose(listing);
  CHECK_INT(0, count);
  belay_client_free(client);
}

// ---- Threads that their runtime ends

// What a thread does until it is cancelled, in a call or right after it.
static void* wait_for_lock(void* client) {
  while (client != NULL) {
    REFUSED(BELAY_TIMEOUT, belay_lock(client, "a", -1, 300, NULL));
    pthread_testcancel();
  }
  return NULL;
}

static void* wait_for_event(void* client) {
  while (client != NULL) {
    CHECK(belay_next(client, 300) == NULL);
    pthread_testcancel();
  }
  return NULL;
}

static void* take_turns(void* client) {
  while (client != NULL) {
    CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "b", -1, -1, NULL))));
    pthread_testcancel();
  }
  return NULL;
}

// A call is over when its thread ends: nothing of the thread's stays in the client.
static void test_cancelled_threads(Server* server) {
  void* (*const bodies[])(void*) = {wait_for_lock, wait_for_event, take_turns};
  belay_client* holder = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  for (int i = 0; i < 12; ++i) {
    pthread_t thread;
    void* end = NULL;
    pthread_create(&thread, NULL, bodies[i % 3], client);
    for (int pause = 0; pause < 5 * i; ++pause) {
      nap();
    }
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
  }
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  const int64_t next = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, next));
  belay_client_free(client);
  belay_client_free(holder);
}

// ---- Signals

static void count_signal(int signal);
static volatile sig_atomic_t signal_count;
static pthread_t main_thread;
static volatile sig_atomic_t signals_elsewhere;

static void count_signal(int signal) {
  (void)signal;
  ++signal_count;
  signals_elsewhere += !pthread_equal(pthread_self(), main_thread);
}

static void test_signals_stay_with_the_host(Server* server) {
  main_thread = pthread_self();
  struct sigaction action = {0};
  action.sa_handler = count_signal;
  sigaction(SIGUSR1, &action, NULL);
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < 200; ++i) {
    kill(getpid(), SIGUSR1);
    EVENTUALLY(signal_count == i + 1);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  CHECK_INT(0, signals_elsewhere);
  struct sigaction now;
  sigaction(SIGPIPE, NULL, &now);
  CHECK(now.sa_handler == SIG_DFL);
  belay_client_free(client);
}

static void* interrupt_main(void* argument) {
  (void)argument;
  for (int i = 0; i < 20; ++i) {
    nap();
    pthread_kill(main_thread, SIGUSR1);
  }
  return NULL;
}

static void test_interrupted_calls_go_on(Server* server) {
  main_thread = pthread_self();
  struct sigaction action = {0};
  action.sa_handler = count_signal;
  sigaction(SIGUSR1, &action, NULL);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_main, NULL);
  const int64_t start = now_ms();
  REFUSED(BELAY_TIMEOUT, belay_lock(client, "a", -1, 100, NULL));
  CHECK(now_ms() - start >= 100);
  pthread_join(thread, NULL);
  CHECK(signal_count > 0);
  belay_client_free(holder);
  belay_client_free(client);
}

static void test_no_sigpipe(Server* server) {
  signal(SIGPIPE, SIG_DFL);
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  for (int i = 0; i < 30; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    server_cut_clients(server);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_kill(server);
  belay_client_free(client);
}

static void test_silence(Server* server) {
  char path[128];
  snprintf(path, sizeof path, "%s/output", server->directory);
  fflush(stdout);
  const int out = dup(STDOUT_FILENO);
  const int err = dup(STDERR_FILENO);
  FILE* file = fopen(path, "w+");
  CHECK(file != NULL);
  dup2(fileno(file), STDOUT_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = scaled(1000));
  const int64_t hold = belay_lock(client, "a", -1, 0, NULL);
  server_cut_clients(server);
  server_kill(server);
  const int32_t answer = belay_client_ping(client, NULL);
  belay_client_free(client);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  GRANTED(hold);
  CHECK_STATUS(BELAY_UNAVAILABLE, answer);
  fseek(file, 0, SEEK_END);
  CHECK_INT(0, ftell(file));
  fclose(file);
}

// ---- dlopen

static void load_and_unload(Server* server, const Line* parent, int64_t number) {
  (void)parent;
  (void)number;
  execl(BELAY_DLOPEN_PROGRAM, BELAY_DLOPEN_PROGRAM, BELAY_LIBRARY, server->url, "20", (char*)NULL);
  FAIL("%s cannot be run", BELAY_DLOPEN_PROGRAM);
}

static void test_dlopen(Server* server) {
  const Child child = child_start(server, load_and_unload, 0);
  child_end(&child);
}

const Test host_tests[] = {
    {"After a fork the child's calls answer FORKED, its own client works and the parent's hold "
     "stands",
     test_fork},
    {"A child that exits leaves its parent's client alone", test_exit_of_a_child},
    {"A child can use and free an inherited client at whatever moment it was forked",
     test_fork_at_any_moment},
    {"A process may exit with a live client, holds and waits", test_exit},
    {"Clients end one after the other without touching each other",
     test_clients_one_after_the_other},
    {"A client may be freed at any moment after it was made", test_short_lives},
    {"A freed client leaves no thread and no descriptor", test_nothing_is_left},
    {"A thread may be cancelled in any call without harm to the client", test_cancelled_threads},
    {"Descriptors of the library do not reach programs that the host runs",
     test_descriptors_are_closed_on_exec},
    {"Signals reach the host's threads only, and no handler is changed",
     test_signals_stay_with_the_host},
    {"A signal does not cut a wait short", test_interrupted_calls_go_on},
    {"A broken connection raises no SIGPIPE", test_no_sigpipe},
    {"Nothing is written to stdout or stderr unasked", test_silence},
    {"The library may be loaded and unloaded any number of times", test_dlopen},
    {NULL, NULL}};
