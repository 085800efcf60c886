package invalid.belay;

import static invalid.belay.Server.eventually;
import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

final class ClientTest extends ServerTest {
  @Test
  void closeEndsWaitsAndReleasesHolds() throws Exception {
    Belay client = another();
    Hold hold = client.lock("a").acquire();
    List<Reason> told = new ArrayList<>();
    hold.onLost(reason -> {
      synchronized (told) {
        told.add(reason);
      }
    });
    client.lock("locked").lock();
    another().lock("b").lock();
    CompletableFuture<Hold> future = client.lock("b").acquireAsync();
    var waiter = thread(() -> assertThrows(ClosedException.class, () -> client.lock("b").lock()));
    eventually(() -> client.metrics().get("pendings") == 2);
    client.close();
    join(waiter);
    assertInstanceOf(ClosedException.class, assertThrows(ExecutionException.class, future::get).getCause());
    assertTrue(belay.lock("a").tryLock());
    assertTrue(belay.lock("locked").tryLock());
    eventually(() -> told.equals(List.of(Reason.CLOSED)));
    assertEquals(State.LOST, hold.state());
    assertEquals(Reason.CLOSED, assertThrows(LockLostException.class, hold::release).reason().orElseThrow());
    assertThrows(LockLostException.class, () -> client.lock("locked").unlock());
    assertThrows(ClosedException.class, client::ping);
    assertThrows(ClosedException.class, () -> client.lock("a").tryLock());
    assertThrows(ExecutionException.class, () -> client.pingAsync().get());
    client.close();
  }

  @Test
  void closeWhileManyThreadsLock() throws Exception {
    Belay client = another();
    List<java.util.concurrent.Future<?>> threads = new ArrayList<>();
    for (int i = 0; i < 100; ++i) {
      DistributedLock lock = client.lock("n" + i % 10);
      threads.add(thread(() -> assertThrows(RuntimeException.class, () -> {
        for (;;) {
          lock.lock();
          lock.unlock();
        }
      })));
    }
    eventually(() -> client.metrics().get("grants") > 500);
    client.close();
    for (var thread : threads) {
      join(thread);
    }
    eventually(() -> belay.list("n*", 100).total() == 0);
  }

  @Test
  void closedClientsLeaveNothing() throws Exception {
    Belay client = options().connect();
    client.close();
    int before = descriptors();
    long clients = metric("process_clients");
    List<Hold> kept = new ArrayList<>();
    for (int i = 0; i < 20; ++i) {
      client = options().connect();
      kept.add(client.lock("a").acquire(LONG));
      client.close();
    }
    assertEquals(clients, metric("process_clients"));
    // The JVM opens and closes a few of its own meanwhile; one that each client left would be 20.
    assertTrue(descriptors() < before + 10, () -> descriptors() + " descriptors, before " + before);
    assertEquals(State.LOST, kept.get(0).state());
    assertEquals(Duration.ZERO, kept.get(0).remaining());
    assertEquals(Reason.CLOSED, assertThrows(LockLostException.class, kept.get(0)::close).reason().orElseThrow());
    assertEquals(Reason.CLOSED, assertThrows(LockLostException.class, kept.get(1)::releaseNoWait).reason().orElseThrow());
    var async = assertThrows(ExecutionException.class, kept.get(2).releaseAsync()::get);
    assertEquals(Reason.CLOSED, assertInstanceOf(LockLostException.class, async.getCause()).reason().orElseThrow());
    assertTrue(client.metrics().get("grants") == 1);
    assertFalse(client.id().isEmpty());
  }

  private static int descriptors() {
    System.gc();
    return new java.io.File("/proc/self/fd").list().length;
  }

  @Test
  void cancelledFutureLeavesNothing() throws Exception {
    Hold held = another().lock("a").acquire();
    List<CompletableFuture<Hold>> futures = new ArrayList<>();
    for (int i = 0; i < 3; ++i) {
      futures.add(belay.lock("a").acquireAsync());
    }
    assertTrue(futures.get(0).cancel(true));
    assertThrows(CancellationException.class, futures.get(0)::get);
    futures.get(1).orTimeout(10, TimeUnit.MILLISECONDS);
    assertInstanceOf(TimeoutException.class, assertThrows(ExecutionException.class, futures.get(1)::get).getCause());
    futures.get(2).complete(null);
    eventually(() -> metric("pendings") == 0);
    assertEquals(3, metric("cancelled"));
    held.release();
    another().lock("a").acquire(LONG).release();
    assertEquals(0, metric("holds"));
  }

