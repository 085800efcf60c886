// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Too many pending: a submission would exceed the option max_pending. The status is {@link
 * Status#TOO_MANY_PENDING}.
 */
public final class TooManyPendingException extends RetryException {
  private static final long serialVersionUID = 1;

  TooManyPendingException(Event event) {
    super(event);
  }
}
