package invalid.belay;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Loader;
import invalid.belay.internal.Native;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** What a client is made with. All options of the library can be set {@link #set by name}; {@link #all} tells which there are. */
public final class Options extends OptionSetters {
  private static final System.Logger LOGGER = System.getLogger("invalid.belay");
  private static final int ABOUT = 1, UNIT = 2, DEFAULT = 3, RANGE = 4, VARIABLE = 5, SECRET = 6;

  /**
   * What the library says of an option.
   *
   * @param name its name
   * @param about a few words for people
   * @param unit ms, or empty
   * @param defaultValue its value unless the environment or you set it
   * @param range what is allowed; empty if only its use tells
   * @param variable the environment variable that sets it, or empty
   * @param secret whether nobody may see its value
   */
  public record Description(String name, String about, String unit, String defaultValue, String range, String variable,
      boolean secret) {}

  private final Handle handle;
  private Executor executor;
  private Consumer<LogEntry> log = Options::toSystemLogger;

  Options() {
    Loader.load();
    handle = Handle.collected(Handle.OPTIONS, Native.belayOptionsNew());
    logEvents(LogLevel.WARNING);
  }

  /**
   * {@return what options there are}
   */
  public static List<Description> all() {
    Loader.load();
    List<Description> all = new ArrayList<>();
    for (byte[] name = Native.belayOptionName(0); name != null; name = Native.belayOptionName(all.size())) {
      all.add(new Description(Event.utf8(name), text(name, ABOUT), text(name, UNIT), text(name, DEFAULT), text(name, RANGE),
          text(name, VARIABLE), !text(name, SECRET).isEmpty()));
    }
    return all;
  }

  private static String text(byte[] name, int what) {
    return Event.utf8(Native.belayOptionText(name, what));
  }

  /**
   * Sets an option by its name.
   *
   * @param name such as watchdog_lease_ms
   * @param value as text, in the option's unit
   * @return these options
   * @throws MisuseException if there is no such option, or it does not allow the value
   */
  @Override
  public Options set(String name, String value) {
    check(Native.belayOptionsSet(handle, withoutNul(name, "name"), withoutNul(value, name)));
    return this;
  }

  /**
   * {@return the value of an option, as {@link #set} takes it} It is what a setter, the URL or the environment says, or else the default;
   * empty for what may have a secret in it: url, user, password and password_file.
   *
   * @param name such as watchdog_lease_ms
   * @throws MisuseException if there is no such option
   */
  public String get(String name) {
    byte[] value = Native.belayOptionsGet(handle, withoutNul(name, "name"));
    if (value == null) {
      throw Request.invalid("there is no option '" + name + "'");
    }
    return Event.utf8(value);
  }

  /** C takes these up to a NUL. */
  private static byte[] withoutNul(String text, String what) {
    byte[] bytes = Event.utf8(text, what);
    if (text.indexOf(0) >= 0) {
      throw Request.invalid(what + " had a NUL in it");
    }
    return bytes;
  }

  /** What has a setter of its own is refused in Java's words. */
  @Override
  Options number(String name, long value) {
    int status = Native.belayOptionsSet(handle, Event.utf8(name, name), Event.utf8(Long.toString(value), name));
    Event.refused(status, Event.inJava(Event.utf8(Native.belayOptionsError(handle)))).check();
    return this;
  }

  private void check(int status) {
    Event.refused(status, Event.utf8(Native.belayOptionsError(handle))).check();
  }

  /**
   * Sets which lines of the client's log {@link #onLog} gets.
   *
   * @param level the least important ones; default WARNING: as that the server cannot be reached
   * @return these options
   */
  public Options logEvents(LogLevel level) {
    return number("log_events", level.number);
  }

  /**
   * Sets who gets the log: the lines that {@link #logEvents} asks for, and a warning for each hold that was dropped.
   *
   * @param action gets one line at a time, in a thread of its own; what comes while 1000 lines wait is dropped and counted. Default: the
   *     System.Logger invalid.belay
   * @return these options
   */
  public Options onLog(Consumer<LogEntry> action) {
    log = Objects.requireNonNull(action, "action");
    return this;
  }

  /**
   * Sets where futures complete, and so where the actions run that hang on them; and where callbacks of holds run.
   *
   * @param executor any that does not run them in the thread that calls it, and does not make it wait. Default: daemon threads of the
   *     client, up to 8 for futures and up to 32 for callbacks. What the executor refuses runs in those threads; what it takes and discards,
   *     as by shutdownNow(), is lost
   * @return these options
   */
  public Options executor(Executor executor) {
    this.executor = executor;
    return this;
  }

  /**
   * Makes a client. It connects in the background, and reconnects whenever the connection breaks.
   *
   * @return the client
   * @throws MisuseException if an option is wrong
   */
  public Belay connect() {
    long client = Native.belayClientNew(handle);
    if (client == 0) {
      check(Status.INVALID_ARGUMENT.number);
    }
    return new Belay(Handle.collected(Handle.CLIENT, client), executor, log);
  }

  private static void toSystemLogger(LogEntry entry) {
    System.Logger.Level level = switch (entry.level()) {
      case ERROR -> System.Logger.Level.ERROR;
      case WARNING -> System.Logger.Level.WARNING;
      case INFO -> System.Logger.Level.INFO;
      default -> System.Logger.Level.DEBUG;
    };
    LOGGER.log(level, entry.dropped() == 0 ? entry.message() : entry.message() + " (" + entry.dropped() + " lines before it were dropped)");
  }
}
