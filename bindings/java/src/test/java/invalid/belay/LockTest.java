package invalid.belay;

import static invalid.belay.Server.eventually;
import static org.junit.jupiter.api.Assertions.*;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

final class LockTest extends ServerTest {
  @Test
  void lockExcludesOtherClients() {
    Lock lock = belay.lock("a");
    lock.lock();
    assertFalse(another().lock("a").tryLock());
    lock.unlock();
    assertTrue(another().lock("a").tryLock());
  }

  @Test
  void lockExcludesOtherThreads() throws Exception {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    join(thread(() -> assertFalse(lock.tryLock())));
    var waiter = thread(() -> {
      lock.lock();
      lock.unlock();
    });
    eventually(() -> metric("pendings") == 1);
    assertFalse(waiter.isDone());
    lock.unlock();
    join(waiter);
  }

  @Test
  void threadLocksAgainAndUnlocksAsOften() {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    assertTrue(belay.lock("a").tryLock());
    assertEquals(2, lock.getHoldCount());
    lock.unlock();
    assertFalse(another().lock("a").tryLock());
    lock.unlock();
    assertEquals(0, lock.getHoldCount());
    assertTrue(another().lock("a").tryLock());
  }

  @Test
  void acquireNestsWithLock() throws Exception {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    try (Hold hold = lock.acquire(LONG)) {
      assertEquals(lock.fence(), hold.fence());
      lock.unlock();
      assertFalse(another().lock("a").tryLock());
      assertThrows(NotHeldException.class, lock::unlock);
    }
    assertTrue(another().lock("a").tryLock());
  }

  @Test
  void runAndCallHoldTheLock() throws Exception {
    DistributedLock lock = belay.lock("a");
    lock.run(hold -> assertFalse(another().lock("a").tryLock()));
    long fence = lock.call(hold -> {
      lock.run(nested -> assertEquals(hold.fence(), nested.fence()));
      return hold.fence();
    });
    assertTrue(fence > 0);
    assertFalse(lock.isLocked());
    assertEquals("b", assertThrows(IOException.class, () -> lock.run(this::failing)).getMessage());
    assertFalse(lock.isLocked());
  }

  private void failing(Hold hold) throws IOException {
    throw new IOException("b");
  }

  @Test
  void runAndCallTellALoss() {
    DistributedLock lock = belay.lock("a");
    assertThrows(LockLostException.class, () -> lock.run(hold -> another().breakLock("a")));
    LockLostException lost = assertThrows(LockLostException.class, () -> lock.call(hold -> another().breakLock("a")));
    assertEquals(Reason.BROKEN, lost.reason().orElseThrow());
    IOException e = assertThrows(IOException.class, () -> lock.call(hold -> {
      another().breakLock("a");
      throw new IOException("of the body");
    }));
    assertInstanceOf(LockLostException.class, e.getSuppressed()[0]);
  }

  @Test
  void runAndCallWaitNoLongerThanTheyMay() throws Exception {
    DistributedLock lock = belay.lock("a");
    Hold held = another().lock("a").acquire();
    assertThrows(LockTimeoutException.class, () -> lock.run(SHORT, hold -> fail("it ran")));
    assertThrows(BusyException.class, () -> lock.call(Duration.ZERO, hold -> fail("it ran")));
    held.release();
    lock.run(LONG, hold -> assertEquals(State.HELD, hold.state()));
    assertTrue(lock.call(LONG, Hold::fence) > held.fence());
    assertFalse(lock.isLocked());
  }

  @Test
  void ownerLocksAgainInEveryFormAndThread() throws Exception {
    DistributedLock lock = belay.lock("a").withOwner(7);
    lock.lock();
    join(thread(() -> {
      assertTrue(lock.isHeldByCurrentThread());
      assertTrue(lock.tryLock());
      assertEquals(2, lock.getHoldCount());
      try (Hold async = lock.acquireAsync().get(); Hold later = lock.acquireAsync(LONG).get(); Hold hold = lock.acquire(LONG)) {
        assertEquals(List.of(lock.fence(), lock.fence(), lock.fence()), List.of(async.fence(), later.fence(), hold.fence()));
      }
      lock.unlock();
      assertThrows(NotHeldException.class, belay.lock("a")::unlock);
    }));
    for (DistributedLock other : List.of(belay.lock("a"), belay.lock("a").withOwner(8), another().lock("a").withOwner(7))) {
      assertFalse(other.tryLock());
      assertFalse(other.isHeldByCurrentThread());
    }
    lock.unlock();
    assertThrows(NotHeldException.class, lock::unlock);
    assertTrue(another().lock("a").tryLock());
  }

