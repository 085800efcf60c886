// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/**
 * Server error: any other error of the server, in its own words. The status is {@link
 * Status#SERVER_ERROR}.
 */
public final class ServerErrorException extends RefusedException {
  private static final long serialVersionUID = 1;

  ServerErrorException(Event event) {
    super(event);
  }
}
