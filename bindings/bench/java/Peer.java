import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
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
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Makes a lock library in Java a side of the benchmark, as {@code tests/bench/peer.h} asks for one. */
final class Peer {
  private static final int THREADS = 16;
  private static final int WAITERS = 10_000;
  private static final int NAMES = 16;
  private static final int WARM_UP_MS = 4000; // by then the compiler has done its work
  private static final int HELD_MS = 1; // how long who takes turns holds the lock
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

  private final IntFunction<Client> open;
  private final int port;
  private final Client client;
  private final String own = ":" + ProcessHandle.current().pid() + ":"; // in names
  private long count;

  private Peer(IntFunction<Client> open, int port) {
    this.open = open;
    this.port = port;
    this.client = open.apply(port);
  }

  /** The program: its arguments are the server's port and the workload. */
  static void run(IntFunction<Client> open, String[] args) throws Exception {
    Peer peer = new Peer(open, Integer.parseInt(args[0]));
    Workload workload = peer.workload(args[1]);
    if (workload == null) {
      System.out.println("none");
      System.exit(0);
    }
    if (!args[1].equals("waiters10000")) { // which runs once before it counts
      workload.run(WARM_UP_MS);
    }
    System.out.println("ready");
    answer(workload);
    System.exit(0);
  }

  private Workload workload(String name) {
    return switch (name) {
      case "pair" -> this::pair;
      case "names16" -> this::names;
      case "shared16" -> this::shared;
      case "handoff" -> handoff(client, open.apply(port));
      case "waiters10000" -> this::crowd;
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
    return alone(millis, () -> client.lock("pair" + own + ++count));
  }

  private Slice names(long millis) {
    return alone(millis, () -> client.multiLock(
        IntStream.range(0, NAMES).mapToObj(i -> "names" + own + ++count).toArray(String[]::new)));
  }

  private static Slice alone(long millis, java.util.function.Supplier<Lock> locks) {
    LongStream.Builder steps = LongStream.builder();
    long began = System.nanoTime();
    long end = began + millis * 1_000_000;
    for (long before = began; before < end; ) {
      Lock lock = locks.get();
      lock.lock();
      lock.unlock();
      long after = System.nanoTime();
      steps.add(after - before);
      before = after;
    }
    return new Slice(System.nanoTime() - began, steps.build());
  }

  // Threads of one client take turns on one name.
  private Slice shared(long millis) throws Exception {
    Lock lock = client.lock("shared" + own);
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

  // Two clients take turns: who has released asks again when the other has the lock.
  private Workload handoff(Client... clients) {
    return millis -> {
      Turns turns = new Turns(System.nanoTime() + millis * 1_000_000);
      long began = System.nanoTime();
      List<Callable<Slice>> parts = new ArrayList<>();
      for (Client each : clients) {
        parts.add(() -> turns.take(each.lock("handoff" + own)));
      }
      LongStream steps = all(parts);
      return new Slice(System.nanoTime() - began, steps);
    };
  }

  private static final class Turns {
    private final long end;
    private volatile long released; // 0: not yet
    private long turn;

    Turns(long end) {
      this.end = end;
    }

    Slice take(Lock lock) throws InterruptedException {
      LongStream.Builder steps = LongStream.builder();
      for (long asked = System.nanoTime(); asked < end; asked = System.nanoTime()) {
        lock.lock();
        if (released > asked) { // else it found the lock free: that is no handoff
          steps.add(System.nanoTime() - released);
        }
        long mine = next();
        Thread.sleep(HELD_MS);
        released = System.nanoTime();
        lock.unlock();
        awaitAfter(mine);
      }
      next(); // nobody waits for who has gone
      return new Slice(0, steps.build());
    }

    private synchronized long next() {
      notifyAll();
      return ++turn;
    }

    private synchronized void awaitAfter(long mine) throws InterruptedException {
      while (turn == mine) {
        wait();
      }
    }
  }

  // Very many wait on one name that is held. A step is how long after its release one of them has it.
  private Slice crowd(long millis) throws InterruptedException {
    Lock first = client.lock("waiters" + own + ++count);
    first.lock();
    long[] had = new long[WAITERS];
    CountDownLatch left = new CountDownLatch(WAITERS);
    for (int i = 0; i < WAITERS; i++) {
      int waiter = i;
      client.once("waiters" + own + count, waiter + 1_000_000L, () -> {
        had[waiter] = System.nanoTime();
        left.countDown();
      });
    }
    Thread.sleep(GATHER_MS);
    long began = System.nanoTime();
    first.unlock();
    left.await(millis, TimeUnit.MILLISECONDS);
    long worked = System.nanoTime() - began;
    return new Slice(worked, LongStream.of(had.clone()).filter(at -> at != 0).map(at -> at - began));
  }
}
