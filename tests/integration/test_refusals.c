// Servers that refuse us: passwords, rights, foreign keys, servers that are too old; and secrets
// that must not show.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static const char kPassword[] = "s3cret p@ss";
static const char kEncodedPassword[] = "s3cret%20p%40ss";

static const char* url_with(const Server* server, const char* userinfo) {
  static char url[128];
  snprintf(url, sizeof url, "redis://%s@127.0.0.1:%d", userinfo, server->port);
  return url;
}

static void require_password(const Server* server) {
  server_tell(server, "CONFIG", "SET", "requirepass", kPassword, NULL);
}

// A refusal comes at once: long before the request timeout.
static void check_refusal(belay_client* client, int32_t status) {
  const int64_t start = now_ms();
  belay_event* why = NULL;
  REFUSED(status, belay_lock(client, "a", -1, -1, &why));
  CHECK(strlen(belay_event_message(why)) > 0);
  CHECK_TEXT("127.0.0.1", belay_event_message(why));
  CHECK_INT(0, belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS));
  CHECK(strstr(belay_event_message(why), "s3cret") == NULL);
  belay_event_free(why);
  REFUSED(status, belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, status);
  CHECK(now_ms() - start < scaled(kLimitMs));
}

enum { kSlow = 3600000 };  // a request timeout that nobody waits for

static void test_wrong_password(Server* server) {
  require_password(server);
  const char* const userinfos[] = {":s3cret-wrong", "nobody:s3cret-wrong", "default:"};
  for (int i = 0; i < 3; ++i) {
    belay_client* client =
        CLIENT(.url = url_with(server, userinfos[i]), .request_timeout_ms = kSlow);
    check_refusal(client, BELAY_AUTH_FAILED);
    CHECK_STATUS(BELAY_AUTH_FAILED, belay_client_ping(client, NULL));
    CHECK_STATUS(BELAY_AUTH_FAILED, belay_inspect(client, "a", -1, NULL));
    belay_client_free(client);
  }
}

static void test_missing_password(Server* server) {
  require_password(server);
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = kSlow);
  check_refusal(client, BELAY_AUTH_FAILED);
  belay_client_free(client);
}

static void check_works(belay_client* client) {
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_right_password(Server* server) {
  require_password(server);
  char userinfo[64];
  snprintf(userinfo, sizeof userinfo, ":%s", kEncodedPassword);
  check_works(CLIENT(.url = url_with(server, userinfo)));
  snprintf(userinfo, sizeof userinfo, "default:%s", kEncodedPassword);
  check_works(CLIENT(.url = url_with(server, userinfo)));
  check_works(CLIENT(.url = server->url, .password = kPassword));
  check_works(CLIENT(.url = server->url, .user = "default", .password = kPassword));
  check_works(CLIENT(.url = url_with(server, ":wrong"), .password = kPassword));
}

static void test_setters_override_a_later_url(Server* server) {
  require_password(server);
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_user(options, "default"));
  CHECK_STATUS(BELAY_OK, belay_options_set_password(options, kPassword));
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, url_with(server, "nobody:wrong")));
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  check_works(client);
  belay_options_free(options);
}

static void test_password_file(Server* server) {
  require_password(server);
  char path[128];
  snprintf(path, sizeof path, "%s/password", server->directory);
  const char* const ends[] = {"", "\n", "\r\n"};
  for (int i = 0; i < 3; ++i) {
    FILE* file = fopen(path, "w");
    CHECK(file != NULL && fprintf(file, "%s%s", kPassword, ends[i]) > 0);
    fclose(file);
    belay_options* options = belay_options_new();
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, url_with(server, ":wrong")));
    CHECK_STATUS(BELAY_OK, belay_options_set_password_file(options, path));
    belay_client* client = belay_client_new(options);
    CHECK(client != NULL);
    check_works(client);
    belay_options_free(options);
  }
}

static void test_password_of_the_environment(Server* server) {
  require_password(server);
  char userinfo[64];
  snprintf(userinfo, sizeof userinfo, ":%s", kEncodedPassword);
  setenv("BELAY_URL", url_with(server, userinfo), 1);
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  check_works(client);
  belay_options_free(options);
}

