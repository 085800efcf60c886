#include "support.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- Processes

static bool is_child;

// Asked by the leak sanitizer at exit: what a child inherits is not its own to free.
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
  return is_child;
}

// Asked by the thread sanitizer at the start: children make threads of their own, and many exit.
const char* __tsan_default_options(void);

const char* __tsan_default_options(void) {
  return "die_after_fork=0:atexit_sleep_ms=0";
}

Child child_start(Server* server, ChildBody* body, int64_t argument) {
  int to_child[2];
  int from_child[2];
  CHECK(pipe(to_child) == 0 && pipe(from_child) == 0);
  const pid_t parent = getpid();
  Child child = {.pid = fork(), .line = {.in = from_child[0], .out = to_child[1]}};
  CHECK(child.pid >= 0);
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(1);
    }
    is_child = true;
    close(from_child[0]);
    close(to_child[1]);
    const Line line = {.in = to_child[0], .out = from_child[1]};
    body(server, &line, argument);
    exit(0);
  }
  close(from_child[1]);
  close(to_child[0]);
  return child;
}

void child_end(const Child* child) {
  int status = -1;
  EVENTUALLY(waitpid(child->pid, &status, WNOHANG) == child->pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCheckFailed) {
    _exit(kCheckFailed);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    printf("  a child ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "code",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
    _exit(1);
  }
  close(child->line.in);
  close(child->line.out);
}

void child_kill(const Child* child) {
  kill(child->pid, SIGKILL);
  waitpid(child->pid, NULL, 0);
  close(child->line.in);
  close(child->line.out);
}

void child_pause(const Child* child) {
  kill(child->pid, SIGSTOP);
  int status = 0;
  waitpid(child->pid, &status, WUNTRACED);
  CHECK(WIFSTOPPED(status));
}

void child_continue(const Child* child) {
  kill(child->pid, SIGCONT);
}

void say(const Line* line, int64_t number) {
  CHECK(write(line->out, &number, sizeof number) == (ssize_t)sizeof number);
}

int64_t hear(const Line* line) {
  struct pollfd readable = {.fd = line->in, .events = POLLIN};
  int64_t number = 0;
  if (poll(&readable, 1, (int)scaled(kLimitMs)) != 1 ||
      read(line->in, &number, sizeof number) != (ssize_t)sizeof number) {
    FAIL("the other process said nothing");
  }
  return number;
}

bool is_silent(const Line* line) {
  struct pollfd readable = {.fd = line->in, .events = POLLIN};
  return poll(&readable, 1, 0) == 0;
}

void* shared_memory(int64_t size) {
  void* memory =
      mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

// ---- Clients

static void set_numbers(belay_options* options, const ClientSetup* setup) {
  if (setup->watchdog_lease_ms != 0) {
    CHECK_STATUS(BELAY_OK, belay_options_set_watchdog_lease_ms(options, setup->watchdog_lease_ms));
  }
  if (setup->request_timeout_ms != 0) {
    CHECK_STATUS(BELAY_OK,
                 belay_options_set_request_timeout_ms(options, setup->request_timeout_ms));
  }
  if (setup->max_hold_ms != 0) {
    CHECK_STATUS(BELAY_OK, belay_options_set_max_hold_ms(options, setup->max_hold_ms));
  }
  if (setup->max_pending != 0) {
    CHECK_STATUS(BELAY_OK, belay_options_set_max_pending(options, setup->max_pending));
  }
  if (setup->log_level != 0) {
    CHECK_STATUS(BELAY_OK, belay_options_set_log_level(options, setup->log_level));
  }
}

static void set_texts(belay_options* options, const ClientSetup* setup) {
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, setup->url));
  if (setup->user != NULL) {
    CHECK_STATUS(BELAY_OK, belay_options_set_user(options, setup->user));
  }
  if (setup->password != NULL) {
    CHECK_STATUS(BELAY_OK, belay_options_set_password(options, setup->password));
  }
  if (setup->label != NULL) {
    CHECK_STATUS(BELAY_OK, belay_options_set_label(options, setup->label));
  }
  if (setup->prefix != NULL) {
    CHECK_STATUS(BELAY_OK, belay_options_set_prefix(options, setup->prefix));
  }
}

