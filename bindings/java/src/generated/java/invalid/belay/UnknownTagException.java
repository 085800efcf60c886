// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Unknown tag: no pending submission has this tag. The status is {@link Status#UNKNOWN_TAG}. */
public final class UnknownTagException extends MisuseException {
  private static final long serialVersionUID = 1;

  UnknownTagException(Event event) {
    super(event);
  }
}
