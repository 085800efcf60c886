/* Every function of the public header as programs were compiled against it: a result or parameter
 * of another type does not compile. All types are numbers, strings and handles that nobody sees
 * inside, so this and the frozen numbers are the whole ABI. A new function adds its line; a line
 * never changes. */
#include <belay/belay.h>

int32_t belay_status_class(int64_t status);
const char* belay_status_name(int64_t status);
const char* belay_version(void);
int32_t belay_abi(void);
belay_options* belay_options_new(void);
void belay_options_free(belay_options* options);
const char* belay_options_error(const belay_options* options);
int32_t belay_options_set_url(belay_options* options, const char* url);
int32_t belay_options_set_user(belay_options* options, const char* user);
int32_t belay_options_set_password(belay_options* options, const char* password);
int32_t belay_options_set_password_file(belay_options* options, const char* path);
int32_t belay_options_set_label(belay_options* options, const char* label);
int32_t belay_options_set_prefix(belay_options* options, const char* prefix);
int32_t belay_options_set_watchdog_lease_ms(belay_options* options, int64_t lease_ms);
int32_t belay_options_set_request_timeout_ms(belay_options* options, int64_t timeout_ms);
int32_t belay_options_set_max_hold_ms(belay_options* options, int64_t max_hold_ms);
int32_t belay_options_set_max_pending(belay_options* options, int64_t count);
int32_t belay_options_set_tls_ca_file(belay_options* options, const char* path);
int32_t belay_options_set_tls_ca_dir(belay_options* options, const char* path);
int32_t belay_options_set_tls_cert_file(belay_options* options, const char* path);
int32_t belay_options_set_tls_key_file(belay_options* options, const char* path);
int32_t belay_options_set_tls_server_name(belay_options* options, const char* name);
int32_t belay_options_set_tls_min_version(belay_options* options, const char* version);
int32_t belay_options_set_log_level(belay_options* options, int32_t level);
int32_t belay_options_set(belay_options* options, const char* name, const char* value);
const char* belay_options_get(belay_options* options, const char* name);
const char* belay_option_name(int32_t index);
const char* belay_option_text(const char* name, int32_t what);
belay_client* belay_client_new(belay_options* options);
void belay_client_free(belay_client* client);
int32_t belay_client_shutdown(belay_client* client);
int64_t belay_client_fd(belay_client* client);
int32_t belay_client_set_wakeup(belay_client* client, int32_t fd);
const char* belay_client_id(const belay_client* client);
int32_t belay_client_metrics(belay_client* client, belay_event** event);
int32_t belay_client_ping(belay_client* client, belay_event** event);
belay_request* belay_request_new(int32_t primitive);
void belay_request_free(belay_request* request);
const char* belay_request_error(const belay_request* request);
int32_t belay_request_add_name(belay_request* request, const char* name, int64_t name_size);
int32_t belay_request_add_shared_name(belay_request* request, const char* name, int64_t name_size);
int32_t belay_request_set_identity(belay_request* request, const char* identity,
                                   int64_t identity_size);
int32_t belay_request_set_permits(belay_request* request, int64_t permits, int64_t limit);
int32_t belay_request_set_generation(belay_request* request, int64_t generation);
int32_t belay_request_set_lock_delay_ms(belay_request* request, int64_t delay_ms);
int32_t belay_request_set_lease_ms(belay_request* request, int64_t lease_ms);
int32_t belay_request_set_max_hold_ms(belay_request* request, int64_t max_hold_ms);
int32_t belay_request_set_notify(belay_request* request, int32_t notify);
int32_t belay_request_set_confirmed(belay_request* request, int32_t confirmed);
int64_t belay_lock(belay_client* client, const char* name, int64_t name_size, int64_t wait_ms,
                   belay_event** event);
int64_t belay_acquire(belay_client* client, const belay_request* request, int64_t owner,
                      int64_t wait_ms, belay_event** event);
int32_t belay_release(belay_client* client, int64_t hold);
int32_t belay_release_nowait(belay_client* client, int64_t hold);
int32_t belay_extend(belay_client* client, int64_t hold, int64_t lease_ms, belay_event** event);
int32_t belay_downgrade(belay_client* client, int64_t hold, belay_event** event);
int32_t belay_verify(belay_client* client, int64_t hold, belay_event** event);
int32_t belay_inspect(belay_client* client, const char* name, int64_t name_size,
                      belay_event** event);
int32_t belay_break(belay_client* client, const char* name, int64_t name_size, int64_t fence,
                    belay_event** event);
int32_t belay_list(belay_client* client, const char* pattern, int64_t pattern_size, int64_t limit,
                   belay_event** event);
