/* The agent in C, and the model of the others: it does what lines on stdin say, as ../../README.md
 * has it. One thread: requests use the blocking calls, tasks the belay_submit_ calls; a task's tag
 * is its label's number. */
#include <belay/belay.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LABELS = 100, WORDS = 300, BYTES = 70000, NEWS = 8 };

enum { OWN_TAG = 1000 }; /* of calls that submit and wait */

struct line {
  char* verb;
  char* words[WORDS]; /* the arguments after the verb */
  int word_count;
  char* options[WORDS]; /* "key=value" */
  int option_count;
};

struct hold {
  int64_t number;
  int names;
  belay_event* news[NEWS];
  int news_count;
};

struct task {
  int hold;           /* the label that an acquire fills; 0: none */
  belay_event* event; /* the answer, once it has come */
};

static belay_client* client;
static belay_options* made_with; /* the client */
static struct hold holds[LABELS];
static struct task tasks[LABELS];
static belay_event* logs[1000];
static int log_count;

/* ---- Words ---- */

static const char* option(const struct line* line, const char* key) {
  size_t size = strlen(key);
  for (int i = 0; i < line->option_count; ++i) {
    if (strncmp(line->options[i], key, size) == 0 && line->options[i][size] == '=') {
      return line->options[i] + size + 1;
    }
  }
  return NULL;
}

static int64_t number(const struct line* line, const char* key, int64_t otherwise) {
  const char* text = option(line, key);
  return text == NULL ? otherwise : strtoll(text, NULL, 10);
}

static const char* word(const struct line* line, int index) {
  return index < line->word_count ? line->words[index] : "";
}

/* The number of a label such as h7; 0, which names nothing, for what is none. */
static int label(const char* text) {
  int index = isalpha((unsigned char)text[0]) ? atoi(text + 1) : 0;
  return index > 0 && index < LABELS ? index : 0;
}

static int64_t hold_of(const struct line* line) {
  return holds[label(word(line, 0))].number;
}

/* Decodes hex up to a comma or the end. Returns where it ended. */
static const char* decode(const char* hex, char* bytes, int64_t* size) {
  unsigned byte = 0;
  for (*size = 0; isxdigit((unsigned char)*hex) && *size < BYTES && sscanf(hex, "%2x", &byte) == 1;
       hex += 2) {
    bytes[(*size)++] = (char)byte;
  }
  return *hex == ',' ? hex + 1 : NULL;
}

static void print_hex(const char* key, const char* bytes, int64_t size) {
  if (size > 0) {
    printf(" %s=", key);
  }
  for (int64_t i = 0; i < size; ++i) {
    printf("%02x", (unsigned char)bytes[i]);
  }
}

static void print_number(const char* key, int64_t value) {
  printf(" %s=%" PRId64, key, value);
}

/* ---- Replies ---- */

static const char* const reasons[] = {"",       "LEASE_ENDED", "NOT_RENEWED", "GONE",
                                      "BROKEN", "MAX_HOLD",    "CLOSED"};
static const char* const primitives[] = {"", "lock", "semaphore", "latch"};
static const char* const levels[] = {"none", "error", "warning", "info", "debug"};

static void print_fences(const belay_event* event) {
  for (int32_t i = 0; belay_event_fence(event, i) > 0; ++i) {
    printf("%s%" PRId64, i == 0 ? " fence=" : ",", belay_event_fence(event, i));
  }
}

static void print_field(const belay_event* event, const char* key, int32_t field) {
  print_number(key, belay_event_int(event, field));
}

static void print_reason(const belay_event* event) {
  int64_t reason = belay_event_int(event, BELAY_FIELD_REASON);
  if (reason > 0) {
    printf(" reason=%s", reasons[reason]);
  }
}

