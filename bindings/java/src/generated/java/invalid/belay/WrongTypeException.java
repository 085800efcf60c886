// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Wrong type: the name, or a key that it needs, is in use for something else. The status is {@link
 * Status#WRONG_TYPE}.
 */
public final class WrongTypeException extends RefusedException {
  private static final long serialVersionUID = 1;

  WrongTypeException(Event event) {
    super(event);
  }
}
