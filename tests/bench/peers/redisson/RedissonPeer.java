import java.util.Arrays;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson as a side of the benchmark. */
final class RedissonPeer {
  private record Client(RedissonClient redisson) implements Peer.Client {
    @Override
    public Lock lock(String name) {
      return redisson.getLock(name);
    }

    @Override
    public Lock multiLock(String... names) {
      return redisson.getMultiLock(Arrays.stream(names).map(redisson::getLock).toArray(RLock[]::new));
    }

    @Override
    public void once(String name, long waiter, Runnable had) {
      RLock lock = redisson.getLock(name);
      lock.lockAsync(waiter).thenCompose(locked -> {
        had.run();
        return lock.unlockAsync(waiter);
      });
    }
  }

  private static Client connect(String url) {
    Config config = new Config();
    String[] parts = url.split("/"); // scheme, nothing, hosts, master
    String[] hosts = Arrays.stream(parts[2].split(",")).map("redis://"::concat).toArray(String[]::new);
    if (url.startsWith("redis-sentinel://")) {
      config.useSentinelServers().setMasterName(parts[3]).addSentinelAddress(hosts);
    } else if (url.startsWith("redis-cluster://")) {
      config.useClusterServers().addNodeAddress(hosts);
    } else {
      config.useSingleServer().setAddress(url);
    }
    return new Client(Redisson.create(config));
  }

  public static void main(String[] args) throws Exception {
    Peer.run(RedissonPeer::connect, args);
  }
}