static void print_member(const belay_event* event, int32_t index) {
  static const struct {
    const char* key;
    int32_t field;
    int32_t roles; /* as bits */
  } numbers[] = {{"pid", BELAY_MEMBER_PID, 6},        {"since", BELAY_MEMBER_SINCE_MS, 6},
                 {"lease", BELAY_MEMBER_LEASE_MS, 2}, {"fence", BELAY_MEMBER_FENCE, 2},
                 {"holds", BELAY_MEMBER_HOLDS, 2},    {"waiters", BELAY_MEMBER_LOCAL_WAITERS, 2}};

  int64_t role = belay_event_member_int(event, index, BELAY_MEMBER_ROLE);
  printf(" m%d.role=%s m%d.client=%s", index, role == BELAY_ROLE_HOLDER ? "holder" : "waiter",
         index, belay_event_member_text(event, index, BELAY_MEMBER_CLIENT, NULL));
  char key[32];
  int64_t size = 0;
  const char* text = belay_event_member_text(event, index, BELAY_MEMBER_LABEL, &size);
  snprintf(key, sizeof key, "m%d.label", index);
  print_hex(key, text, size);
  text = belay_event_member_text(event, index, BELAY_MEMBER_HOST, &size);
  snprintf(key, sizeof key, "m%d.host", index);
  print_hex(key, text, size);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    if ((numbers[i].roles >> role & 1) != 0) {
      printf(" m%d.%s=%" PRId64, index, numbers[i].key,
             belay_event_member_int(event, index, numbers[i].field));
    }
  }
  if (belay_event_member_int(event, index, BELAY_MEMBER_PERMITS) > 0) {
    printf(" m%d.permits=%" PRId64, index,
           belay_event_member_int(event, index, BELAY_MEMBER_PERMITS));
  }
  if (belay_event_member_int(event, index, BELAY_MEMBER_SHARED) > 0) {
    printf(" m%d.shared=1", index);
  }
}

static void print_members(const belay_event* event) {
  int64_t count = belay_event_int(event, BELAY_FIELD_MEMBERS);
  for (int32_t i = 0; i < count; ++i) {
    int64_t size = 0;
    const char* name = belay_event_member_text(event, i, BELAY_MEMBER_NAME, &size);
    char key[32];
    switch (belay_event_member_int(event, i, BELAY_MEMBER_ROLE)) {
      case BELAY_ROLE_METRIC:
        print_number(name, belay_event_member_int(event, i, BELAY_MEMBER_VALUE));
        break;
      case BELAY_ROLE_NAME:
        snprintf(key, sizeof key, "m%d.name", i);
        print_hex(key, name, size);
        break;
      default:
        print_member(event, i);
    }
  }
}

static void print_inspected(const belay_event* event) {
  int64_t primitive = belay_event_int(event, BELAY_FIELD_PRIMITIVE);
  if (primitive > 0) {
    printf(" primitive=%s", primitives[primitive]);
  }
  if (primitive == BELAY_SEMAPHORE) {
    print_field(event, "limit", BELAY_FIELD_LIMIT);
    print_field(event, "available", BELAY_FIELD_AVAILABLE);
  }
  if (primitive == BELAY_LATCH) {
    print_field(event, "generation", BELAY_FIELD_GENERATION);
    print_field(event, "count", BELAY_FIELD_COUNT);
  }
  if (belay_event_int(event, BELAY_FIELD_SLOT) >= 0) {
    print_field(event, "slot", BELAY_FIELD_SLOT);
  }
  print_field(event, "total", BELAY_FIELD_TOTAL);
}