  @Test
  @SuppressWarnings("deprecation") // threadId() is of Java 19
  void ownerThatIsGivenIsNoThread() {
    belay.lock("a").lock();
    assertFalse(belay.lock("a").withOwner(Thread.currentThread().getId()).tryLock());
    for (long wrong : new long[] {Long.MIN_VALUE, -1, 0, 1L << 52, Long.MAX_VALUE}) {
      refuses("owner was " + wrong + ": 1..4503599627370495 is allowed", () -> belay.lock("a").withOwner(wrong));
    }
    assertTrue(belay.lock("b").withOwner(1).tryLock());
    assertTrue(belay.lock("c").withOwner((1L << 52) - 1).tryLock());
  }

  @Test
  void asyncHoldBelongsToNoThread() throws Exception {
    DistributedLock lock = belay.lock("a");
    try (Hold hold = lock.acquireAsync().get()) {
      assertFalse(lock.tryLock());
      assertTrue(hold.fence() > 0);
    }
    assertTrue(lock.tryLock());
  }

  @Test
  void unlockWithoutLockIsRefusedInWords() {
    IllegalMonitorStateException e = assertThrows(IllegalMonitorStateException.class, () -> belay.lock("a").unlock());
    assertTrue(e.getMessage().contains("'a'"), e.getMessage());
  }

  @Test
  void unlockByAnotherThreadIsRefused() throws Exception {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    join(thread(() -> assertThrows(IllegalMonitorStateException.class, lock::unlock)));
    assertTrue(lock.isHeldByCurrentThread());
    lock.unlock();
    assertFalse(lock.isHeldByCurrentThread());
  }

  @Test
  void unlockOfLostLockThrows() {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    another().breakLock("a");
    eventually(() -> !lock.isHeldByCurrentThread());
    LockLostException e = assertThrows(LockLostException.class, lock::unlock);
    assertEquals(Reason.BROKEN, e.reason().orElseThrow());
    assertEquals(Status.LOST, e.status());
  }

  @Test
  void conditionsAreRefusedInWords() {
    var e = assertThrows(UnsupportedOperationException.class, () -> belay.lock("a").newCondition());
    assertTrue(e.getMessage().contains("condition"), e.getMessage());
  }

  @Test
  void tryLockWithTimeWaits() throws Exception {
    another().lock("a").lock();
    assertFalse(belay.lock("a").tryLock(SHORT.toMillis(), TimeUnit.MILLISECONDS));
    assertFalse(belay.lock("a").tryLock(0, TimeUnit.SECONDS));
    assertFalse(belay.lock("a").tryLock(-1, TimeUnit.SECONDS));
    assertTrue(belay.lock("b").tryLock(Long.MAX_VALUE, TimeUnit.DAYS));
  }

  @Test
  void acquireTellsTimeoutAndBusy() {
    another().lock("a").lock();
    LockTimeoutException timeout = assertThrows(LockTimeoutException.class, () -> belay.lock("a").acquire(SHORT));
    assertTrue(timeout.getMessage().contains("a"), timeout.getMessage());
    assertThrows(BusyException.class, () -> belay.lock("a").acquire(Duration.ZERO));
    assertTrue(belay.lock("a").tryAcquire().isEmpty());
    assertDoesNotThrow(() -> assertTrue(belay.lock("a").tryAcquire(SHORT).isEmpty()));
  }

