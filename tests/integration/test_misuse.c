// Bad input: each changes nothing, answers a status of the class MISUSE, and a text that names what
// was wrong.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static const int64_t kBeyondIds = (int64_t)1 << 53;

// Options after one failed setter; frees them.
static void check_option(belay_options* options, int32_t expected, int32_t actual,
                         const char* part) {
  CHECK_STATUS(expected, actual);
  CHECK_INT(BELAY_CLASS_MISUSE, belay_status_class(actual));
  CHECK_TEXT(part, belay_options_error(options));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT(part, belay_options_error(options));
  belay_options_free(options);
}

// A setter with a value that it refuses.
#define BAD_OPTION(setter, value, part)                                              \
  do {                                                                               \
    belay_options* options_ = belay_options_new();                                   \
    check_option(options_, BELAY_INVALID_ARGUMENT, setter(options_, (value)), part); \
  } while (0)

#define GOOD_OPTION(setter, value)                         \
  do {                                                     \
    belay_options* options_ = belay_options_new();         \
    CHECK_STATUS(BELAY_OK, setter(options_, (value)));     \
    CHECK(strcmp("", belay_options_error(options_)) == 0); \
    belay_options_free(options_);                          \
  } while (0)

static void test_numbers_of_options(Server* server) {
  (void)server;
  BAD_OPTION(belay_options_set_watchdog_lease_ms, 99, "99");
  BAD_OPTION(belay_options_set_watchdog_lease_ms, 86400001, "86400001");
  BAD_OPTION(belay_options_set_watchdog_lease_ms, 0, "0");
  BAD_OPTION(belay_options_set_watchdog_lease_ms, INT64_MIN, "-9223372036854775808");
  GOOD_OPTION(belay_options_set_watchdog_lease_ms, 100);
  GOOD_OPTION(belay_options_set_watchdog_lease_ms, 86400000);
  BAD_OPTION(belay_options_set_request_timeout_ms, 9, "9");
  BAD_OPTION(belay_options_set_request_timeout_ms, 3600001, "3600001");
  BAD_OPTION(belay_options_set_request_timeout_ms, -1, "-1");
  GOOD_OPTION(belay_options_set_request_timeout_ms, 10);
  GOOD_OPTION(belay_options_set_request_timeout_ms, 3600000);
  BAD_OPTION(belay_options_set_max_hold_ms, 99, "99");
  BAD_OPTION(belay_options_set_max_hold_ms, -5, "-5");
  BAD_OPTION(belay_options_set_max_hold_ms, 2592000001, "2592000001");
  GOOD_OPTION(belay_options_set_max_hold_ms, 0);
  GOOD_OPTION(belay_options_set_max_hold_ms, 100);
  GOOD_OPTION(belay_options_set_max_hold_ms, 2592000000);
  BAD_OPTION(belay_options_set_max_pending, 0, "0");
  BAD_OPTION(belay_options_set_max_pending, 10000001, "10000001");
  GOOD_OPTION(belay_options_set_max_pending, 1);
  GOOD_OPTION(belay_options_set_max_pending, 10000000);
  BAD_OPTION(belay_options_set_log_level, -1, "-1");
  BAD_OPTION(belay_options_set_log_level, 5, "5");
  GOOD_OPTION(belay_options_set_log_level, BELAY_LOG_NONE);
  GOOD_OPTION(belay_options_set_log_level, BELAY_LOG_DEBUG);
}

static void test_texts_of_options(Server* server) {
  (void)server;
  char long_text[66];
  memset(long_text, 'x', 65);
  long_text[65] = '\0';
  BAD_OPTION(belay_options_set_label, long_text, long_text);
  BAD_OPTION(belay_options_set_prefix, long_text, long_text);
  BAD_OPTION(belay_options_set_prefix, "", "prefix");
  BAD_OPTION(belay_options_set_prefix, "a{b", "a{b");
  BAD_OPTION(belay_options_set_prefix, "a}b", "a}b");
  BAD_OPTION(belay_options_set_password_file, "/no/such/file", "No such file");
  BAD_OPTION(belay_options_set_password_file, "/", "neither a regular file nor a pipe");
  BAD_OPTION(belay_options_set_password_file, "/dev/zero", "neither a regular file nor a pipe");
  BAD_OPTION(belay_options_set_password_file, "/dev/null", "neither a regular file nor a pipe");
  BAD_OPTION(belay_options_set_url, NULL, "url");
  BAD_OPTION(belay_options_set_user, NULL, "user");
  BAD_OPTION(belay_options_set_password, NULL, "password");
  BAD_OPTION(belay_options_set_password_file, NULL, "password_file");
  BAD_OPTION(belay_options_set_label, NULL, "label");
  BAD_OPTION(belay_options_set_prefix, NULL, "prefix");
  long_text[64] = '\0';
  GOOD_OPTION(belay_options_set_label, long_text);
  GOOD_OPTION(belay_options_set_prefix, long_text);
  GOOD_OPTION(belay_options_set_label, "");
}

