// Options by name, and as parameters of a URL.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static belay_options* options_with(const char* name, const char* value) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set(options, name, value));
  CHECK_INT(0, strlen(belay_options_error(options)));
  return options;
}

static void check_bad(const char* name, const char* value, const char* const* parts) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set(options, name, value));
  for (; *parts != NULL; ++parts) {
    CHECK_TEXT(*parts, belay_options_error(options));
  }
  CHECK(belay_client_new(options) == NULL);
  belay_options_free(options);
}

#define BAD(name, value, ...) check_bad((name), (value), (const char* const[]){__VA_ARGS__, NULL})

static void test_table_describes_itself(Server* server) {
  (void)server;
  int32_t count = 0;
  for (const char* name = belay_option_name(0); name != NULL; name = belay_option_name(++count)) {
    CHECK(strlen(belay_option_text(name, BELAY_OPTION_ABOUT)) > 0);
    const char* usual = belay_option_text(name, BELAY_OPTION_DEFAULT);
    const bool takes_its_default = strlen(belay_option_text(name, BELAY_OPTION_RANGE)) > 0;
    if (takes_its_default) {
      belay_options_free(options_with(name, usual));
    }
    CHECK(strlen(belay_option_text(name, 99)) == 0);
  }
  CHECK(count >= 11);
  CHECK(belay_option_name(-1) == NULL);
  CHECK(belay_option_text("speed", BELAY_OPTION_UNIT) == NULL);
  CHECK(belay_option_text(NULL, BELAY_OPTION_UNIT) == NULL);
  CHECK_TEXT("100..86400000", belay_option_text("watchdog_lease_ms", BELAY_OPTION_RANGE));
  CHECK_TEXT("30000", belay_option_text("watchdog_lease_ms", BELAY_OPTION_DEFAULT));
  CHECK_TEXT("ms", belay_option_text("watchdog_lease_ms", BELAY_OPTION_UNIT));
  CHECK_TEXT("BELAY_LOG", belay_option_text("log_level", BELAY_OPTION_VARIABLE));
  CHECK_TEXT("none", belay_option_text("log_level", BELAY_OPTION_DEFAULT));
  CHECK_TEXT("secret", belay_option_text("password", BELAY_OPTION_SECRET));
  CHECK_INT(0, strlen(belay_option_text("label", BELAY_OPTION_SECRET)));
}

static void test_bad_values_name_the_option_and_its_range(Server* server) {
  (void)server;
  BAD("watchdog_lease_ms", "99", "watchdog_lease_ms was 99: 100..86400000");
  BAD("watchdog_lease_ms", "1e3", "watchdog_lease_ms", "'1e3'", "100..86400000");
  BAD("watchdog_lease_ms", "", "watchdog_lease_ms was ''");
  BAD("watchdog_lease_ms", "99999999999999999999", "99999999999999999999", "100..86400000");
  BAD("request_timeout_ms", " 50", "request_timeout_ms", "10..3600000");
  BAD("max_hold_ms", "1", "max_hold_ms was 1: 0, 100..2592000000");
  BAD("max_pending", "0", "max_pending was 0: 1..10000000");
  BAD("log_level", "loud", "log_level was 'loud': none, error, warning, info, debug");
  BAD("log_level", "5", "log_level was 5");
  BAD("prefix", "a{b", "prefix was 'a{b': 1..64 bytes without braces");
  BAD("address_map", "a:1=b", "address_map was 'a:1=b': 'a:1=b': an address is host:port");
  BAD("speed", "1", "there is no option 'speed'");
  BAD("Label", "1", "there is no option 'Label'");
  BAD("label", NULL, "label was NULL");
  BAD(NULL, "1", "the name of the option was NULL");
  BAD("password", NULL, "password was NULL");
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set(NULL, "label", "x"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set(NULL, "url", "redis://"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set(NULL, "speed", "x"));
  belay_options_free(options_with("log_level", "debug"));
  belay_options_free(options_with("log_level", "4"));
  belay_options_free(options_with("max_hold_ms", "0"));
}

// The label and the lease of a client with these options, which it frees.
static void check_client(belay_options* options, const char* label, int64_t lease_ms) {
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    FAIL("no client: %s", belay_options_error(options));
  }
  CHECK_STATUS(BELAY_ALREADY_USED, belay_options_set(options, "label", "late"));
  belay_options_free(options);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  EVENTUALLY(belay_hold_remaining_ms(client, hold) > lease_ms / 2);  // by the next renewal
  CHECK(belay_hold_remaining_ms(client, hold) <= lease_ms);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, &event));
  CHECK_TEXT(label, belay_event_member_text(event, 0, BELAY_MEMBER_LABEL, NULL));
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static const char* with_parameters(const Server* server, const char* parameters) {
  static char url[512];
  snprintf(url, sizeof url, "%s?%s", server->url, parameters);
  return url;
}

static void test_options_by_name(Server* server) {
  belay_options* options = options_with("url", server->url);
  CHECK_STATUS(BELAY_OK, belay_options_set(options, "label", "by name"));
  CHECK_STATUS(BELAY_OK, belay_options_set(options, "watchdog_lease_ms", "60000"));
  check_client(options, "by name", 60000);
}

