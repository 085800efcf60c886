package invalid.belay;

import static org.junit.jupiter.api.Assertions.*;

import invalid.belay.internal.Loader;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every status of belay.h has its exception, and the API of Java throws it. */
final class StatusTest extends ServerTest {
  private static final Map<String, String> SPECIAL =
      Map.of("TIMEOUT", "LockTimeout", "LOST", "LockLost", "AUTH_FAILED", "Authentication");

  /** The statuses of belay.h, without OK. */
  private static Map<String, Integer> statuses() throws IOException {
    String header = Files.readString(Path.of(System.getProperty("belay.header")));
    String body = header.substring(header.indexOf("enum belay_status {"));
    Matcher each = Pattern.compile("BELAY_(\\w+) = (\\d+)").matcher(body.substring(0, body.indexOf("};")));
    Map<String, Integer> statuses = new TreeMap<>();
    while (each.find()) {
      statuses.put(each.group(1), Integer.parseInt(each.group(2)));
    }
    assertEquals(0, statuses.remove("OK"));
    assertTrue(statuses.size() > 20, statuses.toString());
    return statuses;
  }

  private static String camel(String name) {
    return Arrays.stream(name.split("_")).map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT)).collect(Collectors.joining());
  }

  private static Class<?> parent(String name, int number) {
    if (Set.of("LOST", "UNKNOWN_HOLD").contains(name)) {
      return NotHeldException.class;
    }
    return number < 20 ? RetryException.class : number < 40 ? RefusedException.class : number < 60 ? MisuseException.class : GoneException.class;
  }

  /** What no call of Java can bring about: it chooses the tags, hides the event of a cancel, and does not fork. */
  private static final Set<Status> ONLY_MAPPED = Set.of(Status.TAG_IN_USE, Status.UNKNOWN_TAG, Status.CANCELLED, Status.FORKED);

  @Test
  void everyStatusIsThrownByACall() throws Exception {
    Map<Status, Body> calls = new EnumMap<>(Status.class);
    another().lock("taken").lock();
    calls.put(Status.BUSY, () -> belay.lock("taken").acquire(Duration.ZERO));
    calls.put(Status.TIMEOUT, () -> belay.lock("taken").acquire(SHORT));
    calls.put(Status.UNAVAILABLE, () -> ping(Belay.options().url("unix:///nonexistent").requestTimeout(SHORT)));
    calls.put(Status.TOO_MANY_PENDING, this::askForTooMuch);
    server.command("ACL", "SETUSER", "joe", "on", ">secret", "~other:*", "&*", "+@all");
    calls.put(Status.AUTH_FAILED, () -> ping(options().user("joe").password("wrong")));
    calls.put(Status.NOT_PERMITTED, () -> lock(options().user("joe").password("secret")));
    belay.latch("latch").set(1);
    calls.put(Status.WRONG_TYPE, () -> belay.lock("latch").lock());
    calls.put(Status.UNSUPPORTED_SERVER, StatusTest::askAnotherServer);
    Hold hold = belay.lock("held").acquire();
    belay.fencedWrite("text", hold.fence(), "SET", "a");
    calls.put(Status.SERVER_ERROR, () -> belay.fencedWrite("text", hold.fence(), "INCR"));
    calls.put(Status.NOT_FOUND, () -> belay.latch("none").countDown());
    belay.semaphore("s", 2).acquire();
    calls.put(Status.LIMIT_DIFFERS, () -> belay.semaphore("s", 3).acquire());
    calls.put(Status.IN_USE, () -> belay.latch("latch").set(1));
    calls.put(Status.INVALID_ARGUMENT, () -> belay.lock(""));
    calls.put(Status.UNSUPPORTED_URL, () -> Belay.connect("http://localhost"));
    Hold released = belay.lock("released").acquire();
    released.release();
    calls.put(Status.UNKNOWN_HOLD, released::release);
    calls.put(Status.ALREADY_USED, this::changeUsedOptions);
    belay.readWriteLock("read").readLock().lock();
    calls.put(Status.WOULD_DEADLOCK, () -> belay.readWriteLock("read").writeLock().lock());
    calls.put(Status.LOST, () -> belay.lock("lost").run(lost -> another().breakLock("lost")));
    Belay closed = another();
    closed.close();
    calls.put(Status.CLOSED, closed::ping);
    calls.put(Status.STALE_FENCE, () -> belay.fencedWrite("text", hold.fence() - 1, "SET", "b"));

    for (var call : calls.entrySet()) {
      Throwable thrown = assertThrows(RuntimeException.class, call.getValue()::run, call.getKey().name());
      assertEquals(call.getKey(), assertInstanceOf(Failure.class, thrown).status());
      assertEquals(exception(call.getKey().name()), thrown.getClass().getSimpleName());
      assertFalse(thrown.getMessage().isEmpty(), call.getKey().name());
    }
    Set<String> all = calls.keySet().stream().map(Status::name).collect(Collectors.toCollection(HashSet::new));
    ONLY_MAPPED.forEach(status -> assertTrue(all.add(status.name()), status.name()));
    assertEquals(statuses().keySet(), all);
  }

  private static void ping(Options options) {
    try (Belay client = options.connect()) {
      client.ping();
    }
  }

  private static void lock(Options options) {
    try (Belay client = options.connect()) {
      client.lock("a").tryLock();
    }
  }

  private void askForTooMuch() {
    try (Belay client = options().maxPending(1).connect()) {
      client.lock("taken").acquireAsync();
      client.lock("taken").lock();
    }
  }

  private void changeUsedOptions() {
    Options options = options();
    options.connect().close();
    options.label("other");
  }

  /** One that does not know RESP3, as Redis before 6. */
  private static void askAnotherServer() throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      thread(() -> {
        for (;;) {
          try (Socket socket = listener.accept(); InputStream in = socket.getInputStream()) {
            in.read(new byte[10_000]);
            socket.getOutputStream().write("-NOPROTO unsupported protocol version\r\n".getBytes(StandardCharsets.UTF_8));
            in.read();
          }
        }
      });
      ping(Belay.options().url("redis://127.0.0.1:" + listener.getLocalPort()));
    }
  }

  private static String exception(String status) {
    return SPECIAL.getOrDefault(status, camel(status)) + "Exception";
  }

  @Test
  void everyStatusHasItsException() throws IOException {
    Loader.load();
    for (var status : statuses().entrySet()) {
      String name = status.getKey();
      RuntimeException e = Errors.of(Event.refused(status.getValue(), "why"));
      assertEquals(exception(name), e.getClass().getSimpleName());
      assertEquals(parent(name, status.getValue()), e.getClass().getSuperclass());
      assertEquals(name, ((Failure) e).status().name());
      assertEquals("why", e.getMessage());
    }
  }

  @Test
  void unknownStatusGoesByItsClass() {
    Loader.load();
    RuntimeException e = Errors.of(Event.refused(39, ""));
    assertEquals(RefusedException.class, e.getClass());
    assertEquals(Status.UNKNOWN, ((Failure) e).status());
  }

  @Test
  void aStatusAloneIsSaidInWords() {
    assertEquals("the client has been shut down", Errors.of(Event.refused(Status.CLOSED.number, "")).getMessage());
  }

  @Test
  void lossIsAnIllegalMonitorState() {
    assertTrue(IllegalMonitorStateException.class.isAssignableFrom(LockLostException.class));
    assertTrue(Failure.class.isAssignableFrom(LockLostException.class));
    assertTrue(RetryException.class.isAssignableFrom(UnavailableException.class));
  }
}
