import invalid.belay.Belay;
import invalid.belay.DistributedLock;
import invalid.belay.Hold;
import invalid.belay.LockTimeoutException;
import java.time.Duration;

/** Takes a lock, does what nobody else may do meanwhile, and releases the lock. */
class Quickstart {
  public static void main(String[] arguments) throws InterruptedException {
    try (Belay belay = Belay.connect()) { // server: BELAY_URL, else localhost
      DistributedLock lock = belay.lock("orders:42");
      try (Hold hold = lock.acquire(Duration.ofSeconds(5))) {
        hold.onLost(reason -> System.err.println("the lock was lost: " + reason));
        System.out.println("charging order 42 under fence " + hold.fence());
      } catch (LockTimeoutException e) {
        System.err.println("somebody else charges order 42: " + e.getMessage());
      }
    }
  }
}
