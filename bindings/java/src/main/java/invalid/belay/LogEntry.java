package invalid.belay;

import java.time.Instant;

/**
 * A line of a client's log.
 *
 * @param level how important it is
 * @param time when, by the clock of this machine
 * @param message the line
 * @param client the id of the client, as {@link Belay#id} has it
 * @param dropped how many lines were dropped before this one
 */
public record LogEntry(LogLevel level, Instant time, String message, String client, long dropped) {}
