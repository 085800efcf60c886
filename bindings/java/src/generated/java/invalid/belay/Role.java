// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** What a member of an inspection does. */
public enum Role {
  /** Holder. */
  HOLDER(1),
  /** Waiter. */
  WAITER(2),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final Role[] ALL = values();

  final int number;

  Role(int number) {
    this.number = number;
  }

  static Role of(long number) {
    for (Role value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
