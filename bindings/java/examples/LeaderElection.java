import invalid.belay.Belay;
import invalid.belay.Hold;
import invalid.belay.LockLostException;
import invalid.belay.State;

/** One of several processes leads. If it stops or is cut off, another one leads after the lease at the latest. */
class LeaderElection {
  public static void main(String[] arguments) throws InterruptedException {
    try (Belay belay = Belay.connect()) {
      for (int term = 1; term <= 2; ++term) { // a service does this for ever
        try {
          belay.lock("leader").run(hold -> lead(belay, hold));
          System.out.println("I have stopped leading");
        } catch (LockLostException e) {
          System.out.println("another one may lead: " + e.getMessage());
        }
      }
    }
  }

  /** Works while nobody else can lead: state() reads memory. If renewals fail, it is AT_RISK before it is LOST. */
  private static void lead(Belay belay, Hold hold) throws InterruptedException {
    for (int work = 0; work < 3 && hold.state() == State.HELD; ++work) {
      System.out.println("leading under fence " + hold.fence());
      if (work == 1) {
        belay.breakLock("leader", hold.fence()); // an operator does so elsewhere: belay break leader
      }
      Thread.sleep(50);
    }
  }
}