static void test_password_that_is_mended(Server* server) {
  require_password(server);
  belay_client* client = CLIENT(.url = server->url, .password = "new one");
  REFUSED(BELAY_AUTH_FAILED, belay_lock(client, "a", -1, -1, NULL));
  server_ask(server, "AUTH", kPassword, NULL);
  server_kill(server);
  server->options[0] = "--requirepass";
  server->options[1] = "new one";
  server_start(server);
  EVENTUALLY(belay_client_ping(client, NULL) == BELAY_OK);
  check_works(client);
}

static void test_password_never_shows(Server* server) {
  require_password(server);
  char path[128];
  snprintf(path, sizeof path, "%s/log-of-the-client", server->directory);
  const int err = dup(STDERR_FILENO);
  FILE* file = fopen(path, "w+");
  CHECK(file != NULL);
  dup2(fileno(file), STDERR_FILENO);
  belay_client* client =
      CLIENT(.url = url_with(server, "somebody:s3cret-wrong"), .log_level = BELAY_LOG_DEBUG);
  const int64_t refused = belay_lock(client, "a", -1, 0, NULL);
  belay_client_free(client);
  client = CLIENT(.url = server->url, .password = kPassword, .log_level = BELAY_LOG_DEBUG,
                  .request_timeout_ms = scaled(200));
  const int64_t hold = belay_lock(client, "a", -1, 0, NULL);
  server_kill(server);
  const int32_t answer = belay_client_ping(client, NULL);
  belay_client_free(client);
  dup2(err, STDERR_FILENO);
  REFUSED(BELAY_AUTH_FAILED, refused);
  GRANTED(hold);
  CHECK_STATUS(BELAY_UNAVAILABLE, answer);
  char text[8192] = "";
  fseek(file, 0, SEEK_SET);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  CHECK_TEXT("WRONGPASS", text);
  CHECK_TEXT("(user 'somebody')", text);
  CHECK(strstr(text, "s3cret") == NULL);
}

// ---- Rights

// The least that a user of locks needs; the rest of this file shows that less does not do.
static const char* const kRights[] = {"resetkeys",     "~belay:*",
                                      "resetchannels", "&belay:*",
                                      "-@all",         "+subscribe",
                                      "+publish",      "+time",
                                      "+eval",         "+evalsha",
                                      "+get",          "+mget",
                                      "+set",          "+mset",
                                      "+setrange",     "+del",
                                      "+exists",       "+pexpire",
                                      "+zadd",         "+zrem",
                                      "+zrange",       "+zrevrange",
                                      "+zcount",       "+zscore",
                                      "+zcard",        "+zremrangebyrank",
                                      "+hget",         "+hmget",
                                      "+hlen",         "+hset",
                                      "+hdel",         "+pttl"};

static void make_user(const Server* server) {
  server_tell(server, "ACL", "SETUSER", "least", "reset", "on", ">s3cret", NULL);
  for (size_t i = 0; i < sizeof kRights / sizeof kRights[0]; ++i) {
    server_tell(server, "ACL", "SETUSER", "least", kRights[i], NULL);
  }
}

