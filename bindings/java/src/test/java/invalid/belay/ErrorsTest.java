package invalid.belay;

import static org.junit.jupiter.api.Assertions.*;

import invalid.belay.internal.Loader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class ErrorsTest {
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

  @Test
  void everyStatusHasItsException() throws IOException {
    Loader.load();
    for (var status : statuses().entrySet()) {
      String name = status.getKey();
      RuntimeException e = Errors.of(Event.refused(status.getValue(), "why"));
      assertEquals(SPECIAL.getOrDefault(name, camel(name)) + "Exception", e.getClass().getSimpleName());
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
