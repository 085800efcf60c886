package invalid.belay;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Native;
import invalid.belay.internal.Numbers;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * A lock, several locks or permits, from their grant to their release. Any thread may release it. The client renews it meanwhile,
 * unless it has a fixed lease.
 *
 * <p>A hold that nothing refers to any more is abandoned, with a warning in the log: the client stops renewing it, and others get the
 * name when its lease ends. It is not released, because its work may still go on.
 */
public final class Hold implements AutoCloseable {
  private final Pump pump;
  private final Request request;
  private final long number;
  private final long[] fences;
  private final long permits;
  private final AtomicBoolean ended = new AtomicBoolean();
  private final Cleaner.Cleanable dropped;
  private final News.Inbox inbox;
  private final AtomicReference<News> news = new AtomicReference<>(); // few listen

  Hold(Pump pump, Request request, Event granted) {
    this.pump = pump;
    this.request = request;
    this.number = granted.hold();
    this.permits = granted.number(Numbers.FIELD_PERMITS);
    this.fences = new long[request.names().size()];
    fences[0] = granted.fence();
    for (int i = 1; i < fences.length; ++i) {
      int index = i;
      fences[i] = pump.local(() -> Native.belayHoldFence(pump.client, number, index), 0);
    }
    inbox = pump.inbox(number);
    dropped = Handle.CLEANER.register(this, abandonIfDropped(pump, number, ended, request));
  }

  /** A static method, as what it returns must not refer to the hold. */
  private static Runnable abandonIfDropped(Pump pump, long number, AtomicBoolean ended, Request request) {
    return () -> {
      if (ended.compareAndSet(false, true) && pump.local(() -> Native.belayHoldState(pump.client, number), 0) > 0) {
        pump.abandon(number);
        pump.warnOfAbandoned("a hold of '" + request.name() + "' was dropped without a release");
      }
    };
  }

  // ---- Local reads ----

  /** {@return the fence of the first name: pass it to what you write to, which refuses lower ones} */
  public long fence() {
    return fences[0];
  }

  /**
   * {@return the fence of a name}
   *
   * @param index of the name, in the order in which they were given; 0 is the first
   */
  public long fence(int index) {
    if (index < 0 || index >= fences.length) {
      throw Request.invalid("index was " + index + ": 0.." + (fences.length - 1) + " is allowed");
    }
    return fences[index];
  }

  long fence(byte[] name) {
    int index = 0;
    while (!Arrays.equals(request.names().get(index), name)) {
      ++index;
    }
    return fences[index];
  }

  /** The names, for people. */
  String name() {
    return request.name();
  }

  /** {@return the fences of all names, in the order in which the names were given} */
  public long[] fences() {
    return fences.clone();
  }

  /** {@return how many permits of a semaphore it has; 1 for a lock} */
  public long permits() {
    return permits;
  }

  /** {@return the state, without the network} */
  public State state() {
    return State.of(ended.get() ? 0 : Math.max(0, pump.local(() -> Native.belayHoldState(pump.client, number), State.LOST.number)));
  }

  /** {@return why the hold was lost, for people; empty if it is held, or was released without a loss} Without the network. */
  public String message() {
    Event last = inbox.last();
    boolean told = last != null && last.kind() == Numbers.LOST;
    return told ? last.message() : state() == State.LOST ? "the hold was lost" : "";
  }

  /**
   * {@return for how long the hold is certainly ours even if the client hears nothing more; zero once it is lost or released} Without the
   * network.
   */
  public Duration remaining() {
    return Duration.ofMillis(ended.get() ? 0 : Math.max(0, pump.local(() -> Native.belayHoldRemainingMs(pump.client, number), 0)));
  }

  // ---- News ----

  /**
   * Calls back when the hold is lost; at once if it is already. Keep the hold: one that is dropped, as {@code acquire().onLost(...)} does
   * it, is abandoned, and nobody is told. A loss that only the release finds is told by its exception alone. A method reference that fits
   * both forms needs a lambda: {@code onLost(reason -> System.out.println(reason))}.
   *
   * @param action gets the reason. It runs where {@link Options#executor} says, after the news that came to this hold before
   * @return this hold
   */
  public Hold onLost(Consumer<Reason> action) {
    return on(Numbers.LOST, action);
  }

  /**
   * As {@link #onLost(Consumer)}, without the reason: {@code hold.onLost(worker::interrupt)}.
   *
   * @param action what to run
   * @return this hold
   */
  public Hold onLost(Runnable action) {
    Objects.requireNonNull(action, "action");
    return on(Numbers.LOST, reason -> action.run());
  }

