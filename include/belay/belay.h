/* Belay: distributed locks on Redis and Valkey.
 *
 * A *client* talks to one server or master. Any number of threads share it. A *request* says what to acquire.
 * A granted request gives a *hold*: a number that stands for the lock until you release it. A hold has a
 * *lease*: how long the server keeps the lock without hearing from this client. The client renews the lease
 * until the release. It also has a *fence*: a number that is greater than the fence of every earlier holder of
 * the name.
 *
 * If a client cannot confirm a hold, it declares the hold LOST before or when its lease ends. It needs no
 * network for that. LOST is final. The first release of a lost hold returns BELAY_LOST.
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
 * Rules for all functions:
 *
 * - Results. A function that returns int32_t and can fail returns a status: BELAY_OK, or another enum
 *   belay_status. A function that returns int64_t returns a number of 0 or more, or minus a status:
 *   belay_lock returns a hold, or -BELAY_TIMEOUT. Functions that only read an event, a status or an option
 *   cannot fail; what an event does not have reads as 0 or "".
 * - Events. A call with a last argument `event` gives an event with the details, of a success and of a
 *   failure. NULL: not wanted. The caller frees the event.
 * - Asynchronous calls (belay_submit_...). You choose a tag, 1..2^53-1, that no pending submission has. A
 *   submission is pending until its event is in the queue: then the tag is free again. BELAY_OK means that
 *   exactly one event with this tag follows. The event also reports a wrong argument. Another status means
 *   that no event follows: INVALID_ARGUMENT (the client is NULL, or the tag out of range), TAG_IN_USE,
 *   TOO_MANY_PENDING, CLOSED or FORKED.
 * - Names are bytes: `name_size` is 1..1024, or -1 if NUL ends the name. Times are in milliseconds. A wait of
 *   0 does not wait, and -1 waits without limit.
 * - Holds are 1..2^53-1, fences 1..2^52. A hold's number is never used twice in a process. Each process
 *   counts its own holds: do not store the number elsewhere.
 * - Ownership. Pass what a function ending in _new returns to the matching _free; NULL is fine there. A
 *   returned string belongs to the object it was asked of. It lives until that object is changed or freed.
 *   Strings for people are valid UTF-8.
 * - Threads. Any thread may use a client at any time. Any thread may use a request that nobody changes any
 *   more. Only one thread at a time may use options or an event. No function is async-signal-safe: call none
 *   in a signal handler.
 * - fork(). In the child, calls on a client of the parent return BELAY_FORKED and change nothing; the child
 *   may free it.
 * - Bad input changes nothing and gives a status of class BELAY_CLASS_MISUSE. A call judges the client first,
 *   then the tag and the limit of submissions, then its other arguments. A setter's first error is kept,
 *   whatever is set later: the call that uses the object reports it again. So if a setter is called after the
 *   first use (ALREADY_USED), all later uses of that request fail.
 * - Later versions add statuses, event kinds and fields: ignore an event of an unknown kind, and treat an
 *   unknown status by its class.
 */
#ifndef BELAY_BELAY_H
#define BELAY_BELAY_H

#include <stdint.h>

#if defined(SWIG) || defined(_MSC_VER)
#define BELAY_API
#define BELAY_MUST_USE
#else
#define BELAY_API __attribute__((visibility("default")))
#define BELAY_MUST_USE __attribute__((warn_unused_result))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses ------------------------------------------------------------------------------------------ */

/* How a call or a submission ended. The numbers never change. */
enum belay_status {
  BELAY_OK = 0,

  /* BELAY_CLASS_RETRY: nothing is wrong. The same call may succeed later. */
  BELAY_BUSY = 1,        /* a try found the lock held, or others waiting for it */
  BELAY_TIMEOUT = 2,     /* the wait for the lock has ended */
  BELAY_UNAVAILABLE = 3, /* the server did not answer in time, or is too far away for the request timeout */
  BELAY_TOO_MANY_PENDING = 4, /* a submission would exceed max_pending */

  /* BELAY_CLASS_REFUSED: the server refuses until somebody changes something there. */
  BELAY_AUTH_FAILED = 20,        /* wrong or missing user name, password or certificate, also the server's */
  BELAY_NOT_PERMITTED = 21,      /* the ACL user lacks a right */
  BELAY_WRONG_TYPE = 22,         /* the name, or a key that it needs, is in use for something else */
  BELAY_UNSUPPORTED_SERVER = 23, /* too old, neither Redis nor Valkey, or TLS only on one side */
  BELAY_SERVER_ERROR = 24,       /* any other error of the server, in its own words */
  BELAY_NOT_FOUND = 25,          /* the latch or the semaphore's limit is not set */
  BELAY_LIMIT_DIFFERS = 26, /* the semaphore has another limit, or a lower one than the permits asked for */
  BELAY_IN_USE = 27,        /* the latch is set and has not opened yet */

  /* BELAY_CLASS_MISUSE: the call is wrong. */
  BELAY_INVALID_ARGUMENT = 40, /* the message names it */
  BELAY_UNSUPPORTED_URL = 41,  /* the message says what of it */
  BELAY_TAG_IN_USE = 42,       /* a pending submission has this tag */
  BELAY_UNKNOWN_TAG = 43,      /* no pending submission has this tag */
  BELAY_UNKNOWN_HOLD = 44,     /* never granted, already released, or abandoned */
  BELAY_ALREADY_USED = 45,     /* options or a request were changed after their first use */
  BELAY_WOULD_DEADLOCK = 46,   /* an owner that shares a name asks for it alone, or with others */

  /* BELAY_CLASS_GONE: the hold, the submission or the client has ended. */
  BELAY_LOST = 60,       /* the hold is not ours any more; BELAY_FIELD_REASON says why */
  BELAY_CANCELLED = 61,  /* by belay_cancel */
  BELAY_CLOSED = 62,     /* the client has been shut down */
  BELAY_FORKED = 63,     /* the client belongs to the parent process */
  BELAY_STALE_FENCE = 64 /* a newer fence has written this key */
};

enum belay_class {
  BELAY_CLASS_OK = 0,
  BELAY_CLASS_RETRY = 1,
  BELAY_CLASS_REFUSED = 2,
  BELAY_CLASS_MISUSE = 3,
  BELAY_CLASS_GONE = 4
};

/* The class of a status. BELAY_CLASS_REFUSED for a status that this library does not know. Also takes minus a
 * status, as calls return it. */
