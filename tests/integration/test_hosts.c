// A master and its replicas, of which the URL names the hosts in any order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "support.h"

// Their URL.
static char url[256];

static void name_hosts(const Server* first, const Server* second, const Server* third) {
  snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", first->port,
           second->port, third->port);
}

static void promote(const Server* replica) {
  server_tell(replica, "REPLICAOF", "NO", "ONE", NULL);
}

static void launch_hosts(Hosts* hosts, Server* server) {
  hosts_launch(hosts, server);
  name_hosts(hosts->all[1], server, hosts->all[2]);
}

static void test_any_order(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  int64_t fence = 0;
  for (int first = 0; first < kHosts; ++first) {
    name_hosts(hosts.all[first], hosts.all[(first + 1) % kHosts], hosts.all[(first + 2) % kHosts]);
    belay_client* client = CLIENT(.url = url);
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
    CHECK(belay_hold_fence(client, hold, 0) > fence);
    fence = belay_hold_fence(client, hold, 0);
    CHECK_INT(1, server_connections(server));
    EVENTUALLY(server_connections(hosts.all[1]) + server_connections(hosts.all[2]) == 0);
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
    belay_client_free(client);
    EVENTUALLY(server_connections(server) == 0);
  }
  hosts_end(&hosts);
}

static void test_failover(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  belay_client* client = CLIENT(.url = url);
  belay_client* other = CLIENT(.url = url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  host_await_copy(server, hosts.all[2]);
  server_kill(server);
  promote(hosts.all[2]);
  EVENTUALLY(server_connections(hosts.all[2]) == 2);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  // Who is not there yet when the holder is, is taken for dead, and comes back to its place.
  EVENTUALLY(waiters_of(client, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  const int64_t next = take_soon(other, 1);
  CHECK(belay_hold_fence(other, next, 0) > fence);
  give_back(other, next);
  belay_client_free(client);
  belay_client_free(other);
  hosts_end(&hosts);
}

// Nobody learns of it at the time: the master answers before its replicas have it.
static void test_not_replicated(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  const uint16_t nowhere = free_port();
  belay_client* client = CLIENT(.url = url);
  belay_client* other = CLIENT(.url = url);
  const int64_t kept = GRANTED(belay_lock(client, "kept", -1, 0, NULL));
  host_await_copy(server, hosts.all[1]);
  host_follow(hosts.all[1], nowhere);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  const int64_t start = now_ms();
  server_kill(server);
  promote(hosts.all[1]);
  EVENTUALLY(belay_hold_state(client, hold) == BELAY_HOLD_LOST);
  CHECK(now_ms() - start < scaled(kLessThanAPollMs));  // no renewal was due
  CHECK_STATUS(BELAY_LOST, belay_release(client, hold));
  CHECK_STATUS(BELAY_OK, belay_verify(client, kept, NULL));
  const int64_t next = take_soon(other, 1);
  CHECK(belay_hold_fence(other, next, 0) > fence);
  belay_client_free(client);
  belay_client_free(other);
  hosts_end(&hosts);
}

// The connection stays: that it leads to a replica by now, an answer tells.
static void test_demotion(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  belay_client* client = CLIENT(.url = url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  host_await_copy(server, hosts.all[2]);
  promote(hosts.all[2]);
  host_follow(server, hosts.all[2]->port);
  const int64_t second = GRANTED(belay_lock(client, "b", -1, 0, NULL));
  CHECK_INT(1, server_connections(hosts.all[2]));
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, second));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
  hosts_end(&hosts);
}

static int64_t offset_of(const Server* host) {
  const char* const found =
      strstr(server_ask(host, "INFO", "replication", NULL), "master_repl_offset:");
  CHECK(found != NULL);
  return strtoll(strchr(found, ':') + 1, NULL, 10);
}

// As tools do that lose nothing. What is written between the two would cost the old master a full
// copy of the new one: its data are wiped then, which its clients hear.
static void switch_over(const Server* master, const Server* replica) {
  server_tell(master, "CLIENT", "PAUSE", "10000", "WRITE", NULL);
  EVENTUALLY(offset_of(master) == offset_of(replica));
  promote(replica);
  host_follow(master, replica->port);
  host_await_link(master);
  server_tell(master, "CLIENT", "UNPAUSE", NULL);
}

// The new master takes back a grant that nobody has heard. Whoever still waits at the old one, a
// replica by now, must not hear it either.
static void test_waiter_at_a_demoted_master(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  belay_client* client = CLIENT(.url = url);
  belay_client* waiter = CLIENT(.url = url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(client, "a") == 1);
  switch_over(server, hosts.all[2]);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));  // at the new master
  const int64_t again = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  host_await_copy(hosts.all[2], server);
  CHECK(belay_next(waiter, 0) == NULL);
  CHECK_STATUS(BELAY_OK, belay_verify(client, again, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, again));
  give_back(waiter, TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));  // it has polled
  belay_client_free(client);
  belay_client_free(waiter);
  hosts_end(&hosts);
}