  /**
   * Calls back when a third of the lease is left: its renewal fails or has stopped; at once if that is so. Neither a fixed lease nor
   * a break gives it.
   *
   * @param action gets the reason, as {@link #onLost(Consumer)} tells it
   * @return this hold
   */
  public Hold onAtRisk(Consumer<Reason> action) {
    return on(Numbers.AT_RISK, action);
  }

  /**
   * Calls back when the hold is out of the risk again.
   *
   * @param action runs where that of {@link #onLost(Consumer)} does
   * @return this hold
   */
  public Hold onRecovered(Runnable action) {
    Objects.requireNonNull(action, "action");
    return on(Numbers.RECOVERED, reason -> action.run());
  }

  private Hold on(int kind, Consumer<Reason> action) {
    if (news.get() == null) {
      news.compareAndSet(null, new News(pump.callbacks.news));
      inbox.attach(news.get());
    }
    news.get().on(kind, kind != Numbers.RECOVERED, Objects.requireNonNull(action, "action"));
    return this;
  }

  // ---- Changes ----

  /**
   * Lets a hold with a fixed lease last so long from now; never shortens it.
   *
   * @param lease the lease
   * @throws LockLostException if it is lost
   */
  public void extend(Duration lease) {
    pump.call(Submissions.ofExtend(pump, number, lease)).check();
  }

  /**
   * As {@link #extend}, without waiting.
   *
   * @param lease the lease
   * @return what completes then
   */
  public CompletableFuture<Void> extendAsync(Duration lease) {
    return pump.submit(Submissions.ofExtend(pump, number, lease), event -> null);
  }

  /**
   * Asks the server whether the hold is still ours.
   *
   * @throws LockLostException if it is not
   */
  public void verify() {
    pump.call(Submissions.ofVerify(pump, number)).check();
  }

  /**
   * As {@link #verify}, without waiting.
   *
   * @return what completes then
   */
  public CompletableFuture<Void> verifyAsync() {
    return pump.submit(Submissions.ofVerify(pump, number), event -> null);
  }

  /**
   * Turns an exclusive hold of a lock into a reader's, without releasing it. It keeps its fence, and readers that are
   * next in line get the name, too, with the same fence. There is no way back.
   *
   * @throws LockLostException if it is lost
   */
  public void downgrade() {
    pump.call(Submissions.ofDowngrade(pump, number)).check();
  }

  /**
   * As {@link #downgrade}, without waiting.
   *
   * @return what completes then
   */
  public CompletableFuture<Void> downgradeAsync() {
    return pump.submit(Submissions.ofDowngrade(pump, number), event -> null);
  }

  // ---- The end ----

  /**
   * Releases the hold and waits for the server's answer. Whatever it throws, the hold has ended.
   *
   * @throws LockLostException if it had been lost: others may have worked at the same time
   * @throws UnavailableException if no answer came: the client goes on trying, and the end of the lease frees the name at the latest
   */
  public void release() {
    end();
    pump.release(number).check();
  }

  /**
   * As {@link #release}, without waiting.
   *
   * @return what completes when the server has answered
   */
  public CompletableFuture<Void> releaseAsync() {
    end();
    return pump.releaseAsync(number);
  }

  /**
   * Releases the hold in the background, also over a new connection. Nothing tells whether that reached the server.
   *
   * @throws LockLostException if it had been lost
   */
  public void releaseNoWait() {
    end();
    pump.releaseNoWait(number).check();
  }

  /**
   * Releases the hold unless that, or {@link #abandon}, was done before. If the server does not answer, the client goes on trying, and
   * this method does not tell.
   *
   * @throws LockLostException if the hold had been lost: others may have worked at the same time
   */
  @Override
  public void close() {
    if (ended.compareAndSet(false, true)) {
      dropped.clean();
      Event released = pump.release(number);
      if (!released.is(Status.UNAVAILABLE)) { // no answer is no failure of what was done under the lock
        released.check();
      }
    }
  }

  /** Forgets the hold and stops renewing it, without telling the server: others get the name when the lease ends. */
  public void abandon() {
    end();
    pump.abandon(number);
  }

  private void end() {
    if (!ended.compareAndSet(false, true)) {
      throw Errors.of(Event.refused(Status.UNKNOWN_HOLD.number, "the hold was released or abandoned before"));
    }
    dropped.clean();
  }
}
