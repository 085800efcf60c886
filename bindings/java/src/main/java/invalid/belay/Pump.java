package invalid.belay;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Native;
import invalid.belay.internal.Numbers;
import java.lang.ref.Reference;
import java.time.Instant;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;

/**
 * Calls the library and brings the answers to those who wait. An acquire or a release by a platform thread waits shortly within its
 * native call; if the answer takes longer, and in a virtual thread always, it parks until the pump's own thread has the event. That
 * thread runs nothing of the user, and is a daemon. The table of tags gives each event exactly one owner.
 */
final class Pump implements Runnable {
  /** How long a platform thread waits within a native call, where no interrupt reaches it. */
  private static final long PATIENCE_MS = 5;

  /** How often it looks for threads that ended: no event tells it. */
  private static final long LOOK_MS = 2000;

  private static final int EVENTS_AT_ONCE = 32;
  private static final int CLOSED = Integer.MIN_VALUE;

  /** Submits under a tag; returns a status. */
  interface Submission {
    int submit(long tag);
  }

  private static final class Waiter implements Consumer<Event> {
    private final Thread thread = Thread.currentThread();
    private final long patienceMs = VirtualThreads.isCurrent() ? 0 : PATIENCE_MS;
    private final long[] row = new long[Event.ROW]; // has the event's numbers if it comes within the native call
    private volatile Event event;
    private volatile boolean failed;

    @Override
    public void accept(Event answer) {
      event = answer;
      LockSupport.unpark(thread);
    }
  }

  final Handle client;
  final String id;
  final Callbacks callbacks;
  private final Runnable look; // for what has to be abandoned
  private final Thread thread = new Thread(this, "belay-pump");
  private final AtomicLong tags = new AtomicLong();
  private final ConcurrentHashMap<Long, Consumer<Event>> pending = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<Long, News.Inbox> holds = new ConcurrentHashMap<>();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final AtomicInteger inside = new AtomicInteger(); // calls in the library; below 0 once the client is closed

  Pump(Handle client, Callbacks callbacks, Runnable look) {
    this.client = client;
    this.id = Event.utf8(Native.belayClientId(client));
    this.callbacks = callbacks;
    this.look = look;
    thread.setDaemon(true);
    thread.start();
  }

  // ---- Calls ----

  /** Calls the library, unless the client is closed. Only Submissions and the pump's own thread do without. */
  long local(LongSupplier call, long ifClosed) {
    try {
      return inside.incrementAndGet() < 0 ? ifClosed : call.getAsLong();
    } finally {
      inside.decrementAndGet();
    }
  }

  /** Acquires. What the event says is up to the result, which owns the hold. An interrupt waits until it is over. */
  <T> T acquire(Request request, long owner, long waitMs, Function<Event, T> result) {
    return acquire(request, owner, waitMs, false, result);
  }

  /** As acquire, but an interrupt ends the wait and leaves nothing. */
  <T> T acquireInterruptibly(Request request, long owner, long waitMs, Function<Event, T> result) throws InterruptedException {
    T value = Thread.interrupted() ? null : acquire(request, owner, waitMs, true, result);
    if (value == null) {
      throw new InterruptedException();
    }
    return value;
  }

  private <T> T acquire(Request request, long owner, long waitMs, boolean interruptible, Function<Event, T> result) {
    Waiter waiter = new Waiter();
    return call(tag -> {
      request.submit(handle -> Native.acquireRow(client, tag, handle, owner, waitMs, waiter.patienceMs, waiter.row));
      return 0;
    }, waiter, interruptible, result);
  }

  <T> CompletableFuture<T> acquireAsync(Request request, long owner, long waitMs, Function<Event, T> result) {
    return submit(tag -> request.submit(handle -> Native.belaySubmitAcquire(client, tag, handle, owner, waitMs)), result);
  }

  /** Releases; the hold has ended whatever the event says. */
  Event release(long hold) {
    Waiter waiter = new Waiter();
    Event event = call(tag -> {
      Native.releaseRow(client, tag, hold, waiter.patienceMs, waiter.row);
      return 0;
    }, waiter, false, Function.identity());
    holds.remove(hold);
    return released(event);
  }