// Waits and handoffs, as two clients of such a user.
static void use_rights(const char* url) {
  belay_client* one = CLIENT(.url = url, .user = "least", .password = "s3cret");
  belay_client* two = CLIENT(.url = url, .user = "least", .password = "s3cret");
  belay_client* three = CLIENT(.url = url, .user = "least", .password = "s3cret");
  const int64_t hold = GRANTED(ACQUIRE(one, 0, .name = "a", .lease_ms = 60000));
  CHECK_STATUS(BELAY_OK, belay_verify(one, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_extend(one, hold, 70000, NULL));
  REFUSED(BELAY_BUSY, belay_lock(two, "a", -1, 0, NULL));
  REFUSED(BELAY_TIMEOUT, belay_lock(two, "a", -1, 50, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 1, -1, .name = "a"));
  CHECK(belay_next(two, 100) == NULL);
  CHECK_STATUS(BELAY_OK, SUBMIT(three, 1, -1, .name = "a"));
  CHECK(belay_next(three, 100) == NULL);
  CHECK_STATUS(BELAY_OK, belay_break(three, "a", -1, 0, NULL));
  const int64_t second = TAKE(two, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  EVENTUALLY(belay_hold_state(one, hold) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_LOST, belay_release(one, hold));
  CHECK_STATUS(BELAY_OK, belay_release(two, second));
  const int64_t third = TAKE(three, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_release(three, third));
  belay_client_free(one);
  belay_client_free(two);
  belay_client_free(three);
}

static void test_least_rights(Server* server) {
  make_user(server);
  use_rights(server->url);
}

static void test_least_rights_after_a_cut(Server* server) {
  make_user(server);
  belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret");
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_cut_clients(server);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  server_cut_clients(server);
  check_works(client);
}

static void test_rights_of_a_looker(Server* server) {
  make_user(server);
  belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret");
  CHECK_STATUS(BELAY_NOT_PERMITTED, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, NULL));
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_NOT_PERMITTED, belay_list(client, "*", -1, 10, &why));
  CHECK_TEXT("NOPERM", belay_event_message(why));
  belay_event_free(why);
  server_tell(server, "ACL", "SETUSER", "least", "+ping", "+scan", NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10, NULL));
  belay_client_free(client);
}

static void test_no_rights(Server* server) {
  server_tell(server, "ACL", "SETUSER", "none", "reset", "on", ">s3cret", NULL);
  belay_client* client =
      CLIENT(.url = url_with(server, "none:s3cret"), .request_timeout_ms = kSlow);
  check_refusal(client, BELAY_NOT_PERMITTED);
  belay_client_free(client);
}

// The fallback where CLIENT TRACKING is not allowed.
static void test_deleted_key_without_tracking(Server* server) {
  make_user(server);
  belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret",
                                .watchdog_lease_ms = scaled(600));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_ask(server, "DEL", "belay:r:{a}", NULL);
  TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
  belay_client_free(client);
}

// Takes one right away that an acquire of a free lock needs.
static void test_each_right_is_needed(Server* server) {
  const char* const lacking[] = {"resetkeys", "resetchannels", "-subscribe", "-time",
                                 "-eval",     "-get",          "-set",       "-exists"};
  for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; ++i) {
    make_user(server);
    server_tell(server, "ACL", "SETUSER", "least", lacking[i], NULL);
    belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret",
                                  .request_timeout_ms = kSlow);
    check_refusal(client, BELAY_NOT_PERMITTED);
    belay_client_free(client);
  }
}

static void test_right_withdrawn_while_holding(Server* server) {
  make_user(server);
  belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret",
                                .watchdog_lease_ms = scaled(600));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_tell(server, "ACL", "SETUSER", "least", "-evalsha", "-eval", NULL);
  belay_event* risk = EVENT(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK);
  CHECK_TEXT("NOPERM", belay_event_message(risk));
  belay_event_free(risk);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  belay_client_free(client);
}

// A right that a renewal needs, taken away while a name is held alone or together with others: the
// server still has it.
static void test_each_right_of_a_renewal_withdrawn(Server* server) {
  static const struct {
    const char* right;
    bool shared;
  } withdrawn[] = {{"-get", false}, {"-time", false},  {"-setrange", false},
                   {"-time", true}, {"-zscore", true}, {"-zadd", true}};

  for (size_t i = 0; i < sizeof withdrawn / sizeof withdrawn[0]; ++i) {
    server_tell(server, "FLUSHALL", NULL);
    make_user(server);
    belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret",
                                  .watchdog_lease_ms = scaled(600));
    CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a", .shared = withdrawn[i].shared));
    const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
    server_tell(server, "ACL", "SETUSER", "least", withdrawn[i].right, NULL);
    CHECK_INT(hold, TAKE(client, BELAY_EVENT_AT_RISK, 0, BELAY_OK));
    belay_event* lost = EVENT(client, BELAY_EVENT_LOST, 0, BELAY_LOST);
    CHECK_INT(BELAY_REASON_NOT_RENEWED, belay_event_int(lost, BELAY_FIELD_REASON));
    belay_event_free(lost);
    belay_client_free(client);
  }
}

