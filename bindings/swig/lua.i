%module belay_raw

%begin %{
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
%}

/* Sized bytes, numbers without loss, fences as decimal strings, events as tables: ../lua/native/values.h. */
%{
#include "values.h"
%}

%typemap(in, checkfn="lua_isstring") (const char* bytes, int64_t size) (size_t length) {
  $1 = (char*)lua_tolstring(L, $input, &length);
  $2 = (int64_t)length;
}
%typemap(in, checkfn="lua_isnumber") int64_t, int32_t { $1 = ($1_ltype)to_int64(L, $input); }
%typemap(out) int64_t, int32_t { push_int64(L, $1); SWIG_arg++; }
%typemap(in, checkfn="lua_isstring") int64_t fence, int64_t generation { $1 = to_fence(L, $input); }
%typemap(in, numinputs=0) belay_event** (belay_event* taken) { taken = NULL; $1 = &taken; }
%typemap(argout) belay_event** event { push_event(L, *$1); SWIG_arg++; }
%typemap(out) belay_event* { push_event(L, $1); SWIG_arg++; }
%typemap(out) belay_event* belay_next { SWIG_arg += push_next(L, $1); }
%typemap(argout) belay_event** failure { push_failure(L, *$1); SWIG_arg++; }

/* What Lua frees when it collects it. */
%define OWNED(type)
%{
static int type##_collect(lua_State* L) {
  type##_free(*(type**)lua_touserdata(L, 1));
  return 0;
}
%}
%ignore type##_free;
%typemap(out) type* { push_owned(L, $1, #type, type##_collect); SWIG_arg++; }
%typemap(in, checkfn="lua_isuserdata") type*, const type* { $1 = *(type**)luaL_checkudata(L, $input, #type); }
%enddef
OWNED(belay_options)
OWNED(belay_request)
OWNED(belay_words)

%{
/* request(primitive, name...) -> a request whose holds have news. */
static int request(lua_State* L) {
  int names = lua_gettop(L);
  belay_request* made = belay_request_new((int32_t)to_int64(L, 1));
  push_owned(L, made, "belay_request", belay_request_collect);
  belay_request_set_notify(made, 1);
  for (int i = 2; i <= names; ++i) {
    size_t size;
    const char* name = luaL_checklstring(L, i, &size);
    belay_request_add_name(made, name, (int64_t)size);
  }
  return 1;
}
%}

/* What Lua does otherwise: options by their names, events as tables, acquire for lock. */
%rename("$ignore", regextarget=1) "^belay_(options_set_|event_|lock$|acquire_within$|release$|release_within$|hold_fence$|owner_hold$|words_error$)";
%rename("$ignore", regextarget=1) "^belay_request_(new|set_notify)$";
%rename(belay_ping) belay_client_ping;
%rename(belay_metrics) belay_client_metrics;
%native(failure) int failure(lua_State* L);
%native(request) int request(lua_State* L);
%native(keep_grants) int keep_grants(lua_State* L);

/* Descriptors that a runtime may wait for: ../lua/native/wakeup.h. */
%{
#include "wakeup.h"
%}
%native(wakeup_listen) int wakeup_listen(lua_State* L);
%native(wakeup_accept) int wakeup_accept(lua_State* L);
%native(wakeup_dup) int wakeup_dup(lua_State* L);
%native(wakeup_close) int wakeup_close(lua_State* L);

%include "belay.i"

/* belay_release with an event, as other calls have it. No submission has its tag. */
%rename(belay_release) release_blocking;
%inline %{
static int32_t release_blocking(belay_client* client, int64_t hold, belay_event** failure) {
  *failure = belay_release_within(client, (INT64_C(1) << 53) - 1, hold, -1);
  return belay_event_status(*failure);
}
%}

%{
#include "open.h"
%}
