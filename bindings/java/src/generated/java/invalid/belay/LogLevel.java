// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

/** How important a line of the log is. */
public enum LogLevel {
  /** None. */
  NONE(0),
  /** Error. */
  ERROR(1),
  /** Warning. */
  WARNING(2),
  /** Info. */
  INFO(3),
  /** Debug. */
  DEBUG(4),
  /** One that a later version of the library added. */
  UNKNOWN(-1);

  private static final LogLevel[] ALL = values();

  final int number;

  LogLevel(int number) {
    this.number = number;
  }

  static LogLevel of(long number) {
    for (LogLevel value : ALL) {
      if (value.number == number) {
        return value;
      }
    }
    return UNKNOWN;
  }
}
