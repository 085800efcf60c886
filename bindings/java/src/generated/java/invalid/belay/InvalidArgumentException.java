// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Invalid argument: the message names it. The status is {@link Status#INVALID_ARGUMENT}. */
public final class InvalidArgumentException extends MisuseException {
  private static final long serialVersionUID = 1;

  InvalidArgumentException(Event event) {
    super(event);
  }
}
