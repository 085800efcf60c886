import invalid.belay.Belay;
import invalid.belay.StaleFenceException;
import java.time.Duration;

/** Changes a number under a lock. A holder that stood still beyond its lease can no longer change it: its fence is old. */
class StockUpdate {
  public static void main(String[] arguments) throws InterruptedException {
    try (Belay belay = Belay.connect()) {
      long old = belay.lock("stock:7").call(Duration.ofSeconds(5), hold -> {
        belay.fencedWrite("stock:7", hold.fence(), "SET", "12");
        return hold.fence();
      });
      belay.lock("stock:7").run(Duration.ofSeconds(5), hold -> {
        // In SQL: UPDATE stock SET pieces = pieces - 2, fence = :fence WHERE id = 7 AND fence <= :fence
        String left = belay.fencedWrite("stock:7", hold.fence(), "DECRBY", "2");
        System.out.println(left + " pieces are left");
      });
      try {
        belay.fencedWrite("stock:7", old, "SET", "11");
      } catch (StaleFenceException e) {
        System.out.println("too late: fence " + e.fence() + " has written");
      }
    }
  }
}
