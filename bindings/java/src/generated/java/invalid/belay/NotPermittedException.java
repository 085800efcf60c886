// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Not permitted: the ACL user lacks a right. The status is {@link Status#NOT_PERMITTED}. */
public final class NotPermittedException extends RefusedException {
  private static final long serialVersionUID = 1;

  NotPermittedException(Event event) {
    super(event);
  }
}
