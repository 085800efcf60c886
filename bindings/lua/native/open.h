/* What `require "belay.native"` calls. SWIG fills tables that all states of a process share, and
 * defines two globals. So one state at a time opens the module, and the globals are taken away
 * again. */
#ifndef BELAY_LUA_OPEN_H
#define BELAY_LUA_OPEN_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "lauxlib.h"
#include "lua.h"

int luaopen_belay_raw(lua_State* L);

/* Lua 5.1 and LuaJIT unload modules when a state closes, and then collect what finalizers have made
 * since: the collectors of this module are to be there still. */
static void stay_loaded(void) {
  Dl_info own;
  if (dladdr((void*)(uintptr_t)stay_loaded, &own) != 0) {
    dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

__attribute__((visibility("default"))) int luaopen_belay_native(lua_State* L) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  lua_getglobal(L, "swig_type");
  lua_getglobal(L, "swig_equals");
  lua_pushcfunction(L, luaopen_belay_raw);
  stay_loaded();
  pthread_mutex_lock(&mutex);
  int failed = lua_pcall(L, 0, 1, 0);
  pthread_mutex_unlock(&mutex);
  lua_insert(L, -3);
  lua_setglobal(L, "swig_equals");
  lua_setglobal(L, "swig_type");
  return failed ? lua_error(L) : 1;
}

#endif
