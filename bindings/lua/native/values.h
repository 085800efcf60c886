/* How the values of belay.h become values of Lua, and back. Included by the generated wrapper.
 *
 * Lua 5.1 and LuaJIT have no integers, only doubles. Fences and the generations of latches have 16
 * digits, which those versions print as 1.79e+15: Lua sees them as strings of decimal digits. */
#ifndef BELAY_LUA_VALUES_H
#define BELAY_LUA_VALUES_H

#include <belay/belay.h>
#include <stdint.h>

#include "lauxlib.h"
#include "lua.h"
#include "words.h"

enum { FIELDS = BELAY_FIELD_SLOT + 1, MEMBER_FIELDS = BELAY_MEMBER_VALUE + 1 };

/* How Lua sees a number of an event or a member. */
typedef struct {
  const char* name; /* NULL: not at all */

  enum { NUMBER, SECONDS, DIGITS, FLAG, WORD } form;

  const char* const* words;
  size_t count;
  int roles; /* members of these roles have it also when it is 0 */
} field;

#define WORDS(list) WORD, list, sizeof list / sizeof *list
#define ROLE(role) (1 << BELAY_ROLE_##role)

static const field event_fields[FIELDS] = {
    [BELAY_FIELD_FENCE] = {"fence", DIGITS},
    [BELAY_FIELD_REMAINING_MS] = {"remaining", SECONDS},
    [BELAY_FIELD_IN_DOUBT_MS] = {"in_doubt", SECONDS},
    [BELAY_FIELD_REASON] = {"reason", WORDS(reason_words)},
    [BELAY_FIELD_PERMITS] = {"permits", NUMBER},
    [BELAY_FIELD_COUNT] = {"count", NUMBER},
    [BELAY_FIELD_GENERATION] = {"generation", DIGITS},
    [BELAY_FIELD_AVAILABLE] = {"available", NUMBER},
    [BELAY_FIELD_LIMIT] = {"limit", NUMBER},
    [BELAY_FIELD_TOTAL] = {"total", NUMBER},
    [BELAY_FIELD_PRIMITIVE] = {"primitive", WORDS(primitive_words)},
    [BELAY_FIELD_LEVEL] = {"level", WORDS(level_words)},
    [BELAY_FIELD_TIME_MS] = {"time", SECONDS},
    [BELAY_FIELD_DROPPED] = {"dropped", NUMBER},
    [BELAY_FIELD_SLOT] = {"slot", NUMBER},
};

static const field member_fields[MEMBER_FIELDS] = {
    [BELAY_MEMBER_ROLE] = {"role", WORDS(role_words)},
    [BELAY_MEMBER_NAME] = {"name", NUMBER},
    [BELAY_MEMBER_CLIENT] = {"client", NUMBER},
    [BELAY_MEMBER_LABEL] = {"label", NUMBER},
    [BELAY_MEMBER_HOST] = {"host", NUMBER},
    [BELAY_MEMBER_PID] = {"pid", NUMBER},
    [BELAY_MEMBER_SINCE_MS] = {"since", SECONDS, .roles = ROLE(HOLDER) | ROLE(WAITER)},
    [BELAY_MEMBER_LEASE_MS] = {"lease", SECONDS, .roles = ROLE(HOLDER)},
    [BELAY_MEMBER_FENCE] = {"fence", DIGITS},
    [BELAY_MEMBER_HOLDS] = {"holds", NUMBER, .roles = ROLE(HOLDER)},
    [BELAY_MEMBER_LOCAL_WAITERS] = {"local_waiters", NUMBER, .roles = ROLE(HOLDER)},
    [BELAY_MEMBER_PERMITS] = {"permits", NUMBER},
    [BELAY_MEMBER_SHARED] = {"shared", FLAG},
    [BELAY_MEMBER_VALUE] = {"value", NUMBER, .roles = ROLE(METRIC)},
};

static int64_t to_int64(lua_State* L, int index) {
  lua_Number number = lua_tonumber(L, index);
  if (!(number >= -9007199254740992.0 && number <= 9007199254740992.0) ||
      number != (lua_Number)(int64_t)number) {
    return luaL_error(L, "%s is not a whole number within 2^53", luaL_checkstring(L, index));
  }
  return (int64_t)number;
}