  /** A closed client takes no submission, but it knows whether it lost the hold. */
  private int submitRelease(long tag, long hold) {
    int status = Native.belaySubmitRelease(client, tag, hold);
    int local = status == Status.CLOSED.number ? Native.belayReleaseNowait(client, hold) : 0;
    return local == 0 ? status : local;
  }

  CompletableFuture<Void> releaseAsync(long hold) {
    return submit(tag -> submitRelease(tag, hold), event -> null, this::released);
  }

  /** A hold of a client that was closed is lost, and not there any more to ask. */
  private Event released(Event event) {
    return event.is(Status.CLOSED) ? Event.lostByClose() : event;
  }

  Event releaseNoWait(long hold) {
    int status = (int) local(() -> Native.belayReleaseNowait(client, hold), Status.CLOSED.number);
    holds.remove(hold);
    return released(Event.refused(status, ""));
  }

  void abandon(long hold) {
    local(() -> Native.belayHoldAbandon(client, hold), 0);
    holds.remove(hold);
  }

  /** Submits and waits for the event, whatever it says. An interrupt waits until it is over. */
  Event call(Submission submission) {
    return call(submission, new Waiter(), false, Function.identity());
  }

  /** Nothing owns a grant before its result is there. After an Error the stack may be too full to give it back here: the pump does. */
  private <T> T call(Submission submission, Waiter waiter, boolean interruptible, Function<Event, T> result) {
    long tag = begin(waiter);
    try {
      int status = submit(submission, tag);
      Event event = status != 0 ? Event.refused(status, "")
          : waiter.row[Numbers.FIELD_KIND] != 0 ? Event.take(waiter.row) : await(waiter, tag, interruptible);
      if (event == null || event.hold() == 0) {
        pending.remove(tag);
        return event == null ? null : result.apply(event);
      }
      T value = result.apply(event);
      pending.remove(tag);
      return value;
    } catch (Throwable e) {
      waiter.failed = true;
      throw e;
    }
  }

  /** Gives back what was granted to calls that failed; what is granted to them later has no owner. */
  private void giveBack() {
    pending.forEach((tag, owner) -> {
      if (owner instanceof Waiter waiter && waiter.failed) {
        cancel(tag);
        drop(waiter.event == null ? waiter.row : waiter.event.numbers());
        pending.remove(tag);
      }
    });
  }

  /** Submits. If the future ends before the answer, as by its cancel, the submission is cancelled, and nothing is kept. */
  <T> CompletableFuture<T> submit(Submission submission, Function<Event, T> result) {
    return submit(submission, result, refusal -> refusal);
  }

  private <T> CompletableFuture<T> submit(Submission submission, Function<Event, T> result, UnaryOperator<Event> ifRefused) {
    CompletableFuture<T> future = new CompletableFuture<>();
    long tag = begin(event -> {
      pending.remove(event.tag());
      callbacks.futures.execute(() -> complete(future, event, result));
    });
    int status;
    try {
      status = submit(submission, tag);
    } catch (Throwable e) {
      pending.remove(tag); // what it granted nevertheless has no owner
      throw e;
    }
    if (status != 0) {
      pending.remove(tag);
      future.completeExceptionally(Errors.of(ifRefused.apply(Event.refused(status, ""))));
      return future;
    }
    future.whenComplete((value, failure) -> {
      if (pending.containsKey(tag)) {
        cancel(tag);
      }
    });
    return future;
  }

  private int submit(Submission submission, long tag) {
    return (int) local(() -> submission.submit(tag), Status.CLOSED.number);
  }

  private void cancel(long tag) {
    local(() -> Native.belayCancel(client, tag), 0);
  }

  private <T> void complete(CompletableFuture<T> future, Event event, Function<Event, T> result) {
    if (!event.ok()) {
      future.completeExceptionally(Errors.of(event));
      return;
    }
    T value = null;
    try {
      value = future.isDone() ? null : result.apply(event);
    } catch (Throwable e) {
      drop(event.numbers());
      future.completeExceptionally(e);
      return;
    }
    if (!future.complete(value)) {
      drop(event.numbers());
    }
    Reference.reachabilityFence(value); // a hold that was collected before its release here would be abandoned, with a warning
  }

