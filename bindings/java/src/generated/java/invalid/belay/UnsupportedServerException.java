// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Unsupported server: too old, neither Redis nor Valkey, or TLS only on one side. The status is
 * {@link Status#UNSUPPORTED_SERVER}.
 */
public final class UnsupportedServerException extends RefusedException {
  private static final long serialVersionUID = 1;

  UnsupportedServerException(Event event) {
    super(event);
  }
}
