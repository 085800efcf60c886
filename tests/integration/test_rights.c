// The rights by category, as lib/scripts/README.md gives them: they suffice for everything that the
// library does, and not for what harms the others on the server. And what two tenants with a prefix
// of their own each can do to one another (docs/tenants.md).
#include <stdio.h>
#include <string.h>

#include "support.h"

// FUNCTION is there from Redis 7.0 on.
static const char* const kRights[] = {"+@scripting",  "+@read",      "+@write",   "+@pubsub",
                                      "+@connection", "-@dangerous", "-function", "-script",
                                      "+time",        "+select",     "+client|id"};
// The rest of them; docs/tenants.md says which tenant goes without.
static const char* const kRightsToLook[] = {"+info", "+scan", "+client|kill", "+client|tracking",
                                            "+client|caching"};

static void make_shy_tenant(const Server* server, const char* user, const char* prefix) {
  const bool functions = !server_is_before_7(server);
  char keys[32];
  char channels[32];
  snprintf(keys, sizeof keys, "~%s*", prefix);
  snprintf(channels, sizeof channels, "&%s*", prefix);
  server_tell(server, "ACL", "SETUSER", user, "reset", "on", ">s3cret", keys, "resetchannels",
              channels, NULL);
  for (size_t i = 0; i < sizeof kRights / sizeof kRights[0]; ++i) {
    if (functions || strcmp(kRights[i], "-function") != 0) {
      server_tell(server, "ACL", "SETUSER", user, kRights[i], NULL);
    }
  }
}

static void make_tenant(const Server* server, const char* user, const char* prefix) {
  make_shy_tenant(server, user, prefix);
  for (size_t i = 0; i < sizeof kRightsToLook / sizeof kRightsToLook[0]; ++i) {
    server_tell(server, "ACL", "SETUSER", user, kRightsToLook[i], NULL);
  }
}