/* What an event of a success has. */
static void print_success(const belay_event* event) {
  int64_t size = 0;
  const char* text = belay_event_text(event, &size);
  switch (belay_event_kind(event)) {
    case BELAY_EVENT_ACQUIRED:
      print_fences(event);
      if (belay_event_int(event, BELAY_FIELD_GENERATION) > 0) {
        print_field(event, "generation", BELAY_FIELD_GENERATION);
      } else {
        print_field(event, "permits", BELAY_FIELD_PERMITS);
      }
      break;
    case BELAY_EVENT_INSPECTED:
      print_inspected(event);
      break;
    case BELAY_EVENT_LISTED:
      print_field(event, "total", BELAY_FIELD_TOTAL);
      break;
    case BELAY_EVENT_WRITTEN:
      print_hex("text", text, size);
      break;
    case BELAY_EVENT_LATCH_SET:
      print_field(event, "generation", BELAY_FIELD_GENERATION);
      break;
    case BELAY_EVENT_LATCH_COUNTED_DOWN:
    case BELAY_EVENT_LATCH_COUNT:
      print_field(event, "count", BELAY_FIELD_COUNT);
      break;
    case BELAY_EVENT_SEMAPHORE_LIMIT_SET:
    case BELAY_EVENT_SEMAPHORE_AVAILABLE:
      print_field(event, "limit", BELAY_FIELD_LIMIT);
      print_field(event, "available", BELAY_FIELD_AVAILABLE);
      break;
    default:
      break;
  }
  print_members(event);
}

static void print_failure(const belay_event* event, int32_t status) {
  const char* message = belay_event_message(event);
  print_hex("message", message, (int64_t)strlen(message));
  if (belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS) > 0) {
    print_field(event, "in_doubt", BELAY_FIELD_IN_DOUBT_MS);
  }
  if (belay_event_int(event, BELAY_FIELD_REMAINING_MS) > 0) {
    print_field(event, "remaining", BELAY_FIELD_REMAINING_MS);
  }
  print_reason(event);
  if (status == BELAY_IN_USE) {
    print_field(event, "count", BELAY_FIELD_COUNT);
  }
  if (status == BELAY_STALE_FENCE) {
    print_field(event, "fence", BELAY_FIELD_FENCE);
  }
}

static void reply(int32_t status, const belay_event* event) {
  fputs(belay_status_name(status), stdout);
  if (status == BELAY_OK) {
    print_success(event);
  } else {
    print_failure(event, status);
  }
  putchar('\n');
}

static void reply_bad(const char* what) {
  printf("BAD");
  print_hex("message", what, (int64_t)strlen(what));
  putchar('\n');
}

/* ---- Events ---- */

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int is_news(int32_t kind) {
  return kind == BELAY_EVENT_LOST || kind == BELAY_EVENT_AT_RISK || kind == BELAY_EVENT_RECOVERED;
}

/* Keeps news with the hold they are of. */
static void keep_news(belay_event* event) {
  for (int i = 1; i < LABELS; ++i) {
    if (holds[i].number == belay_event_hold(event) && holds[i].news_count < NEWS) {
      holds[i].news[holds[i].news_count++] = event;
      return;
    }
  }
  belay_event_free(event);
}

static void forget_news(struct hold* hold) {
  for (int i = 0; i < hold->news_count; ++i) {
    belay_event_free(hold->news[i]);
  }
  hold->news_count = 0;
}

static void fill_hold(int index, const belay_event* event) {
  if (index > 0 && belay_event_hold(event) > 0) {
    forget_news(&holds[index]);
    holds[index].number = belay_event_hold(event);
    for (holds[index].names = 0; belay_event_fence(event, holds[index].names) > 0;
         ++holds[index].names) {
    }
  }
}

/* Takes an event and puts it where it belongs. Returns 0 if none came in time, or after the end. */
static int take_event(int64_t timeout_ms) {
  belay_event* event = belay_next(client, timeout_ms > 0 ? timeout_ms : 0);
  int32_t kind = event == NULL ? BELAY_EVENT_END : belay_event_kind(event);
  int64_t tag = event == NULL ? 0 : belay_event_tag(event);
  if (kind == BELAY_EVENT_END) {
    belay_event_free(event);
    return 0;
  }
  if (tag > 0) {
    fill_hold(tasks[tag].hold, event);
    tasks[tag].event = event;
  } else if (is_news(kind)) {
    keep_news(event);
  } else if (kind == BELAY_EVENT_LOG && log_count < 1000) {
    logs[log_count++] = event;
  } else {
    belay_event_free(event);
  }
  return 1;
}

