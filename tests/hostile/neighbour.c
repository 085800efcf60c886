#include "neighbour.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kGrant = 1, kNext = 2, kWaits = 3, kBroken = 4, kSettled = 5, kPassed = 6, kKinds = 6 };

static const char kNoMac[] = "0000000000000000000000000000000000000000";

static redisContext* connection(const Server* server) {
  redisContext* context = redisConnect("127.0.0.1", server->port);
  CHECK(context != NULL && context->err == 0);
  redisReply* reply = redisCommand(context, "AUTH neighbour s3cret");
  CHECK(reply != NULL && reply->type == REDIS_REPLY_STATUS);
  freeReplyObject(reply);
  return context;
}

void neighbour_come(Neighbour* neighbour, const Server* server) {
  server_tell(server, "ACL", "SETUSER", "neighbour", "reset", "on", ">s3cret", "resetkeys", "&*",
              "-@all", "+@pubsub", "+@connection", "-client", NULL);
  memset(neighbour, 0, sizeof *neighbour);
  neighbour->speaks = connection(server);
  neighbour->listens = connection(server);
  redisReply* reply = redisCommand(neighbour->speaks, "GET belay:r:{a}");
  CHECK(reply != NULL && reply->type == REDIS_REPLY_ERROR);
  freeReplyObject(reply);
  freeReplyObject(redisCommand(neighbour->listens, "PSUBSCRIBE belay:in:*"));
}

void neighbour_go(Neighbour* neighbour) {
  redisFree(neighbour->speaks);
  redisFree(neighbour->listens);
}

void neighbour_listen(Neighbour* neighbour) {
  redisContext* ear = neighbour->listens;
  redisSetTimeout(ear, (struct timeval){.tv_usec = 20000});
  redisReply* reply = NULL;
  while (redisGetReply(ear, (void**)&reply) == REDIS_OK) {
    Heard* heard = &neighbour->heard[neighbour->heard_count++ % kMostHeard];
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 4);
    snprintf(heard->channel, sizeof heard->channel, "%s", reply->element[2]->str);
    heard->size = (int64_t)reply->element[3]->len;
    CHECK(heard->size <= kLongestHeard);
    memcpy(heard->payload, reply->element[3]->str, (size_t)heard->size);
    freeReplyObject(reply);
  }
  ear->err = 0;
}

static void publish(Neighbour* neighbour, const char* channel, const char* payload, int64_t size) {
  CHECK(redisAppendCommand(neighbour->speaks, "PUBLISH %s %b", channel, payload, (size_t)size) ==
        REDIS_OK);
}

static void take_replies(Neighbour* neighbour, int64_t count) {
  for (; count > 0; --count) {
    redisReply* reply = NULL;
    CHECK(redisGetReply(neighbour->speaks, (void**)&reply) == REDIS_OK);
    CHECK(reply->type == REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
  }
}

static redisReply* inboxes(Neighbour* neighbour) {
  redisReply* reply = redisCommand(neighbour->speaks, "PUBSUB CHANNELS belay:in:*");
  CHECK(reply != NULL && reply->type == REDIS_REPLY_ARRAY);
  return reply;
}

void neighbour_publish(Neighbour* neighbour, const char* payload, int64_t size) {
  redisReply* all = inboxes(neighbour);
  for (size_t i = 0; i < all->elements; ++i) {
    publish(neighbour, all->element[i]->str, payload, size);
  }
  take_replies(neighbour, (int64_t)all->elements);
  freeReplyObject(all);
}

static void add(char** at, const void* bytes, size_t size) {
  memcpy(*at, bytes, size);
  *at += size;
}

static void add_number(char** at, int64_t number) {
  const double packed = (double)number;
  add(at, &packed, sizeof packed);
}

static int64_t server_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int64_t make(const Forgery* forgery, char* message) {
  char* at = message;
  char key[128];
  const int key_size = snprintf(key, sizeof key, "belay:r:{%s}", forgery->name);
  *at++ = (char)forgery->kind;
  *at++ = (char)forgery->of;
  add_number(&at, forgery->epoch);
  add_number(&at, server_now());
  if (forgery->kind == kGrant) {
    add_number(&at, forgery->number);
    add_number(&at, forgery->number + 8);
    add_number(&at, 2000000);
    *at++ = 0;
  } else if (forgery->kind == kNext) {
    add_number(&at, forgery->number);
  } else if (forgery->kind == kBroken) {
    *at++ = (char)key_size;
    *at++ = 0;
  } else if (forgery->kind == kPassed) {
    add_number(&at, forgery->number);
    *at++ = 1;
  }
  if (forgery->mac != NULL && (forgery->kind == kGrant || forgery->kind == kPassed)) {
    add(&at, forgery->mac, strlen(forgery->mac));
  }
  add(&at, key, (size_t)key_size);
  if (forgery->kind == kBroken) {
    add(&at, "1 host neighbour", 16);
  }
  return at - message;
}

void neighbour_forge(Neighbour* neighbour, const Forgery* forgery) {
  char message[kLongestHeard];
  const int64_t size = make(forgery, message);
  neighbour_publish(neighbour, message, size);
}

static void forge_with(Neighbour* neighbour, const char* name, int64_t epoch, int64_t number,
                       const char* mac) {
  for (int kind = 1; kind <= kKinds; ++kind) {
    for (int of = 1; of <= 3; ++of) {
      neighbour_forge(neighbour, &(Forgery){kind, of, epoch, number, mac, name});
    }
  }
}

void neighbour_forge_everything(Neighbour* neighbour, const char* name, int64_t epochs) {
  neighbour_listen(neighbour);
  const int heard = neighbour->heard_count < kMostHeard ? neighbour->heard_count : kMostHeard;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    forge_with(neighbour, name, epoch, server_now(), NULL);
    forge_with(neighbour, name, epoch, server_now() + 1000, kNoMac);
    forge_with(neighbour, name, epoch, 0, kNoMac);
  }
  for (int i = 0; i < heard; ++i) {
    const Heard* said = &neighbour->heard[i];
    publish(neighbour, said->channel, said->payload, said->size);
    take_replies(neighbour, 1);
    neighbour_publish(neighbour, said->payload, said->size);
  }
}
