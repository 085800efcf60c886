package invalid.belay;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Runs what the user hangs on futures, holds and the log: in daemon threads of the client, or where the user's executor does. Nothing is
 * lost and nothing thrown, whatever an executor throws.
 */
final class Callbacks {
  private static final int FUTURE_THREADS = 8;
  private static final int NEWS_THREADS = 32; // so many callbacks of holds may block until others wait
  private static final int LOG_LINES = 1000; // that wait
  private static final long IDLE_S = 10;
  private static final long LAST_LIMIT_MS = 300;

  private final ThreadPoolExecutor ownFutures = daemons("belay-callback", FUTURE_THREADS, Integer.MAX_VALUE);
  private final ThreadPoolExecutor ownNews = daemons("belay-news", NEWS_THREADS, Integer.MAX_VALUE); // futures delay none
  private final ThreadPoolExecutor lines = daemons("belay-log", 1, LOG_LINES); // a log that blocks delays no news
  private final AtomicLong dropped = new AtomicLong(); // lines of the log
  private final Consumer<LogEntry> log;
  final Executor futures;
  final Executor news;

  Callbacks(Executor executor, Consumer<LogEntry> log) {
    this.log = log;
    this.futures = task -> run(executor != null ? executor : ownFutures, task);
    this.news = task -> run(executor != null ? executor : ownNews, task);
  }

  private static ThreadPoolExecutor daemons(String name, int most, int waiting) {
    ThreadPoolExecutor pool = new ThreadPoolExecutor(most, most, IDLE_S, TimeUnit.SECONDS, new LinkedBlockingQueue<>(waiting), task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    });
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** What an executor refuses, the client's own runs; and the caller, if that was shut down or has no thread. */
  private void run(Executor executor, Runnable task) {
    AtomicBoolean begun = new AtomicBoolean(); // by an executor that throws nevertheless
    Runnable once = () -> {
      if (begun.compareAndSet(false, true)) {
        task.run();
      }
    };
    if (!isTaken(executor, once) && !isTaken(ownNews, once)) {
      once.run();
    }
  }

  private static boolean isTaken(Executor executor, Runnable task) {
    try {
      executor.execute(task);
      return true;
    } catch (Throwable e) { // an Error, too, such as that the system has no more threads
      return false;
    }
  }

  void log(LogEntry entry) {
    long before = entry.dropped() + dropped.getAndSet(0);
    if (!isTaken(lines, () -> log.accept(new LogEntry(entry.level(), entry.time(), entry.message(), entry.client(), before)))) {
      dropped.addAndGet(before + 1);
    }
  }

  /** Tells what nobody catches, as the JVM does of a thread. */
  static void uncaught(Throwable e) {
    Thread thread = Thread.currentThread();
    try {
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    } catch (Throwable ofTheHandler) {
      // The JVM ignores it, too.
    }
  }

  /** Ends the threads once they have run what there is. */
  void shutDown() {
    List.of(ownFutures, ownNews, lines).forEach(ThreadPoolExecutor::shutdown);
  }

  /** Waits shortly until the last news and lines are told. */
  void awaitLast() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LAST_LIMIT_MS);
    for (ThreadPoolExecutor last : List.of(ownNews, lines)) {
      last.awaitTermination(end - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
  }
}