/* Takes events until `*awaited` is something, for `limit_ms` at most. */
#define AWAIT(awaited, limit_ms)                                         \
  do {                                                                   \
    int64_t end = now_ms() + (limit_ms);                                 \
    while (take_event(0)) {                                              \
    }                                                                    \
    while (!(awaited) && now_ms() < end && take_event(end - now_ms())) { \
    }                                                                    \
  } while (0)

/* ---- Calls: each in its blocking form, or submitted with a tag above 0 ---- */

static char buffer[BYTES + 1];

static belay_request* new_request(const struct line* line) {
  const char* kind = word(line, 1);
  int32_t primitive = strcmp(kind, "semaphore") == 0 ? BELAY_SEMAPHORE : BELAY_LOCK;
  belay_request* request = belay_request_new(primitive);
  int64_t size = 0;
  for (const char* hex = word(line, 2); hex != NULL;) {
    hex = decode(hex, buffer, &size);
    if (strcmp(kind, "read") == 0) {
      belay_request_add_shared_name(request, buffer, size);
    } else {
      belay_request_add_name(request, buffer, size);
    }
  }
  if (option(line, "identity") != NULL) {
    decode(option(line, "identity"), buffer, &size);
    belay_request_set_identity(request, buffer, size);
  }
  if (option(line, "permits") != NULL || option(line, "limit") != NULL) {
    belay_request_set_permits(request, number(line, "permits", 1), number(line, "limit", 0));
  }
  if (option(line, "lock_delay") != NULL) {
    belay_request_set_lock_delay_ms(request, number(line, "lock_delay", 0));
  }
  if (option(line, "lease") != NULL) {
    belay_request_set_lease_ms(request, number(line, "lease", 0));
  }
  if (option(line, "max_hold") != NULL) {
    belay_request_set_max_hold_ms(request, number(line, "max_hold", 0));
  }
  if (option(line, "confirmed") != NULL) {
    belay_request_set_confirmed(request, 1);
  }
  belay_request_set_notify(request, 1);
  return request;
}

/* Returns a status, also where the call returns a number or minus a status. */
static int32_t status_of(int64_t result) {
  return result < 0 ? (int32_t)-result : BELAY_OK;
}

static int32_t perform(const belay_request* request, const struct line* line, int64_t tag,
                       belay_event** event) {
  int64_t owner = number(line, "owner", 0);
  int64_t wait_ms = number(line, "wait", -1);
  return tag > 0 ? belay_submit_acquire(client, tag, request, owner, wait_ms)
                 : status_of(belay_acquire(client, request, owner, wait_ms, event));
}

static int32_t acquire(const struct line* line, int64_t tag, belay_event** event) {
  belay_request* request = new_request(line);
  int32_t status = perform(request, line, tag, event);
  belay_request_free(request);
  if (tag > 0) {
    tasks[tag].hold = label(word(line, 0));
  } else {
    fill_hold(label(word(line, 0)), *event);
  }
  return status;
}

static int32_t latch_await(const struct line* line, int64_t tag, belay_event** event) {
  belay_request* request = belay_request_new(BELAY_LATCH);
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  belay_request_add_name(request, buffer, size);
  belay_request_set_generation(request, number(line, "generation", 0));
  int32_t status = perform(request, line, tag, event);
  belay_request_free(request);
  return status;
}

static int32_t release(const struct line* line, int64_t tag, belay_event** event) {
  if (option(line, "nowait") != NULL) {
    return belay_release_nowait(client, hold_of(line));
  }
  if (tag > 0) {
    return belay_submit_release(client, tag, hold_of(line));
  }
  *event = belay_release_within(client, OWN_TAG, hold_of(line),
                                -1); /* unlike belay_release it gives the details */
  return belay_event_status(*event);
}