BELAY_API int32_t belay_status_class(int64_t status);
/* The name of a status, such as "TIMEOUT"; "UNKNOWN" for a number that is none. Also takes minus a status. */
BELAY_API const char* belay_status_name(int64_t status);
/* The version of the library, "major.minor.patch". */
BELAY_API const char* belay_version(void);
/* The number of this binary interface. When programs must be compiled anew, BELAY_ABI grows and the library
 * gets a new soname, libbelay.so.BELAY_ABI. That is so if a function, a number or a rule of this file has
 * changed or gone. Additions do not change it. */
#define BELAY_ABI 1
/* The BELAY_ABI that the library was built with. A program that loads the library by dlopen compares it with
 * its own (belay/dl.h). */
BELAY_API int32_t belay_abi(void);

/* ---- Options ------------------------------------------------------------------------------------------- */

typedef struct belay_options belay_options;

/* Create options. All have their defaults. */
BELAY_API belay_options* belay_options_new(void);
BELAY_API void belay_options_free(belay_options* options);
/* What was wrong first: in a setter, in the environment, or in belay_client_new. "" if nothing was. */
BELAY_API const char* belay_options_error(const belay_options* options);

/* Set the server: redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path. Parts are
 * percent-encoded; an IPv6 address stands in brackets. Default: the environment variable BELAY_URL, else
 * redis://localhost:6379. rediss:// is redis:// with TLS. Other schemes give UNSUPPORTED_URL, and so does
 * rediss:// if the library was built without TLS.
 * redis://host1,host2:port,host3 names a master and its replicas in any order, 32 hosts at most. The client
 * uses the one that says that it is the master, and looks for it again when that changes. User, password and
 * database are the same for all. docs/guarantees.md says what a failover may lose.
 * redis-sentinel://[[user]:password@]sentinel1[:port],sentinel2,.../NAME[?db=n] is the master that these
 * sentinels know as NAME; their port is 26379 unless it says another. The client asks all of them where it
 * is, and follows it when they make another host the master. User, password and database are the master's;
 * the options sentinel_user and sentinel_password are the sentinels'. rediss-sentinel:// is the same with TLS,
 * to the sentinels and to the master.
 * redis-cluster://[[user]:password@]host1[:port],host2,... is the cluster to which these nodes belong: one of
 * them that can be reached is enough. The client asks it where the slots are, and follows them when they
 * move. User and password are those of all nodes. rediss-cluster:// is the same with TLS.
 * Parameters set options by their names (belay_option_name): redis://host/0?watchdog_lease_ms=10000&label=x.
 * The database of a unix socket and of sentinels is the parameter db. The options url, user, password,
 * password_file and sentinel_password cannot be parameters. A parameter that is given twice is an error. A
 * setter overrides the URL's parameter, whichever comes first. A later URL replaces all of an earlier one,
 * but not its error. */
BELAY_API int32_t belay_options_set_url(belay_options* options, const char* url);
/* Set the ACL user, instead of the URL's. Default: the server's default user. */
BELAY_API int32_t belay_options_set_user(belay_options* options, const char* user);
/* Set the password, instead of the URL's. No message or log line contains it. It is wiped from memory when
 * the options and the client are freed. */
BELAY_API int32_t belay_options_set_password(belay_options* options, const char* password);
/* Read the password from a file's first line, 4095 bytes at most, instead of the URL's: again at each
 * connection, UNAVAILABLE if that fails; of a pipe once, within 5 s. The log warns of a file open to others. */
BELAY_API int32_t belay_options_set_password_file(belay_options* options, const char* path);
/* Set the text that inspect shows of this client beside host and process id, at most 64 bytes. Default: the
 * program's name. */
BELAY_API int32_t belay_options_set_label(belay_options* options, const char* label);
/* Set the prefix of all keys and channels, 1..64 bytes without braces. Default: "belay:". Clients exclude
 * each other only if they have the same prefix. */
BELAY_API int32_t belay_options_set_prefix(belay_options* options, const char* prefix);
/* Set the lease of holds that the client renews, 100..86400000; default 30000. If this process dies, others
 * wait until this lease ends. The client renews after a third of it. */
BELAY_API int32_t belay_options_set_watchdog_lease_ms(belay_options* options, int64_t lease_ms);
/* Set how long a call waits for the server to be reached and to answer, 10..3600000; default 5000. The wait
 * for a lock does not count. */
BELAY_API int32_t belay_options_set_request_timeout_ms(belay_options* options, int64_t timeout_ms);
/* Set for how long the client renews a hold, 100..2592000000 (30 days); 0, the default: without limit. When
 * the client stops renewing, it sends an AT_RISK event. */
BELAY_API int32_t belay_options_set_max_hold_ms(belay_options* options, int64_t max_hold_ms);
/* Set the limit of submissions, 1..10000000; default 100000. It counts pending submissions, and events of
 * submissions that wait to be taken. At the limit, a belay_submit_ or _within call gives TOO_MANY_PENDING; a
 * release never does. Blocking calls do not count: each has a thread of its own. */
BELAY_API int32_t belay_options_set_max_pending(belay_options* options, int64_t count);

/* TLS. Of a URL with rediss:// only. The server must have a certificate for its host name, or for its address
 * if the URL has that, from a CA that the client trusts. The client reads all files again at each connection,
 * so they may be replaced at any time. They are in PEM format, and a key has no passphrase. belay_client_new
 * fails if a file is of no use. If one is later, calls give AUTH_FAILED until it is mended.
 * Each option is "" by default, at most 4095 bytes, and may stand in the environment: BELAY_TLS_CA_FILE,
 * BELAY_TLS_CA_DIR, BELAY_TLS_CERT_FILE, BELAY_TLS_KEY_FILE, BELAY_TLS_SERVER_NAME, BELAY_TLS_MIN_VERSION. */

/* Set a file with CAs to trust. Without it and belay_options_set_tls_ca_dir, the system's are trusted. */
BELAY_API int32_t belay_options_set_tls_ca_file(belay_options* options, const char* path);
/* Set a folder with CAs to trust, one a file, named as `openssl rehash` does. */
BELAY_API int32_t belay_options_set_tls_ca_dir(belay_options* options, const char* path);
/* Set a file with this client's certificate and, after it, those of the CAs between it and the server's. */
BELAY_API int32_t belay_options_set_tls_cert_file(belay_options* options, const char* path);
/* Set the file with the key of this client's certificate. Default: the file of the certificate. */
BELAY_API int32_t belay_options_set_tls_key_file(belay_options* options, const char* path);
/* Set the name or the address that the server's certificate must have, at most 253 bytes, instead of the
 * URL's host. The client also asks for this name (SNI). */
