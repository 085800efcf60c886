package invalid.belay;

import static invalid.belay.internal.Numbers.*;

import invalid.belay.internal.Native;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * What the library told of a call or a hold: plain numbers and texts, with nothing native behind them.
 *
 * @param numbers its fields
 * @param text of a fenced write: the server's reply; of a line of the log: the client's id; of an inspected name: its server; else null
 * @param names of a listing
 */
record Event(long[] numbers, String message, byte[] text, List<Member> members, List<byte[]> names) {
  /** How many numbers the native code writes for an event: its fields, and the event itself if it has texts. */
  static final int ROW = FIELD_SLOT + 2;

  private Event(long[] numbers, String message) {
    this(numbers, message, null, List.of(), List.of());
  }

  /** The event of a row, which it keeps; it frees what is native of it. */
  static Event take(long[] numbers) {
    long event = numbers[ROW - 1];
    if (event == 0) {
      return new Event(numbers, "");
    }
    String message = inJava(utf8(Native.belayEventMessage(event)));
    int kind = (int) numbers[FIELD_KIND];
    int count = (int) numbers[FIELD_MEMBERS];
    Event taken = new Event(numbers, message,
        kind == WRITTEN || kind == LOG || kind == INSPECTED ? Native.belayEventText(event) : null,
        kind == INSPECTED || kind == BROKEN ? each(count, i -> member(event, i)) : List.of(),
        kind == LISTED ? each(count, i -> Native.belayEventMemberText(event, i, MEMBER_NAME)) : List.of());
    Native.belayEventFree(event);
    return taken;
  }

  /** Of a call that the library refused with a status alone. */
  static Event refused(int status, String why) {
    Event event = new Event(new long[ROW], why.isEmpty() ? Errors.about(status) : why);
    event.numbers[FIELD_STATUS] = status;
    return event;
  }

  /** Of a hold of a client that was closed, and is not there any more to ask. */
  static Event lostByClose() {
    Event event = refused(Status.LOST.number, "the hold was lost: its client was closed");
    event.numbers[FIELD_REASON] = Reason.CLOSED.number;
    return event;
  }

  private static final Pattern OUT_OF_RANGE = Pattern.compile("([a-z_]+?)(_ms)? was (\\S+): (.+) is allowed");

  /** Says in Java's words what the library found out of range: a name as here, and times with their unit. */
  static String inJava(String message) {
    Matcher part = OUT_OF_RANGE.matcher(message);
    if (!part.matches()) {
      return message;
    }
    String name = Pattern.compile("_(.)").matcher(part.group(1)).replaceAll(letter -> letter.group(1).toUpperCase(Locale.ROOT));
    String unit = part.group(2) == null ? "" : " ms";
    return name + " was " + part.group(3) + unit + ": " + part.group(4) + unit + " is allowed";
  }

  static String utf8(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static byte[] utf8(String text, String what) {
    byte[] bytes = Objects.requireNonNull(text, what).getBytes(StandardCharsets.UTF_8);
    if (!utf8(bytes).equals(text)) {
      throw Request.invalid(what + " had half of a surrogate pair");
    }
    return bytes;
  }

  static byte[][] utf8(String[] texts, String what) {
    return Arrays.stream(Objects.requireNonNull(texts, what + "s")).map(text -> utf8(text, what)).toArray(byte[][]::new);
  }

  /** Throws what the event says, if it says a failure. */
  Event check() {
    if (!ok()) {
      throw Errors.of(this);
    }
    return this;
  }

  /** Whether it granted: false for the statuses with which a try or a wait ends in vain; throws what else it says. */
  boolean granted() {
    return !is(Status.BUSY) && !is(Status.TIMEOUT) && check().ok();
  }

  boolean ok() {
    return status() == 0;
  }

  boolean is(Status status) {
    return status() == status.number;
  }

  long number(int field) {
    return numbers[field];
  }

  int kind() {
    return (int) numbers[FIELD_KIND];
  }

  long tag() {
    return numbers[FIELD_TAG];
  }

  long status() {
    return numbers[FIELD_STATUS];
  }

  long hold() {
    return numbers[FIELD_HOLD];
  }

  long fence() {
    return numbers[FIELD_FENCE];
  }

  long count() {
    return numbers[FIELD_COUNT];
  }

  long generation() {
    return numbers[FIELD_GENERATION];
  }

  Listing listing() {
    return new Listing(names, numbers[FIELD_TOTAL]);
  }

  Duration remaining() {
    return Duration.ofMillis(numbers[FIELD_REMAINING_MS]);
  }

  Duration inDoubt() {
    return Duration.ofMillis(numbers[FIELD_IN_DOUBT_MS]);
  }

  Optional<Reason> reason() {
    long reason = numbers[FIELD_REASON];
    return reason == 0 ? Optional.empty() : Optional.of(Reason.of(reason));
  }

  LogEntry logEntry() {
    return new LogEntry(LogLevel.of(numbers[FIELD_LEVEL]), Instant.ofEpochMilli(numbers[FIELD_TIME_MS]), message, utf8(text),
        numbers[FIELD_DROPPED]);
  }

  private static <T> List<T> each(int count, IntFunction<T> member) {
    return IntStream.range(0, count).mapToObj(member).toList();
  }

  private static Member member(long event, int index) {
    return new Member(Role.of(Native.belayEventMemberInt(event, index, MEMBER_ROLE)),
        utf8(Native.belayEventMemberText(event, index, MEMBER_CLIENT)),
        utf8(Native.belayEventMemberText(event, index, MEMBER_LABEL)),
        utf8(Native.belayEventMemberText(event, index, MEMBER_HOST)),
        Native.belayEventMemberInt(event, index, MEMBER_PID),
        Duration.ofMillis(Native.belayEventMemberInt(event, index, MEMBER_SINCE_MS)),
        Duration.ofMillis(Native.belayEventMemberInt(event, index, MEMBER_LEASE_MS)),
        Native.belayEventMemberInt(event, index, MEMBER_FENCE), Native.belayEventMemberInt(event, index, MEMBER_HOLDS),
        Native.belayEventMemberInt(event, index, MEMBER_LOCAL_WAITERS),
        Native.belayEventMemberInt(event, index, MEMBER_PERMITS),
        Native.belayEventMemberInt(event, index, MEMBER_SHARED) == 1);
  }
}