static void test_null_options(Server* server) {
  (void)server;
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_url(NULL, "redis://h"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_user(NULL, "u"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_password(NULL, "p"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_password_file(NULL, "p"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_label(NULL, "l"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_prefix(NULL, "p"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_watchdog_lease_ms(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_request_timeout_ms(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_max_hold_ms(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_max_pending(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_log_level(NULL, 1));
  CHECK(strlen(belay_options_error(NULL)) > 0);
  CHECK(belay_client_new(NULL) == NULL);
  belay_options_free(NULL);
}

static void test_first_error_sticks(Server* server) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_max_pending(options, -77));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_max_pending(options, -88));
  CHECK_STATUS(BELAY_OK, belay_options_set_max_pending(options, 100));
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  CHECK_TEXT("-77", belay_options_error(options));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("-77", belay_options_error(options));
  belay_options_free(options);
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = REQUEST(.name = "a");
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_lease_ms(request, 99));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_lease_ms(request, 98));
  CHECK_STATUS(BELAY_OK, belay_request_set_lease_ms(request, 1000));
  CHECK_TEXT("99", belay_request_error(request));
  belay_event* why = NULL;
  REFUSED(BELAY_INVALID_ARGUMENT, belay_acquire(client, request, 0, 0, &why));
  CHECK_TEXT("99", belay_event_message(why));
  belay_event_free(why);
  TOLD(client, BELAY_INVALID_ARGUMENT, "", belay_submit_acquire(client, 1, request, 0, 0));
  belay_request_free(request);
  belay_client_free(client);
}

static void test_options_after_use(Server* server) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  belay_client* one = belay_client_new(options);
  belay_client* two = belay_client_new(options);
  CHECK(one != NULL && two != NULL && one != two);
  CHECK_STATUS(BELAY_ALREADY_USED, belay_options_set_url(options, "redis://elsewhere"));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_options_set_label(options, "l"));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_options_set_watchdog_lease_ms(options, 1000));
  CHECK_TEXT("url", belay_options_error(options));
  belay_options_free(options);
  CHECK_STATUS(BELAY_OK, belay_client_ping(one, NULL));
  CHECK_STATUS(BELAY_OK, belay_client_ping(two, NULL));
  belay_client_free(one);
  belay_client_free(two);
}

// ---- URLs

static void check_url(const char* url, int32_t expected, const char* part) {
  belay_options* options = belay_options_new();
  const int32_t status = belay_options_set_url(options, url);
  if (status != expected) {
    FAIL("URL '%s' answered %s '%s'", url, belay_status_name(status), belay_options_error(options));
  }
  if (status == BELAY_OK) {
    CHECK(strcmp("", belay_options_error(options)) == 0);
    belay_options_free(options);
  } else {
    check_option(options, expected, status, part);
  }
}

static void test_good_urls(Server* server) {
  (void)server;
  const char* const urls[] = {"redis://localhost",
                              "redis://localhost:6379",
                              "redis://localhost/",
                              "redis://localhost:1/15",
                              "redis://:pass@h",
                              "redis://user:pass@h:7",
                              "redis://user@h",
                              "redis://user:pass@h1,h2:7,[::1]/1",
                              "redis://u%20x:p%40%3A%2F@h/0",
                              "redis://[::1]",
                              "redis://[::1]:6380/2",
                              "redis://127.0.0.1:65535",
                              "unix:///tmp/socket",
                              "unix:///tmp/socket?db=3",
                              "unix://user:pass@/tmp/socket",
                              "redis://h?",
                              "unix:///tmp/with%20space"};
  for (size_t i = 0; i < sizeof urls / sizeof urls[0]; ++i) {
    check_url(urls[i], BELAY_OK, "");
  }
}

static void test_malformed_urls(Server* server) {
  (void)server;

  static const struct {
    const char* url;
    const char* part;
  } kUrls[] = {{"", "no scheme"},
               {"localhost", "no scheme"},
               {"localhost:6379", "from byte 1: there is no scheme"},
               {"redis:/localhost", "no scheme"},
               {"redis://h:", "from byte 10: the port"},
               {"redis://h:0", "the port"},
               {"redis://h:65536", "the port"},
               {"redis://h:-1", "the port"},
               {"redis://h:+1", "the port"},
               {"redis://h: 1", "the port"},
               {"redis://h:1x", "the port"},
               {"redis://h:99999999999", "the port"},
               {"redis://h:1:2", "the port"},
               {"redis://::1", "bracket"},
               {"redis://[::1", "bracket"},
               {"redis://[]", "no address"},
               {"redis://[::1]x", "from byte 14: only a port"},
               {"redis://h/x", "from byte 11: the database"},
               {"redis://h/-1", "the database"},
               {"redis://h/1/2", "the database"},
               {"redis://h/99999999999", "the database"},
               {"redis://h?timeout=5", "from byte 11: there is no parameter timeout"},
               {"redis://h/0?db=1", "there is no parameter db"},
               {"redis://%zz", "from byte 9: the host"},
               {"redis://h#f", "from byte 9: the host"},
               {"redis://h\n", "the host"},
               {"redis://h%0a:1", "the host"},
               {"redis:// h", "the host"},
               {"redis://%", "the host"},
               {"redis://a%00b", "the host"},
               {"redis://u%zz:p@h", "%"},
               {"redis://u:%4@h", "%"},
               {"unix://", "path"},
               {"unix:///", "path"},
               {"unix://relative/socket", "path"},
               {"unix:///tmp/socket?db=x", "from byte 23: the database"},
               {"unix:///tmp/socket?db=", "the database"},
               {"unix:///tmp/socket?mode=7", "there is no parameter mode"}};

  for (size_t i = 0; i < sizeof kUrls / sizeof kUrls[0]; ++i) {
    check_url(kUrls[i].url, BELAY_INVALID_ARGUMENT, kUrls[i].part);
  }
  check_url("redis://h1,,h2", BELAY_INVALID_ARGUMENT, "host 2 of the list is empty");
  check_url("redis://h1,h2,h1", BELAY_INVALID_ARGUMENT, "host 3 of the list is the same");
  char long_path[200] = "unix:///";
  memset(long_path + strlen(long_path), 'x', 150);
  check_url(long_path, BELAY_INVALID_ARGUMENT, "151");
}

static void test_unsupported_urls(Server* server) {
  (void)server;
  check_url("valkeys://h", BELAY_UNSUPPORTED_URL, "valkeys");
  check_url("tls://user:pass@h:6379/0", BELAY_UNSUPPORTED_URL, "tls");
  check_url("valkey://h", BELAY_UNSUPPORTED_URL, "valkey");
  check_url("http://h", BELAY_UNSUPPORTED_URL, "scheme");
  check_url("redis+sentinel://h/name", BELAY_UNSUPPORTED_URL, "scheme");
  check_url("sentinel://h1,h2/name", BELAY_UNSUPPORTED_URL, "sentinel");
  check_url("redlock://h1,h2,h3", BELAY_UNSUPPORTED_URL, "scheme");
}

static void test_urls_hide_passwords(Server* server) {
  (void)server;
  const char* const urls[] = {"redis://user:hush@h:port",
                              "redis://:hush@h:99999",
                              "redis://:hush@h?x=1",
                              "redis://:hush@h/db",
                              "redis://:hush@h1,,h2",
                              "redis://user:hu/hush@h:0",
                              "redis://user:a@hush@h:0",
                              "redis://user:hush%zz@h",
                              "redis://:what?hush@h",
                              "redis://:what?hush=1@h",
                              "redis://:what?x@y:hush@h",
                              "rediss://user:hush@h:0",
                              "rediss://:what?hush@h",
                              "unix://user:hush@relative",
                              "unix://:hush@/tmp/socket?db=x",
                              "unix://:what?hush@/tmp/socket",
                              "redis:user:hush@h",
                              "user:hush@h",
                              "redis://user:hush",
                              "redis://localhost?password=hush",
                              "redis://localhost/hush",
                              "redis://localhost:6379/0/hush",
                              "redis://[hush",
                              "redis://h,hush,",
                              "unix:///tmp/socket?password=hush",
                              "unix://hush",
                              "hush://h",
                              "hush"};
  for (size_t i = 0; i < sizeof urls / sizeof urls[0]; ++i) {
    belay_options* options = belay_options_new();
    const int32_t status = belay_options_set_url(options, urls[i]);
    CHECK_INT(BELAY_CLASS_MISUSE, belay_status_class(status));
    CHECK(strlen(belay_options_error(options)) > 0);
    if (strstr(belay_options_error(options), "hush") != NULL) {
      FAIL("URL '%s' shows its password: %s", urls[i], belay_options_error(options));
    }
    belay_options_free(options);
  }
}

static void test_environment(Server* server) {
  (void)server;
  setenv("BELAY_URL", "redis://:hush@h:99999", 1);
  belay_options* options = belay_options_new();
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("BELAY_URL", belay_options_error(options));
  CHECK_TEXT("from byte 16", belay_options_error(options));
  CHECK(strstr(belay_options_error(options), "hush") == NULL);
  belay_options_free(options);
  unsetenv("BELAY_URL");
  setenv("BELAY_LOG", "loud", 1);
  options = belay_options_new();
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("loud", belay_options_error(options));
  belay_options_free(options);
}

// ---- Requests

// A setter with a value that it refuses.
#define BAD_REQUEST(call, part)                             \
  do {                                                      \
    belay_request* request = belay_request_new(BELAY_LOCK); \
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, call);             \
    CHECK_TEXT(part, belay_request_error(request));         \
    belay_request_free(request);                            \
  } while (0)

