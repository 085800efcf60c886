package invalid.belay;

import java.time.Duration;
import java.util.Optional;

/**
 * What every exception of this package tells. They are unchecked: {@link NotHeldException} and its subclass
 * {@link LockLostException} are IllegalMonitorStateExceptions, as {@link java.util.concurrent.locks.Lock} has it; all others are
 * {@link BelayException}s.
 */
public sealed interface Failure permits BelayException, NotHeldException {
  /** {@return how the call ended} */
  Status status();

  /** {@return one line for people: what failed, where, and the server's own words} */
  String getMessage();

  /**
   * {@return for how long after the failure an unknown outcome may still take effect; zero if it is known} Until then the server may
   * keep a lock that nobody uses, or a change may take place. Afterwards the change has taken place or never will.
   */
  Duration inDoubt();

  /** {@return why the hold is lost, if it is} */
  Optional<Reason> reason();
}
