/* Belay: distributed locks on Redis and Valkey.
 *
 * The model. A *client* talks to one server and is shared by any number of threads. A *request*
 * names what to acquire. A granted request yields a *hold*: an id with a *lease* (how long the
 * server keeps the lock for us without hearing from us) and a *fence* (a number greater than any
 * that an earlier holder of that name used). The client's watchdog renews the lease until the hold
 * is released. A hold that can no longer be vouched for is LOST at its local deadline, with or
 * without a network; that state is sticky, and the first release reports it. Who may re-enter is
 * said by the *owner*: 0, the default, never re-enters; any other number is a thread, goroutine or
 * task of yours.
 *
 *   belay_options *options = belay_options_new();
 *   belay_options_set_url(options, "redis://localhost:6379");
 *   belay_client *client = belay_client_new(options);
 *   belay_options_free(options);
 *   int64_t hold = belay_lock(client, "orders:42", -1, 5000, NULL);
 *   if (hold > 0) {
 *     charge(belay_hold_fence(client, hold, 0));
 *     belay_release(client, hold);
 *   }
 *   belay_client_free(client);
 *
 * Conventions, which the comments below do not repeat:
 * - Blocking calls return a value > 0 or minus a belay_status; other calls return a belay_status.
 * An event handed out through `belay_event **why` (NULL: not wanted) carries the details of either
 * outcome and is the caller's to free. Where there is no event, belay_last_error() says what was
 * wrong.
 * - Asynchronous calls (`belay_submit_...`) take a tag that the caller chooses, 1..2^53-1, not in
 * use by a pending submission. An accepted submission (BELAY_OK) leads to exactly one event with
 * that tag; a refused one to none.
 * - Names are any bytes: `name` with `name_size` 1..1024, or -1 for a NUL-terminated string. Times
 * are milliseconds.
 * - Ids (holds, fences) stay within 1..2^53-1 and are never reused by a client.
 * - Ownership: a function ending in _new gives the caller an object to pass to the matching _free
 * (NULL is fine there). Strings returned belong to the object they were asked of and live as long
 * as it.
 * - Threads: a client may be used by any thread at any time. Options, a request or an event may be
 * used by one thread at a time. In a child after fork(), calls on older clients answer BELAY_FORKED
 * and touch nothing. No function is async-signal-safe: call none in a signal handler.
 * - Bad input changes nothing and answers a status of class BELAY_CLASS_MISUSE. Setters also
 * remember their first error, which the call that uses the object reports again.
 * - New event kinds and statuses may appear: ignore kinds you do not know, treat a status by its
 * class.
 */
#ifndef BELAY_BELAY_H
#define BELAY_BELAY_H

#include <stdint.h>

#if defined(_MSC_VER)
#define BELAY_API
#define BELAY_MUST_USE
#else
#define BELAY_API __attribute__((visibility("default")))
#define BELAY_MUST_USE __attribute__((warn_unused_result))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses
 * --------------------------------------------------------------------------------------------------
 */

/* The outcome of a call or a submission. The numbers are frozen. */
enum belay_status {
  BELAY_OK = 0,
  /* class RETRY: nothing is wrong; the same call may succeed later */
  BELAY_BUSY = 1,    /* a try found the lock held or waited for */
  BELAY_TIMEOUT = 2, /* wait_ms passed */
  BELAY_UNAVAILABLE =
      3, /* the server could not be reached, or did not answer, within the request timeout; or it is
            too far away: for that timeout, or for the lease of an acquire */
  BELAY_TOO_MANY_PENDING = 4, /* the limit of pending submissions is reached */
  /* class REFUSED: the server will not do it until somebody changes something */
  BELAY_AUTH_FAILED = 20,        /* wrong or missing user name or password */
  BELAY_NOT_PERMITTED = 21,      /* the ACL user lacks a right */
  BELAY_WRONG_TYPE = 22,         /* the name, or a key that we need, holds something else */
  BELAY_UNSUPPORTED_SERVER = 23, /* too old, or not Redis or Valkey */
  BELAY_SERVER_ERROR = 24,       /* any other error of the server, in its own words */
  BELAY_NOT_FOUND = 25,          /* nobody has made what is asked for */
  BELAY_LIMIT_DIFFERS = 26, /* the semaphore has another limit, or a lower one than asked for */
  BELAY_IN_USE = 27,        /* a latch that is running is set again */
  /* class MISUSE: the call is wrong */
  BELAY_INVALID_ARGUMENT = 40,
  BELAY_UNSUPPORTED_URL = 41,
  BELAY_TAG_IN_USE = 42,
  BELAY_UNKNOWN_TAG = 43,
  BELAY_UNKNOWN_HOLD = 44, /* never granted, or already released */
  BELAY_ALREADY_USED = 45, /* an object was changed after its first use */
  BELAY_WOULD_DEADLOCK =
      46, /* an owner who shares a name wants it alone: others may be waiting for the same */
  /* class GONE: the hold, the submission or the client has ended */
  BELAY_LOST = 60,
  BELAY_CANCELLED = 61,
  BELAY_CLOSED = 62,
  BELAY_FORKED = 63,
  BELAY_STALE_FENCE = 64 /* a write came after one with a newer fence */
};

