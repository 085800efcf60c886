package invalid.belay;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * Readers hold the name together, and a writer holds it alone. Waiters are served in the order in which they came: a reader does not
 * pass a waiting writer. The write lock also excludes a {@link Belay#lock(String) lock} of the name.
 */
public final class DistributedReadWriteLock implements ReadWriteLock {
  private final DistributedLock readLock;
  private final DistributedLock writeLock;

  DistributedReadWriteLock(Belay belay, byte[] name) {
    readLock = new DistributedLock(belay, true, name);
    writeLock = new DistributedLock(belay, false, name);
  }

  @Override
  public DistributedLock readLock() {
    return readLock;
  }

  /**
   * {@return the lock for writing} A thread that reads and asks for it gets a {@link WouldDeadlockException}. {@link Hold#downgrade}
   * leads from writing to reading.
   */
  @Override
  public DistributedLock writeLock() {
    return writeLock;
  }
}
