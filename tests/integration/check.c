#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned char* seen;

int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t scaled(int64_t ms) {
  const char* text = getenv("BELAY_TEST_SCALE");
  const double scale = text == NULL ? 1.0 : atof(text);
  return scale > 0 ? (int64_t)((double)ms * scale) : ms;
}

void nap(void) {
  const struct timespec moment = {0, 1000000};
  nanosleep(&moment, NULL);
}

void share_seen(void) {
  void* memory = mmap(NULL, (size_t)kSeenWhats * kSeenSize, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    FAIL("no shared memory");
  }
  seen = memory;
}

bool was_seen(Seen what, int32_t number) {
  return number >= 0 && number < kSeenSize && seen[what * kSeenSize + number] != 0;
}

static void note(Seen what, int64_t number) {
  if (seen != NULL && number >= 0 && number < kSeenSize) {
    // Threads note the same one.
    __atomic_store_n(&seen[what * kSeenSize + number], 1, __ATOMIC_RELAXED);
  }
}

static void note_member(const belay_event* event, int32_t index) {
  for (int32_t field = 0; field < kSeenSize; ++field) {
    int64_t size = 0;
    belay_event_member_text(event, index, field, &size);
    if (size != 0 || belay_event_member_int(event, index, field) != 0) {
      note(kSeenMember, field);
    }
  }
}

void note_and_free(belay_event* event) {
  int64_t values[kSeenSize];
  belay_event_read(event, values, kSeenSize);
  for (int32_t field = 0; field < kSeenSize && event != NULL; ++field) {
    if (values[field] != 0) {
      note(kSeenField, field);
    }
  }
  note(kSeenKind, values[BELAY_FIELD_KIND]);
  note(kSeenReason, values[BELAY_FIELD_REASON]);
  for (int32_t i = 0; i < values[BELAY_FIELD_MEMBERS]; ++i) {
    note_member(event, i);
  }
  (belay_event_free)(event);
}

void fail_check(const char* file, int line, const char* format, ...) {
  char text[2048];
  const int size = snprintf(text, sizeof text, "  %s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + size, sizeof text - (size_t)size - 2, format, arguments);
  va_end(arguments);
  strcat(text, "\n");
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) {
    abort();
  }
  _exit(kCheckFailed);
}

void check_int(const char* file, int line, const char* text, int64_t expected, int64_t actual) {
  if (expected != actual) {
    fail_check(file, line, "%s was %lld, not %lld", text, (long long)actual, (long long)expected);
  }
}

void check_text(const char* file, int line, const char* text, const char* part, const char* whole) {
  if (strstr(whole, part) == NULL) {
    fail_check(file, line, "%s was '%s', without '%s'", text, whole, part);
  }
}

void check_status(const char* file, int line, const char* text, int32_t expected, int32_t actual) {
  if (expected != actual) {
    fail_check(file, line, "%s answered %d %s, not %s", text, actual, belay_status_name(actual),
               belay_status_name(expected));
  }
  note(kSeenStatus, actual);
}

int64_t check_granted(const char* file, int line, const char* text, int64_t hold) {
  if (hold <= 0) {
    fail_check(file, line, "%s answered %s, no hold", text, belay_status_name((int32_t)-hold));
  }
  return hold;
}

void check_refused(const char* file, int line, const char* text, int32_t expected, int64_t actual) {
  if (actual > 0) {
    fail_check(file, line, "%s answered hold %lld, not %s", text, (long long)actual,
               belay_status_name(expected));
  }
  check_status(file, line, text, expected, (int32_t)-actual);
}
