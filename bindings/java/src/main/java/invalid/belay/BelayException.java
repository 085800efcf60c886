package invalid.belay;

import java.time.Duration;
import java.util.Optional;

/** A failure other than of a hold that is not held any more. */
public non-sealed class BelayException extends RuntimeException implements Failure {
  private static final long serialVersionUID = 1;

  final transient Event event;

  BelayException(Event event) {
    super(event.message());
    this.event = event;
  }

  @Override
  public final Status status() {
    return Status.of(event.status());
  }

  @Override
  public final Duration inDoubt() {
    return event.inDoubt();
  }

  @Override
  public final Optional<Reason> reason() {
    return event.reason();
  }
}
