// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** The call is wrong. */
public class MisuseException extends BelayException {
  private static final long serialVersionUID = 1;

  MisuseException(Event event) {
    super(event);
  }
}
