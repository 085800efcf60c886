// TLS: what works as without it, which certificates are believed, what is said where one is not,
// and connections that stop, break or trickle. The simulation and the other tests say what locks
// do.
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "relay.h"
#include "support.h"
#include "tls.h"

enum { kSlowMs = 3600000 };  // a request timeout that nobody waits for

// A client with options by name and value, until NULL.
static belay_client* client_with(const char* url, ...) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, url));
  va_list words;
  va_start(words, url);
  for (const char* name = NULL; (name = va_arg(words, const char*)) != NULL;) {
    CHECK_STATUS(BELAY_OK, belay_options_set(options, name, va_arg(words, const char*)));
  }
  va_end(words);
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    FAIL("no client: %s", belay_options_error(options));
  }
  belay_options_free(options);
  return client;
}

// What trusts the tests' CA.
static belay_client* trusting(const Server* server, uint16_t port) {
  return client_with(tls_url("127.0.0.1", port), "tls_ca_file", tls_path(server, "ca.pem"), NULL);
}

static uint16_t prepare(const Server* server) {
  tls_make_certificates(server);
  return tls_listen(server, "server");
}

static void check_works(belay_client* client) {
  belay_event* why = NULL;
  const int64_t hold = belay_lock(client, "a", -1, -1, &why);
  if (hold < 0) {
    FAIL("%s", belay_event_message(why));
  }
  belay_event_free(why);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// What has to be mended by somebody is said at once, also to who would wait for ever, and says
// what.
static void check_refused_connection(belay_client* client, int32_t status, const char* part) {
  CHECK_WHY(status, part, belay_lock(client, "a", -1, -1, &why));
  CHECK_WHY(status, "127.0.0.1:", belay_lock(client, "a", -1, -1, &why));
  CHECK_WHY(status, part, belay_client_ping(client, &why));
  belay_client_free(client);
}

static void test_turns_over_tls(Server* server) {
  const uint16_t port = prepare(server);
  belay_client* one = trusting(server, port);
  belay_client* other = trusting(server, port);
  belay_client* plain = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(one, "a", -1, -1, NULL));
  REFUSED(BELAY_BUSY, belay_lock(plain, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(other, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(plain, "a") == 1);
  CHECK_STATUS(BELAY_OK, belay_release(one, hold));
  give_back(other, acquired(other, 1));
  belay_client_free(plain);
  belay_client_free(other);
  check_works(one);
}

static void test_names_and_addresses(Server* server) {
  const uint16_t port = prepare(server);
  const char* ca = tls_path(server, "ca.pem");
  check_works(client_with(tls_url("localhost", port), "tls_ca_file", ca, NULL));
  check_works(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca, "tls_server_name",
                          "localhost", NULL));
  tls_use_certificate(server, "elsewhere");
  check_works(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca, "tls_server_name",
                          "elsewhere.invalid", NULL));
  check_works(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca, "tls_server_name",
                          "192.0.2.1", NULL));
  check_refused_connection(trusting(server, port), BELAY_AUTH_FAILED,
                           "is not for '127.0.0.1' (tls_server_name)");
  check_refused_connection(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca,
                                       "tls_server_name", "elsewhere", NULL),
                           BELAY_AUTH_FAILED, "is not for 'elsewhere'");
  tls_use_certificate(server, "localhost");
  check_refused_connection(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca,
                                       "tls_server_name", "localhost", NULL),
                           BELAY_AUTH_FAILED, "is not for 'localhost'");
}

static void test_certificates_that_are_not_believed(Server* server) {
  const uint16_t port = prepare(server);
  tls_use_certificate(server, "expired");
  check_refused_connection(trusting(server, port), BELAY_AUTH_FAILED,
                           "the certificate of 127.0.0.1:");
  check_refused_connection(trusting(server, port), BELAY_AUTH_FAILED, "has expired");
  tls_use_certificate(server, "foreign");
  check_refused_connection(trusting(server, port), BELAY_AUTH_FAILED,
                           "is from no CA that this client trusts (tls_ca_file)");
  tls_use_certificate(server, "server");
  // The system's CAs, whichever it has, are not the tests'.
  check_refused_connection(client_with(tls_url("127.0.0.1", port), NULL), BELAY_AUTH_FAILED,
                           "is from no CA that this client trusts (tls_ca_file)");
}