static void use_locks(belay_client* one, belay_client* two) {
  const int64_t hold = GRANTED(ACQUIRE(one, 0, .name = "a", .lease_ms = 60000));
  CHECK_STATUS(BELAY_OK, belay_verify(one, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_extend(one, hold, 70000, NULL));
  REFUSED(BELAY_TIMEOUT, belay_lock(two, "a", -1, 50, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(one, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(one, hold));
  give_back(two, TAKE(two, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  const int64_t broken = GRANTED(belay_lock(one, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_break(two, "a", -1, 0, NULL));
  EVENTUALLY(belay_hold_state(one, broken) == BELAY_HOLD_LOST);
  CHECK_STATUS(BELAY_LOST, belay_release(one, broken));
}

static void use_shared(belay_client* one, belay_client* two) {
  const int64_t first = GRANTED(ACQUIRE(one, 0, .name = "s", .shared = true));
  const int64_t second = GRANTED(ACQUIRE(two, 0, .name = "s", .shared = true));
  CHECK_INT(2, holders_of(one, "s"));
  CHECK_STATUS(BELAY_OK, belay_verify(two, second, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(one, first));
  CHECK_STATUS(BELAY_OK, belay_release(two, second));
}

static void use_permits(belay_client* one, belay_client* two) {
  const int64_t first =
      GRANTED(ACQUIRE(one, 0, .name = "p", .primitive = BELAY_SEMAPHORE, .permits = 2, .limit = 3));
  REFUSED(BELAY_BUSY, ACQUIRE(two, 0, .name = "p", .primitive = BELAY_SEMAPHORE, .permits = 2));
  CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(two, "p", -1, 4, NULL));
  CHECK_INT(2, belay_semaphore_available(two, "p", -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(one, first));
}

static void use_latch(belay_client* one, belay_client* two) {
  CHECK(belay_latch_set(one, "l", -1, 1, 60000, NULL) > 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(two, 2, -1, .name = "l", .primitive = BELAY_LATCH));
  CHECK_INT(0, belay_latch_count_down(one, "l", -1, 1, NULL));
  TAKE(two, BELAY_EVENT_ACQUIRED, 2, BELAY_OK);
}

static void use_several(belay_client* one, belay_client* two) {
  belay_request* both = REQUEST(.name = "x");
  CHECK_STATUS(BELAY_OK, belay_request_add_name(both, "y", -1));
  const int64_t hold = GRANTED(belay_acquire(one, both, 0, 0, NULL));
  REFUSED(BELAY_BUSY, belay_lock(two, "y", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(one, hold));
  belay_request_free(both);
}

static void look(belay_client* client) {
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  CHECK_STATUS(BELAY_OK, belay_inspect(client, "a", -1, NULL));
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10, NULL));
}

static void test_enough(Server* server) {
  make_tenant(server, "app", "belay:");
  server_tell(server, "ACL", "SETUSER", "app", "~order", NULL);
  char url[300];
  snprintf(url, sizeof url, "%s/1", server->url);
  belay_client* one = CLIENT(.url = url, .user = "app", .password = "s3cret");
  belay_client* two = CLIENT(.url = url, .user = "app", .password = "s3cret");
  use_locks(one, two);
  use_shared(one, two);
  use_permits(one, two);
  use_latch(one, two);
  use_several(one, two);
  look(one);
  const char* const words[] = {"INCR"};
  CHECK_STATUS(BELAY_OK, belay_fenced_write(one, "order", -1, 7, 1, words, NULL, NULL));
  CHECK_STATUS(BELAY_STALE_FENCE, belay_fenced_write(two, "order", -1, 6, 1, words, NULL, NULL));
  belay_client_free(one);
  belay_client_free(two);
}

// No time is asserted, but the lease is far longer than the test may take.
static void test_tracking(Server* server) {
  make_tenant(server, "app", "belay:");
  belay_client* client = CLIENT(.url = server->url, .user = "app", .password = "s3cret",
                                .watchdog_lease_ms = 3600 * 1000);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, 0, .name = "a"));
  const int64_t hold = TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  server_tell(server, "FLUSHALL", NULL);
  CHECK_INT(hold, TAKE(client, BELAY_EVENT_LOST, 0, BELAY_LOST));
  belay_client_free(client);
}

// ---- Each right

// What locks need on the server; some primitives need more.
static const char* const kRightsOfLocks[] = {
    "time",    "get",   "set",  "setrange", "del",       "exists", "pexpire", "pttl",
    "publish", "zadd",  "zrem", "zrange",   "zrevrange", "zscore", "zcard",   "zremrangebyrank",
    "hget",    "hmget", "hlen", "hset",     "hdel"};
static const char* const kRightsOfSeveral[] = {"mget", "mset"};
static const char* const kRightsOfLatches[] = {"getrange", "strlen"};
static const char* const kRightsToInspect[] = {"get", "hmget", "hlen", "zcount", "zrange"};
static const char* const kRightsOfWrites[] = {"get", "set", "incr"};

static void make_lacking(const Server* server, const char* right) {
  char minus[32];
  snprintf(minus, sizeof minus, "-%s", right);
  server_tell(server, "ACL", "SETUSER", "lacking", "reset", "on", ">s3cret", "~belay:*",
              "resetchannels", "&belay:*", "+@all", minus, NULL);
}

// Names that are in use, with nobody to renew them.
static void make_names(const Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const RequestSetup held[] = {
      {.name = "a", .lease_ms = 600000},
      {.name = "s", .lease_ms = 600000, .shared = true},
      {.name = "p", .lease_ms = 600000, .primitive = BELAY_SEMAPHORE, .permits = 1, .limit = 3}};
  for (size_t i = 0; i < sizeof held / sizeof held[0]; ++i) {
    const int64_t hold = GRANTED(acquire_as(client, 0, &held[i]));
    CHECK_STATUS(BELAY_OK, belay_hold_abandon(client, hold));
  }
  CHECK(belay_latch_set(client, "l", -1, 2, 600000, NULL) > 0);
  belay_client_free(client);
}

// All that stands on the server.
static const char* digest_of(const Server* server) {
  return server_ask(server, "EVAL",
                    "local keys = redis.call('KEYS', '*') table.sort(keys) local all = '' "
                    "for _, key in ipairs(keys) do all = all .. key .. redis.call('DUMP', key) end "
                    "return #keys .. redis.sha1hex(all)",
                    "0", NULL);
}

static void check_lacking(const char* right, const char* name, int32_t status, belay_event* why) {
  char command[64];
  snprintf(command, sizeof command, "to run %s ", right);
  for (char* at = command + strlen("to run "); *at != '\0'; ++at) {
    *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
  }
  CHECK_STATUS(BELAY_NOT_PERMITTED, status);
  CHECK_TEXT("'lacking'", belay_event_message(why));
  CHECK_TEXT(name, belay_event_message(why));
  if (strcmp(right, "time") != 0) {  // which is missed before
    CHECK_TEXT(command, belay_event_message(why));
  }
  belay_event_free(why);
}

static void check_acquire_lacking(belay_client* client, const char* right, RequestSetup setup) {
  char name[16];
  snprintf(name, sizeof name, "'%s'", setup.name);
  for (int64_t wait_ms = 0; wait_ms >= -1; --wait_ms) {
    belay_request* request = request_of(&setup);
    belay_event* why = NULL;
    const int64_t answer = belay_acquire(client, request, 0, wait_ms, &why);
    belay_request_free(request);
    check_lacking(right, strcmp(right, "time") != 0 ? name : "", (int32_t)-answer, why);
  }
}

static void try_locks(belay_client* client, const char* right) {
  const char* const names[] = {"a", "s", "free"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    check_acquire_lacking(client, right, (RequestSetup){.name = names[i]});
    check_acquire_lacking(client, right, (RequestSetup){.name = names[i], .shared = true});
    check_acquire_lacking(client, right, (RequestSetup){.name = names[i], .identity = "job"});
    belay_event* why = NULL;
    const int32_t status = belay_break(client, names[i], -1, 0, &why);
    check_lacking(right, "", status, why);
  }
}

static void try_permits(belay_client* client, const char* right) {
  const char* const names[] = {"p", "free"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    for (int64_t permits = 1; permits <= 3; permits += 2) {
      check_acquire_lacking(
          client, right,
          (RequestSetup){
              .name = names[i], .primitive = BELAY_SEMAPHORE, .permits = permits, .limit = 3});
    }
    belay_event* why = NULL;
    const int32_t status = belay_semaphore_set_limit(client, names[i], -1, 5, &why);
    check_lacking(right, "", status, why);
  }
}

static void try_latches(belay_client* client, const char* right) {
  belay_event* why = NULL;
  const int64_t set = belay_latch_set(client, "free", -1, 3, 0, &why);
  check_lacking(right, "", (int32_t)-set, why);
  const int64_t left = belay_latch_count_down(client, "l", -1, 2, &why);
  check_lacking(right, "", (int32_t)-left, why);
  check_acquire_lacking(client, right, (RequestSetup){.name = "l", .primitive = BELAY_LATCH});
}

static void try_several(belay_client* client, const char* right) {
  for (int shared = 0; shared <= 1; ++shared) {
    belay_request* both = REQUEST(.name = "free", .shared = shared);
    CHECK_STATUS(BELAY_OK, belay_request_add_name(both, "also", -1));
    belay_event* why = NULL;
    const int64_t answer = belay_acquire(client, both, 0, 0, &why);
    belay_request_free(both);
    check_lacking(right, "", (int32_t)-answer, why);
  }
}

static void try_inspect(belay_client* client, const char* right) {
  belay_event* why = NULL;
  const int32_t status = belay_inspect(client, "a", -1, &why);
  check_lacking(right, "", status, why);
}

static void try_write(belay_client* client, const char* right) {
  const char* const argv[] = {"INCR"};
  belay_event* why = NULL;
  const int32_t status = belay_fenced_write(client, "belay:own", -1, 5, 1, argv, NULL, &why);
  check_lacking(right, "", status, why);
}

typedef void Attempt(belay_client* client, const char* right);

static void try_without(const Server* server, const char* right, Attempt* const* attempts) {
  char before[64];
  snprintf(before, sizeof before, "%s", digest_of(server));
  make_lacking(server, right);
  belay_client* client = CLIENT(.url = server->url, .user = "lacking", .password = "s3cret");
  for (size_t i = 0; attempts[i] != NULL; ++i) {
    attempts[i](client, right);
  }
  belay_client_free(client);
  if (strcmp(before, digest_of(server)) != 0) {
    FAIL("without '%s' something was changed", right);
  }
}

static void test_each_missing_right(Server* server) {
  Attempt* const all[] = {try_locks, try_permits, try_latches, try_several, NULL};
  Attempt* const of_several[] = {try_several, NULL};
  Attempt* const of_latches[] = {try_latches, NULL};
  Attempt* const to_inspect[] = {try_inspect, NULL};
  Attempt* const of_writes[] = {try_write, NULL};
  make_names(server);
  for (size_t i = 0; i < sizeof kRightsOfLocks / sizeof kRightsOfLocks[0]; ++i) {
    try_without(server, kRightsOfLocks[i], all);
  }
  if (!server_is_before_7(server)) {  // older servers cannot be asked, and no script may try it
    try_without(server, "evalsha", all);
  }
  for (size_t i = 0; i < sizeof kRightsOfSeveral / sizeof kRightsOfSeveral[0]; ++i) {
    try_without(server, kRightsOfSeveral[i], of_several);
  }
  try_without(server, kRightsOfLatches[0], of_latches);
  for (size_t i = 0; i < sizeof kRightsToInspect / sizeof kRightsToInspect[0]; ++i) {
    try_without(server, kRightsToInspect[i], to_inspect);
  }
  for (size_t i = 0; i < sizeof kRightsOfWrites / sizeof kRightsOfWrites[0]; ++i) {
    try_without(server, kRightsOfWrites[i], of_writes);
  }
}

#define IS_REFUSED(...) is_refused(server_ask_as(server, "app", __VA_ARGS__, NULL))

static bool is_refused(const char* reply) {
  if (strncmp(reply, "-NOPERM", 7) != 0) {
    printf("the server answered '%s'\n", reply);
    return false;
  }
  return true;
}

static void test_harm(Server* server) {
  make_tenant(server, "app", "belay:");
  server_tell(server, "SET", "theirs", "1", NULL);
  CHECK(IS_REFUSED("FLUSHALL"));
  CHECK(IS_REFUSED("FLUSHDB"));
  CHECK(IS_REFUSED("SWAPDB", "0", "1"));
  CHECK(IS_REFUSED("KEYS", "*"));
  CHECK(IS_REFUSED("SCRIPT", "FLUSH"));
  CHECK(IS_REFUSED("SCRIPT", "KILL"));
  CHECK(IS_REFUSED("CONFIG", "GET", "*"));
  CHECK(IS_REFUSED("ACL", "LIST"));
  CHECK(IS_REFUSED("MONITOR"));
  CHECK(IS_REFUSED("SHUTDOWN", "NOSAVE"));
  CHECK(IS_REFUSED("CLIENT", "PAUSE", "1"));
  CHECK(IS_REFUSED("CLIENT", "LIST"));
  if (!server_is_before_7(server)) {
    CHECK(IS_REFUSED("FUNCTION", "FLUSH"));
    CHECK(IS_REFUSED("FUNCTION", "STATS"));
  }
  CHECK(IS_REFUSED("EVAL", "return 1", "1", "theirs"));
  CHECK(strcmp("1", server_ask(server, "GET", "theirs", NULL)) == 0);
  CHECK(server_ask_as(server, "app", "EVAL", "return redis.call('FLUSHALL')", "0", NULL)[0] == '-');
  CHECK(strcmp("1", server_ask(server, "GET", "theirs", NULL)) == 0);
}

// What a prefix keeps from another tenant: keys and channels; and what it does not: their names.
static void test_tenants(Server* server) {
  make_tenant(server, "app", "app:");
  make_tenant(server, "web", "web:");
  belay_client* app =
      CLIENT(.url = server->url, .user = "app", .password = "s3cret", .prefix = "app:");
  belay_client* web =
      CLIENT(.url = server->url, .user = "web", .password = "s3cret", .prefix = "web:");
  belay_client* stray =
      CLIENT(.url = server->url, .user = "app", .password = "s3cret", .prefix = "web:");
  const int64_t of_app = GRANTED(belay_lock(app, "a", -1, 0, NULL));
  const int64_t of_web = GRANTED(belay_lock(web, "a", -1, 0, NULL));
  REFUSED(BELAY_NOT_PERMITTED, belay_lock(stray, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_NOT_PERMITTED, belay_break(stray, "a", -1, 0, NULL));
  CHECK(IS_REFUSED("GET", "web:r:{a}"));
  CHECK(IS_REFUSED("DEL", "web:r:{a}"));
  CHECK(IS_REFUSED("PUBLISH", "web:in:x", "forged"));
  CHECK(IS_REFUSED("SUBSCRIBE", "web:in:x"));
  CHECK(IS_REFUSED("PSUBSCRIBE", "*"));
  CHECK_TEXT("web:r:{a}", server_ask_as(server, "app", "SCAN", "0", NULL));
  CHECK_TEXT("web:in:", server_ask_as(server, "app", "PUBSUB", "CHANNELS", NULL));
  CHECK_STATUS(BELAY_OK, belay_release(web, of_web));
  CHECK_STATUS(BELAY_OK, belay_release(app, of_app));
  belay_client_free(app);
  belay_client_free(web);
  belay_client_free(stray);
}

static belay_client* tenant_of(const Server* server, const char* name, const char* prefix) {
  return CLIENT(.url = server->url, .user = name, .password = "s3cret", .prefix = prefix,
                .request_timeout_ms = scaled(2000));
}

// The same names in all primitives: whatever one does, the other finds its own free, and nothing
// of its own changed.
static void test_same_names(Server* server) {
  make_tenant(server, "app", "app:");
  make_tenant(server, "web", "web:");
  belay_client* of_app[] = {tenant_of(server, "app", "app:"), tenant_of(server, "app", "app:")};
  belay_client* of_web[] = {tenant_of(server, "web", "web:"), tenant_of(server, "web", "web:")};
  const int64_t hold = GRANTED(ACQUIRE(of_web[0], 0, .name = "a", .lease_ms = 600000));
  CHECK(belay_latch_set(of_web[0], "l", -1, 1, 600000, NULL) > 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(of_web[1], 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(of_web[0], "a") == 1);
  use_locks(of_app[0], of_app[1]);
  use_shared(of_app[0], of_app[1]);
  use_permits(of_app[0], of_app[1]);
  use_latch(of_app[0], of_app[1]);
  use_several(of_app[0], of_app[1]);
  CHECK_STATUS(BELAY_OK, belay_verify(of_web[0], hold, NULL));
  CHECK_INT(1, belay_latch_count(of_web[0], "l", -1, NULL));
  CHECK_INT(1, waiters_of(of_web[0], "a"));
  CHECK_STATUS(BELAY_OK, belay_release(of_web[0], hold));
  give_back(of_web[1], TAKE(of_web[1], BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  for (int i = 0; i < 2; ++i) {
    belay_client_free(of_app[i]);
    belay_client_free(of_web[i]);
  }
}

// ---- What docs/tenants.md says of tenants that a prefix does not keep from each other

static void test_what_tenants_share(Server* server) {
  make_tenant(server, "app", "app:");
  make_tenant(server, "web", "web:");
  belay_client* web = tenant_of(server, "web", "web:");
  const int64_t hold = GRANTED(ACQUIRE(web, 0, .name = "a", .lease_ms = 600000));
  CHECK_TEXT("web:", server_ask_as(server, "app", "RANDOMKEY", NULL));
  CHECK_TEXT("connected_clients:", server_ask_as(server, "app", "INFO", "clients", NULL));
  CHECK_TEXT("OK", server_ask_as(server, "app", "SELECT", "1", NULL));
  CHECK(server_ask_as(server, "app", "CLIENT", "KILL", "TYPE", "pubsub", NULL)[0] != '-');
  EVENTUALLY(belay_client_ping(web, NULL) == BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_verify(web, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(web, hold));
  belay_client_free(web);
}

// The user that the page gives a tenant that must not do these.
static void test_shy_tenant(Server* server) {
  make_shy_tenant(server, "app", "app:");
  server_tell(server, "ACL", "SETUSER", "app", "-scan", "-randomkey", "-pubsub", NULL);
  if (!server_is_before_7(
          server)) {  // older servers give nobody CLIENT TRACKING with the categories
    server_tell(server, "ACL", "SETUSER", "app", "-client|tracking", "-client|caching", NULL);
  }
  make_tenant(server, "web", "web:");
  belay_client* one = tenant_of(server, "app", "app:");
  belay_client* two = tenant_of(server, "app", "app:");
  belay_client* web = tenant_of(server, "web", "web:");
  const int64_t hold = GRANTED(belay_lock(web, "a", -1, 0, NULL));
  use_locks(one, two);
  use_several(one, two);
  CHECK_STATUS(BELAY_NOT_PERMITTED, belay_list(one, "*", -1, 10, NULL));
  CHECK(IS_REFUSED("SCAN", "0"));
  CHECK(IS_REFUSED("RANDOMKEY"));
  CHECK(IS_REFUSED("PUBSUB", "CHANNELS"));
  CHECK(IS_REFUSED("INFO"));
  CHECK(IS_REFUSED("CLIENT", "KILL", "TYPE", "pubsub"));
  CHECK(IS_REFUSED("CLIENT", "TRACKING", "ON", "BCAST"));
  CHECK_STATUS(BELAY_OK, belay_release(web, hold));
  belay_client_free(one);
  belay_client_free(two);
  belay_client_free(web);
}

const Test rights_tests[] = {
    {"The rights by category are enough for all that a client does", test_enough},
    {"Without any one of the rights an error names it, and nothing is changed",
     test_each_missing_right},
    {"With the rights by category a wiped server is noticed at once", test_tracking},
    {"The rights by category harm nobody else on the server", test_harm},
    {"A tenant reaches no key and no channel of another's prefix", test_tenants},
    {"Tenants use the same names in all primitives and meet nowhere", test_same_names},
    {"What tenants share is what the page on tenants says", test_what_tenants_share},
    {"A tenant that must not look at others does without some rights", test_shy_tenant},
    {NULL, NULL},
};
