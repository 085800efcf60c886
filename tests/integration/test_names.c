// Odd names on every kind of object but the plain lock, whose names are in test_queries.c: all of
// them are in use at once, are waited for, listed, and named by what is said about them. What is no
// name is refused in test_misuse.c.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

typedef struct Name {
  const char* bytes;
  int64_t size;
} Name;

#define NAME(text) \
  { (text), sizeof(text) - 1 }
#define FOUR_OF(text) text text text text
#define LONGEST(byte) FOUR_OF(FOUR_OF(FOUR_OF(FOUR_OF(FOUR_OF(byte)))))

static const Name kOdd[] = {
    NAME("x"),
    NAME(" "),
    NAME("two words "),
    NAME("line\nbreak\r\n"),
    NAME("\n"),
    NAME("{}"),
    NAME("{a"),
    NAME("}{"),
    NAME("a}b"),
    NAME("{a}"),
    NAME("a"),
    NAME("user{42}:cart"),
    NAME("user{42}:{}"),
    NAME("{}{42}"),
    NAME("100%"),
    NAME("%25%7D"),
    NAME("%s%n"),
    NAME("'quoted\" \\"),
    NAME("belay:r:{a}"),
    NAME("*[x]?"),
    NAME("Z\xc3\xbcrich \xe2\x80\xae \xf0\x9f\x94\x92"),
    NAME("\xff\xfe\x80"),
    NAME("\xc3"),
    NAME("\0"),
    NAME("nul\0inside"),
    NAME("nul\0"),
    NAME(LONGEST("}")),
    NAME(LONGEST("\xff")),
    NAME(LONGEST("\0")),
};

enum { kCount = sizeof kOdd / sizeof kOdd[0] };

#define OF(i) .name = kOdd[i].bytes, .name_size = kOdd[i].size

static int64_t members_of(belay_client* client, const Name* name, int32_t role) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_inspect(client, name->bytes, name->size, &event));
  int64_t count = 0;
  for (int32_t i = 0; i < belay_event_int(event, BELAY_FIELD_MEMBERS); ++i) {
    count += belay_event_member_int(event, i, BELAY_MEMBER_ROLE) == role;
  }
  belay_event_free(event);
  return count;
}

static bool is_listed(const belay_event* event, const Name* name) {
  for (int32_t i = 0; i < belay_event_int(event, BELAY_FIELD_MEMBERS); ++i) {
    int64_t size = 0;
    const char* found = belay_event_member_text(event, i, BELAY_MEMBER_NAME, &size);
    if (size == name->size && memcmp(found, name->bytes, (size_t)size) == 0) {
      return true;
    }
  }
  return false;
}

// These names are in use, and nothing else is.
static void check_listed(belay_client* client) {
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_list(client, "*", -1, 10 * kCount, &event));
  CHECK_INT(kCount, belay_event_int(event, BELAY_FIELD_MEMBERS));
  for (int i = 0; i < kCount; ++i) {
    CHECK(is_listed(event, &kOdd[i]));
  }
  belay_event_free(event);
}

// Lets the client wait for a name that is in use.
static void wait_for(belay_client* client, int64_t tag, const RequestSetup* setup) {
  const Name name = {setup->name, setup->name_size};
  CHECK_STATUS(BELAY_OK, submit_as(client, tag, -1, setup));
  EVENTUALLY(members_of(client, &name, BELAY_ROLE_WAITER) == 1);
}

#define WAIT_FOR(client, tag, ...) wait_for((client), (tag), &(const RequestSetup){__VA_ARGS__})

static bool is_acquired(const belay_event* event) {
  return belay_event_kind(event) == BELAY_EVENT_ACQUIRED;
}

// The end of a wait, which must be there soon: a message has brought it, as no poll has. On a busy
// machine what was handed over may end before it is confirmed: events of that are passed over.
static int64_t take_end_soon(belay_client* client, int64_t tag, int32_t status) {
  const int64_t start = now_ms();
  belay_event* event = belay_next(client, scaled(kLimitMs));
  while (event != NULL && !is_acquired(event)) {
    belay_event_free(event);
    event = belay_next(client, scaled(kLimitMs));
  }
  CHECK(event != NULL && now_ms() - start < scaled(kLessThanAPollMs));
  CHECK_INT(tag, belay_event_tag(event));
  CHECK_STATUS(status, belay_event_status(event));
  return event_end(event);
}