/* A fence or a generation: a string of digits. A number is taken, too, as it is exact below 2^53.
 */
static int64_t to_fence(lua_State* L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    return to_int64(L, index);
  }
  size_t size;
  const char* text = lua_tolstring(L, index, &size);
  int64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9' || i == 18) {
      return luaL_error(L, "'%s' is no fence, and no generation", text);
    }
    value = 10 * value + (text[i] - '0');
  }
  return value;
}

static void push_int64(lua_State* L, int64_t value) {
#if LUA_VERSION_NUM >= 503
  lua_pushinteger(L, value);
#else
  lua_pushnumber(L, (lua_Number)value);
#endif
}

static void push_fence(lua_State* L, int64_t fence) {
  char digits[24];
  char* first = digits + sizeof digits;
  for (; first == digits + sizeof digits || fence != 0; fence /= 10) {
    *--first = (char)('0' + fence % 10);
  }
  lua_pushlstring(L, first, (size_t)(digits + sizeof digits - first));
}

/* Pushes the word for a number; the number, if a later library has made it. */
static void push_word(lua_State* L, const char* const* words, size_t count, int64_t number) {
  if (number >= 0 && (uint64_t)number < count && words[number] != NULL) {
    lua_pushstring(L, words[number]);
  } else {
    push_int64(L, number);
  }
}

/* Sets a field of the table on top of the stack. */
static void set_field(lua_State* L, const field* field, int64_t value) {
  switch (field->form) {
    case NUMBER:
      push_int64(L, value);
      break;
    case SECONDS:
      lua_pushnumber(L, (lua_Number)value / 1000);
      break;
    case DIGITS:
      push_fence(L, value);
      break;
    case FLAG:
      lua_pushboolean(L, value != 0);
      break;
    case WORD:
      push_word(L, field->words, field->count, value);
      break;
  }
  lua_setfield(L, -2, field->name);
}

/* Gives the table on top of the stack the names of a status and its class; nothing for OK. */
static void set_status(lua_State* L, int64_t status) {
  if (status != BELAY_OK) {
    lua_pushstring(L, belay_status_name(status));
    lua_setfield(L, -2, "status");
    push_word(L, class_words, sizeof class_words / sizeof *class_words, belay_status_class(status));
    lua_setfield(L, -2, "class");
  }
}

/* failure(status) -> a table as of an event that has nothing else to say. */
static int failure(lua_State* L) {
  lua_createtable(L, 0, 4);
  set_status(L, to_int64(L, 1));
  return 1;
}

static void push_member(lua_State* L, const belay_event* event, int32_t index) {
  int64_t role = belay_event_member_int(event, index, BELAY_MEMBER_ROLE);
  lua_createtable(L, 0, 8);
  for (int32_t i = BELAY_MEMBER_ROLE; i < MEMBER_FIELDS; ++i) {
    int64_t size = 0, value = belay_event_member_int(event, index, i);
    const char* text = belay_event_member_text(event, index, i, &size);
    if (size > 0) {
      lua_pushlstring(L, text, (size_t)size);
      lua_setfield(L, -2, member_fields[i].name);
    } else if (value != 0 || (member_fields[i].roles >> role & 1)) {
      set_field(L, &member_fields[i], value);
    }
  }
}

/* keep_grants(pumps): from now on push_grant notes each grant in `pumps`, a table from clients to
 * their pumps. */
static int keep_grants(lua_State* L) {
  lua_setfield(L, LUA_REGISTRYINDEX, "belay.pumps");
  return 0;
}

/* Notes the grant on top of the stack as a hold of the pump of the client, the function's first
 * argument. Lua may not run again: a hook may raise an error at once. Then the hold is a dropped
 * one, which the pump abandons. */
