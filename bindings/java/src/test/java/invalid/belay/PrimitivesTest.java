package invalid.belay;

import static invalid.belay.Server.eventually;
import static org.junit.jupiter.api.Assertions.*;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class PrimitivesTest extends ServerTest {
  @Test
  void semaphoreCountsPermits() throws Exception {
    DistributedSemaphore mine = belay.semaphore("gpu", 3);
    DistributedSemaphore other = another().semaphore("gpu", 3);
    mine.acquire(2);
    assertTrue(other.tryAcquire());
    assertFalse(other.tryAcquire());
    assertFalse(other.tryAcquire(SHORT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, mine.availablePermits());
    join(thread(() -> belay.semaphore("gpu", 3).release(2)));
    assertEquals(2, other.drainPermits());
    other.release(2);
    other.release();
    assertEquals(new Permits(3, 3), mine.available());
    assertTrue(belay.kept.isEmpty());
  }

  @Test
  void semaphoreReleasesTogetherWhatWasAcquiredTogether() throws Exception {
    DistributedSemaphore semaphore = belay.semaphore("gpu", 3);
    semaphore.acquire(2);
    NotHeldException e = assertThrows(NotHeldException.class, () -> semaphore.release(1));
    assertTrue(e.getMessage().contains("together"), e.getMessage());
    semaphore.release(2);
    assertThrows(NotHeldException.class, semaphore::release);
    for (int wrong : new int[] {-1, 0}) {
      InvalidArgumentException refused = assertThrows(InvalidArgumentException.class, () -> semaphore.release(wrong));
      assertEquals("permits was " + wrong + ": release at least 1", refused.getMessage());
    }
    assertThrows(InvalidArgumentException.class, () -> semaphore.tryAcquire(0));
  }

  @Test
  void severalPermitsAreAwaitedThroughAnInterrupt() throws Exception {
    Hold held = another().semaphore("gpu", 3).acquireHold(2);
    Thread[] threads = new Thread[1];
    var waiter = thread(() -> {
      threads[0] = Thread.currentThread();
      belay.semaphore("gpu", 3).acquireUninterruptibly(3);
      assertTrue(Thread.interrupted());
      belay.semaphore("gpu", 3).release(3);
    });
    eventually(() -> metric("pendings") == 1);
    threads[0].interrupt();
    eventually(() -> !threads[0].isInterrupted()); // it has seen the flag
    assertFalse(waiter.isDone());
    held.release();
    join(waiter);
    assertThrows(InvalidArgumentException.class, () -> belay.semaphore("gpu", 3).acquireUninterruptibly(0));
  }

  @Test
  void semaphoreHasHolds() throws Exception {
    DistributedSemaphore semaphore = belay.semaphore("gpu", 4);
    try (Hold two = semaphore.acquireHold(2, LONG); Hold one = semaphore.acquireAsync(1).get()) {
      assertEquals(2, two.permits());
      assertTrue(one.fence() > two.fence());
      assertThrows(LockTimeoutException.class, () -> semaphore.acquireHold(2, SHORT));
      assertEquals(1, semaphore.tryAcquireHold(0).orElseThrow().permits());
      assertTrue(semaphore.tryAcquireHold(1).isEmpty());
      assertThrows(BusyException.class, () -> semaphore.acquireHold(1, Duration.ZERO));
    }
  }

  @Test
  void semaphoreLimitChanges() throws Exception {
    DistributedSemaphore semaphore = belay.semaphore("gpu", 0);
    assertThrows(NotFoundException.class, semaphore::available);
    assertThrows(NotFoundException.class, semaphore::tryAcquire);
    assertEquals(new Permits(2, 2), semaphore.setLimit(2));
    semaphore.acquireUninterruptibly();
    assertEquals(new Permits(5, 4), semaphore.setLimitAsync(5).get());
    assertEquals(new Permits(5, 4), semaphore.availableAsync().get());
    assertThrows(LimitDiffersException.class, () -> belay.semaphore("gpu", 3).tryAcquire());
  }

  @Test
  void latchOpens() throws Exception {
    DistributedLatch latch = belay.latch("start");
    assertThrows(NotFoundException.class, latch::getCount);
    assertThrows(NotFoundException.class, latch::countDown);
    assertThrows(NotFoundException.class, () -> latch.await(LONG));
    long generation = latch.set(3);
    InUseException e = assertThrows(InUseException.class, () -> latch.set(1));
    assertEquals(3, e.count());
    assertFalse(latch.await(SHORT.toMillis(), TimeUnit.MILLISECONDS));
    assertThrows(BusyException.class, () -> latch.await(Duration.ZERO));
    assertThrows(LockTimeoutException.class, () -> latch.await(SHORT));
    var waiter = thread(() -> assertEquals(generation, another().latch("start").await()));
    assertEquals(2, latch.countDown());
    assertEquals(2, latch.getCountAsync().get());
    assertEquals(0, latch.countDownAsync(2).get());
    join(waiter);
    assertTrue(latch.await(1, TimeUnit.DAYS));
    assertEquals(generation, latch.awaitAsync().get());
    assertEquals(0, latch.getCount());
  }

  @Test
  void latchHasGenerations() throws Exception {
    DistributedLatch latch = belay.latch("start");
    long first = latch.set(1, Duration.ofDays(1));
    latch.countDown();
    long second = latch.setAsync(1, Duration.ZERO).get();
    assertTrue(second > first);
    assertEquals(first, latch.withGeneration(first).await(LONG));
    assertThrows(LockTimeoutException.class, () -> latch.withGeneration(second).await(SHORT));
    var waiting = latch.awaitAsync(LONG);
    another().breakLock("start", second);
    assertInstanceOf(NotFoundException.class, assertThrows(Exception.class, waiting::get).getCause());
  }

  @Test
  void fencedWriteRefusesOlderFences() throws Exception {
    Hold old = belay.lock("order").acquire();
    another().breakLock("order");
    Hold young = another().lock("order").acquire(LONG);
    assertEquals("OK", belay.fencedWrite("{order}:state", young.fence(), "SET", "paid"));
    StaleFenceException e =
        assertThrows(StaleFenceException.class, () -> belay.fencedWrite("{order}:state", old.fence(), "SET", "unpaid"));
    assertEquals(young.fence(), e.fence());
    assertEquals("paid", server.command("GET", "{order}:state"));
    belay.fencedWrite("{order}:empty", young.fence(), "SET", "");
    assertEquals("1", server.command("EXISTS", "{order}:empty"));
    assertEquals("2", belay.fencedWriteAsync("{order}:count", young.fence(), "INCRBY", "2").get());
    byte[] key = {0, 'k'};
    assertArrayEquals("1".getBytes(StandardCharsets.UTF_8), belay.fencedWriteAsync(key, young.fence(), "INCR".getBytes(StandardCharsets.UTF_8)).get());
    assertThrows(ServerErrorException.class, () -> belay.fencedWrite("{order}:state", young.fence(), "INCR"));
    assertThrows(InvalidArgumentException.class, () -> belay.fencedWrite("k", young.fence(), "GET"));
    assertThrows(InvalidArgumentException.class, () -> belay.fencedWrite("k", young.fence()));
    young.release();
    eventually(() -> old.state() == State.LOST);
    assertThrows(LockLostException.class, old::release);
  }

  @Test
  void inspectionTellsHoldersAndWaiters() throws Exception {
    Inspection free = belay.inspect("a");
    assertTrue(free.primitive().isEmpty());
    assertTrue(free.slot().isEmpty());
    assertFalse(free.server().isEmpty());
    try (Belay holder = options().label("h\u00f6lder \ud83d\udd12").connect(); Hold hold = holder.lock("a").acquire()) {
      var waiter = thread(() -> belay.lock("a").acquire(LONG).release());
      eventually(() -> belay.inspect("a").total() == 2);
      Inspection inspection = belay.inspectAsync("a").get();
      assertEquals(Primitive.LOCK, inspection.primitive().orElseThrow());
      Member first = inspection.members().get(0);
      assertEquals(Role.HOLDER, first.role());
      assertEquals(holder.id(), first.client());
      assertEquals("h\u00f6lder \ud83d\udd12", first.label());
      assertEquals(hold.fence(), first.fence());
      assertEquals(ProcessHandle.current().pid(), first.pid());
      assertTrue(first.lease().toSeconds() > 10, first.toString());
      assertEquals(Role.WAITER, inspection.members().get(1).role());
      hold.release();
      join(waiter);
    }
    belay.semaphore("s", 2).acquire();
    assertEquals(1, belay.inspect("s").available());
    assertEquals(1, belay.inspect("s").members().get(0).permits());
    long generation = belay.latch("l").set(5);
    Inspection latch = belay.inspect("l");
    assertEquals(List.of(generation, 5L), List.of(latch.generation(), latch.count()));
  }

  @Test
  void breakNamesThoseWhoLost() throws Exception {
    Hold hold = belay.lock("a").acquire();
    assertTrue(another().breakLock("a", hold.fence() - 1).isEmpty());
    assertEquals(belay.id(), another().breakLockAsync("a", hold.fence()).get().get(0).client());
    eventually(() -> hold.state() == State.LOST);
    assertThrows(LockLostException.class, hold::close);
  }

  @Test
  void listIsCutOffByItsLimit() throws Exception {
    try (Hold hold = belay.multiLock("x1", "x2", "x3", "y").acquire()) {
      assertEquals(List.of("x1", "x2", "x3"), belay.list("x*", 10).texts().stream().sorted().toList());
      Listing cut = belay.listAsync("x*", 2).get();
      assertEquals(2, cut.names().size());
      assertTrue(cut.total() > 2);
    }
  }
}
