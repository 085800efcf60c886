package invalid.belay.internal;

import java.lang.ref.Cleaner;

/** An object of the library. Native methods take the Handle itself, never its number. */
public final class Handle {
  /** Of everything that the garbage collector ends; its thread is a daemon. */
  public static final Cleaner CLEANER = Cleaner.create();

  /** Kinds of objects, as javaFree of java.i has them. */
  public static final int CLIENT = 0, OPTIONS = 1, REQUEST = 2, WORDS = 3;

  private final int kind;
  private final long pointer; // the native code reads it, too
  private Cleaner.Cleanable collected;

  /** Whoever makes it frees it. */
  public Handle(int kind, long pointer) {
    this.kind = kind;
    this.pointer = pointer;
  }

  /** Lives until the calls return that use it, and is freed when nothing refers to it any more. */
  public static Handle collected(int kind, long pointer) {
    Handle handle = new Handle(kind, pointer);
    handle.collected = CLEANER.register(handle, () -> Native.javaFree(kind, pointer));
    return handle;
  }

  /** Frees the object at once. No call may use it any more. */
  public void free() {
    if (collected == null) {
      Native.javaFree(kind, pointer);
    } else {
      collected.clean();
    }
  }
}