// Takes what a wait was for, and gives it back for good, also where it has ended by itself; the
// others who hold the name stay.
static void pass_on(belay_client* client, int64_t tag, const Name* name, int64_t others) {
  const int32_t status = belay_release(client, take_end_soon(client, tag, BELAY_OK));
  CHECK(status == BELAY_OK || status == BELAY_LOST || status == BELAY_UNAVAILABLE);
  EVENTUALLY(members_of(client, name, BELAY_ROLE_HOLDER) == others);
}

// What a line for people has of a name: as \xNN control bytes, and all that are beyond ASCII where
// some are no UTF-8 (of these names all are, or none).
static const char* in_a_line(const Name* name) {
  static char text[4 * 1024 + 3];
  char* end = text;
  const bool garbled = name->bytes[name->size - 1] == '\xc3' ||
                       memchr(name->bytes, 0xff, (size_t)name->size) != NULL;
  *end++ = '\'';
  for (int64_t i = 0; i < name->size; ++i) {
    const unsigned char byte = (unsigned char)name->bytes[i];
    end += snprintf(
        end, 5, byte < 0x20 || byte == 0x7f || (byte > 0x7f && garbled) ? "\\x%02x" : "%c", byte);
  }
  strcpy(end, "'");
  return text;
}

// ---- Each kind

static void test_read_write_locks(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  belay_client* writer = CLIENT(.url = server->url);
  int64_t read[2][kCount];
  for (int i = 0; i < kCount; ++i) {
    read[0][i] = GRANTED(ACQUIRE(one, 0, OF(i), .shared = true));
  }
  for (int i = 0; i < kCount; ++i) {
    read[1][i] = GRANTED(ACQUIRE(two, 0, OF(i), .shared = true));
    CHECK_INT(2, members_of(two, &kOdd[i], BELAY_ROLE_HOLDER));
    REFUSED(BELAY_BUSY, ACQUIRE(writer, 0, OF(i)));
  }
  check_listed(writer);
  for (int i = 0; i < kCount; ++i) {
    WAIT_FOR(writer, i + 1, OF(i));
    CHECK_STATUS(BELAY_OK, belay_release(one, read[0][i]));
    CHECK_STATUS(BELAY_OK, belay_release(two, read[1][i]));
    pass_on(writer, i + 1, &kOdd[i], 0);
    const int64_t written = GRANTED(ACQUIRE(writer, 0, OF(i)));
    REFUSED(BELAY_BUSY, ACQUIRE(one, 0, OF(i), .shared = true));
    CHECK_STATUS(BELAY_OK, belay_downgrade(writer, written, NULL));
    GRANTED(ACQUIRE(one, 0, OF(i), .shared = true));
  }
  check_listed(one);
  belay_client_free(one);
  belay_client_free(two);
  belay_client_free(writer);
}

// An identity is any bytes, too: each of these is another one.
static const Name kIdentities[] = {NAME("i"),
                                   NAME("r"),
                                   NAME(" "),
                                   NAME("i\n"),
                                   NAME("}"),
                                   NAME("%"),
                                   NAME("\0"),
                                   NAME("i\0"),
                                   NAME("\xff\xfe"),
                                   NAME("\xf0\x9f\x94\x92"),
                                   NAME(FOUR_OF(FOUR_OF(FOUR_OF(FOUR_OF("\0")))))};

enum { kIdentityCount = sizeof kIdentities / sizeof kIdentities[0] };

#define WITH(i) .identity = kIdentities[i].bytes, .identity_size = kIdentities[i].size

