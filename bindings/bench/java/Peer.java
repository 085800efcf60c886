import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Makes a lock library in Java a side of the benchmark, as {@code tests/bench/peer.h} asks for one. */
final class Peer {
  private static final int THREADS = 16;
  private static final int WAITERS = 10_000;
  private static final int MANY_NAMES = 10_000;
  private static final int NAMES = 16;
  private static final int WARM_UP_MS = 4000; // by then the compiler has done its work
  private static final int HELD_MS = 1; // how long a process that takes turns holds the lock
  private static final int HELD_LONG_MS = 20; // while a master is replaced
  private static final int RETRY_MS = 10;
  private static final int GATHER_MS = 500; // until then all waiters stand in line

  /** One client of the library that is measured. */
  interface Client {
    Lock lock(String name);

    Lock multiLock(String... names);

    /** Waits for the name without a thread; calls {@code had} when it has it, and releases it. */
    void once(String name, long waiter, Runnable had);
  }

  /** How long a workload has worked, and what each of its steps took. */
  record Slice(long workedNs, LongStream stepsNs) {}

  /** Works for so long, at least for one step. */
  interface Workload {
    Slice run(long millis) throws Exception;
  }

  private final Client client;
  private final String name;
  private long count;

  private Peer(Client client, String name) {
    this.client = client;
    this.name = name;
  }

  /** The program: its arguments are the server's URL, the workload and what names begin with. */
  static void run(Function<String, Client> open, String[] args) throws Exception {
    Peer peer = new Peer(open.apply(args[0]), args[2]);
    Workload workload = peer.workload(args[1]);
    if (workload == null) {
      System.out.println("none it is not known");
      System.exit(0);
    }
    if (!args[1].equals("waiters10000")) { // which runs once before it counts
      workload.run(WARM_UP_MS);
    }
    System.out.println("ready");
    answer(workload);
    System.exit(0);
  }

  private Workload workload(String wanted) throws IOException {
    return switch (wanted) {
      case "pair" -> this::pair;
      case "names16" -> this::names;
      case "shared16" -> this::shared;
      case "handoff_first" -> new Turns(true);
      case "handoff_second" -> new Turns(false);
      case "failover" -> this::failover;
      case "waiters10000" -> this::crowd;
      case "names10000" -> this::many;
      default -> null;
    };
  }

