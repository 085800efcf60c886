package invalid.belay;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/** The holds of a client that the user does not see: what lock() and a semaphore's acquire() got, until unlock() and release(). */
final class Kept {
  /** Whose hold of what. */
  record Key(long owner, String names) {
    /** The same for names in any order. */
    static String of(Primitive primitive, boolean shared, byte[]... names) {
      StringBuilder key = new StringBuilder().append((char) primitive.number).append(shared);
      byte[][] sorted = names.clone();
      Arrays.sort(sorted, Arrays::compare);
      for (byte[] name : sorted) {
        key.append((char) name.length).append(new String(name, StandardCharsets.ISO_8859_1));
      }
      return key.toString();
    }
  }

  /** The thread is not kept: one that ended, or that nothing can ever continue, holds nothing. The map guards the holds. */
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
      Entry entry = found != null ? found : new Entry(thread == null ? null : new WeakReference<>(thread), new ArrayDeque<>(1));
      entry.holds.addLast(hold);
      return entry;
    });
  }

  /** The last one, or null. */
  Hold last(Key key) {
    return seen(key, Deque::peekLast, null);
  }

  int count(Key key) {
    return seen(key, Deque::size, 0);
  }

  private <T> T seen(Key key, Function<Deque<Hold>, T> look, T ifNone) {
    AtomicReference<T> seen = new AtomicReference<>(ifNone);
    entries.computeIfPresent(key, (same, entry) -> {
      seen.set(look.apply(entry.holds));
      return entry;
    });
    return seen.get();
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
