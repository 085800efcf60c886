// What the tests share: the table of tests, further processes and the line to them, and short ways
// to make clients and requests and to take events.
#pragma once

#include <belay/belay.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "check.h"
#include "server.h"

// A test runs in a process of its own, with a server of its own.
typedef struct Test {
  const char* name;  // a sentence
  void (*run)(Server* server);
} Test;

// What a driver runs: tables of tests, until NULL; and whether a full run is to meet every status,
// kind and field of the library.
extern const Test* const test_tables[];
extern const bool sees_every_number;

// One table a file; a table ends with a NULL name.
extern const Test turn_tests[];
extern const Test reader_writer_tests[];
extern const Test held_together_tests[];
extern const Test semaphore_tests[];
extern const Test several_names_tests[];
extern const Test lock_delay_tests[];
extern const Test hold_tests[];
extern const Test query_tests[];
extern const Test name_tests[];
extern const Test guard_tests[];
extern const Test latch_tests[];
extern const Test latch_wait_tests[];
extern const Test async_tests[];
extern const Test end_tests[];
extern const Test within_tests[];
extern const Test nowait_tests[];
extern const Test wakeup_tests[];
extern const Test option_tests[];
extern const Test metric_tests[];
extern const Test fault_tests[];
extern const Test late_tests[];
extern const Test cut_tests[];
extern const Test clock_tests[];
extern const Test distance_tests[];
extern const Test death_tests[];
extern const Test state_tests[];
extern const Test host_tests[];
extern const Test hosts_tests[];
extern const Test sentinel_tests[];
extern const Test refusal_tests[];
extern const Test rights_tests[];
extern const Test misuse_tests[];
extern const Test log_tests[];
extern const Test secret_tests[];
extern const Test scale_tests[];
extern const Test tls_tests[];
extern const Test cluster_tests[];

// ---- Processes

// Numbers go through it, in both directions.
typedef struct Line {
  int in;
  int out;
} Line;

typedef struct Child {
  pid_t pid;
  Line line;
} Child;

typedef void ChildBody(Server* server, const Line* parent, int64_t argument);

// Runs the body in a process of its own, which ends with the test's. Best before the test makes its
// first client: the thread sanitizer knows no threads of a child whose parent had some.
Child child_start(Server* server, ChildBody* body, int64_t argument);
// Waits for its end, which must be an orderly one.
void child_end(const Child* child);
void child_kill(const Child* child);
void child_pause(const Child* child);
void child_continue(const Child* child);

void say(const Line* line, int64_t number);
// The next number; fails the test where none comes.
int64_t hear(const Line* line);
// True if nothing has been said.
bool is_silent(const Line* line);

// Zeroed memory that children share.
void* shared_memory(int64_t size);

// ---- Clients

typedef struct ClientSetup {
  const char* url;
  const char* user;
  const char* password;
  const char* label;
  const char* prefix;
  int64_t watchdog_lease_ms;
  int64_t request_timeout_ms;
  int64_t max_hold_ms;
  int64_t max_pending;
  int32_t log_level;
} ClientSetup;

// A client with these options, and the default where one is NULL or 0.
belay_client* client_of(const ClientSetup* setup);
#define CLIENT(...) client_of(&(const ClientSetup){__VA_ARGS__})

// Clients whose watchdog does nothing meanwhile.
void make_clients(const Server* server, belay_client** clients, int count);
void free_clients(belay_client** clients, int count);

typedef struct RequestSetup {
  const char* name;
  int64_t name_size;  // 0: it ends with NUL
  int32_t primitive;  // 0: a lock
  bool shared;        // to read
  const char* identity;
  int64_t identity_size;  // 0: it ends with NUL
  int64_t permits;        // of a semaphore, as is the limit
  int64_t limit;
  int64_t generation;  // of a latch
  int64_t lock_delay_ms;
  int64_t lease_ms;
  int64_t owner;  // of the acquire
  int64_t max_hold_ms;
  int32_t notify;
} RequestSetup;

belay_request* request_of(const RequestSetup* setup);
#define REQUEST(...) request_of(&(const RequestSetup){__VA_ARGS__})

// One acquire with such a request.
int64_t acquire_as(belay_client* client, int64_t wait_ms, const RequestSetup* setup);
#define ACQUIRE(client, wait_ms, ...) \
  acquire_as((client), (wait_ms), &(const RequestSetup){__VA_ARGS__})
int32_t submit_as(belay_client* client, int64_t tag, int64_t wait_ms, const RequestSetup* setup);
#define SUBMIT(client, tag, wait_ms, ...) \
  submit_as((client), (tag), (wait_ms), &(const RequestSetup){__VA_ARGS__})

// A release that tells how it ended, as belay_release does.
int32_t release_why(belay_client* client, int64_t hold, belay_event** why);

// Releases a hold that competitors want. A hold that has just been handed over has a short lease
// until it is confirmed: on a busy machine the answer may come after it.
void give_back(belay_client* client, int64_t hold);

// How many clients wait for a name, as the server knows it.
int64_t waiters_of(belay_client* client, const char* name);
// How many clients hold it together, or how many holds of a semaphore there are.
int64_t holders_of(belay_client* client, const char* name);
// True if one client holds it.
bool is_held(belay_client* client, const char* name);

// Takes the next event, which must be of this kind, tag and status.
belay_event* check_event(const char* file, int line, belay_client* client, int32_t kind,
                         int64_t tag, int32_t status);
#define EVENT(client, kind, tag, status) \
  check_event(__FILE__, __LINE__, (client), (kind), (tag), (status))
// The same where nothing else is of interest; gives its hold.
#define TAKE(client, kind, tag, status) event_end(EVENT(client, kind, tag, status))
int64_t event_end(belay_event* event);

// A good deal less than a fallback poll, and than a third of the default lease.
enum { kLessThanAPollMs = 3500 };

// Takes the grant of a tag, which must be there soon: no poll has brought it.
belay_event* check_grant_soon(const char* file, int line, belay_client* client, int64_t tag);
#define GRANT_SOON(client, tag) check_grant_soon(__FILE__, __LINE__, (client), (tag))
// The same with its fence; gives the hold.
int64_t take_soon(belay_client* client, int64_t tag);

// What comes next, but for news of holds; NULL: nothing. A hold that was handed over has a short
// lease until the server confirms it: on a busy machine it may be told of as at risk, and lost.
belay_event* next_but_of_holds(belay_client* client, int64_t wait_ms);
// The hold that this submission gets, whatever is told of others meanwhile.
int64_t acquired(belay_client* client, int64_t tag);

// A call that fails so, and says why in `why`, which it is given.
void check_why(const char* file, int line, int32_t status, const char* part, int64_t answer,
               belay_event* why);
#define CHECK_WHY(status, part, call)                             \
  do {                                                            \
    belay_event* why = NULL;                                      \
    const int64_t answer = (call);                                \
    check_why(__FILE__, __LINE__, (status), (part), answer, why); \
  } while (0)

// A submission that is accepted, and whose event tells what was wrong with it.
void check_told(const char* file, int line, belay_client* client, int32_t status, const char* part,
                int32_t accepted);
#define TOLD(client, status, part, submission) \
  check_told(__FILE__, __LINE__, (client), (status), (part), (submission))