static void test_authorities_in_a_folder(Server* server) {
  const uint16_t port = prepare(server);
  char command[400];
  snprintf(command, sizeof command,
           "mkdir '%s/cas' && cp '%s/ca.pem' '%s/cas/' && openssl rehash '%s/cas'",
           server->directory, server->directory, server->directory, server->directory);
  CHECK_INT(0, system(command));
  check_works(client_with(tls_url("127.0.0.1", port), "tls_ca_dir", tls_path(server, "cas"), NULL));
  snprintf(command, sizeof command, "rm -r '%s/cas'", server->directory);
  CHECK_INT(0, system(command));
}

static void check_client_certificates(Server* server, uint16_t port) {
  const char* ca = tls_path(server, "ca.pem");
  check_works(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca, "tls_cert_file",
                          tls_path(server, "client.pem"), "tls_key_file",
                          tls_path(server, "client.key"), NULL));
  check_refused_connection(trusting(server, port), BELAY_AUTH_FAILED,
                           "demands a client certificate (tls_cert_file)");
  check_refused_connection(client_with(tls_url("127.0.0.1", port), "tls_ca_file", ca,
                                       "tls_cert_file", tls_path(server, "stranger.pem"),
                                       "tls_key_file", tls_path(server, "stranger.key"), NULL),
                           BELAY_AUTH_FAILED, "refused this client's certificate");
}

static void test_client_certificates(Server* server) {
  const uint16_t port = prepare(server);
  server_tell(server, "CONFIG", "SET", "tls-auth-clients", "yes", NULL);
  check_client_certificates(server, port);
  server_tell(server, "CONFIG", "SET", "tls-protocols", "TLSv1.2", NULL);
  check_client_certificates(server, port);
}

static void test_versions(Server* server) {
  const uint16_t port = prepare(server);
  const char* ca = tls_path(server, "ca.pem");
  const char* url = tls_url("127.0.0.1", port);
  check_works(client_with(url, "tls_ca_file", ca, "tls_min_version", "1.3", NULL));
  server_tell(server, "CONFIG", "SET", "tls-protocols", "TLSv1.2", NULL);
  check_works(client_with(url, "tls_ca_file", ca, "tls_min_version", "1.2", NULL));
  check_refused_connection(client_with(url, "tls_ca_file", ca, "tls_min_version", "1.3", NULL),
                           BELAY_UNSUPPORTED_SERVER, "no version of TLS in common");
}

static void test_plain_and_tls_ports_mixed_up(Server* server) {
  const uint16_t port = prepare(server);
  check_refused_connection(
      trusting(server, server->port), BELAY_UNSUPPORTED_SERVER,
      "speaks no TLS: its URL begins with redis://, redis-sentinel:// or redis-cluster://");
  char url[64];
  snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
  check_refused_connection(
      client_with(url, NULL), BELAY_UNSUPPORTED_SERVER,
      "speaks TLS: its URL begins with rediss://, rediss-sentinel:// or rediss-cluster://");
}

// It would wait for what a plain server says to TLS: nothing.
static void test_no_probe_of_a_known_server(Server* server) {
  Relay relay = relay_start(server->port);
  char url[64];
  char patience[16];
  snprintf(url, sizeof url, "redis://127.0.0.1:%d", relay.port);
  snprintf(patience, sizeof patience, "%d", kSlowMs);
  belay_client* client = client_with(url, "request_timeout_ms", patience, NULL);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  relay.state->cut_after = 0;
  server_cut_clients(server);
  EVENTUALLY(relay.state->cuts > 5);
  relay.state->cut_after = -1;
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void check_no_client(const Server* server, const char* name, const char* file,
                            const char* part) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, tls_url("127.0.0.1", server->port)));
  CHECK_STATUS(BELAY_OK, belay_options_set(options, name, tls_path(server, file)));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT(name, belay_options_error(options));
  CHECK_TEXT(tls_path(server, file), belay_options_error(options));
  CHECK_TEXT(part, belay_options_error(options));
  belay_options_free(options);
}