static void test_requests(Server* server) {
  (void)server;
  char long_name[1026];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[1025] = '\0';
  BAD_REQUEST(belay_request_add_name(request, NULL, -1), "NULL");
  BAD_REQUEST(belay_request_add_name(request, "", -1), "0");
  BAD_REQUEST(belay_request_add_name(request, "a", 0), "0");
  BAD_REQUEST(belay_request_add_name(request, "a", -2), "-2");
  BAD_REQUEST(belay_request_add_name(request, long_name, -1), "1025");
  BAD_REQUEST(belay_request_add_name(request, long_name, 1025), "1025");
  BAD_REQUEST(belay_request_set_lease_ms(request, 99), "99");
  BAD_REQUEST(belay_request_set_lease_ms(request, 86400001), "86400001");
  BAD_REQUEST(belay_request_set_lease_ms(request, -1), "-1");
  BAD_REQUEST(belay_request_set_max_hold_ms(request, 99), "99");
  BAD_REQUEST(belay_request_set_max_hold_ms(request, 2592000001), "2592000001");
  BAD_REQUEST(belay_request_set_notify(request, 2), "2");
  BAD_REQUEST(belay_request_set_notify(request, -1), "-1");
  BAD_REQUEST(belay_request_set_confirmed(request, 2), "2");
  BAD_REQUEST(belay_request_set_confirmed(request, -1), "-1");
  belay_request* request = REQUEST(.name = "a");
  CHECK(strcmp("", belay_request_error(request)) == 0);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_add_name(request, "a", -1));
  CHECK_TEXT("twice", belay_request_error(request));
  belay_request_free(request);
  CHECK(belay_request_new(0) == NULL);
  CHECK(belay_request_new(99) == NULL);
  CHECK(belay_request_new(-1) == NULL);
}

