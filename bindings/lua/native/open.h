/* What `require "belay.native"` calls. SWIG fills tables that all states of a process share, and
 * defines two globals. So one state at a time opens the module, and the globals are taken away
 * again. */
#ifndef BELAY_LUA_OPEN_H
#define BELAY_LUA_OPEN_H

#include <pthread.h>

#include "lauxlib.h"
#include "lua.h"

int luaopen_belay_raw(lua_State* L);

__attribute__((visibility("default"))) int luaopen_belay_native(lua_State* L) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  lua_getglobal(L, "swig_type");
  lua_getglobal(L, "swig_equals");
  lua_pushcfunction(L, luaopen_belay_raw);
  pthread_mutex_lock(&mutex);
  int failed = lua_pcall(L, 0, 1, 0);
  pthread_mutex_unlock(&mutex);
  lua_insert(L, -3);
  lua_setglobal(L, "swig_equals");
  lua_setglobal(L, "swig_type");
  return failed ? lua_error(L) : 1;
}

#endif
