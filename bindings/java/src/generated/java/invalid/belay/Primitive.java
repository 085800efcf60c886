// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** What a name is in use for. */
public enum Primitive {
  /** Lock: exclusive, or shared by readers or by an identity. */
  LOCK(1),
  /** Semaphore: a number of permits. */
  SEMAPHORE(2),
  /** Latch: a countdown latch: waited for, not held. */
  LATCH(3),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final Primitive[] ALL = values();

  final int number;

  Primitive(int number) {
    this.number = number;
  }

  static Primitive of(long number) {
    for (Primitive value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