enum belay_class {
  BELAY_CLASS_OK = 0,
  BELAY_CLASS_RETRY = 1,
  BELAY_CLASS_REFUSED = 2,
  BELAY_CLASS_MISUSE = 3,
  BELAY_CLASS_GONE = 4
};

/* The class of a status; of a status newer than this library, BELAY_CLASS_REFUSED. */
BELAY_API int32_t belay_status_class(int32_t status);
/* The name of a status in capitals, such as "TIMEOUT"; "UNKNOWN" for a number that is none. Never
 * NULL; static. */
BELAY_API const char* belay_status_name(int32_t status);
/* The text of the calling thread's latest call on a client that answered another status than OK, or
 * NULL: it names what was wrong. "" before the first; valid until the thread's next call. */
BELAY_API const char* belay_last_error(void);
/* The library's version, "major.minor.patch". Static. */
BELAY_API const char* belay_version(void);

/* ---- Options
 * ---------------------------------------------------------------------------------------------------
 */

typedef struct belay_options belay_options;

/* Create options with every default. */
BELAY_API belay_options* belay_options_new(void);
BELAY_API void belay_options_free(belay_options* options);
/* The text of the first error that these options met (a setter's, or belay_client_new's); "" where
 * there is none. */
BELAY_API const char* belay_options_error(const belay_options* options);

/* Set the server: redis://[[user]:password@]host[:port][/db] or
 * unix://[[user]:password@]/path[?db=n], parts percent-encoded, an IPv6 address in brackets.
 * Default: the environment's BELAY_URL, else redis://localhost:6379. Any other scheme, TLS and
 * lists of hosts answer UNSUPPORTED_URL. */
BELAY_API int32_t belay_options_set_url(belay_options* options, const char* url);
/* Set the ACL user; overrides the URL's. Default: the server's default user. */
BELAY_API int32_t belay_options_set_user(belay_options* options, const char* user);
/* Set the password; overrides the URL's. It never appears in a message or log, and is wiped from
 * memory when options and client are freed. */
BELAY_API int32_t belay_options_set_password(belay_options* options, const char* password);
/* Read the password from the first line of a file, or of a pipe, for which it waits 5 s at most; at
 * most 4095 bytes; overrides the URL's. A file that others than its owner may open is warned of in
 * the log. */
BELAY_API int32_t belay_options_set_password_file(belay_options* options, const char* path);
/* Set what inspect shows of this client beside host and process id, at most 64 bytes. Default: the
 * program's name. */
BELAY_API int32_t belay_options_set_label(belay_options* options, const char* label);
/* Set the prefix of all keys and channels, 1..64 bytes without braces. Default "belay:". All
 * clients that are to exclude each other need the same. */
BELAY_API int32_t belay_options_set_prefix(belay_options* options, const char* prefix);
/* Set the lease that the watchdog keeps renewing, at a third of it: how long others wait if this
 * process dies. 100..86400000, default 30000. */
BELAY_API int32_t belay_options_set_watchdog_lease_ms(belay_options* options, int64_t lease_ms);
/* Set the time within which the server must be reached and answer, apart from waiting for a
 * lock. 10..3600000, default 5000. */
BELAY_API int32_t belay_options_set_request_timeout_ms(belay_options* options, int64_t timeout_ms);
/* Set how long the watchdog keeps any one hold; then it stops renewing and says so by AT_RISK. 0
 * (default): for ever; else 100..2592000000 (30 days). */