static void test_null_request(Server* server) {
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_add_name(NULL, "a", -1));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_lease_ms(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_max_hold_ms(NULL, 1000));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_notify(NULL, 1));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_request_set_confirmed(NULL, 1));
  CHECK(strlen(belay_request_error(NULL)) > 0);
  belay_request_free(NULL);
  belay_client* client = CLIENT(.url = server->url);
  belay_event* why = NULL;
  REFUSED(BELAY_INVALID_ARGUMENT, belay_acquire(client, NULL, 0, 0, &why));
  CHECK_TEXT("NULL", belay_event_message(why));
  belay_event_free(why);
  TOLD(client, BELAY_INVALID_ARGUMENT, "", belay_submit_acquire(client, 1, NULL, 0, 0));
  belay_client_free(client);
}

static void test_request_after_use(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = REQUEST(.name = "a");
  const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_set_lease_ms(request, 1000));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_set_max_hold_ms(request, 1000));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_set_notify(request, 1));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_set_confirmed(request, 1));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_add_name(request, "b", -1));
  CHECK_TEXT("lease_ms", belay_request_error(request));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_request_free(request);
  request = REQUEST(.name = "a");
  CHECK_STATUS(BELAY_OK, belay_submit_acquire(client, 1, request, 0, 0));
  CHECK_STATUS(BELAY_ALREADY_USED, belay_request_set_lease_ms(request, 1000));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_request_free(request);
  belay_client_free(client);
}

static void test_request_without_a_name(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_event* why = NULL;
  REFUSED(BELAY_INVALID_ARGUMENT, belay_acquire(client, request, 0, 0, &why));
  CHECK_TEXT("name", belay_event_message(why));
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, belay_request_add_name(request, "a", -1));
  GRANTED(belay_acquire(client, request, 0, 0, NULL));
  belay_request_free(request);
  belay_client_free(client);
}

// ---- Calls

static void check_call(int32_t expected, int64_t answer, belay_event** why, const char* part) {
  CHECK_STATUS(expected, (int32_t)(answer < 0 ? -answer : answer));
  CHECK(*why != NULL);
  CHECK_STATUS(expected, belay_event_status(*why));
  CHECK_TEXT(part, belay_event_message(*why));
  CHECK(belay_event_kind(*why) != 0);
  CHECK_INT(0, belay_event_hold(*why));
  belay_event_free(*why);
  *why = NULL;
}