  /** Releases what an event granted and nobody wants any more. */
  private void drop(long[] event) {
    if (event[Numbers.FIELD_KIND] == Numbers.ACQUIRED && event[Numbers.FIELD_HOLD] > 0) {
      releaseNoWait(event[Numbers.FIELD_HOLD]);
    }
  }

  private long begin(Consumer<Event> owner) {
    if (Thread.currentThread() == thread) {
      throw new IllegalStateException("the executor of this client runs callbacks in the pump's thread, where no call may wait");
    }
    long tag = tags.incrementAndGet();
    pending.put(tag, owner);
    return tag;
  }

  /** An interruptible waiter that is interrupted cancels, gives back what it is granted nevertheless, and returns null. */
  private Event await(Waiter waiter, long tag, boolean interruptible) {
    boolean interrupted = false;
    while (waiter.event == null) {
      LockSupport.park(this);
      if (Thread.interrupted()) {
        interrupted = true;
        if (interruptible) {
          cancel(tag);
        }
      }
    }
    if (interrupted && interruptible) {
      drop(waiter.event.numbers());
      return null;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return waiter.event;
  }

  // ---- Events ----

  /** The thread of the pump. */
  @Override
  public void run() {
    long[] rows = new long[EVENTS_AT_ONCE * Event.ROW];
    long looked = System.nanoTime();
    for (boolean open = true; open;) {
      int count = Native.nextRows(client, LOOK_MS, Event.ROW, rows);
      if (System.nanoTime() - looked >= TimeUnit.MILLISECONDS.toNanos(LOOK_MS)) {
        guarded(look);
        guarded(this::giveBack);
        looked = System.nanoTime();
      }
      for (int row = 0; row < count; ++row) {
        open = rows[row * Event.ROW + Numbers.FIELD_KIND] != Numbers.END;
        int next = row;
        guarded(() -> dispatch(Event.take(Arrays.copyOfRange(rows, next * Event.ROW, (next + 1) * Event.ROW))));
      }
    }
    holds.clear();
    callbacks.shutDown();
    ended.countDown();
  }

  /** Nothing may end the pump's thread, not even a lack of memory. */
  private static void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      Callbacks.uncaught(e);
    }
  }

  /** Waits until no more events come, and shortly until the last ones are told; returns whether no more events come. */
  boolean awaitEnd(long limitMs) throws InterruptedException {
    if (!ended.await(limitMs, TimeUnit.MILLISECONDS)) {
      return false;
    }
    callbacks.awaitLast();
    return true;
  }

  /** Frees the client once no call is inside. Nothing may have called this before; the pump must have ended. */
  void free() {
    inside.addAndGet(CLOSED);
    while (inside.get() != CLOSED) {
      Thread.onSpinWait();
    }
    client.free();
  }

  private void dispatch(Event event) {
    switch (event.kind()) {
      case Numbers.LOST, Numbers.AT_RISK, Numbers.RECOVERED -> tell(event);
      case Numbers.LOG -> callbacks.log(event.logEntry());
      case Numbers.RELEASED -> {
        holds.remove(event.hold());
        answer(event);
      }
      default -> answer(event);
    }
  }

  /** What has no owner any more is given back. */
  private void answer(Event event) {
    Consumer<Event> owner = pending.get(event.tag());
    if (owner == null) {
      drop(event.numbers());
    } else {
      owner.accept(event);
    }
  }

  /** The news may come before the hold's own thread asks for its inbox, and after its release: then nobody would remove the entry. */
  private void tell(Event event) {
    long hold = event.hold();
    inbox(hold).tell(event);
    if (Native.belayHoldState(client, hold) < 0) {
      holds.remove(hold);
    }
  }

  /** Where the news of a hold come that was just granted, until its release. */
  News.Inbox inbox(long hold) {
    return holds.computeIfAbsent(hold, number -> new News.Inbox());
  }

  void warnOfAbandoned(String what) {
    String message = what + ": the client abandoned it, and others get the name when its lease ends";
    callbacks.log(new LogEntry(LogLevel.WARNING, Instant.now(), message, id, 0));
  }
}
