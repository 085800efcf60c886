package invalid.belay;

import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** What tests run in a process of its own: Child MODE URL. It ends with the line "done". */
final class Child {
  private static final int CROWD = 10_000;

  private Child() {}

  public static void main(String[] arguments) throws Exception {
    String url = arguments[1];
    switch (arguments[0]) {
      case "everything" -> everything(url);
      case "exit" -> exit(url);
      case "return" -> holdAll(Belay.connect(url));
      case "stopped" -> stopped(url);
      case "loaders" -> loaders(url);
      case "virtual" -> virtual(url);
      case "version" -> {
        Belay.version();
        printLibraries();
      }
      case "leak" -> leak(url, Integer.parseInt(arguments[2]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.out.println("done");
  }

  /** The files of the native libraries of Belay in this process. */
  private static void printLibraries() throws Exception {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      maps.filter(line -> line.contains("libbelay_java")).map(line -> line.substring(line.indexOf('/'))).distinct().forEach(System.out::println);
    }
  }

  private static void holdAll(Belay belay) throws Exception {
    belay.lock("a").lock();
    Hold b = belay.multiLock("b", "c").acquire();
    belay.semaphore("s", 1).acquire();
    b.onLost(reason -> {});
    belay.lock("a").acquireAsync();
    Thread waiter = new Thread(() -> {
      try {
        belay.lock("b").lock();
      } catch (ClosedException e) {
        // expected
      }
    });
    waiter.setDaemon(true);
    waiter.start();
    Server.eventually(() -> belay.metrics().get("pendings") == 2);
  }

  private static void exit(String url) throws Exception {
    holdAll(Belay.connect(url));
    System.out.println("done");
    System.exit(7);
  }

  /** Locks, and unlocks once the lock is lost. */
  private static void stopped(String url) throws Exception {
    try (Belay belay = Belay.options().url(url).watchdogLease(Duration.ofSeconds(1)).connect()) {
      DistributedLock lock = belay.lock("a");
      lock.lock();
      System.out.println("locked");
      Server.eventually(() -> !lock.isHeldByCurrentThread());
      try {
        lock.unlock();
      } catch (LockLostException e) {
        System.out.println("lost");
      }
    }
  }

  /** Each call that crosses to C, with all kinds of arguments, under -Xcheck:jni. */
  private static void everything(String url) throws Exception {
    try (Belay belay = Belay.options().url(url).logEvents(LogLevel.DEBUG).onLog(entry -> {}).connect()) {
      for (int i = 0; i < 3; ++i) {
        byte[] name = {0, (byte) 0xff, (byte) i};
        try (Hold hold = belay.lock(name).withLease(Duration.ofMinutes(1)).withLockDelay(Duration.ofSeconds(1))
            .withMaxHold(Duration.ofMinutes(1)).acquire()) {
          hold.extend(Duration.ofMinutes(2));
          hold.verify();
          hold.downgrade();
          belay.inspect(name);
          belay.fencedWrite(name, hold.fence(), "SET".getBytes(StandardCharsets.UTF_8), new byte[100_000]);
        }
        belay.lock(name).acquire().releaseNoWait();
        belay.lock(name).acquire().abandon();
        belay.lock("x").withIdentity(name).acquireAsync().get().releaseAsync().get();
        belay.breakLock(name, 0);
        belay.list("*", 100);
        belay.metrics();
        belay.semaphore("s" + i, 3).acquireHold(2).release();
        belay.semaphore("s" + i, 3).setLimit(4);
        belay.semaphore("s" + i, 4).available();
        belay.latch("l").set(1);
        belay.latch("l").countDown();
        belay.latch("l").await();
        belay.latch("l").getCount();
        try {
          belay.latch("none").await();
        } catch (NotFoundException e) {
          // expected
        }
        try {
          belay.lock("");
        } catch (InvalidArgumentException e) {
          // expected
        }
        belay.lock("y").acquireAsync().cancel(true);
      }
      Options.all();
    }
  }

  /** The same classes twice, each with a library of its own. */
  private static void loaders(String url) throws Exception {
    List<URL> path = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(":")) {
      path.add(Path.of(entry).toUri().toURL());
    }
    List<Object> clients = new ArrayList<>();
    for (int i = 0; i < 2; ++i) {
      URLClassLoader loader = new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
      Class<?> type = loader.loadClass("invalid.belay.Belay");
      Object client = type.getMethod("connect", String.class).invoke(null, url);
      Object lock = type.getMethod("lock", String.class).invoke(client, "a");
      boolean locked = (boolean) lock.getClass().getMethod("tryLock").invoke(lock);
      if (locked != (i == 0)) {
        throw new AssertionError("loader " + i + ": " + locked);
      }
      clients.add(client);
    }
    printLibraries();
    for (Object client : clients) {
      client.getClass().getMethod("close").invoke(client);
    }
  }

  /** A crowd of virtual threads on one name: none may hold a thread of the system. */
  private static void virtual(String url) throws Exception {
    Method executor = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
    Path file = Files.createTempFile("belay", ".jfr");
    try (Recording recording = new Recording(); Belay belay = Belay.connect(url)) {
      ExecutorService threads = (ExecutorService) executor.invoke(null);
      crowd(threads, belay, 1); // loads the classes, for which the JVM itself may pin
      closeTogether(threads, url);
      lose(threads, url, 1);
      threads.submit(() -> belay.lock("ended").lock()).get();
      Server.eventually(belay.kept::isEmpty); // it is abandoned
      recording.enable("jdk.VirtualThreadPinned").withThreshold(Duration.ZERO);
      recording.start();
      int more = crowd(threads, belay, CROWD);
      closeTogether(threads, url);
      lose(threads, url, 50);
      recording.stop();
      recording.dump(file);
      System.out.println(more + " threads more for " + CROWD + " waiters");
      if (more > 12) {
        throw new AssertionError(more + " threads more");
      }
    }
    for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
      if (event.getEventType().getName().equals("jdk.VirtualThreadPinned")) {
        throw new AssertionError(event.toString());
      }
    }
    Files.delete(file);
  }