BELAY_API int32_t belay_options_set_max_hold_ms(belay_options* options, int64_t max_hold_ms);
/* Set how many submissions may be pending at once, 1..10000000, default 100000. */
BELAY_API int32_t belay_options_set_max_pending(belay_options* options, int64_t count);

enum belay_log_level {
  BELAY_LOG_NONE = 0,
  BELAY_LOG_ERROR = 1,
  BELAY_LOG_WARNING = 2,
  BELAY_LOG_INFO = 3,
  BELAY_LOG_DEBUG = 4
};

/* Set what is written to stderr, a line a message. Default: the environment's BELAY_LOG (none,
 * error, warning, info, debug), else none. The client's own thread writes, a moment later, and
 * never waits: what a full stderr does not take is dropped and counted. Lines of a process that
 * ends without belay_client_free may be missing. */
BELAY_API int32_t belay_options_set_log_level(belay_options* options, int32_t level);

/* ---- Client
 * ----------------------------------------------------------------------------------------------------
 */

typedef struct belay_client belay_client;
typedef struct belay_event belay_event;

/* Create a client. It connects in the background, and again whenever the connection breaks. The
 * options may be freed afterwards or used for further clients, but no longer changed. NULL: see
 * belay_options_error. */
BELAY_API BELAY_MUST_USE belay_client* belay_client_new(belay_options* options);
/* Free a client: releases its holds (within 2 seconds at most), ends its waits with CLOSED, drops
 * undelivered events and joins its thread. Waits for calls that other threads are still making on
 * it; they must make no new ones. In a child after fork() it releases memory only. */
BELAY_API void belay_client_free(belay_client* client);
/* Begin an orderly end: waiting submissions end with CLOSED, holds are released within 2 seconds,
 * then one SHUTDOWN event follows, the last. Later submissions answer CLOSED. */
BELAY_API int32_t belay_client_shutdown(belay_client* client);
/* A descriptor that polls readable while an event is ready. For poll(2) only: never read, write or
 * close it. -1 after fork(). */
BELAY_API int32_t belay_client_fd(belay_client* client);
/* Ask the server for a sign of life. OK, UNAVAILABLE, CLOSED, or why it refuses us. */
BELAY_API int32_t belay_client_ping(belay_client* client, belay_event** why);

/* ---- Requests
 * --------------------------------------------------------------------------------------------------
 */

typedef struct belay_request belay_request;

enum belay_primitive {
  BELAY_LOCK = 1,      /* exclusive, or shared by readers or an identity */
  BELAY_SEMAPHORE = 2, /* a number of permits */
  BELAY_LATCH = 3      /* a countdown latch, which is awaited and not held */
};

/* Create a request for a primitive (enum belay_primitive). It may be used any number of times and
 * by several threads at once, but no longer changed after its first use. NULL on an unknown
 * primitive. */
BELAY_API belay_request* belay_request_new(int32_t primitive);
BELAY_API void belay_request_free(belay_request* request);
/* The text of the first error that this request's setters met; "" where there is none. */
BELAY_API const char* belay_request_error(const belay_request* request);
/* Add a name to acquire: 1..256 distinct ones of a lock, one of a semaphore. Several are acquired
 * all or none, and held as one: one hold and one lease, one LOST for all of them, and a fence for
 * each name, in the order in which they were added. Callers that name them in different orders do
 * not deadlock. While it waits, a request may keep others from some of the names. */
BELAY_API int32_t belay_request_add_name(belay_request* request, const char* name,
                                         int64_t name_size);
/* Add a name to read-lock: those who share a name hold it beside each other, and nobody holds it
 * alone meanwhile. First come, first served: a reader does not pass a writer who waits. Readers who
 * are granted together share a fence. Of locks only. */
BELAY_API int32_t belay_request_add_shared_name(belay_request* request, const char* name,
                                                int64_t name_size);
/* Set an identity, 1..256 bytes such as an order's id: requests that give the same one hold the
 * name together, from any client, each with a hold, lease and release of its own; everybody else
 * waits until the last of them has left or ended. All share a fence. Of locks only; not for shared
 * names. */
BELAY_API int32_t belay_request_set_identity(belay_request* request, const char* identity,
                                             int64_t identity_size);
