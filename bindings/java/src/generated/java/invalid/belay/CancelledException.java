// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Cancelled: by a cancel. The status is {@link Status#CANCELLED}. */
public final class CancelledException extends GoneException {
  private static final long serialVersionUID = 1;

  CancelledException(Event event) {
    super(event);
  }
}