static void test_files_of_no_use(Server* server) {
  prepare(server);
  check_no_client(server, "tls_ca_file", "none.pem", "could not be read: No such file");
  check_no_client(server, "tls_ca_file", "", "is not a regular file");
  check_no_client(server, "tls_ca_file", "ca.key", "has no certificate in PEM format");
  check_no_client(server, "tls_ca_dir", "none", "could not be read: No such file");
  check_no_client(server, "tls_ca_dir", "ca.pem", "is not a directory");
  check_no_client(server, "tls_cert_file", "ca.key", "has no certificate in PEM format");
  check_no_client(server, "tls_key_file", "client.key", "is of no use without tls_cert_file");
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, tls_url("localhost", 1)));
  CHECK_STATUS(BELAY_OK, belay_options_set_tls_cert_file(options, tls_path(server, "client.pem")));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("tls_key_file '", belay_options_error(options));
  CHECK_TEXT("client.pem' has no key in PEM format", belay_options_error(options));
  belay_options_free(options);
  options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, tls_url("localhost", 1)));
  CHECK_STATUS(BELAY_OK, belay_options_set_tls_cert_file(options, tls_path(server, "client.pem")));
  CHECK_STATUS(BELAY_OK, belay_options_set_tls_key_file(options, tls_path(server, "server.key")));
  CHECK(belay_client_new(options) == NULL);
  CHECK_TEXT("has another key than the certificate's", belay_options_error(options));
  belay_options_free(options);
}

static void test_names_that_fit_many(Server* server) {
  prepare(server);
  for (const char** name = (const char*[]){".", ".invalid", "*.invalid", NULL}; *name; ++name) {
    belay_options* options = belay_options_new();
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, tls_url("localhost", 1)));
    CHECK_STATUS(BELAY_OK, belay_options_set_tls_server_name(options, *name));
    CHECK(belay_client_new(options) == NULL);
    char complaint[64];
    snprintf(complaint, sizeof complaint, "'%s' cannot be a server's name", *name);
    CHECK_TEXT(complaint, belay_options_error(options));
    belay_options_free(options);
  }
}

static void test_options_from_everywhere(Server* server) {
  const uint16_t port = prepare(server);
  char url[256];
  snprintf(url, sizeof url, "rediss://127.0.0.1:%d?tls_ca_file=%s&tls_min_version=1.3", port,
           tls_path(server, "ca.pem"));
  check_works(client_with(url, NULL));
  setenv("BELAY_TLS_CA_FILE", tls_path(server, "ca.pem"), 1);
  check_works(client_with(tls_url("127.0.0.1", port), NULL));
  setenv("BELAY_TLS_SERVER_NAME", "elsewhere.invalid", 1);
  check_refused_connection(client_with(tls_url("127.0.0.1", port), NULL), BELAY_AUTH_FAILED,
                           "is not for 'elsewhere.invalid'");
  check_works(client_with(tls_url("127.0.0.1", port), "tls_server_name", "", NULL));
  unsetenv("BELAY_TLS_SERVER_NAME");
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_tls_min_version(options, "1.1"));
  CHECK_TEXT("tls_min_version was '1.1': 1.2, 1.3 is allowed", belay_options_error(options));
  belay_options_free(options);
  setenv("BELAY_TLS_MIN_VERSION", "3", 1);
  options = belay_options_new();
  CHECK_TEXT("BELAY_TLS_MIN_VERSION: tls_min_version was '3'", belay_options_error(options));
  CHECK_STATUS(BELAY_OK, belay_options_set_tls_min_version(options, "1.2"));
  CHECK_INT(0, (int64_t)strlen(belay_options_error(options)));
  belay_options_free(options);
  unsetenv("BELAY_TLS_MIN_VERSION");
}

