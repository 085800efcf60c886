import invalid.belay.Belay;
import invalid.belay.LockTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;

/** Charges many orders without a thread for each that waits. */
class AsyncOrders {
  public static void main(String[] arguments) {
    try (Belay belay = Belay.connect()) {
      CompletableFuture<?>[] orders = IntStream.of(41, 42, 42, 43).mapToObj(order -> charge(belay, order)).toArray(CompletableFuture[]::new);
      CompletableFuture.allOf(orders).join();
      System.out.println("all are charged");
    } catch (CompletionException e) {
      if (!(e.getCause() instanceof LockTimeoutException timeout)) {
        throw e;
      }
      System.out.println("somebody else charges: " + timeout.getMessage());
    }
  }

  /** The hold belongs to no thread, so the two of order 42 exclude each other. Its end is the release, or tells of a loss. */
  private static CompletableFuture<Void> charge(Belay belay, int order) {
    return belay.lock("orders:" + order).acquireAsync(Duration.ofSeconds(5)).thenAccept(hold -> {
      try (hold) {
        System.out.println("charging order " + order + " under fence " + hold.fence());
      }
    });
  }
}