BELAY_API int32_t belay_options_set_tls_server_name(belay_options* options, const char* name);
/* Set the oldest version of TLS to speak: "1.2", the default, or "1.3". */
BELAY_API int32_t belay_options_set_tls_min_version(belay_options* options, const char* version);

enum belay_log_level {
  BELAY_LOG_NONE = 0,
  BELAY_LOG_ERROR = 1,
  BELAY_LOG_WARNING = 2,
  BELAY_LOG_INFO = 3,
  BELAY_LOG_DEBUG = 4
};

/* Set what the client writes to stderr, one line a message. Default: the environment variable BELAY_LOG
 * (none, error, warning, info, debug), else none. The client's own thread writes and never waits: it drops
 * and counts what a full stderr does not take. A process that ends without belay_client_free may lose lines. */
BELAY_API int32_t belay_options_set_log_level(belay_options* options, int32_t level);

/* Set any option by its name, as its setter does: "watchdog_lease_ms", "10000". A number stands in the
 * option's unit; a level is a name or a number. An unknown name gives INVALID_ARGUMENT. Options that have no
 * setter:
 * sentinel_user, sentinel_password: who the client is to sentinels; default: nobody. Also from the
 * environment: BELAY_SENTINEL_USER, BELAY_SENTINEL_PASSWORD.
 * address_map: where servers are reached that announce other addresses, as behind NAT or in containers:
 * "10.0.0.1:6379=localhost:7001,10.0.0.2:6379=localhost:7002". Default: none. Also from the
 * environment: BELAY_ADDRESS_MAP.
 * log_events: what the client tells by LOG events, a level; default none. 1000 of them wait to be taken at
 * most; the next one tells how many were dropped meanwhile. They do not count as pending. */
BELAY_API int32_t belay_options_set(belay_options* options, const char* name, const char* value);
/* The value of the option `name` in these options, as belay_options_set takes it: the default, or what the
 * environment, the URL or a setter says. "" for url, user, password, password_file and sentinel_password,
 * which may hold a secret. What is wrong in the environment or the URL, only belay_options_error tells. The
 * text lives until the next call for the same option; call this also after belay_client_new. NULL: there is no
 * such option, or `options` is NULL. */
BELAY_API const char* belay_options_get(belay_options* options, const char* name);
/* The name of option number `index`, 0 for the first. NULL: there are no more. */
BELAY_API const char* belay_option_name(int32_t index);

/* What belay_option_text tells of an option. */
enum belay_option_what {
  BELAY_OPTION_ABOUT = 1,    /* a few words for people */
  BELAY_OPTION_UNIT = 2,     /* "ms"; "" for a text, a level and a plain number */
  BELAY_OPTION_DEFAULT = 3,  /* its value in this program, unless the environment or you set it */
  BELAY_OPTION_RANGE = 4,    /* what is allowed: "100..86400000"; "" if only its use tells */
  BELAY_OPTION_VARIABLE = 5, /* the environment variable that sets it; "" if there is none */
  BELAY_OPTION_SECRET = 6    /* "secret" if nobody may see its value, else "" */
};

/* A text about the option `name` (enum belay_option_what); it is never freed. "" for a number that is none;
 * NULL: there is no such option. */
BELAY_API const char* belay_option_text(const char* name, int32_t what);

/* ---- Client -------------------------------------------------------------------------------------------- */

typedef struct belay_client belay_client;
typedef struct belay_event belay_event;

/* Create a client. It connects in the background, and reconnects whenever the connection breaks. Afterwards
 * you may free the options or use them for other clients, but no longer change them. NULL:
 * belay_options_error says why. */
BELAY_API BELAY_MUST_USE belay_client* belay_client_new(belay_options* options);
/* Free a client: release its holds, for which it takes 2 seconds at most, end its waits with CLOSED, and drop
 * all events that were not taken. It waits for calls of other threads that are still inside; they must not
 * begin new ones. In a forked child, this call only frees memory and leaves the parent's holds alone. */
BELAY_API void belay_client_free(belay_client* client);
/* Shut a client down. Pending submissions end with CLOSED. Every hold is LOST at once (reason
 * BELAY_REASON_CLOSED); then the client releases it, for 2 seconds at most. The END event follows. Later
 * calls give CLOSED, also belay_verify, belay_extend and belay_downgrade. belay_submit_release does so
 * without releasing the hold, as no event can follow END. belay_release, belay_release_nowait and
 * belay_release_within give LOST for a lost hold. Returns OK, CLOSED if the client has been shut down before,
 * or FORKED. */
BELAY_API int32_t belay_client_shutdown(belay_client* client);
/* A file descriptor that is readable while an event waits to be taken, for poll(2) and the like: never read,
 * write or close it. Or minus UNAVAILABLE (the system has no descriptor left), minus FORKED. */
BELAY_API int64_t belay_client_fd(belay_client* client);
/* Have a byte sent to a stream socket when an event enters the empty queue, and when END does: for runtimes
 * that cannot poll a foreign descriptor. Read the bytes from the other end, then call belay_next until it
 * returns NULL or END. `fd`: connected; it stays yours, and the client never closes it. Keep it open until
 * you set another one or free the client. -1, the default: none. If an event waits already, a byte is sent
 * at once. Sending never blocks and raises no SIGPIPE: the byte is dropped if the socket is full, and a
 * closed socket ends the wake-ups. Returns OK, FORKED, or INVALID_ARGUMENT for anything but a connected
 * stream socket. */
BELAY_API int32_t belay_client_set_wakeup(belay_client* client, int32_t fd);
/* The id of this client, which other clients' inspect events show: 22 characters. "" if `client` is NULL. */
BELAY_API const char* belay_client_id(const belay_client* client);
/* Read what this client has done and has, without the network: the members of the event are names and
 * numbers, all since the client began. Durations are in microseconds.
 * acquires: those that have ended, also waits for a latch; of them grants, busy, timeouts, cancelled and
 * failures. releases: of holds that were not lost. lost: holds. renewals: how often a name was renewed.
 * handoffs_local: grants from one owner of this client to the next; handoffs_by_message: grants that another
 * client's release handed to this client. connections: how often it has connected. commands: sent. messages:
 * received; messages_dropped: about nothing that this client asked for.
 * wait_us, hold_us and round_trip_us: for how long grants waited, holds lasted, and the server took to answer.
 * Each has NAME_count, NAME_sum, and for powers of two NAME_le_1, NAME_le_2, NAME_le_4...: how many took so
 * long at most. The last is NAME_le_2147483648, 36 minutes; NAME_count also has those that took longer.
 * How many there are now: pendings: pending submissions and blocking calls; holds, also lost ones; names,
 * also abandoned ones until their lease ends; undelivered_events: events in the queue. How many there are in
 * this process, of all clients: process_clients and process_requests that are not freed; process_events:
 * events that the program has got and not yet freed.
 * Returns OK or FORKED. Later versions add names. */
