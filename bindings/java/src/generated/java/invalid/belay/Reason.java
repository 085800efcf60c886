// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** Why a hold is lost or at risk. */
public enum Reason {
  /** Lease ended: its fixed lease has ended. */
  LEASE_ENDED(1),
  /** Not renewed: the server was not reached, or refused, until the lease ended. */
  NOT_RENEWED(2),
  /** Gone: the server does not have it: expired, deleted, or data was lost. */
  GONE(3),
  /** Broken: a break took it. */
  BROKEN(4),
  /** Max hold: its max-hold was reached. */
  MAX_HOLD(5),
  /** Closed: the client was shut down. */
  CLOSED(6),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final Reason[] ALL = values();

  final int number;

  Reason(int number) {
    this.number = number;
  }

  static Reason of(long number) {
    for (Reason value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