  @Test
  void cancelThatRacesWithAGrantReleases() throws Exception {
    for (int i = 0; i < 300; ++i) {
      CompletableFuture<Hold> future = belay.lock("a").acquireAsync();
      if (i % 3 != 0) {
        Thread.onSpinWait();
      }
      if (!future.cancel(true)) {
        future.get().release();
      }
    }
    eventually(() -> metric("pendings") == 0 && metric("holds") == 0);
    assertTrue(another().lock("a").tryLock(20, TimeUnit.SECONDS));
  }

  @Test
  void futuresMayBlockInTheirActions() throws Exception {
    CompletableFuture<Long> fence = belay.lock("a").acquireAsync(LONG).thenApply(hold -> {
      try (hold; Hold other = belay.lock("b").acquire(LONG)) {
        return other.fence();
      } catch (InterruptedException e) {
        throw new CompletionException(e);
      }
    });
    assertTrue(fence.get() > 0);
  }

  @Test
  void executorThatRunsInThePumpIsToldSo() throws Exception {
    try (Belay client = options().executor(Runnable::run).connect()) {
      Hold held = another().lock("a").acquire();
      var future = client.lock("a").acquireAsync().thenAccept(hold -> client.ping());
      held.release();
      assertInstanceOf(IllegalStateException.class, assertThrows(ExecutionException.class, future::get).getCause());
    }
  }

  @Test
  void metricsCount() throws Exception {
    belay.lock("a").acquire().release();
    assertEquals(1, metric("grants"));
    assertEquals(1, metric("releases"));
    assertEquals(1, metric("wait_us_count"));
    assertEquals(0, metric("process_events"));
  }

  @Test
  void logEventsAreTold() {
    ConcurrentLinkedQueue<LogEntry> log = new ConcurrentLinkedQueue<>();
    try (Belay client = options().logEvents(LogLevel.DEBUG).onLog(log::add).connect()) {
      client.ping();
      eventually(() -> !log.isEmpty());
      LogEntry entry = log.peek();
      assertFalse(entry.message().isEmpty());
      assertTrue(Duration.between(entry.time(), java.time.Instant.now()).abs().toMinutes() < 5, entry.toString());
      assertTrue(entry.level().number > 0);
      assertEquals(client.id(), entry.client());
    }
  }

  /** A wait without limit goes on; the log says why. */
  @Test
  void serverThatIsAwayIsLoggedOnce() throws Exception {
    ConcurrentLinkedQueue<LogEntry> log = new ConcurrentLinkedQueue<>();
    try (Server gone = new Server()) {
      gone.kill();
      try (Belay client = Belay.options().url(gone.url()).onLog(log::add).connect()) {
        CompletableFuture<Hold> waiting = client.lock("a").acquireAsync();
        eventually(() -> !log.isEmpty());
        assertEquals(LogLevel.WARNING, log.peek().level());
        assertTrue(log.peek().message().contains(gone.socket().toString()), log.peek().message());
        gone.start();
        waiting.get(20, TimeUnit.SECONDS).release();
        assertEquals(1, log.size(), log.toString());
      }
    }
  }

  @Test
  void logThatBlocksDelaysNoNewsAndDropsLines() throws Exception {
    CountDownLatch unblocked = new CountDownLatch(1);
    ConcurrentLinkedQueue<LogEntry> log = new ConcurrentLinkedQueue<>();
    try (Belay client = options().logEvents(LogLevel.DEBUG).onLog(entry -> {
      try {
        unblocked.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      log.add(entry);
    }).connect()) {
      CompletableFuture<Reason> told = new CompletableFuture<>();
      Hold hold = client.lock("a").acquire().onLost(told::complete);
      another().breakLock("a");
      assertEquals(Reason.BROKEN, told.get(20, TimeUnit.SECONDS));
      assertEquals(State.LOST, hold.state());
      for (int i = 0; i < 1100; ++i) {
        client.pump.callbacks.log(new LogEntry(LogLevel.INFO, Instant.EPOCH, "line " + i, "", 0));
      }
      unblocked.countDown();
      eventually(() -> log.size() >= 1000);
      client.pump.callbacks.log(new LogEntry(LogLevel.INFO, Instant.EPOCH, "last", "", 0));
      eventually(() -> log.stream().anyMatch(entry -> entry.message().equals("last") && entry.dropped() >= 99));
    }
  }

  @Test
  void closedClientHasNoThreads() throws Exception {
    belay.lock("a").acquireAsync().thenAccept(Hold::close).get();
    assertTrue(belayThreads() > 0);
    belay.close();
    eventually(Duration.ofSeconds(5), () -> belayThreads() == 0);
  }

  private static long belayThreads() {
    return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("belay-")).count();
  }