static void test_no_master(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  server_kill(server);
  belay_client* client = CLIENT(.url = url, .request_timeout_ms = scaled(500));
  belay_event* why = NULL;
  REFUSED(BELAY_UNAVAILABLE, belay_lock(client, "a", -1, 0, &why));
  char text[64];
  for (int i = 1; i < kHosts; ++i) {
    snprintf(text, sizeof text, "127.0.0.1:%d is a replica", hosts.all[i]->port);
    CHECK_TEXT(text, belay_event_message(why));
  }
  snprintf(text, sizeof text, "connection to 127.0.0.1:%d failed", server->port);
  CHECK_TEXT(text, belay_event_message(why));
  CHECK_TEXT("none of the 3 hosts is a master", belay_event_message(why));
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, SUBMIT(client, 1, -1, .name = "a"));
  promote(hosts.all[2]);
  TAKE(client, BELAY_EVENT_ACQUIRED, 1, BELAY_OK);
  belay_client_free(client);
  hosts_end(&hosts);
}

// The host that is tried first may be the one that has gone without a word.
static void test_paused_host(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  server_pause(hosts.all[1]);
  belay_client* client = CLIENT(.url = url);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  belay_client_free(client);
  server_continue(hosts.all[1]);
  hosts_end(&hosts);
}

// How often a new client warns of the servers' settings until it has a lock.
static int warnings_of_a_client(void) {
  char warned[300];
  snprintf(warned, sizeof warned, "%s?log_events=warning", url);
  belay_client* client = CLIENT(.url = warned);
  GRANTED(belay_lock(client, "a", -1, 0, NULL));
  int count = 0;
  for (belay_event* event; (event = belay_next(client, 0)) != NULL; belay_event_free(event)) {
    if (strstr(belay_event_message(event), "settings: ") != NULL) {
      CHECK_TEXT("may grant locks that a failover loses: its min-replicas-to-write is 0",
                 belay_event_message(event));
      ++count;
    }
  }
  belay_client_free(client);
  return count;
}

static void test_warnings(Server* server) {
  Hosts hosts;
  launch_hosts(&hosts, server);
  CHECK_INT(1, warnings_of_a_client());
  server_tell(server, "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
  CHECK_INT(0, warnings_of_a_client());
  server_tell(server, "CONFIG", "SET", "min-replicas-to-write", "0", NULL);
  snprintf(url, sizeof url, "%s", server->url);  // nobody follows a failover from there
  CHECK_INT(0, warnings_of_a_client());
  hosts_end(&hosts);
}

const Test hosts_tests[] = {
    {"Of several hosts, in any order, the master is used", test_any_order},
    {"Of several hosts, one that was promoted has what was replicated", test_failover},
    {"Of several hosts, one that was promoted has lost what was not replicated",
     test_not_replicated},
    {"Of several hosts, a master that was demoted is left", test_demotion},
    {"Of several hosts, a demoted master passes on no grant", test_waiter_at_a_demoted_master},
    {"Of several hosts, none of which is a master, each is named", test_no_master},
    {"Of several hosts, a master that waits for no replica is warned of once", test_warnings},
    {"Of several hosts, a silent one leaves time for the others", test_paused_host},
    {NULL, NULL}};
