// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Would deadlock: an owner that shares a name asks for it alone, or with others. The status is
 * {@link Status#WOULD_DEADLOCK}.
 */
public final class WouldDeadlockException extends MisuseException {
  private static final long serialVersionUID = 1;

  WouldDeadlockException(Event event) {
    super(event);
  }
}
