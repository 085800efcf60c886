// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Auth failed: wrong or missing user name, password or certificate, also the server's. The status
 * is {@link Status#AUTH_FAILED}.
 */
public final class AuthenticationException extends RefusedException {
  private static final long serialVersionUID = 1;

  AuthenticationException(Event event) {
    super(event);
  }
}