/* Set how many of a semaphore's `limit` permits to acquire. `permits` 1..2^31-1, 0: all that are
 * free, which only a try asks for (wait_ms 0). `limit`: agreed on at the first use and remembered
 * for a day after the last; another one answers LIMIT_DIFFERS (belay_semaphore_set_limit changes
 * it). 0: as it is set, or NOT_FOUND.
 * Default: 1 permit, limit 0. A permit's fence orders grants; it does not exclude, as several hold
 * permits at once. Of semaphores only. */
BELAY_API int32_t belay_request_set_permits(belay_request* request, int64_t permits, int64_t limit);
/* Set for how long nobody gets the name after a hold of this request has been lost, 0..60000 ms,
 * default 0: time for what the loser may still have on its way. A release and a break free at once.
 * Where an owner re-enters, the delay of the first hold counts. */
BELAY_API int32_t belay_request_set_lock_delay_ms(belay_request* request, int64_t delay_ms);
/* Set a fixed lease, 100..86400000: the hold lasts exactly that long, is not renewed, and may be
 * extended. 0 (default): the watchdog's lease, renewed. */
BELAY_API int32_t belay_request_set_lease_ms(belay_request* request, int64_t lease_ms);
/* Set the owner, 0..2^53-1. 0 (default): every acquire excludes every other. Otherwise holds of the
 * same owner nest: an acquire by the owner that holds the name is granted at once, without the
 * server; the last release frees. */
BELAY_API int32_t belay_request_set_owner(belay_request* request, int64_t owner);
/* Set the limit of belay_options_set_max_hold_ms for this request's holds. Default: the client's.
 */
BELAY_API int32_t belay_request_set_max_hold_ms(belay_request* request, int64_t max_hold_ms);
/* Queue LOST, AT_RISK and RECOVERED events also for holds that blocking calls take (1), or not (0,
 * default). Holds of asynchronous submissions always have them. */
BELAY_API int32_t belay_request_set_notify(belay_request* request, int32_t notify);

/* ---- Blocking calls
 * -------------------------------------------------------------------------------------------- */

/* Acquire the lock `name` for owner 0 with the watchdog's lease. `wait_ms` bounds the wait for the
 * lock: 0 = one try, -1 = no limit, also through outages. Reaching the server is bounded by the
 * request timeout instead, which also a try gets. Returns a hold, or minus BUSY (a try), TIMEOUT,
 * UNAVAILABLE, CLOSED, a REFUSED or a MISUSE status. */
BELAY_API BELAY_MUST_USE int64_t belay_lock(belay_client* client, const char* name,
                                            int64_t name_size, int64_t wait_ms, belay_event** why);
/* Acquire what the request says. As belay_lock otherwise.
 * Of a latch: wait until the generation that is current when the server is asked has been opened.
 * There is nothing to hold or release; returns that generation, or minus NOT_FOUND where there is
 * no latch, or none any more. */
BELAY_API BELAY_MUST_USE int64_t belay_acquire(belay_client* client, belay_request* request,
                                               int64_t wait_ms, belay_event** why);
/* Release a hold. In any case the hold is no longer ours when this returns. Blocks for the request
 * timeout or until the lease ends, whichever is sooner. Returns OK; LOST when the hold had been
 * lost; UNAVAILABLE when no answer came in time (the release goes on in the background, and the
 * lease ends it at the latest); UNKNOWN_HOLD, changing nothing. */
BELAY_API int32_t belay_release(belay_client* client, int64_t hold);
/* As belay_release, with the details. */
BELAY_API int32_t belay_release_why(belay_client* client, int64_t hold, belay_event** why);
/* Let a fixed-lease hold last `lease_ms` (100..86400000) from now; never shortens it. OK, LOST,
 * UNAVAILABLE, UNKNOWN_HOLD, or INVALID_ARGUMENT for a hold that the watchdog renews. */
BELAY_API int32_t belay_extend(belay_client* client, int64_t hold, int64_t lease_ms,
                               belay_event** why);
/* Share an exclusive hold of a lock with readers from now on, without letting go in between: the
 * hold keeps its fence, and readers that wait next in line get the name too. The other way, from
 * shared to exclusive, answers WOULD_DEADLOCK when the owner asks for it. OK, LOST, UNAVAILABLE,
 * UNKNOWN_HOLD, or INVALID_ARGUMENT where the owner holds the name more than once. */
