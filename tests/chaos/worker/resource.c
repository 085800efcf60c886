#include "resource.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBusyMs = 10000 };  // a process that is stopped in a transaction keeps the others out

struct Resources {
  redisContext* redis;
  const char* prefix;
  sqlite3* table;
};

static const char kRedisWrite[] =
    "local fence = tonumber(redis.call('GET', KEYS[1]) or '0') "
    "if ARGV[3] == '1' and tonumber(ARGV[1]) < fence then return 0 end "
    "redis.call('SET', KEYS[1], ARGV[1]) "
    "redis.call('INCR', KEYS[2]) "
    "redis.call('RPUSH', KEYS[3], ARGV[1] .. ' ' .. ARGV[2]) "
    "return 1";

static const char kTables[] =
    "PRAGMA synchronous = OFF;"  // processes die here, the machine does not
    "CREATE TABLE IF NOT EXISTS resource(name TEXT PRIMARY KEY, fence INTEGER, count INTEGER);"
    "CREATE TABLE IF NOT EXISTS log(at INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, fence INTEGER,"
    " id TEXT);";

static void die(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void run(sqlite3* table, const char* sql) {
  char* error = NULL;
  if (sqlite3_exec(table, sql, NULL, NULL, &error) != SQLITE_OK) {
    die(sql, error);
  }
}

Resources* resources_open(int redis_port, const char* prefix, const char* table_path) {
  Resources* resources = calloc(1, sizeof *resources);
  resources->prefix = prefix;
  resources->redis = redisConnect("127.0.0.1", redis_port);
  if (resources->redis == NULL || resources->redis->err != 0) {
    die("the server of the fenced counter", "cannot be reached");
  }
  if (sqlite3_open(table_path, &resources->table) != SQLITE_OK) {
    die(table_path, sqlite3_errmsg(resources->table));
  }
  sqlite3_busy_timeout(resources->table, kBusyMs);
  run(resources->table, kTables);
  return resources;
}

void resources_close(Resources* resources) {
  redisFree(resources->redis);
  sqlite3_close(resources->table);
  free(resources);
}

Outcome write_redis(Resources* resources, const Write* write) {
  char fence[32];
  snprintf(fence, sizeof fence, "%" PRId64, write->fence);
  redisReply* reply =
      redisCommand(resources->redis, "EVAL %s 3 %s:fence:%s %s:count:%s %s:log:%s %s %s %d",
                   kRedisWrite, resources->prefix, write->name, resources->prefix, write->name,
                   resources->prefix, write->name, fence, write->id, write->fenced ? 1 : 0);
  Outcome outcome = kUnknown;
  if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) {
    outcome = reply->integer == 1 ? kAccepted : kRefused;
  }
  freeReplyObject(reply);
  return outcome;
}

// Runs one statement with the write's name, fence and id. The number of rows changed, or -1.
static int change(sqlite3* table, const char* sql, const Write* write) {
  sqlite3_stmt* statement = NULL;
  if (sqlite3_prepare_v2(table, sql, -1, &statement, NULL) != SQLITE_OK) {
    return -1;
  }
  sqlite3_bind_text(statement, 1, write->name, -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 2, write->fence);
  sqlite3_bind_text(statement, 3, write->id, -1, SQLITE_STATIC);
  sqlite3_bind_int(statement, 4, write->fenced ? 1 : 0);
  const int status = sqlite3_step(statement);
  sqlite3_finalize(statement);
  return status == SQLITE_DONE ? sqlite3_changes(table) : -1;
}

Outcome write_sqlite(Resources* resources, const Write* write) {
  sqlite3* table = resources->table;
  if (sqlite3_exec(table, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
    return kUnknown;
  }
  const int changed = change(table,
                             "INSERT INTO resource VALUES(?1, ?2, 1) ON CONFLICT(name) DO UPDATE "
                             "SET fence = ?2, count = count + 1 WHERE fence <= ?2 OR NOT ?4",
                             write);
  const int logged =
      changed == 1 ? change(table, "INSERT INTO log(name, fence, id) VALUES(?1, ?2, ?3)", write)
                   : 0;
  if (changed < 0 || logged < 0 || sqlite3_exec(table, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
    sqlite3_exec(table, "ROLLBACK", NULL, NULL, NULL);
    return kUnknown;
  }
  return changed == 1 ? kAccepted : kRefused;
}

static int print_row(void* nothing, int columns, char** values, char** names) {
  (void)nothing;
  (void)names;
  for (int i = 0; i < columns; ++i) {
    printf("%s%s", values[i], i + 1 < columns ? " " : "\n");
  }
  return 0;
}

int print_table(const char* table_path) {
  sqlite3* table = NULL;
  char* error = NULL;
  if (sqlite3_open(table_path, &table) != SQLITE_OK) {
    die(table_path, sqlite3_errmsg(table));
  }
  sqlite3_busy_timeout(table, kBusyMs);
  run(table, kTables);
  if (sqlite3_exec(table,
                   "SELECT 'count', name, count FROM resource;"
                   "SELECT 'took', name, fence, id FROM log ORDER BY at",
                   print_row, NULL, &error) != SQLITE_OK) {
    die(table_path, error);
  }
  sqlite3_close(table);
  return 0;
}
