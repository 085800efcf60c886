package invalid.belay;

import java.time.Duration;

/**
 * A holder of a name, or a waiter for it.
 *
 * @param role what it does
 * @param client the id of its client
 * @param label the label of its client
 * @param host its host
 * @param pid its process
 * @param since for how long it has held or waited
 * @param lease of a holder: what is left of its lease
 * @param fence of a holder: its fence; its client may have a later one by now
 * @param holds of a holder: its client's holds, as of its last renewal or 10 s before
 * @param localWaiters of a holder: the waiters in its client, as of the same
 * @param permits of a semaphore: how many
 * @param shared whether it is a reader of a lock
 */
public record Member(Role role, String client, String label, String host, long pid, Duration since, Duration lease, long fence,
    long holds, long localWaiters, long permits, boolean shared) {}