BELAY_API int32_t belay_client_metrics(belay_client* client, belay_event** event);
/* Ask the server, or each master of a cluster that this client uses, for a sign of life. Returns OK,
 * UNAVAILABLE, CLOSED, or a status of class REFUSED. */
BELAY_API int32_t belay_client_ping(belay_client* client, belay_event** event);

/* ---- Requests ------------------------------------------------------------------------------------------ */

typedef struct belay_request belay_request;

enum belay_primitive {
  BELAY_LOCK = 1,      /* exclusive, or shared by readers or by an identity */
  BELAY_SEMAPHORE = 2, /* a number of permits */
  BELAY_LATCH = 3      /* a countdown latch: waited for, not held */
};

/* Create a request for a primitive (enum belay_primitive). NULL for an unknown one. Set it up in one thread.
 * From its first use on nobody may change it (ALREADY_USED), and any threads may use it, any number of times
 * and at once. A use that fails because the request has no name, or because of a setter's error, does not
 * count. */
BELAY_API belay_request* belay_request_new(int32_t primitive);
BELAY_API void belay_request_free(belay_request* request);
/* What was wrong first in this request's setters. "" if nothing was. */
BELAY_API const char* belay_request_error(const belay_request* request);
/* Add a name: a lock takes 1..256 different names, a semaphore and a latch one. Several names are acquired
 * all or none, and give one hold. This hold has one lease, one LOST event, and one fence for each name, in
 * the order of adding. Callers that add the names in different orders do not deadlock. While a request waits,
 * other clients may find some of its names taken already. */
BELAY_API int32_t belay_request_add_name(belay_request* request, const char* name, int64_t name_size);
/* Add a name to read-lock. Readers hold a name together, and nobody has it alone meanwhile. Waiters are
 * served in the order in which they came: a reader does not pass a waiting writer, but for 0.1 s in a client
 * that reads already. Readers that are granted together share a fence. Locks only. */
BELAY_API int32_t belay_request_add_shared_name(belay_request* request, const char* name, int64_t name_size);
/* Set an identity, 1..256 bytes, such as an order's id. Requests with the same identity hold the name
 * together, from any client; each has its own hold, lease and release. All others wait until the last of them
 * has released it. Waiters are served in the order in which they came: a request does not pass a waiter of
 * another identity, but for 0.1 s in a client that holds the name already. So a holder must not wait for a
 * newcomer of its own identity. They share a fence. Locks only, and not with shared names. */
BELAY_API int32_t belay_request_set_identity(belay_request* request, const char* identity,
                                             int64_t identity_size);
/* Set how many of a semaphore's `limit` permits to acquire. `permits`: 1..2^31-1, default 1. With 0 a try
 * takes all free permits; such a request must not wait. `limit`: the first use sets it; it is kept for a day
 * after the last use. With another limit than that an acquire gives LIMIT_DIFFERS; belay_semaphore_set_limit
 * changes it. 0, the default: whatever is set, or NOT_FOUND. The fences of permits tell the order of the
 * grants; they do not exclude. Semaphores only. */
BELAY_API int32_t belay_request_set_permits(belay_request* request, int64_t permits, int64_t limit);
/* Set which generation of a latch to wait for, 0..2^52, as belay_latch_set returned it. 0, the default: the
 * one that the server has when it is asked. A generation that has opened lets pass at once, also if a later
 * one has begun. NOT_FOUND: the latch does not have it, or does not remember whether it opened. Latches
 * only. */
BELAY_API int32_t belay_request_set_generation(belay_request* request, int64_t generation);
/* Set for how long nobody gets the name after a hold of this request was lost, 0..60000; default 0. It gives
 * the loser's last writes time to arrive. It counts from the end of the lease on the server, or from when the
 * loser tells the server of the loss, whichever is earlier. Meanwhile inspect shows a lock without members, or
 * a member without a lease. Others who may share a lock with the loser get in beside it all the same. A
 * release or a break frees the name at once. If an owner holds the name several times, its first hold's delay
 * counts. The server keeps the delay: FLUSHALL removes it. */
BELAY_API int32_t belay_request_set_lock_delay_ms(belay_request* request, int64_t delay_ms);
/* Set a fixed lease, 100..86400000: the hold lasts for that time unless belay_extend prolongs it, or its owner
 * acquires the name again for longer. To be safe, the client declares it LOST earlier, by 1 % of the lease and
 * 10 ms. 0, the default: the watchdog's lease, which the client renews. */
BELAY_API int32_t belay_request_set_lease_ms(belay_request* request, int64_t lease_ms);
/* Set for how long the client renews a hold of this request. Default: belay_options_set_max_hold_ms. */
BELAY_API int32_t belay_request_set_max_hold_ms(belay_request* request, int64_t max_hold_ms);
/* Queue LOST, AT_RISK and RECOVERED events also for holds of blocking calls: 1, or 0, the default. Holds of
 * submissions always have them. */
BELAY_API int32_t belay_request_set_notify(belay_request* request, int32_t notify);
/* Complete an acquire only when the server has answered that this client has the lock: 1, or 0, the default.
 * Set 1 if what the lock starts cannot be undone at once, such as a process. It costs one round trip, and only
 * if the acquire had to wait. With 0, a waiter has a lock that another client releases as soon as a message
 * says so. At first it then has a short lease of four round trips, at least 0.1 s: if the process or the server
 * stops for longer right after the handoff, the lock is lost. With 1, it has its whole lease, less the round
 * trip. A later loss is told as always. For a latch it changes nothing. belay_lock has the default. */
BELAY_API int32_t belay_request_set_confirmed(belay_request* request, int32_t confirmed);

/* ---- Blocking calls ------------------------------------------------------------------------------------ */

