// Fenced writes: what a holder that came too late must not spoil.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"
#include "support.h"

enum { kMostWords = 8 };

// One write of NUL-terminated words, up to NULL, after which `result` is what came of it.
static int32_t write_words(belay_client* client, int64_t fence, const char* const* words,
                           belay_event** result) {
  int32_t count = 0;
  while (words[count] != NULL) {
    ++count;
  }
  return belay_fenced_write(client, "order", -1, fence, count, words, NULL, result);
}

#define WRITE(client, fence, result, ...) \
  write_words((client), (fence), (const char* const[kMostWords]){__VA_ARGS__}, (result))

static void check_data(const Server* server, const char* expected) {
  const char* actual = server_ask(server, "GET", "order", NULL);
  if (strcmp(expected, actual) != 0) {
    FAIL("the key holds '%s', not '%s'", actual, expected);
  }
}

static void test_stale(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int64_t older = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t old_fence = belay_hold_fence(client, older, 0);
  CHECK_STATUS(BELAY_OK, WRITE(client, old_fence, NULL, "SET", "by the old one"));
  CHECK_STATUS(BELAY_OK, belay_release(client, older));
  const int64_t newer = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  const int64_t new_fence = belay_hold_fence(client, newer, 0);
  CHECK(new_fence > old_fence);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, WRITE(client, new_fence, &event, "SET", "by the new one", "PX", "600000"));
  CHECK_INT(BELAY_EVENT_WRITTEN, belay_event_kind(event));
  CHECK_INT(new_fence, belay_event_fence(event, 0));
  CHECK_TEXT("OK", belay_event_text(event, NULL));
  belay_event_free(event);
  CHECK_STATUS(BELAY_STALE_FENCE, WRITE(client, old_fence, &event, "SET", "too late"));
  CHECK_INT(BELAY_CLASS_GONE, belay_status_class(belay_event_status(event)));
  CHECK_INT(new_fence, belay_event_fence(event, 0));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS));
  CHECK_TEXT("'order'", belay_event_message(event));
  belay_event_free(event);
  check_data(server, "by the new one");
  CHECK(atoll(server_ask(server, "PTTL", "order", NULL)) > 0);
  belay_client_free(client);
}

static void test_replies(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  belay_event* event = NULL;
  int64_t size = -1;
  CHECK_STATUS(BELAY_OK, WRITE(client, 1, &event, "INCRBY", "41"));
  CHECK_TEXT("41", belay_event_text(event, &size));
  CHECK_INT(2, size);
  belay_event_free(event);
  CHECK_STATUS(BELAY_OK, WRITE(client, 1, &event, "set", "other", "NX"));
  CHECK_INT(0, (int64_t)strlen(belay_event_text(event, &size)));
  CHECK_INT(0, size);
  belay_event_free(event);
  const char* const words[] = {"APPEND", "a\0b"};
  const int64_t sizes[] = {-1, 3};
  CHECK_STATUS(BELAY_OK, belay_fenced_write(client, "bytes", 5, 1, 2, words, sizes, NULL));
  const char* const taking[] = {"GETDEL"};
  CHECK_STATUS(BELAY_OK, belay_fenced_write(client, "bytes", -1, 1, 1, taking, NULL, &event));
  CHECK(memcmp("a\0b", belay_event_text(event, &size), 4) == 0);
  CHECK_INT(3, size);
  belay_event_free(event);
  belay_client_free(client);
}

static void test_failures(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, WRITE(client, 5, NULL, "SET", "text"));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_WRONG_TYPE, WRITE(client, 6, &event, "HSET", "f", "v"));
  CHECK_TEXT("WRONGTYPE", belay_event_message(event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_SERVER_ERROR, WRITE(client, 6, &event, "INCR"));
  CHECK_TEXT("not an integer", belay_event_message(event));
  belay_event_free(event);
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, WRITE(client, 6, NULL, "GET"));
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, WRITE(client, 6, NULL, "DEL", "another"));
  // Nothing of that has been remembered as a write of fence 6.
  CHECK_STATUS(BELAY_OK, WRITE(client, 5, NULL, "APPEND", "s"));
  check_data(server, "texts");
  belay_client_free(client);
}