  @Test
  void namesAreBytes() throws Exception {
    byte[] nul = {'a', 0, 'b'};
    byte[] invalid = {(byte) 0xff, (byte) 0xfe};
    for (byte[] name : List.of(nul, invalid, "\ud83d\udd12}x".getBytes(StandardCharsets.UTF_8), new byte[1024])) {
      try (Hold hold = belay.lock(name).acquire(LONG)) {
        assertTrue(another().lock(name).tryAcquire().isEmpty());
        assertArrayEquals(name, belay.list("*", 10).names().get(0));
      }
    }
    try (Hold a = belay.lock("a").acquire(LONG)) {
      assertTrue(another().lock(nul).tryAcquire().isPresent());
    }
    try (Hold emoji = belay.lock("\ud83d\udd12").acquire(LONG)) {
      assertEquals(List.of("\ud83d\udd12"), belay.list("*\ud83d\udd12*", 10).texts());
    }
  }

  @Test
  void wrongNamesAreRefusedAtOnce() {
    for (String name : List.of("", "x".repeat(1025))) {
      InvalidArgumentException e = assertThrows(InvalidArgumentException.class, () -> belay.lock(name));
      assertTrue(e.getMessage().contains("name"), e.getMessage());
    }
    assertThrows(InvalidArgumentException.class, () -> belay.multiLock("a", "a"));
    refuses("the request had no name", () -> belay.multiLock(new String[0]));
    refuses("the request had no name", () -> belay.multiReadLock(new byte[0][]));
    assertEquals("name", assertThrows(NullPointerException.class, () -> belay.lock((String) null)).getMessage());
    assertEquals("name", assertThrows(NullPointerException.class, () -> belay.multiLock("a", null)).getMessage());
  }

  @Test
  void wrongDurationsAreRefusedInWordsOfJava() {
    DistributedLock lock = belay.lock("a");
    for (Duration wrong : List.of(Duration.ofNanos(30), Duration.ofNanos(-30), Duration.ofMillis(5), Duration.ofMillis(-5), Duration.ofDays(2),
        Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(Long.MIN_VALUE))) {
      InvalidArgumentException e = assertThrows(InvalidArgumentException.class, () -> lock.withLease(wrong));
      assertTrue(e.getMessage().matches("lease was -?[1-9]\\d* ms: .* is allowed"), e.getMessage());
      assertThrows(InvalidArgumentException.class, () -> lock.withMaxHold(wrong.isNegative() ? wrong : Duration.ofNanos(1)));
    }
    refuses("lease was zero: 100 ms to a day is allowed", () -> lock.withLease(Duration.ZERO));
    refuses("lease was zero: 100 ms to a day is allowed", () -> lock.lock(0, TimeUnit.SECONDS));
    refuses("lease was 1 ms: 100..86400000 ms is allowed", () -> lock.lock(1, TimeUnit.NANOSECONDS));
    refuses("lease was 9223372036855 ms: 100..86400000 ms is allowed", () -> lock.lock(Long.MAX_VALUE, TimeUnit.DAYS));
    refuses("maxHold was zero: 100 ms to 30 days is allowed", () -> lock.withMaxHold(Duration.ZERO));
    refuses("maxHold was zero: 100 ms to 30 days is allowed", () -> belay.semaphore("s", 1).withMaxHold(Duration.ZERO));
    assertThrows(InvalidArgumentException.class, () -> lock.withLockDelay(Duration.ofNanos(-1)));
    assertThrows(InvalidArgumentException.class, () -> belay.latch("l").set(1, Duration.ofNanos(1)));
    Duration two = Duration.ofMillis(2);
    refuses("lease was 2 ms: 100..86400000 ms is allowed", () -> lock.withLease(two));
    refuses("maxHold was 2 ms: 100..2592000000 ms is allowed", () -> lock.withMaxHold(two));
    refuses("lockDelay was 120000 ms: 0..60000 ms is allowed", () -> lock.withLockDelay(Duration.ofMinutes(2)));
    refuses("ttl was 2 ms: 100..2592000000 ms is allowed", () -> belay.latch("l").set(1, two));
    refuses("count was 0: 1..1000000000 is allowed", () -> belay.latch("l").set(0));
    refuses("watchdogLease was 2 ms: 100..86400000 ms is allowed", () -> Belay.options().watchdogLease(two));
    refuses("requestTimeout was 2 ms: 10..3600000 ms is allowed", () -> Belay.options().requestTimeout(two));
    refuses("maxHold was 2 ms: 0, 100..2592000000 ms is allowed", () -> Belay.options().maxHold(two));
    refuses("maxPending was 0: 1..10000000 is allowed", () -> Belay.options().maxPending(0));
    refuses("watchdog_lease_ms was 2: 100..86400000 is allowed", () -> Belay.options().set("watchdog_lease_ms", "2"));
    try (Hold hold = lock.withLease(Duration.ofMinutes(1)).tryAcquire().orElseThrow()) {
      refuses("lease was 2 ms: 100..86400000 ms is allowed", () -> hold.extend(two));
    }
  }