  private static void answer(Workload workload) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Slice slice = workload.run(Long.parseLong(line));
      StringBuilder took = new StringBuilder().append(slice.workedNs / 1000);
      slice.stepsNs.forEach(ns -> took.append(' ').append(ns / 1000).append('.').append(ns / 100 % 10));
      System.out.println(took);
    }
  }

  // Acquires and releases names that nobody has used before.
  private Slice pair(long millis) {
    return alone(millis, () -> client.lock(fresh()));
  }

  private Slice names(long millis) {
    return alone(millis, () -> client.multiLock(
        IntStream.range(0, NAMES).mapToObj(i -> fresh()).toArray(String[]::new)));
  }

  // A machine that stands still for as long as a grant lasts loses a hold.
  private static void release(Lock lock) {
    try {
      lock.unlock();
    } catch (IllegalMonitorStateException lost) {
      System.err.println(lost.getMessage());
    }
  }

  private String fresh() {
    return name + ":" + ++count;
  }

  private static Slice alone(long millis, java.util.function.Supplier<Lock> locks) {
    LongStream.Builder steps = LongStream.builder();
    long began = System.nanoTime();
    long end = began + millis * 1_000_000;
    for (long before = began; before < end; ) {
      Lock lock = locks.get();
      lock.lock();
      release(lock);
      long after = System.nanoTime();
      steps.add(after - before);
      before = after;
    }
    return new Slice(System.nanoTime() - began, steps.build());
  }

  // Threads of one client take turns on one name.
  private Slice shared(long millis) throws Exception {
    Lock lock = client.lock(name);
    long began = System.nanoTime();
    List<Callable<Slice>> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      threads.add(() -> alone(millis, () -> lock));
    }
    LongStream steps = all(threads);
    return new Slice(System.nanoTime() - began, steps);
  }

  private static LongStream all(List<Callable<Slice>> parts) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(parts.size());
    LongStream steps = LongStream.empty();
    for (Future<Slice> part : threads.invokeAll(parts)) {
      steps = LongStream.concat(steps, part.get().stepsNs);
    }
    threads.shutdown();
    return steps;
  }

  // Two processes hand the name to each other: a process asks again when the other has the lock. The steps are three times of
  // CLOCK_MONOTONIC: when the process asked, had the lock, and began to release it.
  private final class Turns implements Workload {
    private final boolean first;
    private final InputStream fromOther = new FileInputStream("/dev/fd/3");
    private final OutputStream toOther = new FileOutputStream("/dev/fd/4");

    Turns(boolean first) throws IOException {
      this.first = first;
    }

    @Override
    public Slice run(long millis) throws Exception {
      LongStream.Builder times = LongStream.builder();
      Lock lock = client.lock(name);
      long began = System.nanoTime();
      if (first) {
        do {
          take(lock, times);
          fromOther.read();
        } while (System.nanoTime() - began < millis * 1_000_000);
        toOther.write('e');
      } else {
        while (fromOther.read() == 'h') {
          take(lock, times);
        }
      }
      return new Slice(System.nanoTime() - began, times.build());
    }

    private void take(Lock lock, LongStream.Builder times) throws Exception {
      times.add(System.nanoTime());
      lock.lock();
      times.add(System.nanoTime());
      toOther.write('h');
      Thread.sleep(HELD_MS);
      times.add(System.nanoTime());
      release(lock);
    }
  }

  // Competes for the name, whatever happens to the server. The steps are three times of each hold: when the process asked, had the
  // lock, and began to release it.
  private Slice failover(long millis) throws InterruptedException {
    LongStream.Builder times = LongStream.builder();
    Lock lock = client.lock(name);
    long began = System.nanoTime();
    long end = began + millis * 1_000_000;
    for (long asked = began; asked < end; asked = System.nanoTime()) {
      if (!had(lock, end - asked)) {
        continue;
      }
      times.add(asked).add(System.nanoTime());
      Thread.sleep(HELD_LONG_MS);
      times.add(System.nanoTime());
      try {
        lock.unlock();
      } catch (RuntimeException told) {
        // it does not matter to who is next
      }
    }
    return new Slice(System.nanoTime() - began, times.build());
  }

  private static boolean had(Lock lock, long waitNs) throws InterruptedException {
    try {
      return lock.tryLock(waitNs, TimeUnit.NANOSECONDS);
    } catch (RuntimeException told) {
      Thread.sleep(RETRY_MS);
      return false;
    }
  }

  // Very many wait on one name that is held. A step is how long after its release one of them has it.
  private Slice crowd(long millis) throws InterruptedException {
    String waited = fresh();
    Lock first = client.lock(waited);
    first.lock();
    long[] had = new long[WAITERS];
    CountDownLatch left = new CountDownLatch(WAITERS);
    for (int i = 0; i < WAITERS; i++) {
      int waiter = i;
      client.once(waited, waiter + 1_000_000L, () -> {
        had[waiter] = System.nanoTime();
        left.countDown();
      });
    }
    Thread.sleep(GATHER_MS);
    long began = System.nanoTime();
    release(first);
    left.await(millis, TimeUnit.MILLISECONDS);
    long worked = System.nanoTime() - began;
    return new Slice(worked, LongStream.of(had.clone()).filter(at -> at != 0).map(at -> at - began));
  }

  // Takes very many names that nobody has used before, all asked for at once. A step is how long one takes, until it is held.
  private Slice many(long millis) throws InterruptedException {
    long[] had = new long[MANY_NAMES];
    CountDownLatch left = new CountDownLatch(MANY_NAMES);
    long began = System.nanoTime();
    for (int i = 0; i < MANY_NAMES; i++) {
      int one = i;
      client.once(fresh(), one + 1_000_000L, () -> {
        had[one] = System.nanoTime() - began;
        left.countDown();
      });
    }
    left.await();
    return new Slice(System.nanoTime() - began, LongStream.of(had));
  }
}