// What an error means does not depend on whose password stands in it.
static void test_password_within_an_error(Server* server) {
  const char* const passwords[] = {"T", "R", "e", "ERR", "NOSCRIPT", "NOPERM", "user", "script"};
  for (size_t i = 0; i < sizeof passwords / sizeof passwords[0]; ++i) {
    char secret[16];
    snprintf(secret, sizeof secret, ">%s", passwords[i]);
    server_tell(server, "ACL", "SETUSER", "short", "reset", "on", secret, "~*", "&*", "+@all",
                NULL);
    belay_client* client = CLIENT(.url = server->url, .user = "short", .password = passwords[i]);
    for (int round = 0; round < 3; ++round) {
      CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "a", -1, 0, NULL))));
      server_tell(server, "SCRIPT", "FLUSH", NULL);
    }
    server_tell(server, "ACL", "SETUSER", "short", "-eval", "-evalsha", NULL);
    belay_event* why = NULL;
    REFUSED(BELAY_NOT_PERMITTED, belay_lock(client, "a", -1, 0, &why));
    belay_event_free(why);
    belay_client_free(client);
  }
}

// Whichever right it misses, and however far it came: the name is held alone, as before, and
// nothing else is left.
static void test_downgrade_without_a_right(Server* server) {
  const char* const missed[] = {"-hset",  "-zadd",   "-set",     "-setrange", "-pexpire",
                                "-hget",  "-zrange", "-zrem",    "-hdel",     "-exists",
                                "-zcard", "-pttl",   "-publish", "-del",      "-get"};
  for (size_t i = 0; i < sizeof missed / sizeof missed[0]; ++i) {
    server_tell(server, "FLUSHALL", NULL);
    make_user(server);
    belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret");
    belay_client* other = CLIENT(.url = server->url);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    server_tell(server, "ACL", "SETUSER", "least", missed[i], NULL);
    belay_event* why = NULL;
    const int32_t status = belay_downgrade(client, hold, &why);
    const bool shared = status == BELAY_OK;
    if (!shared && status != BELAY_NOT_PERMITTED) {
      FAIL("without %s a downgrade answers %s: %s", missed[i] + 1, belay_status_name(status),
           belay_event_message(why));
    }
    belay_event_free(why);
    make_user(server);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
    const int64_t reader = ACQUIRE(other, 0, .name = "a", .shared = true);
    CHECK((reader > 0) == shared);
    belay_client_free(other);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    CHECK(strcmp("1", server_ask(server, "DBSIZE", NULL)) == 0);  // the fence
    belay_client_free(client);
  }
}

// A connected user loses a right that an acquire needs only after it has written something, and one
// that takes it back.
static void test_right_missed_halfway(Server* server) {
  const char* const missed[][2] = {{"-set", "-zrem"}, {"-zadd", "-del"}, {"-pexpire", "-zrem"}};
  int32_t kept = 0;
  for (size_t i = 0; i < sizeof missed / sizeof missed[0]; ++i) {
    server_tell(server, "FLUSHALL", NULL);
    make_user(server);
    belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret");
    belay_request* request = request_of(&(RequestSetup){.name = "a", .shared = true});
    const int64_t hold = GRANTED(belay_acquire(client, request, 0, 0, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    server_tell(server, "ACL", "SETUSER", "least", missed[i][0], missed[i][1], NULL);
    belay_event* why = NULL;
    REFUSED(BELAY_NOT_PERMITTED, belay_acquire(client, request, 0, 0, &why));
    if (strcmp("0", server_ask(server, "EXISTS", "belay:r:{a}", NULL)) != 0) {
      ++kept;
      CHECK(belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS) > 0);
    }
    belay_event_free(why);
    belay_request_free(request);
    belay_client_free(client);
  }
  CHECK(kept > 0);
}

static void test_release_without_the_right(Server* server) {
  make_user(server);
  belay_client* client = CLIENT(.url = server->url, .user = "least", .password = "s3cret");
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_tell(server, "ACL", "SETUSER", "least", "-evalsha", "-eval", NULL);
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_NOT_PERMITTED, release_why(client, hold, &why));
  CHECK_TEXT("NOPERM", belay_event_message(why));
  CHECK(belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS) > 0);
  belay_event_free(why);
  belay_client_free(client);
}