static void test_null_client(Server* server) {
  (void)server;
  belay_event* why = NULL;
  belay_request* request = REQUEST(.name = "a");
  const int32_t bad = BELAY_INVALID_ARGUMENT;
  check_call(bad, belay_lock(NULL, "a", -1, 0, &why), &why, "client");
  check_call(bad, belay_acquire(NULL, request, 0, 0, &why), &why, "client");
  check_call(bad, release_why(NULL, 1, &why), &why, "client");
  check_call(bad, belay_extend(NULL, 1, 1000, &why), &why, "client");
  check_call(bad, belay_verify(NULL, 1, &why), &why, "client");
  check_call(bad, belay_inspect(NULL, "a", -1, &why), &why, "client");
  check_call(bad, belay_break(NULL, "a", -1, 0, &why), &why, "client");
  check_call(bad, belay_list(NULL, "*", -1, 1, &why), &why, "client");
  check_call(bad, belay_client_ping(NULL, &why), &why, "client");
  check_call(bad, belay_client_metrics(NULL, &why), &why, "client");
  CHECK_STATUS(bad, belay_release(NULL, 1));
  CHECK_STATUS(bad, belay_release_nowait(NULL, 1));
  CHECK_STATUS(bad, belay_submit_acquire(NULL, 1, request, 0, 0));
  CHECK_STATUS(bad, belay_submit_release(NULL, 1, 1));
  CHECK_STATUS(bad, belay_submit_extend(NULL, 1, 1, 1000));
  CHECK_STATUS(bad, belay_submit_verify(NULL, 1, 1));
  CHECK_STATUS(bad, belay_submit_inspect(NULL, 1, "a", -1));
  CHECK_STATUS(bad, belay_submit_break(NULL, 1, "a", -1, 0));
  CHECK_STATUS(bad, belay_submit_list(NULL, 1, "*", -1, 1));
  CHECK_STATUS(bad, belay_submit_ping(NULL, 1));
  CHECK_STATUS(bad, belay_cancel(NULL, 1));
  CHECK_STATUS(bad, belay_client_shutdown(NULL));
  CHECK_STATUS(bad, belay_hold_abandon(NULL, 1));
  CHECK_INT(-bad, belay_hold_state(NULL, 1));
  CHECK_INT(-bad, belay_hold_remaining_ms(NULL, 1));
  CHECK_INT(-bad, belay_hold_fence(NULL, 1, 0));
  CHECK_INT(-bad, belay_client_fd(NULL));
  CHECK_STATUS(bad, belay_client_set_wakeup(NULL, -1));
  CHECK_INT(-bad, belay_owner_holds(NULL, 1, "a", -1));
  CHECK_INT(-bad, belay_owner_hold(NULL, 1, "a", -1, 0));
  TAKE(NULL, BELAY_EVENT_END, 0, bad);
  belay_client_free(NULL);
  belay_request_free(request);
}

// Nobody takes it: neither the requests nor the calls about locks, semaphores, latches and keys.
static void check_bad_name(belay_client* client, const char* name, int64_t size, const char* part) {
  const int32_t bad = BELAY_INVALID_ARGUMENT;
  const char* const words[] = {"DEL"};
  belay_event* why = NULL;
  check_call(bad, belay_lock(client, name, size, 0, &why), &why, part);
  check_call(bad, belay_inspect(client, name, size, &why), &why, part);
  check_call(bad, belay_break(client, name, size, 0, &why), &why, part);
  check_call(bad, belay_semaphore_set_limit(client, name, size, 1, &why), &why, part);
  check_call(bad, belay_semaphore_available(client, name, size, &why), &why, part);
  check_call(bad, belay_latch_set(client, name, size, 1, 0, &why), &why, part);
  check_call(bad, belay_latch_count_down(client, name, size, 1, &why), &why, part);
  check_call(bad, belay_latch_count(client, name, size, &why), &why, part);
  check_call(bad, belay_fenced_write(client, name, size, 1, 1, words, NULL, &why), &why, part);
  belay_words* list = belay_words_new();
  CHECK_STATUS(BELAY_OK, belay_words_add(list, words[0], -1));
  check_call(bad, belay_fenced_write_words(client, name, size, 1, list, &why), &why, part);
  TOLD(client, bad, part, belay_submit_fenced_write_words(client, 1, name, size, 1, list));
  belay_words_free(list);
  TOLD(client, bad, part, belay_submit_inspect(client, 1, name, size));
  TOLD(client, bad, part, belay_submit_break(client, 1, name, size, 0));
  TOLD(client, bad, part, belay_submit_semaphore_set_limit(client, 1, name, size, 1));
  TOLD(client, bad, part, belay_submit_semaphore_available(client, 1, name, size));
  TOLD(client, bad, part, belay_submit_latch_set(client, 1, name, size, 1, 0));
  TOLD(client, bad, part, belay_submit_latch_count_down(client, 1, name, size, 1));
  TOLD(client, bad, part, belay_submit_latch_count(client, 1, name, size));
  TOLD(client, bad, part, belay_submit_fenced_write(client, 1, name, size, 1, 1, words, NULL));
  for (int32_t primitive = BELAY_LOCK; primitive <= BELAY_LATCH; ++primitive) {
    belay_request* request = belay_request_new(primitive);
    CHECK_STATUS(bad, belay_request_add_name(request, name, size));
    CHECK_TEXT(part, belay_request_error(request));
    belay_request_free(request);
  }
  BAD_REQUEST(belay_request_add_shared_name(request, name, size), part);
  BAD_REQUEST(belay_request_set_identity(request, name, size), part);
}

