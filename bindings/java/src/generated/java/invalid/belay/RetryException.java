// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Nothing is wrong. The same call may succeed later. */
public class RetryException extends BelayException {
  private static final long serialVersionUID = 1;

  RetryException(Event event) {
    super(event);
  }
}
