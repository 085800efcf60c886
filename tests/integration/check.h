// Assertions and waiting. A check that fails says where and ends the process; the driver, or the
// test that started the process, sees that. A wait polls until its limit, which BELAY_TEST_SCALE
// multiplies. Every status that a check expected and got is noted for the driver.
#pragma once

#include <belay/belay.h>
#include <stdbool.h>
#include <stdint.h>

// How a process ends whose check has failed: otherwise than by a crash or a sanitizer's report.
enum { kCheckFailed = 99 };

// How long anything may take that happens sooner or later, before scaling.
enum { kLimitMs = 20000 };

// Milliseconds of the monotonic clock.
int64_t now_ms(void);
// `ms` times BELAY_TEST_SCALE.
int64_t scaled(int64_t ms);
// Gives others the processor for about a millisecond.
void nap(void);

// What was seen of the header: statuses, and of every event that a test frees its kind, its reason,
// its fields and its members' fields other than 0 and "". The driver shares it among all processes.
typedef enum Seen { kSeenKind, kSeenReason, kSeenField, kSeenMember, kSeenStatus, kSeenWhats } Seen;

enum { kSeenSize = 128 };

void share_seen(void);
bool was_seen(Seen what, int32_t number);
void note_and_free(belay_event* event);
#define belay_event_free(event) note_and_free(event)

_Noreturn void fail_check(const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
void check_int(const char* file, int line, const char* text, int64_t expected, int64_t actual);
void check_text(const char* file, int line, const char* text, const char* part, const char* whole);
void check_status(const char* file, int line, const char* text, int32_t expected, int32_t actual);
int64_t check_granted(const char* file, int line, const char* text, int64_t hold);
void check_refused(const char* file, int line, const char* text, int32_t expected, int64_t actual);

#define FAIL(...) fail_check(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition) ((condition) ? (void)0 : FAIL("not so: %s", #condition))
#define CHECK_INT(expected, actual) check_int(__FILE__, __LINE__, #actual, (expected), (actual))
// `whole` contains `part`.
#define CHECK_TEXT(part, whole) check_text(__FILE__, __LINE__, #whole, (part), (whole))
// The call answers this status.
#define CHECK_STATUS(expected, call) check_status(__FILE__, __LINE__, #call, (expected), (call))
// The blocking acquire returns a hold, which is the value; or minus this status.
#define GRANTED(call) check_granted(__FILE__, __LINE__, #call, (call))
#define REFUSED(expected, call) check_refused(__FILE__, __LINE__, #call, (expected), (call))

// Waits until the condition is so.
#define EVENTUALLY(condition)                                                       \
  do {                                                                              \
    const int64_t give_up_at_ = now_ms() + scaled(kLimitMs);                        \
    while (!(condition)) {                                                          \
      if (now_ms() > give_up_at_) {                                                 \
        FAIL("not so within %lld ms: %s", (long long)scaled(kLimitMs), #condition); \
      }                                                                             \
      nap();                                                                        \
    }                                                                               \
  } while (0)

// The condition stays so for a while, which is not scaled: no slow machine needs it to be longer.
#define STAYS(duration_ms, condition)                    \
  do {                                                   \
    const int64_t enough_at_ = now_ms() + (duration_ms); \
    while (now_ms() < enough_at_) {                      \
      CHECK(condition);                                  \
      nap();                                             \
    }                                                    \
  } while (0)