  @Test
  void wrongTextsAreRefused() {
    for (String wrong : List.of("a\0b", "a\ud800", "\udc00a")) {
      var e = assertThrows(InvalidArgumentException.class, () -> options().label(wrong));
      assertTrue(e.getMessage().startsWith("label "), e.getMessage());
    }
    assertThrows(InvalidArgumentException.class, () -> Belay.connect(server.url() + "\0"));
    var e = assertThrows(InvalidArgumentException.class, () -> belay.lock("a\ud800"));
    assertEquals("name had half of a surrogate pair", e.getMessage());
    assertEquals("action", assertThrows(NullPointerException.class, () -> options().onLog(null)).getMessage());
  }

  @Test
  void optionsGoByNameAndValue() {
    assertTrue(Options.all().stream().anyMatch(o -> o.name().equals("watchdog_lease_ms") && o.unit().equals("ms")
        && o.defaultValue().equals("30000") && !o.secret()), Options.all().toString());
    assertTrue(Options.all().stream().anyMatch(o -> o.name().equals("password") && o.secret()));
    try (Belay client = options().set("prefix", "other:").connect()) {
      client.lock("a").lock();
      assertTrue(belay.lock("a").tryLock());
    }
  }

  @Test
  void optionsTellTheirValues() {
    Options options = Belay.options().url("redis://:secret@localhost?max_hold_ms=7000").watchdogLease(Duration.ofSeconds(9)).set("label", "h\u00f6lder");
    assertEquals(List.of("9000", "7000", "5000", "h\u00f6lder", "", "warning"), List.of(options.get("watchdog_lease_ms"), options.get("max_hold_ms"),
        options.get("request_timeout_ms"), options.get("label"), options.get("url"), options.get("log_events")));
    options.connect().close();
    assertEquals("9000", options.get("watchdog_lease_ms"));
    assertEquals("there is no option 'speed'", assertThrows(InvalidArgumentException.class, () -> options.get("speed")).getMessage());
    assertThrows(InvalidArgumentException.class, () -> options.get("label\0"));
    assertEquals("name", assertThrows(NullPointerException.class, () -> options.get(null)).getMessage());
  }

  @Test
  void wrongOptionsAreRefusedInWords() {
    var unknown = assertThrows(InvalidArgumentException.class, () -> options().set("speed", "high"));
    assertTrue(unknown.getMessage().contains("speed"), unknown.getMessage());
    assertThrows(UnsupportedUrlException.class, () -> Belay.connect("http://localhost"));
    assertThrows(InvalidArgumentException.class, () -> options().watchdogLease(Duration.ofMillis(1)));
    assertThrows(InvalidArgumentException.class, () -> options().requestTimeout(Duration.ofSeconds(Long.MAX_VALUE)));
    assertThrows(InvalidArgumentException.class, () -> options().maxHold(Duration.ofNanos(1)));
    assertThrows(InvalidArgumentException.class, () -> options().passwordFile(java.nio.file.Path.of("/nonexistent")).connect());
    var tls = assertThrows(InvalidArgumentException.class,
        () -> options().url("rediss://localhost").tlsCaFile(java.nio.file.Path.of("/nonexistent")).connect());
    assertTrue(tls.getMessage().contains("tls_ca_file"), tls.getMessage());
    assertEquals("url", assertThrows(NullPointerException.class, () -> Belay.connect(null)).getMessage());
  }

