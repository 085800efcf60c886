/* What the wrappers of all languages share. A language's file says `%module` and its typemaps, and includes this one.
 *
 * - Bytes with their size: each language's typemap for (const char* bytes, int64_t size) serves all of belay.h.
 * - Numbers: SWIG's own constants would be variables, in Go 80 of them, each a call of C at start. generate.py writes each
 *   language's constants from belay.h instead.
 */
%{
#include <belay/belay.h>
%}
%include <stdint.i>

%apply (const char* bytes, int64_t size) {
  (const char* name, int64_t name_size),
  (const char* pattern, int64_t pattern_size),
  (const char* key, int64_t key_size),
  (const char* identity, int64_t identity_size),
  (const char* word, int64_t size)
};

%rename("$ignore", %$isenum) "";
%rename("$ignore", %$isenumitem) "";
%ignore BELAY_BELAY_H;
%ignore BELAY_ABI;
%ignore BELAY_API;
%ignore BELAY_MUST_USE;

%include "belay/belay.h"
