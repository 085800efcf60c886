package invalid.belay;

import invalid.belay.internal.Numbers;

/**
 * The permits of a semaphore.
 *
 * @param limit how many it has
 * @param available how many are free; others may take them meanwhile
 */
public record Permits(long limit, long available) {
  static Permits of(Event event) {
    return new Permits(event.number(Numbers.FIELD_LIMIT), event.number(Numbers.FIELD_AVAILABLE));
  }
}