belay_client* client_of(const ClientSetup* setup) {
  belay_options* options = belay_options_new();
  set_texts(options, setup);
  set_numbers(options, setup);
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    FAIL("no client: %s", belay_options_error(options));
  }
  belay_options_free(options);
  return client;
}

void make_clients(const Server* server, belay_client** clients, int count) {
  for (int i = 0; i < count; ++i) {
    clients[i] = CLIENT(.url = server->url, .watchdog_lease_ms = 3600 * 1000);
  }
}

void free_clients(belay_client** clients, int count) {
  for (int i = 0; i < count; ++i) {
    belay_client_free(clients[i]);
  }
}

belay_request* request_of(const RequestSetup* setup) {
  belay_request* request = belay_request_new(setup->primitive == 0 ? BELAY_LOCK : setup->primitive);
  const int64_t name_size = setup->name_size == 0 ? -1 : setup->name_size;
  CHECK_STATUS(BELAY_OK, setup->shared
                             ? belay_request_add_shared_name(request, setup->name, name_size)
                             : belay_request_add_name(request, setup->name, name_size));
  if (setup->identity != NULL) {
    const int64_t size = setup->identity_size == 0 ? -1 : setup->identity_size;
    CHECK_STATUS(BELAY_OK, belay_request_set_identity(request, setup->identity, size));
  }
  if (setup->primitive == BELAY_SEMAPHORE) {
    CHECK_STATUS(BELAY_OK, belay_request_set_permits(request, setup->permits, setup->limit));
  }
  if (setup->generation != 0) {
    CHECK_STATUS(BELAY_OK, belay_request_set_generation(request, setup->generation));
  }
  CHECK_STATUS(BELAY_OK, belay_request_set_lock_delay_ms(request, setup->lock_delay_ms));
  CHECK_STATUS(BELAY_OK, belay_request_set_lease_ms(request, setup->lease_ms));
  CHECK_STATUS(BELAY_OK, belay_request_set_notify(request, setup->notify));
  if (setup->max_hold_ms != 0) {
    CHECK_STATUS(BELAY_OK, belay_request_set_max_hold_ms(request, setup->max_hold_ms));
  }
  return request;
}

int64_t acquire_as(belay_client* client, int64_t wait_ms, const RequestSetup* setup) {
  belay_request* request = request_of(setup);
  const int64_t hold = belay_acquire(client, request, setup->owner, wait_ms, NULL);
  belay_request_free(request);
  return hold;
}

int32_t submit_as(belay_client* client, int64_t tag, int64_t wait_ms, const RequestSetup* setup) {
  belay_request* request = request_of(setup);
  const int32_t status = belay_submit_acquire(client, tag, request, setup->owner, wait_ms);
  belay_request_free(request);
  return status;
}

int32_t release_why(belay_client* client, int64_t hold, belay_event** why) {
  const int64_t kTag = (INT64_C(1) << 52) + (hold & 0xFFFFFF);
  *why = belay_release_within(client, kTag, hold, -1);
  return belay_event_status(*why);
}

void give_back(belay_client* client, int64_t hold) {
  const int64_t kLongestGrantMs = 2000;
  const int64_t remaining = belay_hold_remaining_ms(client, hold);
  const int32_t status = belay_release(client, hold);
  if (status != BELAY_UNAVAILABLE || remaining > kLongestGrantMs) {
    CHECK_STATUS(BELAY_OK, status);
  }
}

static int64_t count_members(belay_client* client, const char* name, int32_t role) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, name, -1, &event));
  int64_t count = 0;
  for (int32_t i = 0; i < belay_event_int(event, BELAY_FIELD_MEMBERS); ++i) {
    count += belay_event_member_int(event, i, BELAY_MEMBER_ROLE) == role;
  }
  belay_event_free(event);
  return count;
}

