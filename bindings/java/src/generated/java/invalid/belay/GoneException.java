// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** The hold, the submission or the client has ended. */
public class GoneException extends BelayException {
  private static final long serialVersionUID = 1;

  GoneException(Event event) {
    super(event);
  }
}
