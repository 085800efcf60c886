// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Not found: the latch or the semaphore's limit is not set. The status is {@link Status#NOT_FOUND}.
 */
public final class NotFoundException extends RefusedException {
  private static final long serialVersionUID = 1;

  NotFoundException(Event event) {
    super(event);
  }
}
