// A master and its replicas that sentinels watch.
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "support.h"
#include "trio.h"

// One sentinel is dead, and another one has forgotten the master.
static void test_any_sentinel(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  server_kill(&trio.sentinels[0]);
  server_tell(&trio.sentinels[1], "SENTINEL", "REMOVE", "mymaster", NULL);
  belay_client* client = CLIENT(.url = trio.url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_INT(1, server_connections(server));
  CHECK_INT(0, server_connections(trio.hosts.all[1]) + server_connections(trio.hosts.all[2]));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
  EVENTUALLY(server_connections(server) == 0);
  trio_end(&trio);
}

// What was replicated goes on: the hold, and the place of whoever waits for it.
static void check_goes_on(Trio* trio, Server* server, void (*replace)(Trio* trio)) {
  belay_client* client = CLIENT(.url = trio->url);
  belay_client* other = CLIENT(.url = trio->url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  for (int i = 1; i < kHosts; ++i) {
    host_await_copy(server, trio->hosts.all[i]);
  }
  replace(trio);
  Server* const master = trio_master(trio, 0);
  EVENTUALLY(server_connections(master) == 2);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t next = take_soon(other, 1);
  CHECK(belay_hold_fence(other, next, 0) > fence);
  give_back(other, next);
  belay_client_free(client);
  belay_client_free(other);
}

static void test_failover(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  check_goes_on(&trio, server, trio_fail_over);
  CHECK_INT(0, server_connections(server));
  trio_end(&trio);
}

static void kill_master(Trio* trio) {
  server_kill(trio->hosts.all[0]);
  trio_await_other(trio, trio->hosts.all[0]);
}

// It comes back as a replica, which no client takes for the master.
static void test_killed_master(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  check_goes_on(&trio, server, kill_master);
  belay_client* client = CLIENT(.url = trio.url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_start(server);
  EVENTUALLY(strstr(server_ask(server, "ROLE", NULL), "slave") != NULL);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_INT(0, server_connections(server));
  belay_client_free(client);
  trio_end(&trio);
}

static void stop_master(Trio* trio) {
  server_pause(trio->hosts.all[0]);
  trio_await_other(trio, trio->hosts.all[0]);
}

// When it goes on, it takes itself for the master until a sentinel tells it otherwise.
static void test_stopped_master(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  check_goes_on(&trio, server, stop_master);
  server_continue(server);
  belay_client* client = CLIENT(.url = trio.url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_INT(1, server_connections(trio_master(&trio, 0)));
  belay_client_free(client);
  trio_end(&trio);
}

// A wait goes on while there is no master, and while no sentinel answers.
static void test_no_sentinel(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  for (int i = 0; i < kSentinels; ++i) {
    server_pause(&trio.sentinels[i]);
  }
  belay_client* client = CLIENT(.url = trio.url, .request_timeout_ms = scaled(500));
  CHECK_WHY(BELAY_UNAVAILABLE, "none of the 3 sentinels says where 'mymaster' is",
            belay_lock(client, "a", -1, 0, &why));
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  for (int i = 0; i < kSentinels; ++i) {
    server_continue(&trio.sentinels[i]);
  }
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
  trio_end(&trio);
}

static void check_leads_nowhere(const char* url, int32_t status, const char* part) {
  belay_client* client = CLIENT(.url = url);
  CHECK_WHY(status, part, belay_lock(client, "a", -1, 0, &why));
  belay_client_free(client);
}

// A master that they do not know, a server in their place, and they in its place.
static void test_wrong_urls(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  char url[300];
  snprintf(url, sizeof url, "%s2", trio.url);
  check_leads_nowhere(url, BELAY_SERVER_ERROR, "No such master with that name");
  snprintf(url, sizeof url, "redis-sentinel://127.0.0.1:%d/mymaster", server->port);
  check_leads_nowhere(url, BELAY_UNSUPPORTED_SERVER,
                      "is no sentinel: the URL of a server is redis://");
  check_leads_nowhere(trio.sentinels[0].url, BELAY_UNSUPPORTED_SERVER,
                      "is a sentinel: name it and its master, as in redis-sentinel://127.0.0.1:");
  trio_end(&trio);
}

static void test_password(Server* server) {
  Trio trio;
  trio_launch(&trio, server, "s3cret");
  check_leads_nowhere(trio.url, BELAY_AUTH_FAILED, "NOAUTH");
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, trio.url));
  CHECK_STATUS(BELAY_OK, belay_options_set(options, "sentinel_password", "s3cret"));
  CHECK_INT(0, strlen(belay_options_get(options, "sentinel_password")));
  belay_client* client = belay_client_new(options);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_client_free(client);
  CHECK_STATUS(BELAY_ALREADY_USED, belay_options_set(options, "sentinel_user", "me"));
  belay_options_free(options);
  trio_end(&trio);
}

// Where the sentinels say that a host is, and where it is reached.
static void add_to_map(char* map, size_t size, const Server* host, const Proxy* proxy) {
  const size_t length = strlen(map);
  snprintf(map + length, size - length, "%s127.0.0.1:%d=%s", length == 0 ? "" : ",", host->port,
           strstr(proxy->url, "127.0.0.1"));
}

static void check_passes(belay_client* client, const Proxy* proxy) {
  proxy_break_next(proxy, kCutBefore);
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "a", -1, 0, NULL))));
  CHECK_INT(1, proxy->state->faults);
}

// All ends with this process: the proxies have what a launcher would end by.
static void test_address_map(Server* server) {
  Trio trio;
  trio_launch(&trio, server, NULL);
  Proxy proxies[kHosts];
  char map[256] = "";
  for (int i = 0; i < kHosts; ++i) {
    proxies[i] = proxy_start(trio.hosts.all[i]);
    add_to_map(map, sizeof map, trio.hosts.all[i], &proxies[i]);
  }
  char url[600];
  snprintf(url, sizeof url, "%s?address_map=%s", trio.url, map);
  belay_client* client = CLIENT(.url = url);
  check_passes(client, &proxies[0]);
  trio_fail_over(&trio);
  check_passes(client, trio_master(&trio, 0) == trio.hosts.all[1] ? &proxies[1] : &proxies[2]);
  belay_client_free(client);
}

const Test sentinel_tests[] = {
    {"Any sentinel that knows a master names it", test_any_sentinel},
    {"A failover that an operator asks the sentinels for is followed", test_failover},
    {"A master that is killed is replaced, and comes back as a replica", test_killed_master},
    {"A master that stops is replaced, and is not believed when it goes on", test_stopped_master},
    {"Where no sentinel answers, each is named, and a wait goes on", test_no_sentinel},
    {"A URL that takes sentinels for what they are not is told at once", test_wrong_urls},
    {"Sentinels have a password of their own", test_password},
    {"Hosts are reached elsewhere than where sentinels say that they are", test_address_map},
    {NULL, NULL}};