static int32_t extend(const struct line* line, int64_t tag, belay_event** event) {
  int64_t lease_ms = number(line, "lease", 0);
  return tag > 0 ? belay_submit_extend(client, tag, hold_of(line), lease_ms)
                 : belay_extend(client, hold_of(line), lease_ms, event);
}

static int32_t downgrade(const struct line* line, int64_t tag, belay_event** event) {
  return tag > 0 ? belay_submit_downgrade(client, tag, hold_of(line))
                 : belay_downgrade(client, hold_of(line), event);
}

static int32_t verify(const struct line* line, int64_t tag, belay_event** event) {
  return tag > 0 ? belay_submit_verify(client, tag, hold_of(line))
                 : belay_verify(client, hold_of(line), event);
}

static int32_t ping(const struct line* line, int64_t tag, belay_event** event) {
  (void)line;
  return tag > 0 ? belay_submit_ping(client, tag) : belay_client_ping(client, event);
}

static int32_t metrics(const struct line* line, int64_t tag, belay_event** event) {
  (void)line;
  (void)tag;
  return belay_client_metrics(client, event);
}

static int32_t inspect(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  return tag > 0 ? belay_submit_inspect(client, tag, buffer, size)
                 : belay_inspect(client, buffer, size, event);
}

static int32_t break_name(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  int64_t fence = number(line, "fence", 0);
  return tag > 0 ? belay_submit_break(client, tag, buffer, size, fence)
                 : belay_break(client, buffer, size, fence, event);
}

static int32_t list(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  int64_t limit = number(line, "limit", 0);
  return tag > 0 ? belay_submit_list(client, tag, buffer, size, limit)
                 : belay_list(client, buffer, size, limit, event);
}

static int32_t fenced_write(const struct line* line, int64_t tag, belay_event** event) {
  belay_words* words = belay_words_new();
  int64_t size = 0;
  for (const char* hex = word(line, 1); hex != NULL;) {
    hex = decode(hex, buffer, &size);
    belay_words_add(words, buffer, size);
  }
  decode(word(line, 0), buffer, &size);
  int64_t fence = number(line, "fence", 0);
  int32_t status = tag > 0
                       ? belay_submit_fenced_write_words(client, tag, buffer, size, fence, words)
                       : belay_fenced_write_words(client, buffer, size, fence, words, event);
  belay_words_free(words);
  return status;
}

static int32_t set_limit(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  int64_t limit = number(line, "limit", 0);
  return tag > 0 ? belay_submit_semaphore_set_limit(client, tag, buffer, size, limit)
                 : belay_semaphore_set_limit(client, buffer, size, limit, event);
}

static int32_t available(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  return tag > 0 ? belay_submit_semaphore_available(client, tag, buffer, size)
                 : status_of(belay_semaphore_available(client, buffer, size, event));
}

static int32_t latch_set(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  int64_t count = number(line, "count", 0);
  int64_t ttl_ms = number(line, "ttl", 0);
  return tag > 0 ? belay_submit_latch_set(client, tag, buffer, size, count, ttl_ms)
                 : status_of(belay_latch_set(client, buffer, size, count, ttl_ms, event));
}

static int32_t latch_count_down(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  int64_t n = number(line, "n", 0);
  return tag > 0 ? belay_submit_latch_count_down(client, tag, buffer, size, n)
                 : status_of(belay_latch_count_down(client, buffer, size, n, event));
}

static int32_t latch_count(const struct line* line, int64_t tag, belay_event** event) {
  int64_t size = 0;
  decode(word(line, 0), buffer, &size);
  return tag > 0 ? belay_submit_latch_count(client, tag, buffer, size)
                 : status_of(belay_latch_count(client, buffer, size, event));
}

static int32_t abandon(const struct line* line, int64_t tag, belay_event** event) {
  (void)tag;
  (void)event;
  return belay_hold_abandon(client, hold_of(line));
}

typedef int32_t call_function(const struct line* line, int64_t tag, belay_event** event);