static void test_foreign_guard(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, WRITE(client, 5, NULL, "SET", "text"));
  char guard[64];
  snprintf(guard, sizeof guard, "%s", server_ask(server, "KEYS", "belay:g:*:order", NULL));
  guard[strcspn(guard, "\n")] = '\0';
  server_tell(server, "SET", guard, "no fence", NULL);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_WRONG_TYPE, WRITE(client, 6, &event, "SET", "other"));
  CHECK_TEXT(guard, belay_event_message(event));
  belay_event_free(event);
  check_data(server, "text");
  belay_client_free(client);
}

static void test_misuse(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const char* const words[] = {"SET", "x", NULL};
  const int64_t sizes[] = {3, -2};
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  CHECK_STATUS(wrong, belay_fenced_write(NULL, "k", -1, 1, 2, words, NULL, NULL));
  CHECK_WHY(wrong, "the key", belay_fenced_write(client, NULL, -1, 1, 2, words, NULL, &why));
  CHECK_STATUS(wrong, belay_fenced_write(client, "", -1, 1, 2, words, NULL, NULL));
  CHECK_WHY(wrong, "fence", belay_fenced_write(client, "k", -1, 0, 2, words, NULL, &why));
  CHECK_STATUS(wrong, belay_fenced_write(client, "k", -1, -7, 2, words, NULL, NULL));
  CHECK_STATUS(wrong, belay_fenced_write(client, "k", -1, 1, 0, words, NULL, NULL));
  CHECK_WHY(wrong, "argc", belay_fenced_write(client, "k", -1, 1, 1001, words, NULL, &why));
  CHECK_STATUS(wrong, belay_fenced_write(client, "k", -1, 1, 2, NULL, NULL, NULL));
  CHECK_WHY(wrong, "argv[2]", belay_fenced_write(client, "k", -1, 1, 3, words, NULL, &why));
  CHECK_WHY(wrong, "argv[1]", belay_fenced_write(client, "k", -1, 1, 2, words, sizes, &why));
  TOLD(client, wrong, "", belay_submit_fenced_write(client, 1, "k", -1, 0, 2, words, NULL));
  CHECK_STATUS(wrong, belay_submit_fenced_write(client, 0, "k", -1, 1, 2, words, NULL));
  CHECK(belay_next(client, 0) == NULL);
  CHECK_TEXT("0", server_ask(server, "DBSIZE", NULL));
  CHECK_INT(0, (int64_t)strlen(belay_event_text(NULL, NULL)));
  belay_client_free(client);
}

static belay_words* words_of(const char* first, const char* second, int64_t size) {
  belay_words* words = belay_words_new();
  CHECK_STATUS(BELAY_OK, belay_words_add(words, first, -1));
  CHECK_STATUS(BELAY_OK, belay_words_add(words, second, size));
  return words;
}

static void test_words(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  char value[] = "one two";
  belay_words* words = words_of("SET", value, 3);
  memset(value, 'x', sizeof value - 1);  // what was added is the library's own
  CHECK_STATUS(BELAY_OK, belay_fenced_write_words(client, "order", -1, 7, words, NULL));
  check_data(server, "one");
  CHECK_STATUS(BELAY_OK, belay_words_add(words, "GET", -1));
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_OK, belay_fenced_write_words(client, "order", -1, 7, words, &event));
  CHECK_TEXT("one", belay_event_text(event, NULL));
  belay_event_free(event);
  CHECK_STATUS(BELAY_STALE_FENCE, belay_fenced_write_words(client, "order", -1, 6, words, NULL));
  belay_words_free(words);
  words = words_of("SET", "two", -1);
  CHECK_STATUS(BELAY_OK, belay_submit_fenced_write_words(client, 1, "order", -1, 8, words));
  belay_words_free(words);
  TAKE(client, BELAY_EVENT_WRITTEN, 1, BELAY_OK);
  check_data(server, "two");
  words = words_of("SET", "a\0b", 3);
  CHECK_STATUS(BELAY_OK, belay_words_add(words, "GET", 3));
  CHECK_STATUS(BELAY_OK, belay_fenced_write_words(client, "order", -1, 9, words, NULL));
  CHECK_STATUS(BELAY_OK, belay_fenced_write_words(client, "order", -1, 9, words, &event));
  int64_t size = 0;
  CHECK(memcmp("a\0b", belay_event_text(event, &size), 4) == 0);
  CHECK_INT(3, size);
  belay_event_free(event);
  belay_words_free(words);
  belay_client_free(client);
}

