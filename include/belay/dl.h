/* Generated from belay.h by tools/dl_header.py: do not edit.
 *
 * For programs that load Belay while they run, and do not link it. One struct has a pointer to each function
 * of belay.h, under the function's name:
 *
 *   struct belay_dl belay;
 *   const char *error = belay_dl_load(&belay, NULL);
 *   if (error == NULL) {
 *     belay_options *options = belay.belay_options_new();
 *     ...
 *
 * Needs -ldl where the C library has no dlopen of its own (glibc before 2.34).
 */
#ifndef BELAY_DL_H
#define BELAY_DL_H

#include <belay/belay.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The library that has BELAY_ABI. */
#define BELAY_DL_SONAME "libbelay.so.1"

/* clang-format off */
struct belay_dl {
  void* library;   /* dlclose() takes it; the code stays in memory, as the library's threads may be in it */
  char error[256]; /* what belay_dl_load returned, unless that was NULL */
  int32_t (*belay_status_class)(int64_t status);
  const char* (*belay_status_name)(int64_t status);
  const char* (*belay_version)(void);
  int32_t (*belay_abi)(void);
  belay_options* (*belay_options_new)(void);
  void (*belay_options_free)(belay_options* options);
  const char* (*belay_options_error)(const belay_options* options);
  int32_t (*belay_options_set_url)(belay_options* options, const char* url);
  int32_t (*belay_options_set_user)(belay_options* options, const char* user);
  int32_t (*belay_options_set_password)(belay_options* options, const char* password);
  int32_t (*belay_options_set_password_file)(belay_options* options, const char* path);
  int32_t (*belay_options_set_label)(belay_options* options, const char* label);
  int32_t (*belay_options_set_prefix)(belay_options* options, const char* prefix);
  int32_t (*belay_options_set_watchdog_lease_ms)(belay_options* options, int64_t lease_ms);
  int32_t (*belay_options_set_request_timeout_ms)(belay_options* options, int64_t timeout_ms);
  int32_t (*belay_options_set_max_hold_ms)(belay_options* options, int64_t max_hold_ms);
  int32_t (*belay_options_set_max_pending)(belay_options* options, int64_t count);
  int32_t (*belay_options_set_tls_ca_file)(belay_options* options, const char* path);
  int32_t (*belay_options_set_tls_ca_dir)(belay_options* options, const char* path);
  int32_t (*belay_options_set_tls_cert_file)(belay_options* options, const char* path);
  int32_t (*belay_options_set_tls_key_file)(belay_options* options, const char* path);
  int32_t (*belay_options_set_tls_server_name)(belay_options* options, const char* name);
  int32_t (*belay_options_set_tls_min_version)(belay_options* options, const char* version);
  int32_t (*belay_options_set_log_level)(belay_options* options, int32_t level);
  int32_t (*belay_options_set)(belay_options* options, const char* name, const char* value);
  const char* (*belay_options_get)(belay_options* options, const char* name);
  const char* (*belay_option_name)(int32_t index);
  const char* (*belay_option_text)(const char* name, int32_t what);
  belay_client* (*belay_client_new)(belay_options* options);
  void (*belay_client_free)(belay_client* client);
  int32_t (*belay_client_shutdown)(belay_client* client);
  int64_t (*belay_client_fd)(belay_client* client);
  int32_t (*belay_client_set_wakeup)(belay_client* client, int32_t fd);
  const char* (*belay_client_id)(const belay_client* client);
  int32_t (*belay_client_metrics)(belay_client* client, belay_event** event);
  int32_t (*belay_client_ping)(belay_client* client, belay_event** event);
  belay_request* (*belay_request_new)(int32_t primitive);
  void (*belay_request_free)(belay_request* request);
  const char* (*belay_request_error)(const belay_request* request);
  int32_t (*belay_request_add_name)(belay_request* request, const char* name, int64_t name_size);
  int32_t (*belay_request_add_shared_name)(belay_request* request, const char* name, int64_t name_size);
  int32_t (*belay_request_set_identity)(belay_request* request, const char* identity, int64_t identity_size);
  int32_t (*belay_request_set_permits)(belay_request* request, int64_t permits, int64_t limit);
  int32_t (*belay_request_set_generation)(belay_request* request, int64_t generation);
  int32_t (*belay_request_set_lock_delay_ms)(belay_request* request, int64_t delay_ms);
  int32_t (*belay_request_set_lease_ms)(belay_request* request, int64_t lease_ms);
  int32_t (*belay_request_set_max_hold_ms)(belay_request* request, int64_t max_hold_ms);
  int32_t (*belay_request_set_notify)(belay_request* request, int32_t notify);
  int32_t (*belay_request_set_confirmed)(belay_request* request, int32_t confirmed);
  int64_t (*belay_lock)(belay_client* client, const char* name, int64_t name_size, int64_t wait_ms, belay_event** event);
  int64_t (*belay_acquire)(belay_client* client, const belay_request* request, int64_t owner, int64_t wait_ms, belay_event** event);
  int32_t (*belay_release)(belay_client* client, int64_t hold);
  int32_t (*belay_release_nowait)(belay_client* client, int64_t hold);
  int32_t (*belay_extend)(belay_client* client, int64_t hold, int64_t lease_ms, belay_event** event);
  int32_t (*belay_downgrade)(belay_client* client, int64_t hold, belay_event** event);
  int32_t (*belay_verify)(belay_client* client, int64_t hold, belay_event** event);
  int32_t (*belay_inspect)(belay_client* client, const char* name, int64_t name_size, belay_event** event);
  int32_t (*belay_break)(belay_client* client, const char* name, int64_t name_size, int64_t fence, belay_event** event);
  int32_t (*belay_list)(belay_client* client, const char* pattern, int64_t pattern_size, int64_t limit, belay_event** event);
  int32_t (*belay_fenced_write)(belay_client* client, const char* key, int64_t key_size, int64_t fence, int32_t argc, const char* const* argv, const int64_t* sizes, belay_event** event);
  belay_words* (*belay_words_new)(void);
  void (*belay_words_free)(belay_words* words);
  const char* (*belay_words_error)(const belay_words* words);
  int32_t (*belay_words_add)(belay_words* words, const char* word, int64_t size);
  int32_t (*belay_fenced_write_words)(belay_client* client, const char* key, int64_t key_size, int64_t fence, const belay_words* words, belay_event** event);
  int32_t (*belay_semaphore_set_limit)(belay_client* client, const char* name, int64_t name_size, int64_t limit, belay_event** event);
  int64_t (*belay_semaphore_available)(belay_client* client, const char* name, int64_t name_size, belay_event** event);
  int64_t (*belay_latch_set)(belay_client* client, const char* name, int64_t name_size, int64_t count, int64_t ttl_ms, belay_event** event);
  int64_t (*belay_latch_count_down)(belay_client* client, const char* name, int64_t name_size, int64_t n, belay_event** event);
  int64_t (*belay_latch_count)(belay_client* client, const char* name, int64_t name_size, belay_event** event);
  int32_t (*belay_submit_acquire)(belay_client* client, int64_t tag, const belay_request* request, int64_t owner, int64_t wait_ms);
  int32_t (*belay_submit_release)(belay_client* client, int64_t tag, int64_t hold);
  int32_t (*belay_submit_extend)(belay_client* client, int64_t tag, int64_t hold, int64_t lease_ms);
  int32_t (*belay_submit_downgrade)(belay_client* client, int64_t tag, int64_t hold);
  int32_t (*belay_submit_verify)(belay_client* client, int64_t tag, int64_t hold);
  int32_t (*belay_submit_inspect)(belay_client* client, int64_t tag, const char* name, int64_t name_size);
  int32_t (*belay_submit_break)(belay_client* client, int64_t tag, const char* name, int64_t name_size, int64_t fence);
  int32_t (*belay_submit_list)(belay_client* client, int64_t tag, const char* pattern, int64_t pattern_size, int64_t limit);
  int32_t (*belay_submit_fenced_write)(belay_client* client, int64_t tag, const char* key, int64_t key_size, int64_t fence, int32_t argc, const char* const* argv, const int64_t* sizes);
  int32_t (*belay_submit_fenced_write_words)(belay_client* client, int64_t tag, const char* key, int64_t key_size, int64_t fence, const belay_words* words);
  int32_t (*belay_submit_semaphore_set_limit)(belay_client* client, int64_t tag, const char* name, int64_t name_size, int64_t limit);
  int32_t (*belay_submit_semaphore_available)(belay_client* client, int64_t tag, const char* name, int64_t name_size);
  int32_t (*belay_submit_latch_set)(belay_client* client, int64_t tag, const char* name, int64_t name_size, int64_t count, int64_t ttl_ms);
  int32_t (*belay_submit_latch_count_down)(belay_client* client, int64_t tag, const char* name, int64_t name_size, int64_t n);
  int32_t (*belay_submit_latch_count)(belay_client* client, int64_t tag, const char* name, int64_t name_size);
  int32_t (*belay_submit_ping)(belay_client* client, int64_t tag);
  belay_event* (*belay_acquire_within)(belay_client* client, int64_t tag, const belay_request* request, int64_t owner, int64_t wait_ms, int64_t patience_ms);
  belay_event* (*belay_release_within)(belay_client* client, int64_t tag, int64_t hold, int64_t patience_ms);
  int32_t (*belay_cancel)(belay_client* client, int64_t tag);
  belay_event* (*belay_next)(belay_client* client, int64_t timeout_ms);
  int64_t (*belay_hold_state)(belay_client* client, int64_t hold);
  int64_t (*belay_hold_remaining_ms)(belay_client* client, int64_t hold);
  int64_t (*belay_hold_fence)(belay_client* client, int64_t hold, int32_t index);
  int32_t (*belay_hold_abandon)(belay_client* client, int64_t hold);
  int64_t (*belay_owner_holds)(belay_client* client, int64_t owner, const char* name, int64_t name_size);
  int64_t (*belay_owner_hold)(belay_client* client, int64_t owner, const char* name, int64_t name_size, int64_t index);
  void (*belay_event_free)(belay_event* event);
  int64_t (*belay_event_int)(const belay_event* event, int32_t field);
  int32_t (*belay_event_read)(const belay_event* event, int64_t* values, int32_t count);
  int32_t (*belay_event_kind)(const belay_event* event);
  int64_t (*belay_event_tag)(const belay_event* event);
  int32_t (*belay_event_status)(const belay_event* event);
  int64_t (*belay_event_hold)(const belay_event* event);
  int64_t (*belay_event_fence)(const belay_event* event, int32_t index);
  const char* (*belay_event_message)(const belay_event* event);
  const char* (*belay_event_text)(const belay_event* event, int64_t* size);
  int64_t (*belay_event_member_int)(const belay_event* event, int32_t index, int32_t field);
  const char* (*belay_event_member_text)(const belay_event* event, int32_t index, int32_t field, int64_t* size);
};