static void test_bad_names(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  char long_name[1026];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[1025] = '\0';

  const struct {
    const char* name;
    int64_t size;
    const char* part;
  } names[] = {{NULL, -1, "NULL"},      {NULL, 3, "NULL"},         {"", -1, "0 bytes"},
               {"a", 0, "0 bytes"},     {"a", -2, "-2"},           {"a", INT64_MIN, "-92233"},
               {long_name, -1, "1025"}, {long_name, 1025, "1025"}, {"a", INT64_MAX, "92233"}};

  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    check_bad_name(client, names[i].name, names[i].size, names[i].part);
  }
  BAD_REQUEST(belay_request_set_identity(request, long_name, 257), "257 bytes: 1..256");
  CHECK(belay_next(client, 0) == NULL);
  GRANTED(belay_lock(client, long_name, 1024, 0, NULL));
  belay_client_free(client);
}

// Nobody reads or copies so much.
static void test_bad_words(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t most = (int64_t)1 << 29;
  const int64_t sizes[] = {INT64_MAX, most + 1, -2, INT64_MIN};
  const char* const argv[] = {"SET", "v"};
  belay_event* why = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)sizes[i]);
    const int64_t both[] = {3, sizes[i]};
    check_call(BELAY_INVALID_ARGUMENT, belay_fenced_write(client, "k", -1, 1, 2, argv, both, &why),
               &why, number);
    TOLD(client, BELAY_INVALID_ARGUMENT, number,
         belay_submit_fenced_write(client, 1, "k", -1, 1, 2, argv, both));
    belay_words* words = belay_words_new();
    CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_words_add(words, "SET", sizes[i]));
    CHECK_TEXT(number, belay_words_error(words));
    belay_words_free(words);
    check_call(BELAY_INVALID_ARGUMENT, belay_list(client, "*", sizes[i], 1, &why), &why, number);
  }
  belay_client_free(client);
}

// Whoever calls learns first of its client, then of the tag and the limit, then of its arguments.
static void test_order_of_checks(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_client* holder = CLIENT(.url = server->url);
  GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  CHECK_STATUS(BELAY_TAG_IN_USE, belay_submit_acquire(client, 1, NULL, 0, 0));
  belay_event* event = belay_acquire_within(client, 1, NULL, 0, 0, -2);
  CHECK_STATUS(BELAY_TAG_IN_USE, belay_event_status(event));
  belay_event_free(event);
  event = belay_release_within(client, 1, 5, -2);
  CHECK_STATUS(BELAY_TAG_IN_USE, belay_event_status(event));
  belay_event_free(event);
  event = belay_acquire_within(client, 0, NULL, 0, 0, 0);
  CHECK_TEXT("tag was 0", belay_event_message(event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_client_shutdown(client));
  CHECK_STATUS(BELAY_CLOSED, belay_submit_acquire(client, 2, NULL, 0, 0));
  event = belay_acquire_within(client, 2, NULL, 0, 0, 0);
  CHECK_STATUS(BELAY_CLOSED, belay_event_status(event));
  belay_event_free(event);
  REFUSED(BELAY_CLOSED, belay_acquire(client, NULL, 0, 0, NULL));
  REFUSED(BELAY_CLOSED, belay_lock(client, NULL, -1, 0, NULL));
  belay_client_free(client);
  belay_client_free(holder);
}

static void test_bad_numbers(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* why = NULL;
  const int32_t bad = BELAY_INVALID_ARGUMENT;
  check_call(bad, belay_lock(client, "a", -1, -2, &why), &why, "-2");
  check_call(bad, belay_lock(client, "a", -1, INT64_MIN, &why), &why, "-9223372036854775808");
  belay_request* request = REQUEST(.name = "a");
  check_call(bad, belay_acquire(client, request, -1, 0, &why), &why, "owner was -1");
  check_call(bad, belay_acquire(client, request, kBeyondIds, 0, &why), &why, "9007199254740992");
  belay_request_free(request);
  belay_request* permit =
      REQUEST(.primitive = BELAY_SEMAPHORE, .name = "s", .permits = 1, .limit = 1);
  check_call(bad, belay_acquire(client, permit, 7, 0, &why), &why, "owner was 7");
  TOLD(client, bad, "owner was 7", belay_submit_acquire(client, 1, permit, 7, 0));
  belay_request_free(permit);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .lease_ms = 60000));
  check_call(bad, belay_extend(client, hold, 99, &why), &why, "99");
  check_call(bad, belay_extend(client, hold, 86400001, &why), &why, "86400001");
  check_call(bad, belay_extend(client, hold, 0, &why), &why, "0");
  TOLD(client, bad, "", belay_submit_extend(client, 1, hold, 99));
  check_call(bad, belay_break(client, "a", -1, -1, &why), &why, "-1");
  check_call(bad, belay_break(client, "a", -1, kBeyondIds, &why), &why, "9007199254740992");
  TOLD(client, bad, "", belay_submit_break(client, 1, "a", -1, -1));
  check_call(bad, belay_list(client, NULL, -1, 10, &why), &why, "pattern");
  check_call(bad, belay_list(client, "*", -1, 0, &why), &why, "0");
  check_call(bad, belay_list(client, "*", -1, 1000001, &why), &why, "1000001");
  TOLD(client, bad, "", belay_submit_list(client, 1, NULL, -1, 10));
  TOLD(client, bad, "", belay_submit_list(client, 1, "*", -1, 0));
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  belay_client_free(client);
}