int32_t belay_fenced_write(belay_client* client, const char* key, int64_t key_size, int64_t fence,
                           int32_t argc, const char* const* argv, const int64_t* sizes,
                           belay_event** event);
belay_words* belay_words_new(void);
void belay_words_free(belay_words* words);
const char* belay_words_error(const belay_words* words);
int32_t belay_words_add(belay_words* words, const char* word, int64_t size);
int32_t belay_fenced_write_words(belay_client* client, const char* key, int64_t key_size,
                                 int64_t fence, const belay_words* words, belay_event** event);
int32_t belay_semaphore_set_limit(belay_client* client, const char* name, int64_t name_size,
                                  int64_t limit, belay_event** event);
int64_t belay_semaphore_available(belay_client* client, const char* name, int64_t name_size,
                                  belay_event** event);
int64_t belay_latch_set(belay_client* client, const char* name, int64_t name_size, int64_t count,
                        int64_t ttl_ms, belay_event** event);
int64_t belay_latch_count_down(belay_client* client, const char* name, int64_t name_size, int64_t n,
                               belay_event** event);
int64_t belay_latch_count(belay_client* client, const char* name, int64_t name_size,
                          belay_event** event);
int32_t belay_submit_acquire(belay_client* client, int64_t tag, const belay_request* request,
                             int64_t owner, int64_t wait_ms);
int32_t belay_submit_release(belay_client* client, int64_t tag, int64_t hold);
int32_t belay_submit_extend(belay_client* client, int64_t tag, int64_t hold, int64_t lease_ms);
int32_t belay_submit_downgrade(belay_client* client, int64_t tag, int64_t hold);
int32_t belay_submit_verify(belay_client* client, int64_t tag, int64_t hold);
int32_t belay_submit_inspect(belay_client* client, int64_t tag, const char* name,
                             int64_t name_size);
int32_t belay_submit_break(belay_client* client, int64_t tag, const char* name, int64_t name_size,
                           int64_t fence);
int32_t belay_submit_list(belay_client* client, int64_t tag, const char* pattern,
                          int64_t pattern_size, int64_t limit);
int32_t belay_submit_fenced_write(belay_client* client, int64_t tag, const char* key,
                                  int64_t key_size, int64_t fence, int32_t argc,
                                  const char* const* argv, const int64_t* sizes);
int32_t belay_submit_fenced_write_words(belay_client* client, int64_t tag, const char* key,
                                        int64_t key_size, int64_t fence, const belay_words* words);
int32_t belay_submit_semaphore_set_limit(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size, int64_t limit);
int32_t belay_submit_semaphore_available(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size);
int32_t belay_submit_latch_set(belay_client* client, int64_t tag, const char* name,
                               int64_t name_size, int64_t count, int64_t ttl_ms);
int32_t belay_submit_latch_count_down(belay_client* client, int64_t tag, const char* name,
                                      int64_t name_size, int64_t n);
int32_t belay_submit_latch_count(belay_client* client, int64_t tag, const char* name,
                                 int64_t name_size);
int32_t belay_submit_ping(belay_client* client, int64_t tag);
belay_event* belay_acquire_within(belay_client* client, int64_t tag, const belay_request* request,
                                  int64_t owner, int64_t wait_ms, int64_t patience_ms);
belay_event* belay_release_within(belay_client* client, int64_t tag, int64_t hold,
                                  int64_t patience_ms);
int32_t belay_cancel(belay_client* client, int64_t tag);
belay_event* belay_next(belay_client* client, int64_t timeout_ms);
int64_t belay_hold_state(belay_client* client, int64_t hold);
int64_t belay_hold_remaining_ms(belay_client* client, int64_t hold);
int64_t belay_hold_fence(belay_client* client, int64_t hold, int32_t index);
int32_t belay_hold_abandon(belay_client* client, int64_t hold);
int64_t belay_owner_holds(belay_client* client, int64_t owner, const char* name, int64_t name_size);
int64_t belay_owner_hold(belay_client* client, int64_t owner, const char* name, int64_t name_size,
                         int64_t index);
void belay_event_free(belay_event* event);
int64_t belay_event_int(const belay_event* event, int32_t field);
int32_t belay_event_read(const belay_event* event, int64_t* values, int32_t count);
int32_t belay_event_kind(const belay_event* event);
int64_t belay_event_tag(const belay_event* event);
int32_t belay_event_status(const belay_event* event);
int64_t belay_event_hold(const belay_event* event);
int64_t belay_event_fence(const belay_event* event, int32_t index);
const char* belay_event_message(const belay_event* event);
const char* belay_event_text(const belay_event* event, int64_t* size);
int64_t belay_event_member_int(const belay_event* event, int32_t index, int32_t field);
const char* belay_event_member_text(const belay_event* event, int32_t index, int32_t field,
                                    int64_t* size);
