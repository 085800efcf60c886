// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** How a call ended. */
public enum Status {
  /** Ok. */
  OK(0),
  /** Busy: a try found the lock held, or others waiting for it. */
  BUSY(1),
  /** Timeout: the wait for the lock has ended. */
  TIMEOUT(2),
  /** Unavailable: the server did not answer in time, or is too far away for the request timeout. */
  UNAVAILABLE(3),
  /** Too many pending: a submission would exceed the option max_pending. */
  TOO_MANY_PENDING(4),
  /** Auth failed: wrong or missing user name, password or certificate, also the server's. */
  AUTH_FAILED(20),
  /** Not permitted: the ACL user lacks a right. */
  NOT_PERMITTED(21),
  /** Wrong type: the name, or a key that it needs, is in use for something else. */
  WRONG_TYPE(22),
  /** Unsupported server: too old, neither Redis nor Valkey, or TLS only on one side. */
  UNSUPPORTED_SERVER(23),
  /** Server error: any other error of the server, in its own words. */
  SERVER_ERROR(24),
  /** Not found: the latch or the semaphore's limit is not set. */
  NOT_FOUND(25),
  /** Limit differs: the semaphore has another limit, or a lower one than the permits asked for. */
  LIMIT_DIFFERS(26),
  /** In use: the latch is set and has not opened yet. */
  IN_USE(27),
  /** Invalid argument: the message names it. */
  INVALID_ARGUMENT(40),
  /** Unsupported url: the message says what of it. */
  UNSUPPORTED_URL(41),
  /** Tag in use: a pending submission has this tag. */
  TAG_IN_USE(42),
  /** Unknown tag: no pending submission has this tag. */
  UNKNOWN_TAG(43),
  /** Unknown hold: never granted, already released, or abandoned. */
  UNKNOWN_HOLD(44),
  /** Already used: options or a request were changed after their first use. */
  ALREADY_USED(45),
  /** Would deadlock: an owner that shares a name asks for it alone, or with others. */
  WOULD_DEADLOCK(46),
  /** Lost: the hold is not ours any more; its reason says why. */
  LOST(60),
  /** Cancelled: by a cancel. */
  CANCELLED(61),
  /** Closed: the client has been shut down. */
  CLOSED(62),
  /** Forked: the client belongs to the parent process. */
  FORKED(63),
  /** Stale fence: a newer fence has written this key. */
  STALE_FENCE(64),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final Status[] ALL = values();

  final int number;

  Status(int number) {
    this.number = number;
  }

  static Status of(long number) {
    for (Status value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