static void test_unknown_holds(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t unknown[] = {0, -1, hold + 1, INT64_MIN, INT64_MAX};
  const int32_t bad = BELAY_UNKNOWN_HOLD;
  belay_event* why = NULL;
  for (int i = 0; i < 5; ++i) {
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)unknown[i]);
    check_call(bad, release_why(client, unknown[i], &why), &why, number);
    check_call(bad, belay_verify(client, unknown[i], &why), &why, number);
    check_call(bad, belay_extend(client, unknown[i], 1000, &why), &why, number);
    CHECK_STATUS(bad, belay_release(client, unknown[i]));
    CHECK_STATUS(bad, belay_hold_abandon(client, unknown[i]));
    CHECK_INT(-bad, belay_hold_state(client, unknown[i]));
    CHECK_INT(-bad, belay_hold_remaining_ms(client, unknown[i]));
    CHECK_INT(-bad, belay_hold_fence(client, unknown[i], 0));
  }
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  belay_client_free(client);
}

static void test_hold_of_another_client(Server* server) {
  belay_client* owner = CLIENT(.url = server->url);
  belay_client* other = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(owner, "a", -1, 0, NULL));
  const int64_t others = GRANTED(belay_lock(other, "b", -1, 0, NULL));
  CHECK(hold != others);
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_release(other, hold));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_verify(other, hold, NULL));
  CHECK_STATUS(BELAY_UNKNOWN_HOLD, belay_hold_abandon(other, hold));
  CHECK_INT(-BELAY_UNKNOWN_HOLD, belay_hold_state(other, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(owner, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_verify(other, others, NULL));
  belay_client_free(other);
  belay_client_free(owner);
}

static void test_null_event(Server* server) {
  (void)server;
  belay_event_free(NULL);
  CHECK_INT(0, belay_event_kind(NULL));
  CHECK_INT(0, belay_event_tag(NULL));
  CHECK_INT(0, belay_event_hold(NULL));
  CHECK_INT(0, belay_event_fence(NULL, 0));
  CHECK_INT(0, belay_event_int(NULL, BELAY_FIELD_REMAINING_MS));
  CHECK_INT(0, belay_event_int(NULL, BELAY_FIELD_IN_DOUBT_MS));
  CHECK_INT(0, belay_event_int(NULL, BELAY_FIELD_MEMBERS));
  CHECK_INT(0, belay_event_int(NULL, BELAY_FIELD_TOTAL));
  CHECK_INT(0, belay_event_member_int(NULL, 0, BELAY_MEMBER_PID));
  CHECK(belay_event_message(NULL) != NULL);
  int64_t size = -1;
  CHECK(belay_event_member_text(NULL, 0, BELAY_MEMBER_NAME, &size) != NULL);
  CHECK_INT(0, size);
}

static void test_members_out_of_range(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  const int32_t indices[] = {-1, 1, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 4; ++i) {
    CHECK_INT(0, belay_event_member_int(event, indices[i], BELAY_MEMBER_PID));
    CHECK(strcmp("", belay_event_member_text(event, indices[i], BELAY_MEMBER_LABEL, NULL)) == 0);
  }
  const int32_t fields[] = {0, -1, 12, INT32_MAX};
  for (int i = 0; i < 4; ++i) {
    CHECK_INT(0, belay_event_member_int(event, 0, fields[i]));
    CHECK(strcmp("", belay_event_member_text(event, 0, fields[i], NULL)) == 0);
  }
  belay_event_free(event);
  belay_client_free(client);
}

static void test_refusals_are_logged(Server* server) {
  char path[128];
  snprintf(path, sizeof path, "%s/log-of-the-client", server->directory);
  const int err = dup(STDERR_FILENO);
  FILE* file = fopen(path, "w+");
  CHECK(file != NULL);
  dup2(fileno(file), STDERR_FILENO);
  belay_client* client = CLIENT(.url = server->url, .log_level = BELAY_LOG_DEBUG);
  const int32_t answer = belay_submit_ping(client, kBeyondIds);
  belay_client_free(client);
  dup2(err, STDERR_FILENO);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, answer);
  char text[1024] = "";
  fseek(file, 0, SEEK_SET);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  CHECK_TEXT("9007199254740992", text);
}

// ---- Names of statuses

