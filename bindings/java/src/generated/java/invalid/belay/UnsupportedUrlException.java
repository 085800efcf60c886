// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Unsupported url: the message says what of it. The status is {@link Status#UNSUPPORTED_URL}. */
public final class UnsupportedUrlException extends MisuseException {
  private static final long serialVersionUID = 1;

  UnsupportedUrlException(Event event) {
    super(event);
  }
}