static const struct {
  const char* verb;
  call_function* function;
} calls[] = {
    {"acquire", acquire},
    {"release", release},
    {"abandon", abandon},
    {"extend", extend},
    {"downgrade", downgrade},
    {"verify", verify},
    {"ping", ping},
    {"metrics", metrics},
    {"inspect", inspect},
    {"break", break_name},
    {"list", list},
    {"fenced_write", fenced_write},
    {"set_limit", set_limit},
    {"available", available},
    {"latch_set", latch_set},
    {"latch_count_down", latch_count_down},
    {"latch_count", latch_count},
    {"latch_await", latch_await},
};

static call_function* find_call(const char* verb) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].verb, verb) == 0) {
      return calls[i].function;
    }
  }
  return NULL;
}

static void do_call(const struct line* line) {
  call_function* call = find_call(line->verb);
  if (call == NULL) {
    reply_bad(line->verb);
    return;
  }
  belay_event* event = NULL;
  int32_t status = call(line, 0, &event);
  reply(status, event);
  belay_event_free(event);
}

/* ---- Verbs of the agent's own ---- */

static void do_supports(const struct line* line) {
  (void)line;
  puts("OK");
}

/* Frees a closed client, and forgets what it had. */
static void forget_client(void) {
  belay_client_free(client);
  client = NULL;
  belay_options_free(made_with);
  made_with = NULL;
  for (int i = 0; i < LABELS; ++i) {
    forget_news(&holds[i]);
    belay_event_free(tasks[i].event);
  }
  for (int i = 0; i < log_count; ++i) {
    belay_event_free(logs[i]);
  }
  memset(holds, 0, sizeof holds);
  memset(tasks, 0, sizeof tasks);
  log_count = 0;
}

static int32_t set_options(const struct line* line) {
  int32_t status = BELAY_OK;
  for (int i = 0; i < line->option_count && status == BELAY_OK; ++i) {
    char* value = strchr(line->options[i], '=');
    *value = '\0';
    status = belay_options_set(made_with, line->options[i], value + 1);
  }
  return status;
}

static void reply_to_options(int32_t status) {
  const char* error = belay_options_error(made_with);
  fputs(belay_status_name(status), stdout);
  print_hex("message", error, (int64_t)strlen(error));
  putchar('\n');
}

static void do_open(const struct line* line) {
  forget_client();
  made_with = belay_options_new();
  int32_t status = set_options(line);
  client = belay_client_new(made_with);
  if (client == NULL && status == BELAY_OK) {
    status = BELAY_INVALID_ARGUMENT;
  }
  reply_to_options(status);
}

static void do_change(const struct line* line) {
  reply_to_options(set_options(line));
}

static void do_close(const struct line* line) {
  (void)line;
  reply(belay_client_shutdown(client), NULL);
  while (take_event(0)) {
  }
}

static void do_id(const struct line* line) {
  (void)line;
  printf("OK id=%s\n", belay_client_id(client));
}

static void do_hold(const struct line* line) {
  static const char* const states[] = {"", "HELD", "AT_RISK", "LOST"};
  struct hold* hold = &holds[label(word(line, 0))];
  int64_t state = belay_hold_state(client, hold->number);
  if (state < 0) {
    reply(status_of(state), NULL);
    return;
  }
  printf("OK state=%s remaining=%" PRId64, states[state],
         belay_hold_remaining_ms(client, hold->number));
  for (int32_t i = 0; i < hold->names; ++i) {
    printf("%s%" PRId64, i == 0 ? " fence=" : ",", belay_hold_fence(client, hold->number, i));
  }
  putchar('\n');
}

/* Takes the oldest of `events` out; NULL if there is none. */
static belay_event* take_first(belay_event** events, int* count) {
  belay_event* first = *count > 0 ? events[0] : NULL;
  if (first != NULL) {
    memmove(events, events + 1, (size_t)-- * count * sizeof *events);
  }
  return first;
}

