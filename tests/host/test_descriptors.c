// Hosts that close their standard descriptors, run out of descriptors, or both.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostile.h"
#include "tls.h"

enum { kLongLeaseMs = 3600 * 1000, kStdio = 3, kSubsets = 1 << kStdio, kMostFree = 20 };

static bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

static void close_stdio(int64_t subset) {
  for (int fd = 0; fd < kStdio; ++fd) {
    if ((subset >> fd & 1) != 0) {
      close(fd);
    }
  }
}

// What the host has closed stays closed: nothing of the library's is there.
static void check_stdio(int64_t subset) {
  for (int fd = 0; fd < kStdio; ++fd) {
    CHECK(is_open(fd) == ((subset >> fd & 1) == 0));
  }
}

// Everything that makes descriptors: a client, its queue's, a look-up, connections after cuts.
static void live(Server* server, const Line* parent, int64_t subset, bool closed_before) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  if (closed_before) {
    close_stdio(subset);
  }
  belay_client* client =
      CLIENT(.url = url, .log_level = BELAY_LOG_INFO, .watchdog_lease_ms = kLongLeaseMs);
  if (!closed_before) {
    close_stdio(subset);
  }
  check_stdio(subset);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  CHECK(belay_client_fd(client) >= kStdio);
  for (int i = 0; i < 3; ++i) {
    say(parent, i);
    hear(parent);
    for (int j = 0; j < 10; ++j) {
      const int64_t other = GRANTED(belay_lock(client, "b", -1, -1, NULL));
      CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
      CHECK_STATUS(BELAY_OK, belay_release(client, other));
      check_stdio(subset);
    }
  }
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
  check_stdio(subset);
}

static void live_closed_before(Server* server, const Line* parent, int64_t subset) {
  live(server, parent, subset, true);
}

static void live_closed_after(Server* server, const Line* parent, int64_t subset) {
  live(server, parent, subset, false);
}

static void live_in_children(Server* server, ChildBody* body) {
  for (int64_t subset = 0; subset < kSubsets; ++subset) {
    const Child child = child_start(server, body, subset);
    for (int i = 0; i < 3; ++i) {
      hear(&child.line);
      server_cut_clients(server);
      say(&child.line, 0);
    }
    child_end(&child);
  }
}

static void test_stdio_closed_before(Server* server) {
  live_in_children(server, live_closed_before);
}

static void test_stdio_closed_after(Server* server) {
  live_in_children(server, live_closed_after);
}

static _Atomic(bool) stop_reopening;

// Opens and closes stdio as a host does that turns over its logs.
static void* reopen(void* log) {
  while (!stop_reopening) {
    for (int fd = 0; fd < kStdio; ++fd) {
      close(fd);
    }
    nap();
    for (int fd = 0; fd < kStdio; ++fd) {
      while (dup2(*(int*)log, fd) != fd) {
        CHECK(errno == EBUSY);  // somebody is about to open that one
      }
    }
    nap();
  }
  return NULL;
}

static void reopen_in_child(Server* server, const Line* parent, int64_t cuts) {
  int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kStdio);
  struct stat expected;
  CHECK(fstat(log, &expected) == 0);
  belay_client* client = CLIENT(.url = server->url, .log_level = BELAY_LOG_INFO);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, reopen, &log) == 0);
  for (int64_t i = 0; i < cuts; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    say(parent, i);
    hear(parent);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  stop_reopening = true;
  pthread_join(thread, NULL);
  for (int fd = 0; fd < kStdio; ++fd) {
    struct stat entry;
    CHECK(fstat(fd, &entry) == 0 && entry.st_ino == expected.st_ino);
  }
  belay_client_free(client);
}

static void test_stdio_reopened(Server* server) {
  enum { kCuts = 100 };

  const Child child = child_start(server, reopen_in_child, kCuts);
  for (int i = 0; i < kCuts; ++i) {
    hear(&child.line);
    server_cut_clients(server);
    say(&child.line, 0);
  }
  child_end(&child);
}

// ---- Few descriptors

typedef struct Fill {
  int fds[256];
  int first;
  int count;
} Fill;

static void let_go(Fill* fill, int64_t count) {
  while (count-- > 0 && fill->first < fill->count) {
    close(fill->fds[fill->first++]);
  }
}