  private static void refuses(String message, Executable wrong) {
    assertEquals(message, assertThrows(InvalidArgumentException.class, wrong).getMessage());
  }

  @Test
  void multiLockTakesAllOrNone() throws Exception {
    try (Hold b = another().lock("b").acquire()) {
      assertTrue(belay.multiLock("a", "b", "c").tryAcquire().isEmpty());
      assertTrue(belay.lock("a").tryLock());
      belay.lock("a").unlock();
    }
    try (Hold readers = belay.multiReadLock("a", "b").acquire()) {
      assertTrue(another().multiReadLock("b", "c").tryAcquire().isPresent());
    }
    try (Hold all = belay.multiLock("d", "a", "e").acquire()) {
      assertEquals(3, all.fences().length);
      assertEquals(all.fence(2), all.fences()[2]);
      assertFalse(another().lock("e").tryLock());
      assertEquals(belay.inspect("e").members().get(0).fence(), all.fence(2));
    }
  }

  @Test
  void readersShareAndWritersExclude() throws Exception {
    ReadWriteLock mine = belay.readWriteLock("a");
    ReadWriteLock other = another().readWriteLock("a");
    mine.readLock().lock();
    assertTrue(other.readLock().tryLock());
    other.readLock().unlock();
    assertFalse(other.writeLock().tryLock());
    assertThrows(WouldDeadlockException.class, () -> mine.writeLock().tryLock());
    mine.readLock().unlock();
    mine.writeLock().lock();
    assertFalse(other.readLock().tryLock());
    assertFalse(another().lock("a").tryLock());
    mine.writeLock().unlock();
  }

  @Test
  void downgradeLetsReadersIn() throws Exception {
    try (Hold hold = belay.readWriteLock("a").writeLock().acquire()) {
      DistributedLock reader = another().readWriteLock("a").readLock();
      assertFalse(reader.tryLock());
      hold.downgrade();
      assertTrue(reader.tryLock());
    }
  }

  @Test
  void identitySharesTheLock() throws Exception {
    try (Hold one = belay.lock("a").withIdentity("order 7").acquire();
        Hold two = another().lock("a").withIdentity("order 7".getBytes(StandardCharsets.UTF_8)).acquire(LONG)) {
      assertEquals(one.fence(), two.fence());
      assertTrue(another().lock("a").tryAcquire().isEmpty());
    }
  }

  @Test
  void interruptEndsAcquireAndLeavesNothing() throws Exception {
    Hold held = another().lock("a").acquire();
    DistributedLock lock = belay.lock("a");
    Thread[] threads = new Thread[1];
    for (Body body : List.<Body>of(lock::acquire, lock::lockInterruptibly, () -> lock.tryLock(1, TimeUnit.DAYS))) {
      var waiter = thread(() -> {
        threads[0] = Thread.currentThread();
        assertThrows(InterruptedException.class, body::run);
        assertFalse(Thread.currentThread().isInterrupted());
      });
      eventually(() -> metric("pendings") == 1);
      threads[0].interrupt();
      join(waiter);
      assertEquals(0, metric("pendings"));
    }
    held.release();
    assertTrue(another().lock("a").tryAcquire(LONG).isPresent());
    assertEquals(0, metric("holds"));
  }