BELAY_API int32_t belay_downgrade(belay_client* client, int64_t hold, belay_event** why);
/* Ask the server whether the hold is still ours. OK, LOST, UNAVAILABLE, UNKNOWN_HOLD. Costs a round
 * trip; belay_hold_state is local. */
BELAY_API int32_t belay_verify(belay_client* client, int64_t hold, belay_event** why);
/* Ask who holds a name and who waits for it: the event's members; of a latch also its
 * BELAY_EVENT_GENERATION and BELAY_EVENT_COUNT. OK (also where nobody does),
 * UNAVAILABLE, WRONG_TYPE. */
BELAY_API int32_t belay_inspect(belay_client* client, const char* name, int64_t name_size,
                                belay_event** result);
/* Take a name from its holder by force and give it to the first waiter. `fence`: only if the
 * holder's fence is this; 0: whoever holds it. The event's members say whose it was; none where
 * nobody was parted from it. A latch is ended, if its generation is `fence`: who waits for it gets
 * NOT_FOUND, and the event has the generation. */
BELAY_API int32_t belay_break(belay_client* client, const char* name, int64_t name_size,
                              int64_t fence, belay_event** result);
/* Find the names in use that match a glob pattern (*, ?, [a-z], \ escapes): the event's members.
 * SCANs the server in small steps, until it has found more than `limit` names (1..1000000); the
 * event has `limit` of them. OK, or UNAVAILABLE where the request timeout was too short for all. */
BELAY_API int32_t belay_list(belay_client* client, const char* pattern, int64_t limit,
                             belay_event** result);

/* Write one key under a fence: perform one Redis command on `key`, any key of yours, unless a newer
 * fence has been seen for that key. So a holder that lost its lock without knowing it spoils
 * nothing that a later holder has written. Every writer of the key has to write it so.
 *
 *   const char *argv[] = {"SET", "paid", "PX", "60000"};
 *   int64_t fence = belay_hold_fence(client, hold, 0);
 *   belay_fenced_write(client, "order:42", -1, fence, 4, argv, NULL, NULL);
 *
 * `argv`: the command's name and its arguments after the key, `argc` (1..1000) words; `sizes`:
 * their sizes, -1 for one that NUL ends; NULL: NUL ends all. `key`: as a name, 1..1024 bytes. The
 * command has to be one that writes its first argument and touches no other key, such as SET, INCR,
 * HSET, LPUSH, ZADD, XADD, EXPIRE or DEL; any other answers INVALID_ARGUMENT. The fences of a key
 * are remembered for ever, in a small key of their own beside it (lib/scripts/README.md).
 *
 * Returns OK: the event's text is the server's reply; STALE_FENCE: nothing was written, and the
 * event's fence is the newest one seen; WRONG_TYPE or SERVER_ERROR: the command failed, and neither
 * key nor fence was changed; UNAVAILABLE: if it is in doubt (belay_event_in_doubt_ms), the reply
 * was lost, and the write may or may not have taken place. It is not repeated then. */
BELAY_API int32_t belay_fenced_write(belay_client* client, const char* key, int64_t key_size,
                                     int64_t fence, int32_t argc, const char* const* argv,
                                     const int64_t* sizes, belay_event** result);

/* Set how many permits a semaphore has, `limit` 1..2^31-1, whatever it had. More permits go to who
 * waits, at once. Fewer take nothing back: whoever has a permit keeps it until it is released. OK;
 * WRONG_TYPE where the name is another thing's; UNAVAILABLE. The event has BELAY_EVENT_LIMIT and
 * BELAY_EVENT_AVAILABLE. */
BELAY_API int32_t belay_semaphore_set_limit(belay_client* client, const char* name,
                                            int64_t name_size, int64_t limit, belay_event** why);
/* Ask how many permits of a semaphore are free, 0 also where more are in use than its limit is by
 * now. Returns that, or minus NOT_FOUND where no limit is set, WRONG_TYPE, UNAVAILABLE. The event
 * has BELAY_EVENT_AVAILABLE and BELAY_EVENT_LIMIT. Somebody else may be the first to take them. */
BELAY_API BELAY_MUST_USE int64_t belay_semaphore_available(belay_client* client, const char* name,
                                                           int64_t name_size, belay_event** why);

