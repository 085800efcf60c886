package invalid.belay;

import static invalid.belay.Server.eventually;
import static org.junit.jupiter.api.Assertions.*;

import invalid.belay.internal.Numbers;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

final class HoldTest extends ServerTest {
  @Test
  void closeReleases() throws Exception {
    Hold kept;
    try (Hold hold = belay.lock("a").acquire(Duration.ofSeconds(5))) {
      assertEquals(State.HELD, hold.state());
      assertTrue(hold.remaining().toSeconds() > 10);
      hold.verify();
      kept = hold;
    }
    assertTrue(another().lock("a").tryLock());
    assertEquals(State.RELEASED, kept.state());
    assertEquals(Duration.ZERO, kept.remaining());
    assertThrows(UnknownHoldException.class, kept::release);
    kept.close();
  }

  @Test
  void anyThreadReleases() throws Exception {
    Hold hold = belay.lock("a").acquire();
    join(thread(hold::release));
    assertTrue(another().lock("a").tryLock());
  }

  @Test
  void releaseAsyncAndNoWait() throws Exception {
    belay.lock("a").acquire().releaseAsync().get();
    Hold hold = another().lock("a").tryAcquire().orElseThrow();
    hold.releaseNoWait();
    assertTrue(belay.lock("a").tryLock(20, java.util.concurrent.TimeUnit.SECONDS));
  }

  @Test
  void lossIsTold() throws Exception {
    AtomicReference<Reason> told = new AtomicReference<>();
    Hold hold = belay.lock("a").acquire().onLost(told::set);
    assertThrows(NullPointerException.class, () -> hold.onLost((Runnable) null));
    assertThrows(NullPointerException.class, () -> hold.onLost((java.util.function.Consumer<Reason>) null));
    assertEquals(hold.fence(), another().breakLock("a").get(0).fence());
    eventually(() -> told.get() == Reason.BROKEN);
    assertEquals(State.LOST, hold.state());
    assertEquals(Duration.ZERO, hold.remaining());
    AtomicReference<Reason> late = new AtomicReference<>();
    hold.onLost(late::set);
    eventually(() -> late.get() == Reason.BROKEN);
    assertThrows(LockLostException.class, hold::verify);
    LockLostException e = assertThrows(LockLostException.class, hold::release);
    assertEquals(Reason.BROKEN, e.reason().orElseThrow());
    assertThrows(UnknownHoldException.class, hold::release);
    AtomicReference<Reason> afterwards = new AtomicReference<>();
    hold.onLost(afterwards::set);
    eventually(() -> afterwards.get() == Reason.BROKEN);
  }

  @Test
  void lossThatRacesWithItsFirstListenerIsToldOnce() throws Exception {
    Belay other = another();
    AtomicInteger told = new AtomicInteger();
    for (int i = 1; i <= 100; ++i) {
      int losses = i;
      Hold hold = belay.lock("a").acquire();
      var breaker = thread(() -> other.breakLock("a"));
      long listen = System.nanoTime() + 3000L * i; // the news come meanwhile, or later
      while (System.nanoTime() < listen) {
        Thread.onSpinWait();
      }
      hold.onLost(told::incrementAndGet);
      join(breaker);
      eventually(() -> told.get() >= losses);
      assertThrows(LockLostException.class, hold::close);
      assertEquals(losses, told.get());
    }
  }

  @Test
  void newsOfWhichTwoAskAtOnceAreToldOnce() {
    ConcurrentLinkedQueue<Reason> told = new ConcurrentLinkedQueue<>();
    News.Inbox inbox = new News.Inbox();
    News news = new News(Runnable::run);
    inbox.attach(news);
    news.on(Numbers.LOST, true, told::add);
    Event lost = Event.lostByClose();
    lost.numbers()[Numbers.FIELD_KIND] = Numbers.LOST;
    inbox.tell(lost);
    inbox.attach(news);
    assertEquals(List.of(Reason.CLOSED), List.copyOf(told));
  }