  @Test
  void interruptThatRacesWithAGrantLeavesNothing() throws Exception {
    DistributedLock lock = belay.lock("a");
    Belay other = another();
    int[] outcomes = new int[2];
    for (int i = 0; i < 300; ++i) {
      Hold held = other.lock("a").acquire(LONG);
      Thread waiter = new Thread(() -> {
        try {
          lock.acquire().release();
          ++outcomes[0];
        } catch (InterruptedException e) {
          ++outcomes[1];
        }
      });
      waiter.start();
      eventually(() -> metric("pendings") == 1 && waiter.getState() == Thread.State.WAITING);
      held.releaseNoWait();
      waiter.interrupt();
      waiter.join();
      eventually(() -> metric("holds") == 0);
    }
    assertEquals(300, outcomes[0] + outcomes[1]);
    assertTrue(metric("grants") > outcomes[0], outcomes[0] + " acquired, but no grant met an interrupt");
  }

  @Test
  void interruptBeforehandTakesNothing() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> belay.lock("a").lockInterruptibly());
    assertFalse(Thread.interrupted());
    assertEquals(0, metric("acquires"));
  }

  @Test
  void lockSurvivesInterruptAndRestoresTheFlag() throws Exception {
    Hold held = another().lock("a").acquire();
    Thread[] threads = new Thread[1];
    var waiter = thread(() -> {
      threads[0] = Thread.currentThread();
      belay.lock("a").lock();
      assertTrue(Thread.interrupted());
      belay.lock("a").unlock();
    });
    eventually(() -> metric("pendings") == 1);
    threads[0].interrupt();
    eventually(() -> !threads[0].isInterrupted()); // it has seen the flag
    assertFalse(waiter.isDone());
    held.release();
    join(waiter);
  }

  @Test
  void leaseOfACallIsFixed() throws Exception {
    DistributedLock lock = belay.lock("a");
    lock.lock(200, TimeUnit.MILLISECONDS);
    assertTrue(another().lock("a").tryLock(LONG.toSeconds(), 60, TimeUnit.SECONDS));
    assertThrows(LockLostException.class, lock::unlock);
    assertThrows(InvalidArgumentException.class, () -> lock.lock(0, TimeUnit.SECONDS));
    assertThrows(InvalidArgumentException.class, () -> lock.tryLock(1, -2, TimeUnit.SECONDS));
    assertThrows(InvalidArgumentException.class, () -> lock.tryLock(1, Long.MAX_VALUE, TimeUnit.DAYS));
    assertEquals(0, lock.getHoldCount());
  }

  @Test
  void leaseOfMinusOneIsRenewed() throws Exception {
    try (Belay client = options().watchdogLease(Duration.ofMillis(300)).connect()) {
      DistributedLock lock = client.lock("a").withLease(Duration.ofMillis(100));
      lock.lock(-1, TimeUnit.SECONDS);
      assertTrue(lock.tryLock(1, -1, TimeUnit.SECONDS));
      eventually(() -> client.metrics().get("renewals") > 4);
      assertTrue(lock.isHeldByCurrentThread());
      lock.unlock();
      lock.unlock();
    }
  }

  @Test
  void othersSeeWhetherItIsLockedAndForHowLong() throws Exception {
    DistributedLock lock = belay.lock("a");
    DistributedLock seen = another().lock("a");
    assertFalse(seen.isLocked());
    assertEquals(-2, seen.remainTimeToLive());
    lock.lock(1, TimeUnit.MINUTES);
    assertTrue(seen.isLocked());
    assertTrue(seen.remainTimeToLive() > 30_000 && seen.remainTimeToLive() <= 60_000, () -> seen.remainTimeToLive() + " ms");
    assertFalse(belay.readWriteLock("a").readLock().isLocked());
    assertTrue(belay.readWriteLock("a").writeLock().isLocked());
    assertTrue(belay.multiLock("b", "a").isLocked());
    assertTrue(belay.multiLock("b", "a").remainTimeToLive() > 0);
    belay.semaphore("s", 1).acquire();
    assertFalse(belay.lock("s").forceUnlock());
    assertEquals(0, belay.semaphore("s", 1).availablePermits());
  }

  @Test
  void forceUnlockTakesTheLockFromItsHolders() throws Exception {
    assertFalse(belay.lock("a").forceUnlock());
    Hold all = another().multiLock("a", "b").acquire();
    assertFalse(belay.readWriteLock("a").readLock().forceUnlock());
    assertTrue(belay.multiLock("b", "c").forceUnlock());
    eventually(() -> all.state() == State.LOST);
    assertEquals(Reason.BROKEN, assertThrows(LockLostException.class, all::close).reason().orElseThrow());
    List<DistributedReadWriteLock> readers = List.of(another().readWriteLock("r"), another().readWriteLock("r"));
    readers.forEach(reader -> reader.readLock().lock());
    assertFalse(belay.lock("r").forceUnlock());
    assertTrue(belay.readWriteLock("r").readLock().forceUnlock());
    readers.forEach(reader -> assertThrows(LockLostException.class, reader.readLock()::unlock));
    assertTrue(belay.lock("r").tryLock(LONG.toSeconds(), TimeUnit.SECONDS));
  }

  @Test
  void forceUnlockOfAnOwnLockIsToldByUnlock() {
    DistributedLock lock = belay.lock("a");
    lock.lock();
    assertTrue(lock.forceUnlock());
    eventually(() -> !lock.isHeldByCurrentThread());
    assertThrows(LockLostException.class, lock::unlock);
    assertFalse(lock.isLocked());
  }

  /** The upper bound says only that it does not wait for the server or for the holder: the request timeout is 5 s. */
  @Test
  void tryLockWithTimeEndsByThenWhileTheServerIsStoppedOrAway() throws Exception {
    try (Server stopped = new Server(); Belay client = Belay.connect(stopped.url()); Belay other = Belay.connect(stopped.url())) {
      client.lock("mine").acquireAsync().get();
      other.lock("taken").lock();
      Future<?> said = endsAfter(1000, () -> assertFalse(client.lock("taken").tryLock(1, TimeUnit.SECONDS)));
      eventually(() -> client.inspect("taken").total() == 2);
      stopped.pause();
      Future<?> mine = endsAfter(500, () -> assertFalse(client.lock("mine").tryLock(500, TimeUnit.MILLISECONDS)));
      Future<?> unknown = unavailableAfter(500, client.lock("unknown"), 500);
      Future<?> briefly = unavailableAfter(250, client.lock("briefly"), 1);
      for (Future<?> ended : List.of(said, mine, unknown, briefly)) {
        join(ended);
      }
      stopped.kill();
      Future<?> away = unavailableAfter(500, client.lock("mine"), 500);
      join(unavailableAfter(500, client.lock("unknown"), 500));
      join(away);
      stopped.start(); // for a close that need not wait for the server
    }
  }

  private static Future<?> unavailableAfter(long millis, Lock lock, long waitMs) {
    return endsAfter(millis, () -> assertThrows(UnavailableException.class, () -> lock.tryLock(waitMs, TimeUnit.MILLISECONDS)));
  }

  private static Future<?> endsAfter(long millis, Body body) {
    return thread(() -> {
      long begun = System.nanoTime();
      body.run();
      long took = (System.nanoTime() - begun) / 1_000_000;
      assertTrue(took >= millis - 10 && took < 4000, took + " ms instead of " + millis);
    });
  }

  @Test
  void lockOfAThreadThatEndedIsAbandonedWithOneWarning() throws Exception {
    ConcurrentLinkedQueue<String> log = new ConcurrentLinkedQueue<>();
    try (Belay client = options().watchdogLease(Duration.ofSeconds(1)).onLog(entry -> log.add(entry.message())).connect()) {
      DistributedLock lock = client.lock("a");
      client.lock("kept").lock();
      Thread ended = new Thread(() -> {
        lock.lock();
        lock.lock();
        client.lock("owned").withOwner(1).lock();
      });
      ended.start();
      ended.join();
      assertTrue(belay.lock("a").tryLock(LONG.toSeconds(), TimeUnit.SECONDS));
      assertEquals(List.of("a thread ended that had locked 'a': the client abandoned it, and others get the name when its lease ends"),
          List.copyOf(log));
      assertEquals(0, client.metrics().get("releases"));
      client.lock("kept").unlock();
      client.lock("owned").withOwner(1).unlock();
      assertTrue(client.kept.isEmpty());
      assertFalse(ended.isAlive()); // it is not even collected
    }
  }

  @Test
  void deletedLockIsLost() throws Exception {
    try (Belay client = options().watchdogLease(Duration.ofMillis(900)).connect()) {
      DistributedLock lock = client.lock("a");
      lock.lock();
      Hold hold = client.lock("b").acquire();
      server.command("FLUSHALL");
      eventually(() -> !lock.isHeldByCurrentThread() && hold.state() == State.LOST);
      assertEquals(Reason.GONE, assertThrows(LockLostException.class, lock::unlock).reason().orElseThrow());
      assertEquals(Reason.GONE, assertThrows(LockLostException.class, hold::close).reason().orElseThrow());
    }
  }

  @Test
  void fenceIsOfAThreadThatHolds() throws Exception {
    DistributedLock lock = belay.lock("a");
    assertThrows(NotHeldException.class, lock::fence);
    lock.lock();
    join(thread(() -> assertThrows(NotHeldException.class, lock::fence)));
    assertTrue(lock.fence() > 0);
    lock.unlock();
    assertThrows(NotHeldException.class, lock::fence);
  }

  @Test
  void orderOfNamesDoesNotMatter() throws Exception {
    DistributedLock lock = belay.multiLock("a", "b");
    lock.lock();
    DistributedLock other = another().multiLock("b", "a");
    assertFalse(other.tryLock());
    lock.unlock();
    assertTrue(other.tryLock());
  }

  @Test
  void namesInAnyOrderAreOneLock() {
    belay.lock("b").lock(); // so that its fence is another than that of the others
    DistributedLock lock = belay.multiLock("a", "b", "c");
    DistributedLock same = belay.multiLock("c", "b", "a");
    lock.lock();
    assertTrue(same.isHeldByCurrentThread());
    assertTrue(same.tryLock());
    assertEquals(2, belay.multiLock("b", "c", "a").getHoldCount());
    for (String first : List.of("a", "b", "c")) {
      DistributedLock one = belay.multiLock(first, first.equals("b") ? "c" : "b", first.equals("a") ? "c" : "a");
      assertEquals(belay.inspect(first).members().get(0).fence(), one.fence());
      assertEquals(first.equals("b"), one.fence() == belay.lock("b").fence());
    }
    belay.lock("b").unlock();
    assertThrows(NotHeldException.class, belay.multiLock("a", "b")::unlock);
    assertThrows(NotHeldException.class, belay.multiReadLock("a", "b", "c")::unlock);
    same.unlock();
    assertFalse(another().lock("c").tryLock());
    belay.multiLock("b", "a", "c").unlock();
    assertEquals(0, lock.getHoldCount());
    assertTrue(another().multiLock("a", "b", "c").tryLock());
  }

  @Test
  void tryLockThrowsWithoutServer() throws Exception {
    try (Server gone = new Server()) {
      gone.kill();
      try (Belay client = Belay.options().url(gone.url()).requestTimeout(Duration.ofMillis(100)).connect()) {
        DistributedLock lock = client.lock("a");
        assertThrows(UnavailableException.class, lock::tryLock);
        assertThrows(UnavailableException.class, () -> lock.tryLock(10, TimeUnit.MILLISECONDS));
        assertThrows(UnavailableException.class, lock::tryAcquire);
      }
    }
  }

  @Test
  void fixedLeaseEndsAndExtends() throws Exception {
    try (Hold hold = belay.lock("a").withLease(Duration.ofSeconds(2)).acquire()) {
      hold.extend(Duration.ofMinutes(5));
      assertTrue(hold.remaining().toMinutes() >= 4, hold.remaining().toString());
    }
    Hold brief = belay.lock("a").withLease(Duration.ofMillis(100)).acquire();
    eventually(() -> brief.state() == State.LOST);
    assertThrows(LockLostException.class, brief::close);
  }
}
