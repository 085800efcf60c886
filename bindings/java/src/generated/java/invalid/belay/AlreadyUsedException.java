// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Already used: options or a request were changed after their first use. The status is {@link
 * Status#ALREADY_USED}.
 */
public final class AlreadyUsedException extends MisuseException {
  private static final long serialVersionUID = 1;

  AlreadyUsedException(Event event) {
    super(event);
  }
}