/* Set a countdown latch, which opens when its count has come down to 0, and stays open until it is
 * set again or `ttl_ms` has passed. `count`: 1..10^9. `ttl_ms`: for how long the latch stands from
 * now, 100..2592000000 (30 days); 0: for ever. Each time that it is set is a generation of its own,
 * with a number greater than any before: waiting for one is not confused by the next. Returns the
 * generation, or minus IN_USE while it is running (the event's BELAY_EVENT_COUNT says how far it
 * is), WRONG_TYPE where the name is another thing's, UNAVAILABLE. Where the connection is cut and
 * others open and set the latch before the request is repeated, the generation is theirs, or it is
 * NOT_FOUND where that is gone. */
BELAY_API int64_t belay_latch_set(belay_client* client, const char* name, int64_t name_size,
                                  int64_t count, int64_t ttl_ms, belay_event** why);
/* Count a latch down by `n`, 1..10^9; at 0 it opens, and stays at 0. Counts once, also where the
 * connection is cut and the request is repeated. Returns the count that is left, or minus NOT_FOUND
 * where there is no such latch, WRONG_TYPE, UNAVAILABLE. */
BELAY_API int64_t belay_latch_count_down(belay_client* client, const char* name, int64_t name_size,
                                         int64_t n, belay_event** why);
/* Ask for the count of a latch: 0 when it is open. As belay_latch_count_down otherwise. */
BELAY_API BELAY_MUST_USE int64_t belay_latch_count(belay_client* client, const char* name,
                                                   int64_t name_size, belay_event** why);

/* ---- Asynchronous calls
 * ---------------------------------------------------------------------------------------- */

/* As belay_acquire; the event is BELAY_EVENT_ACQUIRED, with status OK, BUSY, TIMEOUT, CANCELLED,
 * CLOSED, UNAVAILABLE or a REFUSED one. An outcome other than OK means that we do not own the lock,
 * and nothing will act as if we did. Of a latch the event has no hold, but BELAY_EVENT_GENERATION.
 */
BELAY_API int32_t belay_submit_acquire(belay_client* client, int64_t tag, belay_request* request,
                                       int64_t wait_ms);
/* As belay_release_why; BELAY_EVENT_RELEASED. */
BELAY_API int32_t belay_submit_release(belay_client* client, int64_t tag, int64_t hold);
/* As belay_extend; BELAY_EVENT_EXTENDED. */
BELAY_API int32_t belay_submit_extend(belay_client* client, int64_t tag, int64_t hold,
                                      int64_t lease_ms);
/* As belay_downgrade; BELAY_EVENT_DOWNGRADED. */
BELAY_API int32_t belay_submit_downgrade(belay_client* client, int64_t tag, int64_t hold);
/* As belay_verify; BELAY_EVENT_VERIFIED. */
BELAY_API int32_t belay_submit_verify(belay_client* client, int64_t tag, int64_t hold);
/* As belay_inspect; BELAY_EVENT_INSPECTED. */
BELAY_API int32_t belay_submit_inspect(belay_client* client, int64_t tag, const char* name,
                                       int64_t name_size);
/* As belay_break; BELAY_EVENT_BROKEN. */
BELAY_API int32_t belay_submit_break(belay_client* client, int64_t tag, const char* name,
                                     int64_t name_size, int64_t fence);
/* As belay_list; BELAY_EVENT_LISTED. */
BELAY_API int32_t belay_submit_list(belay_client* client, int64_t tag, const char* pattern,
                                    int64_t limit);
/* As belay_fenced_write; BELAY_EVENT_WRITTEN. All of `argv` is copied. */
BELAY_API int32_t belay_submit_fenced_write(belay_client* client, int64_t tag, const char* key,
                                            int64_t key_size, int64_t fence, int32_t argc,
                                            const char* const* argv, const int64_t* sizes);
/* As belay_semaphore_set_limit; BELAY_EVENT_SEMAPHORE_LIMIT_SET. */
BELAY_API int32_t belay_submit_semaphore_set_limit(belay_client* client, int64_t tag,
                                                   const char* name, int64_t name_size,
                                                   int64_t limit);
/* As belay_semaphore_available; BELAY_EVENT_SEMAPHORE_AVAILABLE. */
BELAY_API int32_t belay_submit_semaphore_available(belay_client* client, int64_t tag,
                                                   const char* name, int64_t name_size);
