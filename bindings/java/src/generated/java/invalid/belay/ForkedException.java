// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Forked: the client belongs to the parent process. The status is {@link Status#FORKED}. */
public final class ForkedException extends GoneException {
  private static final long serialVersionUID = 1;

  ForkedException(Event event) {
    super(event);
  }
}
