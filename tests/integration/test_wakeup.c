// The socket that is sent a byte when the queue of events stops being empty.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

typedef struct Pair {
  int near;  // the client's
  int far;
} Pair;

static Pair sockets(void) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  return (Pair){pair[0], pair[1]};
}

static void close_both(Pair pair) {
  CHECK(close(pair.near) == 0 && close(pair.far) == 0);  // the client has closed none
}

// Takes what has come.
static int bytes_of(Pair pair) {
  char bytes[64];
  const ssize_t got = recv(pair.far, bytes, sizeof bytes, MSG_DONTWAIT);
  CHECK(got > 0 || (got < 0 && errno == EAGAIN));
  return got > 0 ? (int)got : 0;
}

static void take_ping(belay_client* client, int64_t tag) {
  TAKE(client, BELAY_EVENT_PINGED, tag, BELAY_OK);
}

// An event that has come by now; a wrong one comes at once.
static void queue_event(belay_client* client, int64_t tag) {
  CHECK_STATUS(BELAY_OK, belay_submit_extend(client, tag, 0, 1));
}

static void take_event(belay_client* client, int64_t tag) {
  TAKE(client, BELAY_EVENT_EXTENDED, tag, BELAY_INVALID_ARGUMENT);
}

static void test_once_each_time(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair pair = sockets();
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  CHECK_INT(0, bytes_of(pair));
  for (int i = 0; i < 3; ++i) {
    CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
    EVENTUALLY(bytes_of(pair) == 1);
    queue_event(client, 2);
    queue_event(client, 3);
    CHECK_INT(0, bytes_of(pair));
    take_ping(client, 1);
    queue_event(client, 4);
    take_event(client, 2);
    take_event(client, 3);
    take_event(client, 4);
    CHECK(belay_next(client, 0) == NULL);
    CHECK_INT(0, bytes_of(pair));
  }
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, -1));
  queue_event(client, 1);
  CHECK_INT(0, bytes_of(pair));
  belay_client_free(client);
  CHECK_INT(0, bytes_of(pair));
  close_both(pair);
}

static void test_events_that_wait(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair first = sockets();
  const Pair second = sockets();
  queue_event(client, 1);
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, first.near));
  CHECK_INT(1, bytes_of(first));
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, second.near));
  CHECK_INT(1, bytes_of(second));
  take_event(client, 1);
  queue_event(client, 1);
  CHECK_INT(1, bytes_of(second));
  CHECK_INT(0, bytes_of(first));
  belay_client_free(client);
  close_both(first);
  close_both(second);
}

static void test_what_is_none(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair pair = sockets();
  const int unconnected = socket(AF_UNIX, SOCK_STREAM, 0);
  int datagrams[2];
  CHECK(unconnected >= 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
  const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  CHECK(file >= 0);
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  const int32_t bad[] = {-2, 1 << 30, file, unconnected, datagrams[0]};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_client_set_wakeup(client, bad[i]));
  }
  queue_event(client, 1);
  CHECK_INT(1, bytes_of(pair));  // what was set before stands
  belay_client_free(client);
  close_both(pair);
  CHECK(close(file) == 0 && close(unconnected) == 0 && close(datagrams[0]) == 0 &&
        close(datagrams[1]) == 0);
}

static void test_full(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair pair = sockets();
  char bytes[4096] = {0};
  while (send(pair.near, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  while (send(pair.near, bytes, 1, MSG_DONTWAIT) > 0) {
  }
  CHECK(errno == EAGAIN);
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  CHECK(fcntl(pair.near, F_GETFL) == O_RDWR);  // whoever else uses it may block
  queue_event(client, 1);
  take_event(client, 1);
  while (recv(pair.far, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  CHECK_INT(0, bytes_of(pair));
  queue_event(client, 2);
  CHECK_INT(1, bytes_of(pair));
  belay_client_free(client);
  close_both(pair);
}

// SIGPIPE would end the process.
static void test_closed(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
  Pair pair = sockets();
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  CHECK(close(pair.far) == 0);
  queue_event(client, 1);
  take_event(client, 1);
  // What has its number next is left alone.
  const Pair other = sockets();
  CHECK(dup2(other.near, pair.near) == pair.near);
  queue_event(client, 1);
  take_event(client, 1);
  CHECK_INT(0, bytes_of(other));
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, other.near));
  queue_event(client, 1);
  CHECK_INT(1, bytes_of(other));
  belay_client_free(client);
  CHECK(close(pair.near) == 0);
  close_both(other);
}

static void test_end(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair pair = sockets();
  const Pair late = sockets();
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  EVENTUALLY(bytes_of(pair) == 1);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, late.near));
  CHECK_INT(1, bytes_of(late));
  belay_client_free(client);
  CHECK_INT(0, bytes_of(late));
  CHECK_INT(0, bytes_of(pair));
  close_both(pair);
  close_both(late);
}

static void test_end_behind_events(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const Pair pair = sockets();
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(client, pair.near));
  queue_event(client, 1);
  CHECK_INT(1, bytes_of(pair));
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  EVENTUALLY(bytes_of(pair) == 1);
  take_event(client, 1);
  TAKE(client, BELAY_EVENT_END, 0, BELAY_CLOSED);
  belay_client_free(client);
  CHECK_INT(0, bytes_of(pair));
  close_both(pair);
}

static belay_client* inherited;
static Pair inherited_pair;

static void use_inherited(Server* server, const Line* parent, int64_t number) {
  (void)server;
  (void)number;
  CHECK_STATUS(BELAY_FORKED, belay_client_set_wakeup(inherited, inherited_pair.near));
  CHECK_STATUS(BELAY_FORKED, belay_submit_extend(inherited, 1, 0, 1));
  belay_client_free(inherited);
  say(parent, 0);
}

static void test_fork(Server* server) {
  inherited = CLIENT(.url = server->url);
  inherited_pair = sockets();
  CHECK_STATUS(BELAY_OK, belay_client_set_wakeup(inherited, inherited_pair.near));
  const Child child = child_start(server, use_inherited, 0);
  hear(&child.line);
  child_end(&child);
  CHECK_INT(0, bytes_of(inherited_pair));
  queue_event(inherited, 1);
  CHECK_INT(1, bytes_of(inherited_pair));
  belay_client_free(inherited);
  close_both(inherited_pair);
}

const Test wakeup_tests[] = {
    {"A wake-up socket gets a byte each time the queue stops being empty", test_once_each_time},
    {"A wake-up socket gets a byte for events that wait already", test_events_that_wait},
    {"What is no connected stream socket is no wake-up socket", test_what_is_none},
    {"A full wake-up socket drops the byte", test_full},
    {"A closed wake-up socket ends the wake-ups, without SIGPIPE", test_closed},
    {"A wake-up socket gets a byte at the end of its client", test_end},
    {"A wake-up socket gets a byte at the end even if events wait", test_end_behind_events},
    {"A child's end sends nothing to its parent's wake-up socket", test_fork},
    {NULL, NULL}};