/* As belay_latch_set; BELAY_EVENT_LATCH_SET. */
BELAY_API int32_t belay_submit_latch_set(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size, int64_t count, int64_t ttl_ms);
/* As belay_latch_count_down; BELAY_EVENT_LATCH_COUNTED_DOWN. */
BELAY_API int32_t belay_submit_latch_count_down(belay_client* client, int64_t tag, const char* name,
                                                int64_t name_size, int64_t n);
/* As belay_latch_count; BELAY_EVENT_LATCH_COUNT. */
BELAY_API int32_t belay_submit_latch_count(belay_client* client, int64_t tag, const char* name,
                                           int64_t name_size);
/* As belay_client_ping; BELAY_EVENT_PINGED. */
BELAY_API int32_t belay_submit_ping(belay_client* client, int64_t tag);
/* Cancel a pending submission. Its one event still comes: CANCELLED, or what happened first.
 * What changes something on the server, other than by an acquire, is not undone: its event says how
 * it ended. UNKNOWN_TAG where none is pending. */
BELAY_API int32_t belay_cancel(belay_client* client, int64_t tag);
/* Take the next event, waiting for it up to `timeout_ms` (0 = not at all, -1 = without limit).
 * NULL: none in time, or SHUTDOWN has been delivered. */
BELAY_API BELAY_MUST_USE belay_event* belay_next(belay_client* client, int64_t timeout_ms);

/* ---- Holds: local reads, no network
 * ---------------------------------------------------------------------------- */

enum belay_hold_status {
  BELAY_HELD = 1,
  BELAY_AT_RISK = 2,  /* still ours, but renewal is failing or has stopped */
  BELAY_HOLD_LOST = 3 /* not ours any more */
};

/* The state of a hold (enum belay_hold_status), as of now; minus UNKNOWN_HOLD after its release. */
BELAY_API int32_t belay_hold_state(belay_client* client, int64_t hold);
/* How long the hold is certainly ours without any further news, in milliseconds; 0 once it is lost;
 * minus UNKNOWN_HOLD. */
BELAY_API int64_t belay_hold_remaining_ms(belay_client* client, int64_t hold);
/* The fence of the hold's name number `index` (0 is the first), also after it is lost; minus
 * UNKNOWN_HOLD or INVALID_ARGUMENT. */
BELAY_API int64_t belay_hold_fence(belay_client* client, int64_t hold, int32_t index);
/* Stop renewing a hold and forget it without telling the server: others get it when its lease ends.
 */
BELAY_API int32_t belay_hold_abandon(belay_client* client, int64_t hold);

/* ---- Events
 * ----------------------------------------------------------------------------------------------------
 */

enum belay_event_kind {
  BELAY_EVENT_ACQUIRED = 1,
  BELAY_EVENT_RELEASED = 2,
  BELAY_EVENT_EXTENDED = 3,
  BELAY_EVENT_VERIFIED = 4,
  BELAY_EVENT_INSPECTED = 5,
  BELAY_EVENT_BROKEN = 6,
  BELAY_EVENT_LISTED = 7,
  BELAY_EVENT_PINGED = 8,
  BELAY_EVENT_WRITTEN = 9,
  BELAY_EVENT_LATCH_SET = 10,
  BELAY_EVENT_LATCH_COUNTED_DOWN = 11,
  BELAY_EVENT_LATCH_COUNT = 12,
  BELAY_EVENT_DOWNGRADED = 13,
  BELAY_EVENT_SEMAPHORE_LIMIT_SET = 14,
  BELAY_EVENT_SEMAPHORE_AVAILABLE = 15,
  BELAY_EVENT_LOST = 20, /* once per hold, tag 0: it is not ours any more */
  BELAY_EVENT_AT_RISK =
      21, /* tag 0: less than a third of the lease is left and renewal fails or has stopped */
  BELAY_EVENT_RECOVERED = 22, /* tag 0: takes an AT_RISK back */
  BELAY_EVENT_SHUTDOWN = 30   /* tag 0: the last event of a client */
};

BELAY_API void belay_event_free(belay_event* event);
/* The kind (enum belay_event_kind): what has completed or happened. */
BELAY_API int32_t belay_event_kind(const belay_event* event);
BELAY_API int64_t belay_event_tag(const belay_event* event);
BELAY_API int32_t belay_event_status(const belay_event* event);
/* The hold that the event is about, 0 where there is none. */
BELAY_API int64_t belay_event_hold(const belay_event* event);
/* The fence of the hold's name number `index`, or the newest of a WRITTEN event's key; 0 where
 * there is none. */
