/* The words for the numbers of events. Made by bindings/swig/generate.py from belay.h: do not edit. */
#ifndef BELAY_LUA_WORDS_H
#define BELAY_LUA_WORDS_H

static const char* const class_words[] = {
    [0] = "OK",
    [1] = "RETRY",
    [2] = "REFUSED",
    [3] = "MISUSE",
    [4] = "GONE",
};

static const char* const reason_words[] = {
    [1] = "LEASE_ENDED",
    [2] = "NOT_RENEWED",
    [3] = "GONE",
    [4] = "BROKEN",
    [5] = "MAX_HOLD",
    [6] = "CLOSED",
};

static const char* const kind_words[] = {
    [1] = "acquired",
    [2] = "released",
    [3] = "extended",
    [4] = "verified",
    [5] = "inspected",
    [6] = "broken",
    [7] = "listed",
    [8] = "pinged",
    [9] = "written",
    [10] = "latch_set",
    [11] = "latch_counted_down",
    [12] = "latch_count",
    [13] = "downgraded",
    [14] = "semaphore_limit_set",
    [15] = "semaphore_available",
    [16] = "metrics",
    [20] = "lost",
    [21] = "at_risk",
    [22] = "recovered",
    [23] = "log",
    [30] = "end",
};

static const char* const level_words[] = {
    [0] = "none",
    [1] = "error",
    [2] = "warning",
    [3] = "info",
    [4] = "debug",
};

static const char* const primitive_words[] = {
    [1] = "lock",
    [2] = "semaphore",
    [3] = "latch",
};

static const char* const role_words[] = {
    [1] = "holder",
    [2] = "waiter",
    [3] = "name",
    [4] = "metric",
};

#endif
