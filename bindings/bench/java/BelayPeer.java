import invalid.belay.Belay;
import java.util.concurrent.locks.Lock;

/** Belay from Java, as a side of the benchmark. */
final class BelayPeer {
  private record Client(Belay belay) implements Peer.Client {
    @Override
    public Lock lock(String name) {
      return belay.lock(name);
    }

    @Override
    public Lock multiLock(String... names) {
      return belay.multiLock(names);
    }

    @Override
    public void once(String name, long waiter, Runnable had) {
      belay.lock(name).acquireAsync().thenCompose(hold -> {
        had.run();
        return hold.releaseAsync();
      });
    }
  }

  public static void main(String[] args) throws Exception {
    Peer.run(url -> new Client(Belay.connect(url)), args);
  }
}
