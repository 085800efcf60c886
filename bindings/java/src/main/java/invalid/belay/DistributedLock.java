package invalid.belay;

import invalid.belay.internal.Native;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock on one name or several, of which it takes all or none. The order of names does not matter. Its two forms nest:
 *
 * <ul>
 *   <li>As a {@link Lock} it belongs to the thread that locks it, which may lock it again, and unlocks it as often. What a thread
 *       holds when it ends is abandoned within seconds, with a warning in the log, as {@link Hold} describes it.
 *   <li>{@link #acquire()} returns a {@link Hold}. A thread that has the lock may acquire it again; any thread may release the hold.
 * </ul>
 *
 * {@link #acquireAsync()} belongs to no thread: it excludes everyone else, also the thread that called it. {@link #withOwner} makes a
 * lock of which all forms belong to an owner instead: they nest with one another, in any thread.
 */
public final class DistributedLock implements Lock {
  /**
   * What {@link #run} runs.
   *
   * @param <E> what it throws
   */
  @FunctionalInterface
  public interface Body<E extends Exception> {
    /**
     * Runs under the lock.
     *
     * @param hold of the lock
     * @throws E what run throws then
     */
    void run(Hold hold) throws E;
  }

  /**
   * What {@link #call} calls.
   *
   * @param <T> what it returns
   * @param <E> what it throws
   */
  @FunctionalInterface
  public interface Task<T, E extends Exception> {
    /**
     * Runs under the lock.
     *
     * @param hold of the lock
     * @return what call returns
     * @throws E what call throws then
     */
    T call(Hold hold) throws E;
  }

  private static final long NOT_LOCKED = -2; // as Redis and Redisson have it
  private static final long FIRST_GIVEN = 1L << 52; // in C the owners that are given come after all threads

  private final Belay belay;
  private final Pump pump;
  private final boolean shared;
  private final Request request;
  private final String names; // tells locks of the same names and side from others
  private final long given; // owner; 0: the thread

  DistributedLock(Belay belay, boolean shared, byte[]... names) {
    this(belay, shared, Request.of(Primitive.LOCK, shared, names), Kept.Key.of(Primitive.LOCK, shared, names), 0);
  }

  private DistributedLock(Belay belay, boolean shared, Request request, String names, long given) {
    this.belay = belay;
    this.pump = belay.pump;
    this.shared = shared;
    this.request = request;
    this.names = names;
    this.given = given;
  }

  // ---- Settings: each gives another lock of the same names ----

  /**
   * Sets a fixed lease: a hold lasts for exactly that time, unless it is extended. Without it the client renews holds.
   *
   * @param lease 100 ms to a day
   * @return a lock with this setting
   */
  public DistributedLock withLease(Duration lease) {
    return with(request.lease(lease));
  }

  /**
   * Sets for how long the client renews a hold.
   *
   * @param maxHold 100 ms to 30 days
   * @return a lock with this setting
   */
  public DistributedLock withMaxHold(Duration maxHold) {
    return with(request.maxHold(maxHold));
  }

  /**
   * Sets for how long nobody gets the name after a hold was lost, so that the loser's last writes arrive. Others who may share a lock
   * with the loser get in beside it all the same.
   *
   * @param delay at most a minute
   * @return a lock with this setting
   */
  public DistributedLock withLockDelay(Duration delay) {
    return with(request.lockDelay(delay));
  }

  /**
   * Has an acquire end only when the server has answered that this client has the lock. Use it if what the lock starts cannot be undone at
   * once, such as a process. Otherwise what another client's release hands over is held as soon as its message comes, and a stop of this
   * process right then may lose it. It costs such an acquire one more round trip.
   *
   * @return a lock with this setting
   */
  public DistributedLock withConfirmation() {
    return with(request.confirmed());
  }

  /**
   * Sets an identity, such as an order's id: all with the same identity hold the name together, from any client.
   *
   * @param identity 1 to 256 bytes
   * @return a lock with this setting
   */
  public DistributedLock withIdentity(String identity) {
    return withIdentity(Event.utf8(identity, "identity"));
  }

  /**
   * Sets an identity, such as an order's id: all with the same identity hold the name together, from any client.
   *
   * @param identity 1 to 256 bytes
   * @return a lock with this setting
   */
  public DistributedLock withIdentity(byte[] identity) {
    byte[] own = Objects.requireNonNull(identity, "identity").clone();
    return with(request.with(handle -> Native.belayRequestSetIdentity(handle, own)));
  }

  /**
   * Sets whose the lock is, in all forms, instead of the thread's: a task's or an actor's that moves between threads. An owner may lock
   * again what it has, also by {@link #acquireAsync}, and any thread may unlock for it. Owners of other clients are others, and so are
   * threads, whatever their ids.
   *
   * @param owner a number of your choice, 1 to 2^52-1
   * @return a lock with this setting
   */
  public DistributedLock withOwner(long owner) {
    if (owner < 1 || owner >= FIRST_GIVEN) {
      throw Request.invalid("owner was " + owner + ": 1.." + (FIRST_GIVEN - 1) + " is allowed");
    }
    return new DistributedLock(belay, shared, request, names, FIRST_GIVEN + owner);
  }

  private DistributedLock with(Request changed) {
    return new DistributedLock(belay, shared, changed, names, given);
  }

  private DistributedLock leased(long lease, TimeUnit unit) {
    long nanos = Objects.requireNonNull(unit, "unit").toNanos(lease);
    return with(lease == -1 ? request.renewed() : request.lease(Duration.ofNanos(nanos)));
  }

  // ---- Holds ----

  /**
   * Acquires the lock and waits without limit, also through outages.
   *
   * @return the hold
   * @throws InterruptedException if the thread is interrupted; then it does not have the lock
   */
  public Hold acquire() throws InterruptedException {
    return pump.acquireInterruptibly(request, owner(), Request.FOREVER_MS, this::hold);
  }

  /**
   * Acquires the lock.
   *
   * @param wait the longest wait for the lock; zero is one try
   * @return the hold
   * @throws LockTimeoutException if the wait has ended
   * @throws BusyException if a try found the lock held
   * @throws InterruptedException if the thread is interrupted; then it does not have the lock
   */
  public Hold acquire(Duration wait) throws InterruptedException {
    return pump.acquireInterruptibly(request, owner(), Request.millis(wait), this::hold);
  }

  /**
   * Acquires the lock if that is possible at once.
   *
   * @return the hold; empty if the lock is held or others wait for it
   * @throws UnavailableException if the server cannot be reached
   */
  public Optional<Hold> tryAcquire() {
    return pump.acquire(request, owner(), 0, this::tried);
  }

  /**
   * Acquires the lock if that is possible in time.
   *
   * @param wait the longest wait for the lock
   * @return the hold; empty if the wait has ended
   * @throws UnavailableException if the server cannot be reached
   * @throws InterruptedException if the thread is interrupted; then it does not have the lock
   */
  public Optional<Hold> tryAcquire(Duration wait) throws InterruptedException {
    return pump.acquireInterruptibly(request, owner(), Request.millis(wait), this::tried);
  }

  /**
   * Acquires the lock without waiting for it. Cancelling the future leaves nothing. The hold belongs to no thread: it nests with other
   * holds only if {@link #withOwner} gives an owner.
   *
   * @return what completes with the hold
   */
  public CompletableFuture<Hold> acquireAsync() {
    return pump.acquireAsync(request, given, Request.FOREVER_MS, this::hold);
  }

  /**
   * As {@link #acquireAsync()}, with a limit.
   *
   * @param wait the longest wait for the lock; zero is one try
   * @return what completes with the hold, or with what {@link #acquire(Duration)} throws
   */
  public CompletableFuture<Hold> acquireAsync(Duration wait) {
    return pump.acquireAsync(request, given, Request.millis(wait), this::hold);
  }

  /**
   * Acquires the lock, without limit, runs a body, and releases the lock. If the body throws, that is thrown, and a loss is suppressed
   * under it.
   *
   * @param <E> what the body throws
   * @param body what to run
   * @throws E if the body does
   * @throws LockLostException if the lock was lost meanwhile: others may have worked at the same time
   * @throws InterruptedException if the thread is interrupted while it waits for the lock, and the body has not run; or if the body throws
   *     it: a loss is suppressed under it then
   */
  public <E extends Exception> void run(Body<? extends E> body) throws E, InterruptedException {
    Objects.requireNonNull(body, "body");
    try (Hold hold = acquire()) {
      body.run(hold);
    }
  }

  /**
   * As {@link #run(Body)}, with a limit.
   *
   * @param <E> what the body throws
   * @param wait the longest wait for the lock; zero is one try
   * @param body what to run
   * @throws E if the body does
   * @throws LockTimeoutException if the wait has ended: the body has not run
   * @throws BusyException if a try found the lock held: the body has not run
   * @throws LockLostException if the lock was lost meanwhile: others may have worked at the same time
   * @throws InterruptedException if the thread is interrupted while it waits for the lock, and the body has not run; or if the body throws
   *     it: a loss is suppressed under it then
   */
  public <E extends Exception> void run(Duration wait, Body<? extends E> body) throws E, InterruptedException {
    Objects.requireNonNull(body, "body");
    try (Hold hold = acquire(wait)) {
      body.run(hold);
    }
  }

  /**
   * As {@link #run(Body)}, of a body that returns something.
   *
   * @param <T> what the body returns
   * @param <E> what the body throws
   * @param body what to call
   * @return what the body returns
   * @throws E if the body does
   * @throws LockLostException if the lock was lost meanwhile: others may have worked at the same time
   * @throws InterruptedException if the thread is interrupted while it waits for the lock, and the body has not run; or if the body throws
   *     it: a loss is suppressed under it then
   */
  public <T, E extends Exception> T call(Task<? extends T, ? extends E> body) throws E, InterruptedException {
    Objects.requireNonNull(body, "body");
    try (Hold hold = acquire()) {
      return body.call(hold);
    }
  }

  /**
   * As {@link #run(Duration, Body)}, of a body that returns something.
   *
   * @param <T> what the body returns
   * @param <E> what the body throws
   * @param wait the longest wait for the lock; zero is one try
   * @param body what to call
   * @return what the body returns
   * @throws E if the body does
   * @throws LockTimeoutException if the wait has ended: the body has not run
   * @throws BusyException if a try found the lock held: the body has not run
   * @throws LockLostException if the lock was lost meanwhile: others may have worked at the same time
   * @throws InterruptedException if the thread is interrupted while it waits for the lock, and the body has not run; or if the body throws
   *     it: a loss is suppressed under it then
   */
  public <T, E extends Exception> T call(Duration wait, Task<? extends T, ? extends E> body) throws E, InterruptedException {
    Objects.requireNonNull(body, "body");
    try (Hold hold = acquire(wait)) {
      return body.call(hold);
    }
  }

  private Hold hold(Event event) {
    return new Hold(pump, request, event.check());
  }

  private Optional<Hold> tried(Event event) {
    return event.granted() ? Optional.of(hold(event)) : Optional.empty();
  }

  @SuppressWarnings("deprecation") // threadId() is of Java 19
  private long owner() {
    return given != 0 ? given : Thread.currentThread().getId();
  }

  // ---- Lock ----

  /** Locks for this thread and waits without limit, also through outages. An interrupt does not end the wait; its flag stays set. */
  @Override
  public void lock() {
    pump.acquire(request, owner(), Request.FOREVER_MS, this::own);
  }

  /**
   * As {@link #lock()}, with a fixed lease.
   *
   * @param lease 100 ms to a day, as {@link #withLease} has it; -1: the client renews the hold
   * @param unit of the lease
   */
  public void lock(long lease, TimeUnit unit) {
    leased(lease, unit).lock();
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    pump.acquireInterruptibly(request, owner(), Request.FOREVER_MS, this::own);
  }

  /**
   * Locks for this thread if that is possible at once.
   *
   * @return whether this thread has the lock; false if another has it, or waits for it
   * @throws UnavailableException if the server cannot be reached: then nobody knows whether the lock is held
   */
  @Override
  public boolean tryLock() {
    return pump.acquire(request, owner(), 0, this::owned);
  }

  /**
   * Locks for this thread if that is possible in time. In an outage it ends by then, too. It returns false if another holder is known, as
   * the server has said so meanwhile or this client itself has the lock, and the connection has not broken since. Otherwise it throws.
   * The shortest wait leaves the server 0.25 s to answer.
   *
   * @return whether this thread has the lock
   * @throws UnavailableException if the server could not be reached in that time, or in the request timeout if that is shorter
   * @throws InterruptedException if the thread is interrupted; then it does not have the lock
   */
  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    return pump.acquireInterruptibly(request, owner(), Request.millis(time, unit), this::owned);
  }

  /**
   * As {@link #tryLock(long, TimeUnit)}, with a fixed lease.
   *
   * @param wait the longest wait for the lock
   * @param lease 100 ms to a day, as {@link #withLease} has it; -1: the client renews the hold
   * @param unit of the wait and of the lease
   * @return whether this thread has the lock
   * @throws UnavailableException if the server cannot be reached
   * @throws InterruptedException if the thread is interrupted; then it does not have the lock
   */
  public boolean tryLock(long wait, long lease, TimeUnit unit) throws InterruptedException {
    return leased(lease, unit).tryLock(wait, unit);
  }

  /**
   * Ends this thread's last lock(). If the server does not answer, the client goes on trying, and this method does not tell.
   *
   * @throws LockLostException if the lock had been lost: others may have worked at the same time
   * @throws NotHeldException if this thread has not locked it
   */
  @Override
  public void unlock() {
    ofOwner(belay.kept.take(key(), any -> true)).close();
  }

  /** Refuses: the server cannot wake waiters of a condition. */
  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("Belay has no conditions: use a latch, or a queue of your own");
  }

  /**
   * {@return the fence of this thread's last lock()} Pass it to what you write to, which refuses lower ones.
   *
   * @throws NotHeldException if this thread has not locked it
   */
  public long fence() {
    return ofOwner(belay.kept.last(key())).fence(request.names().get(0));
  }

  /** {@return how often this thread, or its owner, has locked it without unlocking} */
  public int getHoldCount() {
    return belay.kept.count(key());
  }

  /** {@return whether this thread, or its owner, has locked it, and has not lost it} */
  public boolean isHeldByCurrentThread() {
    Hold last = belay.kept.last(key());
    return last != null && last.state() != State.LOST;
  }

  // ---- Other holders, whom only the server knows ----

  /**
   * {@return whether anyone holds the lock, or one of its names} A read lock looks for readers only, every other lock for a writer only.
   *
   * @throws UnavailableException if the server cannot be reached
   */
  public boolean isLocked() {
    return !holders().isEmpty();
  }

  /**
   * {@return the milliseconds that are left of the longest lease for which {@link #isLocked} is true; -2 if there is none} A holder's
   * client usually renews its lease.
   *
   * @throws UnavailableException if the server cannot be reached
   */
  public long remainTimeToLive() {
    return holders().stream().mapToLong(holder -> holder.member.lease().toMillis()).max().orElse(NOT_LOCKED);
  }

  /**
   * Takes the lock by force from those for whom {@link #isLocked} is true, and gives it to the first waiter. The losers learn of it, also
   * if that is this thread: their holds are lost.
   *
   * @return whether anyone lost it
   * @throws UnavailableException if the server cannot be reached
   */
  public boolean forceUnlock() {
    boolean taken = false;
    for (Holder holder : holders()) {
      taken |= !belay.breakLock(holder.name, holder.member.fence()).isEmpty();
    }
    return taken;
  }

  private record Holder(byte[] name, Member member) {}

  private List<Holder> holders() {
    List<Holder> holders = new ArrayList<>();
    for (byte[] name : request.names()) {
      Inspection found = belay.inspect(name);
      boolean lock = found.primitive().equals(Optional.of(Primitive.LOCK));
      for (Member member : found.members()) {
        if (lock && member.role() == Role.HOLDER && member.shared() == shared) {
          holders.add(new Holder(name, member));
        }
      }
    }
    return holders;
  }

  private boolean owned(Event event) {
    return event.granted() && own(event) != null;
  }

  private Hold own(Event event) {
    Hold hold = hold(event);
    belay.kept.add(key(), given == 0 ? Thread.currentThread() : null, hold);
    return hold;
  }

  private Kept.Key key() {
    return new Kept.Key(owner(), names);
  }

  private Hold ofOwner(Hold hold) {
    if (hold == null) {
      String whose = given == 0 ? "this thread" : "this owner";
      throw new NotHeldException(Event.refused(Status.UNKNOWN_HOLD.number, whose + " has not locked '" + request.name() + "'"));
    }
    return hold;
  }

  @Override
  public String toString() {
    return "DistributedLock['" + request.name() + "']";
  }
}
