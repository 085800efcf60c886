// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

import invalid.belay.internal.Native;

/** The exception of each status. */
final class Errors {
  private Errors() {}

  static RuntimeException of(Event event) {
    return switch ((int) event.status()) {
      case 1 -> new BusyException(event); // BUSY
      case 2 -> new LockTimeoutException(event); // TIMEOUT
      case 3 -> new UnavailableException(event); // UNAVAILABLE
      case 4 -> new TooManyPendingException(event); // TOO_MANY_PENDING
      case 20 -> new AuthenticationException(event); // AUTH_FAILED
      case 21 -> new NotPermittedException(event); // NOT_PERMITTED
      case 22 -> new WrongTypeException(event); // WRONG_TYPE
      case 23 -> new UnsupportedServerException(event); // UNSUPPORTED_SERVER
      case 24 -> new ServerErrorException(event); // SERVER_ERROR
      case 25 -> new NotFoundException(event); // NOT_FOUND
      case 26 -> new LimitDiffersException(event); // LIMIT_DIFFERS
      case 27 -> new InUseException(event); // IN_USE
      case 40 -> new InvalidArgumentException(event); // INVALID_ARGUMENT
      case 41 -> new UnsupportedUrlException(event); // UNSUPPORTED_URL
      case 42 -> new TagInUseException(event); // TAG_IN_USE
      case 43 -> new UnknownTagException(event); // UNKNOWN_TAG
      case 44 -> new UnknownHoldException(event); // UNKNOWN_HOLD
      case 45 -> new AlreadyUsedException(event); // ALREADY_USED
      case 46 -> new WouldDeadlockException(event); // WOULD_DEADLOCK
      case 60 -> new LockLostException(event); // LOST
      case 61 -> new CancelledException(event); // CANCELLED
      case 62 -> new ClosedException(event); // CLOSED
      case 63 -> new ForkedException(event); // FORKED
      case 64 -> new StaleFenceException(event); // STALE_FENCE
      default -> ofClass(event);
    };
  }

  /** What a status says where the library told no more than its number. */
  static String about(int status) {
    return switch (status) {
      case 1 -> "a try found the lock held, or others waiting for it";
      case 2 -> "the wait for the lock has ended";
      case 3 -> "the server did not answer in time, or is too far away for the request timeout";
      case 4 -> "a submission would exceed the option max_pending";
      case 20 -> "wrong or missing user name, password or certificate, also the server's";
      case 21 -> "the ACL user lacks a right";
      case 22 -> "the name, or a key that it needs, is in use for something else";
      case 23 -> "too old, neither Redis nor Valkey, or TLS only on one side";
      case 24 -> "any other error of the server, in its own words";
      case 25 -> "the latch or the semaphore's limit is not set";
      case 26 -> "the semaphore has another limit, or a lower one than the permits asked for";
      case 27 -> "the latch is set and has not opened yet";
      case 40 -> "the message names it";
      case 41 -> "the message says what of it";
      case 42 -> "a pending submission has this tag";
      case 43 -> "no pending submission has this tag";
      case 44 -> "never granted, already released, or abandoned";
      case 45 -> "options or a request were changed after their first use";
      case 46 -> "an owner that shares a name asks for it alone, or with others";
      case 60 -> "the hold is not ours any more; its reason says why";
      case 61 -> "by a cancel";
      case 62 -> "the client has been shut down";
      case 63 -> "the client belongs to the parent process";
      case 64 -> "a newer fence has written this key";
      default -> Event.utf8(Native.belayStatusName(status));
    };
  }

  /** Of a status that a later version of the library added. */
  private static RuntimeException ofClass(Event event) {
    return switch (Native.belayStatusClass(event.status())) {
      case 1 -> new RetryException(event);
      case 2 -> new RefusedException(event);
      case 3 -> new MisuseException(event);
      case 4 -> new GoneException(event);
      default -> new BelayException(event);
    };
  }
}
