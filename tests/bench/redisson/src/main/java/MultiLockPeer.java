import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.StringJoiner;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's MultiLock of 16 names as a side of the benchmark, as {@code tests/bench/peer.h} asks for one. */
public final class MultiLockPeer {
  private static final int NAMES = 16;
  private static final int WARM_UP = 2000; // holds; by then the compiler has done its work

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
    RedissonClient client = Redisson.create(config);
    RLock[] locks = new RLock[NAMES];
    for (int i = 0; i < NAMES; i++) {
      locks[i] = client.getLock("redisson:" + i);
    }
    RLock all = client.getMultiLock(locks);
    for (int i = 0; i < WARM_UP; i++) {
      hold(all);
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(holdFor(all, Long.parseLong(line)));
    }
    client.shutdown();
  }

  private static String holdFor(RLock lock, long millis) {
    StringJoiner took = new StringJoiner(" ");
    long end = System.nanoTime() + millis * 1_000_000;
    do {
      took.add(Double.toString(hold(lock) / 1e3));
    } while (System.nanoTime() < end);
    return took.toString();
  }

  private static long hold(RLock lock) {
    long began = System.nanoTime();
    lock.lock();
    lock.unlock();
    return System.nanoTime() - began;
  }
}
