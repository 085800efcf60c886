// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Timeout: the wait for the lock has ended. The status is {@link Status#TIMEOUT}. */
public final class LockTimeoutException extends RetryException {
  private static final long serialVersionUID = 1;

  LockTimeoutException(Event event) {
    super(event);
  }
}
