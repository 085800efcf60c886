package invalid.belay;

import static invalid.belay.internal.Numbers.MEMBER_NAME;
import static invalid.belay.internal.Numbers.MEMBER_ROLE;
import static invalid.belay.internal.Numbers.MEMBER_VALUE;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Loader;
import invalid.belay.internal.Native;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * A client of one server. Any number of threads share it. Names are UTF-8 text or bytes, 1 to 1024 of them.
 *
 * <pre>{@code
 * try (Belay belay = Belay.connect("redis://localhost:6379")) {
 *   DistributedLock lock = belay.lock("orders:42");
 *   try (Hold hold = lock.acquire(Duration.ofSeconds(5))) {
 *     charge(hold.fence());
 *   }
 * }
 * }</pre>
 */
public final class Belay implements AutoCloseable {
  private static final long CLOSE_LIMIT_MS = 2500; // the library takes 2 s at most

  final Pump pump;
  final Kept kept = new Kept();
  private final ReentrantLock closing = new ReentrantLock(); // synchronized would pin a virtual thread
  private volatile Map<String, Long> lastMetrics; // once it is closed
  private final Thread atExit = new Thread(this::shutDown, "belay-exit");

  Belay(Handle client, Executor executor, Consumer<LogEntry> log) {
    pump = new Pump(client, new Callbacks(executor, log), this::abandonOfEndedThreads);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  // ---- The client ----

  /**
   * Makes a client of a server. It connects in the background, and reconnects whenever the connection breaks.
   *
   * @param url as the option url: such as redis://localhost:6379, redis://a,b,c, redis-sentinel://a,b,c/NAME, redis-cluster://a,b,c or unix:///path
   * @return the client
   * @throws MisuseException if the URL is wrong
   */
  public static Belay connect(String url) {
    return options().url(url).connect();
  }

  /**
   * Makes a client of the server that the environment variable BELAY_URL names, else of redis://localhost:6379.
   *
   * @return the client
   */
  public static Belay connect() {
    return options().connect();
  }

  /** {@return options, to make a client with} */
  public static Options options() {
    return new Options();
  }

  /** {@return the version of the library} */
  public static String version() {
    Loader.load();
    return Event.utf8(Native.belayVersion());
  }

  /** {@return the id of this client, which inspections by others show} */
  public String id() {
    return pump.id;
  }

  /**
   * Asks the server, or each master of a cluster that this client uses, for a sign of life.
   *
   * @throws UnavailableException if it does not answer
   */
  public void ping() {
    pump.call(Submissions.ofPing(pump)).check();
  }

  /**
   * As {@link #ping}, without waiting.
   *
   * @return what completes when the server has answered
   */
  public CompletableFuture<Void> pingAsync() {
    return pump.submit(Submissions.ofPing(pump), event -> null);
  }

  /** {@return what this client has done and has, without the network: names and numbers, as belay.h describes them} */
  public Map<String, Long> metrics() {
    Map<String, Long> metrics = new LinkedHashMap<>();
    long event = pump.local(() -> Native.metricsEvent(pump.client), 0);
    if (event == 0) {
      return lastMetrics;
    }
    for (int i = 0; Native.belayEventMemberInt(event, i, MEMBER_ROLE) != 0; ++i) {
      metrics.put(Event.utf8(Native.belayEventMemberText(event, i, MEMBER_NAME)), Native.belayEventMemberInt(event, i, MEMBER_VALUE));
    }
    Native.belayEventFree(event);
    return metrics;
  }

  /**
   * Ends the client: all waits end with a {@link ClosedException}, and all holds are lost at once and released. It takes 2 seconds at
   * most. The end of the process does the same.
   */
  @Override
  public void close() {
    closing.lock();
    try {
      if (lastMetrics == null) {
        end();
      }
    } finally {
      closing.unlock();
    }
  }

  private void end() {
    boolean ended = shutDown();
    lastMetrics = metrics();
    if (ended) { // else the garbage collector frees it
      pump.free();
    }
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // The process is ending, and the hook runs.
    }
  }

  private void abandonOfEndedThreads() {
    kept.takeOfEnded(holds -> {
      holds.forEach(Hold::abandon);
      pump.warnOfAbandoned("a thread ended that had locked '" + holds.getFirst().name() + "'");
    });
  }

