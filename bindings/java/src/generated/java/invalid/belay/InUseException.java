// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** In use: the latch is set and has not opened yet. The status is {@link Status#IN_USE}. */
public final class InUseException extends RefusedException {
  private static final long serialVersionUID = 1;

  InUseException(Event event) {
    super(event);
  }

  /** {@return how many counts the latch has still to go} */
  public long count() {
    return event.count();
  }
}
