// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Closed: the client has been shut down. The status is {@link Status#CLOSED}. */
public final class ClosedException extends GoneException {
  private static final long serialVersionUID = 1;

  ClosedException(Event event) {
    super(event);
  }
}
