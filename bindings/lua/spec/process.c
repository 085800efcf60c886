/* What Lua lacks and the specs need: fork, and states of Lua in threads of their own. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

/* fork(work) calls `work` in a child, which then ends without closing its state. Returns the
 * child's exit status: what `work` returned. */
static int process_fork(lua_State* L) {
  pid_t child = fork();
  if (child == 0) {
    int failed = lua_pcall(L, 0, 1, 0);
    _exit(failed ? 99 : (int)lua_tointeger(L, -1));
  }
  int status = 0;
  waitpid(child, &status, 0);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
  return 1;
}

static void* run_state(void* path) {
  lua_State* L = luaL_newstate();
  luaL_openlibs(L);
  int failed = luaL_loadfile(L, path) || lua_pcall(L, 0, 0, 0);
  if (failed) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return failed ? path : NULL;
}

/* threads(path, count) runs a file in `count` states at once, each in a thread, and closes them.
 * Returns how many failed. */
static int process_threads(lua_State* L) {
  enum { MOST = 16 };

  pthread_t threads[MOST];
  int count = (int)luaL_checkinteger(L, 2), failed = 0;
  for (int i = 0; i < count && i < MOST; ++i) {
    pthread_create(&threads[i], NULL, run_state, (void*)luaL_checkstring(L, 1));
  }
  for (int i = 0; i < count && i < MOST; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    failed += result != NULL;
  }
  lua_pushinteger(L, failed);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_process(lua_State* L) {
  lua_newtable(L);
  lua_pushcfunction(L, process_fork);
  lua_setfield(L, -2, "fork");
  lua_pushcfunction(L, process_threads);
  lua_setfield(L, -2, "threads");
  return 1;
}
