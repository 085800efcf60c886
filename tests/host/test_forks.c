// Children of every make: what they inherit is the parent's, however they came about.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "interposed.h"

enum { kLongLeaseMs = 3600 * 1000 };

static void reap(pid_t pid) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pid_t fork_raw(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

// Each call of a child's on what it inherited. Its own client must not be taken for the parent's,
// nor, in a child of its own, for the child's.
static void misuse(belay_client* client, int64_t hold) {
  CHECK_STATUS(BELAY_FORKED, belay_release(client, hold));
  CHECK_STATUS(BELAY_FORKED, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_FORKED, belay_submit_release(client, 1, hold));
  CHECK_INT(-BELAY_FORKED, belay_hold_state(client, hold));
  TAKE(client, BELAY_EVENT_END, 0, BELAY_FORKED);
}

static _Noreturn void misuse_as_child(belay_client* client, int64_t hold, pid_t (*make)(void)) {
  misuse(client, hold);
  const pid_t pid = make();
  if (pid == 0) {
    misuse(client, hold);
    belay_client_free(client);
    _exit(0);
  }
  reap(pid);
  belay_client_free(client);
  _exit(0);
}

static void misuse_in_children(Server* server, pid_t (*make)(void)) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = make();
    if (pid == 0) {
      misuse_as_child(client, hold, make);
    }
    reap(pid);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  }
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_fork(Server* server) {
  misuse_in_children(server, fork);
}

static void test_fork_without_handlers(Server* server) {
  misuse_in_children(server, _Fork);
}

static void test_clone(Server* server) {
  misuse_in_children(server, fork_raw);
}

// Where the kernel wipes no page, the process is told by its number.
static void test_without_wiping(Server* server) {
  wiping_fails = true;
  misuse_in_children(server, _Fork);
  misuse_in_children(server, fork);
}

// A client of the child's own, made after a fork without handlers.
static void test_own_client_of_a_child(Server* server) {
  const pid_t pid = _Fork();
  if (pid == 0) {
    misuse_in_children(server, _Fork);
    _exit(0);
  }
  reap(pid);
}

static _Atomic(bool) stop_work;

static void* work(void* client) {
  while (!stop_work) {
    CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "b", -1, -1, NULL))));
  }
  return NULL;
}

static void spawn_with_vfork(void) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(127);
  }
  reap(pid);
}

static void spawn_with_posix(void) {
  char name[] = "true";
  char* const words[] = {name, NULL};
  pid_t pid = 0;
  CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, words, NULL) == 0);
  reap(pid);
}

// They share the parent's memory, or run nothing of ours: the parent notices nothing.
static void test_spawn(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = kLongLeaseMs);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  pthread_t worker;
  CHECK(pthread_create(&worker, NULL, work, client) == 0);
  for (int i = 0; i < 100; ++i) {
    spawn_with_vfork();
    spawn_with_posix();
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  }
  stop_work = true;
  pthread_join(worker, NULL);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

const Test fork_tests[] = {
    {"A child of fork() and its own child can do nothing with what they inherit", test_fork},
    {"A child of _Fork(), which runs no handlers, can do nothing with what it inherits",
     test_fork_without_handlers},
    {"A child of clone() can do nothing with what it inherits", test_clone},
    {"The same where the kernel does not wipe the page that tells", test_without_wiping},
    {"A child that was made without handlers can have a client of its own",
     test_own_client_of_a_child},
    {"vfork and posix_spawn leave a client as it was", test_spawn},
    {NULL, NULL}};