static void test_bad_words(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  const int32_t wrong = BELAY_INVALID_ARGUMENT;
  belay_words_free(NULL);
  CHECK_TEXT("NULL", belay_words_error(NULL));
  CHECK_STATUS(wrong, belay_words_add(NULL, "SET", -1));
  CHECK_WHY(wrong, "NULL", belay_fenced_write_words(client, "k", -1, 1, NULL, &why));
  TOLD(client, wrong, "NULL", belay_submit_fenced_write_words(client, 1, "k", -1, 1, NULL));
  belay_words* words = belay_words_new();
  CHECK_INT(0, (int64_t)strlen(belay_words_error(words)));
  CHECK_WHY(wrong, "no words", belay_fenced_write_words(client, "k", -1, 1, words, &why));
  for (int i = 0; i < 1000; ++i) {
    CHECK_STATUS(BELAY_OK, belay_words_add(words, i == 0 ? "LPUSH" : "", -1));
  }
  CHECK_WHY(wrong, "fence", belay_fenced_write_words(client, "k", -1, 0, words, &why));
  CHECK_WHY(wrong, "the key", belay_fenced_write_words(client, "", -1, 1, words, &why));
  CHECK_STATUS(wrong, belay_fenced_write_words(NULL, "k", -1, 1, words, NULL));
  CHECK_STATUS(wrong, belay_submit_fenced_write_words(NULL, 1, "k", -1, 1, words));
  CHECK_TEXT("0", server_ask(server, "DBSIZE", NULL));
  CHECK_STATUS(BELAY_OK, belay_fenced_write_words(client, "k", -1, 1, words, NULL));
  CHECK_TEXT("999", server_ask(server, "LLEN", "k", NULL));
  CHECK_STATUS(wrong, belay_words_add(words, "more", -1));
  CHECK_STATUS(wrong, belay_words_add(words, NULL, -1));  // the first error is kept
  CHECK_TEXT("1000 words", belay_words_error(words));
  CHECK_WHY(wrong, "1000 words", belay_fenced_write_words(client, "k", -1, 1, words, &why));
  CHECK_TEXT("999", server_ask(server, "LLEN", "k", NULL));
  belay_words_free(words);
  belay_client_free(client);
}

static void test_async(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  // What is submitted is the library's own.
  char value[] = "first";
  const char* words[] = {"SET", value};
  CHECK_STATUS(BELAY_OK, belay_submit_fenced_write(client, 1, "order", -1, 7, 2, words, NULL));
  memset(value, 'x', sizeof value - 1);
  TAKE(client, BELAY_EVENT_WRITTEN, 1, BELAY_OK);
  check_data(server, "first");
  CHECK_STATUS(BELAY_OK, belay_submit_fenced_write(client, 2, "order", -1, 6, 2, words, NULL));
  TAKE(client, BELAY_EVENT_WRITTEN, 2, BELAY_STALE_FENCE);
  belay_client_free(client);
}

// Also those that a client takes before it has reached its server.
static void test_order(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  char expected[27] = "";
  for (int i = 0; i < 26; ++i) {
    const char letter[] = {(char)('a' + i), '\0'};
    const char* const words[] = {"APPEND", letter};
    CHECK_STATUS(BELAY_OK,
                 belay_submit_fenced_write(client, i + 1, "order", -1, 7, 2, words, NULL));
    expected[i] = letter[0];
  }
  for (int i = 0; i < 26; ++i) {
    TAKE(client, BELAY_EVENT_WRITTEN, i + 1, BELAY_OK);
  }
  check_data(server, expected);
  belay_client_free(client);
}

// A write that is cancelled says how it ended all the same.
static void test_cancel(Server* server) {
  belay_client* client = CLIENT(.url = server->url);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  server_pause(server);
  const char* const words[] = {"SET", "text"};
  CHECK_STATUS(BELAY_OK, belay_submit_fenced_write(client, 1, "order", -1, 7, 2, words, NULL));
  CHECK_STATUS(BELAY_OK, belay_cancel(client, 1));
  CHECK(belay_next(client, 0) == NULL);
  server_continue(server);
  TAKE(client, BELAY_EVENT_WRITTEN, 1, BELAY_OK);
  check_data(server, "text");
  belay_client_free(client);
}

