// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Unavailable: the server did not answer in time, or is too far away for the request timeout. The
 * status is {@link Status#UNAVAILABLE}.
 */
public final class UnavailableException extends RetryException {
  private static final long serialVersionUID = 1;

  UnavailableException(Event event) {
    super(event);
  }
}
