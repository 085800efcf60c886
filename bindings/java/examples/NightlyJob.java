import invalid.belay.Belay;
import invalid.belay.BusyException;
import invalid.belay.LockLostException;
import invalid.belay.State;
import invalid.belay.UnavailableException;
import java.time.Duration;

/** Every host starts it at night; one of them does the work. */
class NightlyJob {
  public static void main(String[] arguments) throws InterruptedException {
    try (Belay belay = Belay.connect()) {
      belay.lock("nightly-report").withMaxHold(Duration.ofHours(2)).run(Duration.ZERO, hold -> { // zero: one try
        for (int page = 1; page <= 2 && hold.state() != State.LOST; ++page) { // a local read
          System.out.println("reporting page " + page);
        }
      });
    } catch (BusyException e) {
      System.out.println("another host is at it");
    } catch (UnavailableException e) {
      System.out.println("nobody knows: " + e.getMessage());
    } catch (LockLostException e) {
      System.out.println("another host may have reported, too: " + e.getMessage());
    }
  }
}