// Each write takes place once or not at all, and says so or that it does not know.
static void test_cuts(Server* server) {
  static const int kCuts[] = {kCutBefore, kCutDuring, kCutAfter};

  enum { kRounds = 2 };

  const Proxy proxy = proxy_start(server);
  belay_client* client = CLIENT(.url = proxy.url, .request_timeout_ms = scaled(400));
  int64_t before = 0;
  for (int i = 0; i < 3 * kRounds; ++i) {
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
    proxy_break_next(&proxy, kCuts[i % 3]);
    belay_event* event = NULL;
    CHECK_STATUS(BELAY_UNAVAILABLE, WRITE(client, 7, &event, "INCR"));
    CHECK(belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS) > 0);
    belay_event_free(event);
    CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
    const int64_t after = atoll(server_ask(server, "GET", "order", NULL));
    CHECK_INT(before + (kCuts[i % 3] == kCutAfter ? 1 : 0), after);
    before = after;
  }
  CHECK_INT(3 * kRounds, proxy.state->faults);
  belay_client_free(client);
}

static void test_rights(Server* server) {
  server_tell(server, "ACL", "SETUSER", "writer", "reset", "on", ">s3cret", "~belay:*",
              "resetchannels", "&belay:*", "~order", "+subscribe", "+publish", "+time", "+eval",
              "+evalsha", "+get", "+set", "+incr", NULL);
  belay_client* client = CLIENT(.url = server->url, .user = "writer", .password = "s3cret");
  CHECK_STATUS(BELAY_OK, WRITE(client, 7, NULL, "INCR"));
  CHECK_STATUS(BELAY_STALE_FENCE, WRITE(client, 6, NULL, "INCR"));
  CHECK_STATUS(BELAY_NOT_PERMITTED, WRITE(client, 8, NULL, "INCRBY", "2"));
  check_data(server, "1");
  const char* const words[] = {"SET", "x"};
  CHECK_STATUS(BELAY_NOT_PERMITTED,
               belay_fenced_write(client, "another", -1, 7, 2, words, NULL, NULL));
  belay_client_free(client);
}

static void test_prefix(Server* server) {
  belay_client* client = CLIENT(.url = server->url, .prefix = "mine:");
  CHECK_STATUS(BELAY_OK, WRITE(client, 7, NULL, "INCR"));
  CHECK(strstr(server_ask(server, "KEYS", "mine:g:{*}:order", NULL), "order") != NULL);
  CHECK_TEXT("order", server_ask(server, "KEYS", "order", NULL));
  CHECK(strstr(server_ask(server, "DBSIZE", NULL), "2") != NULL);
  belay_client_free(client);
}

// Its fence could not be kept: nothing is written under it.
static void test_no_right_to_keep_the_fence(Server* server) {
  server_tell(server, "ACL", "SETUSER", "writer", "reset", "on", ">s3cret", "~belay:*",
              "resetchannels", "&belay:*", "~order", "+subscribe", "+publish", "+time", "+eval",
              "+evalsha", "+get", "+incr", NULL);
  belay_client* client = CLIENT(.url = server->url, .user = "writer", .password = "s3cret");
  belay_client* other = CLIENT(.url = server->url);
  belay_event* event = NULL;
  CHECK_STATUS(BELAY_NOT_PERMITTED, WRITE(client, 1002, &event, "INCR"));
  CHECK_INT(0, belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS));
  belay_event_free(event);
  check_data(server, "");
  CHECK_STATUS(BELAY_OK, WRITE(other, 5, NULL, "INCR"));
  CHECK_STATUS(BELAY_NOT_PERMITTED, WRITE(client, 1002, NULL, "INCR"));
  check_data(server, "1");
  belay_client_free(client);
  belay_client_free(other);
}

const Test guard_tests[] = {
    {"A fenced write of an older holder answers STALE_FENCE and changes nothing", test_stale},
    {"A fenced write tells what its command replied", test_replies},
    {"A fenced write that fails leaves key and fence as they were", test_failures},
    {"A foreign key in the place of a fence answers WRONG_TYPE and is named", test_foreign_guard},
    {"Fenced writes that cannot be meant are INVALID_ARGUMENT and change nothing", test_misuse},
    {"A fenced write takes words that were added one by one", test_words},
    {"The first wrong word is kept, and the write tells of it", test_bad_words},
    {"A submitted write has its event, and its words may be gone", test_async},
    {"Writes take place in the order of their submission", test_order},
    {"A cancelled write is carried out all the same", test_cancel},
    {"A fenced write that is cut off takes place once or not at all, and is in doubt", test_cuts},
    {"A writer needs the right to its command and its key", test_rights},
    {"A fence is kept under the client's prefix", test_prefix},
    {"A writer who may not keep its fence writes nothing, and is not in doubt",
     test_no_right_to_keep_the_fence},
    {NULL, NULL},
};