static void keep_grant(lua_State* L) {
  static const char* const kTables[] = {"holds", "held"};
  int grant = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "belay.pumps");
  lua_pushvalue(L, 1);
  lua_rawget(L, -2);
  for (int i = 0; i < 2 && lua_istable(L, grant + 2); ++i) {
    lua_getfield(L, grant + 2, kTables[i]);
    lua_getfield(L, grant, "id");
    if (i == 0) {
      lua_pushvalue(L, grant);
    } else {
      lua_pushliteral(L, "a lock");
    }
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_settop(L, grant);
}

/* Pushes a grant: the fences of its names as a list, `id`, and `units` if it is not 1. */
static void push_grant(lua_State* L, const belay_event* event, const int64_t* values) {
  lua_createtable(L, 1, 4);
  int64_t fence = values[BELAY_FIELD_FENCE];
  for (int32_t i = 0; fence != 0; fence = belay_event_fence(event, i)) {
    push_fence(L, fence);
    lua_rawseti(L, -2, ++i);
  }
  push_int64(L, values[BELAY_FIELD_HOLD]);
  lua_setfield(L, -2, "id");
  if (values[BELAY_FIELD_PERMITS] != 1) {
    push_int64(L, values[BELAY_FIELD_PERMITS]);
    lua_setfield(L, -2, "units");
  }
  keep_grant(L);
}

static void push_details(lua_State* L, const belay_event* event, const int64_t* values) {
  lua_createtable(L, 0, values[BELAY_FIELD_STATUS] == BELAY_OK ? 0 : 4);
  set_status(L, values[BELAY_FIELD_STATUS]);
  for (int i = 0; i < FIELDS; ++i) {
    if (values[i] != 0 && event_fields[i].name != NULL) {
      set_field(L, &event_fields[i], values[i]);
    }
  }
  const char* message = belay_event_message(event);
  if (message[0] != '\0') {
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
  }
  if (values[BELAY_FIELD_KIND] == BELAY_EVENT_WRITTEN ||
      values[BELAY_FIELD_KIND] == BELAY_EVENT_INSPECTED) {
    int64_t size = 0;
    const char* text = belay_event_text(event, &size);
    lua_pushlstring(L, text, (size_t)size);
    lua_setfield(L, -2, "text");
  }
  if (values[BELAY_FIELD_MEMBERS] != 0) {
    lua_createtable(L, (int)values[BELAY_FIELD_MEMBERS], 0);
    for (int32_t i = 0; i < values[BELAY_FIELD_MEMBERS]; ++i) {
      push_member(L, event, i);
      lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "members");
  }
}

/* Pushes an event as a table, and frees it; nil for NULL. What the event does not have is nil. */
static void push_event(lua_State* L, belay_event* event) {
  if (event == NULL) {
    lua_pushnil(L);
    return;
  }
  int64_t values[FIELDS];
  belay_event_read(event, values, FIELDS);
  int is_grant = values[BELAY_FIELD_KIND] == BELAY_EVENT_ACQUIRED && values[BELAY_FIELD_HOLD] != 0;
  (is_grant && values[BELAY_FIELD_STATUS] == BELAY_OK ? push_grant : push_details)(L, event,
                                                                                   values);
  belay_event_free(event);
}

/* The same; nil for a success. */
static void push_failure(lua_State* L, belay_event* event) {
  if (belay_event_status(event) == BELAY_OK) {
    belay_event_free(event);
    event = NULL;
  }
  push_event(L, event);
}

/* Pushes what belay_next returns: the event, its kind, its tag, and the number of its hold; nil for
 * NULL. Returns how many. */
static int push_next(lua_State* L, belay_event* event) {
  int32_t kind = event == NULL ? 0 : belay_event_kind(event);
  int64_t tag = event == NULL ? 0 : belay_event_tag(event);
  int64_t hold = event == NULL ? 0 : belay_event_hold(event);
  push_event(L, event);
  push_word(L, kind_words, sizeof kind_words / sizeof *kind_words, kind);
  push_int64(L, tag);
  push_int64(L, hold);
  return 4;
}

/* Pushes an object of the library that `collect` frees. */
static void push_owned(lua_State* L, void* object, const char* type, lua_CFunction collect) {
  *(void**)lua_newuserdata(L, sizeof object) = object;
  if (luaL_newmetatable(L, type)) {
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
}

#endif
