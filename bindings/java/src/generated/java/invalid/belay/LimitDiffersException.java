// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Limit differs: the semaphore has another limit, or a lower one than the permits asked for. The
 * status is {@link Status#LIMIT_DIFFERS}.
 */
public final class LimitDiffersException extends RefusedException {
  private static final long serialVersionUID = 1;

  LimitDiffersException(Event event) {
    super(event);
  }
}
