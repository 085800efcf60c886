// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Unavailable: the server did not answer within the request timeout, or is too far away for it. The
 * status is {@link Status#UNAVAILABLE}.
 */
public final class UnavailableException extends RetryException {
  private static final long serialVersionUID = 1;

  UnavailableException(Event event) {
    super(event);
  }
}