// ---- Foreign keys

static void check_wrong_type(Server* server, belay_client* client) {
  char dump[4096];
  snprintf(dump, sizeof dump, "%s", server_ask(server, "DUMP", "belay:r:{a}", NULL));
  belay_event* why = NULL;
  REFUSED(BELAY_WRONG_TYPE, belay_lock(client, "a", -1, -1, &why));
  CHECK_TEXT("belay:r:{a}", belay_event_message(why));
  CHECK_TEXT("'a'", belay_event_message(why));
  belay_event_free(why);
  REFUSED(BELAY_WRONG_TYPE, belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_WRONG_TYPE, belay_inspect(client, "a", -1, NULL));
  CHECK_STATUS(BELAY_WRONG_TYPE, belay_break(client, "a", -1, 0, NULL));
  if (strcmp(dump, server_ask(server, "DUMP", "belay:r:{a}", NULL)) != 0) {
    FAIL("the foreign key was changed");
  }
  CHECK(strcmp("1", server_ask(server, "DBSIZE", NULL)) == 0);
}

static void test_foreign_key(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = kSlow);
  server_ask(server, "RPUSH", "belay:r:{a}", "one", "two", NULL);
  check_wrong_type(server, client);
  server_tell(server, "SET", "belay:r:{a}", "what somebody else put there", NULL);
  server_tell(server, "FLUSHALL", NULL);
  server_tell(server, "SET", "belay:r:{a}", "what somebody else put there", NULL);
  check_wrong_type(server, client);
  server_ask(server, "DEL", "belay:r:{a}", NULL);
  check_works(client);
}

// A key beside the record's: what needs it says which it is, and changes nothing.
static void check_foreign_neighbour(Server* server, const char* key) {
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  server_ask(server, "DEL", key, NULL);
  server_ask(server, "RPUSH", key, "foreign", NULL);
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_WRONG_TYPE, belay_break(holder, "a", -1, 0, &why));
  CHECK_TEXT(key, belay_event_message(why));
  belay_event_free(why);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(holder, hold, NULL));
  CHECK_STATUS(BELAY_WRONG_TYPE, release_why(holder, hold, &why));
  CHECK_TEXT(key, belay_event_message(why));
  CHECK(belay_event_int(why, BELAY_FIELD_IN_DOUBT_MS) > 0);
  belay_event_free(why);
  CHECK_TEXT("1", server_ask(server, "EXISTS", "belay:r:{a}", NULL));
  server_ask(server, "DEL", key, NULL);
  EVENTUALLY(!is_held(waiter, "a"));
  belay_client_free(holder);
  belay_client_free(waiter);
  server_tell(server, "FLUSHALL", NULL);
}

static void test_foreign_neighbours(Server* server) {
  check_foreign_neighbour(server, "belay:w:{a}");
}

static void test_newer_record(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .request_timeout_ms = kSlow);
  char record[128];
  memset(record, 9, sizeof record);
  record[127] = '\0';
  server_tell(server, "SET", "belay:r:{a}", record, NULL);
  belay_event* why = NULL;
  REFUSED(BELAY_WRONG_TYPE, belay_lock(client, "a", -1, 0, &why));
  CHECK_TEXT("newer", belay_event_message(why));
  belay_event_free(why);
  belay_client_free(client);
}