  @Test
  void nullIsRefusedByItsNameAndLeavesNothing() throws Exception {
    byte[] none = null;
    byte[] some = {1};
    Duration never = null;
    TimeUnit unit = null;
    DistributedLock lock = belay.lock("a");
    DistributedSemaphore semaphore = belay.semaphore("s", 1);
    DistributedLatch latch = belay.latch("l");
    Hold hold = belay.lock("held").withLease(LONG).acquire();
    long grants = metric("grants");
    refusesNull("name", () -> belay.lock(none), () -> belay.readWriteLock(none), () -> belay.multiLock(some, none), () -> belay.multiLock("a", null),
        () -> belay.semaphore(none, 1), () -> belay.latch(none), () -> belay.inspect(none), () -> belay.inspectAsync(none),
        () -> belay.breakLock(none, 0), () -> belay.breakLockAsync(none, 0), () -> belay.lock((String) null));
    refusesNull("names", () -> belay.multiLock((String[]) null), () -> belay.multiLock((byte[][]) null),
        () -> belay.multiReadLock((String[]) null), () -> belay.multiReadLock((byte[][]) null));
    refusesNull("pattern", () -> belay.list(none, 1), () -> belay.listAsync(none, 1));
    refusesNull("key", () -> belay.fencedWrite(none, 1, some), () -> belay.fencedWriteAsync(none, 1, some));
    refusesNull("word", () -> belay.fencedWrite(some, 1, none, none), () -> belay.fencedWrite("k", 1, (String) null));
    refusesNull("words", () -> belay.fencedWrite(some, 1, (byte[][]) null), () -> belay.fencedWriteAsync("k", 1, (String[]) null));
    refusesNull("identity", () -> lock.withIdentity(none));
    refusesNull("wait", () -> lock.acquire(never), () -> lock.tryAcquire(never), () -> lock.acquireAsync(never), () -> lock.run(never, held -> {}),
        () -> lock.call(never, held -> 1), () -> semaphore.acquireHold(1, never), () -> semaphore.acquireAsync(1, never),
        () -> latch.await(never), () -> latch.awaitAsync(never));
    refusesNull("body", () -> lock.run(null), () -> lock.run(LONG, null), () -> lock.call(null), () -> lock.call(LONG, null));
    refusesNull("unit", () -> lock.lock(1, unit), () -> lock.lock(-1, unit), () -> lock.tryLock(1, unit), () -> lock.tryLock(1, 1, unit),
        () -> semaphore.tryAcquire(1, unit), () -> semaphore.tryAcquire(1, 1, unit), () -> latch.await(1, unit));
    refusesNull("lease", () -> lock.withLease(never), () -> semaphore.withLease(never), () -> hold.extend(never), () -> hold.extendAsync(never),
        () -> options().watchdogLease(never));
    refusesNull("maxHold", () -> lock.withMaxHold(never), () -> semaphore.withMaxHold(never), () -> options().maxHold(never));
    refusesNull("delay", () -> lock.withLockDelay(never), () -> semaphore.withLockDelay(never));
    refusesNull("ttl", () -> latch.set(1, never), () -> latch.setAsync(1, never));
    refusesNull("timeout", () -> options().requestTimeout(never));
    assertEquals(0, metric("pendings"));
    assertEquals(grants, metric("grants"));
    hold.release();
  }

  private static void refusesNull(String name, Body... bodies) {
    for (Body body : bodies) {
      assertEquals(name, assertThrows(NullPointerException.class, body::run).getMessage());
    }
  }

  @Test
  void executorThatThrowsLosesNothingAndEndsNothing() throws Exception {
    for (Executor broken : List.<Executor>of(task -> {
      throw new RejectedExecutionException("of the test");
    }, task -> {
      throw new OutOfMemoryError("of the test");
    }, task -> {
      task.run();
      throw new IllegalStateException("of the test, though it ran");
    })) {
      try (Belay client = options().executor(broken).connect()) {
        Hold hold = client.lock("a").acquireAsync().get(20, TimeUnit.SECONDS);
        hold.verify();
        CompletableFuture<Reason> told = new CompletableFuture<>();
        CompletableFuture<Reason> toldAgain = new CompletableFuture<>();
        hold.onLost(told::complete);
        another().breakLock("a");
        assertEquals(Reason.BROKEN, told.get(20, TimeUnit.SECONDS));
        hold.onLost(toldAgain::complete);
        assertEquals(Reason.BROKEN, toldAgain.get(20, TimeUnit.SECONDS));
        client.lock("b").acquireAsync().get(20, TimeUnit.SECONDS).release();
        assertThrows(LockLostException.class, hold::release);
      }
    }
  }

  @Test
  void logThatThrowsEndsNothing() throws Exception {
    ConcurrentLinkedQueue<LogEntry> log = new ConcurrentLinkedQueue<>();
    try (Belay client = options().onLog(entry -> {
      Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> log.add(entry));
      throw new AssertionError("of the test");
    }).connect()) {
      for (int line = 1; line <= 2; ++line) {
        client.pump.callbacks.log(new LogEntry(LogLevel.INFO, Instant.EPOCH, "line", "", 0));
      }
      eventually(() -> log.stream().filter(entry -> entry.message().equals("line")).count() == 2);
      client.ping();
    }
  }

  @Test
  void tooManyPendingAreRefused() throws Exception {
    try (Belay client = options().maxPending(1).connect()) {
      another().lock("a").lock();
      CompletableFuture<Hold> first = client.lock("a").acquireAsync();
      assertThrows(TooManyPendingException.class, () -> client.lock("a").acquire());
      var second = client.lock("a").acquireAsync();
      assertInstanceOf(TooManyPendingException.class, assertThrows(ExecutionException.class, second::get).getCause());
      first.cancel(true);
    }
  }

  @Test
  void everyCallHasItsAsynchronousForm() throws Exception {
    Hold hold = belay.lock("a").withLease(LONG).acquireAsync(LONG).get();
    hold.extendAsync(LONG).get();
    hold.verifyAsync().get();
    hold.downgradeAsync().get();
    hold.releaseAsync().get();
    belay.pingAsync().get();
  }
}
