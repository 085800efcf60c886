package invalid.belay;

import invalid.belay.internal.Native;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A countdown latch, shaped like {@link java.util.concurrent.CountDownLatch}. It opens when its count is 0, and may be set again: each
 * setting is a <em>generation</em> with a higher number than all before.
 */
public final class DistributedLatch {
  private final Pump pump;
  private final byte[] name;
  private final Request request;

  DistributedLatch(Pump pump, byte[] name) {
    this(pump, Request.of(Primitive.LATCH, false, name));
  }

  private DistributedLatch(Pump pump, Request request) {
    this.pump = pump;
    this.name = request.names().get(0);
    this.request = request;
  }

  /**
   * Sets which generation to wait for. One that has opened lets pass at once, also if a later one has begun.
   *
   * @param generation as {@link #set} returned it; 0: the one that the server has when it is asked
   * @return a latch that waits for it
   */
  public DistributedLatch withGeneration(long generation) {
    return new DistributedLatch(pump, request.with(handle -> Native.belayRequestSetGeneration(handle, generation)));
  }

  /**
   * Sets the count, for ever.
   *
   * @param count 1 to 10^9
   * @return the generation
   * @throws InUseException if the latch has not opened yet
   */
  public long set(long count) {
    return set(count, Duration.ZERO);
  }

  /**
   * Sets the count.
   *
   * @param count 1 to 10^9
   * @param ttl when the latch ends, 100 ms to 30 days from now; zero: never
   * @return the generation
   * @throws InUseException if the latch has not opened yet
   */
  public long set(long count, Duration ttl) {
    return pump.call(Submissions.ofLatchSet(pump, name, count, ttl)).check().generation();
  }

  /**
   * As {@link #set(long, Duration)}, without waiting.
   *
   * @param count 1 to 10^9
   * @param ttl when the latch ends; zero: never
   * @return what completes with the generation
   */
  public CompletableFuture<Long> setAsync(long count, Duration ttl) {
    return pump.submit(Submissions.ofLatchSet(pump, name, count, ttl), Event::generation);
  }

  /**
   * Counts down by one.
   *
   * @return the count that is left
   * @throws NotFoundException if the latch is not set
   */
  public long countDown() {
    return countDown(1);
  }

  /**
   * Counts down, to 0 at the lowest. It counts once, also if the connection breaks meanwhile.
   *
   * @param n 1 to 10^9
   * @return the count that is left
   * @throws NotFoundException if the latch is not set
   */
  public long countDown(long n) {
    return pump.call(Submissions.ofLatchCountDown(pump, name, n)).check().count();
  }

  /**
   * As {@link #countDown(long)}, without waiting.
   *
   * @param n 1 to 10^9
   * @return what completes with the count that is left
   */
  public CompletableFuture<Long> countDownAsync(long n) {
    return pump.submit(Submissions.ofLatchCountDown(pump, name, n), Event::count);
  }

  /**
   * {@return the count; 0: the latch is open}
   *
   * @throws NotFoundException if the latch is not set
   */
  public long getCount() {
    return pump.call(Submissions.ofLatchCount(pump, name)).check().count();
  }

  /**
   * As {@link #getCount}, without waiting.
   *
   * @return what completes with the count
   */
  public CompletableFuture<Long> getCountAsync() {
    return pump.submit(Submissions.ofLatchCount(pump, name), Event::count);
  }

  /**
   * Waits without limit until the latch opens.
   *
   * @return the generation that has opened
   * @throws NotFoundException if the latch is not set or ends meanwhile
   * @throws InterruptedException if the thread is interrupted
   */
  public long await() throws InterruptedException {
    return pump.acquireInterruptibly(request, 0, Request.FOREVER_MS, Event::check).generation();
  }

  /**
   * Waits until the latch opens.
   *
   * @param wait the longest wait; zero only asks
   * @return the generation that has opened
   * @throws LockTimeoutException if the wait has ended
   * @throws BusyException if the latch was not open and the wait was zero
   * @throws NotFoundException if the latch is not set or ends meanwhile
   * @throws InterruptedException if the thread is interrupted
   */
  public long await(Duration wait) throws InterruptedException {
    return pump.acquireInterruptibly(request, 0, Request.millis(wait), Event::check).generation();
  }

  /**
   * Waits until the latch opens.
   *
   * @param timeout the longest wait
   * @param unit of the timeout
   * @return whether it opened in time
   * @throws NotFoundException if the latch is not set or ends meanwhile
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
    return pump.acquireInterruptibly(request, 0, Request.millis(timeout, unit), Event::granted);
  }

  /**
   * Waits until the latch opens, without a thread.
   *
   * @param wait the longest wait; zero only asks
   * @return what completes with the generation that has opened
   */
  public CompletableFuture<Long> awaitAsync(Duration wait) {
    return pump.acquireAsync(request, 0, Request.millis(wait), Event::generation);
  }

  /**
   * As {@link #awaitAsync(Duration)}, without limit.
   *
   * @return what completes with the generation that has opened
   */
  public CompletableFuture<Long> awaitAsync() {
    return pump.acquireAsync(request, 0, Request.FOREVER_MS, Event::generation);
  }
}