static void test_identities(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  for (int i = 0; i < kCount; ++i) {
    const int mine = i % kIdentityCount;
    const int64_t hold = GRANTED(ACQUIRE(one, 0, OF(i), WITH(mine)));
    CHECK_STATUS(BELAY_OK, belay_release(two, GRANTED(ACQUIRE(two, 0, OF(i), WITH(mine)))));
    for (int other = 0; other < kIdentityCount; ++other) {
      if (other != mine) {
        REFUSED(BELAY_BUSY, ACQUIRE(two, 0, OF(i), WITH(other)));
      }
    }
    REFUSED(BELAY_BUSY, ACQUIRE(two, 0, OF(i), .shared = true));
    WAIT_FOR(two, i + 1, OF(i), WITH((mine + 1) % kIdentityCount));
    CHECK_STATUS(BELAY_OK, belay_release(one, hold));
    pass_on(two, i + 1, &kOdd[i], 0);
    GRANTED(ACQUIRE(one, 0, OF(i), WITH(mine)));
    GRANTED(ACQUIRE(two, 0, OF(i), WITH(mine)));
    CHECK_INT(2, members_of(one, &kOdd[i], BELAY_ROLE_HOLDER));
  }
  check_listed(one);
  belay_client_free(one);
  belay_client_free(two);
}

#define PERMITS(i, count, of) OF(i), .primitive = BELAY_SEMAPHORE, .permits = (count), .limit = (of)

// The size of each is its limit, so that what is said of one is not true of another.
static void test_semaphores(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  for (int i = 0; i < kCount; ++i) {
    GRANTED(ACQUIRE(one, 0, PERMITS(i, i + 1, i + 1)));
  }
  check_listed(two);
  for (int i = 0; i < kCount; ++i) {
    const Name* name = &kOdd[i];
    REFUSED(BELAY_BUSY, ACQUIRE(two, 0, PERMITS(i, 1, i + 1)));
    REFUSED(BELAY_LIMIT_DIFFERS, ACQUIRE(two, 0, PERMITS(i, 1, i + 2)));
    WAIT_FOR(two, i + 1, PERMITS(i, 1, 0));
    CHECK_STATUS(BELAY_OK, belay_semaphore_set_limit(one, name->bytes, name->size, i + 3, NULL));
    pass_on(two, i + 1, name, 1);
    const int64_t hold = GRANTED(ACQUIRE(two, 0, PERMITS(i, 1, 0)));
    belay_event* event = NULL;
    CHECK_INT(1, belay_semaphore_available(two, name->bytes, name->size, &event));
    CHECK_INT(i + 3, belay_event_int(event, BELAY_FIELD_LIMIT));
    belay_event_free(event);
    CHECK_STATUS(BELAY_OK, belay_break(one, name->bytes, name->size, 0, &event));
    CHECK_INT(2, belay_event_int(event, BELAY_FIELD_MEMBERS));
    belay_event_free(event);
    EVENTUALLY(belay_hold_state(two, hold) == BELAY_HOLD_LOST);
    CHECK_INT(i + 3, belay_semaphore_available(two, name->bytes, name->size, NULL));
  }
  belay_client_free(one);
  belay_client_free(two);
}

static void test_latches(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  for (int i = 0; i < kCount; ++i) {
    belay_event* event = NULL;
    REFUSED(BELAY_NOT_FOUND, belay_latch_count(one, kOdd[i].bytes, kOdd[i].size, &event));
    CHECK_TEXT(in_a_line(&kOdd[i]), belay_event_message(event));
    belay_event_free(event);
    CHECK(belay_latch_set(one, kOdd[i].bytes, kOdd[i].size, i + 2, 0, NULL) > 0);
  }
  check_listed(two);
  for (int i = 0; i < kCount; ++i) {
    const Name* name = &kOdd[i];
    CHECK_INT(i + 2, belay_latch_count(two, name->bytes, name->size, NULL));
    WAIT_FOR(two, i + 1, OF(i), .primitive = BELAY_LATCH);
    CHECK_INT(1, belay_latch_count_down(one, name->bytes, name->size, i + 1, NULL));
    CHECK(belay_next(two, 0) == NULL);
    CHECK_INT(0, belay_latch_count_down(one, name->bytes, name->size, 1, NULL));
    take_end_soon(two, i + 1, BELAY_OK);
    CHECK(belay_latch_set(one, name->bytes, name->size, 1, 0, NULL) > 0);
    WAIT_FOR(two, i + 1, OF(i), .primitive = BELAY_LATCH);
    CHECK_STATUS(BELAY_OK, belay_break(one, name->bytes, name->size, 0, NULL));
    take_end_soon(two, i + 1, BELAY_NOT_FOUND);
  }
  belay_client_free(one);
  belay_client_free(two);
}

// ---- Several at once

