/* Go's wrapper, package native: raw and private. The package belay above it is written by hand.
 *
 * - Bytes come in as a Go string with its length, and numbers go out through a Go slice: neither is copied.
 * - Objects of the library are uintptr.
 */
%module native

%typemap(gotype) (const char* bytes, int64_t size) "string"
%typemap(in) (const char* bytes, int64_t size) %{ $1 = $input.n != 0 ? $input.p : (char*)""; $2 = $input.n; %} /* "" may be NULL in Go */

%typemap(gotype) (int64_t* values, int32_t count) "[]int64"
%typemap(in) (int64_t* values, int32_t count) %{ $1 = $input.array; $2 = (int32_t)$input.len; %}

/* A text with its size, which the last argument gets, is one Go string. */
%typemap(in, numinputs=0) int64_t* size (int64_t length = 0) %{ $1 = &length; %}
%typemap(argout, fragment="AllocateString") int64_t* size %{ _swig_go_result = Swig_AllocateString(result, (size_t)*$1); %}
%typemap(out) const char* belay_event_text, const char* belay_event_member_text ""

%typemap(gotype) belay_options*, belay_client*, belay_request*, belay_words*, belay_event* "uintptr"
%apply belay_options* { const belay_options* };
%apply belay_client* { const belay_client* };
%apply belay_request* { const belay_request* };
%apply belay_words* { const belay_words* };
%apply belay_event* { const belay_event* };

%rename("%(camelcase)s", %$isfunction) "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_client_set_wakeup$") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_options_set_") "";

%include "rows.i"

%inline %{
/* acquire_row with a request for this one acquire: it is freed in the same crossing. */
static int32_t acquire_once(belay_client* client, int64_t tag, belay_request* request, int64_t owner, int64_t wait_ms, int64_t patience_ms,
                            int64_t* values, int32_t count) {
  const int32_t came = acquire_row(client, tag, request, owner, wait_ms, patience_ms, values, count);
  belay_request_free(request);
  return came;
}
%}
