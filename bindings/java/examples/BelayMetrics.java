import invalid.belay.Belay;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Set;

/** A client's numbers as Micrometer's meters: new BelayMetrics(belay).bindTo(registry). */
class BelayMetrics implements MeterBinder {
  /** How many there are now; all others only grow. */
  private static final Set<String> NOW = Set.of("pendings", "holds", "names", "undelivered_events");

  private final Belay belay;

  BelayMetrics(Belay belay) {
    this.belay = belay;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    for (String name : belay.metrics().keySet()) {
      if (name.contains("_us_") || name.startsWith("process_")) {
        continue; // histograms; numbers of the whole process
      }
      if (NOW.contains(name)) {
        Gauge.builder("belay." + name, belay, client -> client.metrics().get(name)).register(registry);
      } else {
        FunctionCounter.builder("belay." + name, belay, client -> client.metrics().get(name)).register(registry);
      }
    }
  }
}