// Takes every descriptor but so many, the lowest.
static void fill_up(Fill* fill, int64_t free_ones) {
  const struct rlimit limit = {.rlim_cur = 128, .rlim_max = 128};
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  fill->first = fill->count = 0;
  for (int fd = 0; (fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0;) {
    fill->fds[fill->count++] = fd;
  }
  CHECK(errno == EMFILE && fill->count >= free_ones);
  let_go(fill, free_ones);
}

static void use(belay_client* client) {
  int64_t hold = 0;
  EVENTUALLY((hold = belay_lock(client, "a", -1, -1, NULL)) > 0);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
}

// A client, or an error that names the cause.
static void make_client(const char* url, int64_t free_ones) {
  Fill fill;
  fill_up(&fill, free_ones);
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, url));
  CHECK_STATUS(BELAY_OK, belay_options_set_request_timeout_ms(options, scaled(200)));
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    CHECK_TEXT("descriptors", belay_options_error(options));
    CHECK_TEXT("too many open files", belay_options_error(options));
    CHECK(free_ones < kMostFree);
  } else {
    belay_client_fd(client);
    const int64_t hold = belay_lock(client, "b", -1, 0, NULL);
    CHECK(hold > 0 || hold == -BELAY_UNAVAILABLE);
    let_go(&fill, fill.count);
    use(client);
    belay_client_free(client);
  }
  let_go(&fill, fill.count);
  belay_options_free(options);
}

static void make_first_and_second(Server* server, const Line* parent, int64_t free_ones) {
  (void)parent;
  make_client(server->url, free_ones);
  make_client(server->url, kMostFree);
  make_client(server->url, free_ones);
  make_client(server->unix_url, free_ones);
}

static void test_few_for_a_client(Server* server) {
  for (int64_t free_ones = 0; free_ones <= kMostFree; ++free_ones) {
    const Child child = child_start(server, make_first_and_second, free_ones);
    child_end(&child);
  }
}

static void reconnect(Server* server, const Line* parent, int64_t free_ones) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  const char* const urls[] = {server->url, server->unix_url, url};
  for (int i = 0; i < 3; ++i) {
    Fill fill;
    belay_client* client = CLIENT(.url = urls[i], .request_timeout_ms = scaled(200),
                                  .watchdog_lease_ms = kLongLeaseMs);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    fill_up(&fill, free_ones);
    say(parent, i);
    hear(parent);
    const int32_t status = belay_verify(client, hold, NULL);
    CHECK(status == BELAY_OK || status == BELAY_UNAVAILABLE);
    let_go(&fill, fill.count);
    EVENTUALLY(belay_verify(client, hold, NULL) == BELAY_OK);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    belay_client_free(client);
  }
}

static void test_few_for_a_reconnect(Server* server) {
  for (int64_t free_ones = 0; free_ones <= kMostFree; ++free_ones) {
    const Child child = child_start(server, reconnect, free_ones);
    for (int i = 0; i < 3; ++i) {
      hear(&child.line);
      server_cut_clients(server);
      say(&child.line, 0);
    }
    child_end(&child);
  }
}

#ifdef BELAY_TLS
// Certificates are read for each connection, and none can be read just now.
static void test_few_for_a_reconnect_over_tls(Server* server) {
  tls_serve(server);
  test_few_for_a_reconnect(server);
}
#endif

// Both: placeholders need descriptors, too.
static void make_without_stdio(Server* server, const Line* parent, int64_t free_ones) {
  close_stdio(kSubsets - 1);
  make_client(server->url, free_ones);
  check_stdio(kSubsets - 1);
  reconnect(server, parent, free_ones);
  check_stdio(kSubsets - 1);
}

static void test_few_without_stdio(Server* server) {
  for (int64_t free_ones = 0; free_ones <= kMostFree; ++free_ones) {
    const Child child = child_start(server, make_without_stdio, free_ones);
    for (int i = 0; i < 3; ++i) {
      hear(&child.line);
      server_cut_clients(server);
      say(&child.line, 0);
    }
    child_end(&child);
  }
}

const Test descriptor_tests[] = {
    {"With any of the standard descriptors closed before, nothing of a client's is ever there",
     test_stdio_closed_before},
    {"With any of the standard descriptors closed later, nothing of a client's is ever there",
     test_stdio_closed_after},
    {"A host may open its standard descriptors anew at any moment", test_stdio_reopened},
    {"With any number of free descriptors there is a client, or an error that says why",
     test_few_for_a_client},
    {"A client that finds too few descriptors to connect goes on when there are more",
     test_few_for_a_reconnect},
#ifdef BELAY_TLS
    {"Over TLS a client that finds too few descriptors goes on when there are more",
     test_few_for_a_reconnect_over_tls},
#endif
    {"The same with the standard descriptors closed", test_few_without_stdio},
    {NULL, NULL}};