/* Acquire the lock `name`, with owner 0 and the watchdog's lease. `wait_ms` is the wait for the lock: 0 is one
 * try; -1 waits without limit, also through outages. If the server does not answer, the call ends with
 * UNAVAILABLE after wait_ms or the request timeout, whichever is shorter; a try after the request timeout.
 * Even the shortest wait leaves the server 0.25 s to answer, or four round trips if they take longer. Returns
 * a hold, or minus BUSY (of a try), TIMEOUT, UNAVAILABLE, CLOSED, or a status of class REFUSED or MISUSE.
 * TIMEOUT: the server had said that the lock was taken. UNAVAILABLE: it did not answer, or the connection is
 * broken. With any of these you do not have the lock. The server may keep it for BELAY_FIELD_IN_DOUBT_MS. If
 * that is 0, the client gives back at once the names that it has got. Only if the connection breaks or the
 * process ends just then, the lease must end first. */
BELAY_API BELAY_MUST_USE int64_t belay_lock(belay_client* client, const char* name, int64_t name_size,
                                            int64_t wait_ms, belay_event** event);
/* Acquire what the request says. `owner`, 0..2^53-1: 0 stands for nobody: no acquire repeats an earlier one.
 * Another number stands for a thread or task of yours in this client: if the owner holds the name already, it
 * gets another hold at once, without the server. Then its earlier holds with a fixed lease last at least as
 * long as the new one, also if the new one is released at once. The server hears of that in the background:
 * until it has answered, belay_hold_remaining_ms tells the time from before. A max-hold is not prolonged. The
 * release of an owner's last hold frees the name. Only locks have owners; elsewhere the owner must be 0.
 * Returns as belay_lock; also minus WOULD_DEADLOCK. Of a latch: wait until it opens. Nothing is held. Returns
 * the generation that has opened, or minus NOT_FOUND if the latch is not set or ends meanwhile. */
BELAY_API BELAY_MUST_USE int64_t belay_acquire(belay_client* client, const belay_request* request,
                                               int64_t owner, int64_t wait_ms, belay_event** event);
/* Release a hold. Whatever it returns, this call ends your hold. The call waits for the server's answer, at
 * most the request timeout, and not beyond the end of the lease. Returns OK; LOST if the hold was lost, also if
 * only the server's answer shows it: the lock was broken or its data were lost. UNAVAILABLE if no answer came
 * (the client goes on trying, and the end of the lease frees the name at the latest); UNKNOWN_HOLD; or a
 * status of class REFUSED (likewise).
 * OK may hide a loss in three cases: the client kept the name for another hold or owner; it had to repeat the
 * release; or it asked for the name again meanwhile. */
BELAY_API int32_t belay_release(belay_client* client, int64_t hold);
/* Release a hold without waiting for the server. The hold ends at once, and is unknown afterwards. The client
 * sends the release in the background, also over a new connection, until the server has answered or the lease
 * has ended there. No event tells whether it reached the server. This client's later acquires of the name
 * come after the release: a waiting client goes first. Returns OK, LOST if the hold had been lost, or
 * UNKNOWN_HOLD. */
BELAY_API int32_t belay_release_nowait(belay_client* client, int64_t hold);
/* Let a hold with a fixed lease last `lease_ms`, 100..86400000, from now; never shortens it. Returns OK,
 * LOST, UNAVAILABLE, UNKNOWN_HOLD, or INVALID_ARGUMENT for a hold that the client renews. */
BELAY_API BELAY_MUST_USE int32_t belay_extend(belay_client* client, int64_t hold, int64_t lease_ms,
                                              belay_event** event);
/* Turn an exclusive hold of a lock into a reader's, without releasing it. It keeps its fence, and readers
 * that are next in line get the name, too, with the same fence. There is no way back: an owner that reads and
 * asks to have the name alone gets WOULD_DEADLOCK. Returns OK, LOST, UNAVAILABLE, UNKNOWN_HOLD, a
 * status of class REFUSED, or INVALID_ARGUMENT if the hold is not exclusive, is of several names, or if its
 * owner has another hold of the name. If it is refused, the hold stays exclusive. */
BELAY_API int32_t belay_downgrade(belay_client* client, int64_t hold, belay_event** event);
/* Ask the server whether a hold is still ours. Returns OK, LOST, UNAVAILABLE, UNKNOWN_HOLD or a status of
 * class REFUSED. It costs a round trip; belay_hold_state is local. */
BELAY_API BELAY_MUST_USE int32_t belay_verify(belay_client* client, int64_t hold, belay_event** event);
/* Ask who holds a name and who waits for it: the event's members. BELAY_FIELD_PRIMITIVE tells what the name
 * is. Of a semaphore the event also has BELAY_FIELD_LIMIT and BELAY_FIELD_AVAILABLE, of a latch
 * BELAY_FIELD_GENERATION and BELAY_FIELD_COUNT. BELAY_FIELD_SLOT and belay_event_text say where the name is.
 * Returns OK even if nobody holds the name; or UNAVAILABLE, WRONG_TYPE. */
BELAY_API int32_t belay_inspect(belay_client* client, const char* name, int64_t name_size,
                                belay_event** event);
/* Take a name from its holder by force and give it to the first waiter. `fence`: only if the holder has this
 * fence, or its client has another of the same grant, which has nine for local handoffs; 0: from any holder.
 * The event's members name those who lost the lock. There are none if nobody held it or `fence` differs: that
 * is OK, too. A latch whose generation is `fence` ends: its waiters get NOT_FOUND. Returns OK, UNAVAILABLE or
 * WRONG_TYPE. */
BELAY_API int32_t belay_break(belay_client* client, const char* name, int64_t name_size, int64_t fence,
                              belay_event** event);
/* Find names in use that match a glob pattern (*, ?, [a-z], \ escapes) of 1..65536 bytes: at most `limit`,
 * 1..1000000, as the event's members. It asks the server in small steps (SCAN), and the masters of a cluster
 * one after the other. BELAY_FIELD_TOTAL above the number of members means that there are more. Returns OK,
 * or UNAVAILABLE if the request timeout was too short for all. */
BELAY_API int32_t belay_list(belay_client* client, const char* pattern, int64_t pattern_size, int64_t limit,
                             belay_event** event);