  @Test
  void holdSaysWhyItWasLost() throws Exception {
    Hold broken = belay.lock("a").acquire();
    Hold closed = belay.lock("b").acquire();
    Hold released = belay.lock("c").acquire();
    assertEquals("", broken.message());
    another().breakLock("a");
    eventually(() -> broken.state() == State.LOST);
    assertFalse(broken.message().isEmpty()); // also before its reason has come
    eventually(() -> broken.message().matches("hold .* of 'a' was lost: it was broken by .*"));
    String why = broken.message();
    assertThrows(LockLostException.class, broken::release);
    assertEquals(why, broken.message());
    released.release();
    assertEquals("", released.message());
    belay.close();
    assertTrue(closed.message().endsWith("'b' was lost: the client was shut down"), closed.message());
  }

  @Test
  void lossInterruptsTheWorker() throws Exception {
    Hold hold = belay.lock("a").acquire();
    var worker = thread(() -> {
      hold.onLost(Thread.currentThread()::interrupt).onLost(() -> {});
      assertThrows(InterruptedException.class, () -> Thread.sleep(LONG.toMillis()));
    });
    another().breakLock("a");
    join(worker);
  }

  @Test
  void callbackThatThrowsOrBlocksHarmsNoOther() throws Exception {
    CountDownLatch unblocked = new CountDownLatch(1);
    ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();
    Hold blocks = belay.lock("a").acquire().onLost(() -> {
      assertDoesNotThrow(() -> unblocked.await());
      told.add("a");
    }).onLost(() -> told.add("after a"));
    AssertionError thrown = new AssertionError("of the test");
    belay.lock("b").acquire().onLost(() -> {
      Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> told.add(e == thrown ? "thrown" : e.toString()));
      throw thrown;
    }).onLost(() -> told.add("b"));
    another().breakLock("a");
    eventually(() -> blocks.state() == State.LOST);
    another().breakLock("b");
    eventually(() -> told.size() == 2);
    assertEquals(State.HELD, belay.lock("c").acquire().state());
    unblocked.countDown();
    eventually(() -> told.size() == 4);
    assertEquals(List.of("thrown", "b", "a", "after a"), List.copyOf(told));
  }

  @Test
  void callbacksRunWhereTheOptionsSay() throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor(task -> new Thread(task, "of the test"));
    try (Belay client = options().executor(executor).connect()) {
      ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();
      Runnable action = () -> told.add(Thread.currentThread().getName());
      client.lock("a").acquire().onLost(action);
      another().breakLock("a");
      eventually(() -> List.of("of the test").equals(List.copyOf(told)));
      executor.shutdown();
      client.lock("b").acquire().onLost(action);
      another().breakLock("b");
      eventually(() -> List.of("of the test", "belay-news").equals(List.copyOf(told)));
    } finally {
      executor.shutdown();
    }
  }

  @Test
  void lossIsToldOfAsyncReleases() throws Exception {
    for (int way = 0; way < 2; ++way) {
      Hold hold = belay.lock("a").acquireAsync().get();
      another().breakLock("a");
      eventually(() -> hold.state() == State.LOST);
      if (way == 0) {
        var e = assertThrows(java.util.concurrent.ExecutionException.class, () -> hold.releaseAsync().get());
        assertInstanceOf(LockLostException.class, e.getCause());
      } else {
        assertThrows(LockLostException.class, hold::releaseNoWait);
      }
    }
  }

  @Test
  void riskAndRecoveryAreTold() throws Exception {
    try (Belay brief = options().watchdogLease(Duration.ofMillis(1500)).requestTimeout(Duration.ofMillis(200)).connect()) {
      ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();
      Hold hold = brief.lock("a").acquire();
      hold.onAtRisk(reason -> told.add("risk " + reason)).onRecovered(() -> told.add("recovered")).onLost(r -> told.add("lost"));
      server.pause();
      eventually(() -> told.contains("risk NOT_RENEWED"));
      server.resume();
      eventually(() -> told.contains("recovered"));
      assertEquals(List.of("risk NOT_RENEWED", "recovered"), List.copyOf(told));
      hold.release();
    }
  }

  @Test
  void unreachedServerLosesTheHoldLocally() throws Exception {
    try (Belay brief = options().watchdogLease(Duration.ofMillis(600)).requestTimeout(Duration.ofMillis(100)).connect()) {
      AtomicReference<Reason> told = new AtomicReference<>();
      Hold hold = brief.lock("a").acquire().onLost(told::set);
      server.pause();
      try {
        eventually(() -> told.get() == Reason.NOT_RENEWED);
        assertThrows(LockLostException.class, hold::close);
      } finally {
        server.resume();
      }
    }
  }

  @Test
  void closeDoesNotTellOfAServerThatIsAway() throws Exception {
    try (Belay brief = options().requestTimeout(Duration.ofMillis(100)).connect()) {
      Hold closed = brief.lock("a").acquire();
      Hold released = brief.lock("b").acquire();
      server.pause();
      try {
        closed.close();
        assertThrows(UnavailableException.class, released::release);
      } finally {
        server.resume();
      }
    }
  }

  @Test
  void abandonedHoldIsNotReleased() throws Exception {
    Hold hold = belay.lock("a").acquire();
    hold.abandon();
    assertEquals(State.RELEASED, hold.state());
    assertThrows(UnknownHoldException.class, hold::abandon);
    assertFalse(another().lock("a").tryLock());
  }

  @Test
  void droppedHoldIsAbandonedWithOneWarning() throws Exception {
    ConcurrentLinkedQueue<LogEntry> log = new ConcurrentLinkedQueue<>();
    try (Belay client = options().watchdogLease(Duration.ofMillis(500)).onLog(log::add).connect()) {
      WeakReference<Hold> dropped = drop(client);
      eventually(() -> {
        System.gc();
        return dropped.get() == null && !log.isEmpty();
      });
      assertTrue(another().lock("dropped").tryLock(20, java.util.concurrent.TimeUnit.SECONDS));
      assertEquals(1, log.size(), log.toString());
      assertTrue(log.peek().message().contains("'dropped'"), log.peek().message());
      assertEquals(LogLevel.WARNING, log.peek().level());
      assertEquals(client.id(), log.peek().client());
    }
  }

  private static WeakReference<Hold> drop(Belay client) throws InterruptedException {
    Hold hold = client.lock("dropped").acquire();
    hold.onLost(reason -> fail("lost, not abandoned: " + hold));
    return new WeakReference<>(hold);
  }

  @Test
  void grantIsGivenBackIfAnErrorKeepsItFromItsCaller() throws Exception {
    DistributedLock lock = belay.lock("a");
    for (int i = 0; i < 2000; ++i) { // until all classes are there
      lock.acquire().release();
      lock.lock();
      lock.unlock();
    }
    for (Acquire acquire : List.<Acquire>of(DistributedLock::tryAcquire, one -> one.tryLock(1, TimeUnit.MILLISECONDS))) {
      long grants = metric("grants");
      for (int stack = 0; stack < 40; ++stack) {
        DistributedLock own = belay.lock("deep" + grants + "." + stack);
        int[] left = {3};
        Thread deep = new Thread(null, () -> atTheEndOfTheStack(() -> acquire.of(own), left), "deep", 256_000 + 64 * stack);
        deep.start();
        deep.join();
      }
      assertTrue(metric("grants") > grants); // else nothing was tried
      eventually(() -> {
        System.gc(); // what has an owner is abandoned
        return metric("holds") == 0;
      });
    }
  }

  private interface Acquire {
    Object of(DistributedLock lock) throws Exception;
  }

  /** Tries with no stack left, and then with a little more each time, until it has often succeeded. */
  private static void atTheEndOfTheStack(Body body, int[] left) {
    try {
      atTheEndOfTheStack(body, left);
    } catch (StackOverflowError e) {
      // It tries with what is left here.
    }
    if (left[0] > 0) {
      try {
        body.run();
        left[0]--;
      } catch (Throwable e) {
        // What it throws is seen by what it leaves.
      }
    }
  }

  @Test
  void keptHoldSurvivesItsLease() throws Exception {
    try (Belay client = options().watchdogLease(Duration.ofMillis(300)).connect()) {
      Hold hold = client.lock("a").acquire();
      eventually(() -> {
        System.gc();
        return client.metrics().get("renewals") > 4;
      });
      assertEquals(State.HELD, hold.state());
      hold.release();
    }
  }
}