BELAY_API int64_t belay_event_fence(const belay_event* event, int32_t index);
/* How long the hold was certainly ours from the moment of the event, in milliseconds. */
BELAY_API int64_t belay_event_remaining_ms(const belay_event* event);
/* How many permits an acquire got; 1 for a lock, 0 where there is none. */
BELAY_API int64_t belay_event_permits(const belay_event* event);
/* For how long after the event an outcome that we cannot know may still matter, in milliseconds:
 * until then the server may keep a lock for us that we do not use, or a release may not have taken
 * place. A latch's or a semaphore's change, a break or a fenced write has taken place by then or
 * never will, also where its server stands still meanwhile; which of the two is not told. That
 * goes for one that was refused, too, where what was cut off may still arrive. An extension or a
 * downgrade may take place for as long as the server keeps the hold. 0: the outcome is known. */
BELAY_API int64_t belay_event_in_doubt_ms(const belay_event* event);
/* One line for people: what failed, where, and the server's own words. "" where there is nothing to
 * say. */
BELAY_API const char* belay_event_message(const belay_event* event);

enum belay_event_field {
  BELAY_EVENT_COUNT = 1,      /* of a latch: what is left to be counted down */
  BELAY_EVENT_GENERATION = 2, /* of a latch */
  BELAY_EVENT_AVAILABLE = 3,  /* of a semaphore: how many permits are free */
  BELAY_EVENT_LIMIT = 4       /* of a semaphore */
};

/* A number that the event tells (enum belay_event_field); 0 where it has none. */
BELAY_API int64_t belay_event_int(const belay_event* event, int32_t field);
/* What the server replied to a WRITTEN event's command: the bytes of a string, the digits of an
 * integer; "" where it was nothing or a list. NUL-terminated; `size`, unless NULL, gets its length.
 */
BELAY_API const char* belay_event_text(const belay_event* event, int64_t* size);

/* The members of an INSPECTED, BROKEN or LISTED event. */
enum belay_member_field {
  BELAY_MEMBER_ROLE = 1,     /* int: enum belay_member_role */
  BELAY_MEMBER_NAME = 2,     /* text: the name, of LISTED */
  BELAY_MEMBER_CLIENT = 3,   /* text: the client's id */
  BELAY_MEMBER_LABEL = 4,    /* text */
  BELAY_MEMBER_HOST = 5,     /* text */
  BELAY_MEMBER_PID = 6,      /* int */
  BELAY_MEMBER_SINCE_MS = 7, /* int: for how long it has been holder or waiter */
  BELAY_MEMBER_LEASE_MS = 8, /* int: a holder's remaining lease */
  BELAY_MEMBER_FENCE = 9, /* int: a holder's fence as the server knows it; local handoffs since then
                             used later ones */
  BELAY_MEMBER_HOLDS = 10,         /* int: the holder's local holds as of its last renewal */
  BELAY_MEMBER_LOCAL_WAITERS = 11, /* int: the holder's local waiters as of its last renewal */
  BELAY_MEMBER_PERMITS = 12,       /* int: of a semaphore */
  BELAY_MEMBER_SHARED = 13         /* int: 1 for a reader of a lock */
};

enum belay_member_role { BELAY_ROLE_HOLDER = 1, BELAY_ROLE_WAITER = 2, BELAY_ROLE_NAME = 3 };

/* How many members the event lists: the holder first, then the waiters in order; or the names
 * found. */
BELAY_API int32_t belay_event_member_count(const belay_event* event);
/* How many members there were in all; more than listed where a limit cut the list. */
BELAY_API int64_t belay_event_member_total(const belay_event* event);
/* A number of member `index`; 0 where the member has none. */
BELAY_API int64_t belay_event_member_int(const belay_event* event, int32_t index, int32_t field);
/* A text of member `index`, NUL-terminated (`size`, unless NULL, gets its length, as names may
 * contain NUL); "" where the member has none. */
BELAY_API const char* belay_event_member_text(const belay_event* event, int32_t index,
                                              int32_t field, int64_t* size);

#ifdef __cplusplus
}
#endif

#endif