static void test_options_are_told(Server* server) {
  belay_options* options =
      options_with("url", with_parameters(server, "watchdog_lease_ms=60000&label=of%20the%20URL"));
  CHECK_STATUS(BELAY_OK, belay_options_set_label(options, "set"));
  CHECK_STATUS(BELAY_OK, belay_options_set_log_level(options, BELAY_LOG_WARNING));
  CHECK_STATUS(BELAY_OK, belay_options_set_password(options, "s3cret"));
  CHECK(strcmp("60000", belay_options_get(options, "watchdog_lease_ms")) == 0);
  CHECK(strcmp("set", belay_options_get(options, "label")) == 0);
  CHECK(strcmp("warning", belay_options_get(options, "log_level")) == 0);
  CHECK(strcmp("1.2", belay_options_get(options, "tls_min_version")) == 0);
  CHECK(strcmp("5000", belay_options_get(options, "request_timeout_ms")) == 0);
  const char* const secret[] = {"url", "user", "password", "password_file"};
  for (size_t i = 0; i < sizeof secret / sizeof secret[0]; ++i) {
    CHECK(strcmp("", belay_options_get(options, secret[i])) == 0);
  }
  const char* lease = belay_options_get(options, "watchdog_lease_ms");
  CHECK(strcmp("0", belay_options_get(options, "max_hold_ms")) == 0);
  CHECK(strcmp("60000", lease) == 0);  // lives on
  CHECK(belay_options_get(options, "speed") == NULL);
  CHECK(belay_options_get(options, NULL) == NULL);
  CHECK(belay_options_get(NULL, "label") == NULL);
  belay_client_free(belay_client_new(options));
  CHECK(strcmp("set", belay_options_get(options, "label")) == 0);
  belay_options_free(options);
}

// A setter overrides the URL's parameters whichever comes first; a URL replaces the one before.
static void test_url_parameters(Server* server) {
  const char* both = "watchdog_lease_ms=60000&label=of%20the%20URL";
  belay_options* options = options_with("url", with_parameters(server, both));
  check_client(options, "of the URL", 60000);

  options = options_with("label", "set first");
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, with_parameters(server, both)));
  CHECK_STATUS(BELAY_OK, belay_options_set_watchdog_lease_ms(options, 5000));
  check_client(options, "set first", 5000);

  options = options_with("url", with_parameters(server, both));
  CHECK_STATUS(BELAY_OK,
               belay_options_set_url(options, with_parameters(server, "label=of%20the%20next")));
  check_client(options, "of the next", 30000);
}

// Other clients get text, whatever a label is made of; a name stays as it is.
static void test_a_label_that_is_no_text(Server* server) {
  belay_options* options = options_with("url", with_parameters(server, "label=%ff%c3%28%0ax"));
  check_client(options, "\\xff\\xc3(\\x0ax", 30000);
  belay_client* client = CLIENT(.url = server->url);
  GRANTED(belay_lock(client, "\xff", -1, 0, NULL));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10, &event));
  CHECK_TEXT("\xff", belay_event_member_text(event, 0, BELAY_MEMBER_NAME, NULL));
  belay_event_free(event);
  belay_client_free(client);
}

static void test_url_parameters_of_the_environment(Server* server) {
  const char* both = "watchdog_lease_ms=60000&log_level=none&label=around";
  CHECK(setenv("BELAY_URL", with_parameters(server, both), 1) == 0);
  CHECK(setenv("BELAY_LOG", "loud", 1) == 0);
  check_client(belay_options_new(), "around", 60000);
  CHECK(unsetenv("BELAY_LOG") == 0);
  check_client(options_with("label", "set"), "set", 60000);
  belay_options* options = options_with("url", server->url);
  CHECK_STATUS(BELAY_OK, belay_options_set(options, "label", "another"));
  check_client(options, "another", 30000);
}

static void check_bad_url(const char* url, const char* part) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_url(options, url));
  CHECK_TEXT(part, belay_options_error(options));
  CHECK(strstr(belay_options_error(options), "hunter") == NULL);
  belay_options_free(options);
}

static void test_bad_url_parameters(Server* server) {
  (void)server;
  check_bad_url("redis://h?speed=hunter", "there is no parameter speed");
  check_bad_url("redis://h?Hunter=1", "there is no parameter");
  check_bad_url("redis://h?hunter", "a parameter is NAME=VALUE");
  check_bad_url("redis://h?password=hunter", "password is no parameter");
  check_bad_url("redis://h?label=x&password_file=hunter", "password_file is no parameter");
  check_bad_url("redis://h?user=hunter", "user is no parameter: user and password stand before");
  check_bad_url("redis://h?url=hunter", "url is no parameter: the URL itself");
  check_bad_url("unix:///s?password_file=hunter", "password_file is no parameter: only a setter");
  check_bad_url("redis://h?label=hunter&label=x", "label was given twice");
  check_bad_url("redis://h?label=x&log_level=1&label=hunter", "label was given twice");
  check_bad_url("unix:///s?db=1&label=hunter&db=1", "db was given twice");
  check_bad_url("redis://h?watchdog_lease_ms=hunter", "watchdog_lease_ms takes 100..86400000");
  check_bad_url("redis://h?label=hunter%zz", "bad % escape");
  check_bad_url("redis://h?label=me@hunter", "percent-encoded");
  check_bad_url("redis://h/0?db=1", "there is no parameter db: the database stands after the host");
  check_bad_url("unix:///s?db=1&prefix={hunter}", "prefix takes 1..64 bytes without braces");
}

const Test option_tests[] = {
    {"The table of options describes itself", test_table_describes_itself},
    {"A bad value names its option and the range", test_bad_values_name_the_option_and_its_range},
    {"Options by name", test_options_by_name},
    {"Options are told as they are set, but for secrets", test_options_are_told},
    {"Options as parameters of a URL", test_url_parameters},
    {"A label that is no text is shown as text", test_a_label_that_is_no_text},
    {"Options as parameters of BELAY_URL", test_url_parameters_of_the_environment},
    {"Bad parameters of a URL are named, and not quoted", test_bad_url_parameters},
    {NULL, NULL},
};