/* Looks one function up. For belay_dl_load. */
static inline int belay_dl_find(struct belay_dl* dl, const char* name, void* function) {
  void* found = dlsym(dl->library, name);
  memcpy(function, &found, sizeof found);
  if (found == NULL) {
    snprintf(dl->error, sizeof dl->error, "the library has no %s", name);
  }
  return found != NULL;
}

/* Looks all functions up, if the library has the ABI of this header. For belay_dl_load. */
static inline int belay_dl_find_all(struct belay_dl* dl) {
  if (!belay_dl_find(dl, "belay_abi", &dl->belay_abi)) {
    return 0;
  }
  if (dl->belay_abi() != BELAY_ABI) {
    snprintf(dl->error, sizeof dl->error, "the library has ABI %d, and this program needs %d", (int)dl->belay_abi(), BELAY_ABI);
    return 0;
  }
  return belay_dl_find(dl, "belay_status_class", &dl->belay_status_class) &&
         belay_dl_find(dl, "belay_status_name", &dl->belay_status_name) &&
         belay_dl_find(dl, "belay_version", &dl->belay_version) &&
         belay_dl_find(dl, "belay_abi", &dl->belay_abi) &&
         belay_dl_find(dl, "belay_options_new", &dl->belay_options_new) &&
         belay_dl_find(dl, "belay_options_free", &dl->belay_options_free) &&
         belay_dl_find(dl, "belay_options_error", &dl->belay_options_error) &&
         belay_dl_find(dl, "belay_options_set_url", &dl->belay_options_set_url) &&
         belay_dl_find(dl, "belay_options_set_user", &dl->belay_options_set_user) &&
         belay_dl_find(dl, "belay_options_set_password", &dl->belay_options_set_password) &&
         belay_dl_find(dl, "belay_options_set_password_file", &dl->belay_options_set_password_file) &&
         belay_dl_find(dl, "belay_options_set_label", &dl->belay_options_set_label) &&
         belay_dl_find(dl, "belay_options_set_prefix", &dl->belay_options_set_prefix) &&
         belay_dl_find(dl, "belay_options_set_watchdog_lease_ms", &dl->belay_options_set_watchdog_lease_ms) &&
         belay_dl_find(dl, "belay_options_set_request_timeout_ms", &dl->belay_options_set_request_timeout_ms) &&
         belay_dl_find(dl, "belay_options_set_max_hold_ms", &dl->belay_options_set_max_hold_ms) &&
         belay_dl_find(dl, "belay_options_set_max_pending", &dl->belay_options_set_max_pending) &&
         belay_dl_find(dl, "belay_options_set_tls_ca_file", &dl->belay_options_set_tls_ca_file) &&
         belay_dl_find(dl, "belay_options_set_tls_ca_dir", &dl->belay_options_set_tls_ca_dir) &&
         belay_dl_find(dl, "belay_options_set_tls_cert_file", &dl->belay_options_set_tls_cert_file) &&
         belay_dl_find(dl, "belay_options_set_tls_key_file", &dl->belay_options_set_tls_key_file) &&
         belay_dl_find(dl, "belay_options_set_tls_server_name", &dl->belay_options_set_tls_server_name) &&
         belay_dl_find(dl, "belay_options_set_tls_min_version", &dl->belay_options_set_tls_min_version) &&
         belay_dl_find(dl, "belay_options_set_log_level", &dl->belay_options_set_log_level) &&
         belay_dl_find(dl, "belay_options_set", &dl->belay_options_set) &&
         belay_dl_find(dl, "belay_options_get", &dl->belay_options_get) &&
         belay_dl_find(dl, "belay_option_name", &dl->belay_option_name) &&
         belay_dl_find(dl, "belay_option_text", &dl->belay_option_text) &&
         belay_dl_find(dl, "belay_client_new", &dl->belay_client_new) &&
         belay_dl_find(dl, "belay_client_free", &dl->belay_client_free) &&
         belay_dl_find(dl, "belay_client_shutdown", &dl->belay_client_shutdown) &&
         belay_dl_find(dl, "belay_client_fd", &dl->belay_client_fd) &&
         belay_dl_find(dl, "belay_client_set_wakeup", &dl->belay_client_set_wakeup) &&
         belay_dl_find(dl, "belay_client_id", &dl->belay_client_id) &&
         belay_dl_find(dl, "belay_client_metrics", &dl->belay_client_metrics) &&
         belay_dl_find(dl, "belay_client_ping", &dl->belay_client_ping) &&
         belay_dl_find(dl, "belay_request_new", &dl->belay_request_new) &&
         belay_dl_find(dl, "belay_request_free", &dl->belay_request_free) &&
         belay_dl_find(dl, "belay_request_error", &dl->belay_request_error) &&
         belay_dl_find(dl, "belay_request_add_name", &dl->belay_request_add_name) &&
         belay_dl_find(dl, "belay_request_add_shared_name", &dl->belay_request_add_shared_name) &&
         belay_dl_find(dl, "belay_request_set_identity", &dl->belay_request_set_identity) &&
         belay_dl_find(dl, "belay_request_set_permits", &dl->belay_request_set_permits) &&
         belay_dl_find(dl, "belay_request_set_generation", &dl->belay_request_set_generation) &&
         belay_dl_find(dl, "belay_request_set_lock_delay_ms", &dl->belay_request_set_lock_delay_ms) &&
         belay_dl_find(dl, "belay_request_set_lease_ms", &dl->belay_request_set_lease_ms) &&
         belay_dl_find(dl, "belay_request_set_max_hold_ms", &dl->belay_request_set_max_hold_ms) &&
         belay_dl_find(dl, "belay_request_set_notify", &dl->belay_request_set_notify) &&
         belay_dl_find(dl, "belay_request_set_confirmed", &dl->belay_request_set_confirmed) &&
         belay_dl_find(dl, "belay_lock", &dl->belay_lock) &&
         belay_dl_find(dl, "belay_acquire", &dl->belay_acquire) &&
         belay_dl_find(dl, "belay_release", &dl->belay_release) &&
         belay_dl_find(dl, "belay_release_nowait", &dl->belay_release_nowait) &&
         belay_dl_find(dl, "belay_extend", &dl->belay_extend) &&
         belay_dl_find(dl, "belay_downgrade", &dl->belay_downgrade) &&
         belay_dl_find(dl, "belay_verify", &dl->belay_verify) &&
         belay_dl_find(dl, "belay_inspect", &dl->belay_inspect) &&
         belay_dl_find(dl, "belay_break", &dl->belay_break) &&
         belay_dl_find(dl, "belay_list", &dl->belay_list) &&
         belay_dl_find(dl, "belay_fenced_write", &dl->belay_fenced_write) &&
         belay_dl_find(dl, "belay_words_new", &dl->belay_words_new) &&
         belay_dl_find(dl, "belay_words_free", &dl->belay_words_free) &&
         belay_dl_find(dl, "belay_words_error", &dl->belay_words_error) &&
         belay_dl_find(dl, "belay_words_add", &dl->belay_words_add) &&
         belay_dl_find(dl, "belay_fenced_write_words", &dl->belay_fenced_write_words) &&
         belay_dl_find(dl, "belay_semaphore_set_limit", &dl->belay_semaphore_set_limit) &&
         belay_dl_find(dl, "belay_semaphore_available", &dl->belay_semaphore_available) &&
         belay_dl_find(dl, "belay_latch_set", &dl->belay_latch_set) &&
         belay_dl_find(dl, "belay_latch_count_down", &dl->belay_latch_count_down) &&
         belay_dl_find(dl, "belay_latch_count", &dl->belay_latch_count) &&
         belay_dl_find(dl, "belay_submit_acquire", &dl->belay_submit_acquire) &&
         belay_dl_find(dl, "belay_submit_release", &dl->belay_submit_release) &&
         belay_dl_find(dl, "belay_submit_extend", &dl->belay_submit_extend) &&
         belay_dl_find(dl, "belay_submit_downgrade", &dl->belay_submit_downgrade) &&
         belay_dl_find(dl, "belay_submit_verify", &dl->belay_submit_verify) &&
         belay_dl_find(dl, "belay_submit_inspect", &dl->belay_submit_inspect) &&
         belay_dl_find(dl, "belay_submit_break", &dl->belay_submit_break) &&
         belay_dl_find(dl, "belay_submit_list", &dl->belay_submit_list) &&
         belay_dl_find(dl, "belay_submit_fenced_write", &dl->belay_submit_fenced_write) &&
         belay_dl_find(dl, "belay_submit_fenced_write_words", &dl->belay_submit_fenced_write_words) &&
         belay_dl_find(dl, "belay_submit_semaphore_set_limit", &dl->belay_submit_semaphore_set_limit) &&
         belay_dl_find(dl, "belay_submit_semaphore_available", &dl->belay_submit_semaphore_available) &&
         belay_dl_find(dl, "belay_submit_latch_set", &dl->belay_submit_latch_set) &&
         belay_dl_find(dl, "belay_submit_latch_count_down", &dl->belay_submit_latch_count_down) &&
         belay_dl_find(dl, "belay_submit_latch_count", &dl->belay_submit_latch_count) &&
         belay_dl_find(dl, "belay_submit_ping", &dl->belay_submit_ping) &&
         belay_dl_find(dl, "belay_acquire_within", &dl->belay_acquire_within) &&
         belay_dl_find(dl, "belay_release_within", &dl->belay_release_within) &&
         belay_dl_find(dl, "belay_cancel", &dl->belay_cancel) &&
         belay_dl_find(dl, "belay_next", &dl->belay_next) &&
         belay_dl_find(dl, "belay_hold_state", &dl->belay_hold_state) &&
         belay_dl_find(dl, "belay_hold_remaining_ms", &dl->belay_hold_remaining_ms) &&
         belay_dl_find(dl, "belay_hold_fence", &dl->belay_hold_fence) &&
         belay_dl_find(dl, "belay_hold_abandon", &dl->belay_hold_abandon) &&
         belay_dl_find(dl, "belay_owner_holds", &dl->belay_owner_holds) &&
         belay_dl_find(dl, "belay_owner_hold", &dl->belay_owner_hold) &&
         belay_dl_find(dl, "belay_event_free", &dl->belay_event_free) &&
         belay_dl_find(dl, "belay_event_int", &dl->belay_event_int) &&
         belay_dl_find(dl, "belay_event_read", &dl->belay_event_read) &&
         belay_dl_find(dl, "belay_event_kind", &dl->belay_event_kind) &&
         belay_dl_find(dl, "belay_event_tag", &dl->belay_event_tag) &&
         belay_dl_find(dl, "belay_event_status", &dl->belay_event_status) &&
         belay_dl_find(dl, "belay_event_hold", &dl->belay_event_hold) &&
         belay_dl_find(dl, "belay_event_fence", &dl->belay_event_fence) &&
         belay_dl_find(dl, "belay_event_message", &dl->belay_event_message) &&
         belay_dl_find(dl, "belay_event_text", &dl->belay_event_text) &&
         belay_dl_find(dl, "belay_event_member_int", &dl->belay_event_member_int) &&
         belay_dl_find(dl, "belay_event_member_text", &dl->belay_event_member_text);
}

/* Load the library `path`, NULL for BELAY_DL_SONAME wherever the system looks for libraries, and fill `dl`.
 * Returns NULL, or the error, which is part of `dl`: then all pointers are NULL, and nothing stays loaded. */
static inline const char* belay_dl_load(struct belay_dl* dl, const char* path) {
  memset(dl, 0, sizeof *dl);
  dl->library = dlopen(path != NULL ? path : BELAY_DL_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (dl->library == NULL) {
    const char* error = dlerror();
    snprintf(dl->error, sizeof dl->error, "%s", error != NULL ? error : "dlopen failed");
    return dl->error;
  }
  if (!belay_dl_find_all(dl)) {
    char error[sizeof dl->error];
    memcpy(error, dl->error, sizeof error);
    dlclose(dl->library);
    memset(dl, 0, sizeof *dl);
    memcpy(dl->error, error, sizeof error);
    return dl->error;
  }
  return NULL;
}

/* clang-format on */

#endif