static void exchange(const Server* server, const char* from, const char* to) {
  char command[256];
  snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", tls_path(server, from),
           tls_path(server, to), tls_path(server, to), tls_path(server, to));
  CHECK_INT(0, system(command));
}

static void test_files_are_read_again(Server* server) {
  const uint16_t port = prepare(server);
  exchange(server, "ca.pem", "trusted.pem");
  belay_client* client =
      client_with(tls_url("127.0.0.1", port), "tls_ca_file", tls_path(server, "trusted.pem"), NULL);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  exchange(server, "foreign-ca.pem", "trusted.pem");
  tls_use_certificate(server, "foreign");
  server_cut_clients(server);
  EVENTUALLY(belay_verify(client, hold, NULL) == BELAY_OK);
  // A file that has gone is said, and not for good.
  CHECK_INT(0, unlink(tls_path(server, "trusted.pem")));
  server_cut_clients(server);
  EVENTUALLY(belay_client_ping(client, NULL) == BELAY_AUTH_FAILED);
  CHECK_WHY(BELAY_AUTH_FAILED, "trusted.pem' could not be read", belay_client_ping(client, &why));
  exchange(server, "foreign-ca.pem", "trusted.pem");
  EVENTUALLY(belay_client_ping(client, NULL) == BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_server_that_says_nothing(Server* server) {
  tls_make_certificates(server);
  const char* port = strrchr(fake_server(""), ':') + 1;
  belay_client* client =
      client_with(tls_url("127.0.0.1", (uint16_t)atoi(port)), "request_timeout_ms", "300",
                  "tls_ca_file", tls_path(server, "ca.pem"), NULL);
  CHECK_WHY(BELAY_UNAVAILABLE, "within 300 ms", belay_lock(client, "a", -1, 0, &why));
  CHECK_WHY(BELAY_UNAVAILABLE, "TLS handshake with 127.0.0.1:", belay_client_ping(client, &why));
  CHECK_WHY(BELAY_UNAVAILABLE, "did not come about within ", belay_client_ping(client, &why));
  belay_client_free(client);
}

// The server's part of a handshake has some 1 000 bytes, and the greeting's replies follow.
static void test_cuts_at_every_moment_of_a_handshake(Server* server) {
  const uint16_t port = prepare(server);
  Relay relay = relay_start(port);
  for (int64_t bytes = 0; bytes < 3000; bytes += bytes < 40 ? 1 : 83) {
    relay.state->cut_after = bytes;
    belay_client* client = trusting(server, relay.port);
    EVENTUALLY(relay.state->cuts > 0);
    relay.state->cut_after = -1;
    relay.state->cuts = 0;
    check_works(client);
  }
}

static void test_bytes_one_by_one(Server* server) {
  const uint16_t port = prepare(server);
  Relay relay = relay_start(port);
  relay.state->one_by_one = true;
  belay_client* client = trusting(server, relay.port);
  for (int i = 0; i < 10; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  check_works(client);
}

// A sentinel that asks the master over TLS, and is asked so, at that port of its own.
static void launch_sentinel(Server* sentinel, const Server* master, uint16_t masters,
                            uint16_t own) {
  const char* path = tls_path(master, "sentinel.conf");
  FILE* const file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file, "sentinel monitor mymaster 127.0.0.1 %d 1\ntls-port %d\ntls-auth-clients no\n",
          masters, own);
  fprintf(file, "tls-replication yes\ntls-ca-cert-file %s\n", tls_path(master, "ca.pem"));
  fprintf(file, "tls-cert-file %s\ntls-key-file %s\n", tls_path(master, "server.pem"),
          tls_path(master, "server.key"));
  CHECK_INT(0, fclose(file));
  server_launch_with(sentinel, (const char* const[]){master->program, path, "--sentinel", NULL});
}

static void test_sentinel_with_tls(Server* server) {
  const uint16_t port = prepare(server);
  const uint16_t sentinels = free_port();
  Server sentinel;
  launch_sentinel(&sentinel, server, port, sentinels);
  char url[64];
  snprintf(url, sizeof url, "rediss-sentinel://127.0.0.1:%d/mymaster", sentinels);
  const char* ca = tls_path(server, "ca.pem");
  belay_client* client = client_with(url, "tls_ca_file", ca, NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  check_works(client);
  client = client_with(url, NULL);
  check_refused_connection(client, BELAY_AUTH_FAILED, "certificate");
  snprintf(url, sizeof url, "redis-sentinel://127.0.0.1:%d/mymaster", sentinels);
  client = client_with(url, NULL);
  check_refused_connection(client, BELAY_UNSUPPORTED_SERVER, "rediss-sentinel://");
  launch_end(&sentinel.launch);
}

enum { kNodes = 2, kSlotsEach = 8192 };

typedef struct Ports {
  char tls[8];
  char bus[8];
} Ports;

// A node with half of the slots, which tells those who come over TLS of such ports.
static Ports launch_node(Server* node, const Server* files, int first_slot) {
  Ports ports;
  char slots[2][8];
  snprintf(ports.tls, sizeof ports.tls, "%d", free_port());
  snprintf(ports.bus, sizeof ports.bus, "%d", free_port());
  snprintf(slots[0], sizeof slots[0], "%d", first_slot);
  snprintf(slots[1], sizeof slots[1], "%d", first_slot + kSlotsEach - 1);
  server_launch_with(
      node, (const char* const[]){files->program, "--cluster-enabled", "yes", "--tls-cluster",
                                  "yes", "--cluster-port", ports.bus, "--tls-port", ports.tls,
                                  "--tls-auth-clients", "no", "--tls-ca-cert-file",
                                  tls_path(files, "ca.pem"), "--tls-cert-file",
                                  tls_path(files, "server.pem"), "--tls-key-file",
                                  tls_path(files, "server.key"), NULL});
  server_tell(node, "CLUSTER", "ADDSLOTSRANGE", slots[0], slots[1], NULL);
  server_tell(node, "CLUSTER", "SET-CONFIG-EPOCH", first_slot == 0 ? "1" : "2", NULL);
  return ports;
}

static bool is_whole(const Server* node) {
  return strstr(server_ask(node, "CLUSTER", "INFO", NULL), "cluster_slots_ok:16384") != NULL;
}

static void test_cluster_with_tls(Server* server) {
  tls_make_certificates(server);
  Server nodes[kNodes];
  Ports ports[kNodes];
  for (int i = 0; i < kNodes; ++i) {
    ports[i] = launch_node(&nodes[i], server, i * kSlotsEach);
  }
  server_tell(&nodes[0], "CLUSTER", "MEET", "127.0.0.1", ports[1].tls, ports[1].bus, NULL);
  EVENTUALLY(is_whole(&nodes[0]) && is_whole(&nodes[1]));
  char url[64];
  snprintf(url, sizeof url, "rediss-cluster://127.0.0.1:%s", ports[0].tls);
  const char* ca = tls_path(server, "ca.pem");
  belay_client* client = client_with(url, "tls_ca_file", ca, NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  const char* const names[kNodes] = {"b", "a"};  // in slots 3300 and 15495
  for (int i = 0; i < kNodes; ++i) {
    const int64_t hold = GRANTED(belay_lock(client, names[i], -1, -1, NULL));
    char record[16];
    snprintf(record, sizeof record, "belay:r:{%s}", names[i]);
    CHECK_TEXT("1", server_ask(&nodes[i], "EXISTS", record, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  }
  check_works(client);
  client = client_with(url, NULL);
  check_refused_connection(client, BELAY_AUTH_FAILED, "certificate");
  for (int i = 0; i < kNodes; ++i) {
    launch_end(&nodes[i].launch);
  }
}

enum { kHuge = 6 * 1024 * 1024 };

// Many records each way, of which none may be lost behind the last byte that the socket has.
static void test_huge_requests_and_replies(Server* server) {
  const uint16_t port = prepare(server);
  belay_client* client = trusting(server, port);
  char* value = malloc(kHuge);
  CHECK(value != NULL);
  for (int i = 0; i < kHuge; ++i) {
    value[i] = (char)('a' + i % 23);
  }
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, -1, NULL));
  const int64_t fence = belay_hold_fence(client, hold, 0);
  const char* const words[] = {"SET", value, "GET"};
  const int64_t sizes[] = {-1, kHuge, -1};
  for (int round = 0; round < 3; ++round) {
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_OK, belay_fenced_write(client, "k", -1, fence, 3, words, sizes, &event));
    if (round > 0) {
      int64_t size = 0;
      const char* reply = belay_event_text(event, &size);
      CHECK_INT(kHuge, size);
      CHECK(memcmp(reply, value, kHuge) == 0);
    }
    belay_event_free(event);
  }
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  free(value);
  check_works(client);
}

enum { kThreads = 8, kTurns = 200 };

typedef struct Worker {
  belay_client* client;
  char name[16];
} Worker;

static void* work(void* argument) {
  const Worker* worker = argument;
  for (int i = 0; i < kTurns; ++i) {
    const int64_t hold = GRANTED(belay_lock(worker->client, worker->name, -1, -1, NULL));
    CHECK_STATUS(BELAY_OK, belay_verify(worker->client, hold, NULL));
    CHECK_STATUS(BELAY_OK, belay_release(worker->client, hold));
  }
  return NULL;
}

static void test_threads_write_at_once(Server* server) {
  const uint16_t port = prepare(server);
  belay_client* client = trusting(server, port);
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i].client = client;
    snprintf(workers[i].name, sizeof workers[i].name, "t%d", i);
    CHECK_INT(0, pthread_create(&threads[i], NULL, work, &workers[i]));
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
  }
  check_works(client);
}

const Test tls_tests[] = {
    {"Over TLS locks are held, waited for and handed on", test_turns_over_tls},
    {"A TLS server proves its name or its address", test_names_and_addresses},
    {"A TLS server's certificate that is not believed is refused with the reason",
     test_certificates_that_are_not_believed},
    {"CAs to trust over TLS may stand in a folder", test_authorities_in_a_folder},
    {"A TLS server that demands a client certificate gets it, or its lack is told",
     test_client_certificates},
    {"Older versions of TLS than allowed are refused", test_versions},
    {"A plain port and a TLS port mixed up are told apart", test_plain_and_tls_ports_mixed_up},
    {"Who has heard of a plain server does not ask it for TLS", test_no_probe_of_a_known_server},
    {"TLS refuses a server name that would fit many", test_names_that_fit_many},
    {"TLS files of no use are told when the client is made", test_files_of_no_use},
    {"TLS options come from the URL, the environment and setters", test_options_from_everywhere},
    {"TLS files are read again at each connection", test_files_are_read_again},
    {"A TLS server that says nothing is given up", test_server_that_says_nothing},
    {"A cut at any moment of a TLS handshake is survived",
     test_cuts_at_every_moment_of_a_handshake},
    {"Over TLS a sentinel says where the master is", test_sentinel_with_tls},
    {"Over TLS a cluster says where its slots are", test_cluster_with_tls},
    {"Over TLS bytes may come one by one", test_bytes_one_by_one},
    {"Over TLS requests and replies may be huge", test_huge_requests_and_replies},
    {"Over TLS eight threads write at once", test_threads_write_at_once},
    {NULL, NULL}};
