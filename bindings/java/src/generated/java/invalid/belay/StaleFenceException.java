// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Stale fence: a newer fence has written this key. The status is {@link Status#STALE_FENCE}. */
public final class StaleFenceException extends GoneException {
  private static final long serialVersionUID = 1;

  StaleFenceException(Event event) {
    super(event);
  }

  /** {@return the newest fence that has written the key} */
  public long fence() {
    return event.fence();
  }
}
