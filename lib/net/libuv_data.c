// What libuv's archive takes of the C library's data, where it is linked into ours
// (archives.cmake): made to be run at any place but not to refer to another library's data from
// there. Only functions of libuv's that we never call use these: to spawn, to print handles, and of
// UDP.
#include <netinet/in.h>
#include <stdio.h>

extern char** belay_libuv_environ;
extern FILE* belay_libuv_stderr;
extern const struct in6_addr belay_libuv_in6addr_any;

char** belay_libuv_environ;
FILE* belay_libuv_stderr;
const struct in6_addr belay_libuv_in6addr_any = IN6ADDR_ANY_INIT;
