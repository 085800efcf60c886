package invalid.belay;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Native;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;

/**
 * What to acquire, for any number of threads. A change makes another request. The library's own is made for each call: one that lived
 * as long as this object would be freed by the garbage collector, which costs more than an acquire's other work in Java.
 */
final class Request {
  static final long FOREVER_MS = -1;

  private final Primitive primitive;
  private final List<ToIntFunction<Handle>> settings;
  private final List<byte[]> names;

  private Request(Primitive primitive, List<ToIntFunction<Handle>> settings, List<byte[]> names) {
    this.primitive = primitive;
    this.settings = settings;
    this.names = names;
    submit(handle -> 0); // throws if a setting is wrong
  }

  static Request of(Primitive primitive, boolean shared, byte[]... names) {
    if (Objects.requireNonNull(names, "names").length == 0) {
      throw invalid("the request had no name");
    }
    List<byte[]> own = new ArrayList<>(names.length);
    List<ToIntFunction<Handle>> settings = new ArrayList<>(names.length);
    for (byte[] given : names) {
      byte[] name = Objects.requireNonNull(given, "name").clone();
      own.add(name);
      settings.add(shared ? handle -> Native.belayRequestAddSharedName(handle, name) : handle -> Native.belayRequestAddName(handle, name));
    }
    return new Request(primitive, settings, own);
  }

  Request with(ToIntFunction<Handle> setting) {
    List<ToIntFunction<Handle>> more = new ArrayList<>(settings);
    more.add(setting);
    return new Request(primitive, more, names);
  }

  /** Calls with a request of the library, which keeps nothing of it. */
  int submit(ToIntFunction<Handle> call) {
    Handle handle = new Handle(Handle.REQUEST, Native.belayRequestNew(primitive.number));
    try {
      for (ToIntFunction<Handle> setting : settings) {
        int status = setting.applyAsInt(handle);
        if (status != 0) {
          throw Errors.of(Event.refused(status, Event.inJava(Event.utf8(Native.belayRequestError(handle)))));
        }
      }
      return call.applyAsInt(handle);
    } finally {
      handle.free();
    }
  }

  /** The client renews its holds. */
  Request renewed() {
    return with(handle -> Native.belayRequestSetLeaseMs(handle, 0));
  }

  /** In C a lease of 0 stands for none. */
  Request lease(Duration lease) {
    if (Objects.requireNonNull(lease, "lease").isZero()) {
      throw invalid("lease was zero: 100 ms to a day is allowed");
    }
    return with(handle -> Native.belayRequestSetLeaseMs(handle, wholeMillis(lease, "lease")));
  }

  /** In C a max-hold of 0 stands for none. */
  Request maxHold(Duration maxHold) {
    if (Objects.requireNonNull(maxHold, "maxHold").isZero()) {
      throw invalid("maxHold was zero: 100 ms to 30 days is allowed");
    }
    return with(handle -> Native.belayRequestSetMaxHoldMs(handle, wholeMillis(maxHold, "maxHold")));
  }

  Request lockDelay(Duration delay) {
    return with(handle -> Native.belayRequestSetLockDelayMs(handle, wholeMillis(delay, "delay")));
  }

  Request confirmed() {
    return with(handle -> Native.belayRequestSetConfirmed(handle, 1));
  }

  /** The names, for people. */
  String name() {
    return String.join("', '", names.stream().map(Event::utf8).toList());
  }

  List<byte[]> names() {
    return names;
  }

  static RuntimeException invalid(String why) {
    return Errors.of(Event.refused(Status.INVALID_ARGUMENT.number, why));
  }

  /** A setting in milliseconds, rounded away from zero, which often means something else. */
  static long wholeMillis(Duration setting, String name) {
    try {
      long millis = Objects.requireNonNull(setting, name).toMillis();
      return setting.equals(Duration.ofMillis(millis)) ? millis : millis + (setting.isNegative() ? -1 : 1);
    } catch (ArithmeticException e) {
      return setting.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }

  /** A wait in milliseconds, rounded up; what is negative does not wait. */
  static long millis(Duration wait) {
    return Objects.requireNonNull(wait, "wait").isNegative() ? 0 : millis(wait.getSeconds(), TimeUnit.SECONDS, wait.getNano());
  }

  static long millis(long time, TimeUnit unit) {
    return millis(time, unit, 0);
  }

  private static long millis(long time, TimeUnit unit, int nanos) {
    long most = Long.MAX_VALUE / 2; // the library waits for ever then
    long whole = Math.min(Objects.requireNonNull(unit, "unit").toMillis(Math.max(time, 0)), most);
    boolean rest = unit.convert(whole, TimeUnit.MILLISECONDS) < time && whole < most;
    return whole + (rest ? 1 : 0) + (nanos + 999_999) / 1_000_000;
  }
}
