// The log and the host's stderr: nothing that happens there may delay or end anything.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { kBeyondTags = 0 };

typedef struct Stderr {
  int before;
  int out;  // the end that is read
} Stderr;

static Stderr pipe_as_stderr(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const Stderr piped = {dup(STDERR_FILENO), ends[0]};
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  return piped;
}

static void fill_stderr(void) {
  char bytes[4096];
  memset(bytes, 'x', sizeof bytes);
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  CHECK(fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK) == 0);
  while (write(STDERR_FILENO, bytes, sizeof bytes) > 0 || write(STDERR_FILENO, bytes, 1) > 0) {
  }
  CHECK(fcntl(STDERR_FILENO, F_SETFL, flags) == 0);
}

// The next bytes that were written there.
static ssize_t read_some(const Stderr* piped, char text[65537]) {
  const ssize_t size = read(piped->out, text, 65536);
  CHECK(size > 0);
  text[size] = '\0';
  return size;
}

static void restore(const Stderr* piped) {
  dup2(piped->before, STDERR_FILENO);
  close(piped->before);
  close(piped->out);
}

// Each is a line of the log, made by this thread.
static void log_lines(belay_client* client, int count) {
  for (int i = 0; i < count; ++i) {
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_submit_ping(client, kBeyondTags));
  }
}

static void test_full_pipe(Server* server) {
  static char text[65537];
  const int64_t lease = scaled(1000);
  const Stderr piped = pipe_as_stderr();
  fill_stderr();
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  belay_client* client =
      CLIENT(.url = server->url, .watchdog_lease_ms = lease, .log_level = BELAY_LOG_DEBUG);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  log_lines(client, 300);
  server_cut_clients(server);
  STAYS(2 * lease, belay_hold_state(client, hold) == BELAY_HOLD_HELD);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  server_pause(server);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK_INT(flags, fcntl(STDERR_FILENO, F_GETFL));
  server_continue(server);
  bool connected = false;
  bool dropped = false;
  while (!dropped) {  // read, it goes on
    log_lines(client, 1);
    read_some(&piped, text);
    connected = connected || strstr(text, "belay info: connected to") != NULL;
    dropped = strstr(text, "lines of this log were dropped\n") != NULL;
  }
  CHECK(connected);
  belay_client_free(client);
  restore(&piped);
}

// Nor does the end of a client wait for it.
static void test_end_at_a_full_pipe(Server* server) {
  const Stderr piped = pipe_as_stderr();
  fill_stderr();
  belay_client* client = CLIENT(.url = server->url, .log_level = BELAY_LOG_DEBUG);
  log_lines(client, 10);
  belay_client_free(client);
  restore(&piped);
}

static void test_last_lines(Server* server) {
  static char text[65537];
  const Stderr piped = pipe_as_stderr();
  belay_client* client = CLIENT(.url = server->url, .log_level = BELAY_LOG_DEBUG);
  log_lines(client, 200);
  belay_client_free(client);
  int lines = 0;
  fcntl(piped.out, F_SETFL, O_NONBLOCK);
  for (ssize_t size = 0; (size = read(piped.out, text, sizeof text - 1)) > 0;) {
    text[size] = '\0';
    for (const char* line = text; (line = strstr(line, "submission refused")) != NULL; ++line) {
      ++lines;
    }
  }
  CHECK_INT(200, lines);
  restore(&piped);
}

static volatile sig_atomic_t broken_pipes;

static void count_broken_pipe(int signal) {
  (void)signal;
  ++broken_pipes;
}

static void test_closed_pipe(Server* server) {
  void (*const handlers[])(int) = {SIG_DFL, count_broken_pipe};
  for (int i = 0; i < 2; ++i) {
    signal(SIGPIPE, handlers[i]);
    Stderr piped = pipe_as_stderr();
    belay_client* client = CLIENT(.url = server->url, .log_level = BELAY_LOG_DEBUG);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    close(piped.out);
    piped.out = -1;
    for (int lines = 0; lines < 20; ++lines) {
      log_lines(client, 1);
      server_cut_clients(server);
      CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    }
    belay_client_free(client);
    restore(&piped);
  }
  CHECK_INT(0, broken_pipes);
}

enum { kMostLogEvents = 1000, kBeyondBound = 20 };

static belay_client* client_with_log_events(const Server* server, const char* level) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  CHECK_STATUS(BELAY_OK, belay_options_set_max_pending(options, 1));
  CHECK_STATUS(BELAY_OK, belay_options_set(options, "log_events", level));
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  belay_options_free(options);
  return client;
}

static void test_lines_as_events(Server* server) {
  belay_client* client = client_with_log_events(server, "info");
  log_lines(client, 3);  // less severe
  belay_event* event = EVENT(client, BELAY_EVENT_LOG, 0, BELAY_OK);
  CHECK_TEXT("connected to", belay_event_message(event));
  CHECK(strstr(belay_event_message(event), "belay info") == NULL);
  CHECK_INT(BELAY_LOG_INFO, belay_event_int(event, BELAY_FIELD_LEVEL));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_DROPPED));
  CHECK_TEXT(belay_client_id(client), belay_event_text(event, NULL));
  const int64_t now = (int64_t)time(NULL) * 1000;
  const int64_t at = belay_event_int(event, BELAY_FIELD_TIME_MS);
  CHECK(at > now - 600000 && at <= now + 1000);
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  TAKE(client, BELAY_EVENT_PINGED, 1, BELAY_OK);
  belay_client_free(client);
}

// They are dropped beyond their bound, and neither count as pending nor keep anything from coming.
static void test_events_beyond_their_bound(Server* server) {
  belay_client* client = client_with_log_events(server, "debug");
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));  // it is connected, and has said so
  log_lines(client, kMostLogEvents - 1 + kBeyondBound);
  CHECK_STATUS(BELAY_OK, belay_submit_ping(client, 1));
  int events = 0;
  belay_event* event = NULL;
  while (belay_event_kind(event = belay_next(client, -1)) == BELAY_EVENT_LOG) {
    CHECK_INT(0, belay_event_int(event, BELAY_FIELD_DROPPED));
    belay_event_free(event);
    ++events;
  }
  CHECK_INT(BELAY_EVENT_PINGED, belay_event_kind(event));
  belay_event_free(event);
  CHECK_INT(kMostLogEvents, events);
  log_lines(client, 2);
  for (int64_t dropped = kBeyondBound; dropped >= 0; dropped -= kBeyondBound) {
    event = EVENT(client, BELAY_EVENT_LOG, 0, BELAY_OK);
    CHECK_TEXT("submission refused", belay_event_message(event));
    CHECK_INT(BELAY_LOG_DEBUG, belay_event_int(event, BELAY_FIELD_LEVEL));
    CHECK_INT(dropped, belay_event_int(event, BELAY_FIELD_DROPPED));
    belay_event_free(event);
  }
  belay_client_free(client);
}

const Test log_tests[] = {
    {"Lines of the log come as events, if asked for", test_lines_as_events},
    {"Events of the log are dropped beyond a bound, others never", test_events_beyond_their_bound},
    {"A full stderr delays neither renewals nor LOST, and counts the lines that it drops",
     test_full_pipe},
    {"A client ends in time while stderr is full", test_end_at_a_full_pipe},
    {"The last lines of a log are written when its client is freed", test_last_lines},
    {"A stderr that nobody reads any more raises no SIGPIPE", test_closed_pipe},
    {NULL, NULL}};
