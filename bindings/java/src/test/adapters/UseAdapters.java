import invalid.belay.Belay;
import invalid.belay.ClosedException;
import invalid.belay.DistributedLock;
import invalid.belay.LogLevel;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Uses the examples for other libraries; the log goes to whatever slf4j has. */
class UseAdapters {
  public static void main(String[] arguments) {
    Belay closed;
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(BelayConfiguration.class)) {
      DistributedLock lock = context.getBean(DistributedLock.class);
      closed = context.getBean(Belay.class);
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      new BelayMetrics(closed).bindTo(registry);
      lock.lock();
      System.out.println("grants " + registry.get("belay.grants").functionCounter().count());
      System.out.println("holds " + registry.get("belay.holds").gauge().value());
      lock.unlock();
    }
    try {
      closed.ping();
    } catch (ClosedException e) {
      System.out.println("closed");
    }
    try (Belay belay = Belay.options().logEvents(LogLevel.INFO).connect()) {
      belay.ping();
    }
  }
}
