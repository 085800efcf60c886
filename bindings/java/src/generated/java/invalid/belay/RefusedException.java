// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** The server refuses until somebody changes something there. */
public class RefusedException extends BelayException {
  private static final long serialVersionUID = 1;

  RefusedException(Event event) {
    super(event);
  }
}
