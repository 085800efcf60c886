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

  /**
   * {@return what is left of the other holder's lease and lock-delay, of a {@link BusyException} or a {@link LockTimeoutException}; zero
   * if it is not known} Whoever renews the lease has the name for longer.
   */
  public final Duration remaining() {
    return event.remaining();
  }

  @Override
  public final Optional<Reason> reason() {
    return event.reason();
  }
}
