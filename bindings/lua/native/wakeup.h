/* A pair of connected stream sockets, whose other end is a runtime's own: it connects to a path
 * that we listen at. For nginx, whose cosockets poll only what they have connected themselves. */
#ifndef BELAY_LUA_WAKEUP_H
#define BELAY_LUA_WAKEUP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"

static int wakeup_failed(lua_State* L, int fd) {
  lua_pushnil(L);
  lua_pushfstring(L, "no socket for the wake-ups: %s", strerror(errno));
  if (fd >= 0) {
    close(fd);
  }
  return 2;
}

/* wakeup_listen() -> descriptor, path. Only this user may connect: the socket is in a directory of
 * its own. */
static int wakeup_listen(lua_State* L) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char directory[] = "/tmp/belay-XXXXXX";
  if (mkdtemp(directory) == NULL) {
    return wakeup_failed(L, -1);
  }
  snprintf(address.sun_path, sizeof address.sun_path, "%s/wakeup", directory);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, sizeof address) != 0 || listen(fd, 1) != 0) {
    int told = wakeup_failed(L, fd);
    unlink(address.sun_path);
    rmdir(directory);
    return told;
  }
  lua_pushinteger(L, fd);
  lua_pushstring(L, address.sun_path);
  return 2;
}

/* wakeup_accept(descriptor, path) -> descriptor of the connection. Closes and removes the listening
 * socket. */
static int wakeup_accept(lua_State* L) {
  int listener = (int)luaL_checkinteger(L, 1);
  const char* path = luaL_checkstring(L, 2);
  int fd = accept(listener, NULL, NULL);
  int error = errno;
  close(listener);
  unlink(path);
  char directory[sizeof "/tmp/belay-XXXXXX"];
  snprintf(directory, sizeof directory, "%s", path);
  rmdir(directory);
  errno = error;
  if (fd < 0) {
    return wakeup_failed(L, -1);
  }
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  lua_pushinteger(L, fd);
  return 1;
}

/* wakeup_dup(descriptor) -> descriptor. The same events, and closed by its owner when its loop has
 * let go of it. */
static int wakeup_dup(lua_State* L) {
  int fd = fcntl((int)luaL_checkinteger(L, 1), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {
    return wakeup_failed(L, -1);
  }
  lua_pushinteger(L, fd);
  return 1;
}

static int wakeup_close(lua_State* L) {
  close((int)luaL_checkinteger(L, 1));
  return 0;
}

#endif