// A request for all of them, from the first on or from the last.
static belay_request* request_for_all(bool backwards) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  for (int i = 0; i < kCount; ++i) {
    const Name* name = &kOdd[backwards ? kCount - 1 - i : i];
    CHECK_STATUS(BELAY_OK, belay_request_add_name(request, name->bytes, name->size));
  }
  return request;
}

static void test_sets(Server* server) {
  belay_client* one = CLIENT(.url = server->url);
  belay_client* two = CLIENT(.url = server->url);
  belay_request* forwards = request_for_all(false);
  belay_request* backwards = request_for_all(true);
  int64_t fences[kCount];
  const int64_t first = GRANTED(belay_acquire(one, forwards, 0, 0, NULL));
  check_listed(two);
  for (int i = 0; i < kCount; ++i) {
    fences[i] = belay_hold_fence(one, first, i);
    REFUSED(BELAY_BUSY, ACQUIRE(two, 0, OF(i)));
  }
  CHECK_STATUS(BELAY_OK, belay_submit_acquire(two, 1, backwards, 0, -1));
  const Name least = NAME("\0");
  EVENTUALLY(members_of(one, &least, BELAY_ROLE_WAITER) == 1);
  CHECK_STATUS(BELAY_OK, belay_release(one, first));
  pass_on(two, 1, &least, 0);
  const int64_t second = GRANTED(belay_acquire(two, backwards, 0, -1, NULL));
  for (int i = 0; i < kCount; ++i) {
    CHECK(belay_hold_fence(two, second, kCount - 1 - i) > fences[i]);
  }
  CHECK_STATUS(BELAY_OK, belay_break(one, "line\nbreak\r\n", 12, 0, NULL));
  EVENTUALLY(belay_hold_state(two, second) == BELAY_HOLD_LOST);
  belay_event* why = NULL;
  CHECK_STATUS(BELAY_LOST, release_why(two, second, &why));
  CHECK_TEXT("'line\\x0abreak\\x0d\\x0a'", belay_event_message(why));
  belay_event_free(why);
  for (int i = 0; i < kCount; ++i) {
    EVENTUALLY(members_of(one, &kOdd[i], BELAY_ROLE_HOLDER) == 0);
  }
  belay_request_free(forwards);
  belay_request_free(backwards);
  belay_client_free(one);
  belay_client_free(two);
}

// ---- Keys of fenced writes

static void test_keys(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  for (int i = 0; i < kCount; ++i) {
    const char* const words[] = {"SET", kOdd[i].bytes};
    const int64_t sizes[] = {-1, kOdd[i].size};
    CHECK_STATUS(BELAY_OK,
                 belay_fenced_write(client, kOdd[i].bytes, kOdd[i].size, 7, 2, words, sizes, NULL));
  }
  CHECK_INT(2 * kCount, atoll(server_ask(server, "DBSIZE", NULL)));  // each with its fence
  for (int i = 0; i < kCount; ++i) {
    const Name* key = &kOdd[i];
    if (strlen(key->bytes) == (size_t)key->size) {
      CHECK(strcmp(key->bytes, server_ask(server, "GET", key->bytes, NULL)) == 0);
    }
    const char* const taking[] = {"GETDEL"};
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_STALE_FENCE,
                 belay_fenced_write(client, key->bytes, key->size, 6, 1, taking, NULL, &event));
    CHECK_TEXT(in_a_line(key), belay_event_message(event));
    belay_event_free(event);
    CHECK_STATUS(BELAY_OK,
                 belay_fenced_write(client, key->bytes, key->size, 7, 1, taking, NULL, &event));
    int64_t size = 0;
    const char* text = belay_event_text(event, &size);
    CHECK(size == key->size && memcmp(text, key->bytes, (size_t)size) == 0);
    belay_event_free(event);
  }
  belay_client_free(client);
}

const Test name_tests[] = {
    {"Read-write locks of odd names are apart, listed, and wake who waits", test_read_write_locks},
    {"Odd identities on odd names share with their like only", test_identities},
    {"Semaphores of odd names are apart, listed, and wake who waits", test_semaphores},
    {"Latches of odd names are apart, listed, named, and wake who waits", test_latches},
    {"Several odd names are acquired at once, and the lost one is named", test_sets},
    {"Odd keys are written under fences of their own", test_keys},
    {NULL, NULL},
};