/* Write a key of yours under a fence: perform one Redis command on `key` unless a newer fence has written
 * this key. Thus a holder that lost its lock without knowing it overwrites nothing of a later holder. Every
 * writer of the key must write this way.
 *
 *   const char *argv[] = {"SET", "paid", "PX", "60000"};
 *   int64_t fence = belay_hold_fence(client, hold, 0);
 *   int32_t status = belay_fenced_write(client, "order:42", -1, fence, 4, argv, NULL, NULL);
 *
 * `key`: 1..1024 bytes. `argv`: the command and its arguments after the key, `argc` (1..1000) words of at
 * most 2^29 bytes. `sizes`: their sizes, -1 for a word that NUL ends; NULL: NUL ends all. The command must
 * write its first argument and no other key: SET, INCR, HSET, LPUSH, ZADD, XADD, EXPIRE, DEL and the like;
 * others give INVALID_ARGUMENT.
 * The newest fence of a key is kept for ever in a small key beside it (lib/scripts/README.md).
 *
 * Returns OK: the event's text is the server's reply. STALE_FENCE: nothing was written; the event's fence is
 * the newest. WRONG_TYPE or SERVER_ERROR: the command failed; key and fence are unchanged. UNAVAILABLE: if
 * BELAY_FIELD_IN_DOUBT_MS is not 0, the reply was lost and the write may have taken place. The client does
 * not repeat it. */
#ifndef SWIG
BELAY_API BELAY_MUST_USE int32_t belay_fenced_write(belay_client* client, const char* key, int64_t key_size,
                                                    int64_t fence, int32_t argc, const char* const* argv,
                                                    const int64_t* sizes, belay_event** event);
#endif

typedef struct belay_words belay_words;

/* Create the words of a command without any. They are added one by one: the command, then its arguments after
 * the key. Use them in one thread at a time, for any number of writes; adding more between two of them is
 * fine. */
BELAY_API belay_words* belay_words_new(void);
BELAY_API void belay_words_free(belay_words* words);
/* What was wrong first in belay_words_add. "" if nothing was. */
BELAY_API const char* belay_words_error(const belay_words* words);
/* Add a word, which is copied. `size`: at most 2^29 bytes, or -1 if NUL ends it. A command has 1..1000
 * words. */
BELAY_API int32_t belay_words_add(belay_words* words, const char* word, int64_t size);
/* As belay_fenced_write, for languages to which arrays are foreign. SWIG sees only this one. */
BELAY_API BELAY_MUST_USE int32_t belay_fenced_write_words(belay_client* client, const char* key,
                                                          int64_t key_size, int64_t fence,
                                                          const belay_words* words, belay_event** event);

/* Set how many permits a semaphore has, `limit` 1..2^31-1. Waiters get new permits at once. A lower limit
 * takes no permit back. The event has BELAY_FIELD_LIMIT and BELAY_FIELD_AVAILABLE. Returns OK, UNAVAILABLE,
 * or WRONG_TYPE if the name is in use for something else. */
BELAY_API int32_t belay_semaphore_set_limit(belay_client* client, const char* name, int64_t name_size,
                                            int64_t limit, belay_event** event);
/* Ask how many permits of a semaphore are free; others may take them before you do. Returns the number, or
 * minus NOT_FOUND if no limit is set, WRONG_TYPE, UNAVAILABLE. The event also has BELAY_FIELD_LIMIT. */
BELAY_API BELAY_MUST_USE int64_t belay_semaphore_available(belay_client* client, const char* name,
                                                           int64_t name_size, belay_event** event);

/* Set a countdown latch: it opens when its count is 0, and stays open until it is set again or ends. `count`:
 * 1..10^9. `ttl_ms`: it ends so long from now, 100..2592000000 (30 days); 0: never. Each setting is a
 * generation with a higher number than all before; the next one does not disturb its waiters. Returns
 * the generation, or minus IN_USE if the latch has not opened yet (BELAY_FIELD_COUNT says how many are to
 * go), WRONG_TYPE, UNAVAILABLE. After a broken connection the client repeats the call. If others open the
 * latch and set it again before that, this call returns their generation or minus NOT_FOUND. */
BELAY_API int64_t belay_latch_set(belay_client* client, const char* name, int64_t name_size, int64_t count,
                                  int64_t ttl_ms, belay_event** event);
/* Count a latch down by `n`, 1..10^9, to 0 at the lowest. It counts once, also if the connection breaks
 * meanwhile. Returns the count that is left, or minus NOT_FOUND if the latch is not set, WRONG_TYPE,
 * UNAVAILABLE. */
BELAY_API int64_t belay_latch_count_down(belay_client* client, const char* name, int64_t name_size, int64_t n,
                                         belay_event** event);
/* Ask for a latch's count; 0: it is open. Returns as belay_latch_count_down. */
BELAY_API BELAY_MUST_USE int64_t belay_latch_count(belay_client* client, const char* name, int64_t name_size,
                                                   belay_event** event);

/* ---- Asynchronous calls -------------------------------------------------------------------------------- */

/* Each does what the blocking call of its name does. The event tells what that returns: its status, and its
 * number as BELAY_FIELD_HOLD, BELAY_FIELD_GENERATION, BELAY_FIELD_AVAILABLE or BELAY_FIELD_COUNT. What is
 * passed is copied. */

/* BELAY_EVENT_ACQUIRED. Also CANCELLED, by belay_cancel. */
BELAY_API BELAY_MUST_USE int32_t belay_submit_acquire(belay_client* client, int64_t tag,
                                                      const belay_request* request, int64_t owner,
                                                      int64_t wait_ms);
/* BELAY_EVENT_RELEASED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_release(belay_client* client, int64_t tag, int64_t hold);
/* BELAY_EVENT_EXTENDED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_extend(belay_client* client, int64_t tag, int64_t hold,
                                                     int64_t lease_ms);
/* BELAY_EVENT_DOWNGRADED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_downgrade(belay_client* client, int64_t tag, int64_t hold);
/* BELAY_EVENT_VERIFIED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_verify(belay_client* client, int64_t tag, int64_t hold);
/* BELAY_EVENT_INSPECTED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_inspect(belay_client* client, int64_t tag, const char* name,
                                                      int64_t name_size);
/* BELAY_EVENT_BROKEN */
BELAY_API BELAY_MUST_USE int32_t belay_submit_break(belay_client* client, int64_t tag, const char* name,
                                                    int64_t name_size, int64_t fence);
/* BELAY_EVENT_LISTED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_list(belay_client* client, int64_t tag, const char* pattern,
                                                   int64_t pattern_size, int64_t limit);
#ifndef SWIG
/* BELAY_EVENT_WRITTEN */
BELAY_API BELAY_MUST_USE int32_t belay_submit_fenced_write(belay_client* client, int64_t tag, const char* key,
                                                           int64_t key_size, int64_t fence, int32_t argc,
                                                           const char* const* argv, const int64_t* sizes);
#endif
/* BELAY_EVENT_WRITTEN */
BELAY_API BELAY_MUST_USE int32_t belay_submit_fenced_write_words(belay_client* client, int64_t tag,
                                                                 const char* key, int64_t key_size,
                                                                 int64_t fence, const belay_words* words);
