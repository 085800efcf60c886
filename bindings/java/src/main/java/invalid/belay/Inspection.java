package invalid.belay;

import static invalid.belay.internal.Numbers.*;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Who holds a name and who waits for it.
 *
 * @param primitive what the name is in use for; empty if it is not in use
 * @param members the holders first, then the waiters in order
 * @param total how many members there are; more than the list has if a limit cut them off
 * @param limit of a semaphore: how many permits it has
 * @param available of a semaphore: how many permits are free
 * @param generation of a latch: which one
 * @param count of a latch: how many are to go
 * @param server that has the name: host:port, or the path of its socket
 * @param slot of the name in its cluster; empty if the server is in no cluster
 */
public record Inspection(Optional<Primitive> primitive, List<Member> members, long total, long limit, long available,
    long generation, long count, String server, OptionalInt slot) {
  static Inspection of(Event event) {
    long primitive = event.number(FIELD_PRIMITIVE);
    int slot = (int) event.number(FIELD_SLOT);
    return new Inspection(primitive == 0 ? Optional.empty() : Optional.of(Primitive.of(primitive)), event.members(),
        event.number(FIELD_TOTAL), event.number(FIELD_LIMIT), event.number(FIELD_AVAILABLE), event.generation(), event.count(),
        Event.utf8(event.text()), slot < 0 ? OptionalInt.empty() : OptionalInt.of(slot));
  }
}