  /** Returns whether no more events come. */
  private boolean shutDown() {
    pump.local(() -> Native.belayClientShutdown(pump.client), 0);
    boolean interrupted = false;
    try {
      for (;;) {
        try {
          return pump.awaitEnd(CLOSE_LIMIT_MS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // ---- Primitives ----

  /**
   * {@return the lock of a name} Nothing is sent before it is used.
   *
   * @param name the name
   */
  public DistributedLock lock(String name) {
    return lock(Event.utf8(name, "name"));
  }

  /**
   * {@return the lock of a name} Nothing is sent before it is used.
   *
   * @param name the name
   */
  public DistributedLock lock(byte[] name) {
    return new DistributedLock(this, false, name);
  }

  /**
   * {@return a lock of several names: all or none} Their order does not matter: it is the same lock.
   *
   * @param names 1 to 256 different names
   */
  public DistributedLock multiLock(String... names) {
    return multiLock(Event.utf8(names, "name"));
  }

  /**
   * {@return a lock of several names: all or none} Their order does not matter: it is the same lock.
   *
   * @param names 1 to 256 different names
   */
  public DistributedLock multiLock(byte[]... names) {
    return new DistributedLock(this, false, names);
  }

  /**
   * {@return a lock of several names, for reading: all or none} Their order does not matter: it is the same lock.
   *
   * @param names 1 to 256 different names
   */
  public DistributedLock multiReadLock(String... names) {
    return multiReadLock(Event.utf8(names, "name"));
  }

  /**
   * {@return a lock of several names, for reading: all or none} Their order does not matter: it is the same lock.
   *
   * @param names 1 to 256 different names
   */
  public DistributedLock multiReadLock(byte[]... names) {
    return new DistributedLock(this, true, names);
  }

  /**
   * {@return the two locks of a name, for reading and for writing}
   *
   * @param name the name
   */
  public DistributedReadWriteLock readWriteLock(String name) {
    return readWriteLock(Event.utf8(name, "name"));
  }

  /**
   * {@return the two locks of a name, for reading and for writing}
   *
   * @param name the name
   */
  public DistributedReadWriteLock readWriteLock(byte[] name) {
    return new DistributedReadWriteLock(this, name);
  }

  /**
   * {@return the semaphore of a name}
   *
   * @param name the name
   * @param limit how many permits it has: the first use sets it; 0: whatever is set
   */
  public DistributedSemaphore semaphore(String name, long limit) {
    return semaphore(Event.utf8(name, "name"), limit);
  }

  /**
   * {@return the semaphore of a name}
   *
   * @param name the name
   * @param limit how many permits it has: the first use sets it; 0: whatever is set
   */
  public DistributedSemaphore semaphore(byte[] name, long limit) {
    return new DistributedSemaphore(this, name, limit);
  }

  /**
   * {@return the latch of a name}
   *
   * @param name the name
   */
  public DistributedLatch latch(String name) {
    return latch(Event.utf8(name, "name"));
  }

  /**
   * {@return the latch of a name}
   *
   * @param name the name
   */
  public DistributedLatch latch(byte[] name) {
    return new DistributedLatch(pump, name);
  }

  // ---- Who holds what ----

  /**
   * Asks who holds a name and who waits for it.
   *
   * @param name the name
   * @return what the name is, and its holders and waiters
   */
  public Inspection inspect(String name) {
    return inspect(Event.utf8(name, "name"));
  }

  /**
   * Asks who holds a name and who waits for it.
   *
   * @param name the name
   * @return what the name is, and its holders and waiters
   */
  public Inspection inspect(byte[] name) {
    return Inspection.of(pump.call(Submissions.ofInspect(pump, name)).check());
  }

  /**
   * As {@link #inspect(String)}, without waiting.
   *
   * @param name the name
   * @return what completes with it
   */
  public CompletableFuture<Inspection> inspectAsync(String name) {
    return inspectAsync(Event.utf8(name, "name"));
  }

  /**
   * As {@link #inspect(byte[])}, without waiting.
   *
   * @param name the name
   * @return what completes with it
   */
  public CompletableFuture<Inspection> inspectAsync(byte[] name) {
    return pump.submit(Submissions.ofInspect(pump, name), Inspection::of);
  }

  /**
   * Takes a name from its holder by force and gives it to the first waiter. A latch ends.
   *
   * @param name the name
   * @return those who lost it
   */
  public List<Member> breakLock(String name) {
    return breakLock(name, 0);
  }

  /**
   * Takes a name from its holder by force and gives it to the first waiter. A latch whose generation is the fence ends.
   *
   * @param name the name
   * @param fence only from the holder with this fence; 0: from any
   * @return those who lost it; empty if nobody held it or the fence differs
   */
  public List<Member> breakLock(String name, long fence) {
    return breakLock(Event.utf8(name, "name"), fence);
  }

  /**
   * Takes a name from its holder by force and gives it to the first waiter. A latch whose generation is the fence ends.
   *
   * @param name the name
   * @param fence only from the holder with this fence; 0: from any
   * @return those who lost it; empty if nobody held it or the fence differs
   */
  public List<Member> breakLock(byte[] name, long fence) {
    return pump.call(Submissions.ofBreak(pump, name, fence)).check().members();
  }

  /**
   * As {@link #breakLock(String, long)}, without waiting.
   *
   * @param name the name
   * @param fence only from the holder with this fence; 0: from any
   * @return what completes with those who lost it
   */
  public CompletableFuture<List<Member>> breakLockAsync(String name, long fence) {
    return breakLockAsync(Event.utf8(name, "name"), fence);
  }

  /**
   * As {@link #breakLock(byte[], long)}, without waiting.
   *
   * @param name the name
   * @param fence only from the holder with this fence; 0: from any
   * @return what completes with those who lost it
   */
  public CompletableFuture<List<Member>> breakLockAsync(byte[] name, long fence) {
    return pump.submit(Submissions.ofBreak(pump, name, fence), Event::members);
  }

  /**
   * Finds names in use.
   *
   * @param pattern a glob pattern: *, ?, [a-z], \ escapes
   * @param limit how many at most
   * @return the names
   */
  public Listing list(String pattern, long limit) {
    return list(Event.utf8(pattern, "pattern"), limit);
  }

  /**
   * Finds names in use.
   *
   * @param pattern a glob pattern: *, ?, [a-z], \ escapes
   * @param limit how many at most
   * @return the names
   */
  public Listing list(byte[] pattern, long limit) {
    return pump.call(Submissions.ofList(pump, pattern, limit)).check().listing();
  }

  /**
   * As {@link #list(String, long)}, without waiting.
   *
   * @param pattern a glob pattern: *, ?, [a-z], \ escapes
   * @param limit how many at most
   * @return what completes with the names
   */
  public CompletableFuture<Listing> listAsync(String pattern, long limit) {
    return listAsync(Event.utf8(pattern, "pattern"), limit);
  }

  /**
   * As {@link #list(byte[], long)}, without waiting.
   *
   * @param pattern a glob pattern: *, ?, [a-z], \ escapes
   * @param limit how many at most
   * @return what completes with the names
   */
  public CompletableFuture<Listing> listAsync(byte[] pattern, long limit) {
    return pump.submit(Submissions.ofList(pump, pattern, limit), Event::listing);
  }

  // ---- Fenced writes ----

  /**
   * Performs one Redis command on a key unless a newer fence has written this key. Every writer of the key must write this way.
   *
   * @param key the key
   * @param fence a hold's
   * @param words the command, then its arguments after the key: {@code "SET", "paid"}
   * @return the server's reply
   * @throws StaleFenceException if a newer fence has written the key: nothing was written
   */
  public String fencedWrite(String key, long fence, String... words) {
    return Event.utf8(fencedWrite(Event.utf8(key, "key"), fence, Event.utf8(words, "word")));
  }

  /**
   * Performs one Redis command on a key unless a newer fence has written this key. Every writer of the key must write this way.
   *
   * @param key the key
   * @param fence a hold's
   * @param words the command, then its arguments after the key
   * @return the server's reply
   * @throws StaleFenceException if a newer fence has written the key: nothing was written
   */
  public byte[] fencedWrite(byte[] key, long fence, byte[]... words) {
    return pump.call(writing(key, fence, words)).check().text();
  }

  /**
   * As {@link #fencedWrite(String, long, String...)}, without waiting.
   *
   * @param key the key
   * @param fence a hold's
   * @param words the command, then its arguments after the key
   * @return what completes with the server's reply
   */
  public CompletableFuture<String> fencedWriteAsync(String key, long fence, String... words) {
    return pump.submit(writing(Event.utf8(key, "key"), fence, Event.utf8(words, "word")), event -> Event.utf8(event.text()));
  }

  /**
   * As {@link #fencedWrite(byte[], long, byte[][])}, without waiting.
   *
   * @param key the key
   * @param fence a hold's
   * @param words the command, then its arguments after the key
   * @return what completes with the server's reply
   */
  public CompletableFuture<byte[]> fencedWriteAsync(byte[] key, long fence, byte[]... words) {
    return pump.submit(writing(key, fence, words), Event::text);
  }

  private Pump.Submission writing(byte[] key, long fence, byte[]... words) {
    Handle all = Handle.collected(Handle.WORDS, Native.belayWordsNew());
    for (byte[] word : Objects.requireNonNull(words, "words")) {
      Native.belayWordsAdd(all, Objects.requireNonNull(word, "word")); // the write reports a wrong one
    }
    return Submissions.ofFencedWriteWords(pump, key, fence, all);
  }
}