/* BELAY_EVENT_SEMAPHORE_LIMIT_SET */
BELAY_API BELAY_MUST_USE int32_t belay_submit_semaphore_set_limit(belay_client* client, int64_t tag,
                                                                  const char* name, int64_t name_size,
                                                                  int64_t limit);
/* BELAY_EVENT_SEMAPHORE_AVAILABLE */
BELAY_API BELAY_MUST_USE int32_t belay_submit_semaphore_available(belay_client* client, int64_t tag,
                                                                  const char* name, int64_t name_size);
/* BELAY_EVENT_LATCH_SET */
BELAY_API BELAY_MUST_USE int32_t belay_submit_latch_set(belay_client* client, int64_t tag, const char* name,
                                                        int64_t name_size, int64_t count, int64_t ttl_ms);
/* BELAY_EVENT_LATCH_COUNTED_DOWN */
BELAY_API BELAY_MUST_USE int32_t belay_submit_latch_count_down(belay_client* client, int64_t tag,
                                                               const char* name, int64_t name_size,
                                                               int64_t n);
/* BELAY_EVENT_LATCH_COUNT */
BELAY_API BELAY_MUST_USE int32_t belay_submit_latch_count(belay_client* client, int64_t tag, const char* name,
                                                          int64_t name_size);
/* BELAY_EVENT_PINGED */
BELAY_API BELAY_MUST_USE int32_t belay_submit_ping(belay_client* client, int64_t tag);
/* Submit an acquire and wait up to `patience_ms` for its event, -1 without limit; one call instead of
 * belay_submit_acquire and belay_next, without a change of threads. Returns the event, which then does not
 * come by belay_next: also of a cancel by another thread, and of a refusal, whatever it is. NULL: it is
 * pending, and belay_next brings it. LOST, AT_RISK and RECOVERED always come by belay_next. */
BELAY_API BELAY_MUST_USE belay_event* belay_acquire_within(belay_client* client, int64_t tag,
                                                           const belay_request* request, int64_t owner,
                                                           int64_t wait_ms, int64_t patience_ms);
/* As belay_acquire_within, of a release. If it is refused because of the tag or `patience_ms`, the hold is
 * still held. */
BELAY_API BELAY_MUST_USE belay_event* belay_release_within(belay_client* client, int64_t tag, int64_t hold,
                                                           int64_t patience_ms);
/* Cancel a pending submission. Its one event still comes, with CANCELLED or with what happened first. If the
 * server has not answered or cannot be reached, the message of CANCELLED says so, and the server may keep the
 * name for BELAY_FIELD_IN_DOUBT_MS. Else the message is empty. A cancelled release goes on in the background.
 * An extension, a downgrade or another change that was sent already is not cancelled: its event tells how it
 * ended. Returns OK, UNKNOWN_TAG, CLOSED or FORKED. */
BELAY_API int32_t belay_cancel(belay_client* client, int64_t tag);
/* Take the next event; wait for it `timeout_ms` at most (0: not at all, -1: without limit). NULL: there was
 * none in time. After the last event every call in every thread returns an END event at once: leave the loop
 * then. Its status is CLOSED (the client was shut down) or FORKED. A wrong call also returns END, with
 * INVALID_ARGUMENT: the client is NULL, or the timeout is below -1. After a wrong timeout the client goes on:
 * a right call returns events again. */
BELAY_API BELAY_MUST_USE belay_event* belay_next(belay_client* client, int64_t timeout_ms);

/* ---- Holds: local reads, without the network ----------------------------------------------------------- */

enum belay_state {
  BELAY_HOLD_HELD = 1,
  BELAY_HOLD_AT_RISK = 2, /* still ours, but its renewal fails or has stopped */
  BELAY_HOLD_LOST = 3     /* not ours any more */
};

/* The state of a hold (enum belay_state), or minus UNKNOWN_HOLD. The client remembers a lost hold until its
 * first release or belay_hold_abandon. */
BELAY_API int64_t belay_hold_state(belay_client* client, int64_t hold);
/* For how many milliseconds the hold is certainly ours even if the client hears nothing more. 0 once it is
 * lost; or minus UNKNOWN_HOLD. */
BELAY_API int64_t belay_hold_remaining_ms(belay_client* client, int64_t hold);
/* The fence of the hold's name number `index`; 0 is the first. A lost hold keeps it. Or minus UNKNOWN_HOLD,
 * INVALID_ARGUMENT. */
BELAY_API int64_t belay_hold_fence(belay_client* client, int64_t hold, int32_t index);
/* Forget a hold and stop renewing it, without telling the server: others get the name when the lease ends.
 * Returns OK or UNKNOWN_HOLD. */
BELAY_API int32_t belay_hold_abandon(belay_client* client, int64_t hold);
/* How many holds of the lock `name` an owner has in this client, other than lost ones; or minus
 * INVALID_ARGUMENT. */
BELAY_API int64_t belay_owner_holds(belay_client* client, int64_t owner, const char* name, int64_t name_size);
/* The owner's hold of the lock `name` number `index`, 0 for the oldest; or minus UNKNOWN_HOLD (there is none
 * of that number), INVALID_ARGUMENT. */
BELAY_API int64_t belay_owner_hold(belay_client* client, int64_t owner, const char* name, int64_t name_size,
                                   int64_t index);

/* ---- Events -------------------------------------------------------------------------------------------- */

enum belay_kind {
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
  BELAY_EVENT_METRICS = 16,
  /* News, with tag 0. */
  BELAY_EVENT_LOST = 20,      /* a hold is not ours any more; once for each hold */
  BELAY_EVENT_AT_RISK = 21,   /* a third of a hold's lease is left: its renewal fails or has stopped */
  BELAY_EVENT_RECOVERED = 22, /* takes an AT_RISK back */
  BELAY_EVENT_LOG = 23,       /* a line of the log, if the option log_events asks for it */
  BELAY_EVENT_END = 30        /* there are no more events */
};