static void do_news(const struct line* line) {
  struct hold* hold = &holds[label(word(line, 0))];
  AWAIT(hold->news_count > 0, number(line, "limit", 0));
  belay_event* event = take_first(hold->news, &hold->news_count);
  printf("OK");
  if (event != NULL) {
    int32_t kind = belay_event_kind(event);
    printf(" news=%s", kind == BELAY_EVENT_LOST      ? "LOST"
                       : kind == BELAY_EVENT_AT_RISK ? "AT_RISK"
                                                     : "RECOVERED");
    print_reason(event);
  }
  putchar('\n');
  belay_event_free(event);
}

static void do_log(const struct line* line) {
  AWAIT(log_count > 0, number(line, "limit", 0));
  belay_event* event = take_first(logs, &log_count);
  printf("OK");
  if (event != NULL) {
    const char* message = belay_event_message(event);
    printf(" level=%s", levels[belay_event_int(event, BELAY_FIELD_LEVEL)]);
    print_hex("message", message, (int64_t)strlen(message));
  }
  putchar('\n');
  belay_event_free(event);
}

/* The request within `start TASK REQUEST` or `fork REQUEST`. */
static struct line inner_line(const struct line* line, int skipped) {
  struct line inner = *line;
  inner.verb = (char*)word(line, skipped);
  inner.word_count = 0;
  for (int i = skipped + 1; i < line->word_count; ++i) {
    inner.words[inner.word_count++] = line->words[i];
  }
  return inner;
}

/* The answer of a task that has no event: the status of its call. */
static int32_t refusals[LABELS];

static void do_start(const struct line* line) {
  struct line inner = inner_line(line, 1);
  call_function* call = find_call(inner.verb);
  int tag = label(word(line, 0));
  if (call == NULL || tag == 0) {
    reply_bad(inner.verb);
    return;
  }
  belay_event_free(tasks[tag].event);
  memset(&tasks[tag], 0, sizeof tasks[tag]);
  refusals[tag] = call(&inner, tag, NULL);
  puts("OK");
}

static void do_await(const struct line* line) {
  int tag = label(word(line, 0));
  if (refusals[tag] != BELAY_OK) {
    reply(refusals[tag], NULL);
    return;
  }
  AWAIT(tasks[tag].event != NULL, number(line, "limit", 0));
  if (tasks[tag].event == NULL) {
    puts("PENDING");
    return;
  }
  reply(belay_event_status(tasks[tag].event), tasks[tag].event);
}

static void do_cancel(const struct line* line) {
  reply(belay_cancel(client, label(word(line, 0))), NULL);
}

static void do_fork(const struct line* line) {
  struct line inner = inner_line(line, 0);
  pid_t child = fork();
  if (child == 0) {
    do_call(&inner);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static const struct {
  const char* verb;
  void (*function)(const struct line* line);
} verbs[] = {
    {"supports", do_supports}, {"open", do_open},     {"change", do_change},
    {"close", do_close},       {"id", do_id},         {"hold", do_hold},
    {"news", do_news},         {"log", do_log},       {"start", do_start},
    {"await", do_await},       {"cancel", do_cancel}, {"fork", do_fork},
};

static struct line parse(char* text) {
  struct line line = {.verb = strtok(text, " \n")};
  for (char* word = strtok(NULL, " \n"); word != NULL; word = strtok(NULL, " \n")) {
    if (strchr(word, '=') != NULL && line.option_count < WORDS) {
      line.options[line.option_count++] = word;
    } else if (line.word_count < WORDS) {
      line.words[line.word_count++] = word;
    }
  }
  return line;
}

static void serve(const struct line* line) {
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; ++i) {
    if (strcmp(verbs[i].verb, line->verb) == 0) {
      verbs[i].function(line);
      return;
    }
  }
  do_call(line);
}

int main(void) {
  static char text[4 * BYTES];
  while (fgets(text, sizeof text, stdin) != NULL) {
    struct line line = parse(text);
    if (line.verb != NULL) {
      serve(&line);
    }
    fflush(stdout);
  }
  forget_client();
  return 0;
}
