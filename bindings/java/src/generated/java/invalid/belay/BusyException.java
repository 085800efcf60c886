// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Busy: a try found the lock held, or others waiting for it. The status is {@link Status#BUSY}. */
public final class BusyException extends RetryException {
  private static final long serialVersionUID = 1;

  BusyException(Event event) {
    super(event);
  }
}
