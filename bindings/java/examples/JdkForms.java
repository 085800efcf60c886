import invalid.belay.Belay;
import invalid.belay.DistributedLatch;
import invalid.belay.DistributedReadWriteLock;
import invalid.belay.DistributedSemaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/** The primitives in the forms of java.util.concurrent. */
class JdkForms {
  public static void main(String[] arguments) throws InterruptedException {
    try (Belay belay = Belay.connect()) {
      Lock lock = belay.lock("report");
      if (lock.tryLock(5, TimeUnit.SECONDS)) { // belongs to this thread, which may lock it again
        try {
          System.out.println("writing the report");
        } finally {
          lock.unlock();
        }
      }

      DistributedReadWriteLock config = belay.readWriteLock("config");
      config.readLock().lock();
      config.readLock().unlock();

      DistributedSemaphore gpus = belay.semaphore("gpus", 8);
      gpus.acquire(2);
      gpus.release(2);

      DistributedLatch start = belay.latch("start");
      start.set(1);
      start.countDown();
      start.await();
      System.out.println("started");
    }
  }
}
