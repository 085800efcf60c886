// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Tag in use: a pending submission has this tag. The status is {@link Status#TAG_IN_USE}. */
public final class TagInUseException extends MisuseException {
  private static final long serialVersionUID = 1;

  TagInUseException(Event event) {
    super(event);
  }
}
