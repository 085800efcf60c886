package invalid.belay.internal;

import java.lang.ref.Cleaner;

/**
 * An object of the library. Native methods take the Handle itself: so it lives until they return, and is freed when nothing refers
 * to it any more.
 */
public final class Handle {
  /** Of everything that the garbage collector ends; its thread is a daemon. */
  public static final Cleaner CLEANER = Cleaner.create();

  /** Kinds of objects, as javaFree of java.i has them. */
  public static final int CLIENT = 0, OPTIONS = 1, REQUEST = 2, WORDS = 3;

  @SuppressWarnings("unused") // the native code reads it
  private final long pointer;

  private final Cleaner.Cleanable free;

  public Handle(int kind, long pointer) {
    this.pointer = pointer;
    free = CLEANER.register(this, () -> Native.javaFree(kind, pointer));
  }

  /** Frees the object at once. No call may use it any more. */
  public void free() {
    free.clean();
  }
}