static void test_statuses(Server* server) {
  (void)server;

  const struct {
    int32_t status;
    int32_t status_class;
    const char* name;
  } statuses[] = {{BELAY_OK, BELAY_CLASS_OK, "OK"},
                  {BELAY_BUSY, BELAY_CLASS_RETRY, "BUSY"},
                  {BELAY_TIMEOUT, BELAY_CLASS_RETRY, "TIMEOUT"},
                  {BELAY_UNAVAILABLE, BELAY_CLASS_RETRY, "UNAVAILABLE"},
                  {BELAY_TOO_MANY_PENDING, BELAY_CLASS_RETRY, "TOO_MANY_PENDING"},
                  {BELAY_AUTH_FAILED, BELAY_CLASS_REFUSED, "AUTH_FAILED"},
                  {BELAY_NOT_PERMITTED, BELAY_CLASS_REFUSED, "NOT_PERMITTED"},
                  {BELAY_WRONG_TYPE, BELAY_CLASS_REFUSED, "WRONG_TYPE"},
                  {BELAY_UNSUPPORTED_SERVER, BELAY_CLASS_REFUSED, "UNSUPPORTED_SERVER"},
                  {BELAY_SERVER_ERROR, BELAY_CLASS_REFUSED, "SERVER_ERROR"},
                  {BELAY_INVALID_ARGUMENT, BELAY_CLASS_MISUSE, "INVALID_ARGUMENT"},
                  {BELAY_UNSUPPORTED_URL, BELAY_CLASS_MISUSE, "UNSUPPORTED_URL"},
                  {BELAY_TAG_IN_USE, BELAY_CLASS_MISUSE, "TAG_IN_USE"},
                  {BELAY_UNKNOWN_TAG, BELAY_CLASS_MISUSE, "UNKNOWN_TAG"},
                  {BELAY_UNKNOWN_HOLD, BELAY_CLASS_MISUSE, "UNKNOWN_HOLD"},
                  {BELAY_ALREADY_USED, BELAY_CLASS_MISUSE, "ALREADY_USED"},
                  {BELAY_LOST, BELAY_CLASS_GONE, "LOST"},
                  {BELAY_CANCELLED, BELAY_CLASS_GONE, "CANCELLED"},
                  {BELAY_CLOSED, BELAY_CLASS_GONE, "CLOSED"},
                  {BELAY_FORKED, BELAY_CLASS_GONE, "FORKED"},
                  {5, BELAY_CLASS_REFUSED, "UNKNOWN"},
                  {INT32_MIN, BELAY_CLASS_REFUSED, "UNKNOWN"}};

  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; ++i) {
    // As calls return it, too.
    for (int64_t sign = -1; sign <= 1; sign += 2) {
      CHECK_INT(statuses[i].status_class, belay_status_class(sign * statuses[i].status));
      CHECK(strcmp(statuses[i].name, belay_status_name(sign * statuses[i].status)) == 0);
    }
  }
  CHECK_INT(BELAY_CLASS_REFUSED, belay_status_class(INT64_MIN));
  CHECK(strcmp("UNKNOWN", belay_status_name(INT64_MIN)) == 0);
  int major = -1;
  int minor = -1;
  int patch = -1;
  CHECK(sscanf(belay_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
}

const Test misuse_tests[] = {
    {"Numbers of options beyond their range are refused and named", test_numbers_of_options},
    {"Texts of options that cannot be are refused and named", test_texts_of_options},
    {"No options are no options", test_null_options},
    {"The first error of options and requests sticks", test_first_error_sticks},
    {"Options that made a client are not changed any more", test_options_after_use},
    {"Good URLs are accepted", test_good_urls},
    {"Malformed URLs are refused with what is wrong about them", test_malformed_urls},
    {"URLs of what is not supported answer UNSUPPORTED_URL", test_unsupported_urls},
    {"No error of a URL shows its password", test_urls_hide_passwords},
    {"A bad environment is reported by the options", test_environment},
    {"Values of requests beyond their range are refused and named", test_requests},
    {"No request is no request", test_null_request},
    {"A request that was used is not changed any more", test_request_after_use},
    {"A request without a name is refused, and usable once it has one",
     test_request_without_a_name},
    {"No client answers INVALID_ARGUMENT to every call", test_null_client},
    {"Bad names are refused by every call that takes one", test_bad_names},
    {"Bad numbers are refused by every call that takes one", test_bad_numbers},
    {"Words of impossible sizes are refused and named", test_bad_words},
    {"Client, tag and limit are judged before the arguments", test_order_of_checks},
    {"Unknown holds are refused by every call that takes one", test_unknown_holds},
    {"A hold of another client of the process is unknown", test_hold_of_another_client},
    {"No event has neutral members", test_null_event},
    {"Members and fields that are not there are neutral", test_members_out_of_range},
    {"A refused submission says why in the log", test_refusals_are_logged},
    {"Every status has its class and its name", test_statuses},
    {NULL, NULL}};
