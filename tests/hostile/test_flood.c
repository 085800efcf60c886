// What a neighbour publishes costs its receivers little: commands, memory, their connection.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neighbour.h"
#include "section.h"
#include "support.h"

static int64_t resident_kb(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

// Forges all that there is about "a", over and over, until it is told to stop.
static void forge_on(Server* server, const Line* parent, int64_t argument) {
  (void)argument;
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  say(parent, 1);
  while (is_silent(parent)) {
    neighbour_forge_everything(&neighbour, "a", 40);
  }
  neighbour_go(&neighbour);
}

static void take_turns(Server* server, const Line* parent, int64_t argument) {
  Section* section = (Section*)(intptr_t)argument;  // NOLINT(performance-no-int-to-ptr)
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < 100; ++i) {
    section_pass(section, client, GRANTED(belay_lock(client, "a", -1, -1, NULL)));
  }
  belay_client_free(client);
  say(parent, 1);
}

static void test_turns_in_a_flood(Server* server) {
  Section* section = section_new();
  const Child forger = child_start(server, forge_on, 0);
  hear(&forger.line);
  Child children[3];
  for (int i = 0; i < 3; ++i) {
    children[i] = child_start(server, take_turns, (int64_t)(intptr_t)section);
  }
  for (int i = 0; i < 3; ++i) {
    hear(&children[i].line);
    child_end(&children[i]);
  }
  say(&forger.line, 0);
  child_end(&forger);
  section_check(section);
  CHECK_INT(300, section->rounds);
}

// Of each kind ten thousand at once: a claim has one question out at a time.
static void flood(Server* server, const Line* parent, int64_t argument) {
  (void)argument;
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  say(parent, 1);
  hear(parent);
  for (int i = 0; i < 100; ++i) {
    for (int kind = 1; kind <= 6; ++kind) {
      for (int64_t epoch = 1; epoch <= 20; ++epoch) {
        neighbour_forge(&neighbour, &(Forgery){kind, 1, epoch, 0, NULL, "a"});
      }
    }
  }
  neighbour_go(&neighbour);
  say(parent, 1);
}

static void test_few_questions(Server* server) {
  const Child forger = child_start(server, flood, 0);
  hear(&forger.line);
  belay_client* holder = CLIENT(.url = server->url);
  belay_client* waiter = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, SUBMIT(waiter, 1, -1, .name = "a"));
  EVENTUALLY(waiters_of(holder, "a") == 1);
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  say(&forger.line, 1);
  hear(&forger.line);
  child_end(&forger);
  // 12 000 messages to each of the two.
  CHECK(server_scripts_run(server) < 1500);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder, hold));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  give_back(waiter, TAKE(waiter, BELAY_EVENT_ACQUIRED, 1, BELAY_OK));
  belay_client_free(waiter);
  belay_client_free(holder);
}

// That the one hold there is was broken, for a second and a half.
static void say_broken(Server* server, const Line* parent, int64_t argument) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  say(parent, 1);
  hear(parent);
  int64_t told = 0;
  for (const int64_t end = now_ms() + argument; now_ms() < end; ++told) {
    neighbour_forge(&neighbour, &(Forgery){4, 1, 1, 0, NULL, "a"});
  }
  neighbour_go(&neighbour);
  say(parent, told);
}

static void test_few_breaks(Server* server) {
  const Child forger = child_start(server, say_broken, 1500);
  hear(&forger.line);
  belay_client* holder = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(belay_lock(holder, "a", -1, 0, NULL));
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  const int64_t start = now_ms();
  say(&forger.line, 1);
  CHECK(hear(&forger.line) > 200);
  const int64_t scripts = server_scripts_run(server);
  CHECK(scripts >= 8);
  CHECK(scripts <= 8 + (now_ms() - start) / 100 + 3);  // the watchdog's own are among them
  child_end(&forger);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(holder, hold));
  CHECK_STATUS(BELAY_OK, belay_release(holder, hold));
  belay_client_free(holder);
}

// About ever new names, and epochs that are over.
static void name_many(Server* server, const Line* parent, int64_t argument) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  say(parent, 1);
  hear(parent);
  for (int64_t i = 0; i < argument; ++i) {
    char name[64];
    snprintf(name, sizeof name, "forged %lld", (long long)i);
    neighbour_forge(&neighbour, &(Forgery){3, 1, 1, 0, NULL, name});
  }
  neighbour_go(&neighbour);
  say(parent, 1);
}

static void test_few_dead_claims(Server* server) {
  const Child forger = child_start(server, name_many, 20000);
  hear(&forger.line);
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "a", -1, 0, NULL))));
  server_tell(server, "CONFIG", "RESETSTAT", NULL);
  const int64_t start = now_ms();
  say(&forger.line, 1);
  hear(&forger.line);
  child_end(&forger);
  const int64_t windows = (now_ms() - start) / 5000 + 2;
  CHECK(server_scripts_run(server) <= 256 * windows);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
}

// Larger than any reply may be.
static void send_large(Server* server, const Line* parent, int64_t argument) {
  Neighbour neighbour;
  neighbour_come(&neighbour, server);
  say(parent, 1);
  char* payload = calloc(1, (size_t)argument);
  while (hear(parent) == 1) {
    neighbour_publish(&neighbour, payload, argument);
    say(parent, 1);
  }
  free(payload);
  neighbour_go(&neighbour);
}

// The number of the one connection of the library there.
static int64_t connection_of_client(const Server* server) {
  const char* line = server_ask(server, "CLIENT", "LIST", NULL);
  for (; line != NULL; line = strstr(line + 1, "\nid=")) {
    const char* id = strstr(line, "id=");
    if (strstr(id, " name=belay ") != NULL && strstr(id, " name=belay ") < id + strcspn(id, "\n")) {
      return strtol(id + 3, NULL, 10);
    }
  }
  FAIL("the library has no connection");
}

static void test_large_messages(Server* server) {
  const Child forger = child_start(server, send_large, INT64_C(10) << 20);
  hear(&forger.line);
  belay_client* client = CLIENT(.url = server->url);
  const int64_t hold = GRANTED(ACQUIRE(client, 0, .name = "a", .notify = 1));
  const int64_t connection = connection_of_client(server);
  const int64_t before = resident_kb();
  for (int i = 0; i < 12; ++i) {
    say(&forger.line, 1);
    hear(&forger.line);
    CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  }
  CHECK(resident_kb() - before < 16 * 1024);
  CHECK_INT(connection, connection_of_client(server));
  say(&forger.line, 0);
  child_end(&forger);
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

const Test flood_tests[] = {
    {"Handoffs go on in a flood of forged messages", test_turns_in_a_flood},
    {"Ten thousand forged messages cause few commands", test_few_questions},
    {"A flood of messages that a hold was broken costs few renewals", test_few_breaks},
    {"Messages about names that nobody asked for cause few commands", test_few_dead_claims},
    {"Large messages cost neither memory nor the connection", test_large_messages},
    {NULL, NULL}};