static void test_foreign_key_over_a_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_tell(server, "SET", "belay:r:{a}", "not a record", NULL);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK(strcmp("not a record", server_ask(server, "GET", "belay:r:{a}", NULL)) == 0);
  belay_client_free(client);
}

// LOST comes, whatever comes before it.
static void expect_lost(belay_client* client, int64_t hold) {
  int32_t kind = 0;
  while (kind != BELAY_EVENT_LOST) {
    belay_event* event = belay_next(client, scaled(kLimitMs));
    CHECK(event != NULL);
    kind = belay_event_kind(event);
    CHECK_INT(hold, event_end(event));
  }
}

static void test_list_over_a_hold(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .watchdog_lease_ms = scaled(600));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  const int64_t bystander = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  server_ask(server, "DEL", "belay:r:{a}", NULL);
  server_ask(server, "RPUSH", "belay:r:{a}", "one", NULL);
  const int64_t end = now_ms() + 3 * scaled(600);
  expect_lost(client, hold);
  while (now_ms() < end) {
    CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, bystander));
    nap();
  }
  CHECK(strcmp("one", server_ask(server, "LRANGE", "belay:r:{a}", "0", "-1", NULL)) == 0);
  belay_client_free(client);
}

// ---- Servers that will not do

static void test_unsupported_servers(Server* server) {
  (void)server;
  const char* const answers[] = {
      "-ERR unknown command `HELLO`, with args beginning with: `3`, `SETNAME`, `belay`, \r\n",
      "-NOPROTO unsupported protocol version\r\n",
      "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n6.0.16\r\n$5\r\nproto\r\n:3\r\n",
      "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n2.8.1\r\n"};
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; ++i) {
    belay_client* client = CLIENT(.url = fake_server(answers[i]), .request_timeout_ms = kSlow);
    check_refusal(client, BELAY_UNSUPPORTED_SERVER);
    belay_client_free(client);
  }
}

const Test refusal_tests[] = {
    {"A wrong password answers AUTH_FAILED at once", test_wrong_password},
    {"A missing password answers AUTH_FAILED at once", test_missing_password},
    {"The right password works in the URL, encoded, and as an option", test_right_password},
    {"User and password options override those of a URL that is set later",
     test_setters_override_a_later_url},
    {"A password is read from a file without its line end", test_password_file},
    {"BELAY_URL is the default server, with its password", test_password_of_the_environment},
    {"A client recovers when its password becomes right", test_password_that_is_mended},
    {"A password appears in no message and no log", test_password_never_shows},
    {"A user with the least rights has locks", test_least_rights},
    {"A user with the least rights survives a cut", test_least_rights_after_a_cut},
    {"Looking takes two rights more", test_rights_of_a_looker},
    {"A user without rights answers NOT_PERMITTED at once", test_no_rights},
    {"Without CLIENT TRACKING a deleted record is lost at the next renewal",
     test_deleted_key_without_tracking},
    {"A user who lacks one of the rights answers NOT_PERMITTED at once", test_each_right_is_needed},
    {"A right withdrawn while holding is told by AT_RISK and LOST",
     test_right_withdrawn_while_holding},
    {"What an error means does not depend on the password", test_password_within_an_error},
    {"A downgrade without a right leaves the name held alone", test_downgrade_without_a_right},
    {"What is refused halfway is in doubt where the server keeps it", test_right_missed_halfway},
    {"A right withdrawn while holding is never told as a name that is gone",
     test_each_right_of_a_renewal_withdrawn},
    {"A release that is not permitted says so and is in doubt", test_release_without_the_right},
    {"A foreign key answers WRONG_TYPE and stays as it was", test_foreign_key},
    {"A foreign key at the queue or the waiters is named and stays as it was",
     test_foreign_neighbours},
    {"A record of a newer version answers WRONG_TYPE", test_newer_record},
    {"A string written over a record loses the hold and stays as it was",
     test_foreign_key_over_a_hold},
    {"A list written over a record loses that hold and no other", test_list_over_a_hold},
    {"A server that is too old answers UNSUPPORTED_SERVER at once", test_unsupported_servers},
    {NULL, NULL}};