  /** Locks that are lost and released in virtual threads, while the executor of their callbacks makes all who call it wait. */
  private static void lose(ExecutorService threads, String url, int size) throws Exception {
    Executor slow = task -> {
      LockSupport.parkNanos(1_000_000);
      threads.execute(task);
    };
    try (Belay client = Belay.options().url(url).executor(slow).connect(); Belay other = Belay.connect(url)) {
      List<Future<?>> losers = new ArrayList<>();
      for (int i = 0; i < size; ++i) {
        String name = "lost" + i;
        losers.add(threads.submit(() -> {
          lose(client.lock(name).acquire(), () -> other.breakLock(name));
          client.lock(name).run(hold -> {});
          client.lock(name).lock();
          client.lock(name).unlock();
          return null;
        }));
      }
      for (Future<?> loser : losers) {
        loser.get(60, TimeUnit.SECONDS);
      }
    }
  }

  private static void lose(Hold hold, Runnable breaker) throws InterruptedException {
    for (Runnable cause : List.<Runnable>of(breaker, () -> {})) { // the second one is told at once
      CountDownLatch told = new CountDownLatch(2);
      hold.onLost(told::countDown).onLost(told::countDown);
      cause.run();
      told.await();
    }
    try {
      hold.close();
      throw new AssertionError("it was not lost");
    } catch (LockLostException e) {
      // expected
    }
  }

  private static void closeTogether(ExecutorService threads, String url) throws Exception {
    Belay client = Belay.connect(url);
    client.lock("closed").lock();
    List<Future<?>> closers = List.of(threads.submit(client::close), threads.submit(client::close));
    for (Future<?> closer : closers) {
      closer.get(60, TimeUnit.SECONDS);
    }
  }

  /** Returns how many threads of the system more there were while all waited. */
  private static int crowd(ExecutorService threads, Belay belay, int size) throws Exception {
    DistributedLock lock = belay.lock("crowd");
    Hold first = lock.acquire();
    int before = osThreads();
    List<Future<?>> crowd = new ArrayList<>();
    for (int i = 0; i < size; ++i) {
      crowd.add(threads.submit(() -> {
        lock.lock();
        lock.unlock();
      }));
    }
    Server.eventually(() -> belay.metrics().get("pendings") == size);
    int more = osThreads() - before;
    first.release();
    for (Future<?> waiter : crowd) {
      waiter.get(60, TimeUnit.SECONDS);
    }
    return more;
  }

  /** Prints what is left after the first cycles, and after all of them. */
  private static void leak(String url, int cycles) throws Exception {
    try (Belay belay = Belay.connect(url); Belay other = Belay.connect(url)) {
      other.lock("held").lock();
      for (int half = 0; half < 2; ++half) {
        for (int i = half * cycles / 2; i < (half + 1) * cycles / 2; ++i) {
          cycle(belay, i);
        }
        System.out.println(left(belay));
      }
    }
  }

  private static void cycle(Belay belay, int i) throws Exception {
    DistributedLock lock = belay.lock("n" + i % 100);
    switch (i % 8) {
      case 0 -> {
        lock.lock();
        lock.unlock();
      }
      case 1 -> lock.acquireAsync().thenAccept(Hold::close).get();
      case 2 -> belay.lock("held").acquireAsync().cancel(true);
      case 3 -> belay.lock("held").tryLock();
      case 4 -> {
        try {
          belay.latch("none").countDown();
        } catch (NotFoundException e) {
          // expected
        }
      }
      case 5 -> {
        try (Hold hold = lock.acquire()) {
          hold.onLost(reason -> {});
          belay.fencedWrite("key", hold.fence(), "SET", "value");
        }
      }
      case 6 -> {
        Thread.currentThread().interrupt();
        try {
          belay.lock("held").acquire();
        } catch (InterruptedException e) {
          // expected
        }
      }
      default -> {
        belay.inspect("held");
        belay.metrics();
      }
    }
  }

  /** What of the library is left, and how many KiB of memory the process has. */
  private static String left(Belay belay) {
    Server.eventually(() -> {
      System.gc();
      Thread.sleep(20); // the cleaner's thread
      Map<String, Long> now = belay.metrics();
      return now.get("pendings") == 0 && now.get("process_requests") == 0 && now.get("holds") == 0;
    });
    Map<String, Long> now = belay.metrics();
    String objects = Stream.of("pendings", "holds", "process_requests", "process_events").map(name -> name + "=" + now.get(name))
        .collect(Collectors.joining(" "));
    try (Stream<String> status = Files.lines(Path.of("/proc/self/status"))) {
      return objects + status.filter(line -> line.startsWith("VmRSS:")).map(line -> line.replaceAll("\\D+", " ")).findFirst().orElseThrow();
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  private static int osThreads() {
    return new java.io.File("/proc/self/task").list().length;
  }
}