int64_t waiters_of(belay_client* client, const char* name) {
  return count_members(client, name, BELAY_ROLE_WAITER);
}

int64_t holders_of(belay_client* client, const char* name) {
  return count_members(client, name, BELAY_ROLE_HOLDER);
}

bool is_held(belay_client* client, const char* name) {
  return holders_of(client, name) == 1;
}

belay_event* check_event(const char* file, int line, belay_client* client, int32_t kind,
                         int64_t tag, int32_t status) {
  belay_event* event = belay_next(client, scaled(kLimitMs));
  if (event == NULL) {
    fail_check(file, line, "no event came");
  }
  if (belay_event_kind(event) != kind || belay_event_tag(event) != tag ||
      belay_event_status(event) != status) {
    fail_check(file, line, "the event was kind %d, tag %lld, %s '%s'; not kind %d, tag %lld, %s",
               belay_event_kind(event), (long long)belay_event_tag(event),
               belay_status_name(belay_event_status(event)), belay_event_message(event), kind,
               (long long)tag, belay_status_name(status));
  }
  check_status(file, line, "the event", status, belay_event_status(event));
  return event;
}

belay_event* next_but_of_holds(belay_client* client, int64_t wait_ms) {
  belay_event* event = belay_next(client, wait_ms);
  while (event != NULL && (belay_event_kind(event) == BELAY_EVENT_AT_RISK ||
                           belay_event_kind(event) == BELAY_EVENT_RECOVERED ||
                           belay_event_kind(event) == BELAY_EVENT_LOST)) {
    belay_event_free(event);
    event = belay_next(client, wait_ms);
  }
  return event;
}

int64_t acquired(belay_client* client, int64_t tag) {
  belay_event* event = next_but_of_holds(client, scaled(kLimitMs));
  CHECK(event != NULL && belay_event_kind(event) == BELAY_EVENT_ACQUIRED);
  CHECK_STATUS(BELAY_OK, belay_event_status(event));
  CHECK_INT(tag, belay_event_tag(event));
  return event_end(event);
}

void check_why(const char* file, int line, int32_t status, const char* part, int64_t answer,
               belay_event* why) {
  check_status(file, line, "the call", status, (int32_t)(answer < 0 ? -answer : answer));
  check_status(file, line, "its event", status, belay_event_status(why));
  check_text(file, line, "its message", part, belay_event_message(why));
  belay_event_free(why);
}

void check_told(const char* file, int line, belay_client* client, int32_t status, const char* part,
                int32_t accepted) {
  check_status(file, line, "the submission", BELAY_OK, accepted);
  belay_event* event = belay_next(client, scaled(kLimitMs));
  if (event == NULL) {
    fail_check(file, line, "no event came");
  }
  check_status(file, line, "the event", status, belay_event_status(event));
  check_text(file, line, "its message", part, belay_event_message(event));
  if (belay_event_kind(event) == 0 || belay_event_tag(event) == 0) {
    fail_check(file, line, "the event had kind %d and tag %lld", belay_event_kind(event),
               (long long)belay_event_tag(event));
  }
  belay_event_free(event);
}

int64_t event_end(belay_event* event) {
  const int64_t hold = belay_event_hold(event);
  belay_event_free(event);
  return hold;
}

belay_event* check_grant_soon(const char* file, int line, belay_client* client, int64_t tag) {
  const int64_t start = now_ms();
  belay_event* event = check_event(file, line, client, BELAY_EVENT_ACQUIRED, tag, BELAY_OK);
  if (now_ms() - start >= scaled(kLessThanAPollMs)) {
    fail_check(file, line, "the grant came as late as a poll");
  }
  return event;
}

int64_t take_soon(belay_client* client, int64_t tag) {
  belay_event* event = GRANT_SOON(client, tag);
  CHECK(belay_event_fence(event, 0) > 0);
  return event_end(event);
}
