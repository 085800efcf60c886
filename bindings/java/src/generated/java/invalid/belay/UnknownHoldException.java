// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Unknown hold: never granted, already released, or abandoned. The status is {@link
 * Status#UNKNOWN_HOLD}.
 */
public final class UnknownHoldException extends NotHeldException {
  private static final long serialVersionUID = 1;

  UnknownHoldException(Event event) {
    super(event);
  }
}
