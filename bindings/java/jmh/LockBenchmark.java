package bench;

import invalid.belay.Belay;
import invalid.belay.DistributedLock;
import invalid.belay.Hold;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What one thread's calls take when nobody else wants the lock. The ping is one round trip to the server: a lock and its unlock are two. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 2)
public class LockBenchmark {
  private Belay belay;
  private Belay other;
  private DistributedLock lock;
  private DistributedLock held;

  @Setup
  public void connect() {
    belay = Belay.connect();
    other = Belay.connect();
    other.lock("held").lock();
    lock = belay.lock("free");
    held = belay.lock("held");
  }

  @TearDown
  public void close() {
    belay.close();
    other.close();
  }

  @Benchmark
  public void ping() {
    belay.ping();
  }

  @Benchmark
  public void lockAndUnlock() {
    lock.lock();
    lock.unlock();
  }

  @Benchmark
  public long acquireAndClose() throws InterruptedException {
    try (Hold hold = lock.acquire()) {
      return hold.fence();
    }
  }

  @Benchmark
  public void acquireAsyncAndRelease() {
    lock.acquireAsync().thenCompose(Hold::releaseAsync).join();
  }

  @Benchmark
  public boolean tryLockOfAHeldName() {
    return held.tryLock();
  }
}