/* Numbers of an event. */
enum belay_field {
  BELAY_FIELD_KIND = 0,   /* enum belay_kind */
  BELAY_FIELD_TAG = 1,    /* of the submission; 0 of news and of blocking calls */
  BELAY_FIELD_STATUS = 2, /* enum belay_status; 0 of news that are no failure */
  BELAY_FIELD_HOLD = 3,
  BELAY_FIELD_FENCE = 4, /* of the hold's first name; of WRITTEN, the newest of the key */
  /* At the event's moment, the hold was certain for so many more ms. Of an acquire that ended BUSY or TIMEOUT,
   * what was left of the other holder's lease and lock-delay, as the server said last, or as this client knows.
   * It is a limit only if every holder has a fixed lease: the watchdog renews its lease, and the number grows
   * again. Of those who share a lock it is the longest, of a semaphore the shortest, of several names the
   * longest that is known. 0: not known, or nobody holds it and others wait. */
  BELAY_FIELD_REMAINING_MS = 5,
  /* For how long after the event an unknown outcome may still take effect. Until then the server may keep a
   * lock that we do not use, or a change may take place. Afterwards the change has taken place or never will.
   * Of an extension it is how long the server may keep the hold by it. A downgrade is asked for again with
   * each renewal: it may take place for as long as you hold the lock. A refusal after a broken connection has
   * this number, too. 0: the outcome is known. */
  BELAY_FIELD_IN_DOUBT_MS = 6,
  BELAY_FIELD_REASON = 7,      /* enum belay_reason, of a status LOST, and of AT_RISK */
  BELAY_FIELD_PERMITS = 8,     /* of ACQUIRED: how many; 1 for a lock */
  BELAY_FIELD_COUNT = 9,       /* of a latch: how many are to go */
  BELAY_FIELD_GENERATION = 10, /* of a latch */
  BELAY_FIELD_AVAILABLE = 11,  /* of a semaphore: how many permits are free */
  BELAY_FIELD_LIMIT = 12,      /* of a semaphore */
  BELAY_FIELD_MEMBERS = 13,    /* how many members the event has */
  BELAY_FIELD_TOTAL = 14,      /* how many there are; more than it has if a limit cut them off */
  BELAY_FIELD_PRIMITIVE = 15,  /* of INSPECTED: enum belay_primitive; 0: the name is not in use */
  BELAY_FIELD_LEVEL = 16,      /* of LOG: enum belay_log_level */
  BELAY_FIELD_TIME_MS = 17,    /* of LOG: when, by the clock of this machine, since 1970 in UTC */
  BELAY_FIELD_DROPPED = 18,    /* of LOG: how many events of the log were dropped before this one */
  BELAY_FIELD_SLOT = 19        /* of INSPECTED: the name's hash slot in the cluster; -1: it is no cluster */
};

/* Why a hold is lost or at risk. */
enum belay_reason {
  BELAY_REASON_LEASE_ENDED = 1, /* its fixed lease has ended */
  BELAY_REASON_NOT_RENEWED = 2, /* the server was not reached, or refused, until the lease ended */
  BELAY_REASON_GONE = 3,        /* the server does not have it: expired, deleted, or data was lost */
  BELAY_REASON_BROKEN = 4,      /* belay_break took it */
  BELAY_REASON_MAX_HOLD = 5,    /* its max-hold was reached */
  BELAY_REASON_CLOSED = 6       /* the client was shut down */
};

BELAY_API void belay_event_free(belay_event* event);
/* A number of the event (enum belay_field); 0 if it has none. */
BELAY_API int64_t belay_event_int(const belay_event* event, int32_t field);
/* Write the numbers of fields 0..count-1 to `values`, 0 for unknown fields. Returns how many fields this
 * library knows. */
BELAY_API int32_t belay_event_read(const belay_event* event, int64_t* values, int32_t count);
/* Short for belay_event_int of the field of that name. */
BELAY_API int32_t belay_event_kind(const belay_event* event);
BELAY_API int64_t belay_event_tag(const belay_event* event);
BELAY_API int32_t belay_event_status(const belay_event* event);
BELAY_API int64_t belay_event_hold(const belay_event* event);
/* The fence of the hold's name number `index`; 0 if there is none. */
BELAY_API int64_t belay_event_fence(const belay_event* event, int32_t index);
/* One line for people: what failed, where, and the server's own words. "" if there is nothing to say. */
BELAY_API const char* belay_event_message(const belay_event* event);
/* What the server replied to the command of a WRITTEN event: the bytes of a string, the digits of an integer,
 * "" for nothing or a list. Of INSPECTED, the server that has the name, as host:port or a socket's path. Of
 * a LOG event, the client's id. NUL ends it; `size`, unless NULL, gets its length. */
BELAY_API const char* belay_event_text(const belay_event* event, int64_t* size);

/* The members of INSPECTED, BROKEN, LISTED and METRICS events: the holders first, then the waiters in order;
 * or the names found; or the metrics. */
enum belay_member {
  BELAY_MEMBER_ROLE = 1,           /* int: enum belay_role */
  BELAY_MEMBER_NAME = 2,           /* text: the name, of LISTED and METRICS */
  BELAY_MEMBER_CLIENT = 3,         /* text: the client's id */
  BELAY_MEMBER_LABEL = 4,          /* text */
  BELAY_MEMBER_HOST = 5,           /* text */
  BELAY_MEMBER_PID = 6,            /* int */
  BELAY_MEMBER_SINCE_MS = 7,       /* int: for how long it has held or waited */
  BELAY_MEMBER_LEASE_MS = 8,       /* int: what is left of a holder's lease */
  BELAY_MEMBER_FENCE = 9,          /* int: a holder's fence; its client may have a later one by now */
  BELAY_MEMBER_HOLDS = 10,         /* int: its client's holds, as of its last renewal or 10 s before */
  BELAY_MEMBER_LOCAL_WAITERS = 11, /* int: the waiters in its client, as of the same */
  BELAY_MEMBER_PERMITS = 12,       /* int: of a semaphore */
  BELAY_MEMBER_SHARED = 13,        /* int: 1 for a reader of a lock */
  BELAY_MEMBER_VALUE = 14          /* int: of METRICS, whose names are BELAY_MEMBER_NAME */
};

enum belay_role { BELAY_ROLE_HOLDER = 1, BELAY_ROLE_WAITER = 2, BELAY_ROLE_NAME = 3, BELAY_ROLE_METRIC = 4 };

/* A number of member `index`, 0..BELAY_FIELD_MEMBERS-1; 0 if it has none. */
BELAY_API int64_t belay_event_member_int(const belay_event* event, int32_t index, int32_t field);
/* A text of member `index`; "" if it has none. NUL ends it; `size`, unless NULL, gets its length, as a name
 * may contain NUL. */
BELAY_API const char* belay_event_member_text(const belay_event* event, int32_t index, int32_t field,
                                              int64_t* size);

#ifdef __cplusplus
}
#endif

#endif
