/* Java's wrapper, the class Native of a package that is not exported: raw and private. The package above it is written by hand.
 * It uses only Native, SWIG's class of native methods; the build drops the classes that SWIG puts around it.
 *
 * - Bytes go in and out as byte[], so Java itself makes and reads UTF-8. Numbers go out through a long[].
 * - Objects of the library are Java objects of class Handle: as arguments of a call they live until it returns. Events are long.
 * - The calls that block are left out: Java waits with a _within call of short patience, or for its pump.
 */
%module(jniclassname="Native") module_class
%pragma(java) jniclassclassmodifiers="public final class"

%{
#include <stdint.h>
#include <stdlib.h>

/* Handle's field `pointer`. */
static jfieldID pointer_field;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  JNIEnv* env = NULL;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_1_8) != JNI_OK) {
    return JNI_ERR;
  }
  jclass handle = (*env)->FindClass(env, "invalid/belay/internal/Handle");
  if (handle != NULL) {
    pointer_field = (*env)->GetFieldID(env, handle, "pointer", "J");
  }
  return pointer_field == NULL ? JNI_ERR : JNI_VERSION_1_8;
}

static void* pointer_of(JNIEnv* env, jobject handle) {
  return handle == NULL ? NULL : (void*)(intptr_t)(*env)->GetLongField(env, handle, pointer_field);
}

static jbyteArray bytes_of(JNIEnv* env, const char* text, int64_t size) {
  jbyteArray bytes = text == NULL ? NULL : (*env)->NewByteArray(env, (jsize)size);
  if (bytes != NULL) {
    (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, (const jbyte*)text);
  }
  return bytes;
}
%}

%typemap(jni) (const char* bytes, int64_t size) "jbyteArray"
%typemap(jtype) (const char* bytes, int64_t size) "byte[]"
%typemap(jstype) (const char* bytes, int64_t size) "byte[]"
%typemap(in) (const char* bytes, int64_t size) {
  if ($input == NULL) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "bytes are null");
    return $null;
  }
  $1 = (char*)(*jenv)->GetByteArrayElements(jenv, $input, NULL);
  $2 = (*jenv)->GetArrayLength(jenv, $input);
}
%typemap(freearg) (const char* bytes, int64_t size) "(*jenv)->ReleaseByteArrayElements(jenv, $input, (jbyte*)$1, JNI_ABORT);"

%typemap(jni) (int64_t* values, int32_t count) "jlongArray"
%typemap(jtype) (int64_t* values, int32_t count) "long[]"
%typemap(jstype) (int64_t* values, int32_t count) "long[]"
%typemap(in) (int64_t* values, int32_t count) {
  $2 = (*jenv)->GetArrayLength(jenv, $input);
  $1 = (int64_t*)calloc((size_t)$2, sizeof(int64_t));
}
%typemap(argout) (int64_t* values, int32_t count) "(*jenv)->SetLongArrayRegion(jenv, $input, 0, $2, (const jlong*)$1);"
%typemap(freearg) (int64_t* values, int32_t count) "free($1);"

/* A text that NUL ends; or with its size, which the last argument gets. */
%typemap(jni) const char* "jbyteArray"
%typemap(jtype) const char* "byte[]"
%typemap(jstype) const char* "byte[]"
%typemap(in) const char* {
  const jsize size = (*jenv)->GetArrayLength(jenv, $input);
  $1 = (char*)calloc((size_t)size + 1, 1);
  (*jenv)->GetByteArrayRegion(jenv, $input, 0, size, (jbyte*)$1);
}
%typemap(freearg) const char* "free($1);"
%typemap(out) const char* "$result = bytes_of(jenv, $1, $1 == NULL ? 0 : (int64_t)strlen($1));"
%typemap(in, numinputs=0) int64_t* size (int64_t length = 0) "$1 = &length;"
%typemap(argout) int64_t* size "$result = bytes_of(jenv, result, *$1);"
%typemap(out) const char* belay_event_text, const char* belay_event_member_text ""

%typemap(jni) belay_client*, const belay_client*, belay_options*, const belay_options*, belay_request*, const belay_request*,
    belay_words*, const belay_words* "jobject"
%typemap(jtype) belay_client*, const belay_client*, belay_options*, const belay_options*, belay_request*, const belay_request*,
    belay_words*, const belay_words* "Handle"
%typemap(in) belay_client*, const belay_client*, belay_options*, const belay_options*, belay_request*, const belay_request*,
    belay_words*, const belay_words* "$1 = ($1_ltype)pointer_of(jenv, $input);"
/* A Handle is made of the number that these return, and freed by it. */
%typemap(jni) belay_client* belay_client_new, belay_options* belay_options_new, belay_request* belay_request_new,
    belay_words* belay_words_new "jlong"
%typemap(jtype) belay_client* belay_client_new, belay_options* belay_options_new, belay_request* belay_request_new,
    belay_words* belay_words_new "long"

%rename("%(lowercamelcase)s", %$isfunction) "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_client_(fd|set_wakeup)$") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(options_set_|request_set_notify)") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(client|options|request|words)_free$") "";

%include "rows.i"

%inline %{
/* Free what a Handle has: what the first argument says. */
static void java_free(int32_t what, int64_t pointer) {
  void* object = (void*)(intptr_t)pointer;
  switch (what) {
    case 0: belay_client_free(object); break;
    case 1: belay_options_free(object); break;
    case 2: belay_request_free(object); break;
    default: belay_words_free(object); break;
  }
}
%}
