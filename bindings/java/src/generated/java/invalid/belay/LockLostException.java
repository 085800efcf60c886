// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Lost: the hold is not ours any more; its reason says why. The status is {@link Status#LOST}. */
public final class LockLostException extends NotHeldException {
  private static final long serialVersionUID = 1;

  LockLostException(Event event) {
    super(event);
  }
}
