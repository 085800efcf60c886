package invalid.belay;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** The holds of a client that the user does not see: what lock() and a semaphore's acquire() got, until unlock() and release(). */
final class Kept {
  /** Whose hold of what. */
  record Key(long owner, ByteBuffer names) {
    /** The same for names in any order. */
    static ByteBuffer of(Primitive primitive, boolean shared, List<byte[]> names) {
      ByteBuffer key = ByteBuffer.allocate(2 + names.stream().mapToInt(name -> Integer.BYTES + name.length).sum());
      key.put((byte) primitive.number).put((byte) (shared ? 1 : 0));
      names.stream().sorted(Arrays::compare).forEach(name -> key.putInt(name.length).put(name));
      return key.flip().asReadOnlyBuffer();
    }
  }

  /** The thread is not kept: one that ended, or that nothing can ever continue, holds nothing. */
  private record Entry(WeakReference<Thread> thread, Deque<Hold> holds) {
    boolean hasEnded() {
      Thread owner = thread == null ? null : thread.get();
      return thread != null && (owner == null || !owner.isAlive());
    }
  }

  private final Map<Key, Entry> entries = new ConcurrentHashMap<>();

  /** With the thread whose end ends them, or null. */
  void add(Key key, Thread thread, Hold hold) {
    entries.compute(key, (same, found) -> {
      Entry entry = found != null ? found : new Entry(thread == null ? null : new WeakReference<>(thread), new ConcurrentLinkedDeque<>());
      entry.holds.addLast(hold);
      return entry;
    });
  }

  /** Those holds, the first one first. */
  Deque<Hold> holds(Key key) {
    Entry entry = entries.get(key);
    return entry == null ? new ArrayDeque<>() : entry.holds;
  }

  /** Takes the last one that fits, or null. */
  Hold take(Key key, Predicate<Hold> fits) {
    AtomicReference<Hold> taken = new AtomicReference<>();
    entries.computeIfPresent(key, (same, entry) -> {
      for (Iterator<Hold> each = entry.holds.descendingIterator(); taken.get() == null && each.hasNext();) {
        Hold hold = each.next();
        if (fits.test(hold)) {
          each.remove();
          taken.set(hold);
        }
      }
      return entry.holds.isEmpty() ? null : entry;
    });
    return taken.get();
  }

  /** Takes what the threads had that have ended. */
  void takeOfEnded(Consumer<Deque<Hold>> taker) {
    entries.forEach((key, entry) -> {
      if (entry.hasEnded() && entries.remove(key) != null) {
        taker.accept(entry.holds);
      }
    });
  }

  boolean isEmpty() {
    return entries.isEmpty();
  }
}
