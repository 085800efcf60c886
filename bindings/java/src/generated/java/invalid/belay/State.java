// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** The state of a hold. */
public enum State {
  /** It was released or abandoned. */
  RELEASED(0),
  /** Held. */
  HELD(1),
  /** At risk: still ours, but its renewal fails or has stopped. */
  AT_RISK(2),
  /** Lost: not ours any more. */
  LOST(3),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final State[] ALL = values();

  final int number;

  State(int number) {
    this.number = number;
  }

  static State of(long number) {
    for (State value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
