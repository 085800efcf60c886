package invalid.belay;

import invalid.belay.internal.Native;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A number of permits. It has two forms:
 *
 * <ul>
 *   <li>As {@link java.util.concurrent.Semaphore}: any thread of this client may release permits that this client acquired. Permits
 *       that were acquired together are released together: {@code release(3)} ends an {@code acquire(3)}.
 *   <li>{@link #acquireHold} returns a {@link Hold}.
 * </ul>
 */
public final class DistributedSemaphore {
  private final Belay belay;
  private final Pump pump;
  private final byte[] name;
  private final Kept.Key key;
  private final long limit;
  private final Request one;

  DistributedSemaphore(Belay belay, byte[] name, long limit) {
    this(belay, limit,
        Request.of(Primitive.SEMAPHORE, false, name).with(handle -> Native.belayRequestSetPermits(handle, 1, limit)));
  }

  private DistributedSemaphore(Belay belay, long limit, Request one) {
    this.belay = belay;
    this.pump = belay.pump;
    this.name = one.names().get(0);
    this.key = new Kept.Key(0, Kept.Key.of(Primitive.SEMAPHORE, false, name));
    this.limit = limit;
    this.one = one;
  }

  private Request request(int permits) {
    return permits == 1 ? one : one.with(handle -> Native.belayRequestSetPermits(handle, permits, limit));
  }

  // ---- Settings: each gives another semaphore of the same name ----

  /**
   * Sets a fixed lease: permits are held for exactly that time. Without it the client renews holds.
   *
   * @param lease 100 ms to a day
   * @return a semaphore with this setting
   */
  public DistributedSemaphore withLease(Duration lease) {
    return new DistributedSemaphore(belay, limit, one.lease(lease));
  }

  /**
   * Sets for how long the client renews a hold.
   *
   * @param maxHold 100 ms to 30 days
   * @return a semaphore with this setting
   */
  public DistributedSemaphore withMaxHold(Duration maxHold) {
    return new DistributedSemaphore(belay, limit, one.maxHold(maxHold));
  }

  /**
   * Sets for how long nobody gets the permits of a hold that was lost.
   *
   * @param delay at most a minute
   * @return a semaphore with this setting
   */
  public DistributedSemaphore withLockDelay(Duration delay) {
    return new DistributedSemaphore(belay, limit, one.lockDelay(delay));
  }

  /**
   * Has an acquire end only when the server has answered that this client has the permits. Use it if what the semaphore starts cannot be undone at
   * once, such as a process. Otherwise what another client's release hands over is held as soon as its message comes, and a stop of this
   * process right then may lose it. It costs such an acquire one more round trip.
   *
   * @return a semaphore with this setting
   */
  public DistributedSemaphore withConfirmation() {
    return new DistributedSemaphore(belay, limit, one.confirmed());
  }

  // ---- Holds ----

  /**
   * Acquires permits, all or none.
   *
   * @param permits how many
   * @param wait the longest wait for them; zero is one try
   * @return the hold
   * @throws LockTimeoutException if the wait has ended
   * @throws BusyException if a try found too few permits
   * @throws LimitDiffersException if the semaphore has another limit
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public Hold acquireHold(int permits, Duration wait) throws InterruptedException {
    Request request = request(permits);
    return pump.acquireInterruptibly(request, 0, Request.millis(wait), event -> hold(request, event));
  }

  /**
   * As {@link #acquireHold(int, Duration)}, without limit.
   *
   * @param permits how many
   * @return the hold
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public Hold acquireHold(int permits) throws InterruptedException {
    Request request = request(permits);
    return pump.acquireInterruptibly(request, 0, Request.FOREVER_MS, event -> hold(request, event));
  }

  /**
   * Acquires permits if that is possible at once.
   *
   * @param permits how many; 0: all that are free
   * @return the hold; empty if there are too few permits
   * @throws UnavailableException if the server cannot be reached
   */
  public Optional<Hold> tryAcquireHold(int permits) {
    Request request = request(permits);
    return pump.acquire(request, 0, 0, event -> event.granted() ? Optional.of(hold(request, event)) : Optional.empty());
  }

  /**
   * Acquires permits without waiting for them. Cancelling the future leaves nothing.
   *
   * @param permits how many
   * @return what completes with the hold
   */
  public CompletableFuture<Hold> acquireAsync(int permits) {
    Request request = request(permits);
    return pump.acquireAsync(request, 0, Request.FOREVER_MS, event -> hold(request, event));
  }

  /**
   * As {@link #acquireAsync(int)}, with a limit.
   *
   * @param permits how many; 0: all that are free, which needs a wait of zero
   * @param wait the longest wait for them; zero is one try
   * @return what completes with the hold
   */
  public CompletableFuture<Hold> acquireAsync(int permits, Duration wait) {
    Request request = request(permits);
    return pump.acquireAsync(request, 0, Request.millis(wait), event -> hold(request, event));
  }

  private Hold hold(Request request, Event event) {
    return new Hold(pump, request, event.check());
  }

  // ---- As the JDK's semaphore ----

  /**
   * Acquires one permit.
   *
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public void acquire() throws InterruptedException {
    acquire(1);
  }

  /**
   * Acquires permits, all or none.
   *
   * @param permits how many
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public void acquire(int permits) throws InterruptedException {
    keep(acquireHold(permits));
  }

  /** Acquires one permit. An interrupt does not end the wait; its flag stays set. */
  public void acquireUninterruptibly() {
    acquireUninterruptibly(1);
  }

  /**
   * Acquires permits, all or none. An interrupt does not end the wait; its flag stays set.
   *
   * @param permits how many
   */
  public void acquireUninterruptibly(int permits) {
    Request request = request(positive(permits));
    pump.acquire(request, 0, Request.FOREVER_MS, event -> keep(hold(request, event)));
  }

  /**
   * Acquires one permit if that is possible at once.
   *
   * @return whether it did
   * @throws UnavailableException if the server cannot be reached
   */
  public boolean tryAcquire() {
    return tryAcquire(1);
  }

  /**
   * Acquires permits if that is possible at once.
   *
   * @param permits how many
   * @return whether it did
   * @throws UnavailableException if the server cannot be reached
   */
  public boolean tryAcquire(int permits) {
    return tryAcquireHold(positive(permits)).map(this::keep).isPresent();
  }

  /**
   * Acquires one permit if that is possible in time.
   *
   * @param timeout the longest wait
   * @param unit of the timeout
   * @return whether it did
   * @throws UnavailableException if the server cannot be reached
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
    return tryAcquire(1, timeout, unit);
  }

  /**
   * Acquires permits if that is possible in time.
   *
   * @param permits how many
   * @param timeout the longest wait
   * @param unit of the timeout
   * @return whether it did
   * @throws UnavailableException if the server cannot be reached
   * @throws InterruptedException if the thread is interrupted; then it has no permit
   */
  public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
    Request request = request(positive(permits));
    return pump.acquireInterruptibly(request, 0, Request.millis(timeout, unit),
        event -> event.granted() && keep(hold(request, event)) != null);
  }

  /** Releases one permit, as {@link #release(int)}. */
  public void release() {
    release(1);
  }

  /**
   * Releases what this client acquired by one call without a Hold. If the server does not answer, the client goes on trying, and this
   * method does not tell.
   *
   * @param permits how many that call acquired
   * @throws LockLostException if they had been lost
   * @throws NotHeldException if no call of this client acquired so many
   */
  public void release(int permits) {
    if (permits < 1) {
      throw Request.invalid("permits was " + permits + ": release at least 1");
    }
    Hold hold = belay.kept.take(key, kept -> kept.permits() == permits);
    if (hold == null) {
      throw new NotHeldException(Event.refused(Status.UNKNOWN_HOLD.number, "no call of this client acquired " + permits
          + " permits of '" + one.name() + "': those acquired together are released together"));
    }
    hold.close();
  }

  /**
   * Acquires all permits that are free.
   *
   * @return how many; release them by one call
   */
  public int drainPermits() {
    return tryAcquireHold(0).map(hold -> (int) keep(hold).permits()).orElse(0);
  }

  /**
   * {@return how many permits are free; others may take them meanwhile}
   *
   * @throws NotFoundException if no limit is set: the first acquire sets it
   */
  public int availablePermits() {
    return (int) available().available();
  }

  /** With 0, which acquires all that are free, nobody would know how many to release. */
  private static int positive(int permits) {
    if (permits < 1) {
      throw Request.invalid("permits was " + permits + ": acquire at least 1, or drainPermits()");
    }
    return permits;
  }

  private Hold keep(Hold hold) {
    belay.kept.add(key, null, hold);
    return hold;
  }

  // ---- The limit ----

  /**
   * {@return the limit and how many permits are free}
   *
   * @throws NotFoundException if no limit is set
   */
  public Permits available() {
    return Permits.of(pump.call(Submissions.ofSemaphoreAvailable(pump, name)).check());
  }

  /**
   * As {@link #available}, without waiting.
   *
   * @return what completes with the limit and how many permits are free
   */
  public CompletableFuture<Permits> availableAsync() {
    return pump.submit(Submissions.ofSemaphoreAvailable(pump, name), Permits::of);
  }

  /**
   * Sets how many permits there are. Waiters get new ones at once; a lower limit takes none back.
   *
   * @param limit how many
   * @return the limit and how many permits are free
   */
  public Permits setLimit(long limit) {
    return Permits.of(pump.call(Submissions.ofSemaphoreSetLimit(pump, name, limit)).check());
  }

  /**
   * As {@link #setLimit}, without waiting.
   *
   * @param limit how many
   * @return what completes with the limit and how many permits are free
   */
  public CompletableFuture<Permits> setLimitAsync(long limit) {
    return pump.submit(Submissions.ofSemaphoreSetLimit(pump, name, limit), Permits::of);
  }
}
