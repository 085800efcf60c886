package invalid.belay;

import java.time.Duration;
import java.util.Optional;

/** The hold is not held: it was lost, released or abandoned, or this thread never had it. */
public non-sealed class NotHeldException extends IllegalMonitorStateException implements Failure {
  private static final long serialVersionUID = 1;

  final transient Event event;

  NotHeldException(Event event) {
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
