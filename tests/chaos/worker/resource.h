// Two resources that are guarded by fences: a counter in Redis and a table in SQLite. Each takes a
// write only if no higher fence has written before, counts what it took, and keeps a log of it. One
// Resources belongs to one thread.
#ifndef CHAOS_RESOURCE_H
#define CHAOS_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Resources Resources;

typedef enum { kAccepted, kRefused, kUnknown } Outcome;

typedef struct {
  const char* name;  // of the lock that guards it
  int64_t fence;
  const char* id;  // of the write, unique
  bool fenced;     // false: takes the write whatever its fence, to see that the checks notice
} Write;

// Exits when they cannot be reached: they are never attacked.
Resources* resources_open(int redis_port, const char* prefix, const char* table_path);
void resources_close(Resources* resources);
Outcome write_redis(Resources* resources, const Write* write);
Outcome write_sqlite(Resources* resources, const Write* write);

// Prints what the table counted and took: `count NAME N`, then `took NAME FENCE ID` in order.
int print_table(const char* table_path);

#endif
